//! Counts what all processes have stored, removes what is old, and remembers whether the object store responds.
//!
//! Entries are counted by listing them, at most once a minute, in the background. In between, a process adds its own
//! entries. So the sum may exceed the limit by what other processes write within a minute.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};

use crate::backend::StoreError;
use crate::handle::Handle;
use crate::limits::StoreLimits;

/// How long a count is used.
const REFRESH: Duration = Duration::from_secs(60);

/// How long a count is used if there seems to be no room.
const REFRESH_FULL: Duration = Duration::from_secs(5);

/// How long a reservation waits for a count.
const FIRST: Duration = Duration::from_secs(3);

/// How long a count may take.
pub(super) const LONGEST: Duration = Duration::from_secs(60);

/// How long an object store that failed is not asked again.
const PAUSE: Duration = Duration::from_secs(5);

/// The most entries that one count remembers and removes, so that memory does not grow with the store.
const REMOVED: usize = 10_000;

/// The bytes of all entries, as far as this process knows.
#[derive(Debug)]
pub(super) struct Usage {
    limits: StoreLimits,
    state: Mutex<State>,
    refreshed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes that the last count found.
    counted: u64,
    /// Bytes of this process's entries since that count began.
    added: u64,
    /// Bytes of this process's entries while a count runs: it may or may not see them.
    added_meanwhile: u64,
    /// Bytes of reservations.
    reserved: u64,
    counted_at: Option<Instant>,
    is_counting: bool,
    failure: Option<Failure>,
}

/// The last failure of the object store.
#[derive(Debug)]
struct Failure {
    at: Instant,
    kind: ErrorKind,
    why: String,
}

impl State {
    /// Returns the error of an object store that failed a moment ago.
    fn unreachable(&self) -> Option<StoreError> {
        let failure = self.failure.as_ref().filter(|failure| failure.at.elapsed() < PAUSE)?;
        Some(StoreError::Unreachable(io::Error::new(failure.kind, failure.why.clone())))
    }

    fn sum(&self) -> u64 {
        self.counted
            .saturating_add(self.added)
            .saturating_add(self.added_meanwhile)
            .saturating_add(self.reserved)
    }
}

impl Usage {
    pub(super) fn new(limits: StoreLimits) -> Self {
        Self { limits, state: Mutex::default(), refreshed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the object store responded.
    pub(super) fn reached(&self) {
        self.lock().failure = None;
    }

    /// Notes that a request failed.
    pub(super) fn failed(&self, error: &io::Error) {
        let (kind, why) = (error.kind(), error.to_string());
        self.lock().failure = Some(Failure { at: Instant::now(), kind, why });
    }

    /// Returns whether the caller has to count now, for `needed` bytes that do not fit.
    pub(super) fn begins_refresh(&self, needed: u64) -> bool {
        let mut state = self.lock();
        let age = if needed > 0 { REFRESH_FULL } else { REFRESH };
        // After a failure, a count shows whether the object store responds again.
        let is_new =
            state.failure.is_none() && state.counted_at.is_some_and(|at| at.elapsed() < age);
        if is_new || state.is_counting || state.unreachable().is_some() {
            return false;
        }
        state.is_counting = true;
        true
    }

    /// Notes that a count has ended, well or with an error.
    pub(super) fn end_refresh(&self, error: Option<&io::Error>) {
        if let Some(error) = error {
            self.failed(error);
        }
        self.lock().is_counting = false;
        self.refreshed.notify_all();
    }

    /// Reserves bytes. The first time, and after a failure, it waits for the count.
    pub(super) fn charge(&self, bytes: u64) -> Result<u64, StoreError> {
        let state = self.lock();
        let waits = |state: &mut State| {
            let is_unknown = state.counted_at.is_none() || state.failure.is_some();
            // A count that takes long was waited for once.
            state.is_counting && is_unknown && state.unreachable().is_none()
        };
        let state = self.refreshed.wait_timeout_while(state, FIRST, waits);
        let (state, waited) = state.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            drop(state);
            let error = io::Error::new(ErrorKind::TimedOut, "the object store does not respond");
            self.failed(&error);
            return Err(StoreError::Unreachable(error));
        }
        self.take(state, bytes)
    }

    /// Reserves bytes after a count that was begun because there was no room.
    pub(super) fn charge_refreshed(&self, bytes: u64) -> Result<u64, StoreError> {
        let state = self.lock();
        let state = self.refreshed.wait_timeout_while(state, FIRST, |state| state.is_counting);
        let (state, _) = state.unwrap_or_else(PoisonError::into_inner);
        self.take(state, bytes)
    }

    fn take(&self, mut state: MutexGuard<'_, State>, bytes: u64) -> Result<u64, StoreError> {
        if let Some(error) = state.unreachable() {
            return Err(error);
        }
        if state.sum().saturating_add(bytes) > self.limits.total() {
            return Err(StoreError::Full(self.limits.total()));
        }
        state.reserved += bytes;
        Ok(bytes)
    }

    /// Extends a reservation.
    pub(super) fn grow(&self, more: u64) -> Result<u64, StoreError> {
        self.take(self.lock(), more)
    }

    /// Releases a reservation. `kept` bytes are stored.
    pub(super) fn release(&self, reserved: u64, kept: u64) {
        let mut state = self.lock();
        state.reserved = state.reserved.saturating_sub(reserved);
        if state.is_counting {
            state.added_meanwhile += kept;
        } else {
            state.added += kept;
        }
    }
}

/// Returns the handle in the name of an object. `None` if the object is not ours.
pub(super) fn handle_of(object: &ObjectMeta) -> Option<Handle> {
    object.location.filename()?.parse().ok()
}

/// Counts all entries, removes expired ones, and removes the oldest ones until `needed` bytes fit.
pub(super) async fn refresh(
    usage: &Usage,
    objects: &dyn ObjectStore,
    prefix: &Path,
    now: SystemTime,
    needed: u64,
) -> object_store::Result<()> {
    let (mut sum, mut expired, mut old) = (0_u64, Vec::new(), BTreeSet::new());
    let mut listed = objects.list(Some(prefix));
    while let Some(object) = listed.try_next().await? {
        if handle_of(&object).is_none() {
            continue;
        }
        let created = SystemTime::from(object.last_modified);
        if usage.limits.is_expired(created, now) && expired.len() < REMOVED {
            expired.push(object.location);
            continue;
        }
        sum = sum.saturating_add(object.size);
        old.insert((created, object.location, object.size));
        if old.len() > REMOVED {
            old.pop_last();
        }
    }
    drop(listed);
    let reserved = usage.lock().reserved;
    let most = usage.limits.total().saturating_sub(needed).saturating_sub(reserved);
    let mut removed = expired;
    while sum > most
        && let Some((_, location, size)) = old.pop_first()
    {
        sum = sum.saturating_sub(size);
        removed.push(location);
    }
    let removed = stream::iter(removed.into_iter().map(Ok)).boxed();
    let mut removals = objects.delete_stream(removed);
    while let Some(removal) = removals.next().await {
        match removal {
            // Another process was faster.
            Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let mut state = usage.lock();
    state.counted = sum;
    // An entry that was written meanwhile is counted twice at most until the next count.
    state.added = std::mem::take(&mut state.added_meanwhile);
    state.counted_at = Some(Instant::now());
    state.failure = None;
    Ok(())
}
