//! Prunes a chat history: old results of tools become placeholders, and nothing else changes.
//!
//! ```text
//! document ─▶ scan ─▶ machine ─▶ survey ─▶ log ─▶ plan ─┐
//!     │                           turns, results        ▼
//!     └──────────────── again, or held ──────────▶ splice ─▶ Sink
//! ```
//!
//! Two readings: the first finds turns and results, whatever the API whose shape a message has, and writes down their places in a
//! few bytes each; then the rules decide; the second copies the document with those places spliced. It knows no
//! spec and no filter. What a rule needs that comes later (how many turns there are) is known in between, so the
//! rules are plain ones.
//!
//! Invariants: bytes that are not a pruned value or an added time leave as they came; a second run changes nothing; a run that
//! fails writes nothing, unless its file changed between the readings; memory does not grow with the history.

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
