//! Runs a compiled program over a document that arrives in chunks.
//!
//! [`filter_run`] drives one run. If a spec has branches, [`choose`] selects one. The stages in a [`chain`] do the
//! work: one on the [`document`], then the [`items`] of its payload, then the [`output`] stages on the result. Each
//! stage is a machine with a handler, and reads what the previous stage writes.
//!
//! | file | question |
//! |---|---|
//! | `filter_run.rs` | in which order do the parts of a run read a chunk, and what happens after an error? |
//! | `run_mode.rs`, `inner_run.rs`, `nested_run.rs` | what is a run for, and how does one run contain another? |
//! | `json_strings/` | how are documents inside strings filtered? |
//! | `first_pass.rs` | which facts about a document can be found by reading it before the run? |
//! | `lookahead.rs`, `hold.rs` | how does input wait for a decision, and where are its bytes? |
//! | `extract_search.rs`, `choose.rs` | is there a value at `extract`, and which branch of `when` applies? |
//! | `chain.rs`, `stage.rs` | which stages does the program need, and what do they have in common? |
//! | `payload.rs`, `root.rs` | where is the payload, and who reads the input until that is known? |
//! | `payload_length.rs`, `root_path.rs` | what do the output stages know about the payload? |
//! | `redact_error.rs` | what do errors and reports say if the output is searched for credentials? |
//! | `wrap_in_array.rs` | when is the output wrapped in an array? |

mod chain;
mod choose;
mod content;
mod counting_sink;
mod document;
mod extract_search;
pub(super) mod filter_run;
pub(super) mod first_pass;
mod inner_run;
mod items;
mod json_strings;
mod lookahead;
mod nested_run;
mod output;
mod payload;
mod payload_length;
mod redact_error;
mod root;
mod root_path;
pub(super) mod run_mode;
mod stage;
mod wrap_in_array;
