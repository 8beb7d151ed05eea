//! Removes old and excess records from the folder of full outputs.
//!
//! Invariants: only regular files of this user with a name of ours are removed, never through a symbolic link, and
//! never while they are being written (such files are locked). Work is bounded by [`MAX_EXAMINED`]. Two processes that
//! clean at the same time remove no more than one would. Files that cannot be removed are left.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::record_name::{is_own_file, is_record_name};

/// Limits for the files in the folder.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetentionLimits {
    /// Bytes of all files together.
    pub(super) total: u64,
    /// Time since a file was last written to.
    pub(super) age: Duration,
}

/// Files that may remain, so that examining the folder stays fast.
const MAX_FILES: usize = 1_000;
/// Directory entries that one call examines. Later calls examine the others, once these are removed.
const MAX_EXAMINED: usize = 10_000;

/// A file that may be removed.
struct RecordFile {
    /// Seconds since 1970.
    written: i64,
    bytes: u64,
    name: CString,
}

/// Removes the files that are older than the limit, then the oldest ones until the others are within the limits.
pub(super) fn clean(folder: &OwnedFd, limits: &RetentionLimits) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let oldest = now.saturating_sub(limits.age);
    let oldest = i64::try_from(oldest.as_secs()).unwrap_or(i64::MAX);
    let mut files = record_files(folder);
    files.sort_by_key(|file| file.written);
    let mut bytes = files.iter().fold(0, |sum: u64, file| sum.saturating_add(file.bytes));
    let mut count = files.len();
    for file in &files {
        if file.written >= oldest && bytes <= limits.total && count <= MAX_FILES {
            break;
        }
        if remove(folder, file) {
            bytes -= file.bytes.min(bytes);
            count -= 1;
        }
    }
}

fn record_files(folder: &OwnedFd) -> Vec<RecordFile> {
    let Ok(names) = Dir::read_from(folder) else { return Vec::new() };
    let ours = names
        .take(MAX_EXAMINED)
        .filter_map(Result::ok)
        .filter(|entry| is_record_name(entry.file_name().to_bytes()));
    ours.filter_map(|entry| {
        let stat = rustix::fs::statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        is_own_file(&stat).then(|| RecordFile {
            #[allow(clippy::useless_conversion, reason = "the type is narrower on some systems")]
            written: stat.st_mtime.into(),
            bytes: u64::try_from(stat.st_size).unwrap_or(0),
            name: entry.file_name().to_owned(),
        })
    })
    .collect()
}

/// Removes a file unless it is locked. Returns whether it no longer exists.
fn remove(folder: &OwnedFd, file: &RecordFile) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    if let Ok(open) = rustix::fs::openat(folder, &file.name, flags, Mode::empty())
        && rustix::fs::flock(&open, FlockOperation::NonBlockingLockExclusive)
            == Err(Errno::WOULDBLOCK)
    {
        return false;
    }
    matches!(rustix::fs::unlinkat(folder, &file.name, AtFlags::empty()), Ok(()) | Err(Errno::NOENT))
}
