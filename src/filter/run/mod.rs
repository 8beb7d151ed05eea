//! Runs a compiled program over a document that arrives in chunks.
//!
//! [`filter_run`] drives one run. Where a spec has branches, [`choose`] selects one. The stages in a [`chain`] do the work: one
//! on the [`document`], then the [`items`] of its payload, then the [`output`] stages on the result. Each stage is a machine
//! with a handler, and reads what the previous stage writes.

mod chain;
mod choose;
mod content;
mod document;
mod extract_search;
pub(super) mod filter_run;
pub(super) mod first_pass;
pub(crate) mod hold;
mod inner_run;
mod items;
mod json_strings;
mod lookahead;
mod nested_run;
mod output;
mod payload;
mod payload_length;
mod root;
mod root_path;
mod stage;
mod wrap_in_array;
