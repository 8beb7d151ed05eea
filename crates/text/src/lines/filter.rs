//! The public push type over a text: bytes in, filtered bytes to a [`Sink`].

use std::fmt;

use tamis_json::error::{Error, ErrorKind};
use tamis_json::limits::Limits;
use tamis_json::sink::Sink;

use super::pipeline::TextPipeline;
use super::program::TextProgram;
use super::report::TextReport;

/// One run of a [`TextProgram`] over a text: bytes are pushed in, output is written to a [`Sink`].
///
/// Use it when a text arrives in chunks. For a text in memory, [`TextProgram::apply`] is shorter. Chunks may be cut
/// anywhere and have any size; output and report do not depend on them.
///
/// The output is never longer than the input if that has at most 4 KiB: such an output is held until it is complete,
/// and discarded in favour of the input if it is not shorter. Only the text of `on_empty` and the line that reports
/// left-out lines are written in any case.
///
/// If the program has any operation, input lines that look like a notice of tamis (`[tamis …`, `... 3 lines left out`)
/// are prefixed with a mark: `| [tamis …`.
///
/// Memory: the open line and, with `dedup`, the line before it, each up to the limit `line`
/// ([`Limits::with_line`](tamis_json::limits::Limits::with_line)); about 30 KiB of buffers; and the caches of the patterns. A longer
/// line is written in parts without being held. If there are patterns, it is written only if its beginning proves that
/// they keep it.
///
/// ```
/// use tamis::text::{TextFilter, TextProgram, TextSpec};
///
/// let program = TextProgram::compile(&TextSpec::new().strip_ansi(true).max_lines(2))?;
/// let mut filter = TextFilter::new(&program, Vec::new());
/// for chunk in ["\x1b[3", "2mok\x1b[0m\n 10 %\r", "100 %\nx\ny", "\nz\n"] {
///     filter.write(chunk.as_bytes())?;
/// }
/// let report = filter.end()?;
/// assert_eq!(filter.into_sink(), b"ok\n100 %\nx\ny\nz\n");
/// assert_eq!((report.lines_in, report.lines_out, report.lines_left_out), (5, 5, 0));
/// # Ok::<(), tamis::Error>(())
/// ```
pub struct TextFilter<S> {
    pipeline: TextPipeline,
    /// Set by `end`.
    report: Option<TextReport>,
    sink: S,
}

impl<S: Sink> TextFilter<S> {
    /// Creates a filter with default [`Limits`].
    pub fn new(program: &TextProgram, sink: S) -> Self {
        Self::with_limits(program, &Limits::new(), sink)
    }

    /// Creates a filter with the given limits. It uses [`line`](Limits::with_line) and [`held`](Limits::with_held).
    pub fn with_limits(program: &TextProgram, limits: &Limits, sink: S) -> Self {
        Self { pipeline: TextPipeline::new(program, limits), report: None, sink }
    }

    /// Filters the next bytes of the text.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`] after [`end`](Self::end). No text is an error.
    pub fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        if self.report.is_some() {
            return Err(ended());
        }
        self.pipeline.write(chunk, &mut self.sink);
        Ok(())
    }

    /// Writes everything that is held and may be written, including the beginning of the open line.
    ///
    /// Call it if somebody waits for the output and no input has arrived for a second or so: the open line may be a
    /// question. From then on, a short output is no longer compared with the input, and written lines are not folded or
    /// grouped with those that follow. A line that a pattern may still remove is held until it ends, and one that may
    /// turn out to be a notice of tamis is held until more of it arrives. The output depends on the times of the calls,
    /// but still not on the chunks. `tamis run` and `tamis text` call it.
    ///
    /// ```
    /// use tamis::text::{TextFilter, TextProgram, TextSpec};
    ///
    /// let program = TextProgram::compile(&TextSpec::new().strip_lines_matching("^DEBUG").dedup(true))?;
    /// let mut filter = TextFilter::new(&program, Vec::new());
    /// filter.write(b"DEBUG x\nretrying\nretrying\nContinue? ")?;
    /// assert_eq!(filter.sink(), b"");
    /// filter.release();
    /// assert_eq!(filter.sink(), b"retrying (x2)\nContinue? ");
    /// filter.write(b"y\nretrying\n")?;
    /// filter.end()?;
    /// assert_eq!(filter.into_sink(), b"retrying (x2)\nContinue? y\nretrying\n");
    /// # Ok::<(), tamis::Error>(())
    /// ```
    pub fn release(&mut self) {
        if self.report.is_none() {
            self.pipeline.release(&mut self.sink);
        }
    }

    /// Ends the text: writes what is held and returns the report.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`] if the filter has ended before.
    pub fn end(&mut self) -> Result<TextReport, Error> {
        if self.report.is_some() {
            return Err(ended());
        }
        self.pipeline.end(&mut self.sink);
        let report = self.pipeline.settle(&mut self.sink);
        self.report = Some(report);
        Ok(report)
    }

    /// Returns the sink.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// Returns the sink, to write to it or flush it between chunks.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Consumes the filter and returns the sink.
    pub fn into_sink(self) -> S {
        self.sink
    }
}

/// The error of a call after the end, as for `Filter`.
pub fn ended() -> Error {
    Error::new(ErrorKind::Failed, "the filter has ended")
}

impl<S> fmt::Debug for TextFilter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextFilter").finish_non_exhaustive()
    }
}
