//! Connects the stages: each is the sink of the one before it.

use tamis_json::error::Error;
use tamis_json::sink::Sink;

/// A stage that reads bytes written by the previous one, and writes to the sink of the run.
pub(super) trait ByteStage {
    /// Reads the next bytes. Is not called again after an error.
    fn take(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Error>;
}

/// A stage as the sink of the previous one. Keeps the first error and ignores everything after it.
pub(super) struct StageSink<'a, T> {
    /// The stage that reads.
    pub(super) stage: &'a mut T,
    /// The sink of that stage.
    pub(super) sink: &'a mut dyn Sink,
    /// Its first error. [`Sink::write`] cannot return it.
    pub(super) error: Option<Error>,
}

impl<T> StageSink<'_, T> {
    /// Returns the error of this stage if there is one, because it comes first, otherwise that of the previous stage.
    pub(super) fn result<R>(self, fed: Result<R, Error>) -> Result<(), Error> {
        match self.error {
            Some(error) => Err(error),
            None => fed.map(|_| ()),
        }
    }
}

impl<T: ByteStage> Sink for StageSink<'_, T> {
    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.stage.take(bytes, self.sink).err();
        }
    }

    fn is_closed(&self) -> bool {
        self.error.is_some() || self.sink.is_closed()
    }
}
