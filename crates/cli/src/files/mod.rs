//! Opens inputs and outputs: standard streams, descriptors, private copies, and files that appear only when complete.
//!
//! This module must not depend on their content.

pub(crate) mod conflicts;
#[cfg(any(windows, test))]
#[cfg_attr(not(windows), allow(dead_code, reason = "only its tests run elsewhere"))]
pub(crate) mod console;
pub(crate) mod gzip;
pub(crate) mod head;
pub(crate) mod misspelled;
pub(crate) mod page;
pub(crate) mod place;
pub(crate) mod watched;

use std::fs::{File, OpenOptions, Permissions};
use std::io::{ErrorKind, Result, Write};
use std::path::{Path, PathBuf};

use tamis_mcp::program::check_writable;
use tempfile::NamedTempFile;

use crate::files::place::Place;

/// The number of links that systems follow at most.
const LINKS: usize = 40;

/// Opens the input.
pub(crate) fn open(input: &Place) -> Result<File> {
    match input {
        Place::Standard => standard_input(),
        Place::Path(path) => File::open(path),
    }
}

/// Returns standard input as a file, without the buffer of the standard library, so that a regular file can be read
/// twice.
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

/// Returns standard output as a file, to query its metadata.
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

/// A writer for a stream that another program may have made non-blocking: waits until it can be written to.
#[cfg(unix)]
pub(crate) struct Patient(pub(crate) File);

#[cfg(unix)]
impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        use rustix::event::{PollFd, PollFlags, poll};
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // If this fails, the next write fails as well.
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

/// Returns the number of the descriptor of this process that a path names: `/dev/stdout`, `/dev/fd/3`,
/// `/proc/self/fd/3`, or a link to one of these.
pub(crate) fn descriptor(path: &Path) -> Option<u32> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        let number = path.file_name()?.to_str()?.parse().ok();
        let folder = path.parent()?;
        if number.is_some() && is_folder_of_descriptors(folder) {
            return number;
        }
        path = folder.join(std::fs::read_link(&path).ok()?);
    }
    None
}

fn is_folder_of_descriptors(folder: &Path) -> bool {
    if folder == Path::new("/dev/fd") {
        return true;
    }
    let Ok(folder) = folder.canonicalize() else { return false };
    let process = Path::new("/proc").join(std::process::id().to_string());
    folder.starts_with(process) && folder.ends_with("fd")
}

/// Duplicates a descriptor of this process for writing at its position. Nothing is replaced or truncated.
#[cfg(unix)]
fn duplicate(number: u32, path: &Path) -> Result<File> {
    use std::os::fd::AsFd;
    match number {
        1 => check_writable(std::io::stdout())?,
        2 => check_writable(std::io::stderr())?,
        _ => {}
    }
    let file = match number {
        0 => std::io::stdin().as_fd().try_clone_to_owned(),
        1 => std::io::stdout().as_fd().try_clone_to_owned(),
        2 => std::io::stderr().as_fd().try_clone_to_owned(),
        // If the system cannot duplicate the descriptor, its file is opened for appending.
        _ => match duplicate_by_number(number) {
            Some(duplicate) => duplicate,
            None => return OpenOptions::new().append(true).open(path),
        },
    };
    file.map(File::from)
}

#[cfg(not(unix))]
fn duplicate(_: u32, path: &Path) -> Result<File> {
    OpenOptions::new().append(true).open(path)
}

#[cfg(target_os = "linux")]
fn duplicate_by_number(number: u32) -> Option<Result<std::os::fd::OwnedFd>> {
    use rustix::io::Errno;
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
    let number = i32::try_from(number).ok()?;
    let own = pidfd_open(getpid(), PidfdFlags::empty()).ok()?;
    match pidfd_getfd(own, number, PidfdGetfdFlags::empty()) {
        Ok(duplicate) => Some(Ok(duplicate)),
        Err(Errno::BADF) => Some(Err(Errno::BADF.into())),
        Err(_) => None,
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
fn duplicate_by_number(_: u32) -> Option<Result<std::os::fd::OwnedFd>> {
    None
}

/// Creates a file, or opens the descriptor that the path names.
pub(crate) fn create(path: &Path) -> Result<File> {
    match descriptor(path) {
        Some(number) => duplicate(number, path),
        None => File::create(path),
    }
}

/// Creates a file that only its owner can read, and its folder likewise if needed. Descriptors are used unchanged.
pub(crate) fn create_private(path: &Path) -> Result<File> {
    if let Some(number) = descriptor(path) {
        return duplicate(number, path);
    }
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
        // An existing file may have other permissions.
        if file.metadata()?.is_file() {
            file.set_permissions(Permissions::from_mode(0o600))?;
        }
    }
    Ok(file)
}

/// Whether an open file is a regular one. Windows has no metadata of a pipe.
pub(crate) fn is_regular(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file())
}

/// Returns the path at the end of a chain of links, whether or not a file exists there.
pub(crate) fn follow_links(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        let (Ok(target), Some(folder)) = (std::fs::read_link(&path), path.parent()) else { break };
        path = folder.join(target);
    }
    path
}

#[cfg(not(windows))]
type Stream = std::io::StdoutLock<'static>;
#[cfg(windows)]
type Stream = console::ConsoleText;

/// The open output of a run.
#[derive(Debug)]
pub(crate) enum Output {
    Standard(Stream),
    /// A descriptor, a device or a pipe, which is written to directly.
    Direct(File),
    /// A temporary file in the folder of the file that it will replace.
    Complete(Replacement),
}

/// A file that replaces another one when it is complete. Until then only its owner can read it.
#[derive(Debug)]
pub(crate) struct Replacement {
    file: NamedTempFile,
    path: PathBuf,
    /// The permissions of the file that is replaced, or the default ones of a new file.
    permissions: Option<Permissions>,
}

impl Output {
    /// Opens an output. A file that will be replaced is not changed yet.
    pub(crate) fn open(place: &Place) -> Result<Self> {
        let path = match place {
            Place::Standard => {
                check_writable(std::io::stdout())?;
                #[cfg(not(windows))]
                let stream = std::io::stdout().lock();
                #[cfg(windows)]
                let stream = console::ConsoleText::standard_output()?;
                return Ok(Self::Standard(stream));
            }
            Place::Path(path) => path,
        };
        if let Some(number) = descriptor(path) {
            return duplicate(number, path).map(Self::Direct);
        }
        // A link is kept: its target is replaced or created.
        let (path, permissions) = match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            Ok(metadata) if !metadata.is_file() => {
                return OpenOptions::new().write(true).open(path).map(Self::Direct);
            }
            Ok(metadata) => (path.canonicalize()?, Some(metadata.permissions())),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                (follow_links(path), of_new_files())
            }
            Err(error) => return Err(error),
        };
        Replacement::new(path, permissions).map(Self::Complete)
    }

    /// Completes the output: a file that was written next to its target replaces it.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.flush()?;
        match self {
            Self::Complete(replacement) => replacement.finish(),
            _ => Ok(()),
        }
    }
}

impl Replacement {
    fn new(path: PathBuf, permissions: Option<Permissions>) -> Result<Self> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let create = || tempfile::Builder::new().prefix(".tamis-").tempfile_in(folder);
        #[cfg(unix)]
        let file = crate::system::signals::create_until_ended(create);
        #[cfg(not(unix))]
        let file = create();
        // The name of the temporary file means nothing to a user.
        let file = file.map_err(|error| match std::fs::metadata(folder) {
            Err(of_folder) => of_folder,
            Ok(_) => error.kind().into(),
        })?;
        Ok(Self { file, path, permissions })
    }

    fn finish(self) -> Result<()> {
        if let Some(permissions) = self.permissions {
            self.file.as_file().set_permissions(permissions)?;
        }
        self.file.persist(self.path).map(|_| ()).map_err(|error| error.error)
    }
}

/// Returns the default permissions of new files.
#[cfg(unix)]
fn of_new_files() -> Option<Permissions> {
    use rustix::fs::Mode;
    use rustix::process::umask;
    use std::os::unix::fs::PermissionsExt;
    // The mask can only be read by setting it.
    let mask = umask(Mode::RWXG | Mode::RWXO);
    umask(mask);
    let mode = Mode::from_raw_mode(0o666) - mask;
    #[allow(clippy::useless_conversion, reason = "a mode has 16 bits on macOS")]
    let mode = u32::from(mode.as_raw_mode());
    Some(Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn of_new_files() -> Option<Permissions> {
    None
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self {
            Self::Standard(stream) => stream.write(bytes),
            Self::Direct(file) => file.write(bytes),
            Self::Complete(replacement) => replacement.file.write(bytes),
        }
    }

    fn flush(&mut self) -> Result<()> {
        match self {
            Self::Standard(stream) => stream.flush(),
            Self::Direct(file) => file.flush(),
            Self::Complete(replacement) => replacement.file.flush(),
        }
    }
}
