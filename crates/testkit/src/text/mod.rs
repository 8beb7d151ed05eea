//! Text filters: runs in every chunking, a model, and generators of filters and texts.

pub mod drivers;
pub mod generate;
pub mod model;
pub mod spelling;
mod terminal;
