//! The run of text filters: operations on the lines of a text that arrives in chunks.
//!
//! [`TextSpec`](crate::text::TextSpec) declares the operations, [`TextProgram`] compiles them, [`TextFilter`] applies
//! them to a text and [`QuotedTextFilter`] to the contents of a JSON string. [`pipeline`] defines the order of the
//! operations. [`rule_ops`] has further operations, which only rules for commands declare. Each of them is a stage: a
//! [`line_stage`] before the patterns or an [`entry_stage`] after them. The module depends on no tool and no command,
//! and on no JSON except the escapes of strings ([`quoted`]).
//!
//! Invariants:
//! - Output and report do not depend on the chunks.
//! - Memory: one line, one more if equal lines are folded, at most the limit `held` per stage, and a short output. A line
//!   over the limit `line` is never held.
//! - Work is linear in the text.
//! - Bytes that are not valid UTF-8 are kept. If the last line of the text has no line end, the last line of the output
//!   has none.
//! - Every input line is counted exactly once: written, folded into another line, removed, or left out.
//! - Filtering cannot fail.

mod dedup_adjacent;
mod dedup_anywhere;
mod entry_stage;
mod filter;
mod group;
mod head_tail;
mod line_patterns;
pub(crate) mod line_splitter;
pub(crate) mod line_stage;
mod pattern_cost;
mod pattern_list;
pub(crate) mod pending_text;
pub(crate) mod pipeline;
mod program;
mod protected_sections;
pub(crate) mod quoted;
mod rendered_text;
mod replace;
mod report;
pub(crate) mod rule_ops;
mod sections;
mod similarity;

#[cfg(test)]
mod tests;

pub use filter::TextFilter;
#[cfg(feature = "command")]
pub(crate) use filter::ended;
#[cfg(feature = "command")]
pub(crate) use pattern_list::check as check_pattern;
pub(crate) use pattern_list::{redact_pattern, value_pattern};
pub use program::TextProgram;
pub use quoted::QuotedTextFilter;
pub use report::TextReport;
#[cfg(feature = "command")]
pub(crate) use report::is_zero;
