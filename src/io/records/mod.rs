//! Streams of many documents, each a record with a filter of its own.
//!
//! A push run, over [lines](lines) or over [events](events): chunks go in, what the records leave goes to a sink. A record may
//! be longer than memory; its *output* waits until the record is known to be good: in memory, then in a temporary file, then
//! not at all. So a bad record emits nothing, and the run goes on behind it. This file knows what a record is, its
//! [`RecordForm`] where one ends, [`sum`] what is told of all, [`drive`] readers and writers.

mod drive;
mod events;
mod fields;
mod lines;
mod sum;
#[cfg(test)]
mod tests;

pub use drive::{filter_events, filter_ndjson};
pub(super) use {events::Events, lines::Lines};

use self::sum::Sum;
use crate::error::{Error, ErrorKind, Raise};
use crate::filter::hold::Hold;
use crate::filter::{Call, Filter, Program};
use crate::limits::{Limits, Meter};
use crate::report::{Failed, Report};
use crate::sink::Sink;

/// A push run over records of one form. `F` is told of every bad one, with its number, from 1.
pub(crate) struct Records<C, S, F> {
    form: C,
    record: Record<S, F>,
    state: State,
    /// The report of a run whose program is none for it.
    refused: Option<Report>,
    /// The error that ended the run.
    failure: Option<Failed>,
}

enum State {
    Running,
    /// The program is none for records of this form: the first step says so.
    Refused(Error),
    /// It ended, or failed.
    Over,
}

impl<C: RecordForm, S: Sink, F: FnMut(u64, &Error)> Records<C, S, F> {
    pub(super) fn new(call: &Call<'_>, sink: S, on_bad: F) -> Self {
        let limits = call.options().limits_ref();
        let filter = Filter::new(call.clone(), Held::new(limits));
        let mut records = Self {
            form: C::new(limits),
            record: Record { sink, filter, sum: Sum::new(C::RECORD), on_bad },
            state: State::Running,
            refused: None,
            failure: None,
        };
        if let Some(error) = C::refusal(call.program()) {
            records.refused = Some(records.record.filter.fail(&error));
            records.state = State::Refused(error);
        }
        records
    }

    /// Takes the next bytes of the stream.
    ///
    /// # Errors
    /// Those behind which nothing more can be done. A bad record is none.
    pub(crate) fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.step(|form, record| form.write(chunk, record))
    }

    /// All was read. The report of all, and what ended the run, or the error of the first bad record.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        let ended = self.step(|form, record| form.end(record));
        self.state = State::Over;
        let bad = self.record.sum.take_first_bad();
        ended.and_then(|()| bad.map_or(Ok(()), Err))
    }

    /// Makes an error of the driver's the run's own: nothing more is taken. Gives the report, which tells it.
    pub(crate) fn fail(&mut self, error: &Error) {
        self.state = State::Over;
        self.failure.get_or_insert_with(|| Failed::from(error));
    }

    /// What the run did so far.
    pub(crate) fn report(&self) -> Report {
        if let Some(report) = &self.refused {
            return report.clone();
        }
        let mut report = self.record.sum.report(self.record.filter.report().plan);
        self.record.filter.suggest(&mut report.missed);
        if let Some(failure) = &self.failure {
            report.error = Some(failure.clone());
            report.filter_applied = false;
        }
        report
    }

    /// The most bytes that waited at once so far.
    #[cfg(feature = "tokio")]
    pub(crate) fn held_peak(&self) -> u64 {
        let Record { filter, sum, .. } = &self.record;
        sum.peak().max(filter.held_peak() + filter.sink().peak())
    }

    /// Where the output goes.
    #[cfg(feature = "tokio")]
    pub(crate) fn sink(&self) -> &S {
        &self.record.sink
    }

    /// Where the output goes.
    pub(crate) fn sink_mut(&mut self) -> &mut S {
        &mut self.record.sink
    }

    fn step(
        &mut self,
        step: impl FnOnce(&mut C, &mut Record<S, F>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Running => {}
            State::Refused(error) => return Err(error),
            State::Over => return Err(Error::new(ErrorKind::Failed, "the run is over")),
        }
        match step(&mut self.form, &mut self.record) {
            Ok(()) => self.state = State::Running,
            Err(error) => {
                self.fail(&error);
                return Err(error);
            }
        }
        Ok(())
    }
}

/// How records lie in a stream.
pub(crate) trait RecordForm {
    /// What a record is called.
    const RECORD: &'static str;

    fn new(limits: &Limits) -> Self;

    /// Why the output of a program is no record of this form, if so.
    fn refusal(_: &Program) -> Option<Error> {
        None
    }

    /// Takes the next bytes of the stream. Fails if nothing more can be done.
    fn write<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        chunk: &[u8],
        record: &mut Record<S, F>,
    ) -> Result<(), Error>;

    /// All was read.
    fn end<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        record: &mut Record<S, F>,
    ) -> Result<(), Error>;
}

/// The record that is read, and where what becomes of it goes.
pub(crate) struct Record<S, F> {
    sink: S,
    /// Its filter, whose memory all records use in turn.
    filter: Filter<Held>,
    sum: Sum,
    on_bad: F,
}

/// Why a record is bad, before its place in the stream is known.
#[derive(Debug)]
enum Flaw {
    /// More of its output would have to wait.
    Output(Raise),
    /// Its place is in the document.
    Document(Error),
}

impl<S: Sink, F: FnMut(u64, &Error)> Record<S, F> {
    /// Takes the next bytes of the document.
    fn feed(&mut self, bytes: &[u8]) -> Result<(), Flaw> {
        let fed = self.filter.write(bytes);
        self.judge(fed)
    }

    /// The document is complete: it is good, and its output waits to be [handed on](Self::drain). `beside` are bytes of the
    /// record that waited beside it.
    fn complete(&mut self, number: u64, beside: u64) -> Result<(), Flaw> {
        let ended = self.filter.end_unplanned();
        let mut report = self.judge(ended)?;
        let waited = self.filter.sink_mut().peak() + beside;
        report.held_peak_bytes = report.held_peak_bytes.max(waited);
        self.sum.add(number, &report);
        Ok(())
    }

    /// What a step gave. An output that became too long failed first: what a filter emits before an error does not depend on
    /// the chunks.
    fn judge<T>(&mut self, result: Result<T, Error>) -> Result<T, Flaw> {
        match self.filter.sink_mut().error.take() {
            Some(raise) => Err(Flaw::Output(raise)),
            None => result.map_err(Flaw::Document),
        }
    }

    /// Hands on the output.
    fn drain(&mut self, mut take: impl FnMut(&mut S, &[u8])) -> Result<(), Error> {
        let Self { sink, filter, .. } = self;
        filter.sink_mut().drain_into(|piece| {
            take(sink, piece);
            !sink.is_closed()
        })
    }

    /// Tells that the record is bad, and forgets it.
    fn bad(&mut self, number: u64, error: &Error) {
        self.sum.fail(number, self.filter.held_peak(), error);
        (self.on_bad)(number, error);
        self.restart();
    }

    /// Makes ready for the next record.
    fn restart(&mut self) {
        self.filter.sink_mut().clear();
        self.filter.restart();
    }
}

/// What waits until a record is complete.
#[derive(Debug)]
struct Held {
    hold: Hold,
    limits: Limits,
    meter: Meter,
    /// As a sink it cannot tell at once that it is full.
    error: Option<Raise>,
}

impl Held {
    fn new(limits: &Limits) -> Self {
        Self { hold: Hold::default(), limits: limits.clone(), meter: Meter::default(), error: None }
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Raise> {
        self.hold.push(bytes, &self.limits, &mut self.meter)
    }

    /// What waits, on its own.
    fn take(&mut self) -> Self {
        let (hold, meter) = (std::mem::take(&mut self.hold), std::mem::take(&mut self.meter));
        Self { hold, meter, limits: self.limits.clone(), error: None }
    }

    /// The most bytes that waited at once.
    fn peak(&self) -> u64 {
        self.meter.peak()
    }

    /// Hands everything on until `take` says that it is enough, and is empty.
    fn drain_into(&mut self, mut take: impl FnMut(&[u8]) -> bool) -> Result<(), Error> {
        self.hold.drain(
            &mut self.meter,
            |_, piece| Ok(take(piece)),
            |raise| Error::new(raise.kind, raise.message),
        )
    }

    fn clear(&mut self) {
        self.hold.clear(&mut self.meter);
        self.meter = Meter::default();
        self.error = None;
    }
}

impl Sink for Held {
    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.push(bytes).err();
        }
    }

    fn is_closed(&self) -> bool {
        self.error.is_some()
    }
}
