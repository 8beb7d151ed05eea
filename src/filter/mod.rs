//! Runs a program over a document that arrives in chunks.
//!
//! [`Filter`] is the façade; stages in a chain do the work: [`retain`] on the document, then [`items`] on its payload, then
//! those of the [`tail`] on what is left. Each is a machine with a handler, and reads what the one before writes. Drivers that
//! can read a document twice find the payload first, through [`Scout`].

#[cfg(feature = "content")]
mod content;
mod explain;
pub(crate) mod hold;
mod items;
mod options;
mod payload;
mod program;
mod retain;
mod root;
mod stage;
mod tail;
mod whole;
mod wrap;

#[cfg(test)]
mod tests;

use crate::error::{Error, ErrorKind, Raise};
use crate::limits::{Limits, Meter};
use crate::report::{Failed, Report};
use crate::sink::Sink;
use crate::spec::Budget;

pub use explain::{Explanation, Mode};
pub use options::CallOptions;
use payload::PayloadStage;
pub use program::Program;
use retain::Retain;
pub(crate) use root::Payload;
use stage::{Engine, config, failed};
use tail::Tail;
use whole::Whole;

/// One run of a program: bytes are pushed in, output goes to a [`Sink`].
///
/// Chunks may be cut anywhere and have any size: output, errors and the report (but for `plan` and `held_peak_bytes`)
/// do not depend on it. A filter that failed stays failed. Nothing is emitted behind an error; what was emitted before
/// it is a prefix of what some valid completion of the input would have given.
///
/// Memory: the open path, what the spec has to hold (see [`Limits`](crate::Limits)), and about 30 KiB. Time: linear in the input.
///
/// ```
/// use tamis::{Filter, Program, Spec};
///
/// let program = Program::compile(&Spec::new().select("id"))?;
/// let mut filter = Filter::new(&program, Vec::new());
/// for chunk in [r#"[{"id": 1, "na"#, r#"me": "x"}, {"i"#, r#"d": 2}]"#] {
///     filter.write(chunk.as_bytes())?;
/// }
/// let report = filter.end()?;
/// assert_eq!(filter.into_sink(), br#"[{"id":1},{"id":2}]"#);
/// assert_eq!(report.items_kept, Some(2));
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Debug)]
pub struct Filter<S> {
    core: Core,
    sink: S,
}

#[derive(Debug)]
struct Core {
    program: Program,
    limits: Limits,
    /// On the document: retain, or the whole of it if there is no other stage.
    first: Option<(Engine, Retain)>,
    items: Option<PayloadStage>,
    /// Instead of all of these: the document is taken as a whole.
    whole: Option<Whole>,
    meter: Meter,
    bom: Bom,
    written: u64,
    /// Bytes that were read.
    consumed: u64,
    /// The byte that was read last.
    last: u8,
    /// Nothing more is read.
    stopped: bool,
    state: State,
    skipped: Option<&'static str>,
    /// The call's.
    budget: Option<Budget>,
    failure: Option<Failed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Ended,
    Failed,
}

/// The byte order mark that a document may begin with.
const BOM: &[u8] = b"\xEF\xBB\xBF";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bom {
    /// This many of its bytes were seen, and nothing else.
    Matching(usize),
    Done,
}

impl<S: Sink> Filter<S> {
    /// A run with default [`CallOptions`].
    pub fn new(program: &Program, sink: S) -> Self {
        Self::with_options(program, &CallOptions::new(), sink)
    }

    /// A run of a program for one call.
    pub fn with_options(program: &Program, options: &CallOptions, sink: S) -> Self {
        Self { core: Core::new(program, options, None), sink }
    }

    /// A run over a document whose payload is known already. `whole`: it comes in one chunk, so nothing need be held.
    pub(crate) fn scouted(
        program: &Program,
        options: &CallOptions,
        sink: S,
        payload: Option<Payload>,
        whole: bool,
    ) -> Self {
        let mut core = Core::new(program, options, payload);
        if let Some(items) = &mut core.items
            && core.first.is_none()
            && whole
            && !items.is_looking()
        {
            items.never_hold();
        }
        Self { core, sink }
    }

    /// Takes the next bytes of the document.
    ///
    /// # Errors
    /// Malformed input, a reached limit, a miss under `on_error: closed`. After an error the filter stays failed.
    pub fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        let Self { core, sink } = self;
        core.guard(|core, sink| core.write(chunk, sink), sink)
    }

    /// The document is complete.
    ///
    /// # Errors
    /// As for [`write`](Self::write), and [`ErrorKind::UnexpectedEnd`] if it is not complete.
    pub fn end(&mut self) -> Result<Report, Error> {
        let Self { core, sink } = self;
        core.guard(Core::end, sink)?;
        Ok(core.report())
    }

    /// The same, with a report that has no plan: that is the program's, and the same for every document.
    pub(crate) fn end_unplanned(&mut self) -> Result<Report, Error> {
        let Self { core, sink } = self;
        core.guard(Core::end, sink)?;
        Ok(core.tally())
    }

    /// Begins a new document with the same program, options and sink; what was allocated is used again.
    ///
    /// ```
    /// use tamis::{Filter, Program, Spec};
    ///
    /// let program = Program::compile(&Spec::new().select("id"))?;
    /// let mut filter = Filter::new(&program, Vec::new());
    /// for line in [r#"{"id": 1, "x": 2}"#, r#"{"id": 3}"#] {
    ///     filter.write(line.as_bytes())?;
    ///     filter.end()?;
    ///     filter.sink_mut().push(b'\n');
    ///     filter.restart();
    /// }
    /// assert_eq!(filter.into_sink(), b"{\"id\":1}\n{\"id\":3}\n");
    /// # Ok::<(), tamis::Error>(())
    /// ```
    pub fn restart(&mut self) {
        self.core.restart();
    }

    /// Whether the run stopped early: the output is complete and further input is ignored.
    pub fn is_done(&self) -> bool {
        self.core.stopped || self.core.state == State::Ended
    }

    /// What the run did so far; after an error, with the error in it.
    pub fn report(&self) -> Report {
        self.core.report()
    }

    /// Makes an error of the driver's the run's own; the report tells it.
    pub(crate) fn fail(&mut self, error: &Error) -> Report {
        self.core.state = State::Failed;
        self.core.failure.get_or_insert_with(|| Failed::from(error));
        self.core.report()
    }

    /// Where the output goes.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// Where the output goes.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Gives the sink back.
    pub fn into_sink(self) -> S {
        self.sink
    }
}

impl Core {
    fn new(program: &Program, options: &CallOptions, payload: Option<Payload>) -> Self {
        let compiled = program.compiled();
        let skipped = options.skips(compiled);
        let scanner = options.scanner();
        let limits = options.limits_ref();
        let tail = match skipped {
            None => Tail::new(compiled, options),
            Some(_) => None,
        };
        let whole = Whole::new(program, options);
        let items =
            (whole.is_none() && skipped.is_none() && (!compiled.items.idle || tail.is_some()))
                .then(|| PayloadStage::new(program, limits, scanner, payload, tail));
        let retains = skipped.is_none() && compiled.retain.is_some();
        // Of an answer that is no error, what is extracted is the document also where it is wanted raw.
        let extracts = !options.is_error_of(compiled) && compiled.extract.is_some();
        let first = (whole.is_none() && (retains || extracts || items.is_none())).then(|| {
            let engine = Engine::new(config(&compiled.spec, limits, false), scanner);
            let stage = if retains { Retain::new(compiled) } else { Retain::whole(compiled) };
            (engine, if extracts { stage } else { stage.without_extract() })
        });
        Self {
            program: program.clone(),
            limits: limits.clone(),
            first,
            items,
            bom: if whole.is_some() { Bom::Done } else { Bom::Matching(0) },
            whole,
            meter: Meter::default(),
            written: 0,
            consumed: 0,
            last: 0,
            stopped: false,
            state: State::Running,
            skipped,
            budget: options.call_budget(),
            failure: None,
        }
    }

    fn restart(&mut self) {
        let compiled = self.program.compiled();
        if let Some((engine, retain)) = &mut self.first {
            engine.restart(config(&compiled.spec, &self.limits, false));
            retain.restart();
        }
        if let Some(items) = &mut self.items {
            items.restart();
        }
        self.meter = Meter::default();
        self.bom = Bom::Matching(0);
        if let Some(whole) = &mut self.whole {
            whole.restart();
            self.bom = Bom::Done;
        }
        (self.written, self.consumed, self.last, self.stopped) = (0, 0, 0, false);
        self.state = State::Running;
        self.failure = None;
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

    fn write(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        if self.stopped {
            return Ok(());
        }
        let document = self.skip_bom(chunk)?;
        let fed = self.feed(document, sink);
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
        let Self { first, items, whole, meter, .. } = self;
        if let Some(whole) = whole {
            return whole.write(document, sink).map(|()| None);
        }
        match (first, items) {
            (None, None) => Ok(None),
            (None, Some(items)) => {
                items.write(document, meter, sink)?;
                Ok(items.is_stopped().then(|| items.offset()))
            }
            (Some((engine, retain)), None) => match engine.feed(retain, document, sink) {
                Ok(_) => Ok(None),
                Err(failure) => Err(failed(failure, &engine.machine)),
            },
            (Some((engine, retain)), Some(items)) => {
                let mut chain = Chain { items, meter, sink, error: None };
                let fed = engine.feed(retain, document, &mut chain);
                let Chain { items, error, .. } = chain;
                // The second stage has read only what came before the first one's error.
                if let Some(error) = error {
                    return Err(error.in_what_was_left());
                }
                if items.is_stopped() {
                    return Ok(Some(items.offset()));
                }
                fed.map(|_| None).map_err(|failure| failed(failure, &engine.machine))
            }
        }
    }

    /// The chunk without what belongs to a byte order mark.
    fn skip_bom<'a>(&mut self, chunk: &'a [u8]) -> Result<&'a [u8], Error> {
        let Bom::Matching(seen) = self.bom else { return Ok(chunk) };
        let wanted = BOM.get(seen..).unwrap_or_default();
        let same = chunk.iter().zip(wanted).take_while(|(byte, mark)| byte == mark).count();
        let document = chunk.get(same..).unwrap_or_default();
        self.consumed += same as u64;
        let seen = seen + same;
        if seen == BOM.len() || (seen == 0 && !document.is_empty()) {
            self.bom = Bom::Done;
            let Self { first, items, .. } = self;
            match (first, items) {
                (Some((engine, _)), _) => engine.machine.skip_prefix(seen as u64),
                (None, Some(items)) => items.skip_prefix(seen as u64),
                (None, None) => {}
            }
        } else if !document.is_empty() {
            let raise = Raise::new(ErrorKind::Syntax, "expected a value");
            return Err(Error::at(raise, seen as u64, String::new()));
        } else {
            self.bom = Bom::Matching(seen);
        }
        Ok(document)
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        if let Bom::Matching(seen @ 1..) = self.bom {
            let raise = Raise::new(ErrorKind::UnexpectedEnd, "the document is empty");
            return Err(Error::at(raise, seen as u64, String::new()));
        }
        if let Some(whole) = &mut self.whole {
            whole.end(sink)?;
        } else if !self.stopped {
            let Self { first, items, meter, .. } = self;
            match (first, items) {
                (None, None) => {}
                (None, Some(items)) => items.end(meter, sink)?,
                (Some((engine, retain)), None) => {
                    engine.end(retain, sink).map_err(|failure| failed(failure, &engine.machine))?;
                }
                (Some((engine, retain)), Some(items)) => {
                    let mut chain = Chain { items, meter, sink, error: None };
                    let ended = engine.end(retain, &mut chain);
                    let Chain { items, meter, sink, error } = chain;
                    if let Some(error) = error {
                        return Err(error.in_what_was_left());
                    }
                    ended.map_err(|failure| failed(failure, &engine.machine))?;
                    items.end(meter, sink).map_err(Error::in_what_was_left)?;
                }
            }
        }
        self.state = State::Ended;
        Ok(())
    }

    /// Steps of all machines.
    #[cfg(test)]
    fn steps(&self) -> u64 {
        let first = self.first.as_ref().map_or(0, |(engine, _)| engine.machine.steps());
        first + self.items.as_ref().map_or(0, PayloadStage::steps)
    }

    /// Steps of the stages behind the items, and bytes that were looked at to cut strings.
    #[cfg(test)]
    fn tail_steps(&self) -> (u64, u64) {
        self.items.as_ref().map_or((0, 0), PayloadStage::tail_steps)
    }

    fn report(&self) -> Report {
        let mut report = self.tally();
        match self.skipped {
            None => report.plan = self.program.plan_with(self.budget),
            Some(_) if self.whole.is_some() => report.plan.push("pass: stream".to_owned()),
            Some(skipped) => {
                if skipped == "raw_mode" && self.program.compiled().extract.is_some() {
                    report.plan.push("extract: stream".to_owned());
                }
                report.plan.push("validate and minify: stream".to_owned());
            }
        }
        report
    }

    /// The report without the plan.
    fn tally(&self) -> Report {
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
            error: self.failure.clone(),
            ..Report::default()
        };
        if let Some(whole) = &self.whole {
            whole.report(&mut report);
            report.budget_result_bytes = report.budget_applied.then_some(self.written);
            let same = report.filter_result_bytes == self.written;
            report.output_bytes = (!same).then_some(self.written);
        }
        if let (None, Some(items)) = (self.skipped, &self.items) {
            items.report(&mut report);
            let same = report.filter_result_bytes == self.written;
            report.output_bytes = (!same).then_some(self.written);
        }
        report
    }
}

/// The second stage as the first one's sink.
struct Chain<'a> {
    items: &'a mut PayloadStage,
    meter: &'a mut Meter,
    sink: &'a mut dyn Sink,
    error: Option<Error>,
}

impl Sink for Chain<'_> {
    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.items.write(bytes, self.meter, self.sink).err();
        }
    }

    fn is_closed(&self) -> bool {
        self.error.is_some() || self.items.is_stopped()
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

/// Reads a document to find its payload, and writes nothing.
#[derive(Debug)]
pub(crate) struct Scout(Core);

impl Scout {
    /// `None` if there is nothing to find out.
    pub(crate) fn new(program: &Program, options: &CallOptions) -> Option<Self> {
        let mut core = Core::new(program, options, None);
        let items = core.items.as_mut().filter(|items| items.is_looking())?;
        items.never_hold();
        Some(Self(core))
    }

    /// Takes the next bytes; true when they suffice. What is wrong before that is the run's error, which then has no
    /// output; what is wrong behind it the run finds again.
    pub(crate) fn write(&mut self, chunk: &[u8]) -> Result<bool, Error> {
        let result = self.0.guard(|core, sink| core.write(chunk, sink), &mut Vec::new());
        let decided = self.payload().is_some();
        if decided { Ok(true) } else { result.map(|()| false) }
    }

    /// The document is complete.
    pub(crate) fn end(mut self) -> Result<Option<Payload>, Error> {
        if self.payload().is_none() {
            self.0.guard(Core::end, &mut Vec::new())?;
        }
        Ok(self.payload())
    }

    fn payload(&self) -> Option<Payload> {
        self.0.items.as_ref().and_then(PayloadStage::decided)
    }
}
