//! The stages of a run in order. Each stage reads what the one before it writes.
//!
//! ```text
//! chunk ─▶ Pipe ─▶ stage 1 ─▶ Next ─▶ stage 2 ─▶ Next ─▶ … ─▶ Next ─▶ sink
//! ```
//!
//! `build.rs` builds a [`Pipe`] from the list of stages that `explain` prints. [`Next`] is the rest of the pipe, and the sink
//! of the stage before it. No bytes wait between two stages. A stage leaves other facts than bytes for later ones in the
//! [`OutputFacts`].
//!
//! **Errors.** A [`Sink`] cannot fail, so [`Next`] keeps the first error of the stages after it. That error is reported
//! instead of one of the stage before it, because the bytes that caused it came first. Its offset refers to the text
//! that the failed stage reads, and its message says so.
//!
//! Example: `extract: /result`, `select: id` and `{"result":[{"id":1,"x":2}]}`. The stage on the document writes
//! `[{"id":1,"x":2}]` piece by piece. Each piece is fed to the stage on the payload at once, which writes `[{"id":1}]`.

use std::fmt;

use tamis_json::error::Error;
use tamis_json::limits::Meter;
use tamis_json::nearest::ComparisonBudget;
use tamis_json::sink::Sink;

use super::output::facts::OutputFacts;
use super::output::size::PIECE;
use super::root::Payload;
use super::root_path::RootPath;
use crate::filter::compile::program::Program;
use crate::filter::options::CallOptions;
use crate::report::{PlanStep, Report};

/// The text that a stage writes, and the next one reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StageText {
    /// The text that the rules on strings and on the document left.
    Left,
    /// The filtered document.
    Filtered,
}

/// A stage of a pipe, reused for one document after the other.
pub(super) trait Stage: fmt::Debug + Send {
    /// Returns what this stage writes, for the places of errors.
    fn writes(&self) -> StageText {
        StageText::Filtered
    }

    /// Begins a new document.
    fn restart(&mut self);

    /// Accounts for bytes before the document, which only count for offsets. Called for the first stage.
    fn skip_prefix(&mut self, _: u64) {}

    /// Receives the place of the payload, before the first write. Called for stages on the filtered document.
    fn begin(&mut self, _: &RootPath, _: &mut OutputFacts) {}

    /// Reads the next bytes. An error of `next` replaces that of the stage, which need not look at it.
    ///
    /// # Errors
    /// The text is invalid, a rule fails, or too much has to be held.
    fn write(&mut self, bytes: &[u8], next: &mut Next<'_>) -> Result<(), Error>;

    /// Ends the document. The stages after this one end later.
    ///
    /// # Errors
    /// The document is incomplete, or a rule fails at its end.
    fn end(&mut self, next: &mut Next<'_>) -> Result<(), Error>;

    /// Accounts for an error of the stage before this one.
    fn fail_before(&mut self) {}

    /// Adds to the report.
    fn report(&self, report: &mut Report, facts: &OutputFacts);

    /// Returns whether the payload is still looked for.
    fn is_looking(&self) -> bool {
        false
    }

    /// Disables holding: the input can be read again.
    fn never_hold(&mut self) {}

    /// Returns the payload if it is looked for, and no later byte can change it.
    fn decided(&self) -> Option<Payload> {
        None
    }

    /// Returns the probable correction of a selected path that was not found.
    fn correction(&self, _path: &str, _pairs: &mut ComparisonBudget) -> Option<String> {
        None
    }

    /// Returns the plan of a run inside this one.
    fn plan(&self) -> Option<Vec<PlanStep>> {
        None
    }

    /// Returns the steps of all machines.
    #[cfg(test)]
    fn steps(&self) -> u64 {
        0
    }

    /// Returns the bytes read to shorten strings.
    #[cfg(test)]
    fn work(&self) -> u64 {
        0
    }
}

/// A run inside another one: the rules inside a string, and those after `json_strings`.
pub(super) trait InnerRun: Stage {
    /// Reads the next bytes of the document, and charges the meter of the outer run.
    fn write_inner(
        &mut self,
        text: &[u8],
        meter: &mut Meter,
        sink: &mut dyn Sink,
    ) -> Result<(), Error>;

    /// Ends the document, and charges the meter of the outer run.
    fn end_inner(&mut self, meter: &mut Meter, sink: &mut dyn Sink) -> Result<(), Error>;

    /// Returns the report of this run, without the plan.
    fn tally(&self) -> Report;
}

/// Creates a run over a stream. An argument of stages with runs inside, so that they do not import the run that they are
/// a part of.
pub(super) type NewRun = fn(&Program, &CallOptions) -> Box<dyn InnerRun>;

/// The stages of one run.
#[derive(Debug)]
pub(super) struct Pipe {
    stages: Vec<Box<dyn Stage>>,
    facts: OutputFacts,
}

/// The stages after one, as its sink.
pub(super) struct Next<'a> {
    stages: &'a mut [Box<dyn Stage>],
    /// The text that the stage before writes.
    text: StageText,
    pub(super) facts: &'a mut OutputFacts,
    /// Charged for bytes that are held.
    pub(super) meter: &'a mut Meter,
    sink: &'a mut dyn Sink,
    /// The first error of these stages. After it nothing more is passed on.
    error: Option<Error>,
}

impl Pipe {
    pub(super) fn new(stages: Vec<Box<dyn Stage>>) -> Self {
        Self { stages, facts: OutputFacts::default() }
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self) {
        self.facts = OutputFacts::default();
        self.stages.iter_mut().for_each(|stage| stage.restart());
    }

    /// Returns the stage that reads the document.
    pub(super) fn first(&self) -> Option<&dyn Stage> {
        self.stages.first().map(|stage| &**stage)
    }

    pub(super) fn first_mut(&mut self) -> Option<&mut Box<dyn Stage>> {
        self.stages.first_mut()
    }

    /// Reads the next bytes. Returns the offset at which the stages stopped, if they did: that in the text which the
    /// stopped one reads.
    ///
    /// # Errors
    /// That of the last stage that fails.
    #[inline]
    pub(super) fn write(
        &mut self,
        bytes: &[u8],
        meter: &mut Meter,
        sink: &mut dyn Sink,
    ) -> Result<Option<u64>, Error> {
        let Self { stages, facts } = self;
        let Some((stage, rest)) = stages.split_first_mut() else { return Ok(None) };
        let mut next = Next::new(&**stage, rest, facts, meter, sink);
        let own = stage.write(bytes, &mut next);
        next.settle(own)?;
        Ok(facts.stopped)
    }

    /// Ends the document in each stage.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    pub(super) fn end(&mut self, meter: &mut Meter, sink: &mut dyn Sink) -> Result<(), Error> {
        let Self { stages, facts } = self;
        end_all(stages, None, facts, meter, sink)
    }

    /// Returns the bytes written.
    pub(super) fn written(&self) -> u64 {
        self.facts.written
    }

    /// Adds to the report.
    pub(super) fn report(&self, report: &mut Report) {
        self.stages.iter().for_each(|stage| stage.report(report, &self.facts));
    }

    /// Returns the probable correction of a selected path that was not found.
    pub(super) fn correction(&self, path: &str, pairs: &mut ComparisonBudget) -> Option<String> {
        self.stages.iter().find_map(|stage| stage.correction(path, pairs))
    }

    /// Returns the plan of a run inside this one.
    pub(super) fn plan(&self) -> Option<Vec<PlanStep>> {
        self.stages.iter().find_map(|stage| stage.plan())
    }

    /// Returns the steps of all machines.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        self.stages.iter().map(|stage| stage.steps()).sum()
    }

    /// Returns the steps of the stages after the first one, and the bytes read to shorten strings.
    #[cfg(test)]
    pub(super) fn output_steps(&self) -> (u64, u64) {
        let steps = self.stages.iter().skip(1).map(|stage| stage.steps()).sum();
        (steps, self.stages.iter().map(|stage| stage.work()).sum())
    }
}

impl<'a> Next<'a> {
    #[inline]
    fn new(
        stage: &dyn Stage,
        stages: &'a mut [Box<dyn Stage>],
        facts: &'a mut OutputFacts,
        meter: &'a mut Meter,
        sink: &'a mut dyn Sink,
    ) -> Self {
        // If no stage follows, no error needs a place.
        let text = if stages.is_empty() { StageText::Filtered } else { stage.writes() };
        Self { stages, text, facts, meter, sink, error: None }
    }

    /// Creates the end of a pipe with a single stage.
    pub(super) fn sink(
        facts: &'a mut OutputFacts,
        meter: &'a mut Meter,
        sink: &'a mut dyn Sink,
    ) -> Self {
        Self { stages: &mut [], text: StageText::Filtered, facts, meter, sink, error: None }
    }

    /// Announces the place of the payload to these stages, before they read anything.
    pub(super) fn begin(&mut self, place: &RootPath) {
        self.stages.iter_mut().for_each(|stage| stage.begin(place, self.facts));
    }

    /// Returns the error of these stages, if one has failed. Called by a stage that would go on.
    pub(super) fn check(&mut self) -> Result<(), Error> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// Ends the document in these stages, because the one before has stopped at an offset. The rest of the input does not
    /// matter to any stage.
    ///
    /// # Errors
    /// A stage fails at the end.
    pub(super) fn stop(&mut self, offset: u64) -> Result<(), Error> {
        self.check()?;
        end_all(self.stages, Some(self.text), self.facts, self.meter, self.sink)?;
        self.facts.stopped = Some(offset);
        Ok(())
    }

    /// Returns the result of the stage before, of which `own` is its own part.
    #[inline]
    fn settle(&mut self, own: Result<(), Error>) -> Result<(), Error> {
        self.check()?;
        if own.is_ok() || self.facts.stopped.is_some() {
            return Ok(());
        }
        if let Some(stage) = self.stages.first_mut() {
            stage.fail_before();
        }
        own
    }

    /// Passes bytes to the first of these stages.
    #[inline(never)]
    fn pass(&mut self, bytes: &[u8]) {
        // Text that is about to be dropped is held briefly, so it is limited to one piece at a time.
        for piece in bytes.chunks(PIECE) {
            let Self { stages, facts, meter, sink, error: None, .. } = self else { return };
            let Some((stage, rest)) = stages.split_first_mut() else { return };
            let mut next = Next::new(&**stage, rest, facts, meter, *sink);
            let own = stage.write(piece, &mut next);
            if let Err(error) = next.settle(own) {
                self.error = Some(placed(error, self.text, self.facts));
            }
        }
    }
}

impl Sink for Next<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        if self.stages.is_empty() {
            self.facts.written += bytes.len() as u64;
            return self.sink.write(bytes);
        }
        self.pass(bytes);
    }

    /// Rules on the payload read on for a sink that needs no more output.
    fn is_closed(&self) -> bool {
        if self.error.is_some() || self.text == StageText::Left {
            return self.error.is_some() || self.facts.stopped.is_some();
        }
        self.sink.is_closed()
    }
}

/// Returns the error of a stage that reads `text`.
fn placed(error: Error, text: StageText, facts: &mut OutputFacts) -> Error {
    match text {
        StageText::Left => error.in_what_was_left(),
        StageText::Filtered => {
            facts.output_failed = true;
            error.in_filtered()
        }
    }
}

/// Ends the document in each of the stages. Each one may still write to the next. `text`: the text that the first one
/// reads, unless it is the document.
fn end_all(
    mut stages: &mut [Box<dyn Stage>],
    mut text: Option<StageText>,
    facts: &mut OutputFacts,
    meter: &mut Meter,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    while let Some((stage, rest)) = stages.split_first_mut() {
        if facts.stopped.is_some() {
            return Ok(());
        }
        let mut next = Next::new(&**stage, rest, facts, meter, sink);
        let own = stage.end(&mut next);
        if let Err(error) = next.settle(own) {
            return Err(match text {
                Some(text) => placed(error, text, facts),
                None => error,
            });
        }
        text = Some(stage.writes());
        stages = rest;
    }
    Ok(())
}
