//! The lock of a folder, and the count of what takes room in it, which the locked file holds.
//!
//! Reading all names costs more the more entries there are. So the count is kept: every process adds what it reserves and
//! subtracts what it gives back, under the lock. The names are read where the count says that there is no room, where another
//! entry is being written, because its writer may be gone, and every minute.

use std::fs::File;
use std::io::{Read as _, Result, Seek as _, SeekFrom, Write as _};
use std::time::{Duration, Instant, SystemTime};

use super::place::{PrivateFolder, try_lock};
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
    pub(super) fn take(folder: &PrivateFolder) -> std::result::Result<Self, StoreError> {
        let file = folder.open_or_create(LOCK)?;
        let deadline = Instant::now() + PATIENCE;
        let mut pause = Duration::from_micros(200);
        while !try_lock(&file)? {
            if Instant::now() >= deadline {
                return Err(StoreError::Busy);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
        Ok(Self(file))
    }

    /// Takes the lock, if nobody has it.
    pub(super) fn try_take(folder: &PrivateFolder) -> Option<Self> {
        let file = folder.open_or_create(LOCK).ok()?;
        matches!(try_lock(&file), Ok(true)).then_some(Self(file))
    }

    /// Returns the count, unless there is none or it is old.
    pub(super) fn count(&self, now: SystemTime) -> Option<Count> {
        let now = seconds(now);
        // A clock that was set back makes it old, too.
        self.read().filter(|count| (count.made..count.made.saturating_add(OLD)).contains(&now))
    }

    fn read(&self) -> Option<Count> {
        let mut bytes = [0; LENGTH];
        let mut file = &self.0;
        file.seek(SeekFrom::Start(0)).and_then(|_| file.read_exact(&mut bytes)).ok()?;
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
        if self.write(&bytes).is_err() {
            _ = self.0.set_len(0);
        }
    }

    fn write(&self, bytes: &[u8]) -> Result<()> {
        let mut file = &self.0;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(bytes)
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
