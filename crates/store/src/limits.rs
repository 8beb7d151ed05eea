//! Limits of a store, and what is removed when it is full.
//!
//! If a store is full, expired entries go first, and then the oldest ones of the session that holds most. In memory, a session
//! holds at most a quarter of the store while others have entries. So no session keeps another from storing.

use std::time::{Duration, SystemTime};

use super::entry::HEADER;

/// Bytes that are reserved for an entry before anything is cut.
pub(crate) const RESERVATION: u64 = 1 << 20;

/// Limits of a store.
///
/// ```
/// use std::time::Duration;
/// use tamis_store::StoreLimits;
///
/// let limits = StoreLimits::memory().with_entry(1 << 20).with_age(Duration::from_secs(600));
/// assert_eq!((limits.entry(), limits.total()), (1 << 20, 64 << 20));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreLimits {
    entry: u64,
    total: u64,
    age: Duration,
}

impl StoreLimits {
    /// The default age after which an entry is expired: one day.
    pub const AGE: Duration = Duration::from_secs(24 * 60 * 60);

    /// The default limits of a store in memory: 16 MiB an entry, 64 MiB in all.
    #[must_use]
    pub fn memory() -> Self {
        Self { entry: 16 << 20, total: 64 << 20, age: Self::AGE }
    }

    /// The default limits of a store in a folder: 1 GiB an entry, 4 GiB in all.
    #[must_use]
    pub fn folder() -> Self {
        Self { entry: 1 << 30, total: 4 << 30, ..Self::memory() }
    }

    /// Sets how many bytes one entry may have. An entry that outgrows the limit is dropped.
    #[must_use]
    pub fn with_entry(mut self, bytes: u64) -> Self {
        self.entry = bytes;
        self
    }

    /// Sets how many bytes all entries together may have, with about 1 KiB for the header of each. Reservations
    /// of entries that are being written are included.
    #[must_use]
    pub fn with_total(mut self, bytes: u64) -> Self {
        self.total = bytes;
        self
    }

    /// Sets the age after which an entry is expired: it cannot be read any more and is removed.
    ///
    /// ### Default
    /// [`AGE`](Self::AGE).
    #[must_use]
    pub fn with_age(mut self, age: Duration) -> Self {
        self.age = age;
        self
    }

    /// Returns the limit of one entry, in bytes.
    #[must_use]
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// Returns the limit of all entries together, in bytes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the age after which an entry is expired.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.age
    }

    /// Returns whether an entry is expired.
    pub(crate) fn is_expired(&self, created: SystemTime, now: SystemTime) -> bool {
        distance(created, now) >= self.age
    }

    /// Returns the most bytes of one session while others have entries: a quarter, and at least one entry.
    pub(crate) fn session(&self) -> u64 {
        (self.total / 4).max(self.entry.saturating_add(HEADER)).min(self.total)
    }

    /// Returns the size up to which an entry grows next: at least `needed` bytes, and in steps that double, so that an
    /// entry of any size asks a small number of times. `None` if `needed` is over the limit of an entry.
    pub(crate) fn next_size(&self, reserved: u64, needed: u64) -> Option<u64> {
        let doubled = reserved.saturating_add(reserved.clamp(RESERVATION, 64 * RESERVATION));
        (needed <= self.entry).then(|| doubled.max(needed).min(self.entry))
    }
}

/// Returns the time between two moments, in either order. An entry from the future was written before the clock was set
/// back. If it is from the far future, its age means nothing, and it must not block the store until then.
fn distance(created: SystemTime, now: SystemTime) -> Duration {
    now.duration_since(created).unwrap_or_else(|ahead| ahead.duration())
}
