//! The figures of a run: its report, its savings, its tokens.

pub(crate) mod report;
pub(crate) mod stats;
pub(crate) mod tokens;
