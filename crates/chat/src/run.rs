//! One run over one history: it reads everything, decides, and only then writes.
//!
//! [`PruneScan`] is the first pass, which reads. [`PruneWriter`] is the second, which is given the same document in chunks of any
//! size and writes it. [`PruneFilter`] does both for a document that arrives only once, and holds it in between.

use std::time::{SystemTime, UNIX_EPOCH};

use tamis_json::bom::BomSkipper;
use tamis_json::error::{Error, ErrorKind};
use tamis_json::hold::Hold;
use tamis_json::limits::Meter;
use tamis_json::machine::{Machine, MachineConfig};
use tamis_json::scan::Scanner;
use tamis_json::sink::Sink;

use super::PruneProgram;
use super::findings::{Finding, FindingsReader};
use super::plan::Plan;
use super::report::PruneReport;
use super::sizes::{ChatSizes, SizeRecorder};
use super::splice::{Changes, Splice};
use super::survey::Survey;
use tamis::FailureReport;

/// The first pass over a document.
pub(crate) struct PruneScan {
    program: PruneProgram,
    machine: Machine,
    scanner: Scanner,
    survey: Survey,
    bom: BomSkipper,
    read: u64,
}

impl PruneScan {
    pub(crate) fn new(program: &PruneProgram) -> Self {
        Self::with(program, Scanner::new())
    }

    pub(super) fn with(program: &PruneProgram, scanner: Scanner) -> Self {
        let limits = &program.compiled().limits;
        let config = MachineConfig::new(limits);
        Self {
            program: program.clone(),
            machine: Machine::new(config),
            scanner,
            survey: Survey::new(program),
            bom: BomSkipper::new(),
            read: 0,
        }
    }

    /// Creates a pass that also records sizes.
    pub(super) fn with_sizes(program: &PruneProgram) -> Self {
        let mut scan = Self::new(program);
        scan.survey.sizes = Some(SizeRecorder::default());
        scan
    }

    /// Takes the next bytes.
    pub(crate) fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.read += chunk.len() as u64;
        let (document, settled) = self.bom.skip(chunk)?;
        if let Some(prefix) = settled {
            self.machine.skip_prefix(prefix);
        }
        let Self { machine, scanner, survey, .. } = self;
        machine.feed(*scanner, document, survey).map(|_| ())
    }

    /// Decides what is pruned, after the complete document was read.
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

    /// Decides what would be pruned, and returns the sizes that were recorded.
    pub(super) fn end_with_sizes(mut self) -> Result<ChatSizes, Error> {
        let (report, mut plan, now) = self.decide()?;
        let Self { program, survey, machine, .. } = &mut self;
        let Survey { findings, calls, sizes, .. } = survey;
        let mut sizes = sizes.take().unwrap_or_default();
        let mut reader = FindingsReader::default();
        while let Some(record) = reader.next(findings).map_err(|raise| machine.place(raise))? {
            let Finding::Result(entry) = record else { continue };
            if !plan.goes(&entry) {
                continue;
            }
            let facts = entry.facts(calls.name(entry.tool));
            let saved = entry.edits.iter().map(|edit| {
                let comes = program.compiled().replacement(*edit, facts, now).len();
                (edit.to - edit.from) as i64 - comes as i64
            });
            sizes.removed(entry.tool, entry.offset(), saved.sum());
        }
        Ok(sizes.end(report, |tool| calls.name(tool)))
    }

    fn decide(&mut self) -> Result<(PruneReport, Plan, u64), Error> {
        self.bom.end()?;
        self.machine.end(&mut self.survey)?;
        let now = self.program.spec().now.unwrap_or_else(milliseconds);
        let mut report = self.report();
        let Self { program, survey, machine, .. } = self;
        let Survey { findings, calls, counts, .. } = survey;
        let plan = Plan::new(findings, calls, *counts, program.compiled(), now, &mut report)
            .map_err(|raise| machine.place(raise))?;
        Ok((report, plan, now))
    }

    /// Returns the report so far.
    fn report(&self) -> PruneReport {
        let Survey { findings, calls, counts, .. } = &self.survey;
        PruneReport {
            has_history: counts.has_history,
            messages: counts.messages,
            user_turns: counts.turns,
            results: counts.results,
            results_protected: counts.protected,
            results_compacted: counts.compacted,
            bytes: self.read,
            tokens_estimated: counts.estimated,
            held_peak_bytes: findings.peak() + calls.peak(),
            ..PruneReport::default()
        }
    }

    /// Returns the report of a run that failed.
    pub(crate) fn failure(&self, error: &Error) -> PruneReport {
        // Only the bytes before the error count, so that the number does not depend on the chunks.
        let bytes = error.offset().unwrap_or(self.read);
        PruneReport { bytes, error: Some(FailureReport::from(error)), ..self.report() }
    }

    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        self.machine.steps()
    }
}

/// The second pass over a document, with the decision of the first.
pub(crate) struct PruneWriter {
    program: PruneProgram,
    survey: Survey,
    splice: Splice,
    now: u64,
}

impl PruneWriter {
    /// Takes the next bytes of the same document.
    pub(crate) fn write(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        let Self { program, survey: Survey { findings, calls, .. }, splice, now } = self;
        let mut changes = Changes { findings, calls, program: program.compiled(), now: *now };
        splice.push(chunk, &mut changes, sink).map_err(Error::from)
    }
}

/// A filter that prunes one history, which is pushed in chunk by chunk. The output is written to a [`Sink`] at the end.
///
/// Chunks may be cut anywhere: output, errors and the report (except `held_peak_bytes`) do not depend on it. The history is held
/// in memory, then in an anonymous temporary file, until it is complete. The run fails if the limits `held` and `spill` of the
/// [`PruneProgram`] are exceeded. [`prune_slice`](crate::prune_slice) and [`prune_file`](crate::prune_file) do not hold the
/// history. A run that fails writes nothing.
///
/// ```
/// use tamis_chat::{PruneFilter, PruneProgram, PruneSpec};
///
/// let program = PruneProgram::compile(&PruneSpec::new().keep_turns(1))?;
/// let mut filter = PruneFilter::new(&program, Vec::new());
/// for chunk in [r#"[{"type":"function_call_output","call_id":"c","out"#, r#"put":"long"},{"role":"user"}]"#] {
///     filter.write(chunk.as_bytes())?;
/// }
/// let report = filter.end()?;
/// assert_eq!(report.results_pruned, 1);
/// assert_eq!(
///     filter.into_sink(),
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
    /// Creates a filter for one history, which writes to `sink`.
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
    /// Malformed input, a reached limit. After an error the filter stays failed.
    pub fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        let scan = self.scan.as_mut().ok_or_else(over)?;
        let limits = &self.program.compiled().limits;
        // Bytes beyond the limit are not scanned, so that the first error does not depend on the chunks.
        let room = Hold::capacity(limits).saturating_sub(self.held.len());
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let (fits, over) = chunk.split_at(chunk.len().min(room));
        let result = scan.write(fits).and_then(|()| {
            let held = self.held.push(fits, limits, &mut self.meter);
            held.map_err(Error::from)
        });
        let result = match result {
            Ok(()) if !over.is_empty() => Err(Hold::place(limits, Hold::overflow(limits))),
            result => result,
        };
        result.inspect_err(|error| self.fail(error))
    }

    /// Completes the history and writes the pruned one.
    ///
    /// # Errors
    /// As for [`write`](Self::write), and [`ErrorKind::UnexpectedEnd`] if the history is not complete.
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
            held.drain(meter, write, Error::from)
        });
        if let Err(error) = written {
            self.report.error.get_or_insert_with(|| FailureReport::from(&error));
            return Err(error);
        }
        Ok(self.report.clone())
    }

    /// Returns the report so far; after an error, with the error in it.
    pub fn report(&self) -> PruneReport {
        self.report.clone()
    }

    /// Returns the largest number of bytes of the history held so far.
    #[cfg(feature = "tokio")]
    pub(crate) fn held_peak(&self) -> u64 {
        self.meter.peak()
    }

    /// Records an error of the driver, which ends the run.
    pub(crate) fn fail(&mut self, error: &Error) {
        if let Some(scan) = self.scan.take() {
            self.report = scan.failure(error);
            self.report.held_peak_bytes += self.meter.peak();
        }
        self.report.error.get_or_insert_with(|| FailureReport::from(error));
    }

    /// Returns the sink.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// Returns the sink, to be written to or flushed.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Consumes the filter and returns the sink.
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

/// Returns the system time in milliseconds since 1970.
fn milliseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
