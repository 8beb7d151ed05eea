//! The cut: what is kept of a text that is too long for its reader.
//!
//! The first and the last lines are kept, and of the rest the passages that are likely to be needed: those with the most new names,
//! numbers and words for each byte, and those with words of the call that asked for the text. In the output of tests and in
//! logs, lines that report failures come before anything else. Every gap is marked, and the order is that of the text.
//!
//! ```text
//! bytes ─▶ cutter: held text ─▶ units ─▶ words, shapes ─▶ scores ─▶ choose ─▶ kept units and marks ─▶ Sink
//!                    │                                                ▲
//!                    └──────────▶ kind ──────────▶ profile ───────────┘
//! ```
//!
//! The result depends on the text, the limit, the kind and the query, not on the chunks. Time is linear: the text is read once,
//! each unit a fixed number of times. Memory: what may be held. While a text is cut, what is known about its units takes four to
//! eight times as much, and up to twenty times if most lines are short.

mod choose;
mod cutter;
mod failure_lines;
mod fixed;
mod kind;
mod map;
mod messages;
mod profile;
mod report;
mod scores;
mod shapes;
mod size;
mod sweep;
#[cfg(test)]
mod tests;
mod units;

#[cfg(test)]
pub(crate) use crate::words::may_fail;

pub use crate::words::Query;
pub use cutter::{CutOptions, TextCutter, whole_characters};
pub use failure_lines::{FailureLines, failure_lines};
pub use kind::TextKind;
pub use report::{CutReport, KeptLines};
pub use size::{CutSize, CutUnit};
