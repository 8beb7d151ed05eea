//! A small model of retain and the rules on items: obviously right, slow, and made of trees.

pub mod check;
pub mod complete;
pub mod dom;
pub mod eval;
pub mod generate;
mod places;
mod root;
pub mod rules;
pub mod runs;
