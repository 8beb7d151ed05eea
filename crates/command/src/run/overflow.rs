//! A folder for the full outputs of commands, and the files in it.
//!
//! Invariants: only the owner can enter the folder (0700) and read the files (0600), which hold the bytes that they are given. Files
//! are created and removed only relative to the opened folder, so that no part of the path can be exchanged in between.
//! No symbolic link is followed. Files with other names than ours are never touched.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::io::{Error, ErrorKind, Result, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::record_name::RecordName;
use super::recorder::{OutputRecord, OutputRecorder, RecordPlace};
use super::retention;

/// A folder for the full outputs of commands, with limits for its size.
///
/// ```
/// use std::io::Write;
/// use tamis_command::OverflowFolder;
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
    /// Default limit of one file, in bytes.
    pub const FILE_LIMIT: u64 = 256 << 20;
    /// Default limit of all files together, in bytes.
    pub const TOTAL_LIMIT: u64 = 1 << 30;
    /// Default age after which a file is removed.
    pub const AGE_LIMIT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

    /// Creates a value for the folder at `path`, with default limits. The folder itself is created when it is needed.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            file_limit: Self::FILE_LIMIT,
            total_limit: Self::TOTAL_LIMIT,
            age_limit: Self::AGE_LIMIT,
        }
    }

    /// Returns the folder of this user: `output` in `$TAMIS_STATE_DIR`, or else in `$XDG_STATE_HOME/tamis`, or else in
    /// `~/.local/state/tamis`. Returns `None` if there is no home directory. Relative paths in these variables are
    /// ignored, as the XDG specification requires.
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

    /// Sets how many bytes of an output are recorded. The rest is counted and dropped.
    ///
    /// ### Default
    /// [`FILE_LIMIT`](Self::FILE_LIMIT).
    #[must_use]
    pub fn with_file_limit(mut self, bytes: u64) -> Self {
        self.file_limit = bytes;
        self
    }

    /// Sets how many bytes all files together may have. The oldest are removed before a new file is created.
    ///
    /// ### Default
    /// [`TOTAL_LIMIT`](Self::TOTAL_LIMIT).
    /// ### Caveat
    /// Files that are being written are not removed, and the new file is not included.
    #[must_use]
    pub fn with_total_limit(mut self, bytes: u64) -> Self {
        self.total_limit = bytes;
        self
    }

    /// Sets the age, since the last write, after which files are removed before a new one is created.
    ///
    /// ### Default
    /// [`AGE_LIMIT`](Self::AGE_LIMIT).
    #[must_use]
    pub fn with_age_limit(mut self, age: Duration) -> Self {
        self.age_limit = age;
        self
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a file, and the folder if it does not exist. Removes old and excess files first.
    ///
    /// # Errors
    /// The folder or the file cannot be created; or the folder is a symbolic link, belongs to another user, or is open
    /// to other users.
    pub fn create(&self) -> Result<OverflowFile> {
        let path = std::path::absolute(&self.path)?;
        let folder = open(&path)?;
        retention::clean(
            &folder,
            &retention::RetentionLimits { total: self.total_limit, age: self.age_limit },
        );
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for attempt in 0..ATTEMPTS {
            let name =
                RecordName { seconds: since.as_secs(), process: std::process::id(), attempt };
            let name = name.to_string();
            match rustix::fs::openat(&folder, &name, flags, Mode::RUSR | Mode::WUSR) {
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
                Ok(file) => {
                    // The lock marks the file as in use. Without it, the worst case is that the file is removed early.
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

/// Files that one process can create within a second.
const ATTEMPTS: u32 = 10_000;

/// Opens the folder, and creates it if it does not exist.
fn open(path: &Path) -> Result<OwnedFd> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| match error {
        Errno::LOOP | Errno::NOTDIR | Errno::MLINK => refused("the folder is a symbolic link"),
        error => error.into(),
    })?;
    let stat = rustix::fs::fstat(&folder)?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(refused("the folder belongs to another user"));
    }
    let mode = Mode::from_raw_mode(stat.st_mode);
    if mode.intersects(Mode::RWXG | Mode::RWXO) {
        return Err(refused(
            "other users can enter the folder; run `chmod 700` on it, or use a new folder",
        ));
    }
    Ok(folder)
}

fn refused(why: &str) -> Error {
    Error::new(ErrorKind::PermissionDenied, why.to_owned())
}

/// A record of a command's full output, open for writing. Dropping it removes the file, unless it is
/// [kept](Self::keep).
///
/// Bytes over the limit are counted and dropped without an error. A write that fails may have recorded the beginning of
/// its bytes.
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
    /// Returns the absolute path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of recorded bytes.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Returns the number of dropped bytes, which were over the limit.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Keeps the file, until the limits of the folder remove it, and returns its path.
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

impl OutputRecorder for OverflowFolder {
    fn begin(&self) -> Result<Box<dyn OutputRecord>> {
        Ok(Box::new(self.create()?))
    }
}

impl OutputRecord for OverflowFile {
    fn place(&self) -> RecordPlace {
        RecordPlace::File(self.path.clone())
    }

    fn written(&self) -> u64 {
        self.written
    }

    fn left_out(&self) -> u64 {
        self.left_out
    }

    fn keep(mut self: Box<Self>) -> Result<()> {
        self.keep = true;
        Ok(())
    }
}

impl Drop for OverflowFile {
    fn drop(&mut self) {
        if !self.keep {
            // If this fails, a later `create` removes the file.
            _ = rustix::fs::unlinkat(&self.folder, OsStr::new(&self.name), AtFlags::empty());
        }
    }
}
