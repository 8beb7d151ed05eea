//! Keeps results that a filter shortened, so that the rest can be fetched for a day.
//!
//! A proxy or a command runner that shortens a result first writes the whole of it here, and then names the entry in
//! its notice. The reader of the shortened result asks for a part of the rest by that name.
//!
//! ```text
//! reserve ─▶ Reservation ─begin─▶ EntryWriter ─finish─▶ Handle ──(notice)──▶ reader
//!                                                                              │
//!                          bytes of a Window ◀─────── read ◀── scope, handle ──┘
//! ```
//!
//! - [`Store::reserve`] makes room before anything is cut. If it fails, nothing may be cut.
//! - [`EntryWriter`] streams the entry. An entry that outgrows the limits is dropped.
//! - [`Store::read`] checks the [`Scope`] and writes a [`Window`] of the entry: a value, items, lines, matches of a
//!   pattern. Memory does not grow with the entry.
//! - [`OmissionNotice`] is the line that reports what was left out, and how to get it.
//!
//! Entries are in memory, in a folder that any number of processes share, or in an object store (feature `store-cloud`)
//! that any number of machines share. A failed or unfinished write leaves nothing
//! that can be read.

mod backend;
#[cfg(feature = "store-cloud")]
mod cloud;
#[cfg_attr(
    not(unix),
    allow(dead_code, reason = "used by stores in folders, which need a Unix system")
)]
mod entry;
#[cfg(unix)]
mod folder;
mod handle;
mod limits;
mod memory;
mod notice;
#[cfg(all(feature = "command", unix))]
mod recorder;
#[cfg_attr(
    not(unix),
    allow(dead_code, reason = "used by stores in folders, which need a Unix system")
)]
mod scope;
mod window;
mod writer;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use tamis::Sink;

use backend::Backend;
pub use backend::StoreError;
#[cfg(feature = "store-cloud")]
pub use cloud::{CloudPlace, CloudPlaceError};
use entry::EntryHeader;
pub use entry::{EntryKind, EntryMeta};
use handle::HandleSource;
pub use handle::{Handle, InvalidHandle};
pub use limits::StoreLimits;
pub use notice::{LostReason, OmissionNotice, OmittedUnit, Remedy};
#[cfg(all(feature = "command", unix))]
pub use recorder::StoreRecorder;
pub use scope::Scope;
#[cfg(feature = "filter")]
#[cfg(feature = "filter")]
pub(crate) use window::replaced;
pub use window::{ReadError, Window, WindowError, WindowReport};
pub use writer::{EntryWriter, Reservation};

/// How often a new handle is drawn if its entry exists.
const ATTEMPTS: u32 = 3;

/// The place of a store and its limits.
///
/// ```
/// use tamis_gateway::store::{Store, StoreConfig, StoreLimits};
///
/// let limits = StoreLimits::memory().with_total(64 << 20);
/// let store = Store::open(StoreConfig::memory().with_limits(limits));
/// ```
#[derive(Clone, Debug)]
pub struct StoreConfig {
    place: StorePlace,
    limits: StoreLimits,
    clock: Clock,
    handles: HandleSource,
}

#[derive(Clone, Debug)]
enum StorePlace {
    Memory,
    #[cfg_attr(not(unix), allow(dead_code, reason = "used by stores in folders"))]
    Folder(PathBuf),
    #[cfg(feature = "store-cloud")]
    Cloud(CloudPlace),
}

impl StoreConfig {
    /// A store in the memory of this process.
    #[must_use]
    pub fn memory() -> Self {
        Self {
            place: StorePlace::Memory,
            limits: StoreLimits::memory(),
            clock: Clock::default(),
            handles: HandleSource::default(),
        }
    }

    /// A store in a folder, which is created when the first entry is written. Only its owner may have access to it. On
    /// systems other than Unix no folder can be used, and every call fails.
    #[must_use]
    pub fn folder(path: impl Into<PathBuf>) -> Self {
        let place = StorePlace::Folder(path.into());
        Self { place, limits: StoreLimits::folder(), ..Self::memory() }
    }

    /// A store in an object store, which any number of servers share.
    #[cfg(feature = "store-cloud")]
    #[must_use]
    pub fn cloud(place: CloudPlace) -> Self {
        let place = StorePlace::Cloud(place);
        Self { place, limits: StoreLimits::folder(), ..Self::memory() }
    }

    /// The store of this user: `store` in `$TAMIS_STATE_DIR`, or else in `$XDG_STATE_HOME/tamis`, or else in
    /// `~/.local/state/tamis`. Returns `None` if there is no home directory. Relative paths in these variables are
    /// ignored, as the XDG specification requires.
    #[must_use]
    pub fn of_user() -> Option<Self> {
        let state = crate::state::folder_of_user()?;
        Some(Self::folder(state.join("store")))
    }

    /// Returns whether entries end with this process.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        matches!(self.place, StorePlace::Memory)
    }

    /// Returns whether entries are reached over a network, so that every call may take long.
    fn is_remote(&self) -> bool {
        #[cfg(feature = "store-cloud")]
        if matches!(self.place, StorePlace::Cloud(_)) {
            return true;
        }
        false
    }

    /// Sets the limits.
    ///
    /// ### Default
    /// [`StoreLimits::memory`] or [`StoreLimits::folder`].
    #[must_use]
    pub fn with_limits(mut self, limits: StoreLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Replaces the clock, for tests.
    #[must_use]
    pub fn with_clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Clock(Some(Arc::new(now)));
        self
    }

    /// Replaces the source of the random bytes of handles, for tests.
    #[must_use]
    pub fn with_handles(mut self, bytes: impl Fn() -> [u8; 16] + Send + Sync + 'static) -> Self {
        self.handles = HandleSource::new(bytes);
        self
    }
}

/// The time: that of the system, or of a test.
#[derive(Clone, Default)]
struct Clock(Option<Arc<dyn Fn() -> SystemTime + Send + Sync>>);

impl Clock {
    fn now(&self) -> SystemTime {
        self.0.as_ref().map_or_else(SystemTime::now, |now| now())
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "replaced" } else { "system" })
    }
}

/// The parts of a store that writers of entries need.
#[derive(Clone, Debug)]
struct StoreShared {
    limits: StoreLimits,
    clock: Clock,
}

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
            StorePlace::Memory => Arc::new(memory::MemoryBackend::new(limits.clone())),
            #[cfg(unix)]
            StorePlace::Folder(path) => Arc::new(folder::FolderBackend::new(path, limits.clone())),
            #[cfg(not(unix))]
            StorePlace::Folder(_) => Arc::new(backend::NoBackend),
            #[cfg(feature = "store-cloud")]
            StorePlace::Cloud(place) => Arc::new(cloud::CloudBackend::new(&place, limits.clone())),
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

    /// Reserves room for an entry of a session: 1 MiB, or the limit of an entry if that is less. Expired entries are
    /// removed, and if these do not make enough room, the oldest ones of the session that holds most. In memory, a session
    /// that has its share loses its own oldest entries.
    ///
    /// # Errors
    /// [`StoreError::Full`] if the room cannot be had, or an error of the folder. Then nothing may be cut, because it
    /// could not be fetched back.
    pub fn reserve_in(&self, session: &Scope) -> Result<Reservation, StoreError> {
        let size = Reservation::size(&self.shared.limits);
        let now = self.shared.clock.now();
        let mut attempt = 0;
        loop {
            attempt += 1;
            let handle = self.handles.draw()?;
            match self.backend.reserve(handle, session, size, now) {
                Err(StoreError::HandleTaken) if attempt < ATTEMPTS => {}
                pending => return Ok(Reservation::new(pending?, handle, now, self.shared.clone())),
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
        let Ok(handle) = handle.trim().parse() else { return Err(ReadError::Unknown) };
        let entry = self.backend.open(handle)?.ok_or(ReadError::Unknown)?;
        if !self.is_readable(&entry.header, scope, self.shared.clock.now()) {
            return Err(ReadError::Unknown);
        }
        window.run(entry, out)
    }

    /// Returns the handle of the last [command](EntryMeta::command) whose full output a caller in `scope` can read.
    ///
    /// # Errors
    /// [`ReadError::Io`].
    pub fn latest_command(&self, scope: &Scope) -> Result<Option<Handle>, ReadError> {
        let now = self.shared.clock.now();
        for handle in self.backend.newest()? {
            let Some(entry) = self.backend.open(handle)? else { continue };
            if entry.header.meta.is_command() && self.is_readable(&entry.header, scope, now) {
                return Ok(Some(handle));
            }
        }
        Ok(None)
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
