//! Where a store is, and what it may take.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use crate::CloudPlace;
use crate::handle::HandleSource;
use crate::limits::StoreLimits;

/// The place of a store and its limits.
///
/// ```
/// use tamis_store::{Store, StoreConfig, StoreLimits};
///
/// let limits = StoreLimits::memory().with_total(64 << 20);
/// let store = Store::open(StoreConfig::memory().with_limits(limits));
/// ```
#[derive(Clone, Debug)]
pub struct StoreConfig {
    pub(crate) place: StorePlace,
    pub(crate) limits: StoreLimits,
    pub(crate) clock: Clock,
    pub(crate) handles: HandleSource,
}

#[derive(Clone, Debug)]
pub(crate) enum StorePlace {
    Memory,
    Folder(PathBuf),
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
    /// Windows, this is not checked: a folder in the user's profile inherits such access.
    #[must_use]
    pub fn folder(path: impl Into<PathBuf>) -> Self {
        let place = StorePlace::Folder(path.into());
        Self { place, limits: StoreLimits::folder(), ..Self::memory() }
    }

    /// A store in an object store, which any number of servers share.
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
    pub(crate) fn is_remote(&self) -> bool {
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
pub(crate) struct Clock(Option<Arc<dyn Fn() -> SystemTime + Send + Sync>>);

impl Clock {
    pub(crate) fn now(&self) -> SystemTime {
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
pub(crate) struct StoreShared {
    pub(crate) limits: StoreLimits,
    pub(crate) clock: Clock,
}
