//! Filters for the output of commands: a model of the rules, runs in every chunking, and saved outputs.

pub mod drivers;
pub mod model;
pub mod transcripts;
