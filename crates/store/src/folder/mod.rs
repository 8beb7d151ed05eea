//! A store in a folder of the user, which any number of processes share.
//!
//! ```text
//! store/                          0700
//!   lock                          locked while room is counted and reserved, and while an entry appears; has the count
//!   .HASH.part                    an entry that is being written, locked by its writer; its length is its reservation
//!   HASH                          a complete entry: header and bytes
//! ```
//!
//! HASH is the SHA-256 of the handle. So a list of the folder reveals no handle.
//!
//! Invariants:
//! - An entry appears by being renamed, with its header and its length. A reader checks the length, so that not even a
//!   file that lost its end in a power failure is read.
//! - Everything that takes room is counted under the lock: complete entries by their size, others by their reservation.
//!   So all processes together stay within the limit.
//! - A `.part` file that is not locked belongs to a process that no longer exists. The next reservation removes it.
//! - Files are reached only through the opened folder, so that no part of the path can be exchanged in between. No
//!   symbolic link is followed. Files with other names than ours are never touched.

mod count;
mod room;

use std::ffi::CStr;
use std::fmt::Write as _;
use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::backend::{Backend, PendingEntry, StoreError, StoredEntry};
use super::entry::{EntryHeader, HEADER};
use super::handle::Handle;
use super::limits::StoreLimits;
use super::scope::Scope;
use count::FolderLock;
use room::Added;

/// The file whose lock protects the count of what takes room.
const LOCK: &CStr = c"lock";
/// The beginning and the end of the name of an entry that is being written.
const PART: (&str, &str) = (".", ".part");
/// The length of the name of a complete entry.
const HASH_CHARS: usize = 64;
/// How long a process waits for the lock. It is held for the time of reading the folder, so a longer wait means that
/// its holder is stopped.
const PATIENCE: Duration = Duration::from_secs(2);

/// A store in a folder.
#[derive(Debug)]
pub(crate) struct FolderBackend {
    path: PathBuf,
    limits: StoreLimits,
}

impl FolderBackend {
    pub(crate) fn new(path: PathBuf, limits: StoreLimits) -> Self {
        Self { path, limits }
    }

    /// Opens the folder, and creates it if it does not exist.
    fn create(&self) -> Result<OwnedFd, StoreError> {
        let path = std::path::absolute(&self.path)?;
        match DirBuilder::new().recursive(true).mode(0o700).create(&path) {
            // Opening it says what is there.
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error.into()),
            _ => Ok(open_folder(&path)?),
        }
    }
}

/// Opens the folder, if only this user has access to it.
fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| match error {
        Errno::LOOP | Errno::NOTDIR | Errno::MLINK => {
            refused("the folder of the store is a symbolic link or a file")
        }
        error => error.into(),
    })?;
    let stat = rustix::fs::fstat(&folder)?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(refused("the folder of the store belongs to another user"));
    }
    if Mode::from_raw_mode(stat.st_mode).intersects(Mode::RWXG | Mode::RWXO) {
        return Err(refused(
            "other users can enter the folder of the store; run `chmod 700` on it, or use a new folder",
        ));
    }
    Ok(folder)
}

fn refused(why: &str) -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, why.to_owned())
}

/// Whether a file is a regular file of this user.
fn is_own_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        && stat.st_uid == rustix::process::geteuid().as_raw()
}

impl Backend for FolderBackend {
    fn reserve(
        &self,
        handle: Handle,
        _: &Scope,
        bytes: u64,
        now: SystemTime,
    ) -> Result<Box<dyn PendingEntry>, StoreError> {
        let folder = self.create()?;
        let name = file_name(handle);
        let part = format!("{}{name}{}", PART.0, PART.1);
        // Counting, removing and creating are one step for all processes.
        let lock = FolderLock::take(&folder)?;
        if rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            return Err(StoreError::HandleTaken);
        }
        let added = Added { bytes: HEADER.saturating_add(bytes), entries: 1 };
        room::make(&folder, &lock, added, &self.limits, now)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&folder, &part, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => file,
            Err(Errno::EXIST) => return Err(StoreError::HandleTaken),
            Err(error) => return Err(io::Error::from(error).into()),
        };
        // From here on, dropping the entry removes the file.
        let mut pending = PendingFile {
            file: File::from(file),
            folder: Arc::new(folder),
            name,
            part: Some(part),
            limits: self.limits.clone(),
        };
        // The system releases this lock when the process ends, in whatever way. The lock of the folder is still held, so
        // no other process sees the file before it is locked.
        let locked = rustix::fs::flock(&pending.file, FlockOperation::NonBlockingLockExclusive);
        locked.map_err(io::Error::from)?;
        allocate(&pending.file, HEADER.saturating_add(bytes))?;
        pending.file.seek(SeekFrom::Start(HEADER))?;
        drop(lock);
        Ok(Box::new(pending))
    }

    fn open(&self, handle: Handle) -> io::Result<Option<StoredEntry>> {
        let path = std::path::absolute(&self.path)?;
        let folder = match open_folder(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            folder => folder?,
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&folder, file_name(handle), flags, Mode::empty()) {
            Err(Errno::NOENT | Errno::LOOP | Errno::MLINK) => return Ok(None),
            file => file?,
        };
        let stat = rustix::fs::fstat(&file)?;
        if !is_own_file(&stat) {
            return Ok(None);
        }
        let mut file = File::from(file);
        let header = read_header(&mut file)?;
        // A file of another length lost its end, or is not ours.
        let length = u64::try_from(stat.st_size).unwrap_or_default();
        let header = header.filter(|header| {
            header.handle == handle && HEADER.checked_add(header.size) == Some(length)
        });
        Ok(header.map(|header| StoredEntry { header, bytes: Box::new(FileBytes(file)) }))
    }

    fn newest(&self, accepts: &dyn Fn(&EntryHeader) -> bool) -> io::Result<Option<Handle>> {
        let path = std::path::absolute(&self.path)?;
        match open_folder(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            folder => room::newest(&folder?, accepts),
        }
    }

    fn sweep(&self, now: SystemTime) -> Result<(), StoreError> {
        let path = std::path::absolute(&self.path)?;
        let folder = match open_folder(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            folder => folder?,
        };
        let lock = FolderLock::take(&folder)?;
        room::make(&folder, &lock, Added { bytes: 0, entries: 0 }, &self.limits, now)
    }
}

/// Returns the name of the file of an entry.
fn file_name(handle: Handle) -> String {
    let mut name = String::with_capacity(HASH_CHARS);
    for byte in Sha256::digest(handle.to_string()) {
        _ = write!(name, "{byte:02x}");
    }
    name
}

/// Returns whether a name is one that [`file_name`] returns, or a handle, as earlier versions named entries: these can no
/// longer be read, and are removed when they are expired.
fn is_file_name(name: &str) -> bool {
    let is_hash = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.len() == HASH_CHARS && name.bytes().all(is_hash) || name.parse::<Handle>().is_ok()
}

/// Reads the header of an entry. `None`: the file does not begin with one.
fn read_header(file: &mut File) -> io::Result<Option<EntryHeader>> {
    let mut header = vec![0; HEADER as usize];
    match file.read_exact(&mut header) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
        Ok(()) => Ok(EntryHeader::decode(&header)),
    }
}

/// Sets the length of a file and takes the room for it, as far as the file system can. So a full disk is found before
/// anything is cut.
fn allocate(file: &File, length: u64) -> io::Result<()> {
    use rustix::process::{Resource, getrlimit};
    // Beyond this limit the system would end the process by a signal.
    if getrlimit(Resource::Fsize).current.is_some_and(|limit| length > limit) {
        return Err(ErrorKind::FileTooLarge.into());
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{FallocateFlags, fallocate};
        match fallocate(file, FallocateFlags::empty(), 0, length) {
            // Not all file systems can. The length still counts for all processes.
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::INTR) => {}
            allocated => return Ok(allocated?),
        }
    }
    file.set_len(length)
}

/// An entry that is being written. Dropping it removes the file.
#[derive(Debug)]
struct PendingFile {
    file: File,
    folder: Arc<OwnedFd>,
    name: String,
    /// The name while the entry is incomplete. `None` once it is complete.
    part: Option<String>,
    limits: StoreLimits,
}

impl PendingEntry for PendingFile {
    fn grow(&mut self, bytes: u64, now: SystemTime) -> Result<(), StoreError> {
        let lock = FolderLock::take(&self.folder)?;
        let length = HEADER.saturating_add(bytes);
        let bytes = length.saturating_sub(self.file.metadata()?.len());
        room::make(&self.folder, &lock, Added { bytes, entries: 0 }, &self.limits, now)?;
        allocate(&self.file, length)?;
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        Ok(self.file.write_all(bytes)?)
    }

    fn commit(mut self: Box<Self>, header: EntryHeader) -> Result<(), StoreError> {
        // Everything is in its place before the name appears.
        self.file.write_all_at(&header.encode(), 0)?;
        let reserved = self.file.metadata()?.len();
        self.file.set_len(HEADER + header.size)?;
        // The age of a file is that of its entry, so that counting room does not read headers.
        self.file.set_modified(header.created)?;
        let part = self.part.take().unwrap_or_default();
        // Another process that counts right now must see one of the two names. If the lock cannot be had, it may miss
        // this entry once.
        let lock = FolderLock::take(&self.folder).ok();
        let renamed = rustix::fs::renameat(&self.folder, &part, &self.folder, &self.name);
        if let Some(lock) = lock {
            lock.give_back(reserved.saturating_sub(HEADER + header.size), false);
        }
        if renamed.is_err() {
            self.part = Some(part);
        }
        Ok(renamed.map_err(io::Error::from)?)
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            let reserved = self.file.metadata().map_or(0, |file| file.len());
            // If this fails, a later reservation removes the file. While another process counts, the count stays too high.
            let removed = rustix::fs::unlinkat(&self.folder, part, AtFlags::empty());
            if removed.is_ok()
                && let Some(lock) = FolderLock::try_take(&self.folder)
            {
                lock.give_back(reserved, true);
            }
        }
    }
}

/// The bytes of an entry in a file, after the header.
struct FileBytes(File);

impl Read for FileBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Seek for FileBytes {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(position) => SeekFrom::Start(HEADER.saturating_add(position)),
            other => other,
        };
        let position = self.0.seek(to)?;
        position.checked_sub(HEADER).ok_or_else(|| ErrorKind::InvalidInput.into())
    }
}
