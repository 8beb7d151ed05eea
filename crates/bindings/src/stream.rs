//! A run that bytes are pushed into: of a document, of a text, or of the output of a command.

use tamis::text::{TextFilter, TextReport};
use tamis::{Error, Filter, Report};
use tamis_command::{CommandFilter, CommandReport};

use crate::error::BindingError;
use crate::program::text_of;

/// A run that bytes are pushed into. Each call returns the output that is ready. It frees its memory when it ends or fails,
/// because a garbage collector may need a while to drop it.
///
/// ```
/// use tamis_bindings::{BindingCall, BindingProgram};
///
/// let program = BindingProgram::compile(r#"{"select": ["id"]}"#)?;
/// let mut stream = program.stream(&BindingCall::default());
/// let mut output = stream.write(br#"[{"id": 1, "x": 2}, {"i"#)?;
/// output.extend(stream.write(br#"d": 3}]"#)?);
/// output.extend(stream.end(None)?);
/// assert_eq!(output, br#"[{"id":1},{"id":3}]"#);
/// # Ok::<(), tamis_bindings::BindingError>(())
/// ```
#[derive(Debug)]
pub struct BindingStream(Run);

#[derive(Debug)]
enum Run {
    Document(Box<Filter<Vec<u8>>>),
    Text(Box<TextFilter<Vec<u8>>>),
    Command(Box<CommandFilter<Vec<u8>>>),
    Over(RunEnd),
}

/// The rest of a run that is over.
#[derive(Debug)]
struct RunEnd {
    report: RunReport,
    is_done: bool,
    /// Why later calls fail.
    message: &'static str,
}

#[derive(Debug)]
enum RunReport {
    Document(Box<Report>),
    Text(TextReport),
    Command(Box<CommandReport>),
    /// Texts and commands have no report before their end.
    Nothing,
}

impl Run {
    /// Returns the sink, unless the run is over.
    fn sink(&mut self) -> Option<&mut Vec<u8>> {
        match self {
            Self::Document(filter) => Some(filter.sink_mut()),
            Self::Text(filter) => Some(filter.sink_mut()),
            Self::Command(filter) => Some(filter.sink_mut()),
            Self::Over(_) => None,
        }
    }

    /// Returns the report so far.
    fn report(&self) -> RunReport {
        match self {
            Self::Document(filter) => RunReport::Document(Box::new(filter.report())),
            Self::Text(_) | Self::Command(_) | Self::Over(_) => RunReport::Nothing,
        }
    }

    /// Drops the run, and returns the output that nobody has taken.
    fn end(&mut self, report: RunReport, message: &'static str) -> Vec<u8> {
        let output = self.sink().map(std::mem::take).unwrap_or_default();
        let is_done = self.is_done();
        *self = Self::Over(RunEnd { report, is_done, message });
        output
    }

    fn is_done(&self) -> bool {
        match self {
            Self::Document(filter) => filter.is_done(),
            Self::Text(_) | Self::Command(_) => false,
            Self::Over(end) => end.is_done,
        }
    }
}

impl RunEnd {
    fn refusal(&self) -> BindingError {
        BindingError::over(self.message, self.report.json())
    }
}

impl RunReport {
    fn json(&self) -> String {
        match self {
            Self::Document(report) => text_of(report),
            Self::Text(report) => text_of(report),
            Self::Command(report) => text_of(report),
            Self::Nothing => "{}".to_owned(),
        }
    }
}

impl BindingStream {
    pub(crate) fn of_document(filter: Filter<Vec<u8>>) -> Self {
        Self(Run::Document(Box::new(filter)))
    }

    pub(crate) fn of_text(filter: TextFilter<Vec<u8>>) -> Self {
        Self(Run::Text(Box::new(filter)))
    }

    pub(crate) fn of_command(filter: CommandFilter<Vec<u8>>) -> Self {
        Self(Run::Command(Box::new(filter)))
    }

    /// Takes the next bytes, and returns the output that is ready.
    ///
    /// # Errors
    /// As for [`BindingProgram::filter`](crate::BindingProgram::filter). [`ErrorMembers::output`](crate::ErrorMembers::output)
    /// has the output of this call before the error. Later calls fail with `failed`.
    pub fn write(&mut self, chunk: &[u8]) -> Result<Vec<u8>, BindingError> {
        let written = match &mut self.0 {
            Run::Document(filter) => filter.write(chunk),
            Run::Text(filter) => filter.write(chunk),
            Run::Command(filter) => filter.write(chunk),
            Run::Over(end) => return Err(end.refusal()),
        };
        match written {
            Ok(()) => Ok(self.0.sink().map(std::mem::take).unwrap_or_default()),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Returns the lines that a reader should see now, although later input could still change them. Call it if somebody waits
    /// and no input has arrived for a second. Documents have no such output.
    pub fn release(&mut self) -> Vec<u8> {
        match &mut self.0 {
            Run::Document(_) | Run::Over(_) => {}
            Run::Text(filter) => filter.release(),
            Run::Command(filter) => filter.release(),
        }
        self.0.sink().map(std::mem::take).unwrap_or_default()
    }

    /// Ends the input, and returns the rest of the output. `exit_code` is that of the command; other runs ignore it.
    ///
    /// # Errors
    /// As for [`write`](Self::write), and `unexpected_end` if a document is incomplete.
    pub fn end(&mut self, exit_code: Option<i32>) -> Result<Vec<u8>, BindingError> {
        let ended = match &mut self.0 {
            Run::Document(filter) => {
                filter.end().map(|report| RunReport::Document(Box::new(report)))
            }
            Run::Text(filter) => filter.end().map(RunReport::Text),
            Run::Command(filter) => {
                filter.set_exit_code(exit_code);
                filter.end().map(|report| RunReport::Command(Box::new(report)))
            }
            Run::Over(end) => return Err(end.refusal()),
        };
        match ended {
            Ok(report) => Ok(self.0.end(report, "the filter has ended")),
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn failed(&mut self, error: &Error) -> BindingError {
        let report = self.0.report();
        let json = report.json();
        let output = self.0.end(report, "the filter has already failed");
        BindingError::of_run(error, output, Some(json))
    }

    /// Frees what the run holds. Output that was not taken is lost, and later calls fail.
    pub fn close(&mut self) {
        if !self.is_over() {
            let report = self.0.report();
            drop(self.0.end(report, "the stream is closed"));
        }
    }

    /// Returns whether the run has ended, failed or was closed, so that it holds nothing any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.0, Run::Over(_))
    }

    /// Returns whether the output is complete, so that further input is ignored.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.0.is_done()
    }

    /// Returns the report as a JSON object. For a document it is the report so far; for a text and the output of a command it
    /// is empty until the end.
    #[must_use]
    pub fn report(&self) -> String {
        match &self.0 {
            Run::Over(end) => end.report.json(),
            run => run.report().json(),
        }
    }
}
