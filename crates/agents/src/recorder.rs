//! Keeps the full outputs of commands in a store, where `tamis recall` reads them.
//!
//! This module does not depend on how a command is run.

use std::cell::OnceCell;
use std::io::{Result, Write};
use std::path::PathBuf;
use std::time::SystemTime;

#[cfg(unix)]
use tamis_command::OverflowFolder;
use tamis_command::{OutputRecord, OutputRecorder, RecordPlace};

use tamis_store::process::command_word;
use tamis_store::state;
use tamis_store::{EntryMeta, EntryWriter, Scope, Store, Window};

#[cfg(not(unix))]
use crate::no_session_files::{SessionFile, SessionFiles};
#[cfg(unix)]
use crate::session_files::{SessionFile, SessionFiles};

/// A store as a place for full outputs.
///
/// ```
/// use tamis_command::{CommandRunner, OutputFilterRegistry};
/// use tamis_agents::recorder::StoreRecorder;
/// use tamis_store::{Store, StoreConfig};
///
/// # let folder = tempfile::tempdir()?;
/// let store = Store::open(StoreConfig::folder(folder.path().join("store")));
/// let runner = CommandRunner::new(OutputFilterRegistry::builtin()).with_overflow(StoreRecorder::new(store, "make"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct StoreRecorder {
    store: Option<Store>,
    command: String,
    limit: u64,
    #[cfg(unix)]
    fallback: Option<OverflowFolder>,
    files: Option<SessionFiles>,
}

/// The record of one output.
#[derive(Debug)]
struct StoreRecord {
    store: Store,
    writer: EntryWriter,
    /// Where the output will also be in a file.
    files: Option<SessionFiles>,
    /// The file, from the first question where the output is. Without a file, it is only in the store.
    file: OnceCell<Option<SessionFile>>,
    limit: u64,
    left_out: u64,
}

impl StoreRecorder {
    /// Creates a recorder. `command` is the name of the entry.
    #[must_use]
    pub fn new(store: impl Into<Option<Store>>, command: impl Into<String>) -> Self {
        let (store, command) = (store.into(), command.into());
        Self {
            store,
            command,
            limit: u64::MAX,
            #[cfg(unix)]
            fallback: None,
            files: None,
        }
    }

    /// Returns the handle of a record. `None`: it is not in a store.
    #[must_use]
    pub fn handle(place: &RecordPlace) -> Option<&str> {
        match place {
            RecordPlace::Command(command) => {
                command.rsplit_once(" recall ").map(|(_, handle)| handle)
            }
            RecordPlace::File(path) => SessionFiles::handle(path),
            _ => None,
        }
    }

    /// Sets the folder for a file with each output that is kept, which notices then name.
    #[cfg(unix)]
    #[must_use]
    pub fn with_session_files(mut self, files: Option<SessionFiles>) -> Self {
        self.files = files;
        self
    }

    /// Sets how many bytes of an output are kept. The limit of the store for an entry applies in any case.
    #[must_use]
    pub fn with_limit(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// Sets where full outputs are kept if the store cannot be written to, as in a sandbox.
    #[cfg(unix)]
    #[must_use]
    pub fn with_fallback(mut self, folder: OverflowFolder) -> Self {
        self.fallback = Some(folder);
        self
    }

    /// Returns the folder for [`with_fallback`](Self::with_fallback) in the folder for temporary files: `tamis-UID` in
    /// `$TMPDIR`.
    #[cfg(unix)]
    #[must_use]
    pub fn temporary_folder() -> OverflowFolder {
        let user = rustix::process::geteuid().as_raw();
        OverflowFolder::new(std::env::temp_dir().join(format!("tamis-{user}")))
    }
}

/// Returns the last full output that was recorded where the store could not be written to, as in the sandbox of an agent: its
/// file, and when it was written.
#[must_use]
pub fn latest_in_sandboxes() -> Option<(PathBuf, SystemTime)> {
    let folders = state::temporary_folders().into_iter().filter(|folder| state::is_private(folder));
    let entries = folders.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let logs = entries.filter_map(|entry| {
        let path = entry.path();
        let is_log = path.extension().is_some_and(|extension| extension == "log");
        let data = path.symlink_metadata().ok().filter(|data| is_log && data.is_file())?;
        Some((path, data.modified().ok()?))
    });
    logs.max_by_key(|(_, written)| *written)
}

impl OutputRecorder for StoreRecorder {
    fn begin(&self) -> Result<Box<dyn OutputRecord>> {
        let begun = match &self.store {
            None => Err(std::io::Error::other("there is no home folder for the store")),
            Some(store) => store
                .begin(Scope::user(), EntryMeta::command(&self.command))
                .map(|writer| (store.clone(), writer, store.limits().entry()))
                .map_err(Into::into),
        };
        match begun {
            Ok((store, writer, most)) => {
                let (limit, files) = (self.limit.min(most), self.files.clone());
                let file = OnceCell::new();
                Ok(Box::new(StoreRecord { store, writer, files, file, limit, left_out: 0 }))
            }
            Err(error) => self.begin_elsewhere(error),
        }
    }
}

impl StoreRecorder {
    /// Begins a record in the folder for outputs that cannot be stored. `error` says why.
    #[cfg(unix)]
    fn begin_elsewhere(&self, error: std::io::Error) -> Result<Box<dyn OutputRecord>> {
        match &self.fallback {
            None => Err(error),
            // The first error says more.
            Some(folder) => folder.begin().map_err(|_other| error),
        }
    }

    /// Returns the error, because this system has no folder for such outputs.
    #[cfg(not(unix))]
    fn begin_elsewhere(&self, error: std::io::Error) -> Result<Box<dyn OutputRecord>> {
        Err(error)
    }
}

impl StoreRecord {
    /// Returns the file of the output, which is created now: a notice names it before it is complete. An output that is recorded
    /// in part, or that is very long, has none, and neither has one where the folder cannot be written to.
    fn file(&self) -> Option<&SessionFile> {
        let create = || {
            let is_whole = self.left_out == 0 && !self.writer.has_failed();
            let files = self.files.as_ref().filter(|_| is_whole)?;
            let files = Some(files).filter(|files| files.has_room(self.writer.written()))?;
            files.create(&self.writer.handle().to_string()).ok()
        };
        self.file.get_or_init(create).as_ref()
    }
}

impl Write for StoreRecord {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let room = self.limit.saturating_sub(self.writer.written());
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        match bytes.get(..room).unwrap_or(bytes) {
            [] => {
                self.left_out += bytes.len() as u64;
                Ok(bytes.len())
            }
            fits => Write::write(&mut self.writer, fits),
        }
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl OutputRecord for StoreRecord {
    fn place(&self) -> RecordPlace {
        if let Some(file) = self.file() {
            return RecordPlace::File(file.path().to_owned());
        }
        RecordPlace::Command(format!("{} recall {}", command_word(), self.writer.handle()))
    }

    fn prints_lines(&self) -> bool {
        self.file().is_none()
    }

    fn written(&self) -> u64 {
        self.writer.written()
    }

    fn left_out(&self) -> u64 {
        self.left_out
    }

    fn keep(self: Box<Self>) -> Result<()> {
        _ = self.file();
        let Self { store, writer, left_out, file, .. } = *self;
        let handle = writer.handle().to_string();
        let kept = match left_out == 0 && !writer.has_failed() {
            true => writer.finish(),
            false => writer.finish_incomplete(),
        };
        kept?;
        let Some(mut file) = file.into_inner().flatten() else { return Ok(()) };
        let whole = Window::new().with_limit(None);
        store.read(&Scope::user(), &handle, &whole, &mut file).map_err(std::io::Error::other)?;
        file.keep()
    }
}
