//! The length of the payload, counted by the stage on items and used by the output stage that marks omissions.
//!
//! The length is known when the payload ends. The output stage reads the end within the same call, so the two stages
//! share the counters.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared by the stage that counts and the stage that writes.
#[derive(Clone, Debug, Default)]
pub(super) struct PayloadLength(Arc<SharedLength>);

#[derive(Debug, Default)]
struct SharedLength {
    /// The payload has ended, and the other fields are those of this document.
    known: AtomicBool,
    seen: AtomicU64,
    kept: AtomicU64,
    more: AtomicBool,
    /// The document has none of the selected paths, so it passes with its own names.
    missed: AtomicBool,
}

/// The numbers of items in a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PayloadItems {
    /// Items of the response, as far as it was read.
    pub(super) seen: u64,
    /// Items that `max_items` kept.
    pub(super) kept: u64,
    /// The rest of the payload was not read.
    pub(super) more: bool,
}

impl PayloadLength {
    /// Called at most once in a document: when an array of items ends, or when `stop_early` ends the run.
    pub(super) fn set(&self, items: PayloadItems) {
        let Self(shared) = self;
        shared.seen.store(items.seen, Ordering::Relaxed);
        shared.kept.store(items.kept, Ordering::Relaxed);
        shared.more.store(items.more, Ordering::Relaxed);
        shared.known.store(true, Ordering::Relaxed);
    }

    /// Called when a document is found to have none of the selected paths, before any of its items is written.
    pub(super) fn set_missed(&self, missed: bool) {
        self.0.missed.store(missed, Ordering::Relaxed);
    }

    /// Returns whether the document passes with its own names.
    pub(super) fn has_missed(&self) -> bool {
        self.0.missed.load(Ordering::Relaxed)
    }

    /// Starts a new document.
    pub(super) fn reset(&self) {
        self.0.known.store(false, Ordering::Relaxed);
    }

    /// Returns `None` before the payload has ended. The two stages run in the same call, one after the other, so the
    /// order of the loads does not matter.
    pub(super) fn get(&self) -> Option<PayloadItems> {
        let Self(shared) = self;
        shared.known.load(Ordering::Relaxed).then(|| PayloadItems {
            seen: shared.seen.load(Ordering::Relaxed),
            kept: shared.kept.load(Ordering::Relaxed),
            more: shared.more.load(Ordering::Relaxed),
        })
    }
}
