//! A job: flags resolved into a filter, inputs and outputs; and its execution.

pub(crate) mod bad_records;
pub(crate) mod execution;
pub(crate) mod resolve;
mod unquote;
pub(crate) mod why;
