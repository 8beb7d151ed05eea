//! Searches a document for the value at `extract` where it may be missing: in the response of a failed call (SPEC
//! §3).
//!
//! The document is held until the result is certain. Nothing is written.
//!
//! | event, with `extract: /a/b` | result | example |
//! |---|---|---|
//! | the value begins | it exists | `{"a":{"b":` and the first byte of the value |
//! | a container on the path ends | it is missing | `{"x":1}` or `{"a":{}` |
//! | there is a scalar on the path | it is missing | `{"a":3` |
//!
//! If the value exists, the program runs with its `extract`. Otherwise the same program runs without it, so its rules
//! apply to the whole response.

use tamis_json::error::Raise;
use tamis_json::sink::Sink;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};

use super::document::scope::DocumentScope;
use super::lookahead::{Input, Lookahead, Probe};
use super::stage::{StageHandler, StageState, machine_config};
use crate::filter::compile::program::Program;
use crate::filter::options::CallOptions;

/// The search, reused for all documents of a run.
#[derive(Debug)]
pub(super) struct ExtractSearch {
    /// The program to run if the value exists.
    pub(super) program: Program,
    pub(super) ahead: Lookahead<ExtractProbe>,
}

/// Decides whether the value exists.
#[derive(Debug)]
pub(super) struct ExtractProbe {
    /// Follows the path of `extract`.
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
        let probe = ExtractProbe { scope: DocumentScope::new(compiled, false), found: None };
        let ahead = Lookahead::new(config, options.scanner(), probe, Input::once());
        Some(Self { program: program.clone(), ahead })
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self, options: &CallOptions) {
        let config = machine_config(&self.program.compiled().spec, options.limits(), false);
        self.ahead.restart(config, Input::once());
        let probe = self.ahead.probe_mut();
        probe.scope.restart();
        probe.found = None;
    }
}

impl Probe for ExtractProbe {
    type Decision = bool;

    fn decided(&self) -> Option<(bool, u64)> {
        self.found
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
        // The piece that was being read may go on after the decision, as in `{"a":{},"c":1}`.
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
