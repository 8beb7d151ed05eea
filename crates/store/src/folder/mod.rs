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
//! - No symbolic link is followed: see [`place`]. Files with other names than ours are never touched.

mod count;
mod place;
mod room;

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};

use super::backend::{Backend, PendingEntry, StoreError, StoredEntry};
use super::entry::{EntryHeader, HEADER};
use super::handle::Handle;
use super::limits::StoreLimits;
use super::scope::Scope;
use count::FolderLock;
use place::PrivateFolder;
use room::Added;

/// The file whose lock protects the count of what takes room.
const LOCK: &str = "lock";
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
    fn create(&self) -> Result<PrivateFolder, StoreError> {
        Ok(PrivateFolder::create(&std::path::absolute(&self.path)?)?)
    }

    /// Opens the folder. `None`: it does not exist.
    fn existing(&self) -> io::Result<Option<PrivateFolder>> {
        match PrivateFolder::open(&std::path::absolute(&self.path)?) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            folder => folder.map(Some),
        }
    }
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
        if folder.has(&name) {
            return Err(StoreError::HandleTaken);
        }
        let added = Added { bytes: HEADER.saturating_add(bytes), entries: 1 };
        room::make(&folder, &lock, added, &self.limits, now)?;
        let file = match folder.create_file(&part) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(StoreError::HandleTaken);
            }
            file => file?,
        };
        // From here on, dropping the entry removes the file.
        let mut pending = PendingFile {
            file,
            folder: Arc::new(folder),
            name,
            part: Some(part),
            limits: self.limits.clone(),
        };
        // The system releases this lock when the process ends, in whatever way. The lock of the folder is still held, so
        // no other process sees the file before it is locked.
        if !place::try_lock(&pending.file)? {
            return Err(StoreError::Busy);
        }
        allocate(&pending.file, HEADER.saturating_add(bytes))?;
        pending.file.seek(SeekFrom::Start(HEADER))?;
        drop(lock);
        Ok(Box::new(pending))
    }

    fn open(&self, handle: Handle) -> io::Result<Option<StoredEntry>> {
        let Some(folder) = self.existing()? else { return Ok(None) };
        let Some((mut file, data)) = folder.read(&file_name(handle))? else { return Ok(None) };
        let header = read_header(&mut file)?;
        // A file of another length lost its end, or is not ours.
        let header = header.filter(|header| {
            header.handle == handle && HEADER.checked_add(header.size) == Some(data.size)
        });
        Ok(header.map(|header| StoredEntry { header, bytes: Box::new(FileBytes(file)) }))
    }

    fn newest(&self, accepts: &dyn Fn(&EntryHeader) -> bool) -> io::Result<Option<Handle>> {
        let Some(folder) = self.existing()? else { return Ok(None) };
        room::newest(&folder, accepts)
    }

    fn sweep(&self, now: SystemTime) -> Result<(), StoreError> {
        let Some(folder) = self.existing()? else { return Ok(()) };
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
    // Beyond this limit the system would end the process by a signal.
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit};
        if getrlimit(Resource::Fsize).current.is_some_and(|limit| length > limit) {
            return Err(ErrorKind::FileTooLarge.into());
        }
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{FallocateFlags, fallocate};
        use rustix::io::Errno;
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
    folder: Arc<PrivateFolder>,
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
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&header.encode())?;
        let reserved = self.file.metadata()?.len();
        if reserved != HEADER + header.size {
            self.file.set_len(HEADER + header.size)?;
        }
        // The age of a file is that of its entry, so that counting room does not read headers.
        self.file.set_modified(header.created)?;
        let part = self.part.take().unwrap_or_default();
        // Another process that counts right now must see one of the two names. If the lock cannot be had, it may miss
        // this entry once.
        let lock = FolderLock::take(&self.folder).ok();
        let renamed = self.folder.rename(&part, &self.name);
        if let Some(lock) = lock {
            lock.give_back(reserved.saturating_sub(HEADER + header.size), false);
        }
        if renamed.is_err() {
            self.part = Some(part);
        }
        Ok(renamed?)
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            let reserved = self.file.metadata().map_or(0, |file| file.len());
            // If this fails, a later reservation removes the file. While another process counts, the count stays too high.
            if self.folder.remove(part)
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
