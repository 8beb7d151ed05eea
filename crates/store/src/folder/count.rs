//! The lock of a folder, and the count of what takes room in it, which the locked file holds.
//!
//! Reading all names costs more the more entries there are. So the count is kept: every process adds what it reserves and
//! subtracts what it gives back, under the lock. The names are read where the count says that there is no room, where another
//! entry is being written, because its writer may be gone, and every minute.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::{LOCK, PATIENCE, StoreError};

/// The first bytes of a count.
const MAGIC: &[u8; 8] = b"tamis 1\n";
/// The bytes of a count.
const LENGTH: usize = 40;
/// The age at which a count is too old, in seconds.
const OLD: u64 = 60;

/// The lock on the count of what takes room. Dropping it unlocks.
#[derive(Debug)]
pub(super) struct FolderLock(File);

impl FolderLock {
    /// Waits for the lock.
    pub(super) fn take(folder: &OwnedFd) -> Result<Self, StoreError> {
        let file = open(folder).map_err(io::Error::from)?;
        let deadline = Instant::now() + PATIENCE;
        let mut pause = Duration::from_micros(200);
        loop {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self(file)),
                Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < deadline => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(10));
                }
                Err(Errno::WOULDBLOCK | Errno::INTR) => return Err(StoreError::Busy),
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
    }

    /// Takes the lock, if nobody has it.
    pub(super) fn try_take(folder: &OwnedFd) -> Option<Self> {
        let file = open(folder).ok()?;
        let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
        locked.is_ok().then_some(Self(file))
    }

    /// Returns the count, unless there is none or it is old.
    pub(super) fn count(&self, now: SystemTime) -> Option<Count> {
        let now = seconds(now);
        // A clock that was set back makes it old, too.
        self.read().filter(|count| (count.made..count.made.saturating_add(OLD)).contains(&now))
    }

    fn read(&self) -> Option<Count> {
        let mut bytes = [0; LENGTH];
        self.0.read_exact_at(&mut bytes, 0).ok()?;
        let numbers = bytes.strip_prefix(MAGIC)?.as_chunks::<8>().0;
        let [made, taken, entries, parts] = numbers else { return None };
        let [made, taken, entries, parts] =
            [made, taken, entries, parts].map(|number| u64::from_le_bytes(*number));
        Some(Count { made, taken, entries, parts })
    }

    /// Writes the count, or removes it if that fails.
    pub(super) fn set(&self, count: Count) {
        let numbers = [count.made, count.taken, count.entries, count.parts];
        let mut bytes = MAGIC.to_vec();
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        if self.0.write_all_at(&bytes, 0).is_err() {
            _ = self.0.set_len(0);
        }
    }

    /// Notes that an entry is no longer being written, and that its writer gives back some of the room.
    pub(super) fn give_back(&self, bytes: u64, is_removed: bool) {
        let Some(count) = self.read() else { return };
        self.set(Count {
            taken: count.taken.saturating_sub(bytes),
            entries: count.entries.saturating_sub(u64::from(is_removed)),
            parts: count.parts.saturating_sub(1),
            ..count
        });
    }
}

/// Opens the file that is locked.
fn open(folder: &OwnedFd) -> Result<File, Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, LOCK, flags, Mode::RUSR | Mode::WUSR).map(File::from)
}

/// Returns a time in seconds.
pub(super) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The room that is taken in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    /// When all names were read, in seconds.
    pub(super) made: u64,
    /// The bytes of complete entries and of reservations.
    pub(super) taken: u64,
    /// Their number.
    pub(super) entries: u64,
    /// The number of those that are being written.
    pub(super) parts: u64,
}
