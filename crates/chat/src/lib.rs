//! Replaces old tool results in a chat history by placeholders, and changes nothing else.
//!
//! Use it before a chat is sent again: results of tools that the model has already read usually fill most of it. A
//! [`PruneSpec`] declares which results stay, a [`PruneProgram`] is a compiled spec, and [`prune_slice`],
//! [`prune_reader`] and [`prune_file`] apply it. A [`PruneFilter`] accepts a history in chunks. The message formats of
//! OpenAI, Anthropic, Gemini, the AI SDK and opencode are detected.
//!
//! ```
//! use tamis_chat::{PruneProgram, PruneSpec, prune_slice};
//!
//! let program = PruneProgram::compile(&PruneSpec::new().keep_turns(1).placeholder("[{tool}: {bytes} bytes]"))?;
//! let request = br#"{"model": "m", "messages": [
//!   {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "grep", "input": {}}]},
//!   {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "200 matches"}]},
//!   {"role": "user", "content": "and the first?"}]}"#;
//! let (pruned, report) = prune_slice(&program, request)?;
//! assert!(String::from_utf8_lossy(&pruned).contains(r#""content": "[grep: 11 bytes]"}"#));
//! assert_eq!(report.results_pruned, 1);
//! # Ok::<(), tamis::Error>(())
//! ```

// Prunes a chat history: old tool results are replaced by placeholders, and nothing else changes.
//
// ```text
// document ─▶ scan ─▶ machine ─▶ survey ─▶ findings ─▶ plan ─┐
//     │                           turns, results             ▼
//     └──────────────── read again, or held ─────────────▶ splice ─▶ Sink
// ```
//
// The document is read twice. The first pass finds turns and results in the message shapes of every supported API, and records
// their offsets in a few bytes each. Then the rules decide which results to prune. The second pass copies the document and
// replaces those. Rules that depend on later parts of the history, such as the number of turns, are simple because they run
// between the passes. This module knows no spec and no filter.
//
// Invariants: bytes that are neither part of a pruned value nor an added time are copied unchanged. A second run changes nothing.
// A run that fails writes nothing, unless its file changed between the passes. Memory does not grow with the history.

mod chat_scan;
mod drivers;
mod findings;
mod placeholder;
mod plan;
mod program;
mod report;
mod run;
mod sizes;
mod spec;
mod splice;
mod survey;
mod text;
#[cfg(feature = "tokio")]
mod transform;

#[cfg(test)]
mod tests;

pub use chat_scan::ChatScan;
pub use drivers::{prune_file, prune_reader, prune_slice};
pub use program::PruneProgram;
pub use report::{PruneRefusal, PruneReport, PrunedTool};
pub use run::PruneFilter;
use run::{PruneScan, PruneWriter};
pub use sizes::{ChatMessage, ChatSize, ChatSizes};
pub use spec::PruneSpec;
