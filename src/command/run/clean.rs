//! Removes what is too old or too much from a folder of full outputs.
//!
//! Must not know what is in the files. Invariants: only regular files of this user with a name that we give are removed,
//! none that is being written (it is locked), and none through a link; work is bounded, however much is in the folder. Two
//! processes that clean at once remove no more than one would; what cannot be removed is left.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::overflow::{is_ours, is_own_file};

/// What may stay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Bytes of all files.
    pub(super) total: u64,
    /// Since a file was last written to.
    pub(super) age: Duration,
}

/// Files that may stay, so that looking at them never takes long.
const FILES: usize = 1_000;
/// Names that are looked at; what is behind them has its turn when these are gone.
const LOOKED_AT: usize = 10_000;

/// A file that may be removed.
struct Found {
    /// Seconds since 1970.
    written: i64,
    bytes: u64,
    name: CString,
}

/// Removes what is too old, then the oldest of what is too much.
pub(super) fn clean(folder: &OwnedFd, limits: &Limits) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let oldest = now.saturating_sub(limits.age);
    let oldest = i64::try_from(oldest.as_secs()).unwrap_or(i64::MAX);
    let mut found = found(folder);
    found.sort_by_key(|file| file.written);
    let mut bytes = found.iter().fold(0, |sum: u64, file| sum.saturating_add(file.bytes));
    let mut files = found.len();
    for file in &found {
        if file.written >= oldest && bytes <= limits.total && files <= FILES {
            break;
        }
        if remove(folder, file) {
            bytes -= file.bytes.min(bytes);
            files -= 1;
        }
    }
}

fn found(folder: &OwnedFd) -> Vec<Found> {
    let Ok(names) = Dir::read_from(folder) else { return Vec::new() };
    let ours = names
        .take(LOOKED_AT)
        .filter_map(Result::ok)
        .filter(|entry| is_ours(entry.file_name().to_bytes()));
    ours.filter_map(|entry| {
        let stat = rustix::fs::statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        is_own_file(&stat).then(|| Found {
            #[allow(clippy::useless_conversion, reason = "it is narrower on some systems")]
            written: stat.st_mtime.into(),
            bytes: u64::try_from(stat.st_size).unwrap_or(0),
            name: entry.file_name().to_owned(),
        })
    })
    .collect()
}

/// Whether it is gone.
fn remove(folder: &OwnedFd, file: &Found) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    if let Ok(open) = rustix::fs::openat(folder, &file.name, flags, Mode::empty())
        && rustix::fs::flock(&open, FlockOperation::NonBlockingLockExclusive)
            == Err(Errno::WOULDBLOCK)
    {
        return false;
    }
    matches!(rustix::fs::unlinkat(folder, &file.name, AtFlags::empty()), Ok(()) | Err(Errno::NOENT))
}
