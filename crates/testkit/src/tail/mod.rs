//! Budgets and summaries: models that read the whole output, and a generator of documents.

pub mod budget;
pub mod generate;
pub mod omit;
pub mod text;
