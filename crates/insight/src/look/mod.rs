//! Shows where the tokens of a payload are: per path of a document, per tool of a chat, per kind of line of a text.
//!
//! Use it before you write a filter for a response that nobody has read. [`Look`] counts a JSON document while it
//! streams, and merges the elements of arrays, so that `items[].owner.avatar_url` is one path however many items there
//! are. [`look_chat`] counts the results of a chat per tool, and what pruning would remove. [`LineLook`] counts
//! the lines of a command's output by their kind. All of them return a [`LookTree`], which [`to_svg`] draws as a treemap
//! and [`to_page`] as an interactive page.
//!
//! ```
//! use tamis_insight::look::{Look, LookOptions};
//!
//! let mut look = Look::new(&LookOptions::new());
//! look.write(br#"{"items": [{"id": 1, "url": "https://example.com/1"}, {"id": 2, "url": null}]}"#)?;
//! look.end()?;
//! let tree = look.into_tree();
//! let paths: Vec<_> = tree.nodes().map(|node| (node.path(), node.count(), node.bytes())).collect();
//! assert_eq!(paths, [
//!     ("".into(), 1, 70),
//!     ("items".into(), 1, 68),
//!     ("items[]".into(), 2, 57),
//!     ("items[].url".into(), 2, 39),
//!     ("items[].id".into(), 2, 12),
//! ]);
//! # Ok::<(), tamis::Error>(())
//! ```

// ```text
// document ─▶ scan ─▶ machine ─▶ run (handler) ─▶ paths ──┐
// chat ─▶ history's survey ─▶ inventory ─▶ chat ──────────┼─▶ tree ─▶ treemap ─▶ svg, page; schema
// lines ─▶ lines ─────────────────────────────────────────┘
// ```
//
// Invariants: memory is bounded by the number of paths, not by the document. The bytes of a node are those of its
// children and its own. Nothing depends on how the input was cut into chunks.

mod chat;
mod groups;
mod lines;
mod page;
mod paths;
mod run;
mod schema;
mod svg;
#[cfg(test)]
mod tests;
mod token_parts;
mod tree;
mod treemap;

pub use chat::look_chat;
pub use groups::{LookGroup, look_groups};
pub use lines::LineLook;
pub use page::{FilterFigures, LookPage, PAGE_STYLE, RuleFigures, to_page};
pub(crate) use paths::{DOCUMENT, PathId, PathTable};
pub use run::{Look, LookOptions};
pub use svg::to_svg;
pub use tree::{LookKind, LookNode, LookTree};
