//! The interface to a place for entries: memory, a folder, an object store.
//!
//! A backend keeps bytes and accounts for them. Scopes, limits of one entry and windows are the same for all backends
//! and are not here. All calls block; a backend over a network has a thread of its own for requests.
//!
//! ```text
//! reserve ──▶ PendingEntry ──append, grow──▶ commit ──▶ open ──▶ StoredEntry
//!                  │ drop: all bytes are released
//! ```

use std::fmt;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::time::SystemTime;

use super::entry::EntryHeader;
use super::handle::Handle;
use super::scope::Scope;

/// A place for entries.
pub(crate) trait Backend: fmt::Debug + Send + Sync {
    /// Begins an entry of a session for which `bytes` are reserved. Expired entries are removed first, and if these do not
    /// make enough room, the oldest ones of the session that holds most.
    ///
    /// # Errors
    /// [`StoreError::Full`], [`StoreError::HandleTaken`], or an error of the place.
    fn reserve(
        &self,
        handle: Handle,
        session: &Scope,
        bytes: u64,
        now: SystemTime,
    ) -> Result<Box<dyn PendingEntry>, StoreError>;

    /// Removes the entries of a session that has ended, where they end with it.
    fn end_session(&self, _session: &Scope) {}

    /// Opens a complete entry. `None` if there is none with this name.
    fn open(&self, handle: Handle) -> io::Result<Option<StoredEntry>>;

    /// Returns the handle of the newest complete entry whose header is accepted.
    fn newest(&self, accepts: &dyn Fn(&EntryHeader) -> bool) -> io::Result<Option<Handle>>;

    /// Removes expired entries, and what writers that no longer exist left behind.
    fn sweep(&self, now: SystemTime) -> Result<(), StoreError>;
}

/// An entry that is being written. Nobody can read it before [`commit`](Self::commit).
pub(crate) trait PendingEntry: fmt::Debug + Send {
    /// Extends the reservation to `bytes` in all.
    fn grow(&mut self, bytes: u64, now: SystemTime) -> Result<(), StoreError>;

    /// Appends bytes, for which there is room in the reservation. On an error, none of them belong to the entry.
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError>;

    /// Makes the entry readable, all at once, and releases the rest of the reservation.
    fn commit(self: Box<Self>, header: EntryHeader) -> Result<(), StoreError>;
}

/// An open entry. It stays readable while it is open, even if it is removed, except in an object store.
pub(crate) struct StoredEntry {
    pub(crate) header: EntryHeader,
    /// The bytes after the header, from the first one. Positions of [`Seek`] are those of the entry.
    pub(crate) bytes: Box<dyn EntryBytes>,
}

/// The bytes of an open entry.
pub(crate) trait EntryBytes: Read + Seek + Send {}

impl<T: Read + Seek + Send> EntryBytes for T {}

/// Returns the position that [`Seek`] means in an entry of `size` bytes, from its start.
pub(crate) fn sought(position: u64, size: u64, to: SeekFrom) -> io::Result<u64> {
    let position = match to {
        SeekFrom::Start(position) => Some(position),
        SeekFrom::End(by) => size.checked_add_signed(by),
        SeekFrom::Current(by) => position.checked_add_signed(by),
    };
    position.ok_or_else(|| ErrorKind::InvalidInput.into())
}

/// The error of an entry that is not stored.
#[derive(Debug)]
pub enum StoreError {
    /// The store has reached this limit, in bytes, with entries that may not be removed yet.
    Full(u64),
    /// The entry has outgrown this limit, in bytes.
    TooLarge(u64),
    /// Other processes kept the store locked.
    Busy,
    /// An entry with the new handle exists.
    HandleTaken,
    /// The object store cannot be reached, or does not allow access.
    Unreachable(io::Error),
    /// An error of the folder or of the system.
    Io(io::Error),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(limit) => write!(f, "the store is full ({limit} bytes)"),
            Self::TooLarge(limit) => write!(f, "the result is larger than {limit} bytes"),
            Self::Busy => f.write_str("the store is locked by another process"),
            Self::HandleTaken => f.write_str("an entry with the new handle exists"),
            Self::Unreachable(error) => write!(f, "the object store cannot be used: {error}"),
            Self::Io(error) => write!(f, "cannot write to the store: {error}"),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) | Self::Unreachable(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<StoreError> for io::Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Io(error) => error,
            StoreError::Full(_) | StoreError::TooLarge(_) => {
                Self::new(ErrorKind::StorageFull, error)
            }
            _ => Self::other(error),
        }
    }
}
