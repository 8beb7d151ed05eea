//! One run: what comes before the stages (a byte order mark, the choice of a branch), what a failure leaves, and the report.

use std::sync::Arc;

use super::chain::Chain;
use super::choose::Chooser;
use super::explain::BUDGET;
use super::hold::Hold;
use super::options::CallOptions;
use super::program::{Compiled, Program};
use super::scout::Ahead;
use super::stage::{Engine, config, failed};
use super::when::{Branch, When};
use crate::error::{Error, ErrorKind, Raise};
use crate::json::bom::Bom;
use crate::limits::Meter;
use crate::report::{Failed, Report};
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
    /// There if the program has branches.
    choosing: Option<Choosing>,
    /// The branch was known before: nothing waits for it.
    known: bool,
    /// The stages of the program, or of the branch that was chosen.
    chain: Option<Chain>,
    /// The program of the branch.
    branch: Option<(Branch, Program)>,
    meter: Meter,
    bom: Bom,
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
    skipped: Option<&'static str>,
    failure: Option<Failed>,
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

/// Of JSON the mark is skipped; any other text has its own way with it.
fn bom_of(program: &Program) -> Bom {
    if program.is_text() { Bom::settled() } else { Bom::new() }
}

impl Core {
    pub(super) fn new(program: &Program, options: &CallOptions, ahead: Ahead, pass: Pass) -> Self {
        let compiled = program.compiled();
        let skipped = options.skips(compiled);
        let choosing = (skipped.is_none() && compiled.when.is_some())
            .then(|| Choosing::new(compiled, options));
        let mut core = Self {
            program: program.clone(),
            options: options.clone(),
            pass,
            choosing,
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
            skipped,
            failure: None,
        };
        match (&core.choosing, ahead.branch) {
            (None, _) => core.begin_chain(ahead),
            (Some(_), Some(branch)) => {
                // An error, if it is one, is met where the choice is.
                _ = core.take_branch(branch, ahead);
            }
            (Some(_), None) => {}
        }
        core
    }

    /// Makes the stages of the program that applies.
    fn begin_chain(&mut self, ahead: Ahead) {
        let program = self.branch.as_ref().map_or(&self.program, |(_, program)| program);
        let skipped = self.skipped.is_some();
        // Of an answer that is no error, what is extracted is the document also where it is wanted raw. What holds for the
        // program holds for its branches, which by themselves may not have the rule that forbids it.
        let extracts = self.skipped != Some("error_response");
        let mut chain = Chain::new(program, &self.options, skipped, extracts, ahead.payload);
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
        if let Some(choosing) = &mut self.choosing {
            choosing.restart(self.program.compiled(), &self.options);
            (self.known, self.chain, self.branch) = (false, None, None);
        }
        if let Some(chain) = &mut self.chain {
            let program = self.branch.as_ref().map_or(&self.program, |(_, program)| program);
            chain.restart(program);
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
        self.failure.get_or_insert_with(|| Failed::from(error));
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
            self.failure = Some(Failed::from(error));
        }
        result
    }

    fn take(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        if self.stopped {
            return Ok(());
        }
        let document = self.skip_bom(chunk)?;
        let fed = match &self.choosing {
            None => self.feed(document, sink),
            Some(_) => self.choose(document, sink),
        };
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
            if let Some(stopped) = self.replay(hold, sink)? {
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

    /// Feeds the stages what waited.
    fn replay(&mut self, mut hold: Hold, sink: &mut dyn Sink) -> Result<Option<u64>, Error> {
        let mut stopped = None;
        let mut meter = std::mem::take(&mut self.meter);
        let drained = hold.drain(
            &mut meter,
            |_, piece| {
                stopped = self.feed(piece, sink)?;
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
                    _ = self.replay(hold, sink)?;
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
        let choosing = self.choosing.as_ref().map_or(0, |choosing| choosing.engine.steps());
        choosing + self.chain.as_ref().map_or(0, Chain::steps)
    }

    /// Steps of the stages behind the items, and bytes that were looked at to cut strings.
    #[cfg(test)]
    pub(super) fn tail_steps(&self) -> (u64, u64) {
        let items = self.chain.as_ref().and_then(Chain::items);
        items.map_or((0, 0), |items| items.tail_steps())
    }

    pub(super) fn report(&self) -> Report {
        let mut report = self.tally();
        match self.skipped {
            None => {
                report.plan = match &self.branch {
                    None => self.program.plan_with(&self.options),
                    Some((_, program)) => self.program.plan_of_branch(program, &self.options),
                };
            }
            Some(_) if self.program.is_text() => report.plan.push("pass: stream".to_owned()),
            Some(skipped) => {
                if skipped == "raw_mode" && self.program.compiled().extract.is_some() {
                    report.plan.push("extract: stream".to_owned());
                }
                report.plan.push("validate and minify: stream".to_owned());
                if self.chain.as_ref().is_some_and(Chain::is_shaped) {
                    report.plan.push(BUDGET.to_owned());
                }
            }
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
            filter_applied: self.skipped.is_none() && self.failure.is_none(),
            filter_original_bytes: consumed,
            filter_result_bytes: self.written,
            filter_skipped: self.skipped,
            held_peak_bytes: self.meter.peak(),
            branch: self.branch.as_ref().map(|(branch, _)| branch.name()),
            error: self.failure.clone(),
            ..Report::default()
        };
        if let Some(chain) = &self.chain {
            if self.skipped.is_none() || self.program.is_text() {
                chain.report(&mut report, self.written);
            } else {
                chain.report_error(&mut report);
            }
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
