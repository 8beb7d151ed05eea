//! A small model of retain and the rules on items: obviously right, slow, and made of trees.

pub(crate) mod complete;
pub(crate) mod dom;
pub(crate) mod eval;
pub(crate) mod generate;
mod places;
mod root;
pub(crate) mod rules;
pub(crate) mod runs;
