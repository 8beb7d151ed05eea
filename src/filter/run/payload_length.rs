//! How long the payload is: counted where items are filtered, told where their number is written.
//!
//! The counting stage knows it when the payload ends. The stage that writes it reads the same text later, but within the
//! same call, so it cannot ask.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared by the stage that counts and the one that tells.
#[derive(Clone, Debug, Default)]
pub(super) struct PayloadLength(Arc<SharedLength>);

#[derive(Debug, Default)]
struct SharedLength {
    known: AtomicBool,
    seen: AtomicU64,
    kept: AtomicU64,
    more: AtomicBool,
}

/// The items of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PayloadItems {
    /// Those of the response, as far as it was read.
    pub(super) seen: u64,
    /// Those that `max_items` left.
    pub(super) kept: u64,
    /// The rest was not read.
    pub(super) more: bool,
}

impl PayloadLength {
    pub(super) fn set(&self, items: PayloadItems) {
        let Self(shared) = self;
        shared.seen.store(items.seen, Ordering::Relaxed);
        shared.kept.store(items.kept, Ordering::Relaxed);
        shared.more.store(items.more, Ordering::Relaxed);
        shared.known.store(true, Ordering::Relaxed);
    }

    /// A new document begins.
    pub(super) fn reset(&self) {
        self.0.known.store(false, Ordering::Relaxed);
    }

    /// `None`: no payload has ended.
    pub(super) fn get(&self) -> Option<PayloadItems> {
        let Self(shared) = self;
        shared.known.load(Ordering::Relaxed).then(|| PayloadItems {
            seen: shared.seen.load(Ordering::Relaxed),
            kept: shared.kept.load(Ordering::Relaxed),
            more: shared.more.load(Ordering::Relaxed),
        })
    }
}
