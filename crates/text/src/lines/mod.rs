//! The run of text filters: operations on the lines of a text that arrives in chunks.
//!
//! [`TextSpec`](crate::TextSpec) declares the operations, [`TextProgram`] compiles them, [`TextFilter`] applies
//! them to a text and [`QuotedTextFilter`](crate::QuotedTextFilter) to the contents of a JSON string. [`pipeline`] defines the order of the
//! operations. [`rule_ops`] has further operations, which only rules for commands declare. Each of them is a stage: a
//! [`line_stage`] before the patterns or an `entry_stage` after them. The module depends on no tool and no command,
//! and on no JSON except the escapes of strings ([`quoted`](crate::quoted)).
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
mod headings;
mod line_end;
mod line_patterns;
mod line_sink;
mod line_splitter;
pub mod line_stage;
mod pattern_cost;
mod pattern_list;
pub mod pending_text;
pub mod pipeline;
mod program;
mod protected_sections;
mod rendered_text;
mod replace;
mod report;
pub mod rule_ops;
mod sections;
mod similarity;
mod terminal_row;
mod terminal_screen;

#[cfg(test)]
mod terminal_tests;
#[cfg(test)]
mod tests;

/// Compiles a pattern of lines that begin with one of several forms. The forms are patterns of ASCII.
#[must_use]
pub fn beginning_with(forms: &[&str]) -> Option<regex::bytes::Regex> {
    regex::bytes::Regex::new(&format!("(?-u)^(?:{})", forms.join("|"))).ok()
}

pub use filter::TextFilter;
pub use filter::ended;
pub use line_end::LineEnd;
pub use line_sink::TextLine;
pub use pattern_list::check as check_pattern;
pub use pattern_list::{redact_pattern, value_pattern};
pub use program::TextProgram;
pub use report::TextReport;
pub use report::is_zero;
