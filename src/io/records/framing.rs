//! Checks whether a document is valid JSON to its end, whatever its filter does.
//!
//! A filter that failed reads no further, and one that stops early skips the rest. This check reads on, so that the end of
//! the document is certain.

use tamis_json::bom::BomSkipper;
use tamis_json::error::{Error, Raise};
use tamis_json::machine::{Machine, MachineConfig};
use tamis_json::scan::Scanner;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};

use crate::filter::Call;
use crate::spec::Validation;

/// Validates one document after the other.
pub(super) struct FramingCheck {
    machine: Machine,
    config: MachineConfig,
    scanner: Scanner,
    bom: BomSkipper,
    /// The document is not valid.
    error: Option<Error>,
    has_failed: bool,
    /// The filter is less strict than this check.
    is_lenient: bool,
}

impl FramingCheck {
    /// Creates a check for the documents of a call.
    pub(super) fn new(call: &Call<'_>) -> Self {
        let limits = call.options().limits();
        let config = MachineConfig::new(limits);
        Self {
            machine: Machine::new(config.clone()),
            config,
            scanner: Scanner::new(),
            bom: BomSkipper::new(),
            error: None,
            has_failed: false,
            is_lenient: call.program().spec().validation == Validation::Structure,
        }
    }

    /// Takes the next bytes of the document.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        if !self.has_failed {
            let read = self.read(bytes);
            self.note(read);
        }
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let (document, prefix) = self.bom.skip(bytes)?;
        self.machine.skip_prefix(prefix.unwrap_or(0));
        self.machine.feed(self.scanner, document, &mut SkipHandler).map(drop)
    }

    /// Ends the document.
    pub(super) fn end(&mut self) {
        if !self.has_failed {
            let ended = self.bom.end().and_then(|()| self.machine.end(&mut SkipHandler));
            self.note(ended);
        }
    }

    fn note(&mut self, result: Result<(), Error>) {
        self.error = result.err();
        self.has_failed = self.error.is_some();
    }

    /// Returns the error of the document, and forgets it. If the filter of the document failed (`is_bad`), the error counts
    /// even where the filter would have accepted the document.
    pub(super) fn take_error(&mut self, is_bad: bool) -> Option<Error> {
        if is_bad || !self.is_lenient { self.error.take() } else { None }
    }

    /// Prepares for the next document.
    pub(super) fn restart(&mut self) {
        self.machine.restart(self.config.clone());
        self.bom = BomSkipper::new();
        (self.error, self.has_failed) = (None, false);
    }
}

/// Skips the whole document.
struct SkipHandler;

impl Handler for SkipHandler {
    fn value(&mut self, _: ValueSlot<'_>, _: ValueKind, _: u64) -> Result<Interest, Raise> {
        Ok(Interest::Skip)
    }

    fn close(&mut self, _: u64) -> Result<(), Raise> {
        Ok(())
    }

    fn raw(&mut self, _: &[u8]) {}
}
