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

#[cfg(feature = "cut")]
mod choose;
#[cfg(feature = "cut")]
mod cutter;
#[cfg(feature = "cut")]
mod fixed;
#[cfg(feature = "cut")]
mod kind;
#[cfg(feature = "cut")]
mod map;
#[cfg(feature = "cut")]
mod profile;
mod query;
#[cfg(feature = "cut")]
mod report;
#[cfg(feature = "cut")]
mod scores;
#[cfg(feature = "cut")]
mod shapes;
#[cfg(feature = "cut")]
mod size;
#[cfg(feature = "cut")]
mod sweep;
#[cfg(test)]
#[cfg(feature = "cut")]
mod tests;
#[cfg(feature = "cut")]
mod units;
mod words;

#[cfg(test)]
#[cfg(feature = "cut")]
pub(crate) use words::may_fail;

#[cfg(feature = "cut")]
pub use cutter::{CutOptions, TextCutter, whole_characters};
#[cfg(feature = "cut")]
pub use kind::TextKind;
pub use query::Query;
#[cfg(feature = "cut")]
pub use report::{CutReport, KeptLines};
#[cfg(feature = "cut")]
pub use size::{CutSize, CutUnit};
pub use words::{UnitShape, Word, WordKind, Words};
