//! One run: what comes before the stages (a byte order mark, the search for what is extracted, the choice of a branch), what a failure leaves, and the report.

use std::collections::HashSet;
use std::sync::Arc;

use super::chain::Chain;
use super::choose::Chooser;
use super::hold::Hold;
use super::items::SHOWN;
use super::options::{CallOptions, Skips};
use super::program::{Compiled, Program};
use super::scout::Ahead;
use super::seek::Seeking;
use super::stage::{Engine, config, failed};
use super::when::{Branch, When};
use crate::error::{Error, ErrorKind, Raise};
use crate::json::bom::BomSkipper;
use crate::limits::Meter;
use crate::nearest::ComparisonBudget;
use crate::report::{FailureReport, MissedPath, Report};
use crate::sink::Sink;
use crate::spec::Validation;

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// The output, of a document that comes as a stream.
    Stream,
    /// The output, of a document in one chunk, which is there to be read again.
    Whole,
    /// To find out what a run over the document would have to wait for.
    Ahead,
}

#[derive(Debug)]
pub(super) struct Core {
    program: Program,
    options: CallOptions,
    pass: Pass,
    /// There if the document need not have what is extracted.
    seeking: Option<Seeking>,
    /// There if the program has branches.
    choosing: Option<Choosing>,
    /// The branch was known before: nothing waits for it.
    known: bool,
    /// The stages of the program, or of the branch that was chosen.
    chain: Option<Chain>,
    /// The program of the branch.
    branch: Option<(Branch, Program)>,
    meter: Meter,
    bom: BomSkipper,
    /// Bytes in front of the document.
    prefix: u64,
    written: u64,
    /// Bytes that were read.
    consumed: u64,
    /// The byte that was read last.
    last: u8,
    /// Nothing more is read.
    stopped: bool,
    state: State,
    skips: Option<Skips>,
    /// The program has rules.
    applies: bool,
    failure: Option<FailureReport>,
}

/// The choice of a branch, and what follows from it.
#[derive(Debug)]
struct Choosing {
    engine: Engine,
    chooser: Chooser,
    /// The document, until the choice.
    hold: Hold,
    /// The document is watched: for the choice, then for members that come twice.
    watching: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Ended,
    Failed,
}

/// Takes a piece of the document. Returns where the stages stopped, if they did.
type Step = fn(&mut Core, &[u8], &mut dyn Sink) -> Result<Option<u64>, Error>;

/// Of JSON the mark is skipped; any other text has its own way with it.
fn bom_of(program: &Program) -> BomSkipper {
    if program.is_text() { BomSkipper::settled() } else { BomSkipper::new() }
}

impl Core {
    pub(super) fn new(program: &Program, options: &CallOptions, ahead: Ahead, pass: Pass) -> Self {
        let skips = options.skips(program.compiled());
        let program = program.for_call(skips);
        let options = options.of_rest(skips);
        let seeking = Seeking::new(program, &options);
        // What waited for the search is not there to be read again.
        let pass = if seeking.is_some() && pass == Pass::Whole { Pass::Stream } else { pass };
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
            state: State::Running,
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

    /// Begins to choose a branch, or makes the stages.
    fn begin(&mut self, ahead: Ahead) {
        let compiled = self.program.compiled();
        if compiled.when.is_none() {
            return self.begin_chain(ahead);
        }
        let mut choosing = Choosing::new(compiled, &self.options);
        choosing.engine.machine.skip_prefix(self.prefix);
        self.choosing = Some(choosing);
        if let Some(branch) = ahead.branch {
            // An error, if it is one, is met where the choice is.
            _ = self.take_branch(branch, ahead);
        }
    }

    /// Makes the stages of the program that applies.
    fn begin_chain(&mut self, ahead: Ahead) {
        let program = self.branch.as_ref().map_or(&self.program, |(_, program)| program);
        let mut chain = Chain::new(program, &self.options, ahead.payload);
        if let Some(items) = chain.first_items() {
            let never_holds = match self.pass {
                Pass::Stream => false,
                Pass::Whole => !items.is_looking(),
                Pass::Ahead => items.is_looking(),
            };
            if never_holds {
                items.never_hold();
            }
        }
        chain.skip_prefix(self.prefix);
        self.chain = Some(chain);
    }

    /// A branch applies.
    ///
    /// # Errors
    /// That none does is one.
    fn take_branch(&mut self, branch: Branch, ahead: Ahead) -> Result<(), Raise> {
        let when = self.program.compiled().when.as_ref();
        let Some(program) = when.and_then(|when| branch.program(when)) else {
            return Err(When::none_holds());
        };
        self.branch = Some((branch, program.clone()));
        self.begin_chain(ahead);
        Ok(())
    }

    pub(super) fn restart(&mut self) {
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
        self.state = State::Running;
        self.failure = None;
    }

    pub(super) fn is_done(&self) -> bool {
        self.stopped || self.state == State::Ended
    }

    /// Makes an error the run's own.
    pub(super) fn fail(&mut self, error: &Error) {
        self.state = State::Failed;
        self.failure.get_or_insert_with(|| FailureReport::from(error));
    }

    /// Whether there is something to find out ahead of a run, beyond what is known.
    pub(super) fn looks_beyond(&self, ahead: Ahead) -> bool {
        match &self.chain {
            Some(chain) => chain.looks_first(),
            // Of a document for which no branch holds nothing else is to be known.
            None => self.choosing.is_some() && ahead.branch.is_none(),
        }
    }

    /// What was found out.
    pub(super) fn found(&self) -> Ahead {
        let items = self.chain.as_ref().and_then(Chain::items);
        let choice = self.choosing.as_ref().and_then(|choosing| choosing.chooser.choice());
        Ahead {
            // What is still to be found is the branch's.
            branch: choice.filter(|_| !self.known).map(|(branch, _)| branch),
            payload: items.and_then(|items| items.decided()),
        }
    }

    /// Takes the next bytes of the document.
    pub(super) fn write(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        self.guard(|core, sink| core.take(chunk, sink), sink)
    }

    /// The document is complete.
    pub(super) fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        self.guard(Self::complete, sink)
    }

    /// Runs `step`; what fails stays failed.
    fn guard(
        &mut self,
        step: impl FnOnce(&mut Self, &mut dyn Sink) -> Result<(), Error>,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        match self.state {
            State::Failed => {
                return Err(Error::new(
                    ErrorKind::Failed,
                    "the filter failed before, and stays failed",
                ));
            }
            State::Ended => {
                return Err(Error::new(ErrorKind::Failed, "the filter has ended"));
            }
            State::Running => {}
        }
        let mut counted = Counted { sink, bytes: 0 };
        let result = step(self, &mut counted);
        self.written += counted.bytes;
        if let Err(error) = &result {
            self.state = State::Failed;
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

    /// Looks for what is extracted, where that need not be there, and goes on.
    fn seek(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<Option<u64>, Error> {
        let Some(seeking) = self.seeking.as_mut().filter(|seeking| !seeking.done) else {
            return self.choose_or_feed(chunk, sink);
        };
        let fed = seeking.watch(chunk);
        let failed_at = fed.as_ref().err().and_then(Error::offset);
        let at = seeking.found().map(|(_, at)| at).or(failed_at);
        let at = at.unwrap_or(seeking.engine.machine.offset());
        let limits = self.options.limits_ref();
        if at - self.prefix > Hold::capacity(limits) {
            return Err(Hold::place(limits, Hold::overflow(limits)));
        }
        let Some((there, _)) = seeking.found() else {
            fed?;
            let pushed = seeking.hold.push(chunk, limits, &mut self.meter);
            pushed.map_err(|raise| seeking.engine.machine.place(raise))?;
            return Ok(None);
        };
        // What is wrong after that is met again.
        seeking.done = true;
        let hold = std::mem::take(&mut seeking.hold);
        if !there {
            self.program = seeking.program.unextracted().clone();
        }
        self.begin(Ahead::default());
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

    /// Feeds the stages. Tells where they stopped, if they did.
    fn feed(&mut self, document: &[u8], sink: &mut dyn Sink) -> Result<Option<u64>, Error> {
        match &mut self.chain {
            Some(chain) => chain.write(document, &mut self.meter, sink),
            None => Ok(None),
        }
    }

    /// Looks for the branch, or at what else the document has that a branch depends on, and feeds the stages.
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
            let limits = self.options.limits_ref();
            let holds = self.pass != Pass::Ahead && !self.known;
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
            self.take_branch(branch, Ahead::default())
                .map_err(|raise| Error::at(raise, at, String::new()))?;
            if self.pass == Pass::Ahead {
                return Ok(None);
            }
            if let Some(stopped) = self.replay(hold, sink, Self::feed)? {
                return Ok(Some(stopped));
            }
        }
        match fed {
            Ok(()) => self.feed(chunk, sink),
            // What is wrong in front of it comes first. Nothing else would tell that a member may have come twice: a key that
            // is too long for the tests, or what a structural check passes, is no matter to the stages.
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
            // The stages meet all else.
            Err(_) => {
                if let Some(choosing) = &mut self.choosing {
                    choosing.watching = false;
                }
                self.feed(chunk, sink)
            }
        }
    }

    /// Does `step` with each piece of what waited, until it stops.
    fn replay(
        &mut self,
        mut hold: Hold,
        sink: &mut dyn Sink,
        step: Step,
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

    /// The chunk without what belongs to a byte order mark.
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
            self.state = State::Ended;
            return Ok(());
        }
        if let Some(seeking) = self.seeking.as_mut().filter(|seeking| !seeking.done) {
            // Undecided, so it cannot be complete.
            return seeking.end();
        }
        if self.chain.is_none()
            && let Some(choosing) = &mut self.choosing
        {
            choosing.end()?;
            // The end of a scalar is known by the end of the document.
            if let Some((branch, at)) = choosing.chooser.choice() {
                let hold = std::mem::take(&mut choosing.hold);
                self.take_branch(branch, Ahead::default())
                    .map_err(|raise| Error::at(raise, at, String::new()))?;
                if self.pass != Pass::Ahead {
                    _ = self.replay(hold, sink, Self::feed)?;
                }
            }
        }
        // What was looked for is the branch: its stages have read nothing.
        let chooses = self.pass == Pass::Ahead && self.choosing.is_some() && !self.known;
        if let Some(chain) = self.chain.as_mut().filter(|_| !chooses) {
            chain.end(&mut self.meter, sink)?;
        }
        self.state = State::Ended;
        Ok(())
    }

    /// Steps of all machines.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        let seeking = self.seeking.as_ref().map_or(0, |seeking| seeking.engine.steps());
        let choosing = self.choosing.as_ref().map_or(0, |choosing| choosing.engine.steps());
        seeking + choosing + self.chain.as_ref().map_or(0, Chain::steps)
    }

    /// Steps of the stages behind the items, and bytes that were looked at to cut strings.
    #[cfg(test)]
    pub(super) fn tail_steps(&self) -> (u64, u64) {
        let items = self.chain.as_ref().and_then(Chain::items);
        items.map_or((0, 0), |items| items.tail_steps())
    }

    /// Says what was probably meant by the first selected paths that were not found: no message names more of them.
    pub(super) fn suggest(&self, missed: &mut [MissedPath]) {
        let Some(items) = self.chain.as_ref().and_then(Chain::items) else { return };
        let mut pairs = ComparisonBudget::default();
        for one in missed.iter_mut().take(SHOWN) {
            one.meant = items.meant(&one.path, &mut pairs);
        }
    }

    pub(super) fn report(&self) -> Report {
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
            // However it ended.
            report.plan.retain(|line| !line.starts_with("extract"));
            report.plan.insert(0, Seeking::PLAN.to_owned());
        }
        report
    }

    /// The report without the plan.
    pub(super) fn tally(&self) -> Report {
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

impl Choosing {
    fn new(program: &Arc<Compiled>, options: &CallOptions) -> Self {
        let limits = options.limits_ref();
        Self {
            engine: Engine::new(config(&program.spec, limits, false), options.scanner()),
            chooser: Chooser::new(program, limits),
            hold: Hold::default(),
            watching: true,
        }
    }

    fn restart(&mut self, program: &Arc<Compiled>, options: &CallOptions) {
        self.engine.restart(config(&program.spec, options.limits_ref(), false));
        self.chooser.restart();
        self.hold = Hold::default();
        self.watching = true;
    }

    fn watch(&mut self, chunk: &[u8]) -> Result<(), Error> {
        let Self { engine, chooser, .. } = self;
        let fed = engine.feed(chooser, chunk, &mut Vec::new());
        fed.map(|_| ()).map_err(|failure| failed(failure, &engine.machine))
    }

    fn end(&mut self) -> Result<(), Error> {
        let Self { engine, chooser, .. } = self;
        let ended = engine.end(chooser, &mut Vec::new());
        ended.map_err(|failure| failed(failure, &engine.machine))
    }
}

/// Counts what is written.
struct Counted<'a> {
    sink: &'a mut dyn Sink,
    bytes: u64,
}

impl Sink for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.sink.write(bytes);
    }

    fn is_closed(&self) -> bool {
        self.sink.is_closed()
    }
}
