//! One run over one history: reads it all, decides, and only then writes.
//!
//! [`PruneScan`] reads and knows what was found; [`PruneWriter`] writes a document that can be read again, in chunks of any size.
//! [`PruneFilter`] is both over a document that comes once, which it holds.

use std::time::{SystemTime, UNIX_EPOCH};

use super::PruneProgram;
use super::plan::Plan;
use super::report::PruneReport;
use super::splice::{Changes, Splice};
use super::survey::Survey;
use crate::error::{Error, ErrorKind, Raise};
use crate::filter::hold::Hold;
use crate::json::bom::Bom;
use crate::json::machine::{Config, Failure, Machine};
use crate::limits::Meter;
use crate::report::Failed;
use crate::scan::{Scanner, Window};
use crate::sink::Sink;

/// The first reading of a document.
pub(crate) struct PruneScan {
    program: PruneProgram,
    machine: Machine,
    scanner: Scanner,
    window: Box<Window>,
    survey: Survey,
    bom: Bom,
    read: u64,
}

impl PruneScan {
    pub(crate) fn new(program: &PruneProgram) -> Self {
        Self::with(program, Scanner::new())
    }

    pub(super) fn with(program: &PruneProgram, scanner: Scanner) -> Self {
        let limits = &program.compiled().limits;
        let config = Config {
            depth: limits.depth(),
            key: limits.key(),
            structure: false,
            keep_white: false,
            tell_empty: false,
        };
        Self {
            program: program.clone(),
            machine: Machine::new(config),
            scanner,
            window: Window::new(),
            survey: Survey::new(program),
            bom: Bom::new(),
            read: 0,
        }
    }

    /// Takes the next bytes.
    pub(crate) fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.read += chunk.len() as u64;
        let (document, settled) = self.bom.skip(chunk)?;
        if let Some(prefix) = settled {
            self.machine.skip_prefix(prefix);
        }
        let Self { machine, scanner, window, survey, .. } = self;
        let fed = machine.feed(*scanner, window, document, survey);
        fed.map(|_| ()).map_err(|failure| self.failed(failure))
    }

    /// The document is complete.
    pub(crate) fn end(mut self) -> (PruneReport, Result<PruneWriter, Error>) {
        match self.decide() {
            Ok((report, plan, now)) => {
                let Self { program, survey, .. } = self;
                let splice = Splice::new(plan);
                (report, Ok(PruneWriter { program, survey, splice, now }))
            }
            Err(error) => (self.failure(&error), Err(error)),
        }
    }

    fn decide(&mut self) -> Result<(PruneReport, Plan, u64), Error> {
        self.bom.end()?;
        let ended = self.machine.end(&mut self.survey);
        ended.map_err(|failure| self.failed(failure))?;
        let now = self.program.prune().now.unwrap_or_else(milliseconds);
        let mut report = self.report();
        let Self { program, survey, machine, .. } = self;
        let Survey { log, calls, counts, .. } = survey;
        let plan = Plan::new(log, calls, *counts, program.compiled(), now, &mut report)
            .map_err(|raise| machine.place(raise))?;
        Ok((report, plan, now))
    }

    /// What is known so far.
    fn report(&self) -> PruneReport {
        let Survey { log, calls, counts, .. } = &self.survey;
        PruneReport {
            messages: counts.messages,
            user_turns: counts.turns,
            results: counts.results,
            results_protected: counts.protected,
            results_compacted: counts.compacted,
            bytes: self.read,
            tokens_estimated: counts.estimated,
            held_peak_bytes: log.peak() + calls.peak(),
            ..PruneReport::default()
        }
    }

    /// What a run did that failed.
    pub(crate) fn failure(&self, error: &Error) -> PruneReport {
        // Of a chunk only what was understood counts, so that chunks do not.
        let bytes = error.offset().unwrap_or(self.read);
        PruneReport { bytes, error: Some(Failed::from(error)), ..self.report() }
    }

    fn failed(&self, failure: Failure) -> Error {
        match failure {
            Failure::Error(error) => error,
            Failure::Rewind | Failure::Overdue => {
                self.machine.place(Raise::new(ErrorKind::Limit, "a decision came too late"))
            }
        }
    }

    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        self.machine.steps()
    }
}

/// A document that was read, and what is to be written instead.
pub(crate) struct PruneWriter {
    program: PruneProgram,
    survey: Survey,
    splice: Splice,
    now: u64,
}

impl PruneWriter {
    /// Takes the next bytes of the same document.
    pub(crate) fn write(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        let Self { program, survey: Survey { log, calls, .. }, splice, now } = self;
        let mut changes = Changes { log, calls, program: program.compiled(), now: *now };
        splice
            .push(chunk, &mut changes, sink)
            .map_err(|raise| Error::new(raise.kind, raise.message))
    }
}

/// One run over a history that comes once: bytes are pushed in, and wait; when it is complete, the output goes to a [`Sink`].
///
/// Chunks may be cut anywhere: output, errors and the report (but for `held_peak_bytes`) do not depend on it. The history waits
/// in memory, then in an anonymous temporary file, then the run fails: the limits `held` and `spill` of the
/// [`PruneProgram`]. [`prune_slice`](crate::prune_slice) and [`prune_file`](crate::prune_file) hold nothing of it. A run that
/// fails writes nothing.
///
/// ```
/// use tamis::{PruneSpec, PruneProgram, PruneFilter};
///
/// let program = PruneProgram::compile(&PruneSpec::new().keep_turns(1))?;
/// let mut run = PruneFilter::new(&program, Vec::new());
/// for chunk in [r#"[{"type":"function_call_output","call_id":"c","out"#, r#"put":"long"},{"role":"user"}]"#] {
///     run.write(chunk.as_bytes())?;
/// }
/// let report = run.end()?;
/// assert_eq!(report.results_pruned, 1);
/// assert_eq!(
///     run.into_sink(),
///     br#"[{"type":"function_call_output","call_id":"c","output":"<tool-output-compacted />"},{"role":"user"}]"#
/// );
/// # Ok::<(), tamis::Error>(())
/// ```
pub struct PruneFilter<S> {
    program: PruneProgram,
    scan: Option<PruneScan>,
    held: Hold,
    meter: Meter,
    report: PruneReport,
    sink: S,
}

impl<S: Sink> PruneFilter<S> {
    /// A run.
    pub fn new(program: &PruneProgram, sink: S) -> Self {
        Self {
            program: program.clone(),
            scan: Some(PruneScan::new(program)),
            held: Hold::default(),
            meter: Meter::default(),
            report: PruneReport::default(),
            sink,
        }
    }

    /// Takes the next bytes of the history.
    ///
    /// # Errors
    /// Malformed input, a reached limit. After an error the run stays failed.
    pub fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        let scan = self.scan.as_mut().ok_or_else(over)?;
        let limits = &self.program.compiled().limits;
        // What does not fit is not read either: which error comes first does not depend on chunks.
        let room = Hold::capacity(limits).saturating_sub(self.held.len());
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let (fits, over) = chunk.split_at(chunk.len().min(room));
        let result = scan.write(fits).and_then(|()| {
            let held = self.held.push(fits, limits, &mut self.meter);
            held.map_err(|raise| Error::new(raise.kind, raise.message))
        });
        let result = match result {
            Ok(()) if !over.is_empty() => Err(Hold::place(limits, Hold::overflow(limits))),
            result => result,
        };
        result.inspect_err(|error| self.fail(error))
    }

    /// The history is complete: writes it.
    ///
    /// # Errors
    /// As for [`write`](Self::write), and [`ErrorKind::UnexpectedEnd`] if it is not complete.
    pub fn end(&mut self) -> Result<PruneReport, Error> {
        let scan = self.scan.take().ok_or_else(over)?;
        let (report, decided) = scan.end();
        self.report = report;
        self.report.held_peak_bytes += self.meter.peak();
        let Self { held, meter, sink, .. } = self;
        let written = decided.and_then(|mut decided| {
            let write = |_: &mut Meter, piece: &[u8]| {
                decided.write(piece, sink)?;
                Ok(!sink.is_closed())
            };
            held.drain(meter, write, |raise| Error::new(raise.kind, raise.message))
        });
        if let Err(error) = written {
            self.report.error.get_or_insert_with(|| Failed::from(&error));
            return Err(error);
        }
        Ok(self.report.clone())
    }

    /// What the run did; after an error, with the error in it.
    pub fn report(&self) -> PruneReport {
        self.report.clone()
    }

    /// The most bytes of the history that waited at once so far.
    #[cfg(feature = "tokio")]
    pub(crate) fn held_peak(&self) -> u64 {
        self.meter.peak()
    }

    /// Makes an error of the driver's the run's own.
    pub(crate) fn fail(&mut self, error: &Error) {
        if let Some(scan) = self.scan.take() {
            self.report = scan.failure(error);
            self.report.held_peak_bytes += self.meter.peak();
        }
        self.report.error.get_or_insert_with(|| Failed::from(error));
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

impl<S: std::fmt::Debug> std::fmt::Debug for PruneFilter<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { program, report, sink, .. } = self;
        let mut shown = f.debug_struct("PruneFilter");
        shown.field("program", program).field("report", report).field("sink", sink);
        shown.finish_non_exhaustive()
    }
}

fn over() -> Error {
    Error::new(ErrorKind::Failed, "the run has ended")
}

/// The clock of the system.
fn milliseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
