//! One run: everything before the stages (byte order mark, search for `extract`, choice of a branch), error handling,
//! and the report.

use std::collections::HashSet;
use std::sync::Arc;

use super::chain::StageChain;
use super::choose::BranchChooser;
use super::extract_search::ExtractSearch;
use super::first_pass::Lookahead;
use super::hold::Hold;
use super::items::SHOWN;
use super::stage::{StageMachine, machine_config};
use crate::error::{Error, ErrorKind, Raise};
use crate::filter::compile::call::Skips;
use crate::filter::compile::program::{CompiledProgram, Program};
use crate::filter::compile::when::{Branch, When};
use crate::filter::explain::EXTRACT_SEARCH;
use crate::filter::options::CallOptions;
use crate::json::bom::BomSkipper;
use crate::limits::Meter;
use crate::nearest::ComparisonBudget;
use crate::report::{FailureReport, MissedPath, Report};
use crate::sink::Sink;
use crate::spec::Validation;

/// The purpose of a run, and whether its input can be read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::filter) enum RunMode {
    /// Produces the output of a document that arrives as a stream.
    Stream,
    /// Produces the output of a document in one chunk, which can be read again.
    Slice,
    /// Writes nothing; only finds the branch and the payload, which a run over a stream would hold the document for.
    FirstPass,
}

#[derive(Debug)]
pub(in crate::filter) struct FilterRun {
    program: Program,
    options: CallOptions,
    pass: RunMode,
    /// Present if the document may lack the value at `extract`.
    seeking: Option<ExtractSearch>,
    /// Present if the program has branches.
    choosing: Option<BranchChoice>,
    /// The branch was known before the run, so nothing is held for it.
    known: bool,
    /// The stages of the program, or of the chosen branch.
    chain: Option<StageChain>,
    /// The chosen branch and its program.
    branch: Option<(Branch, Program)>,
    meter: Meter,
    bom: BomSkipper,
    /// Bytes before the document.
    prefix: u64,
    written: u64,
    /// Bytes read.
    consumed: u64,
    /// The last byte read.
    last: u8,
    /// The run is complete, and further input is ignored.
    stopped: bool,
    state: RunState,
    skips: Option<Skips>,
    /// The program has rules that apply.
    applies: bool,
    failure: Option<FailureReport>,
}

/// The choice of a branch, and the document held for it.
#[derive(Debug)]
struct BranchChoice {
    engine: StageMachine,
    chooser: BranchChooser,
    /// The document until the choice is made.
    hold: Hold,
    /// The document is still watched: first for the choice, then for duplicate members.
    watching: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunState {
    Running,
    Ended,
    Failed,
}

/// A step that reads a piece of the document. Returns the offset at which the stages stopped, if they did.
type FeedStep = fn(&mut FilterRun, &[u8], &mut dyn Sink) -> Result<Option<u64>, Error>;

/// Returns the handling of a byte order mark: JSON documents skip it, text decoders handle it themselves.
fn bom_of(program: &Program) -> BomSkipper {
    if program.is_text() { BomSkipper::settled() } else { BomSkipper::new() }
}

impl FilterRun {
    pub(in crate::filter) fn new(
        program: &Program,
        options: &CallOptions,
        ahead: Lookahead,
        pass: RunMode,
    ) -> Self {
        let skips = options.skips(program.compiled());
        let program = program.for_call(skips);
        let options = options.of_rest(skips);
        let seeking = ExtractSearch::new(program, &options);
        // The bytes held for the search cannot be read again.
        let pass = if seeking.is_some() && pass == RunMode::Slice { RunMode::Stream } else { pass };
        let spec = &program.compiled().spec;
        let raw = matches!(skips, Some(Skips::Raw | Skips::RawOfFailed));
        let mut core = Self {
            program: program.clone(),
            pass,
            seeking,
            choosing: None,
            known: ahead.branch.is_some(),
            chain: None,
            branch: None,
            meter: Meter::default(),
            bom: bom_of(program),
            prefix: 0,
            written: 0,
            consumed: 0,
            last: 0,
            stopped: false,
            state: RunState::Running,
            skips,
            applies: !raw && spec.has_rules(),
            failure: None,
            options,
        };
        if core.seeking.is_none() {
            core.begin(ahead);
        }
        core
    }

    /// Starts the choice of a branch, or creates the stages if there is none.
    fn begin(&mut self, ahead: Lookahead) {
        let compiled = self.program.compiled();
        if compiled.when.is_none() {
            return self.begin_chain(ahead);
        }
        let mut choosing = BranchChoice::new(compiled, &self.options);
        choosing.engine.machine.skip_prefix(self.prefix);
        self.choosing = Some(choosing);
        if let Some(branch) = ahead.branch {
            // If no branch applies, the error is returned when the choice is made.
            _ = self.take_branch(branch, ahead);
        }
    }

    /// Creates the stages of the program that applies.
    fn begin_chain(&mut self, ahead: Lookahead) {
        let program = self.branch.as_ref().map_or(&self.program, |(_, program)| program);
        let mut chain = StageChain::new(program, &self.options, ahead.payload);
        if let Some(items) = chain.first_items() {
            let never_holds = match self.pass {
                RunMode::Stream => false,
                RunMode::Slice => !items.is_looking(),
                RunMode::FirstPass => items.is_looking(),
            };
            if never_holds {
                items.never_hold();
            }
        }
        chain.skip_prefix(self.prefix);
        self.chain = Some(chain);
    }

    /// Starts the stages of a branch.
    ///
    /// # Errors
    /// Fails if the branch is an error.
    fn take_branch(&mut self, branch: Branch, ahead: Lookahead) -> Result<(), Raise> {
        let when = self.program.compiled().when.as_ref();
        let Some(program) = when.and_then(|when| branch.program(when)) else {
            return Err(When::none_holds());
        };
        self.branch = Some((branch, program.clone()));
        self.begin_chain(ahead);
        Ok(())
    }

    pub(in crate::filter) fn restart(&mut self) {
        if let Some(seeking) = &mut self.seeking {
            seeking.restart(&self.options);
            self.program = seeking.program.clone();
            (self.choosing, self.chain, self.branch) = (None, None, None);
        }
        if let Some(choosing) = &mut self.choosing {
            choosing.restart(self.program.compiled(), &self.options);
            (self.known, self.chain, self.branch) = (false, None, None);
        }
        if let Some(chain) = &mut self.chain {
            chain.restart();
        }
        self.meter = Meter::default();
        self.bom = bom_of(&self.program);
        (self.prefix, self.written, self.consumed) = (0, 0, 0);
        (self.last, self.stopped) = (0, false);
        self.state = RunState::Running;
        self.failure = None;
    }

    pub(in crate::filter) fn is_done(&self) -> bool {
        self.stopped || self.state == RunState::Ended
    }

    /// Makes the run fail with an error of its driver.
    pub(in crate::filter) fn fail(&mut self, error: &Error) {
        self.state = RunState::Failed;
        self.failure.get_or_insert_with(|| FailureReport::from(error));
    }

    /// Returns whether a first pass can find out more than what is known.
    pub(in crate::filter) fn looks_beyond(&self, ahead: Lookahead) -> bool {
        match &self.chain {
            Some(chain) => chain.looks_first(),
            // If no branch holds, there is nothing more to find out.
            None => self.choosing.is_some() && ahead.branch.is_none(),
        }
    }

    /// Returns what the first pass has found out.
    pub(in crate::filter) fn found(&self) -> Lookahead {
        let items = self.chain.as_ref().and_then(StageChain::items);
        let choice = self.choosing.as_ref().and_then(|choosing| choosing.chooser.choice());
        Lookahead {
            // If the branch was known, only its payload is new.
            branch: choice.filter(|_| !self.known).map(|(branch, _)| branch),
            payload: items.and_then(|items| items.decided()),
        }
    }

    /// Reads the next bytes of the document.
    pub(in crate::filter) fn write(
        &mut self,
        chunk: &[u8],
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        self.guard(|core, sink| core.take(chunk, sink), sink)
    }

    /// The document is complete.
    pub(in crate::filter) fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        self.guard(Self::complete, sink)
    }

    /// Runs `step`. After an error the run stays failed.
    fn guard(
        &mut self,
        step: impl FnOnce(&mut Self, &mut dyn Sink) -> Result<(), Error>,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        match self.state {
            RunState::Failed => {
                return Err(Error::new(ErrorKind::Failed, "the filter has already failed"));
            }
            RunState::Ended => {
                return Err(Error::new(ErrorKind::Failed, "the filter has ended"));
            }
            RunState::Running => {}
        }
        let mut counted = CountingSink { sink, bytes: 0 };
        let result = step(self, &mut counted);
        self.written += counted.bytes;
        if let Err(error) = &result {
            self.state = RunState::Failed;
            self.failure = Some(FailureReport::from(error));
        }
        result
    }

    fn take(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        if self.stopped {
            return Ok(());
        }
        let document = self.skip_bom(chunk)?;
        let fed = self.seek(document, sink);
        if let Some(last) = chunk.last() {
            self.last = *last;
        }
        match &fed {
            Ok(Some(offset)) => {
                self.consumed = *offset;
                self.stopped = true;
            }
            Ok(None) => self.consumed += document.len() as u64,
            Err(_) => {}
        }
        fed.map(|_| ())
    }

    /// Searches for the value at `extract` if it may be missing, then continues with the branch or the stages.
    fn seek(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<Option<u64>, Error> {
        let Some(seeking) = self.seeking.as_mut().filter(|seeking| !seeking.done) else {
            return self.choose_or_feed(chunk, sink);
        };
        let fed = seeking.watch(chunk);
        let failed_at = fed.as_ref().err().and_then(Error::offset);
        let at = seeking.found().map(|(_, at)| at).or(failed_at);
        let at = at.unwrap_or(seeking.engine.machine.offset());
        let limits = self.options.limits();
        if at - self.prefix > Hold::capacity(limits) {
            return Err(Hold::place(limits, Hold::overflow(limits)));
        }
        let Some((there, _)) = seeking.found() else {
            fed?;
            let pushed = seeking.hold.push(chunk, limits, &mut self.meter);
            pushed.map_err(|raise| seeking.engine.machine.place(raise))?;
            return Ok(None);
        };
        // The stages find any later error again.
        seeking.done = true;
        let hold = std::mem::take(&mut seeking.hold);
        if !there {
            self.program = seeking.program.unextracted().clone();
        }
        self.begin(Lookahead::default());
        match self.replay(hold, sink, Self::choose_or_feed)? {
            Some(stopped) => Ok(Some(stopped)),
            None => self.choose_or_feed(chunk, sink),
        }
    }

    fn choose_or_feed(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<Option<u64>, Error> {
        match &self.choosing {
            None => self.feed(chunk, sink),
            Some(_) => self.choose(chunk, sink),
        }
    }

    /// Feeds the stages. Returns the offset at which they stopped, if they did.
    fn feed(&mut self, document: &[u8], sink: &mut dyn Sink) -> Result<Option<u64>, Error> {
        match &mut self.chain {
            Some(chain) => chain.write(document, &mut self.meter, sink),
            None => Ok(None),
        }
    }

    /// Looks for the branch, or watches the rest of the document for duplicate members, and feeds the stages.
    fn choose(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<Option<u64>, Error> {
        let Some(choosing) = self.choosing.as_mut().filter(|choosing| choosing.watching) else {
            return self.feed(chunk, sink);
        };
        let begin = choosing.engine.machine.offset();
        let fed = choosing.watch(chunk);
        let choice = choosing.chooser.choice();
        let failed_at = fed.as_ref().err().and_then(Error::offset);
        if self.chain.is_none() {
            let at = choice.map(|(_, at)| at).or(failed_at);
            let at = at.unwrap_or(choosing.engine.machine.offset());
            let limits = self.options.limits();
            let holds = self.pass != RunMode::FirstPass && !self.known;
            if holds && at - self.prefix > Hold::capacity(limits) {
                return Err(Hold::place(limits, Hold::overflow(limits)));
            }
            let Some((branch, at)) = choice else {
                fed?;
                if holds {
                    let pushed = choosing.hold.push(chunk, limits, &mut self.meter);
                    pushed.map_err(|raise| choosing.engine.machine.place(raise))?;
                }
                return Ok(None);
            };
            let hold = std::mem::take(&mut choosing.hold);
            self.take_branch(branch, Lookahead::default())
                .map_err(|raise| Error::at(raise, at, String::new()))?;
            if self.pass == RunMode::FirstPass {
                return Ok(None);
            }
            if let Some(stopped) = self.replay(hold, sink, Self::feed)? {
                return Ok(Some(stopped));
            }
        }
        match fed {
            Ok(()) => self.feed(chunk, sink),
            // Errors before this one are reported first. The stages do not report this one: they accept duplicate
            // members, keys that are too long for the tests, and everything that a structural check accepts.
            Err(error)
                if matches!(error.kind(), ErrorKind::Duplicate | ErrorKind::Limit)
                    || self.program.compiled().spec.validation == Validation::Structure =>
            {
                let upto = failed_at.unwrap_or(begin).saturating_sub(begin);
                let upto = usize::try_from(upto).unwrap_or(usize::MAX);
                match self.feed(chunk.get(..upto).unwrap_or(chunk), sink)? {
                    Some(stopped) => Ok(Some(stopped)),
                    None => Err(error),
                }
            }
            // The stages find all other errors themselves.
            Err(_) => {
                if let Some(choosing) = &mut self.choosing {
                    choosing.watching = false;
                }
                self.feed(chunk, sink)
            }
        }
    }

    /// Runs `step` with each piece of the held bytes until it stops.
    fn replay(
        &mut self,
        mut hold: Hold,
        sink: &mut dyn Sink,
        step: FeedStep,
    ) -> Result<Option<u64>, Error> {
        let mut stopped = None;
        let mut meter = std::mem::take(&mut self.meter);
        let drained = hold.drain(
            &mut meter,
            |_, piece| {
                stopped = step(self, piece, sink)?;
                Ok(stopped.is_none() && !sink.is_closed())
            },
            |raise| Error::at(raise, 0, String::new()),
        );
        self.meter.absorb(&meter);
        drained.map(|()| stopped)
    }

    /// Returns the chunk without the bytes of a byte order mark.
    fn skip_bom<'a>(&mut self, chunk: &'a [u8]) -> Result<&'a [u8], Error> {
        let (document, settled) = self.bom.skip(chunk)?;
        self.consumed += (chunk.len() - document.len()) as u64;
        if let Some(prefix) = settled {
            self.prefix = prefix;
            if let Some(seeking) = &mut self.seeking {
                seeking.engine.machine.skip_prefix(prefix);
            }
            if let Some(choosing) = &mut self.choosing {
                choosing.engine.machine.skip_prefix(prefix);
            }
            if let Some(chain) = &mut self.chain {
                chain.skip_prefix(prefix);
            }
        }
        Ok(document)
    }

    fn complete(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        self.bom.end()?;
        if self.stopped {
            self.state = RunState::Ended;
            return Ok(());
        }
        if let Some(seeking) = self.seeking.as_mut().filter(|seeking| !seeking.done) {
            // The search is undecided, so the document is incomplete.
            return seeking.end();
        }
        if self.chain.is_none()
            && let Some(choosing) = &mut self.choosing
        {
            choosing.end()?;
            // A scalar ends with the document.
            if let Some((branch, at)) = choosing.chooser.choice() {
                let hold = std::mem::take(&mut choosing.hold);
                self.take_branch(branch, Lookahead::default())
                    .map_err(|raise| Error::at(raise, at, String::new()))?;
                if self.pass != RunMode::FirstPass {
                    _ = self.replay(hold, sink, Self::feed)?;
                }
            }
        }
        // A first pass for the branch has not fed the stages.
        let chooses = self.pass == RunMode::FirstPass && self.choosing.is_some() && !self.known;
        if let Some(chain) = self.chain.as_mut().filter(|_| !chooses) {
            chain.end(&mut self.meter, sink)?;
        }
        self.state = RunState::Ended;
        Ok(())
    }

    /// Returns the steps of all machines.
    #[cfg(test)]
    pub(in crate::filter) fn steps(&self) -> u64 {
        let seeking = self.seeking.as_ref().map_or(0, |seeking| seeking.engine.steps());
        let choosing = self.choosing.as_ref().map_or(0, |choosing| choosing.engine.steps());
        seeking + choosing + self.chain.as_ref().map_or(0, StageChain::steps)
    }

    /// Returns the steps of the output stages, and the bytes read to shorten strings.
    #[cfg(test)]
    pub(in crate::filter) fn output_steps(&self) -> (u64, u64) {
        let items = self.chain.as_ref().and_then(StageChain::items);
        items.map_or((0, 0), |items| items.output_steps())
    }

    /// Adds probable corrections to the first selected paths that were not found. Messages name no more than these.
    pub(in crate::filter) fn suggest(&self, missed: &mut [MissedPath]) {
        let Some(items) = self.chain.as_ref().and_then(StageChain::items) else { return };
        let mut pairs = ComparisonBudget::default();
        for one in missed.iter_mut().take(SHOWN) {
            one.meant = items.meant(&one.path, &mut pairs);
        }
    }

    pub(in crate::filter) fn report(&self) -> Report {
        let mut report = self.tally();
        // A path may be selected twice, under two keys.
        let mut known = HashSet::new();
        let missed = report.filter_partial_miss.iter().filter(|path| known.insert(path.as_str()));
        report.missed = missed.map(|path| MissedPath { path: path.clone(), meant: None }).collect();
        self.suggest(&mut report.missed);
        report.plan = match &self.branch {
            None => self.program.plan_with(&self.options),
            Some((_, program)) => self.program.plan_of_branch(program, &self.options),
        };
        if let Some(seeking) = &self.seeking
            && seeking.done
        {
            // Whether or not the value was found.
            report.plan.retain(|line| !line.starts_with("extract"));
            report.plan.insert(0, EXTRACT_SEARCH.to_owned());
        }
        report
    }

    /// Returns the report without the plan.
    pub(in crate::filter) fn tally(&self) -> Report {
        let newline = u64::from(self.last == b'\n' && !self.stopped);
        let consumed = match self.failure.as_ref().and_then(|failure| failure.offset) {
            Some(offset) => offset,
            None => self.consumed.saturating_sub(newline),
        };
        let mut report = Report {
            filter_applied: self.applies && self.failure.is_none(),
            filter_original_bytes: consumed,
            filter_result_bytes: self.written,
            filter_skipped: self.skips.map(Skips::reason),
            held_peak_bytes: self.meter.peak(),
            branch: self.branch.as_ref().map(|(branch, _)| branch.name()),
            error: self.failure.clone(),
            ..Report::default()
        };
        if let Some(chain) = &self.chain {
            chain.report(&mut report, self.written);
            let same = report.filter_result_bytes == self.written;
            report.output_bytes = (!same).then_some(self.written);
        }
        report
    }
}

impl BranchChoice {
    fn new(program: &Arc<CompiledProgram>, options: &CallOptions) -> Self {
        let limits = options.limits();
        Self {
            engine: StageMachine::new(
                machine_config(&program.spec, limits, false),
                options.scanner(),
            ),
            chooser: BranchChooser::new(program, limits),
            hold: Hold::default(),
            watching: true,
        }
    }

    fn restart(&mut self, program: &Arc<CompiledProgram>, options: &CallOptions) {
        self.engine.restart(machine_config(&program.spec, options.limits(), false));
        self.chooser.restart();
        self.hold = Hold::default();
        self.watching = true;
    }

    fn watch(&mut self, chunk: &[u8]) -> Result<(), Error> {
        let Self { engine, chooser, .. } = self;
        let fed = engine.feed(chooser, chunk, &mut Vec::new());
        fed.map(|_| ())
    }

    fn end(&mut self) -> Result<(), Error> {
        let Self { engine, chooser, .. } = self;
        let ended = engine.end(chooser, &mut Vec::new());
        ended
    }
}

/// Counts the bytes written.
struct CountingSink<'a> {
    sink: &'a mut dyn Sink,
    bytes: u64,
}

impl Sink for CountingSink<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.sink.write(bytes);
    }

    fn is_closed(&self) -> bool {
        self.sink.is_closed()
    }
}
