//! One run: everything before the stages (byte order mark, search for `extract`, choice of a branch), and error handling.
//!
//! ```text
//!           found or missing          certain          branch certain          no duplicate can follow
//! Extract ───────────────▶ Shape ────────────▶ Branch ─────────────▶ Watched ─────────────────────────▶ Running
//!                                                                      └────────── stop_early ─────────┴─▶ Stopped
//! ```
//!
//! | phase | who reads the input |
//! |---|---|
//! | `Extract` | the search for a value at `extract` that may be missing: a [`Lookahead`](super::lookahead) |
//! | `Shape` | the search for the paths of `requires`: another one |
//! | `Branch` | the choice of a branch of `when`: another one |
//! | `Watched` | the stages, and before them the chooser, which looks for duplicate members |
//! | `Running` | the stages: a [`Pipe`] |
//! | `Stopped` | nothing: the rest of the input does not matter |
//!
//! A run begins with the first phase that its program needs. A phase passes the held input, then the rest of the chunk, to
//! the next one. Before the first phase, a factored document is restored (`restoring.rs`). `Ended` and `Failed` refuse further calls with an error.
//!
//! **Errors.** Output that precedes an error is written before the error is returned. Neither of them depends on how
//! the input is divided into chunks.

mod inner;
mod report;
mod restoring;

use tamis_json::bom::BomSkipper;
use tamis_json::error::{Error, ErrorKind, Raise};
use tamis_json::limits::Meter;
use tamis_json::sink::Sink;

use super::build::build_pipe;
use super::choose::BranchChoice;
use super::document_facts::DocumentFacts;
use super::extract_search::ExtractSearch;
use super::lookahead::{Decided, HeldInput, Input};
use super::pipe::{InnerRun, Pipe};
use super::redact_error::redacted_error;
use super::run_mode::RunMode;
use super::shape_search::ShapeSearch;
use crate::filter::compile::call::Skips;
use crate::filter::compile::nested::When;
use crate::filter::compile::program::Program;
use crate::filter::options::CallOptions;
use crate::report::{FailureReport, WhenBranch};
use crate::spec::Validation;
use restoring::FactoredInput;

/// A run over one document, or over one document after another ([`restart`](FilterRun::restart)).
#[derive(Debug)]
pub(in crate::filter) struct FilterRun {
    /// The program for this call, without the rules that the call skips.
    program: Program,
    options: CallOptions,
    /// `Slice` becomes `Stream` if the search for `extract` has to hold the input.
    mode: RunMode,
    phase: RunPhase,
    /// The facts from before the run. Nothing is held for them.
    facts: DocumentFacts,
    /// The input while it may be a factored document, which is restored before anything reads it.
    restoring: Option<FactoredInput>,
    /// The document passes unchanged, because it could not be restored. The value of `applies` before that.
    passes: Option<bool>,
    // These three are rare and large, so they have a place of their own.
    /// Present if the document may lack the value at `extract`.
    seeking: Option<Box<ExtractSearch>>,
    /// Present if the rules are for documents of a certain shape.
    shaping: Option<Box<ShapeSearch>>,
    /// Present if the program has branches.
    choosing: Option<Box<BranchChoice>>,
    /// The chosen branch and its program.
    branch: Option<(WhenBranch, Program)>,
    /// The stages of the program, or of the chosen branch.
    pipe: Option<Pipe>,
    /// Bytes held for decisions: now, and at most.
    meter: Meter,
    /// Removes a byte order mark before any other step.
    bom: BomSkipper,
    /// Bytes before the document: those of the byte order mark.
    prefix: u64,
    /// Bytes read, up to the offset at which the run stopped.
    consumed: u64,
    /// The last byte read, unless the run stopped before it.
    last: u8,
    /// The rules that the call skips.
    skips: Option<Skips>,
    /// The program has rules that apply.
    applies: bool,
    /// The error of the run, for the report.
    failure: Option<FailureReport>,
}

/// The part of a run that reads the next bytes; see the table at the top of this file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunPhase {
    Extract,
    Shape,
    Branch,
    Watched,
    Running,
    Stopped,
    Ended,
    Failed,
}

/// Returns the handling of a byte order mark: JSON documents skip it, text decoders handle it themselves.
fn bom_of(program: &Program) -> BomSkipper {
    if program.is_text() { BomSkipper::settled() } else { BomSkipper::new() }
}

/// Creates a run over a stream, inside another run.
fn new_inner(program: &Program, options: &CallOptions) -> Box<dyn InnerRun> {
    Box::new(FilterRun::new(program, options, DocumentFacts::default(), RunMode::Stream))
}

impl FilterRun {
    /// `facts` come from first passes over the same document. The rules that the call skips are removed from the
    /// program here, once, so that no later step has to consider them.
    pub(in crate::filter) fn new(
        program: &Program,
        options: &CallOptions,
        facts: DocumentFacts,
        mode: RunMode,
    ) -> Self {
        let skips = options.skips(program.compiled());
        let program = program.for_call(skips);
        let options = options.of_rest(skips);
        let seeking = ExtractSearch::new(program, &options).map(Box::new);
        // The bytes held for these searches cannot be read again.
        let holds = seeking.is_some() || program.compiled().requires.is_some();
        let mode = if holds && mode == RunMode::Slice { RunMode::Stream } else { mode };
        let raw = matches!(skips, Some(Skips::Raw | Skips::RawOfFailed));
        let mut run = Self {
            program: program.clone(),
            mode,
            phase: RunPhase::Extract,
            facts,
            shaping: None,
            choosing: None,
            branch: None,
            pipe: None,
            meter: Meter::default(),
            bom: bom_of(program),
            prefix: 0,
            consumed: 0,
            last: 0,
            skips,
            applies: !raw && program.compiled().spec.has_rules(),
            failure: None,
            restoring: FactoredInput::of(program, &options),
            passes: None,
            options,
            seeking,
        };
        if run.seeking.is_none() {
            run.begin();
        }
        run
    }

    /// Starts the search for a shape, or what follows it. The phases after the search for `extract` begin here: at once, or
    /// when that search is done.
    fn begin(&mut self) {
        let compiled = self.program.compiled();
        // If strings are filtered first, the run after them searches and chooses.
        if compiled.json_strings.is_some() {
            return self.begin_pipe();
        }
        let Some(requires) = &compiled.requires else { return self.begin_choice() };
        let first = self.shaping.as_ref().map_or(&self.program, |earlier| &earlier.first);
        let search = ShapeSearch::new(first, &self.program, requires, &self.options, self.prefix);
        self.shaping = Some(Box::new(search));
        self.phase = RunPhase::Shape;
    }

    /// Starts the choice of a branch, or creates the stages if there is none.
    fn begin_choice(&mut self) {
        let compiled = self.program.compiled();
        if compiled.when.is_none() {
            return self.begin_pipe();
        }
        // A first pass holds nothing, and neither does a run whose branch is known.
        let again = self.mode == RunMode::FirstPass || self.facts.branch.is_some();
        let input = if again { Input::Again } else { Input::once() };
        let mut choosing = BranchChoice::new(compiled, &self.options, input);
        choosing.ahead.skip_prefix(self.prefix);
        self.choosing = Some(Box::new(choosing));
        self.phase = RunPhase::Branch;
        if let Some(branch) = self.facts.branch {
            // If no branch applies, the error is returned when the choice is made.
            _ = self.take_branch(branch);
        }
    }

    /// Creates the stages of the program that applies. Called when the program is certain. If every document has the
    /// same program, later documents reuse the stages.
    fn begin_pipe(&mut self) {
        let program = self.branch.as_ref().map_or(&self.program, |(_, program)| program);
        let mut pipe = build_pipe(program, &self.options, self.facts.payload, new_inner);
        if let Some(first) = pipe.first_mut() {
            // A slice is not held any more once its payload is known.
            let never_holds = match self.mode {
                RunMode::Stream => false,
                RunMode::Slice => !first.is_looking(),
                RunMode::FirstPass => first.is_looking(),
            };
            if never_holds {
                first.never_hold();
            }
            first.skip_prefix(self.prefix);
        }
        self.pipe = Some(pipe);
        let watched = self.choosing.is_some();
        self.phase = if watched { RunPhase::Watched } else { RunPhase::Running };
    }

    /// Starts the stages of a branch.
    ///
    /// # Errors
    /// Fails if the branch is an error.
    fn take_branch(&mut self, branch: WhenBranch) -> Result<(), Raise> {
        let when = self.program.compiled().when.as_ref();
        let Some(program) = when.and_then(|when| branch.program(when)) else {
            return Err(When::none_holds());
        };
        self.branch = Some((branch, program.clone()));
        self.begin_pipe();
        Ok(())
    }

    /// Begins a new document and reuses the allocations. Facts of the earlier document are forgotten: a branch or a
    /// payload is searched for again.
    pub(in crate::filter) fn restart(&mut self) {
        self.facts = DocumentFacts::default();
        if let Some(seeking) = &mut self.seeking {
            seeking.restart(&self.options);
            self.program = seeking.program.clone();
            (self.shaping, self.choosing, self.pipe, self.branch) = (None, None, None, None);
            self.phase = RunPhase::Extract;
        } else if let Some(later) = self.shaping.take_if(|shaping| shaping.is_later()) {
            self.program = later.first;
            (self.choosing, self.pipe, self.branch, self.prefix) = (None, None, None, 0);
            self.begin();
        } else if let Some(shaping) = &mut self.shaping {
            shaping.restart(&self.options);
            self.program = shaping.program.clone();
            (self.choosing, self.pipe, self.branch) = (None, None, None);
            self.phase = RunPhase::Shape;
        } else if let Some(choosing) = &mut self.choosing {
            choosing.restart(self.program.compiled(), &self.options);
            (self.pipe, self.branch) = (None, None);
            self.phase = RunPhase::Branch;
        } else {
            self.phase = RunPhase::Running;
        }
        if let Some(pipe) = &mut self.pipe {
            pipe.restart();
        }
        self.meter = Meter::default();
        self.bom = bom_of(&self.program);
        self.restoring = FactoredInput::of(&self.program, &self.options);
        if let Some(applies) = self.passes.take() {
            self.applies = applies;
            if self.seeking.is_none() {
                self.begin();
            }
        }
        (self.prefix, self.consumed, self.last) = (0, 0, 0);
        self.failure = None;
    }

    /// Returns whether further input is ignored.
    pub(in crate::filter) fn is_done(&self) -> bool {
        matches!(self.phase, RunPhase::Stopped | RunPhase::Ended)
    }

    /// Makes the run fail with an error of its driver.
    pub(in crate::filter) fn fail(&mut self, error: &Error) {
        self.phase = RunPhase::Failed;
        self.failure.get_or_insert_with(|| FailureReport::from(error));
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
        self.check_open()?;
        if self.phase == RunPhase::Stopped {
            return Ok(());
        }
        let read = self.skip_bom(chunk).and_then(|document| {
            let read = self.read_input(document, sink);
            if let Some(last) = chunk.last() {
                self.last = *last;
            }
            Ok((document.len(), read?))
        });
        match read {
            Ok((length, None)) => self.consumed += length as u64,
            Ok((_, Some(offset))) => {
                (self.consumed, self.last) = (offset, 0);
                self.phase = RunPhase::Stopped;
            }
            // The report takes the offset of the error instead of `consumed`, if it has one.
            Err(error) => return Err(self.failed(error)),
        }
        Ok(())
    }

    /// Ends the document.
    ///
    /// # Errors
    /// The document is incomplete, a decision or a rule fails at its end, or the run has failed before.
    pub(in crate::filter) fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        self.check_open()?;
        self.end_input(sink).map_err(|error| self.failed(error))?;
        self.complete(sink).map_err(|error| self.failed(error))?;
        self.phase = RunPhase::Ended;
        Ok(())
    }

    /// Refuses a call after the end, or after an error.
    #[inline(always)]
    fn check_open(&self) -> Result<(), Error> {
        match self.phase {
            RunPhase::Failed | RunPhase::Ended => Err(self.not_open()),
            _ => Ok(()),
        }
    }

    #[cold]
    fn not_open(&self) -> Error {
        let message = match self.phase {
            RunPhase::Failed => "the filter has already failed",
            _ => "the filter has ended",
        };
        Error::new(ErrorKind::Failed, message)
    }

    /// Keeps an error for the report, and returns it as the caller may see it.
    fn failed(&mut self, error: Error) -> Error {
        let error = redacted_error(&self.program, error);
        self.phase = RunPhase::Failed;
        self.failure = Some(FailureReport::from(&error));
        error
    }

    /// Reads bytes of the document in the current phase. Returns the offset at which the stages stopped, if they did.
    #[inline]
    fn read(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Result<Option<u64>, Error> {
        match self.phase {
            RunPhase::Extract => self.seek(bytes, sink),
            RunPhase::Shape => self.search_shape(bytes, sink),
            RunPhase::Branch => self.choose(bytes, sink),
            RunPhase::Watched => self.watch(bytes, sink),
            RunPhase::Running => self.feed(bytes, sink),
            RunPhase::Stopped | RunPhase::Ended | RunPhase::Failed => Ok(None),
        }
    }

    /// Searches for the value at `extract`. While the search is undecided, the chunk is held.
    fn seek(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<Option<u64>, Error> {
        let Some(seeking) = &mut self.seeking else { return Ok(None) };
        let found = seeking.ahead.write(chunk, self.options.limits(), &mut self.meter)?;
        let Some(Decided { decision: there, held, .. }) = found else { return Ok(None) };
        // Without the value at `extract`, the rules apply to the whole document.
        if !there {
            self.program = seeking.program.unextracted().clone();
        }
        self.facts = DocumentFacts::default();
        self.begin();
        match self.replay(held, sink, Self::read)? {
            Some(stopped) => Ok(Some(stopped)),
            None => self.read(chunk, sink),
        }
    }

    /// Searches for the paths of `requires`. While the search is undecided, the chunk is held.
    ///
    /// # Errors
    /// The document is of another shape, and a rule removes for safety.
    fn search_shape(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<Option<u64>, Error> {
        let Some(shaping) = &mut self.shaping else { return Ok(None) };
        let found = shaping.ahead.write(chunk, self.options.limits(), &mut self.meter)?;
        let Some(Decided { decision: fits, at, held, .. }) = found else { return Ok(None) };
        self.take_shape(fits).map_err(|raise| Error::at(raise, at, String::new()))?;
        match self.replay(held, sink, Self::read)? {
            Some(stopped) => Ok(Some(stopped)),
            None => self.read(chunk, sink),
        }
    }

    /// Begins the program for a document that has the required shape, or has another one.
    fn take_shape(&mut self, fits: bool) -> Result<(), Raise> {
        let Some(shaping) = &self.shaping else { return Ok(()) };
        self.program = shaping.program_for(fits)?.clone();
        match fits {
            true => self.begin_choice(),
            // It may be for another shape.
            false => self.begin(),
        }
        Ok(())
    }

    /// Looks for the branch. While it is undecided, the chunk is held.
    ///
    /// # Errors
    /// No branch applies, or a member that a test depends on is duplicated.
    fn choose(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<Option<u64>, Error> {
        let Some(choosing) = &mut self.choosing else { return Ok(None) };
        // The offset of the first byte of the chunk, because the chooser has read everything before it.
        let begin = choosing.ahead.offset();
        let chosen = choosing.ahead.write(chunk, self.options.limits(), &mut self.meter)?;
        let Some(Decided { decision, at, held, read, later }) = chosen else { return Ok(None) };
        // The chooser has read only a part of the chunk. It reads the rest, so that it is level with the stages, which
        // read all of it.
        let rest = chunk.get(read..).unwrap_or_default();
        let watched = later.and_then(|()| choosing.ahead.watch(rest));
        self.take_branch(decision).map_err(|raise| Error::at(raise, at, String::new()))?;
        if self.mode == RunMode::FirstPass {
            return Ok(None);
        }
        // The held input comes before this chunk.
        match self.replay(held, sink, Self::feed)? {
            Some(stopped) => Ok(Some(stopped)),
            None => self.feed_watched(chunk, begin, watched, sink),
        }
    }

    /// Feeds the stages, and looks for duplicate members on the paths of tests before.
    ///
    /// # Errors
    /// A member that a test depends on is duplicated.
    fn watch(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<Option<u64>, Error> {
        let Some(choosing) = &mut self.choosing else { return Ok(None) };
        let begin = choosing.ahead.offset();
        let watched = choosing.ahead.watch(chunk);
        self.feed_watched(chunk, begin, watched, sink)
    }

    /// Feeds the stages a chunk that the chooser has read. `begin`: the offset of its first byte.
    fn feed_watched(
        &mut self,
        chunk: &[u8],
        begin: u64,
        watched: Result<(), Error>,
        sink: &mut dyn Sink,
    ) -> Result<Option<u64>, Error> {
        let Err(error) = watched else { return self.feed(chunk, sink) };
        // Errors before this one are reported first. The stages do not report this one: they accept duplicate members,
        // keys that are too long for the tests, and everything that a structural check accepts.
        if matches!(error.kind(), ErrorKind::Duplicate | ErrorKind::Limit)
            || self.program.compiled().spec.validation == Validation::Structure
        {
            // The stages write what comes before the error, so that the output does not depend on chunks.
            let upto = error.offset().unwrap_or(begin).saturating_sub(begin);
            let upto = usize::try_from(upto).unwrap_or(usize::MAX);
            let stopped = self.feed(chunk.get(..upto).unwrap_or(chunk), sink)?;
            return stopped.map_or(Err(error), |stopped| Ok(Some(stopped)));
        }
        // The stages find all other errors themselves.
        self.phase = RunPhase::Running;
        self.feed(chunk, sink)
    }

    /// Feeds the stages. Returns the offset at which they stopped, if they did.
    #[inline]
    fn feed(&mut self, document: &[u8], sink: &mut dyn Sink) -> Result<Option<u64>, Error> {
        match &mut self.pipe {
            Some(pipe) => pipe.write(document, &mut self.meter, sink),
            None => Ok(None),
        }
    }

    /// Runs `step` with each piece of the held input until it stops. The stages may stop within it, and then the rest
    /// is discarded.
    fn replay(
        &mut self,
        held: HeldInput,
        sink: &mut dyn Sink,
        mut step: impl FnMut(&mut Self, &[u8], &mut dyn Sink) -> Result<Option<u64>, Error>,
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
    #[inline]
    fn skip_bom<'a>(&mut self, chunk: &'a [u8]) -> Result<&'a [u8], Error> {
        let (document, settled) = self.bom.skip(chunk)?;
        self.consumed += (chunk.len() - document.len()) as u64;
        if let Some(prefix) = settled {
            // The first reader of the document counts the mark in its offsets.
            self.prefix = prefix;
            if let Some(seeking) = &mut self.seeking {
                seeking.ahead.skip_prefix(prefix);
            }
            if let Some(shaping) = &mut self.shaping {
                shaping.ahead.skip_prefix(prefix);
            }
            if let Some(choosing) = &mut self.choosing {
                choosing.ahead.skip_prefix(prefix);
            }
            if let Some(first) = self.pipe.as_mut().and_then(Pipe::first_mut) {
                first.skip_prefix(prefix);
            }
        }
        Ok(document)
    }

    /// Ends the phase that is still undecided, then the stages.
    fn complete(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        self.bom.end()?;
        match self.phase {
            RunPhase::Stopped => return Ok(()),
            RunPhase::Extract => {
                // The end of a container decides, so the document is incomplete.
                return self
                    .seeking
                    .as_mut()
                    .map_or(Ok(()), |seeking| seeking.ahead.end().map(|_| ()));
            }
            RunPhase::Shape => self.end_shape(sink)?,
            RunPhase::Branch => self.end_choice(sink)?,
            _ => {}
        }
        // A first pass for the branch has not fed the stages.
        let chooses = self.mode == RunMode::FirstPass
            && self.choosing.is_some()
            && self.facts.branch.is_none();
        match &mut self.pipe {
            Some(pipe) if !chooses => pipe.end(&mut self.meter, sink),
            _ => Ok(()),
        }
    }

    /// Ends the search for a shape: the document is a scalar, which ends with the input, or incomplete.
    fn end_shape(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        while self.phase == RunPhase::Shape
            && let Some(shaping) = &mut self.shaping
        {
            let Some(Decided { decision, at, held, .. }) = shaping.ahead.end()? else {
                return Ok(());
            };
            self.take_shape(decision).map_err(|raise| Error::at(raise, at, String::new()))?;
            self.replay(held, sink, Self::read)?;
        }
        if self.phase == RunPhase::Branch { self.end_choice(sink) } else { Ok(()) }
    }

    /// Ends the choice of a branch: the stages have read nothing, and the end of the document decides. A scalar ends with
    /// the document.
    fn end_choice(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let Some(choosing) = &mut self.choosing else { return Ok(()) };
        let Some(Decided { decision, at, held, .. }) = choosing.ahead.end()? else { return Ok(()) };
        self.take_branch(decision).map_err(|raise| Error::at(raise, at, String::new()))?;
        if self.mode != RunMode::FirstPass {
            self.replay(held, sink, Self::feed)?;
        }
        Ok(())
    }
}
