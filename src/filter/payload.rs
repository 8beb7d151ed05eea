//! The stage on the payload, with all that may have to wait: finds the root, keeps input for a fallback, goes back.
//!
//! ```text
//! Looking ──decided──▶ Running ──mark──▶ waiting ──hit──▶ Running
//!   holds the document      ▲      holds from the mark │
//!                           └───────── rewind ─────────┘   a miss, or a hit behind much output
//! ```
//!
//! While Looking, and while waiting, input goes to the [`Hold`]. A decision that comes more than its capacity behind the
//! first held byte is an error, whether or not the bytes were in fact held: chunks must not matter.

use super::hold::Hold;
use super::items::Items;
use super::options::CallOptions;
use super::program::Program;
use super::root::{Payload, Probe};
use super::stage::{Engine, config, failed};
use super::tail::{Tail, in_front};
use super::wrap::Wrap;
use crate::error::Error;
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
    /// Names are kept, for those that were probably meant.
    suggests: bool,
    engine: Engine,
    phase: Phase,
    /// That of an earlier document, to be used again.
    spare: Option<Box<Running>>,
    hold: Hold,
    /// Bytes that may be held; `None`: the input comes in one chunk and is not held at all.
    capacity: Option<u64>,
    /// What happens to what the items stage writes.
    tail: Option<Tail>,
    /// A document that is no array becomes one.
    wrap: Wrap,
    /// Bytes in front of the document.
    prefix: u64,
    /// Bytes that were read.
    offset: u64,
}

#[derive(Debug)]
enum Phase {
    Looking(Probe),
    Running(Box<Running>),
}

#[derive(Debug)]
struct Running {
    items: Items,
    /// The machine at the value from which input is held.
    mark: Option<(Machine, u64)>,
    stopped: bool,
}

/// The machine's configuration. The tail reads minified text, and writes such: white space goes on the way to it.
fn machine_config(
    program: &Program,
    limits: &Limits,
    tail: Option<&Tail>,
    drops_empty: bool,
) -> MachineConfig {
    let config = config(&program.compiled().spec, limits, drops_empty);
    MachineConfig { keep_white: config.keep_white && tail.is_none(), ..config }
}

impl PayloadStage {
    pub(super) fn new(
        program: &Program,
        options: &CallOptions,
        scanner: Scanner,
        payload: Option<Payload>,
        tail: Option<Tail>,
    ) -> Self {
        let limits = options.limits_ref();
        let config = machine_config(program, limits, tail.as_ref(), false);
        let mut stage = Self {
            program: program.clone(),
            limits: limits.clone(),
            suggests: options.suggests(),
            engine: Engine::new(config, scanner),
            phase: Phase::Looking(Probe::new(program.compiled())),
            spare: None,
            hold: Hold::default(),
            capacity: Some(Hold::capacity(limits)),
            tail,
            wrap: Wrap::new(program),
            prefix: 0,
            offset: 0,
        };
        stage.begin(payload);
        stage
    }

    /// Looks for the payload, or runs if it is known or needs no look.
    fn begin(&mut self, payload: Option<Payload>) {
        if payload.is_some() || !self.program.compiled().items.looks() {
            self.run(payload);
        } else {
            self.phase = Phase::Looking(Probe::new(self.program.compiled()));
        }
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self) {
        self.engine.restart(machine_config(&self.program, &self.limits, self.tail.as_ref(), false));
        self.hold = Hold::default();
        (self.prefix, self.offset) = (0, 0);
        self.wrap = Wrap::new(&self.program);
        let probe = Probe::new(self.program.compiled());
        let phase = std::mem::replace(&mut self.phase, Phase::Looking(probe));
        if let Phase::Running(running) = phase {
            self.spare = Some(running);
        }
        self.begin(None);
    }

    /// The input comes in one chunk, which is there to be read again.
    pub(super) fn never_hold(&mut self) {
        self.capacity = None;
        if let Phase::Running(running) = &mut self.phase {
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
        matches!(self.phase, Phase::Looking(_))
    }

    pub(super) fn is_stopped(&self) -> bool {
        matches!(&self.phase, Phase::Running(running) if running.stopped)
    }

    /// Steps of the machine, those before it went back and those of replays included.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        let replays = match &self.phase {
            Phase::Looking(_) => 0,
            Phase::Running(running) => running.items.steps(),
        };
        self.engine.steps() + replays
    }

    /// Steps of the stages behind.
    #[cfg(test)]
    pub(super) fn tail_steps(&self) -> (u64, u64) {
        self.tail.as_ref().map_or((0, 0), Tail::steps)
    }

    /// The payload, if no later byte can change it.
    pub(super) fn decided(&self) -> Option<Payload> {
        match &self.phase {
            Phase::Looking(probe) => probe.decided(),
            Phase::Running(_) => None,
        }
    }

    fn patience(&self) -> u64 {
        self.capacity.unwrap_or(u64::MAX)
    }

    /// The payload is known: the rules can run.
    fn run(&mut self, payload: Option<Payload>) {
        let compiled = self.program.compiled();
        let drops = compiled.items.drop_empty;
        let config = machine_config(&self.program, &self.limits, self.tail.as_ref(), drops);
        self.engine.restart(config);
        self.engine.machine.skip_prefix(self.prefix);
        if let Some(tail) = &mut self.tail {
            tail.begin(compiled, payload);
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
                let length = self.tail.as_ref().map(|tail| tail.length().clone());
                let items = Items::new(compiled, payload, patience, &self.limits, scanner, length);
                let items = items.suggest(self.suggests);
                Box::new(Running { items, mark: None, stopped: false })
            }
        };
        self.phase = Phase::Running(running);
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
        let Self { engine, phase: Phase::Looking(probe), .. } = self else {
            return self.run_chunk(chunk, meter, sink);
        };
        let failure =
            engine.feed(probe, chunk, sink).err().map(|failure| failed(failure, &engine.machine));
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
            // A scout keeps nothing: it has what it came for, or reads on.
            (Some(_), _) | (None, None) if self.capacity.is_none() => Ok(()),
            // Whatever is wrong behind what decided is met again.
            (Some(payload), _) => self.replay(payload, chunk, meter, sink),
            // Nobody can say what a document would have been that breaks off here, so nothing is emitted.
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

    /// The error of a decision that did not come within what may be held from `mark` on.
    fn overdue(&self, mark: u64) -> Error {
        let raise = Hold::overflow(&self.limits);
        Error::at(raise, mark.saturating_add(self.patience()), String::new())
    }

    /// The payload was found: runs over what was held, then over `chunk`.
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
        let Self { engine, tail, wrap, phase: Phase::Running(running), .. } = self else {
            return Ok(());
        };
        let begin = engine.machine.offset();
        // What a miss leaves, it leaves as it is.
        wrap.unless(running.items.miss().is_some());
        let fed = in_front(tail, sink, |sink| {
            Ok(engine.feed(&mut running.items, chunk, &mut wrap.around(sink)))
        })?;
        if let Some(mark) = engine.machine.take_checkpoint() {
            running.mark = Some(mark);
        }
        match fed {
            Ok(FeedResult::Stopped) => {
                self.offset = engine.machine.offset();
                running.stopped = true;
                in_front(tail, sink, |sink| {
                    running.items.close_all(sink);
                    Ok(())
                })?;
                self.end_tail(sink)
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

    /// The first hit did not come in time. What was seen since the mark was not seen.
    fn give_up(&mut self, begin: u64) -> Error {
        let Phase::Running(running) = &mut self.phase else { return self.overdue(begin) };
        let mark = running.items.waiting().unwrap_or(begin);
        running.items.rewind();
        self.overdue(mark)
    }

    /// Keeps what of `chunk`, which begins at `begin`, may have to be read again.
    fn keep(&mut self, chunk: &[u8], begin: u64, meter: &mut Meter) -> Result<(), Error> {
        let Phase::Running(running) = &mut self.phase else { return Ok(()) };
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

    /// Goes back to the mark, and on from there with what is known now.
    #[cold]
    fn rewind(
        &mut self,
        chunk: &[u8],
        begin: u64,
        meter: &mut Meter,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        let Phase::Running(running) = &mut self.phase else { return Ok(()) };
        let Some((machine, mark)) = running.mark.take() else { return Ok(()) };
        self.engine.go_back(machine);
        running.items.rewind();
        if let Some(tail) = &mut self.tail
            && running.items.gave_up_array()
        {
            // It has read nothing.
            tail.begin(self.program.compiled(), Some(Payload::Document));
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
        if let Self { engine, phase: Phase::Looking(probe), .. } = self {
            // Undecided, so it cannot be complete.
            return engine.end(probe, sink).map_err(|failure| failed(failure, &engine.machine));
        }
        let Self { engine, tail, wrap, phase: Phase::Running(running), .. } = self else {
            return Ok(());
        };
        if running.stopped {
            return Ok(());
        }
        in_front(tail, sink, |sink| {
            let mut wrapped = wrap.around(sink);
            let ended = engine.end(&mut running.items, &mut wrapped);
            ended.map_err(|failure| failed(failure, &engine.machine))?;
            wrapped.end();
            Ok(())
        })?;
        self.hold.clear(meter);
        self.end_tail(sink)
    }

    /// The filtered document is complete.
    fn end_tail(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let Self { tail: Some(tail), phase: Phase::Running(running), .. } = self else {
            return Ok(());
        };
        let counts = running.items.counts();
        tail.end(counts.kept, counts.seen.unwrap_or(0), sink)
    }

    /// The path that was probably meant by a selected one that was not found.
    pub(super) fn meant(&self, path: &str, pairs: &mut ComparisonBudget) -> Option<String> {
        let running = match &self.phase {
            Phase::Running(running) => running,
            // Between two documents.
            Phase::Looking(_) => self.spare.as_ref()?,
        };
        running.items.meant(path, pairs)
    }

    pub(super) fn report(&self, report: &mut Report) {
        let Phase::Running(running) = &self.phase else { return };
        if let Some(tail) = &self.tail
            && tail.has_failed()
        {
            return tail.report(report);
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
        if let Some(tail) = &self.tail {
            tail.report(report);
        }
    }
}
