//! Full outputs as files that an agent opens without asking its user.
//!
//! Claude Code lets its model read the files of its session, such as the outputs that it cut itself, with the tool `Read`,
//! whatever the user's rules for commands are. A full output that lies there too can be read where `tamis recall` would
//! need a permission.
//!
//! The store has the output as well. An index, a folder with a link to each file, is in the state folder: by it, files are
//! removed after the time of the store's entries, and when tamis is uninstalled.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tamis_store::state;

/// How long a file is kept, as entries of the store are.
const AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// The most bytes of a file. A longer output is only in the store.
const MOST_BYTES: u64 = 64 << 20;
/// The most bytes of all files.
const MOST_BYTES_IN_ALL: u64 = 1 << 30;
/// The most files.
const MOST_FILES: usize = 1_000;

/// The folder of a session, and the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFiles {
    folder: PathBuf,
    index: PathBuf,
}

impl SessionFiles {
    /// Returns the folder of the session of Claude Code that started this process. `None`: the folder is missing,
    /// is open to others, or is below the working directory.
    #[must_use]
    pub fn of_claude() -> Option<Self> {
        let session = std::env::var("CLAUDE_CODE_SESSION_ID").ok()?;
        let set = std::env::var_os("CLAUDE_CONFIG_DIR").map(PathBuf::from);
        let claude = match set.filter(|path| path.is_absolute()) {
            Some(folder) => folder,
            None => std::env::home_dir().filter(|home| home.is_absolute())?.join(".claude"),
        };
        let working = std::env::current_dir().ok()?;
        Self::of_session(&claude, &session, &working, &state::folder_of_user()?)
    }

    /// Returns the folder of a session in the folder of Claude Code. `working` is the working directory, and `state` the
    /// folder with the index.
    #[must_use]
    pub fn of_session(claude: &Path, session: &str, working: &Path, state: &Path) -> Option<Self> {
        let is_name = |char: char| char.is_ascii_alphanumeric() || char == '-';
        if session.is_empty() || session.len() > 64 || !session.chars().all(is_name) {
            return None;
        }
        let transcript = format!("{session}.jsonl");
        let projects = fs::read_dir(claude.join("projects")).ok()?.flatten();
        let mut projects = projects.map(|project| project.path());
        let project = projects.find(|project| project.join(&transcript).is_file())?;
        let is_in_tree = project.starts_with(working);
        (!is_in_tree && is_own(&project)).then(|| Self {
            folder: project.join(session).join("tool-results"),
            index: index(state),
        })
    }

    /// Returns the file for the entry of a handle.
    #[must_use]
    pub fn path(&self, handle: &str) -> PathBuf {
        self.folder.join(format!("{handle}.txt"))
    }

    /// Returns the handle in the path of a file.
    #[must_use]
    pub fn handle(path: &Path) -> Option<&str> {
        path.file_stem()?.to_str().filter(|name| name.starts_with("tm_"))
    }

    /// Returns whether an output of this size gets a file. Makes room for it.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        if bytes > MOST_BYTES {
            return false;
        }
        let mut files = files(&self.index);
        files.sort_by_key(|file| std::cmp::Reverse(file.written));
        let mut all = bytes;
        for (number, file) in files.iter().enumerate() {
            all = all.saturating_add(file.bytes);
            if number + 1 >= MOST_FILES || all > MOST_BYTES_IN_ALL || file.is_old() {
                file.remove();
            }
        }
        true
    }

    /// Creates the file of an entry, for the user only.
    ///
    /// # Errors
    /// The folder or the file cannot be created.
    pub(crate) fn create(&self, handle: &str) -> io::Result<SessionFile> {
        for folder in [&self.folder, &self.index] {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        if !is_own(&self.folder) {
            return Err(io::Error::other("the folder of the session belongs to another user"));
        }
        let (path, link) = (self.path(handle), self.index.join(handle));
        symlink(&path, &link)?;
        let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let file = opened.inspect_err(|_| _ = fs::remove_file(&link))?;
        Ok(SessionFile { path, link, sink: io::BufWriter::new(file), error: None, is_kept: false })
    }
}

fn index(state: &Path) -> PathBuf {
    state.join("session-files")
}

/// Whether a path is a folder of the user that others cannot write to.
fn is_own(folder: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    folder
        .symlink_metadata()
        .is_ok_and(|data| data.is_dir() && data.uid() == user && data.mode() & 0o022 == 0)
}

/// A file of the index.
struct IndexedFile {
    link: PathBuf,
    path: PathBuf,
    written: SystemTime,
    bytes: u64,
}

impl IndexedFile {
    fn is_old(&self) -> bool {
        self.written.elapsed().is_ok_and(|age| age > AGE)
    }

    fn remove(&self) {
        // A file that is gone is what was asked for.
        _ = fs::remove_file(&self.path);
        _ = fs::remove_file(&self.link);
    }
}

/// Returns the files of an index. Links that are not ours are left out.
fn files(index: &Path) -> Vec<IndexedFile> {
    let links = fs::read_dir(index).into_iter().flatten().flatten().map(|link| link.path());
    let indexed = |link: PathBuf| {
        let path = fs::read_link(&link).ok()?;
        let is_ours = SessionFiles::handle(&path).map(str::as_bytes)
            == link.file_name().map(std::ffi::OsStr::as_encoded_bytes)
            && path.parent().is_some_and(|folder| folder.ends_with("tool-results"));
        let data = path.symlink_metadata().ok();
        let written = data.as_ref().and_then(|data| data.modified().ok());
        is_ours.then(|| IndexedFile {
            link,
            path,
            written: written.unwrap_or(SystemTime::UNIX_EPOCH),
            bytes: data.map_or(0, |data| data.len()),
        })
    };
    links.filter_map(indexed).collect()
}

/// Removes all files of an index in a state folder.
pub(crate) fn remove_all(state: &Path) {
    let index = index(state);
    for file in files(&index) {
        file.remove();
    }
    _ = fs::remove_dir(index);
}

/// The file of one output, a sink of the store. Unless it is kept, it is removed again.
#[derive(Debug)]
pub(crate) struct SessionFile {
    path: PathBuf,
    link: PathBuf,
    sink: io::BufWriter<File>,
    error: Option<io::Error>,
    is_kept: bool,
}

impl SessionFile {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the file with everything that was written.
    ///
    /// # Errors
    /// A part could not be written; the file is removed.
    pub(crate) fn keep(mut self) -> io::Result<()> {
        self.error.take().map_or_else(|| self.sink.flush(), Err)?;
        self.is_kept = true;
        Ok(())
    }
}

impl tamis::Sink for SessionFile {
    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.sink.write_all(bytes).err();
        }
    }
}

impl Drop for SessionFile {
    fn drop(&mut self) {
        if !self.is_kept {
            _ = fs::remove_file(&self.path);
            _ = fs::remove_file(&self.link);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use super::{SessionFiles, remove_all};

    #[test]
    fn files_lie_in_the_folder_of_the_session_and_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (claude, state) = (folder.path().join(".claude"), folder.path().join("state"));
        fs::create_dir_all(claude.join("projects/-w")).unwrap();
        fs::create_dir_all(claude.join("projects/-x")).unwrap();
        fs::write(claude.join("projects/-w/5-a.jsonl"), "").unwrap();
        let of = |session: &str, working: &Path| {
            SessionFiles::of_session(&claude, session, working, &state)
        };
        assert_eq!(of("6-b", Path::new("/w")), None);
        assert_eq!(of("../5-a", Path::new("/w")), None);
        // A session in the home folder: a commit could have the files.
        assert_eq!(of("5-a", folder.path()), None);
        let files = of("5-a", Path::new("/w")).unwrap();
        assert!(files.has_room(5));
        let path = files.path("tm_abc");
        drop(files.create("tm_abc").unwrap());
        assert!(!path.exists());
        let mut file = files.create("tm_abc").unwrap();
        tamis::Sink::write(&mut file, b"whole");
        file.keep().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert!(path.starts_with(claude.join("projects/-w/5-a/tool-results")));
        assert_eq!(SessionFiles::handle(&path), Some("tm_abc"));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        files.create("tm_abc").unwrap_err();
        assert!(!files.has_room(1 << 40));
        fs::write(files.path("other"), "").unwrap();
        remove_all(&state);
        assert!(!path.exists());
        assert!(files.path("other").exists());
        assert!(!state.join("session-files").exists());
    }
}
