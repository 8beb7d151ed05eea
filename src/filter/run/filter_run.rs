//! One run: everything before the stages (byte order mark, search for `extract`, choice of a branch), error handling,
//! and the report.
//!
//! ```text
//! chunk ─▶ skip_bom ─▶ seek ──────────▶ choose ──────────▶ feed: the stages
//!                      │ `extract` may   │ `when`: undecided
//!                      │ be missing      │
//!                      └─ Lookahead      └─ Lookahead, then watched for duplicates
//! ```
//!
//! Each step passes the held input, then the rest of the chunk, to the next one. A step without a task is left out.
//!
//! **States.** `Running` becomes `Ended` at the end of the document, and `Failed` after an error. Both refuse further
//! calls with an error. A run that has *stopped* (`stop_early`) is still `Running`, ignores input, and can be ended.
//!
//! **Errors.** Output that precedes an error is written before the error is returned. Neither of them depends on how
//! the input is divided into chunks.

use std::collections::HashSet;

use tamis_json::bom::BomSkipper;
use tamis_json::error::{Error, ErrorKind, Raise};
use tamis_json::limits::Meter;
use tamis_json::nearest::ComparisonBudget;
use tamis_json::sink::Sink;

use super::chain::StageChain;
use super::choose::BranchChoice;
use super::counting_sink::CountingSink;
use super::extract_search::ExtractSearch;
use super::first_pass::DocumentFacts;
use super::items::SHOWN;
use super::lookahead::{Decided, HeldInput, Input, Probe};
use super::nested_run::new_inner;
use super::payload::PayloadStage;
use super::redact_error::{redact_report, redacted_error};
use super::run_mode::RunMode;
use crate::filter::compile::call::Skips;
use crate::filter::compile::nested::When;
use crate::filter::compile::program::Program;
use crate::filter::compile::when::Branch;
use crate::filter::explain::EXTRACT_SEARCH;
use crate::filter::options::CallOptions;
use crate::report::{FailureReport, MissedPath, Report};
use crate::spec::Validation;

/// A run over one document, or over one document after another ([`restart`](FilterRun::restart)).
#[derive(Debug)]
pub(in crate::filter) struct FilterRun {
    /// The program for this call, without the rules that the call skips.
    program: Program,
    options: CallOptions,
    /// `Slice` becomes `Stream` if the search for `extract` has to hold the input.
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
    /// Bytes held for decisions: now, and at most.
    meter: Meter,
    /// Removes a byte order mark before any other step.
    bom: BomSkipper,
    /// Bytes before the document: those of the byte order mark.
    prefix: u64,
    /// Bytes of the output.
    written: u64,
    /// Bytes read, up to the offset at which the run stopped.
    consumed: u64,
    /// The last byte read.
    last: u8,
    /// The run is complete, and further input is ignored.
    stopped: bool,
    state: RunState,
    /// The rules that the call skips.
    skips: Option<Skips>,
    /// The program has rules that apply.
    applies: bool,
    /// The error of the run, for the report.
    failure: Option<FailureReport>,
}

/// Whether the run accepts calls.
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
    /// `facts` come from first passes over the same document. The rules that the call skips are removed from the
    /// program here, once, so that no later step has to consider them.
    pub(in crate::filter) fn new(
        program: &Program,
        options: &CallOptions,
        facts: DocumentFacts,
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
            known: facts.branch.is_some(),
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
            core.begin(facts);
        }
        core
    }

    /// Starts the choice of a branch, or creates the stages if there is none. The steps after the search for `extract`
    /// begin here: at once, or when that search is done.
    fn begin(&mut self, facts: DocumentFacts) {
        let compiled = self.program.compiled();
        // If strings are filtered first, the chain has a run that chooses.
        if compiled.when.is_none() || compiled.json_strings.is_some() {
            return self.begin_chain(facts);
        }
        // A first pass holds nothing, and neither does a run whose branch is known.
        let again = self.pass == RunMode::FirstPass || self.known;
        let input = if again { Input::Again } else { Input::once() };
        let mut choosing = BranchChoice::new(compiled, &self.options, input);
        choosing.ahead.skip_prefix(self.prefix);
        self.choosing = Some(choosing);
        if let Some(branch) = facts.branch {
            // If no branch applies, the error is returned when the choice is made.
            _ = self.take_branch(branch, facts);
        }
    }

    /// Creates the stages of the program that applies. Called when the program is certain. If every document has the
    /// same program, later documents reuse the stages.
    fn begin_chain(&mut self, facts: DocumentFacts) {
        let program = self.branch.as_ref().map_or(&self.program, |(_, program)| program);
        let mut chain = StageChain::new(program, &self.options, facts.payload, new_inner);
        if let Some(items) = chain.first_items() {
            // A slice is not held any more once its payload is known.
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
    fn take_branch(&mut self, branch: Branch, facts: DocumentFacts) -> Result<(), Raise> {
        let when = self.program.compiled().when.as_ref();
        let Some(program) = when.and_then(|when| branch.program(when)) else {
            return Err(When::none_holds());
        };
        self.branch = Some((branch, program.clone()));
        self.begin_chain(facts);
        Ok(())
    }

    /// Begins a new document and reuses the allocations. Facts of the earlier document are forgotten: a branch or a
    /// payload is searched for again.
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

    /// Returns whether further input is ignored.
    pub(in crate::filter) fn is_done(&self) -> bool {
        self.stopped || self.state == RunState::Ended
    }

    /// Makes the run fail with an error of its driver.
    pub(in crate::filter) fn fail(&mut self, error: &Error) {
        self.state = RunState::Failed;
        self.failure.get_or_insert_with(|| FailureReport::from(error));
    }

    /// Returns whether a first pass can find out more than what is known.
    pub(in crate::filter) fn looks_beyond(&self, facts: DocumentFacts) -> bool {
        match &self.chain {
            Some(chain) => chain.looks_first(),
            // If no branch holds, there is nothing more to find out.
            None => self.choosing.is_some() && facts.branch.is_none(),
        }
    }

    /// Returns what the first pass has found out. A fact is absent as long as later bytes may
    /// change it.
    pub(in crate::filter) fn found(&self) -> DocumentFacts {
        let items = self.chain.as_ref().and_then(StageChain::items);
        let choice = self.choosing.as_ref().and_then(|choosing| choosing.ahead.probe().decided());
        DocumentFacts {
            // If the branch was known, only its payload is new.
            branch: choice.filter(|_| !self.known).map(|(branch, _)| branch),
            payload: items.and_then(|items| items.decided()),
        }
    }

    /// Reads the next bytes of the document. After the run has stopped, the bytes are ignored.
    ///
    /// # Errors
    /// The document is invalid, a rule fails, a limit is exceeded, or the run has ended or failed before.
    pub(in crate::filter) fn write(
        &mut self,
        chunk: &[u8],
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        self.guard(|core, sink| core.take(chunk, sink), sink)
    }

    /// Ends the document.
    ///
    /// # Errors
    /// The document is incomplete, a decision or a rule fails at its end, or the run has failed before.
    pub(in crate::filter) fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        self.guard(Self::complete, sink)
    }

    /// Exchanges the meter, for a step that charges that of an outer run.
    pub(super) fn swap_meter(&mut self, meter: &mut Meter) {
        std::mem::swap(&mut self.meter, meter);
    }

    /// Accounts for an error of a stage before this run, whose output it reads.
    pub(super) fn fail_before(&mut self) {
        if let Some(chain) = &mut self.chain {
            chain.fail_before();
        }
    }

    /// Returns the number of bytes read, up to the offset at which the run stopped.
    pub(super) fn consumed(&self) -> u64 {
        self.consumed
    }

    /// Returns whether the program has rules that apply.
    pub(super) fn applies(&self) -> bool {
        self.applies
    }

    /// Returns the stage on the payload.
    pub(super) fn items(&self) -> Option<&PayloadStage> {
        self.chain.as_ref().and_then(StageChain::items)
    }

    /// Runs `step`. After an error the run stays failed. Counts the bytes written, and keeps the error for the report.
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
        let result = result.map_err(|error| redacted_error(&self.program, error));
        self.written += counted.bytes;
        if let Err(error) = &result {
            self.state = RunState::Failed;
            self.failure = Some(FailureReport::from(error));
        }
        result
    }

    /// Reads a chunk. If the stages stop in it, `consumed` ends at that offset, and later chunks are ignored. After an
    /// error `consumed` stays where it was: the report takes the offset of the error instead, if it has one.
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

    /// Searches for the value at `extract` if it may be missing, then continues with the branch or the stages. While
    /// the search is undecided, the chunk is held and nothing else happens.
    fn seek(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<Option<u64>, Error> {
        let Some(seeking) = self.seeking.as_mut().filter(|seeking| !seeking.done) else {
            return self.choose_or_feed(chunk, sink);
        };
        let found = seeking.ahead.write(chunk, self.options.limits(), &mut self.meter)?;
        let Some(Decided { decision: there, held, .. }) = found else { return Ok(None) };
        // Without the value at `extract`, the rules apply to the whole document.
        seeking.done = true;
        if !there {
            self.program = seeking.program.unextracted().clone();
        }
        self.begin(DocumentFacts::default());
        match self.replay(held, sink, Self::choose_or_feed)? {
            Some(stopped) => Ok(Some(stopped)),
            None => self.choose_or_feed(chunk, sink),
        }
    }

    /// Passes bytes of the document to the choice of a branch, or to the stages if there is none.
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

    /// Looks for the branch, or watches the rest of the document for duplicate members, and feeds the stages. While it
    /// watches, the chooser reads each chunk before the stages do.
    ///
    /// # Errors
    /// No branch applies, or a member that a test depends on is duplicated, even after the choice.
    fn choose(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<Option<u64>, Error> {
        let Some(choosing) = self.choosing.as_mut().filter(|choosing| choosing.watching) else {
            return self.feed(chunk, sink);
        };
        // The offset of the first byte of the chunk, because the chooser has read everything before it.
        let begin = choosing.ahead.offset();
        let watched = if self.chain.is_some() {
            choosing.ahead.watch(chunk)
        } else {
            let chosen = choosing.ahead.write(chunk, self.options.limits(), &mut self.meter)?;
            let Some(Decided { decision, at, held, read, later }) = chosen else {
                return Ok(None);
            };
            // Still before `take_branch`: the chooser reads the rest of the chunk, so that it is level with the
            // stages.
            // The chooser has read only a part of the chunk. The stages read all of it.
            let rest = chunk.get(read..).unwrap_or_default();
            let watched = later.and_then(|()| choosing.ahead.watch(rest));
            self.take_branch(decision, DocumentFacts::default())
                .map_err(|raise| Error::at(raise, at, String::new()))?;
            if self.pass == RunMode::FirstPass {
                return Ok(None);
            }
            // The held input comes before this chunk, which the stages read below.
            if let Some(stopped) = self.replay(held, sink, Self::feed)? {
                return Ok(Some(stopped));
            }
            watched
        };
        match watched {
            Ok(()) => self.feed(chunk, sink),
            // Errors before this one are reported first. The stages do not report this one: they accept duplicate
            // members, keys that are too long for the tests, and everything that a structural check accepts.
            Err(error)
                if matches!(error.kind(), ErrorKind::Duplicate | ErrorKind::Limit)
                    || self.program.compiled().spec.validation == Validation::Structure =>
            {
                // The stages write what comes before the error, so that the output does not depend on chunks.
                let upto = error.offset().unwrap_or(begin).saturating_sub(begin);
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

    /// Runs `step` with each piece of the held input until it stops. The stages may stop within it, and then the rest
    /// is discarded.
    fn replay(
        &mut self,
        held: HeldInput,
        sink: &mut dyn Sink,
        step: FeedStep,
    ) -> Result<Option<u64>, Error> {
        // The held input and the run charge the same meter, so it is taken out of the run for the time of the replay.
        let mut stopped = None;
        let mut meter = std::mem::take(&mut self.meter);
        let replayed = held.replay(&mut meter, |_, piece| {
            stopped = step(self, piece, sink)?;
            Ok(stopped.is_none())
        });
        self.meter.absorb(&meter);
        replayed.map(|()| stopped)
    }

    /// Returns the chunk without the bytes of a byte order mark.
    fn skip_bom<'a>(&mut self, chunk: &'a [u8]) -> Result<&'a [u8], Error> {
        let (document, settled) = self.bom.skip(chunk)?;
        self.consumed += (chunk.len() - document.len()) as u64;
        if let Some(prefix) = settled {
            // The step that reads the document first counts the mark in its offsets.
            self.prefix = prefix;
            if let Some(seeking) = &mut self.seeking {
                seeking.ahead.skip_prefix(prefix);
            }
            if let Some(choosing) = &mut self.choosing {
                choosing.ahead.skip_prefix(prefix);
            }
            if let Some(chain) = &mut self.chain {
                chain.skip_prefix(prefix);
            }
        }
        Ok(document)
    }

    /// Ends each step that is still undecided, then the stages. An undecided search for `extract` is an incomplete
    /// document, because the end of its container decides.
    fn complete(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        self.bom.end()?;
        if self.stopped {
            self.state = RunState::Ended;
            return Ok(());
        }
        if let Some(seeking) = self.seeking.as_mut().filter(|seeking| !seeking.done) {
            // The search is undecided, so the document is incomplete.
            return seeking.ahead.end().map(|_| ());
        }
        if self.chain.is_none()
            && let Some(choosing) = &mut self.choosing
        {
            // No branch was chosen yet: the end of the document decides, and the stages have read nothing.
            // A scalar ends with the document.
            if let Some(Decided { decision, at, held, .. }) = choosing.ahead.end()? {
                self.take_branch(decision, DocumentFacts::default())
                    .map_err(|raise| Error::at(raise, at, String::new()))?;
                if self.pass != RunMode::FirstPass {
                    _ = self.replay(held, sink, Self::feed)?;
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
        let seeking = self.seeking.as_ref().map_or(0, |seeking| seeking.ahead.steps());
        let choosing = self.choosing.as_ref().map_or(0, |choosing| choosing.ahead.steps());
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

    /// Returns the report with the plan and with suggestions for missed paths.
    pub(in crate::filter) fn report(&self) -> Report {
        let mut report = self.tally();
        // A path may be selected twice, under two keys.
        let mut known = HashSet::new();
        let missed = report.filter_partial_miss.iter().filter(|path| known.insert(path.as_str()));
        report.missed = missed.map(|path| MissedPath { path: path.clone(), meant: None }).collect();
        self.suggest(&mut report.missed);
        report.plan = self.plan();
        report
    }

    /// Returns the plan of the branch that was chosen, or that of the program.
    pub(super) fn plan(&self) -> Vec<String> {
        let after = self.chain.as_ref().and_then(StageChain::after_strings);
        let mut plan = match (&self.branch, after) {
            (None, Some(rest)) => self.program.plan_of_strings(&rest.plan()),
            (None, None) => self.program.plan_with(&self.options),
            (Some((_, program)), _) => self.program.plan_of_branch(program, &self.options),
        };
        if self.seeking.as_ref().is_some_and(|seeking| seeking.done) {
            // Whether or not the value was found.
            plan.retain(|line| !line.starts_with("extract"));
            plan.insert(0, EXTRACT_SEARCH.to_owned());
        }
        plan
    }

    /// Returns the report without the plan.
    pub(in crate::filter) fn tally(&self) -> Report {
        // A final newline is not part of the document, so its byte does not count.
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
            // An output stage has replaced the size, so the size of the actual output is reported, too.
            let same = report.filter_result_bytes == self.written;
            report.output_bytes = (!same).then_some(self.written);
        }
        redact_report(&self.program, &mut report);
        report
    }
}
