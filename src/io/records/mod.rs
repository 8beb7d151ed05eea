//! Streams of many documents, each a record that is filtered on its own.
//!
//! A push filter, over [lines](lines), [documents](documents) or [events](events). A record may be longer than memory. Its *output* is held until the
//! record is known to be good: in memory, then in a temporary file, up to a limit. So a bad record emits nothing, and the run
//! continues after it. This file has what records have in common. A [`RecordForm`] knows where one ends, [`sum`] adds up the
//! reports, and [`drive`] reads and writes.

mod documents;
mod drive;
mod events;
mod framing;
#[cfg(feature = "tokio")]
mod gathered;
mod lines;
mod sum;
#[cfg(test)]
mod tests;

pub use drive::{filter_documents, filter_events, filter_ndjson};
pub(crate) use {events::Events, lines::Lines};

use tamis_json::error::{Error, ErrorKind, Raise};
use tamis_json::hold::Hold;
use tamis_json::limits::{Limits, Meter};
use tamis_json::sink::Sink;

use self::sum::ReportSum;
use crate::filter::{Call, Filter, Program};
use crate::report::{FailureReport, Report};

/// A push filter over records of one form. `on_bad` is called for each bad record, with its number, from 1.
pub(crate) struct Records<C, S, F> {
    form: C,
    record: Record<S, F>,
    state: RecordsState,
    /// The report, if the program does not fit the form.
    refused: Option<Report>,
    /// The error that ended the run.
    failure: Option<FailureReport>,
}

enum RecordsState {
    Running,
    /// The output of the program does not fit the form. The first call returns the error.
    Refused(Error),
    /// The run ended, or failed.
    Over,
}

impl<C: RecordForm, S: Sink, F: FnMut(u64, &Error)> Records<C, S, F> {
    pub(crate) fn new(call: &Call<'_>, sink: S, on_bad: F) -> Self {
        let limits = call.options().limits();
        let tested = if C::MAY_DROP { call.of_records() } else { call.clone() };
        let filter = Filter::new(tested, HeldOutput::new(limits));
        let mut records = Self {
            form: C::new(call),
            record: Record {
                sink,
                filter,
                sum: ReportSum::new(C::RECORD),
                left: call.options().max_documents(),
                is_dropped: false,
                on_bad,
            },
            state: RecordsState::Running,
            refused: None,
            failure: None,
        };
        if let Some(error) = C::refusal(call) {
            records.refused = Some(records.record.filter.fail(&error));
            records.state = RecordsState::Refused(error);
        }
        records
    }

    /// Takes the next bytes of the stream.
    ///
    /// # Errors
    /// Those that end the run, which a bad record does not.
    pub(crate) fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.step(|form, record| form.write(chunk, record))
    }

    /// Returns whether further input is ignored.
    pub(crate) fn is_done(&self) -> bool {
        self.record.is_full()
    }

    /// Completes the stream. Fails with the error that ended the run, or that of the first bad record.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        let ended = self.step(|form, record| form.end(record));
        self.state = RecordsState::Over;
        let bad = self.record.sum.take_first_bad();
        ended.and_then(|()| bad.map_or(Ok(()), Err))
    }

    /// Records an error of the driver, which ends the run.
    pub(crate) fn fail(&mut self, error: &Error) {
        self.state = RecordsState::Over;
        self.failure.get_or_insert_with(|| FailureReport::from(error));
    }

    /// Returns the report so far.
    pub(crate) fn report(&self) -> Report {
        if let Some(report) = &self.refused {
            return report.clone();
        }
        let mut report = self.record.sum.report(self.record.filter.report().plan);
        self.record.filter.suggest(&mut report.missed);
        if let Some(failure) = &self.failure {
            report.error = Some(failure.clone());
            report.applied = false;
        }
        report
    }

    /// Returns the sink.
    pub(crate) fn sink_mut(&mut self) -> &mut S {
        &mut self.record.sink
    }

    fn step(
        &mut self,
        step: impl FnOnce(&mut C, &mut Record<S, F>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match std::mem::replace(&mut self.state, RecordsState::Over) {
            RecordsState::Running => {}
            RecordsState::Refused(error) => return Err(error),
            RecordsState::Over => return Err(Error::new(ErrorKind::Failed, "the run is over")),
        }
        match step(&mut self.form, &mut self.record) {
            Ok(()) => self.state = RecordsState::Running,
            Err(error) => {
                self.fail(&error);
                return Err(error);
            }
        }
        Ok(())
    }
}

/// How a stream consists of records.
pub(crate) trait RecordForm {
    /// The word for a record in messages.
    const RECORD: &'static str;

    /// Whether `where` may drop a record.
    const MAY_DROP: bool = false;

    fn new(call: &Call<'_>) -> Self;

    /// Returns an error if the output of the program does not fit into a record of this form.
    fn refusal(call: &Call<'_>) -> Option<Error> {
        refuse_form(call.program())
    }

    /// Takes the next bytes of the stream. Fails if the run cannot continue.
    fn write<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        chunk: &[u8],
        record: &mut Record<S, F>,
    ) -> Result<(), Error>;

    /// Completes the stream.
    fn end<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        record: &mut Record<S, F>,
    ) -> Result<(), Error>;
}

/// The current record, and the sink of its output.
pub(crate) struct Record<S, F> {
    sink: S,
    /// Its filter, whose allocations are reused for all records.
    filter: Filter<HeldOutput>,
    sum: ReportSum,
    /// The number of records that are still written; `None` writes all.
    left: Option<u64>,
    /// `where` dropped the current record.
    is_dropped: bool,
    on_bad: F,
}

/// Why a record is bad, before its place in the stream is known.
#[derive(Debug)]
enum RecordFlaw {
    /// Too much of its output would have to be held.
    Output(Raise),
    /// The error has its place in the document.
    Document(Error),
}

impl<S: Sink, F: FnMut(u64, &Error)> Record<S, F> {
    /// Takes the next bytes of the document.
    fn feed(&mut self, bytes: &[u8]) -> Result<(), RecordFlaw> {
        let fed = self.filter.write(bytes);
        self.judge(fed)
    }

    /// Completes the document. If it is good, its output is held until it is [written](Self::drain). `beside` is the number of
    /// other bytes held for the record.
    fn complete(&mut self, number: u64, beside: u64) -> Result<(), RecordFlaw> {
        let ended = self.filter.end_unplanned();
        let mut report = self.judge(ended)?;
        let waited = self.filter.sink_mut().peak() + beside;
        report.held_peak_bytes = report.held_peak_bytes.max(waited);
        self.is_dropped = report.is_dropped;
        if self.is_dropped {
            // The output of the document is not written.
            report.result_bytes = 0;
        }
        self.sum.add(number, &report);
        Ok(())
    }

    /// Returns the result of a step. An exceeded limit of the output comes first, because what a filter emits before an error does
    /// not depend on the chunks.
    fn judge<T>(&mut self, result: Result<T, Error>) -> Result<T, RecordFlaw> {
        match self.filter.sink_mut().error.take() {
            Some(raise) => Err(RecordFlaw::Output(raise)),
            None => result.map_err(RecordFlaw::Document),
        }
    }

    /// Writes the output.
    fn drain(&mut self, mut take: impl FnMut(&mut S, &[u8])) -> Result<(), Error> {
        let Self { sink, filter, .. } = self;
        filter.sink_mut().drain_into(|piece| {
            take(sink, piece);
            !sink.is_closed()
        })
    }

    /// Writes the output as a line, and counts it.
    fn write_line(&mut self) -> Result<(), Error> {
        if self.is_dropped {
            self.filter.sink_mut().clear();
            return Ok(());
        }
        let mut any = false;
        self.drain(|sink, piece| {
            any |= !piece.is_empty();
            sink.write(piece);
        })?;
        // With lines as output, a payload may have none.
        if any {
            self.sink.write(b"\n");
        }
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.stop();
            }
        }
        Ok(())
    }

    /// Ends the run: no further record is read.
    fn stop(&mut self) {
        self.left = Some(0);
        self.sum.stop();
    }

    /// Returns whether the call wants no more records.
    fn is_full(&self) -> bool {
        self.left == Some(0)
    }

    /// Reports the record as bad and drops it.
    fn bad(&mut self, number: u64, error: &Error) {
        self.sum.fail(number, self.filter.held_peak(), error);
        (self.on_bad)(number, error);
        self.restart();
    }

    /// Reports that the record is not JSON, without an error of the run, and drops it.
    fn not_json(&mut self, number: u64, error: &Error) {
        (self.on_bad)(number, error);
        self.restart();
    }

    /// Prepares for the next record.
    fn restart(&mut self) {
        self.filter.sink_mut().clear();
        self.filter.restart();
    }
}

/// Whether the error is that of a text that is not JSON.
fn is_malformed(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Syntax | ErrorKind::UnexpectedEnd | ErrorKind::Encoding)
}

/// Bytes that are held until a record is complete.
#[derive(Debug)]
struct HeldOutput {
    hold: Hold,
    limits: Limits,
    meter: Meter,
    /// The exceeded limit: a sink cannot return it when it is written to.
    error: Option<Raise>,
}

impl HeldOutput {
    fn new(limits: &Limits) -> Self {
        Self { hold: Hold::default(), limits: limits.clone(), meter: Meter::default(), error: None }
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Raise> {
        self.hold.push(bytes, &self.limits, &mut self.meter)
    }

    /// Takes the held bytes out.
    fn take(&mut self) -> Self {
        let (hold, meter) = (std::mem::take(&mut self.hold), std::mem::take(&mut self.meter));
        Self { hold, meter, limits: self.limits.clone(), error: None }
    }

    /// Returns the largest number of bytes held at once.
    fn peak(&self) -> u64 {
        self.meter.peak()
    }

    /// Passes everything to `take` until it returns false, and clears itself.
    fn drain_into(&mut self, mut take: impl FnMut(&[u8]) -> bool) -> Result<(), Error> {
        self.hold.drain(&mut self.meter, |_, piece| Ok(take(piece)), Error::from)
    }

    fn clear(&mut self) {
        self.hold.clear(&mut self.meter);
        self.meter = Meter::default();
        self.error = None;
    }
}

impl Sink for HeldOutput {
    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.push(bytes).err();
        }
    }

    fn is_closed(&self) -> bool {
        self.error.is_some()
    }
}

/// Returns the error of a filter whose output is not JSON, so that it may have any number of lines.
fn refuse_form(program: &Program) -> Option<Error> {
    program.is_encoded().then(|| {
        Error::spec(
            "`encode` is for single documents: a record is written as JSON; leave it out, or encode as json",
        )
    })
}
