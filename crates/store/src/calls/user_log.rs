//! [`UserLog`]: the log in the state folder of the user.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::CallLine;
use crate::state;

/// Size over which the log is renamed. One older file is kept.
const LIMIT: u64 = 8 << 20;

/// The log of what the commands and hooks of a user saved: `calls.jsonl` in the state folder.
///
/// Processes may append at the same time: each line is one write. Only the owner of the file can read it (0600). When it
/// exceeds 8 MiB, it becomes `calls.jsonl.1`, in place of the older one.
///
/// In the sandbox of an agent, the state folder cannot be written to. Then the line goes to a file of the same name in the
/// folder for temporary files ([`state::temporary_folder`]), if only the user has access to that.
#[derive(Clone, Debug)]
pub struct UserLog {
    file: PathBuf,
    limit: u64,
    fallback: Option<PathBuf>,
}

impl UserLog {
    /// Returns the log of the user, or `None` if there is no home folder.
    ///
    /// It is in `$TAMIS_STATE_DIR`, else in `$XDG_STATE_HOME/tamis`, else in `~/.local/state/tamis`.
    #[must_use]
    pub fn of_user() -> Option<Self> {
        state::folder_of_user().map(|folder| Self::in_folder(&folder))
    }

    /// Returns the log of the user to append to, or `None` if there is no home folder, or if the user has turned the log
    /// off with `TAMIS_LOG=off`.
    #[must_use]
    pub fn to_append() -> Option<Self> {
        let is_off = std::env::var_os("TAMIS_LOG").is_some_and(|value| value == "off");
        Some(Self::of_user()?.with_fallback(state::temporary_folder())).filter(|_| !is_off)
    }

    /// Sets the folder of the log if that of the user cannot be written to.
    #[must_use]
    pub fn with_fallback(mut self, folder: Option<PathBuf>) -> Self {
        self.fallback = folder;
        self
    }

    /// Returns whether lines can be appended to the file, if there is one, and why not. Nothing is written.
    ///
    /// # Errors
    /// The file of the log cannot be opened for writing.
    pub fn check(&self) -> io::Result<()> {
        let is_file = match self.file.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            data => data?.is_file(),
        };
        if !is_file {
            return Err(io::Error::other("not a regular file"));
        }
        OpenOptions::new().append(true).open(&self.file).map(|_| ())
    }

    /// Returns the logs that processes in sandboxes wrote, which may not exist.
    #[must_use]
    pub fn of_sandboxes() -> Vec<Self> {
        let folders = state::temporary_folders().into_iter();
        folders
            .filter(|folder| state::is_private(folder))
            .map(|folder| Self::in_folder(&folder))
            .collect()
    }

    /// Returns the log in a folder, which [`append`](Self::append) creates.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self { file: folder.join("calls.jsonl"), limit: LIMIT, fallback: None }
    }

    /// Returns the files of the log, the older one first. They may not exist.
    #[must_use]
    pub fn files(&self) -> [PathBuf; 2] {
        [self.older(), self.file.clone()]
    }

    fn older(&self) -> PathBuf {
        let mut name = self.file.clone().into_os_string();
        name.push(".1");
        PathBuf::from(name)
    }

    /// Appends a line. Callers ignore the error, because no run fails for its log.
    ///
    /// # Errors
    /// The line cannot be written, or the file is not a regular one.
    pub fn append(&self, line: &CallLine<'_>) -> io::Result<()> {
        let mut text = serde_json::to_vec(line).map_err(io::Error::other)?;
        text.push(b'\n');
        let written = self.write(&text);
        match (&written, &self.fallback) {
            (Err(error), Some(folder)) if is_unwritable(error) => {
                let log = Self { limit: self.limit, ..Self::in_folder(folder) };
                log.create_folder()?;
                if state::is_private(folder) { log.write(&text) } else { written }
            }
            _ => written,
        }
    }

    /// Opens the file, and creates the folder if it is missing.
    fn opened(&self) -> io::Result<File> {
        match self.open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.create_folder()?;
                self.open()
            }
            opened => opened,
        }
    }

    /// Writes a line.
    fn write(&self, text: &[u8]) -> io::Result<()> {
        let mut file = self.opened()?;
        if file.metadata()?.len() > self.limit && self.rotate(&file) {
            file = self.open()?;
        }
        // One write, so that the lines of several processes are not mixed.
        if file.write(text)? == text.len() {
            return Ok(());
        }
        // The disk is full. The next line must not continue this one.
        file.write_all(b"\n")
    }

    fn open(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        {
            use rustix::fs::OFlags;
            use std::os::unix::fs::OpenOptionsExt;
            // A pipe must not block the run.
            let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
            options.mode(0o600).custom_flags(flags.bits().cast_signed());
        }
        let file = options.open(&self.file)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        Ok(file)
    }

    fn create_folder(&self) -> io::Result<()> {
        let Some(folder) = self.file.parent() else { return Ok(()) };
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)
    }

    /// Renames the file, unless another process does. Returns whether the file at the path is another one now.
    fn rotate(&self, file: &File) -> bool {
        if file.try_lock().is_err() {
            return false;
        }
        // Another process may have renamed it before the lock.
        let is_current = match (file.metadata(), std::fs::metadata(&self.file)) {
            (Ok(open), Ok(named)) => is_same(&open, &named),
            _ => false,
        };
        !is_current || std::fs::rename(&self.file, self.older()).is_ok()
    }
}

/// Whether an error is that of a sandbox, and not of a file that is in the way.
fn is_unwritable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied)
}

#[cfg(unix)]
fn is_same(one: &std::fs::Metadata, other: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(one: &std::fs::Metadata, other: &std::fs::Metadata) -> bool {
    one.len() == other.len()
}

#[cfg(test)]
mod tests {
    use super::UserLog;
    use crate::calls::{CallLine, Savings};

    #[test]
    fn lines_of_many_writers_are_whole_and_the_size_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let log = UserLog { limit: 20_000, ..UserLog::in_folder(&folder.path().join("a/b")) };
        let line = CallLine::new("cargo", "cargo-test", [4_000, 400]);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100).for_each(|_| log.append(&line).unwrap()));
            }
        });
        let mut savings = Savings::default();
        for file in log.files() {
            savings.read_file(&file).unwrap();
            assert!(file.metadata().unwrap().len() < 25_000);
        }
        assert_eq!(savings.skipped(), 0);
        assert!(savings.table().contains("\ncargo  "), "{}", savings.table());
    }

    #[cfg(unix)]
    #[test]
    fn a_sandbox_logs_to_the_folder_for_temporary_files() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        // A folder that nobody can write to, not even root.
        let log = UserLog::in_folder(std::path::Path::new("/proc/self/fdinfo"));
        let temporary = folder.path().join("tamis-0");
        let line = CallLine::new("cargo", "cargo-test", [4_000, 400]);
        if !log.append(&line).is_err_and(|error| super::is_unwritable(&error)) {
            // This system has no such folder.
            return;
        }
        let log = log.with_fallback(Some(temporary.clone()));
        log.append(&line).unwrap();
        let [_, file] = UserLog::in_folder(&temporary).files();
        assert!(std::fs::read_to_string(&file).unwrap().contains("\"tool\":\"cargo\""));
        // Others could read it.
        std::fs::set_permissions(&temporary, std::fs::Permissions::from_mode(0o755)).unwrap();
        log.append(&line).unwrap_err();
    }

    #[cfg(unix)]
    #[test]
    fn only_a_regular_file_is_a_log() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let log = UserLog::in_folder(folder.path());
        let line = CallLine::new("a\u{1b}b", "", [1, 1]);
        log.append(&line).unwrap();
        let [older, file] = log.files();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(std::fs::read_to_string(&file).unwrap().contains("\"tool\":\"ab\""));
        std::fs::rename(&file, &older).unwrap();
        std::os::unix::fs::symlink(&older, &file).unwrap();
        log.append(&line).unwrap_err();
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        log.append(&line).unwrap_err();
    }
}
