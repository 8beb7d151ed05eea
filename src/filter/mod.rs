//! Runs a program over a document that arrives in chunks.
//!
//! [`Filter`] is the façade, [`core`] one run. Where a spec has branches, the document [chooses](choose) one. Stages in a
//! [`chain`] do the work: one on the [`document`], then [`items`] on its payload, then those of the [`tail`] on what is left.
//! Each is a machine with a handler, and reads what the one before writes. Drivers that can read a document twice find out
//! first what would have to wait, through [`Scout`].

mod call;
mod chain;
mod choose;
#[cfg(feature = "content")]
mod content;
mod core;
mod document;
mod explain;
pub(crate) mod hold;
mod items;
mod length;
mod options;
mod patches;
mod payload;
mod program;
mod root;
mod scout;
mod seek;
mod stage;
mod tail;
mod when;
mod whole;
mod wrap;

#[cfg(test)]
mod costs;
#[cfg(test)]
mod tests;

use crate::error::Error;
use crate::report::{MissedPath, Report};
use crate::sink::Sink;

use self::core::{Core, Pass};
pub use explain::{Explanation, Mode};
pub use options::{Call, CallOptions};
pub use program::Program;
pub(crate) use scout::{Ahead, Scout};

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

impl<S: Sink> Filter<S> {
    /// Creates a filter for one document, which writes to `sink`.
    ///
    /// `call` is a `&Program`, or a program [with options](Program::with_options).
    pub fn new<'a>(call: impl Into<Call<'a>>, sink: S) -> Self {
        let call = call.into();
        let core = Core::new(call.program(), call.options(), Ahead::default(), Pass::Stream);
        Self { core, sink }
    }

    /// A run over a document of which some is known already. `whole`: it comes in one chunk, so nothing need be held.
    pub(crate) fn scouted(call: &Call<'_>, sink: S, ahead: Ahead, whole: bool) -> Self {
        let pass = if whole { Pass::Whole } else { Pass::Stream };
        Self { core: Core::new(call.program(), call.options(), ahead, pass), sink }
    }

    /// Takes the next bytes of the document.
    ///
    /// # Errors
    /// Malformed input, a reached limit, a miss under `on_error: closed`. After an error the filter stays failed.
    pub fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        let Self { core, sink } = self;
        core.write(chunk, sink)
    }

    /// The document is complete.
    ///
    /// # Errors
    /// As for [`write`](Self::write), and [`UnexpectedEnd`](crate::ErrorKind::UnexpectedEnd) if it is not complete.
    pub fn end(&mut self) -> Result<Report, Error> {
        let Self { core, sink } = self;
        core.end(sink)?;
        Ok(core.report())
    }

    /// The same, with a report that has no plan: that is the program's, and the same for every document.
    pub(crate) fn end_unplanned(&mut self) -> Result<Report, Error> {
        let Self { core, sink } = self;
        core.end(sink)?;
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
        self.core.is_done()
    }

    /// What the run did so far; after an error, with the error in it.
    pub fn report(&self) -> Report {
        self.core.report()
    }

    /// Says what was probably meant by the first selected paths that were not found.
    pub(crate) fn suggest(&self, missed: &mut [MissedPath]) {
        self.core.suggest(missed);
    }

    /// The most bytes that waited at once so far.
    pub(crate) fn held_peak(&self) -> u64 {
        self.core.tally().held_peak_bytes
    }

    /// Makes an error of the driver's the run's own; the report tells it.
    pub(crate) fn fail(&mut self, error: &Error) -> Report {
        self.core.fail(error);
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
