//! Opens what is read and written: standard streams as files, private records, and files that appear when they are
//! complete.
//!
//! Must not know what is in them.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Result, StdoutLock, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::resolve::Place;

/// Opens the input.
pub(crate) fn open(input: &Place) -> Result<File> {
    match input {
        Place::Standard => standard_input(),
        Place::Path(path) => File::open(path),
    }
}

/// Standard input as a file, without the buffer of the standard library: a regular file can be read twice.
pub(crate) fn standard_input() -> Result<File> {
    #[cfg(windows)]
    use std::os::windows::io::AsHandle;
    #[cfg(windows)]
    return std::io::stdin().as_handle().try_clone_to_owned().map(File::from);
    #[cfg(not(windows))]
    use std::os::fd::AsFd;
    #[cfg(not(windows))]
    std::io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

/// Standard output as a file, to be asked what it is.
pub(crate) fn standard_output() -> Result<File> {
    #[cfg(windows)]
    use std::os::windows::io::AsHandle;
    #[cfg(windows)]
    return std::io::stdout().as_handle().try_clone_to_owned().map(File::from);
    #[cfg(not(windows))]
    use std::os::fd::AsFd;
    #[cfg(not(windows))]
    std::io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

/// A stream that may belong to a program that does not wait: what cannot be taken now is written when it can.
#[cfg(unix)]
pub(crate) struct Patient(pub(crate) File);

#[cfg(unix)]
impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        use rustix::event::{PollFd, PollFlags, poll};
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // Interrupted or failed: the next write tells.
                    _ = poll(&mut [PollFd::new(&self.0, PollFlags::OUT)], None);
                }
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.0.flush()
    }
}

/// Creates a file for its owner alone, and its folder likewise if there is none.
pub(crate) fn create_private(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let mut folders = std::fs::DirBuilder::new();
    folders.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        options.mode(0o600);
        folders.mode(0o700);
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        folders.create(folder)?;
    }
    let file = options.open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // It may have been there, with other permissions.
        if file.metadata()?.is_file() {
            file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(file)
}

/// Where the output goes.
#[derive(Debug)]
pub(crate) enum Output {
    Standard(StdoutLock<'static>),
    /// A device or a pipe: there is nothing to be replaced.
    Direct(File),
    /// A file beside the one that it will replace.
    Beside(NamedTempFile, PathBuf),
}

impl Output {
    /// Opens it; a file that is to be replaced stays as it is.
    pub(crate) fn open(place: &Place) -> Result<Self> {
        let path = match place {
            Place::Standard => return Ok(Self::Standard(std::io::stdout().lock())),
            Place::Path(path) => path,
        };
        let there = match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            Ok(metadata) if !metadata.is_file() => {
                return OpenOptions::new().write(true).open(path).map(Self::Direct);
            }
            Ok(metadata) => Some(metadata.permissions()),
            Err(_) => None,
        };
        // A link stays one: what it leads to is replaced.
        let path = path.canonicalize().unwrap_or_else(|_| path.clone());
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".tamis-");
        // A new file has the permissions that any new file has.
        #[cfg(unix)]
        if there.is_none() {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let beside = builder.tempfile_in(folder)?;
        if let Some(permissions) = there {
            beside.as_file().set_permissions(permissions)?;
        }
        Ok(Self::Beside(beside, path))
    }

    /// The output is complete.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.flush()?;
        match self {
            Self::Beside(beside, path) => {
                beside.persist(path).map(|_| ()).map_err(|error| error.error)
            }
            _ => Ok(()),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self {
            Self::Standard(stream) => stream.write(bytes),
            Self::Direct(file) => file.write(bytes),
            Self::Beside(file, _) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> Result<()> {
        match self {
            Self::Standard(stream) => stream.flush(),
            Self::Direct(file) => file.flush(),
            Self::Beside(file, _) => file.flush(),
        }
    }
}
