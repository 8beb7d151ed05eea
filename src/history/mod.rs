//! Prunes a chat history: old tool results are replaced by placeholders, and nothing else changes.
//!
//! ```text
//! document ─▶ scan ─▶ machine ─▶ survey ─▶ findings ─▶ plan ─┐
//!     │                           turns, results             ▼
//!     └──────────────── read again, or held ─────────────▶ splice ─▶ Sink
//! ```
//!
//! The document is read twice. The first pass finds turns and results in the message shapes of every supported API, and records
//! their offsets in a few bytes each. Then the rules decide which results to prune. The second pass copies the document and
//! replaces those. Rules that depend on later parts of the history, such as the number of turns, are simple because they run
//! between the passes. This module knows no spec and no filter.
//!
//! Invariants: bytes that are neither part of a pruned value nor an added time are copied unchanged. A second run changes nothing.
//! A run that fails writes nothing, unless its file changed between the passes. Memory does not grow with the history.

mod log;
mod placeholder;
mod plan;
mod program;
mod report;
mod run;
mod spec;
mod splice;
mod survey;
mod text;

#[cfg(test)]
mod tests;

pub use program::PruneProgram;
pub use report::{PruneReport, PrunedTool};
pub use run::PruneFilter;
pub(crate) use run::{PruneScan, PruneWriter};
pub use spec::PruneSpec;
