//! A store of results: reserves room for entries, and reads windows of them.

use std::sync::Arc;
use std::time::SystemTime;

use tamis::Sink;

use crate::backend::{Backend, StoreError, StoredEntry};
use crate::config::{StoreConfig, StorePlace, StoreShared};
use crate::entry::{EntryHeader, EntryMeta};
use crate::handle::{Handle, HandleSource};
use crate::limits::{RESERVATION, StoreLimits};
use crate::memory::MemoryBackend;
use crate::scope::Scope;
use crate::value::StoredValue;
use crate::window::{ReadError, Window, WindowReport};
use crate::writer::{EntryWriter, Reservation};

/// How often a new handle is drawn if its entry exists.
const ATTEMPTS: u32 = 3;

/// A store of results. Cheap to clone, shared by threads.
///
/// Calls block: for a store in a folder they use the file system, for one in an object store the network.
#[derive(Clone, Debug)]
pub struct Store {
    backend: Arc<dyn Backend>,
    shared: StoreShared,
    handles: HandleSource,
    is_remote: bool,
}

impl Store {
    /// Opens a store. Nothing is created before the first entry.
    #[must_use]
    pub fn open(config: StoreConfig) -> Self {
        let is_remote = config.is_remote();
        let StoreConfig { place, limits, clock, handles } = config;
        let backend: Arc<dyn Backend> = match place {
            StorePlace::Memory => Arc::new(MemoryBackend::new(limits.clone())),
            StorePlace::Folder(path) => {
                Arc::new(crate::folder::FolderBackend::new(path, limits.clone()))
            }
            StorePlace::Cloud(place) => place.open(limits.clone()),
        };
        Self { backend, shared: StoreShared { limits, clock }, handles, is_remote }
    }

    /// Returns the limits of the store.
    #[must_use]
    pub fn limits(&self) -> &StoreLimits {
        &self.shared.limits
    }

    /// Returns whether entries are reached over a network. Then calls may take seconds, and belong on a thread for
    /// blocking work.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.is_remote
    }

    /// Reserves room for an entry of the only session of a process: see [`reserve_in`](Self::reserve_in).
    ///
    /// # Errors
    /// As for [`reserve_in`](Self::reserve_in).
    pub fn reserve(&self) -> Result<Reservation, StoreError> {
        self.reserve_in(&Scope::process())
    }

    /// Reserves room for an entry of a session of which the size is not known: 1 MiB, or the limit of an entry if that is less.
    /// See [`reserve_for`](Self::reserve_for).
    ///
    /// # Errors
    /// As for [`reserve_for`](Self::reserve_for).
    pub fn reserve_in(&self, session: &Scope) -> Result<Reservation, StoreError> {
        self.reserve_for(session, RESERVATION)
    }

    /// Reserves room for an entry of a session that will have about this size. If it becomes larger, it grows. If it stays smaller, the
    /// rest is given back, which takes longer than anything else in a folder. Expired entries are removed, and if these do
    /// not make enough room, the oldest ones of the session that holds most. In memory, a session that has its share loses its
    /// own oldest entries.
    ///
    /// # Errors
    /// [`StoreError::Full`] if the room cannot be had, or an error of the folder. Then nothing may be cut, because it
    /// could not be fetched back.
    pub fn reserve_for(&self, session: &Scope, bytes: u64) -> Result<Reservation, StoreError> {
        let size = bytes.min(self.shared.limits.entry());
        let now = self.shared.clock.now();
        let mut attempt = 0;
        loop {
            attempt += 1;
            let handle = self.handles.draw()?;
            match self.backend.reserve(handle, session, size, now) {
                Err(StoreError::HandleTaken) if attempt < ATTEMPTS => {}
                pending => {
                    let shared = self.shared.clone();
                    return Ok(Reservation::new(pending?, handle, now, size, shared));
                }
            }
        }
    }

    /// Reserves room and begins an entry. Callers in `scope` will be able to read it.
    ///
    /// # Errors
    /// As for [`reserve`](Self::reserve).
    pub fn begin(&self, scope: Scope, meta: EntryMeta) -> Result<EntryWriter, StoreError> {
        Ok(self.reserve_in(&scope)?.begin(scope, meta))
    }

    /// Notes that a session has ended, so that nobody can read its entries any more. In memory they are removed.
    pub fn end_session(&self, session: &Scope) {
        self.backend.end_session(session);
    }

    /// Writes a window of an entry to `out`, for a caller in `scope`.
    ///
    /// Nothing is written if the result is [`ReadError::Unknown`] or [`ReadError::Window`] before the entry was read.
    /// The report says whether the window is complete, and where it goes on.
    ///
    /// # Errors
    /// [`ReadError::Unknown`] if there is no such entry, if it is expired, or if it belongs to another scope;
    /// [`ReadError::Window`] if the entry has no such part.
    pub fn read(
        &self,
        scope: &Scope,
        handle: &str,
        window: &Window,
        out: &mut dyn Sink,
    ) -> Result<WindowReport, ReadError> {
        window.run(self.readable(scope, handle)?, out)
    }

    /// Returns the description of an entry, and whether it is complete.
    ///
    /// # Errors
    /// [`ReadError::Unknown`] if `scope` may not read it, or it does not exist; or an error of the place.
    pub fn describe(&self, scope: &Scope, handle: &str) -> Result<(EntryMeta, bool), ReadError> {
        let entry = self.readable(scope, handle)?;
        Ok((entry.header.meta, entry.header.complete))
    }

    /// Returns a value of an entry, which has at most `most` bytes: the whole entry as it is stored, or, with the pointer of a
    /// value in JSON, that value without white space.
    ///
    /// # Errors
    /// As [`read`](Self::read), and if the value is longer.
    pub fn value(
        &self,
        scope: &Scope,
        handle: &str,
        pointer: Option<&str>,
        most: usize,
    ) -> Result<StoredValue, ReadError> {
        StoredValue::read(self.readable(scope, handle)?, pointer, most)
    }

    /// Opens an entry that a caller may read.
    fn readable(&self, scope: &Scope, handle: &str) -> Result<StoredEntry, ReadError> {
        let Ok(handle) = handle.trim().parse() else { return Err(ReadError::Unknown) };
        let entry = self.backend.open(handle)?.ok_or(ReadError::Unknown)?;
        let may_read = self.is_readable(&entry.header, scope, self.shared.clock.now());
        if may_read { Ok(entry) } else { Err(ReadError::Unknown) }
    }

    /// Returns the handle of the last [command](EntryMeta::command) whose full output a caller in `scope` can read.
    ///
    /// # Errors
    /// [`ReadError::Io`].
    pub fn latest_command(&self, scope: &Scope) -> Result<Option<Handle>, ReadError> {
        Ok(self.latest_command_at(scope)?.map(|(handle, _)| handle))
    }

    /// Returns the same handle, with the time of the entry.
    ///
    /// # Errors
    /// [`ReadError::Io`].
    pub fn latest_command_at(
        &self,
        scope: &Scope,
    ) -> Result<Option<(Handle, SystemTime)>, ReadError> {
        let now = self.shared.clock.now();
        let latest = std::cell::Cell::new(SystemTime::UNIX_EPOCH);
        let accepts = |header: &EntryHeader| {
            let accepted = header.meta.is_command() && self.is_readable(header, scope, now);
            if accepted {
                latest.set(latest.get().max(header.created));
            }
            accepted
        };
        Ok(self.backend.newest(&accepts)?.map(|handle| (handle, latest.get())))
    }

    fn is_readable(&self, header: &EntryHeader, scope: &Scope, now: SystemTime) -> bool {
        !self.shared.limits.is_expired(header.created, now) && scope.may_read(&header.scope)
    }

    /// Removes expired entries, and what writers that were killed left behind. Reservations do the same, so only a
    /// process that runs for long without writing needs to call it.
    ///
    /// # Errors
    /// An error of the folder.
    pub fn sweep(&self) -> Result<(), StoreError> {
        self.backend.sweep(self.shared.clock.now())
    }
}

/// A store is shared by threads, and entries are written in any of them.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    const fn moved<T: Send>() {}
    shared::<Store>();
    shared::<Window>();
    moved::<Reservation>();
    moved::<EntryWriter>();
};
