//! The stage on the document: `extract`, `retain` and `patches`.
//!
//! It is the first stage of the chain and reads the bytes of the response. It writes valid, minified JSON (unless white
//! space is kept) to the stage on items, or to the sink of the run if no other stage exists. The chain creates this
//! stage if the spec has one of the three rules, or no rule that needs another stage.
//!
//! ```text
//! no patches         machine ─▶ RetainStage ─▶ sink
//! patches stream     machine ─▶ StreamPatcher ─▶ HeldOutput ─▶ sink
//! failures pass      Lookahead with a StreamPatcher, until the outcome is known
//!    then            machine ─▶ StreamPatcher, or RetainStage after a failure ─▶ sink
//! patches need tree  machine ─▶ RetainStage ─▶ TreeInput ─▶ Tree ─▶ sink
//! ```
//!
//! An operation that fails must not leave a half-patched document in the output. The kind of the patches and `on_error`
//! decide which bytes wait until no operation can fail:
//!
//! | patches | `on_error` | handler | held |
//! |---|---|---|---|
//! | none | any | [`RetainStage`] | nothing |
//! | stream and cannot fail | any | [`StreamPatcher`] | nothing |
//! | stream and may fail | `closed` (default) | [`StreamPatcher`] | the output, in [`HeldOutput`] |
//! | stream and may fail | `raw` | [`StreamPatcher`] or [`RetainStage`] | the input, in a [`Lookahead`] |
//! | need a tree | any | [`RetainStage`] | the retained document, in [`TreeInput`] |
//!
//! With `raw` the input waits instead of the output, because a failure must write the same document unpatched.
//!
//! Example with `{"op": "remove", "path": "/b"}`, which fails if the document has no member `b`:
//!
//! ```text
//! input                       held until              output
//! {"a":1,"b":2,"c":3}         the value of "b"        {"a":1,"c":3}
//! {"a":1,"c":3}               the end                 none, and an error; with `raw`: {"a":1,"c":3}
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
use super::output::facts::OutputFacts;
use super::pipe::{Next, Stage, StageText};
use super::stage::{StageMachine, machine_config};
use crate::filter::compile::patches::Patches;
use crate::filter::compile::program::CompiledProgram;
use crate::filter::options::CallOptions;
use crate::report::Report;
use apply::Applied;
use held_output::HeldOutput;
use patcher::StreamPatcher;
use retain::RetainStage;
use tamis_json::error::{Error, ErrorKind, LimitName, Raise};
use tamis_json::limits::{Limits, Meter};
use tamis_json::sink::Sink;
use tamis_json::tree::Tree;

/// The run of the document rules over one document. It is reused for the next document after
/// [`restart`](Self::restart).
#[derive(Debug)]
pub(super) struct DocumentStage {
    program: Arc<CompiledProgram>,
    /// The limits of the call: depth and key length for the machine, `held` and `spill` for bytes that wait, and `item`
    /// for a tree.
    limits: Limits,
    /// The machine that reads the document for `handler`.
    engine: StageMachine,
    /// The rules that the machine asks. Replaced by [`edit`](Self::edit), and after a failed check.
    handler: DocumentHandler,
    /// The compiled `patches` of the spec.
    patches: Option<Arc<Patches>>,
    /// Finds out whether the operations can be applied, if a failure lets the document pass. Created for the first such
    /// document and reused.
    check: Option<Box<Lookahead<StreamPatcher>>>,
    /// The check is undecided. Until then all input goes to `check`, and `handler` has read nothing.
    checking: bool,
    /// The output of `handler`, collected for a tree. Present from the start to the end of a document whose patches
    /// need a tree.
    gather: Option<TreeInput>,
    /// Charged for held input.
    meter: Meter,
    /// The counts of the patches for the report. Set at the end, and only if the sequence was applied.
    applied: Option<Applied>,
    /// The message of the operation that failed, if the document passed unpatched.
    passed: Option<String>,
    /// The largest size of the tree in bytes, for the report.
    tree_peak: u64,
}

/// The handler of the machine that writes the output of this stage.
#[derive(Debug)]
enum DocumentHandler {
    /// Keeps and drops values. Used without patches, before a tree, and after a failed check.
    Retain(Box<RetainStage>),
    /// Also applies patches while the document streams.
    Edited(Box<StreamPatcher>),
}

impl DocumentStage {
    /// Creates the stage for a compiled program and begins the first document.
    pub(super) fn new(program: &Arc<CompiledProgram>, options: &CallOptions) -> Self {
        let (limits, scanner) = (options.limits(), options.scanner());
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

    /// Selects the row of the table in the [module](self) for the next document, and prepares its handler.
    fn begin(&mut self) {
        (self.checking, self.gather) = (false, None);
        let Some(patches) = &self.patches else { return };
        // The operations need a tree. The handler is a `RetainStage`, whose output is collected.
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
        // Output is discarded, so holding it is unnecessary.
        self.check = Some(Box::new(check));
    }

    /// Makes a [`StreamPatcher`] the handler, or restarts it. `holds`: output waits until no operation can fail.
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

    /// Runs the handler over a chunk. Returns the error of the held output before that of the machine.
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

    /// Runs the handler over the input that the check has held, and releases its memory piece by piece.
    fn replay(&mut self, held: HeldInput, sink: &mut dyn Sink) -> Result<(), Error> {
        // `feed` borrows all of `self`.
        let mut meter = std::mem::take(&mut self.meter);
        let replayed = held.replay(&mut meter, |_, piece| {
            self.feed(piece, sink)?;
            Ok(true)
        });
        self.meter = meter;
        replayed
    }

    /// Ends the machine and its handler. Returns the error of the held output before that of the machine.
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

    /// Patches the collected document and writes the result.
    ///
    /// If an operation fails and `on_error` is not `closed`, the collected document is written unchanged. Limits are
    /// errors in both cases.
    fn end_tree(&mut self, gather: TreeInput, sink: &mut dyn Sink) -> Result<(), Error> {
        let Self { program, limits, patches: Some(patches), engine, .. } = self else {
            return Ok(());
        };
        let closed = program.spec.is_closed();
        let mut tree =
            Tree::new(gather.text, limits.item()).map_err(|raise| engine.machine.place(raise))?;
        // After an error the tree is unusable, but it still has the text that it was made from.
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
}

impl Stage for DocumentStage {
    fn writes(&self) -> StageText {
        StageText::Left
    }

    fn restart(&mut self) {
        self.engine.restart(machine_config(&self.program.spec, &self.limits, false));
        // `begin` restarts a patcher, because it also decides what is held.
        if let DocumentHandler::Retain(retain) = &mut self.handler {
            retain.restart();
        }
        self.meter = Meter::default();
        (self.applied, self.passed, self.tree_peak) = (None, None, 0);
        self.begin();
    }

    fn skip_prefix(&mut self, bytes: u64) {
        self.engine.machine.skip_prefix(bytes);
        if let Some(check) = &mut self.check {
            check.skip_prefix(bytes);
        }
    }

    fn write(&mut self, chunk: &[u8], next: &mut Next<'_>) -> Result<(), Error> {
        // An undecided check holds the chunk. The decision can only be that no operation fails, so the patcher is still
        // the handler: it reads the held input now and the current chunk below.
        if let Some(check) = self.check.as_mut().filter(|_| self.checking) {
            let decided = check.write(chunk, &self.limits, &mut self.meter)?;
            let Some(Decided { decision: (), held, .. }) = decided else { return Ok(()) };
            self.checking = false;
            self.replay(held, next)?;
        }
        // Moved out of `self`, because it is the next of `feed`.
        let Some(mut gather) = self.gather.take() else { return self.feed(chunk, next) };
        let fed = self.feed(chunk, &mut gather);
        // The error of a full tree comes first: the bytes that did not fit were written before the machine failed.
        let full = gather.error();
        self.gather = Some(gather);
        full.map_or(fed, Err)
    }

    fn end(&mut self, next: &mut Next<'_>) -> Result<(), Error> {
        if let Some(mut gather) = self.gather.take() {
            let ended = self.end_handler(&mut gather);
            gather.error().map_or(ended, Err)?;
            return self.end_tree(gather, next);
        }
        if let Some(check) = self.check.as_mut().filter(|_| self.checking) {
            // The document must be complete. A cut document is an error, whatever the operations.
            check.end()?;
            // At the end of the document only a failed operation is left.
            if let (Some((operation, raise)), Some(patches)) =
                (check.probe().failure(), &self.patches)
            {
                self.passed = Some(patches.named(operation, &raise).message.into_owned());
            }
            // The whole input is held. It passes with the other document rules applied, but unpatched.
            let held = check.take_held();
            self.handler = DocumentHandler::Retain(Box::new(RetainStage::new(&self.program)));
            self.replay(held, next)?;
            return self.end_handler(next);
        }
        // The document is complete, and so is its output unless an operation failed.
        self.end_handler(next)?;
        let (DocumentHandler::Edited(edited), Some(patches)) = (&self.handler, &self.patches)
        else {
            return Ok(());
        };
        if let Some((operation, raise)) = edited.failure() {
            // Its output is still held and is never released.
            return Err(self.engine.machine.place(patches.named(operation, &raise)));
        }
        let (operations, without_effect) = edited.applied();
        self.applied = Some(Applied { operations, without_effect, stopped_at: None });
        Ok(())
    }

    fn report(&self, report: &mut Report, _: &OutputFacts) {
        if let DocumentHandler::Edited(edited) = &self.handler {
            report.held_peak_bytes += edited.output.peak();
        }
        report.held_peak_bytes += self.tree_peak + self.meter.peak();
        if report.error.is_some() {
            return;
        }
        if let Some(passed) = &self.passed {
            report.applied = false;
            report.fallback = Some(format!("{passed}; the document passes unpatched"));
        }
        if let Some(applied) = &self.applied {
            report.patches_applied = Some(applied.operations);
            report.patches_without_effect = applied.without_effect;
            report.patch_stopped_at.clone_from(&applied.stopped_at);
        }
    }

    #[cfg(test)]
    fn steps(&self) -> u64 {
        self.engine.steps() + self.check.as_ref().map_or(0, |check| check.steps())
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
    /// The retained document so far. It misses bytes only if `failed` is set.
    text: Vec<u8>,
    /// The limit `item` of the call, in bytes.
    limit: u64,
    /// Charged for `text`. Its peak is not reported: the tree has its own.
    meter: Meter,
    /// The first error. [`Sink::write`] cannot return it.
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
    /// Appends bytes, or records that they exceed the limit. Later bytes may still fit, but the error remains.
    fn write(&mut self, bytes: &[u8]) {
        let (before, more) = (self.text.len() as u64, bytes.len() as u64);
        match self.meter.charge(LimitName::Item, self.limit, before, more) {
            Ok(()) => self.text.extend_from_slice(bytes),
            Err(raise) => _ = self.failed.get_or_insert(raise),
        }
    }
}
