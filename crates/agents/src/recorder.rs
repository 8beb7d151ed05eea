//! Keeps the full outputs of commands in a store, where `tamis recall` reads them.
//!
//! This module does not depend on how a command is run.

use std::io::{Result, Write};

use tamis_command::{OutputRecord, OutputRecorder, OverflowFolder, RecordPlace};

use tamis_store::process::command_word;
use tamis_store::{EntryMeta, EntryWriter, Scope, Store};

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
    fallback: Option<OverflowFolder>,
}

/// The record of one output.
#[derive(Debug)]
struct StoreRecord {
    writer: EntryWriter,
    limit: u64,
    left_out: u64,
}

impl StoreRecorder {
    /// Creates a recorder. `command` is the name of the entry.
    #[must_use]
    pub fn new(store: impl Into<Option<Store>>, command: impl Into<String>) -> Self {
        let (store, command) = (store.into(), command.into());
        Self { store, command, limit: u64::MAX, fallback: None }
    }

    /// Returns the handle of a record. `None`: it is not in a store.
    #[must_use]
    pub fn handle(place: &RecordPlace) -> Option<&str> {
        match place {
            RecordPlace::Command(command) => {
                command.rsplit_once(" recall ").map(|(_, handle)| handle)
            }
            _ => None,
        }
    }

    /// Sets how many bytes of an output are kept. The limit of the store for an entry applies in any case.
    #[must_use]
    pub fn with_limit(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// Sets where full outputs are kept if the store cannot be written to, as in a sandbox.
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

impl OutputRecorder for StoreRecorder {
    fn begin(&self) -> Result<Box<dyn OutputRecord>> {
        let begun = match &self.store {
            None => Err(std::io::Error::other("there is no home folder for the store")),
            Some(store) => store
                .begin(Scope::user(), EntryMeta::command(&self.command))
                .map(|writer| (writer, store.limits().entry()))
                .map_err(Into::into),
        };
        match (begun, &self.fallback) {
            (Ok((writer, most)), _) => {
                Ok(Box::new(StoreRecord { writer, limit: self.limit.min(most), left_out: 0 }))
            }
            (Err(error), None) => Err(error),
            // The first error says more.
            (Err(error), Some(folder)) => folder.begin().map_err(|_other| error),
        }
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
        RecordPlace::Command(format!("{} recall {}", command_word(), self.writer.handle()))
    }

    fn prints_lines(&self) -> bool {
        true
    }

    fn written(&self) -> u64 {
        self.writer.written()
    }

    fn left_out(&self) -> u64 {
        self.left_out
    }

    fn keep(self: Box<Self>) -> Result<()> {
        let Self { writer, left_out, .. } = *self;
        let kept = match left_out == 0 && !writer.has_failed() {
            true => writer.finish(),
            false => writer.finish_incomplete(),
        };
        kept.map(|_| ()).map_err(Into::into)
    }
}
