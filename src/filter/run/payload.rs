//! The stage on the payload: finds the root, holds input for a fallback, and goes back to a checkpoint if it misses.
//!
//! ```text
//! Looking ──decided──▶ Running ──mark──▶ waiting ──hit──▶ Running
//!   holds the document      ▲      holds from the mark │
//!                           └───────── rewind ─────────┘   a miss, or a hit after much output
//! ```
//!
//! In `Looking`, and while waiting for a hit, input goes to the [`Hold`]. A decision that comes later than the hold's
//! capacity after the first held byte is an error, whether or not the bytes had to be held. This way the result does
//! not depend on chunks.

use super::hold::Hold;
use super::items::ItemsStage;
use super::output::{OutputStages, in_front};
use super::root::{Payload, RootProbe};
use super::stage::{StageMachine, machine_config, stage_error};
use super::wrap_in_array::ArrayWrap;
use crate::error::Error;
use crate::filter::compile::program::Program;
use crate::filter::options::CallOptions;
use crate::json::machine::{FeedResult, Machine, MachineConfig, MachineFailure};
use crate::limits::{Limits, Meter};
use crate::nearest::ComparisonBudget;
use crate::report::Report;
use crate::scan::Scanner;
use crate::sink::Sink;

#[derive(Debug)]
pub(super) struct PayloadStage {
    program: Program,
    limits: Limits,
    /// Names are kept, to suggest corrections.
    suggests: bool,
    engine: StageMachine,
    phase: PayloadPhase,
    /// The stage of an earlier document, for reuse.
    spare: Option<Box<ItemsRun>>,
    hold: Hold,
    /// The number of bytes that may be held. `None`: the input comes in one chunk and is not held.
    capacity: Option<u64>,
    /// Processes what the items stage writes.
    output: Option<OutputStages>,
    /// Wraps a document that is not an array.
    wrap: ArrayWrap,
    /// Bytes before the document.
    prefix: u64,
    /// Bytes read.
    offset: u64,
}

#[derive(Debug)]
enum PayloadPhase {
    Looking(RootProbe),
    Running(Box<ItemsRun>),
}

#[derive(Debug)]
struct ItemsRun {
    items: ItemsStage,
    /// The machine at the value from which on input is held.
    mark: Option<(Machine, u64)>,
    stopped: bool,
}

/// Returns the machine's configuration. The output stages read and write minified text, so white space is dropped
/// before them.
fn payload_config(
    program: &Program,
    limits: &Limits,
    output: Option<&OutputStages>,
    drops_empty: bool,
) -> MachineConfig {
    let config = machine_config(&program.compiled().spec, limits, drops_empty);
    MachineConfig { keep_white: config.keep_white && output.is_none(), ..config }
}

impl PayloadStage {
    pub(super) fn new(
        program: &Program,
        options: &CallOptions,
        scanner: Scanner,
        payload: Option<Payload>,
        output: Option<OutputStages>,
    ) -> Self {
        let limits = options.limits();
        let config = payload_config(program, limits, output.as_ref(), false);
        let mut stage = Self {
            program: program.clone(),
            limits: limits.clone(),
            suggests: options.suggestions(),
            engine: StageMachine::new(config, scanner),
            phase: PayloadPhase::Looking(RootProbe::new(program.compiled())),
            spare: None,
            hold: Hold::default(),
            capacity: Some(Hold::capacity(limits)),
            output,
            wrap: ArrayWrap::new(program),
            prefix: 0,
            offset: 0,
        };
        stage.begin(payload);
        stage
    }

    /// Looks for the payload, or starts the rules if it is known or needs no search.
    fn begin(&mut self, payload: Option<Payload>) {
        if payload.is_some() || !self.program.compiled().items.looks() {
            self.run(payload);
        } else {
            self.phase = PayloadPhase::Looking(RootProbe::new(self.program.compiled()));
        }
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self) {
        self.engine.restart(payload_config(
            &self.program,
            &self.limits,
            self.output.as_ref(),
            false,
        ));
        self.hold = Hold::default();
        (self.prefix, self.offset) = (0, 0);
        self.wrap = ArrayWrap::new(&self.program);
        let probe = RootProbe::new(self.program.compiled());
        let phase = std::mem::replace(&mut self.phase, PayloadPhase::Looking(probe));
        if let PayloadPhase::Running(running) = phase {
            self.spare = Some(running);
        }
        self.begin(None);
    }

    /// Disables holding: the input comes in one chunk and can be read again.
    pub(super) fn never_hold(&mut self) {
        self.capacity = None;
        if let PayloadPhase::Running(running) = &mut self.phase {
            running.items.set_patience(u64::MAX);
        }
    }

    pub(super) fn skip_prefix(&mut self, bytes: u64) {
        self.prefix = bytes;
        self.offset = bytes;
        self.engine.machine.skip_prefix(bytes);
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn is_looking(&self) -> bool {
        matches!(self.phase, PayloadPhase::Looking(_))
    }

    pub(super) fn is_stopped(&self) -> bool {
        matches!(&self.phase, PayloadPhase::Running(running) if running.stopped)
    }

    /// Returns the steps of the machine, including those before a rewind and those of replays.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        let replays = match &self.phase {
            PayloadPhase::Looking(_) => 0,
            PayloadPhase::Running(running) => running.items.steps(),
        };
        self.engine.steps() + replays
    }

    /// Returns the steps of the output stages.
    #[cfg(test)]
    pub(super) fn output_steps(&self) -> (u64, u64) {
        self.output.as_ref().map_or((0, 0), OutputStages::steps)
    }

    /// Returns the payload if no later byte can change it.
    pub(super) fn decided(&self) -> Option<Payload> {
        match &self.phase {
            PayloadPhase::Looking(probe) => probe.decided(),
            PayloadPhase::Running(_) => None,
        }
    }

    fn patience(&self) -> u64 {
        self.capacity.unwrap_or(u64::MAX)
    }

    /// Starts the rules, because the payload is known.
    fn run(&mut self, payload: Option<Payload>) {
        let compiled = self.program.compiled();
        let drops = compiled.items.drop_empty;
        let config = payload_config(&self.program, &self.limits, self.output.as_ref(), drops);
        self.engine.restart(config);
        self.engine.machine.skip_prefix(self.prefix);
        if let Some(output) = &mut self.output {
            output.begin(compiled, payload);
        }
        let patience = self.patience();
        let running = match self.spare.take() {
            Some(mut running) => {
                running.items.restart(payload, patience);
                (running.mark, running.stopped) = (None, false);
                running
            }
            None => {
                let scanner = self.engine.scanner();
                let length = self.output.as_ref().map(|output| output.length().clone());
                let items =
                    ItemsStage::new(compiled, payload, patience, &self.limits, scanner, length);
                let items = items.suggest(self.suggests);
                Box::new(ItemsRun { items, mark: None, stopped: false })
            }
        };
        self.phase = PayloadPhase::Running(running);
    }

    pub(super) fn write(
        &mut self,
        chunk: &[u8],
        meter: &mut Meter,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        if self.is_stopped() {
            return Ok(());
        }
        let Self { engine, phase: PayloadPhase::Looking(probe), .. } = self else {
            return self.run_chunk(chunk, meter, sink);
        };
        let failure = engine
            .feed(probe, chunk, sink)
            .err()
            .map(|failure| stage_error(failure, &engine.machine));
        let at = match (probe.decided_at(), failure.as_ref().and_then(Error::offset)) {
            (Some(at), _) | (None, Some(at)) => at,
            (None, None) => engine.machine.offset(),
        };
        let decided = probe.decided();
        if at - self.prefix > self.patience() {
            return Err(self.overdue(self.prefix));
        }
        self.offset = at;
        match (decided, failure) {
            // A first pass holds nothing: it is finished, or reads on.
            (Some(_), _) | (None, None) if self.capacity.is_none() => Ok(()),
            // The rules find any error after this point again.
            (Some(payload), _) => self.replay(payload, chunk, meter, sink),
            // The root is still undecided, so no output would be a valid prefix: emit nothing.
            (None, Some(error)) => Err(error),
            (None, None) => {
                let Self { hold, limits, .. } = self;
                hold.push(chunk, limits, meter).map_err(|raise| self.place(raise))
            }
        }
    }

    fn place(&self, raise: crate::error::Raise) -> Error {
        Error::at(raise, self.offset, String::new())
    }

    /// Returns the error of a decision that needs more bytes from `mark` on than may be held.
    fn overdue(&self, mark: u64) -> Error {
        let raise = Hold::overflow(&self.limits);
        Error::at(raise, mark.saturating_add(self.patience()), String::new())
    }

    /// Runs the rules over the held bytes, then over `chunk`.
    fn replay(
        &mut self,
        payload: Payload,
        chunk: &[u8],
        meter: &mut Meter,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        self.run(Some(payload));
        self.offset = self.prefix;
        let mut hold = std::mem::take(&mut self.hold);
        hold.drain(
            meter,
            |meter, piece| {
                self.run_chunk(piece, meter, sink)?;
                Ok(!self.is_stopped() && !sink.is_closed())
            },
            |raise| Error::at(raise, 0, String::new()),
        )?;
        if self.is_stopped() {
            return Ok(());
        }
        self.run_chunk(chunk, meter, sink)
    }

    fn run_chunk(
        &mut self,
        chunk: &[u8],
        meter: &mut Meter,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        let Self { engine, output, wrap, phase: PayloadPhase::Running(running), .. } = self else {
            return Ok(());
        };
        let begin = engine.machine.offset();
        // A document that passes after a miss is not wrapped.
        wrap.unless(running.items.miss().is_some());
        let fed = in_front(output, sink, |sink| {
            Ok(engine.feed(&mut running.items, chunk, &mut wrap.around(sink)))
        })?;
        if let Some(mark) = engine.machine.take_checkpoint() {
            running.mark = Some(mark);
        }
        match fed {
            Ok(FeedResult::Stopped) => {
                self.offset = engine.machine.offset();
                running.stopped = true;
                in_front(output, sink, |sink| {
                    running.items.close_all(sink);
                    Ok(())
                })?;
                self.end_output(sink)
            }
            Ok(FeedResult::All) => {
                self.offset = engine.machine.offset();
                self.keep(chunk, begin, meter)
            }
            Err(MachineFailure::Rewind) => self.rewind(chunk, begin, meter, sink),
            Err(MachineFailure::Overdue) => Err(self.give_up(begin)),
            Err(MachineFailure::Error(error)) => {
                let waiting = running.items.waiting();
                let at = error.offset().unwrap_or(begin);
                self.offset = at;
                match waiting {
                    Some(mark) if at.saturating_sub(mark) > self.patience() => {
                        Err(self.give_up(mark))
                    }
                    _ => Err(error),
                }
            }
        }
    }

    /// Handles a first hit that did not come in time: restores the state at the checkpoint.
    fn give_up(&mut self, begin: u64) -> Error {
        let PayloadPhase::Running(running) = &mut self.phase else { return self.overdue(begin) };
        let mark = running.items.waiting().unwrap_or(begin);
        running.items.rewind();
        self.overdue(mark)
    }

    /// Holds the part of `chunk`, which begins at `begin`, that may have to be read again.
    fn keep(&mut self, chunk: &[u8], begin: u64, meter: &mut Meter) -> Result<(), Error> {
        let PayloadPhase::Running(running) = &mut self.phase else { return Ok(()) };
        let Some(mark) = running.items.waiting() else {
            if running.mark.take().is_some() {
                self.hold.clear(meter);
            }
            return Ok(());
        };
        if self.capacity.is_none() {
            return Ok(());
        }
        if self.offset - mark > self.patience() {
            return Err(self.give_up(mark));
        }
        let from = usize::try_from(mark.saturating_sub(begin)).unwrap_or(usize::MAX);
        let kept = chunk.get(from..).unwrap_or_default();
        let Self { hold, limits, .. } = self;
        hold.push(kept, limits, meter).map_err(|raise| self.place(raise))
    }

    /// Goes back to the checkpoint and reads on from there with the outcome known.
    #[cold]
    fn rewind(
        &mut self,
        chunk: &[u8],
        begin: u64,
        meter: &mut Meter,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        let PayloadPhase::Running(running) = &mut self.phase else { return Ok(()) };
        let Some((machine, mark)) = running.mark.take() else { return Ok(()) };
        self.engine.go_back(machine);
        running.items.rewind();
        if let Some(output) = &mut self.output
            && running.items.gave_up_array()
        {
            // The output stages have read nothing.
            output.begin(self.program.compiled(), Some(Payload::Document));
        }
        self.offset = mark;
        let mut hold = std::mem::take(&mut self.hold);
        let held = hold.len() > 0;
        hold.drain(
            meter,
            |meter, piece| {
                self.run_chunk(piece, meter, sink)?;
                Ok(!self.is_stopped() && !sink.is_closed())
            },
            |raise| Error::at(raise, mark, String::new()),
        )?;
        if self.is_stopped() {
            return Ok(());
        }
        let from = if held { 0 } else { usize::try_from(mark - begin).unwrap_or(usize::MAX) };
        self.run_chunk(chunk.get(from..).unwrap_or_default(), meter, sink)
    }

    pub(super) fn end(&mut self, meter: &mut Meter, sink: &mut dyn Sink) -> Result<(), Error> {
        if let Self { engine, phase: PayloadPhase::Looking(probe), .. } = self {
            // The search is undecided, so the document is incomplete.
            return engine
                .end(probe, sink)
                .map_err(|failure| stage_error(failure, &engine.machine));
        }
        let Self { engine, output, wrap, phase: PayloadPhase::Running(running), .. } = self else {
            return Ok(());
        };
        if running.stopped {
            return Ok(());
        }
        in_front(output, sink, |sink| {
            let mut wrapped = wrap.around(sink);
            let ended = engine.end(&mut running.items, &mut wrapped);
            ended.map_err(|failure| stage_error(failure, &engine.machine))?;
            wrapped.end();
            Ok(())
        })?;
        self.hold.clear(meter);
        self.end_output(sink)
    }

    /// Finishes the output stages.
    fn end_output(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let Self { output: Some(output), phase: PayloadPhase::Running(running), .. } = self else {
            return Ok(());
        };
        let counts = running.items.counts();
        output.end(counts.kept, counts.seen.unwrap_or(0), sink)
    }

    /// Returns the probable correction of a selected path that was not found.
    pub(super) fn meant(&self, path: &str, pairs: &mut ComparisonBudget) -> Option<String> {
        let running = match &self.phase {
            PayloadPhase::Running(running) => running,
            // Between two documents.
            PayloadPhase::Looking(_) => self.spare.as_ref()?,
        };
        running.items.meant(path, pairs)
    }

    /// Returns whether no selected value was found, so that the payload passed unselected.
    #[cfg(feature = "content")]
    pub(super) fn is_total_miss(&self) -> bool {
        matches!(&self.phase, PayloadPhase::Running(running) if running.items.miss().is_some())
    }

    pub(super) fn report(&self, report: &mut Report) {
        let PayloadPhase::Running(running) = &self.phase else { return };
        if let Some(output) = &self.output
            && output.has_failed()
        {
            return output.report(report);
        }
        let items = &running.items;
        let counts = items.counts();
        report.held_peak_bytes += counts.captured_peak;
        report.root.clone_from(&counts.root);
        report.duplicates_dropped = counts.duplicates;
        report.items_seen = counts.seen;
        report.items_kept = counts.seen.map(|_| counts.kept);
        if counts.stopped {
            report.items_at_least = counts.seen;
            report.items_seen = None;
            report.tail_unread = true;
        } else if let Some(seen) = counts.seen
            && seen > counts.kept
        {
            report.filter_items_truncated_from = Some(seen);
        }
        report.select_judged = items.is_judged();
        report.filter_partial_miss = items.partial_miss();
        if items.is_raw_text() && self.program.compiled().items.select.is_some() {
            report.filter_skipped = Some(crate::report::SkipReason::RawOutput);
        }
        if let Some(error) = items.miss() {
            report.filter_applied = false;
            report.filter_error = Some(error);
        }
        if let Some(output) = &self.output {
            output.report(report);
        }
    }
}
