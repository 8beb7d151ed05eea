//! The budget that keeps what is likely to be needed (`prefer: information`, SPEC §6).
//!
//! ```text
//! document ─▶ ValueList: its parts ─▶ failures, scores ─▶ Ranking: the order of the parts ─▶ the largest choice that fits ─▶ Layout ─▶ sink
//! ```
//!
//! The document is held in memory. A document that fits, one that is too long to be held, and one of which not even the smallest
//! choice fits, is left to the budget that keeps the first items.
//!
//! Time: reading, scoring and sorting are linear but for the sort, which compares at most one part for every few bytes; a
//! choice is measured some six times, and skips what is whole or left out. Memory: the document, and about four times as much
//! for its parts.

mod document;
mod failures;
mod layout;
mod ranking;
mod scored;
mod scores;
mod segments;
mod stage;

pub(super) use scored::LastScored;
pub(super) use stage::InformationStage;
