//! A small model of `retain` and the rules on items. It is slow, works on trees, and is simple enough to be checked by reading.

pub mod check;
pub mod complete;
pub mod conditions;
pub mod dom;
pub mod eval;
pub mod generate;
mod places;
mod root;
pub mod rules;
pub mod runs;
