//! The folder of a store, and the calls of the system for the files in it.
//!
//! On Unix, only the user can enter the folder, and files are reached through the opened folder, so that no part of the path can
//! be exchanged in between. On Windows, who can enter it is decided by the access control list that it inherits: that of the
//! user's profile has only the user, the system and administrators. There, files are reached by their paths. A link in the place of
//! a file is opened itself, and refused.

use std::fs::{File, TryLockError};
use std::io;
use std::time::SystemTime;

#[cfg(unix)]
pub(super) use unix::PrivateFolder;
#[cfg(not(unix))]
pub(super) use windows::PrivateFolder;

/// A regular file of this user.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileData {
    pub(super) size: u64,
    pub(super) modified: SystemTime,
}

/// Locks a file, if nobody else has. The system releases the lock when the file is closed, or the process ends in whatever way.
pub(super) fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why.to_owned())
}

#[cfg(unix)]
mod unix {
    use std::fs::{DirBuilder, File};
    use std::io::{self, ErrorKind};
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::DirBuilderExt as _;
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
    use rustix::io::Errno;

    use crate::folder::place::{FileData, refused};

    /// An open folder that only this user can enter.
    #[derive(Debug)]
    pub(in super::super) struct PrivateFolder(OwnedFd);

    impl PrivateFolder {
        /// Opens the folder, and creates it if it does not exist.
        pub(in super::super) fn create(path: &Path) -> io::Result<Self> {
            match DirBuilder::new().recursive(true).mode(0o700).create(path) {
                // Opening it says what is there.
                Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
                _ => Self::open(path),
            }
        }

        /// Opens the folder, if only this user has access to it.
        pub(in super::super) fn open(path: &Path) -> io::Result<Self> {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let folder =
                rustix::fs::open(path, flags, Mode::empty()).map_err(|error| match error {
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
            Ok(Self(folder))
        }

        /// Opens a file for reading and writing, and creates it if it does not exist.
        pub(in super::super) fn open_or_create(&self, name: &str) -> io::Result<File> {
            self.open_with(name, OFlags::RDWR | OFlags::CREATE)
        }

        /// Creates a file. [`ErrorKind::AlreadyExists`]: the name is taken.
        pub(in super::super) fn create_file(&self, name: &str) -> io::Result<File> {
            self.open_with(name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)
        }

        /// Opens a file of this user for reading. `None`: the file does not exist.
        pub(in super::super) fn read(&self, name: &str) -> io::Result<Option<(File, FileData)>> {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = match rustix::fs::openat(&self.0, name, flags, Mode::empty()) {
                Err(Errno::NOENT | Errno::LOOP | Errno::MLINK) => return Ok(None),
                file => file?,
            };
            let stat = rustix::fs::fstat(&file)?;
            Ok(data(&stat).map(|data| (File::from(file), data)))
        }

        /// Opens a file for locking it.
        pub(in super::super) fn open_to_lock(&self, name: &str) -> io::Result<File> {
            // Some network file systems lock exclusively only files that are open for writing.
            self.open_with(name, OFlags::RDWR | OFlags::NONBLOCK)
        }

        fn open_with(&self, name: &str, flags: OFlags) -> io::Result<File> {
            let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = rustix::fs::openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR)?;
            Ok(File::from(file))
        }

        /// Returns whether anything has this name.
        pub(in super::super) fn has(&self, name: &str) -> bool {
            rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
        }

        /// Returns what a name refers to, if it is a file of this user.
        pub(in super::super) fn data(&self, name: &str) -> Option<FileData> {
            data(&rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).ok()?)
        }

        /// Calls `found` with each name.
        pub(in super::super) fn names(&self, mut found: impl FnMut(&str)) -> io::Result<()> {
            let mut names = Dir::read_from(&self.0)?;
            while let Some(entry) = names.read() {
                if let Ok(name) = entry?.file_name().to_str() {
                    found(name);
                }
            }
            Ok(())
        }

        /// Renames a file.
        pub(in super::super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
        }

        /// Removes a file. Returns whether it no longer exists.
        pub(in super::super) fn remove(&self, name: &str) -> bool {
            let removed = rustix::fs::unlinkat(&self.0, name, AtFlags::empty());
            matches!(removed, Ok(()) | Err(Errno::NOENT))
        }
    }

    fn data(stat: &Stat) -> Option<FileData> {
        let is_own = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
            && stat.st_uid == rustix::process::geteuid().as_raw();
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        is_own.then(|| FileData { size, modified: modified(stat) })
    }

    fn modified(stat: &Stat) -> SystemTime {
        #[allow(clippy::useless_conversion, reason = "the types differ between systems")]
        let seconds = u64::try_from(i64::from(stat.st_mtime)).unwrap_or_default();
        #[allow(clippy::useless_conversion, reason = "the types differ between systems")]
        let nanos = u32::try_from(stat.st_mtime_nsec).unwrap_or_default();
        SystemTime::UNIX_EPOCH
            .checked_add(Duration::new(seconds, nanos))
            .unwrap_or(SystemTime::UNIX_EPOCH)
    }
}

#[cfg(not(unix))]
mod windows {
    use std::fs::{self, File, Metadata, OpenOptions};
    use std::io::{self, ErrorKind};
    #[cfg(windows)]
    use std::os::windows::fs::OpenOptionsExt as _;
    use std::path::{Path, PathBuf};
    use std::time::SystemTime;

    use crate::folder::place::{FileData, refused};

    /// `FILE_FLAG_OPEN_REPARSE_POINT`: a symbolic link is opened itself, and not the file that it names.
    /// See <https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-createfilew>.
    #[cfg(windows)]
    const OPEN_LINK: u32 = 0x0020_0000;

    /// A folder of this user.
    #[derive(Debug)]
    pub(in super::super) struct PrivateFolder(PathBuf);

    impl PrivateFolder {
        /// Opens the folder, and creates it if it does not exist.
        pub(in super::super) fn create(path: &Path) -> io::Result<Self> {
            fs::create_dir_all(path)?;
            Self::open(path)
        }

        /// Checks that the path is that of a folder.
        pub(in super::super) fn open(path: &Path) -> io::Result<Self> {
            // A junction is a symbolic link, too.
            if !fs::symlink_metadata(path)?.is_dir() {
                return Err(refused("the folder of the store is a symbolic link or a file"));
            }
            Ok(Self(path.to_owned()))
        }

        /// Opens a file for reading and writing, and creates it if it does not exist.
        pub(in super::super) fn open_or_create(&self, name: &str) -> io::Result<File> {
            self.open_with(name, OpenOptions::new().read(true).write(true).create(true))
        }

        /// Creates a file. [`ErrorKind::AlreadyExists`]: the name is taken.
        pub(in super::super) fn create_file(&self, name: &str) -> io::Result<File> {
            self.open_with(name, OpenOptions::new().write(true).create_new(true))
        }

        /// Opens a file for reading. `None`: the file does not exist.
        pub(in super::super) fn read(&self, name: &str) -> io::Result<Option<(File, FileData)>> {
            if self.data(name).is_none() {
                return Ok(None);
            }
            let file = match self.open_with(name, OpenOptions::new().read(true)) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                file => file?,
            };
            let data = data(&file.metadata()?);
            Ok(data.map(|data| (file, data)))
        }

        /// Opens a file for locking it.
        pub(in super::super) fn open_to_lock(&self, name: &str) -> io::Result<File> {
            self.open_with(name, OpenOptions::new().read(true).write(true))
        }

        fn open_with(&self, name: &str, options: &mut OpenOptions) -> io::Result<File> {
            #[cfg(windows)]
            options.custom_flags(OPEN_LINK);
            let file = options.open(self.0.join(name))?;
            if data(&file.metadata()?).is_none() {
                return Err(refused("a file of the store is a symbolic link"));
            }
            Ok(file)
        }

        /// Returns whether anything has this name.
        pub(in super::super) fn has(&self, name: &str) -> bool {
            fs::symlink_metadata(self.0.join(name)).is_ok()
        }

        /// Returns what a name refers to, if it is a file.
        pub(in super::super) fn data(&self, name: &str) -> Option<FileData> {
            data(&fs::symlink_metadata(self.0.join(name)).ok()?)
        }

        /// Calls `found` with each name.
        pub(in super::super) fn names(&self, mut found: impl FnMut(&str)) -> io::Result<()> {
            for entry in fs::read_dir(&self.0)? {
                if let Some(name) = entry?.file_name().to_str() {
                    found(name);
                }
            }
            Ok(())
        }

        /// Renames a file. It may be open.
        pub(in super::super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            fs::rename(self.0.join(from), self.0.join(to))
        }

        /// Removes a file. Returns whether it no longer exists.
        pub(in super::super) fn remove(&self, name: &str) -> bool {
            let removed = fs::remove_file(self.0.join(name));
            removed.map_or_else(|error| error.kind() == ErrorKind::NotFound, |()| true)
        }
    }

    fn data(data: &Metadata) -> Option<FileData> {
        let modified = data.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        data.is_file().then_some(FileData { size: data.len(), modified })
    }

    #[cfg(all(windows, test))]
    mod tests {
        use std::fs;
        use std::io::ErrorKind;
        use std::os::windows::fs::symlink_file;

        use crate::folder::place::windows::PrivateFolder;

        #[test]
        fn a_link_is_not_followed() {
            let (folder, victim) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let victim = victim.path().join("victim");
            fs::write(&victim, "mine").unwrap();
            let link = folder.path().join("lock");
            // A link cannot be created without the right to. Wine 8 creates none, and says that it did.
            _ = symlink_file(&victim, &link);
            if !fs::symlink_metadata(&link).is_ok_and(|data| data.is_symlink()) {
                return;
            }
            let place = PrivateFolder::open(folder.path()).unwrap();
            for file in [place.open_or_create("lock"), place.open_to_lock("lock")] {
                assert_eq!(file.unwrap_err().kind(), ErrorKind::PermissionDenied);
            }
            assert!(place.read("lock").unwrap().is_none() && place.has("lock"));
            assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        }
    }
}
