//! Pruning of chat histories: runs in every chunking, a model, and generators of histories.

pub mod drivers;
pub mod generate;
pub mod model;
pub mod shapeless;
