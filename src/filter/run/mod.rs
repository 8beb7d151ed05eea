//! Runs a compiled program over a document that arrives in chunks.
//!
//! [`filter_run`] drives one run. If a spec has branches, [`choose`] selects one. The stages in a [`pipe`] do the
//! work: one on the [`document`], then the [`items`] of its payload, then the [`output`] stages on the result. Each
//! stage is a machine with a handler, and reads what the previous stage writes.
//!
//! | file | question |
//! |---|---|
//! | `filter_run/` | in which order do the parts of a run read a chunk, what happens after an error, and how does one run contain another? |
//! | `run_mode.rs` | what is a run for? |
//! | `json_strings/` | how are documents inside strings filtered? |
//! | `first_pass.rs`, `document_facts.rs` | which facts about a document can be found by reading it before the run? |
//! | `lookahead.rs`, `hold.rs` | how does input wait for a decision, and where are its bytes? |
//! | `extract_search.rs`, `shape_search.rs`, `choose.rs` | is there a value at `extract`, does the document have the required shape, and which branch of `when` applies? |
//! | `pipe.rs`, `build.rs` | how do stages follow one another, and which does a program need? |
//! | `stage.rs` | what do stages that read JSON have in common? |
//! | `payload.rs`, `root.rs` | where is the payload, and who reads the input until that is known? |
//! | `payload_length.rs`, `root_path.rs` | what do the output stages know about the payload? |
//! | `factored_start.rs`, `factored_value.rs` | is a text a factored document, and is the value at `extract` one, which no rule can read? |
//! | `redact_error.rs` | what do errors and reports say if the output is searched for credentials? |
//! | `wrap_in_array.rs` | when is the output wrapped in an array? |

mod build;
mod choose;
mod content;
mod document;
pub(super) mod document_facts;
mod extract_search;
mod factored_start;
mod factored_value;
pub(super) mod filter_run;
pub(super) mod first_pass;
mod items;
mod json_strings;
mod lookahead;
mod output;
mod payload;
mod payload_length;
mod pipe;
mod redact_error;
mod root;
mod root_path;
pub(super) mod run_mode;
mod shape_search;
mod stage;
mod wrap_in_array;
