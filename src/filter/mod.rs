//! Runs a program over a document that arrives in chunks.
//!
//! [`Filter`] is the façade, [`core`] one run. Where a spec has branches, the document [chooses](choose) one. Stages in a
//! [`chain`] do the work: one on the [`document`], then [`items`] on its payload, then those of the [`tail`] on what is left.
//! Each is a machine with a handler, and reads what the one before writes. Drivers that can read a document twice find out
//! first what would have to wait, through [`FirstPass`].

mod compile;
mod explain;
mod options;
mod run;

#[cfg(test)]
mod costs;
#[cfg(test)]
mod tests;

use crate::error::Error;
use crate::report::{MissedPath, Report};
use crate::sink::Sink;

pub use compile::program::Program;
pub use explain::{ExecutionMode, Explanation};
pub use options::{Call, CallOptions};
use run::filter_run::{FilterRun, RunMode};
pub(crate) use run::first_pass::{FirstPass, Lookahead};
pub(crate) use run::hold;

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
    run: FilterRun,
    sink: S,
}

impl<S: Sink> Filter<S> {
    /// Creates a filter for one document, which writes to `sink`.
    ///
    /// `call` is a `&Program`, or a program [with options](Program::with_options).
    pub fn new<'a>(call: impl Into<Call<'a>>, sink: S) -> Self {
        let call = call.into();
        let run =
            FilterRun::new(call.program(), call.options(), Lookahead::default(), RunMode::Stream);
        Self { run, sink }
    }

    /// Creates a filter for a document of which a first pass knows something already. `whole`: the document comes in one
    /// chunk, so nothing needs to be held.
    pub(crate) fn with_lookahead(call: &Call<'_>, sink: S, ahead: Lookahead, whole: bool) -> Self {
        let mode = if whole { RunMode::Slice } else { RunMode::Stream };
        Self { run: FilterRun::new(call.program(), call.options(), ahead, mode), sink }
    }

    /// Takes the next bytes of the document.
    ///
    /// # Errors
    /// Malformed input, a reached limit, a miss under `on_error: closed`. After an error the filter stays failed.
    pub fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        let Self { run, sink } = self;
        run.write(chunk, sink)
    }

    /// The document is complete.
    ///
    /// # Errors
    /// As for [`write`](Self::write), and [`UnexpectedEnd`](crate::ErrorKind::UnexpectedEnd) if it is not complete.
    pub fn end(&mut self) -> Result<Report, Error> {
        let Self { run, sink } = self;
        run.end(sink)?;
        Ok(run.report())
    }

    /// The same, with a report that has no plan: that is the program's, and the same for every document.
    pub(crate) fn end_unplanned(&mut self) -> Result<Report, Error> {
        let Self { run, sink } = self;
        run.end(sink)?;
        Ok(run.tally())
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
        self.run.restart();
    }

    /// Whether the run stopped early: the output is complete and further input is ignored.
    pub fn is_done(&self) -> bool {
        self.run.is_done()
    }

    /// What the run did so far; after an error, with the error in it.
    pub fn report(&self) -> Report {
        self.run.report()
    }

    /// Says what was probably meant by the first selected paths that were not found.
    pub(crate) fn suggest(&self, missed: &mut [MissedPath]) {
        self.run.suggest(missed);
    }

    /// The most bytes that waited at once so far.
    pub(crate) fn held_peak(&self) -> u64 {
        self.run.tally().held_peak_bytes
    }

    /// Makes an error of the driver's the run's own; the report tells it.
    pub(crate) fn fail(&mut self, error: &Error) -> Report {
        self.run.fail(error);
        self.run.report()
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
