//! Where the full outputs of commands are kept: a folder, and files in it that go unless they are needed.
//!
//! Must not know commands or filters. Invariants: the folder is its owner's alone (0700), files are too (0600), and hold
//! bytes as they came, unredacted; nothing is created or removed but through the opened folder, so that no name on the way
//! can be exchanged; no symbolic link is followed; what has another name than ours is never touched.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::io::{Error, ErrorKind, Result, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::clean;

/// A folder for the full outputs of commands, and how much may be in it.
///
/// ```
/// use std::io::Write;
/// use tamis::OverflowFolder;
///
/// let home = tempfile::tempdir()?;
/// let folder = OverflowFolder::new(home.path().join("output"));
/// let mut file = folder.create()?;
/// file.write_all(b"all of it")?;
/// let kept = file.keep();
/// assert_eq!(std::fs::read(kept)?, b"all of it");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverflowFolder {
    path: PathBuf,
    file_limit: u64,
    total_limit: u64,
    age_limit: Duration,
}

impl OverflowFolder {
    /// What a file may have of an output.
    pub const FILE_LIMIT: u64 = 256 << 20;
    /// What all files may have before another one is made.
    pub const TOTAL_LIMIT: u64 = 1 << 30;
    /// How old a file may get.
    pub const AGE_LIMIT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

    /// The folder at a path, with the default limits. It is made when it is needed.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            file_limit: Self::FILE_LIMIT,
            total_limit: Self::TOTAL_LIMIT,
            age_limit: Self::AGE_LIMIT,
        }
    }

    /// The folder of this user: `output` in `$TAMIS_STATE_DIR`, else in `$XDG_STATE_HOME/tamis`, else in
    /// `~/.local/state/tamis`. `None` if there is no home. Paths that are not absolute do not count, as the XDG
    /// specification has it.
    #[must_use]
    pub fn of_user() -> Option<Self> {
        let variable = |name| std::env::var_os(name).map(PathBuf::from);
        let absolute = |path: &PathBuf| path.is_absolute();
        let state = variable("TAMIS_STATE_DIR").filter(absolute);
        let state = state.or_else(|| {
            let all = variable("XDG_STATE_HOME").filter(absolute);
            let all =
                all.or_else(|| Some(std::env::home_dir().filter(absolute)?.join(".local/state")));
            Some(all?.join("tamis"))
        })?;
        Some(Self::new(state.join("output")))
    }

    /// At most so many bytes of an output are kept: its beginning.
    ///
    /// ### Default
    /// [`FILE_LIMIT`](Self::FILE_LIMIT).
    #[must_use]
    pub fn with_file_limit(mut self, bytes: u64) -> Self {
        self.file_limit = bytes;
        self
    }

    /// Before a file is made the oldest go until all others together have at most so many bytes.
    ///
    /// ### Default
    /// [`TOTAL_LIMIT`](Self::TOTAL_LIMIT).
    /// ### Caveat
    /// Files that are being written are not removed, and the new one comes on top.
    #[must_use]
    pub fn with_total_limit(mut self, bytes: u64) -> Self {
        self.total_limit = bytes;
        self
    }

    /// Before a file is made those go that have not been written to for so long.
    ///
    /// ### Default
    /// [`AGE_LIMIT`](Self::AGE_LIMIT).
    #[must_use]
    pub fn with_age_limit(mut self, age: Duration) -> Self {
        self.age_limit = age;
        self
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a file, and the folder if there is none, after what is too much or too old was removed.
    ///
    /// # Errors
    /// The folder or the file cannot be made; or the folder is a symbolic link, another user's, or open to others.
    pub fn create(&self) -> Result<OverflowFile> {
        let path = std::path::absolute(&self.path)?;
        let folder = open(&path)?;
        clean::clean(&folder, &clean::Limits { total: self.total_limit, age: self.age_limit });
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for attempt in 0..ATTEMPTS {
            let name = Name { seconds: since.as_secs(), process: std::process::id(), attempt };
            let name = name.to_string();
            match rustix::fs::openat(&folder, &name, flags, Mode::RUSR | Mode::WUSR) {
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
                Ok(file) => {
                    // Says that it is in use. Where there are no locks it may be cleaned away, with nothing worse.
                    _ = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
                    let path = path.join(&name);
                    return Ok(OverflowFile {
                        file: File::from(file),
                        folder,
                        name,
                        path,
                        limit: self.file_limit,
                        written: 0,
                        left_out: 0,
                        keep: false,
                    });
                }
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }
}

/// A process makes at most so many files within a second.
const ATTEMPTS: u32 = 10_000;

/// The name of a file: `run-SECONDS-PROCESS-ATTEMPT.log`.
struct Name {
    seconds: u64,
    process: u32,
    attempt: u32,
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "run-{}-{}-{}.log", self.seconds, self.process, self.attempt)
    }
}

/// Whether a file has a name that we give.
pub(super) fn is_ours(name: &[u8]) -> bool {
    let number =
        |text: &[u8]| (1..=20).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    let inner = name.strip_prefix(b"run-").and_then(|name| name.strip_suffix(b".log"));
    inner.is_some_and(|inner| {
        let mut parts = inner.split(|byte| *byte == b'-');
        parts.by_ref().take(3).filter(|part| number(part)).count() == 3 && parts.next().is_none()
    })
}

/// Opens the folder, and makes it if there is none.
fn open(path: &Path) -> Result<OwnedFd> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| match error {
        Errno::LOOP | Errno::NOTDIR | Errno::MLINK => refused("it is a symbolic link"),
        error => error.into(),
    })?;
    let stat = rustix::fs::fstat(&folder)?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(refused("it is another user's"));
    }
    let mode = Mode::from_raw_mode(stat.st_mode);
    if mode.intersects(Mode::RWXG | Mode::RWXO) {
        return Err(refused(
            "others may enter it: chmod 700 it, or name a folder that is not there",
        ));
    }
    Ok(folder)
}

fn refused(why: &str) -> Error {
    Error::new(ErrorKind::PermissionDenied, why.to_owned())
}

/// Whether a file of the folder is a regular one of this user.
pub(super) fn is_own_file(stat: &rustix::fs::Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        && stat.st_uid == rustix::process::geteuid().as_raw()
}

/// The full output of a command, while it arrives. The file goes with this value, unless it is kept.
///
/// What is over the limit is left out and counted, not an error. A write that fails has recorded a beginning of what it
/// was given, or nothing of it.
#[derive(Debug)]
pub struct OverflowFile {
    file: File,
    folder: OwnedFd,
    name: String,
    path: PathBuf,
    limit: u64,
    written: u64,
    left_out: u64,
    keep: bool,
}

impl OverflowFile {
    /// Where it is: an absolute path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes in it.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Bytes that were over the limit.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Keeps it, until it is too old or too much.
    #[must_use]
    pub fn keep(mut self) -> PathBuf {
        self.keep = true;
        std::mem::take(&mut self.path)
    }
}

impl Write for OverflowFile {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let room = usize::try_from(self.limit - self.written).unwrap_or(usize::MAX);
        match bytes.get(..room).unwrap_or(bytes) {
            [] => {
                self.left_out += bytes.len() as u64;
                Ok(bytes.len())
            }
            fits => {
                let count = self.file.write(fits)?;
                self.written += count as u64;
                Ok(count)
            }
        }
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Drop for OverflowFile {
    fn drop(&mut self) {
        if !self.keep {
            // What cannot be removed now is cleaned away later.
            _ = rustix::fs::unlinkat(&self.folder, OsStr::new(&self.name), AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Name, is_ours};

    #[test]
    fn names_that_we_give_are_ours_and_no_others() {
        for name in [
            Name { seconds: 0, process: 0, attempt: 0 },
            Name { seconds: u64::MAX, process: u32::MAX, attempt: u32::MAX },
        ] {
            assert!(is_ours(name.to_string().as_bytes()), "{name}");
        }
        for name in [
            "",
            "run-",
            ".log",
            "run-.log",
            "run-1-2.log",
            "run-1-2-3",
            "run-1-2-3-4.log",
            "run-1--3.log",
            "run-1-2-3.log.gz",
            "run-1-2-x.log",
            "xrun-1-2-3.log",
            "run-1-2-+3.log",
            "run-1-2-3.LOG",
            "run-1-2-123456789012345678901.log",
            "../run-1-2-3.log",
            "run--1-2-3.log",
        ] {
            assert!(!is_ours(name.as_bytes()), "{name}");
        }
    }
}
