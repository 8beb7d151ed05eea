//! A small model of `retain` and the rules on items. It is slow, works on trees, and is simple enough to be checked by reading.

pub mod check;
pub mod complete;
pub mod conditions;
pub mod dom;
pub mod eval;
pub mod factor;
pub mod fields;
pub mod generate;
mod kinds;
pub mod paths;
mod places;
mod projections;
mod removal;
mod root;
pub mod rules;
pub mod runs;
mod shape;
