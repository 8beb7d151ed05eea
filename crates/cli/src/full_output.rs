//! Keeps the full outputs of commands in the store of the user, where `tamis recall` reads them.
//!
//! This module must not depend on how a command is run.

use std::io::{Result, Write};

use tamis::command::{OutputRecord, OutputRecorder, RecordPlace};
use tamis_gateway::store::{EntryMeta, EntryWriter, Scope, Store};

/// A store as a place for full outputs.
#[derive(Debug)]
pub(crate) struct StoreRecorder {
    pub(crate) store: Store,
    /// The command, as the entry names it.
    pub(crate) command: String,
    /// Bytes of an output that are kept.
    pub(crate) limit: u64,
}

/// The record of one output.
#[derive(Debug)]
struct StoreRecord {
    writer: EntryWriter,
    limit: u64,
    left_out: u64,
}

impl OutputRecorder for StoreRecorder {
    fn begin(&self) -> Result<Box<dyn OutputRecord>> {
        let writer = self.store.begin(Scope::user(), EntryMeta::command(&self.command))?;
        let limit = self.limit.min(self.store.limits().entry());
        Ok(Box::new(StoreRecord { writer, limit, left_out: 0 }))
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
            fits => self.writer.write(fits),
        }
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl OutputRecord for StoreRecord {
    fn place(&self) -> RecordPlace {
        RecordPlace::Command(format!("tamis recall {}", self.writer.handle()))
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
