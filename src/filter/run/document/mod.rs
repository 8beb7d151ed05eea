//! The stage on the document: `extract`, `retain` and `patches`.
//!
//! ```text
//! no patches         machine ─▶ RetainStage ─▶ sink
//! patches stream     machine ─▶ StreamPatcher ─▶ HeldOutput ─▶ sink
//! failures pass      Lookahead with a StreamPatcher, until the outcome is known
//!    then            machine ─▶ StreamPatcher, or RetainStage after a failure ─▶ sink
//! patches need tree  machine ─▶ RetainStage ─▶ TreeInput ─▶ Tree ─▶ sink
//! ```

mod apply;
mod held_output;
mod patcher;
mod retain;
pub(super) mod scope;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::lookahead::{Decided, HeldInput, Input, Lookahead};
use super::stage::{StageMachine, machine_config};
use crate::error::{Error, ErrorKind, LimitName, Raise};
use crate::filter::compile::patches::Patches;
use crate::filter::compile::program::CompiledProgram;
use crate::limits::{Limits, Meter};
use crate::report::Report;
use crate::scan::Scanner;
use crate::sink::Sink;
use crate::tree::Tree;
use apply::Applied;
use held_output::HeldOutput;
use patcher::StreamPatcher;
use retain::RetainStage;

#[derive(Debug)]
pub(super) struct DocumentStage {
    program: Arc<CompiledProgram>,
    limits: Limits,
    engine: StageMachine,
    handler: DocumentHandler,
    patches: Option<Arc<Patches>>,
    /// Finds out whether the operations can be applied.
    check: Option<Box<Lookahead<StreamPatcher>>>,
    /// That is not known yet.
    checking: bool,
    /// The retained document, collected for a tree.
    gather: Option<TreeInput>,
    /// Charged for held input.
    meter: Meter,
    applied: Option<Applied>,
    /// Why the document passed unpatched.
    passed: Option<String>,
    tree_peak: u64,
}

#[derive(Debug)]
enum DocumentHandler {
    Retain(Box<RetainStage>),
    Edited(Box<StreamPatcher>),
}

impl DocumentStage {
    pub(super) fn new(program: &Arc<CompiledProgram>, limits: &Limits, scanner: Scanner) -> Self {
        let patches = program.patches.clone();
        let retain = RetainStage::new(program);
        let mut stage = Self {
            program: program.clone(),
            limits: limits.clone(),
            engine: StageMachine::new(machine_config(&program.spec, limits, false), scanner),
            handler: DocumentHandler::Retain(Box::new(retain)),
            patches,
            check: None,
            checking: false,
            gather: None,
            meter: Meter::default(),
            applied: None,
            passed: None,
            tree_peak: 0,
        };
        stage.begin();
        stage
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self) {
        self.engine.restart(machine_config(&self.program.spec, &self.limits, false));
        if let DocumentHandler::Retain(retain) = &mut self.handler {
            retain.restart();
        }
        self.meter = Meter::default();
        (self.applied, self.passed, self.tree_peak) = (None, None, 0);
        self.begin();
    }

    fn begin(&mut self) {
        (self.checking, self.gather) = (false, None);
        let Some(patches) = &self.patches else { return };
        if patches.edits().is_none() {
            self.gather = Some(TreeInput::new(self.limits.item()));
            return;
        }
        // If the document passes after a failure, input is held rather than output.
        self.checking = patches.can_fail() && !self.program.spec.is_closed();
        let holds = patches.can_fail() && !self.checking;
        if self.checking {
            self.begin_check();
        }
        self.edit(holds);
    }

    /// Begins to find out whether the operations can be applied.
    fn begin_check(&mut self) {
        let Some(patches) = &self.patches else { return };
        let config = machine_config(&self.program.spec, &self.limits, false);
        if let Some(check) = &mut self.check {
            check.restart(config, Input::once());
            check.probe_mut().restart();
            return;
        }
        let output = HeldOutput::new(false, &self.limits);
        let probe = StreamPatcher::new(&self.program, patches, output);
        let check = Lookahead::new(config, self.engine.scanner(), probe, Input::once());
        self.check = Some(Box::new(check));
    }

    /// Sends the document through the edits. `holds`: output waits until no operation can fail.
    fn edit(&mut self, holds: bool) {
        let Some(patches) = &self.patches else { return };
        if let DocumentHandler::Edited(edited) = &mut self.handler {
            edited.restart();
            edited.output.restart(holds);
            return;
        }
        let output = HeldOutput::new(holds, &self.limits);
        let edited = StreamPatcher::new(&self.program, patches, output);
        self.handler = DocumentHandler::Edited(Box::new(edited));
    }

    pub(super) fn skip_prefix(&mut self, bytes: u64) {
        self.engine.machine.skip_prefix(bytes);
        if let Some(check) = &mut self.check {
            check.skip_prefix(bytes);
        }
    }

    /// Returns the steps of the machines.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        self.engine.steps() + self.check.as_ref().map_or(0, |check| check.steps())
    }

    pub(super) fn write(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        if let Some(check) = self.check.as_mut().filter(|_| self.checking) {
            let decided = check.write(chunk, &self.limits, &mut self.meter)?;
            let Some(Decided { decision: (), held, .. }) = decided else { return Ok(()) };
            self.checking = false;
            self.replay(held, sink)?;
        }
        let Some(mut gather) = self.gather.take() else { return self.feed(chunk, sink) };
        let fed = self.feed(chunk, &mut gather);
        let full = gather.error();
        self.gather = Some(gather);
        full.map_or(fed, Err)
    }

    fn feed(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        let Self { engine, handler, .. } = self;
        let (fed, full) = match handler {
            DocumentHandler::Retain(retain) => (engine.feed(&mut **retain, chunk, sink), None),
            DocumentHandler::Edited(edited) => {
                let fed = engine.feed(&mut **edited, chunk, sink);
                (fed, edited.output.error())
            }
        };
        // The held output precedes the failed value, so its error is reported first.
        settled(fed, full)
    }

    /// Reads the held input.
    fn replay(&mut self, held: HeldInput, sink: &mut dyn Sink) -> Result<(), Error> {
        let mut meter = std::mem::take(&mut self.meter);
        let replayed = held.replay(&mut meter, |_, piece| {
            self.feed(piece, sink)?;
            Ok(true)
        });
        self.meter = meter;
        replayed
    }

    pub(super) fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        if let Some(mut gather) = self.gather.take() {
            let ended = self.end_handler(&mut gather);
            gather.error().map_or(ended, Err)?;
            return self.end_tree(gather, sink);
        }
        if let Some(check) = self.check.as_mut().filter(|_| self.checking) {
            check.end()?;
            // At the end of the document only a failed operation is left.
            if let (Some((operation, raise)), Some(patches)) =
                (check.probe().failure(), &self.patches)
            {
                self.passed = Some(patches.named(operation, &raise).message.into_owned());
            }
            let held = check.take_held();
            self.handler = DocumentHandler::Retain(Box::new(RetainStage::new(&self.program)));
            self.replay(held, sink)?;
            return self.end_handler(sink);
        }
        self.end_handler(sink)?;
        let (DocumentHandler::Edited(edited), Some(patches)) = (&self.handler, &self.patches)
        else {
            return Ok(());
        };
        if let Some((operation, raise)) = edited.failure() {
            return Err(self.engine.machine.place(patches.named(operation, &raise)));
        }
        let (operations, without_effect) = edited.applied();
        self.applied = Some(Applied { operations, without_effect, stopped_at: None });
        Ok(())
    }

    fn end_handler(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let Self { engine, handler, .. } = self;
        let (ended, full) = match handler {
            DocumentHandler::Retain(retain) => (engine.end(&mut **retain, sink), None),
            DocumentHandler::Edited(edited) => {
                let ended = engine.end(&mut **edited, sink);
                (ended, edited.output.error())
            }
        };
        settled(ended, full)
    }

    /// Patches the collected document.
    fn end_tree(&mut self, gather: TreeInput, sink: &mut dyn Sink) -> Result<(), Error> {
        let Self { program, limits, patches: Some(patches), engine, .. } = self else {
            return Ok(());
        };
        let closed = program.spec.is_closed();
        let mut tree =
            Tree::new(gather.text, limits.item()).map_err(|raise| engine.machine.place(raise))?;
        let done = patches.apply(&mut tree);
        self.tree_peak = tree.peak();
        match done {
            Ok(applied) => {
                tree.write(|bytes| sink.write(bytes));
                self.applied = Some(applied);
                Ok(())
            }
            Err(raise) if raise.kind == ErrorKind::Patch && !closed => {
                self.passed = Some(raise.message.into_owned());
                sink.write(tree.original());
                Ok(())
            }
            Err(raise) => Err(engine.machine.place(raise)),
        }
    }

    pub(super) fn report(&self, report: &mut Report) {
        if let DocumentHandler::Edited(edited) = &self.handler {
            report.held_peak_bytes += edited.output.peak();
        }
        report.held_peak_bytes += self.tree_peak + self.meter.peak();
        if report.error.is_some() {
            return;
        }
        if let Some(passed) = &self.passed {
            report.filter_applied = false;
            report.filter_error = Some(format!("{passed}; the document passes unpatched"));
        }
        if let Some(applied) = &self.applied {
            report.patches_applied = Some(applied.operations);
            report.patches_without_effect = applied.without_effect;
            report.patch_stopped_at.clone_from(&applied.stopped_at);
        }
    }
}

/// Returns the error of held output if there is one, because it comes first, otherwise that of the machine.
fn settled<T>(fed: Result<T, Error>, full: Option<Error>) -> Result<(), Error> {
    match full {
        Some(error) => Err(error),
        None => fed.map(|_| ()),
    }
}

/// The document, collected for a tree.
#[derive(Debug)]
struct TreeInput {
    text: Vec<u8>,
    limit: u64,
    meter: Meter,
    failed: Option<Raise>,
}

impl TreeInput {
    fn new(limit: u64) -> Self {
        Self { text: Vec::new(), limit, meter: Meter::default(), failed: None }
    }

    /// Returns the error of a document that is too large for a tree.
    fn error(&self) -> Option<Error> {
        let raise = self.failed.clone()?;
        Some(Error::at(raise, self.limit, String::new()).in_what_was_left())
    }
}

impl Sink for TreeInput {
    fn write(&mut self, bytes: &[u8]) {
        let (before, more) = (self.text.len() as u64, bytes.len() as u64);
        match self.meter.charge(LimitName::Item, self.limit, before, more) {
            Ok(()) => self.text.extend_from_slice(bytes),
            Err(raise) => _ = self.failed.get_or_insert(raise),
        }
    }
}
