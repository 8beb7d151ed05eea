//! Filters a document that arrives in chunks with a compiled program.
//!
//! [`compile`] turns a [`Spec`](crate::Spec) into a [`Program`], which is data. [`run`] executes a program;
//! [`Filter`] is its façade. [`explain`] describes how a program will run. `compile` uses neither of the others, and
//! `explain` does not use `run`. Drivers that can read a document twice first use [`FirstPass`] to make the decisions
//! that the run would otherwise hold the document for.

mod bad_lines;
mod call;
mod compile;
mod explain;
mod options;
mod page;
mod patterns;
mod run;
mod templates;

#[cfg(test)]
mod costs;
#[cfg(test)]
mod kernels;
#[cfg(any(test, fuzzing))]
pub(crate) mod loop_diff;
#[cfg(test)]
mod loop_shares;
#[cfg(test)]
mod tests;

use tamis_json::error::Error;
use tamis_json::sink::Sink;

use crate::report::{MissedPath, Report};

pub use bad_lines::BadLines;
pub use call::Call;
pub use compile::program::Program;
pub use explain::Explanation;
pub use options::CallOptions;
pub(crate) use run::document_facts::DocumentFacts;
use run::filter_run::FilterRun;
pub(crate) use run::first_pass::FirstPass;
use run::run_mode::RunMode;

/// One run of a program: accepts bytes in chunks and writes the output to a [`Sink`].
///
/// Chunks may have any size and be cut anywhere. Output, errors and the report (except `plan` and `held_peak_bytes`)
/// do not depend on it. After an error the filter stays failed and emits nothing more. The output up to that point is
/// a prefix of the output for some valid completion of the input.
///
/// Memory: the open path, the bytes that the spec has to hold (see [`Limits`](crate::Limits)), and about 50 KiB. Time
/// is linear in the input.
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
        let run = FilterRun::new(
            call.program(),
            call.options(),
            DocumentFacts::default(),
            RunMode::Stream,
        );
        Self { run, sink }
    }

    /// Creates a filter that uses the result of a first pass over the document. `whole`: the document arrives in one
    /// chunk, so no input is held.
    pub(crate) fn with_facts(call: &Call<'_>, sink: S, facts: DocumentFacts, whole: bool) -> Self {
        let mode = if whole { RunMode::Slice } else { RunMode::Stream };
        Self { run: FilterRun::new(call.program(), call.options(), facts, mode), sink }
    }

    /// Reads the next bytes of the document.
    ///
    /// # Errors
    /// Fails on malformed input, an exceeded limit, or a miss under `on_error: closed`. After an error the filter
    /// stays failed.
    pub fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        let Self { run, sink } = self;
        run.write(chunk, sink)
    }

    /// Finishes the document and returns the report.
    ///
    /// # Errors
    /// As for [`write`](Self::write), and [`UnexpectedEnd`](crate::ErrorKind::UnexpectedEnd) if the document is
    /// incomplete.
    pub fn end(&mut self) -> Result<Report, Error> {
        let Self { run, sink } = self;
        run.end(sink)?;
        Ok(run.report())
    }

    /// Finishes the document without a report, which would cost as much as filtering some hundred bytes.
    ///
    /// ```
    /// use tamis::{Filter, Program, Spec};
    ///
    /// let program = Program::compile(&Spec::new().select("id"))?;
    /// let mut filter = Filter::new(&program, Vec::new());
    /// filter.write(br#"{"id": 1, "x": 2}"#)?;
    /// filter.finish()?;
    /// assert_eq!(filter.into_sink(), b"{\"id\":1}");
    /// # Ok::<(), tamis::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`end`](Self::end).
    pub fn finish(&mut self) -> Result<(), Error> {
        let Self { run, sink } = self;
        run.end(sink)
    }

    /// Finishes the document and returns a report without a plan, which is the same for all documents of a program.
    pub(crate) fn end_unplanned(&mut self) -> Result<Report, Error> {
        let Self { run, sink } = self;
        run.end(sink)?;
        Ok(run.tally())
    }

    /// Starts a new document with the same program, options and sink, reusing allocations.
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

    /// Returns whether the run stopped early: the output is complete and further input is ignored.
    pub fn is_done(&self) -> bool {
        self.run.is_done()
    }

    /// Returns the report so far. After an error it contains the error.
    pub fn report(&self) -> Report {
        self.run.report()
    }

    /// Adds a probable correction to the first selected paths that were not found.
    pub(crate) fn suggest(&self, missed: &mut [MissedPath]) {
        self.run.suggest(missed);
    }

    /// Returns the largest number of bytes held at once so far.
    pub(crate) fn held_peak(&self) -> u64 {
        self.run.tally().held_peak_bytes
    }

    /// Makes the run fail with an error of its driver, and returns the report.
    pub(crate) fn fail(&mut self, error: &Error) -> Report {
        self.run.fail(error);
        self.run.report()
    }

    /// Returns the sink.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// Returns the sink for writing.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Returns the sink and drops the filter.
    pub fn into_sink(self) -> S {
        self.sink
    }
}
