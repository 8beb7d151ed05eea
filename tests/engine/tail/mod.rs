//! Budget and compact against models that read the whole text, through every driver and every kind of cut.
//!
//! The models (`text.rs`, `budget.rs`, `compact.rs`) start from what the rules on items leave, which other tests check.

mod compact;
mod corpus;
mod information;
mod memory;
mod omit;
mod promise;
mod random;
