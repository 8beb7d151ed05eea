//! Searches a document for the value at `extract` where it may be missing: in the response of a failed call (SPEC
//! §3).
//!
//! The document is held until the result is certain. Nothing is written.

use super::document::scope::DocumentScope;
use super::hold::Hold;
use super::stage::{StageHandler, StageMachine, StageState, machine_config};
use crate::error::{Error, Raise};
use crate::filter::compile::program::Program;
use crate::filter::options::CallOptions;
use crate::json::{Handler, Interest, ValueKind, ValueSlot};
use crate::sink::Sink;

/// The search, reused for all documents of a run.
#[derive(Debug)]
pub(super) struct ExtractSearch {
    /// The program to run if the value exists.
    pub(super) program: Program,
    pub(super) engine: StageMachine,
    seeker: ExtractProbe,
    /// The document so far.
    pub(super) hold: Hold,
    /// The result is known.
    pub(super) done: bool,
}

#[derive(Debug)]
struct ExtractProbe {
    scope: DocumentScope,
    /// Whether the value exists, and the offset of the byte that made it certain.
    found: Option<(bool, u64)>,
}

impl ExtractSearch {
    /// Returns `None` unless the program allows the value to be missing.
    pub(super) fn new(program: &Program, options: &CallOptions) -> Option<Self> {
        let compiled = program.compiled();
        if !compiled.may_lack_extract {
            return None;
        }
        let config = machine_config(&compiled.spec, options.limits(), false);
        let scope = DocumentScope::new(compiled, false);
        Some(Self {
            program: program.clone(),
            engine: StageMachine::new(config, options.scanner()),
            seeker: ExtractProbe { scope, found: None },
            hold: Hold::default(),
            done: false,
        })
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self, options: &CallOptions) {
        let config = machine_config(&self.program.compiled().spec, options.limits(), false);
        self.engine.restart(config);
        self.seeker.scope.restart();
        (self.seeker.found, self.hold, self.done) = (None, Hold::default(), false);
    }

    /// Returns whether the value exists, with the offset of the byte that made it certain.
    pub(super) fn found(&self) -> Option<(bool, u64)> {
        self.seeker.found
    }

    pub(super) fn watch(&mut self, chunk: &[u8]) -> Result<(), Error> {
        let Self { engine, seeker, .. } = self;
        let fed = engine.feed(seeker, chunk, &mut Vec::new());
        fed.map(|_| ())
    }

    /// Finishes the document.
    ///
    /// # Errors
    /// Fails if the document is incomplete.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        let Self { engine, seeker, .. } = self;
        let ended = engine.end(seeker, &mut Vec::new());
        ended
    }
}

impl StageState for ExtractProbe {
    fn flush(&mut self, _: &mut dyn Sink) {}
}

impl Handler for StageHandler<'_, ExtractProbe> {
    fn value(
        &mut self,
        mut slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Raise> {
        let ExtractProbe { scope, found, .. } = &mut *self.stage;
        if found.is_some() {
            return Ok(Interest::SkipRest);
        }
        match scope.find(&mut slot, kind) {
            Ok(Some(interest)) => return Ok(interest),
            Ok(None) => *found = Some((true, offset)),
            // The only possible error: there is a scalar on the path.
            Err(_) => *found = Some((false, offset)),
        }
        Ok(Interest::Stop)
    }

    fn close(&mut self, offset: u64) -> Result<(), Raise> {
        // The first container to end is on the path and does not contain the value.
        self.stage.found.get_or_insert((false, offset));
        Ok(())
    }

    fn raw(&mut self, _: &[u8]) {}

    fn takes_long_keys(&self, limit: usize) -> bool {
        self.stage.scope.takes_long_keys(limit)
    }
}
