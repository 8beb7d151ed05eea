//! A run that bytes are pushed into: of a document, of a text, or of the output of a command.

use tamis::command::{CommandFilter, CommandReport};
use tamis::text::{TextFilter, TextReport};
use tamis::{Error, Filter};

use crate::error::BindingError;
use crate::program::text_of;

/// A run that bytes are pushed into. Each call returns the output that is ready.
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
    Text(Box<TextFilter<Vec<u8>>>, Option<TextReport>),
    Command(Box<CommandFilter<Vec<u8>>>, Option<Box<CommandReport>>),
}

impl Run {
    fn sink(&mut self) -> &mut Vec<u8> {
        match self {
            Self::Document(filter) => filter.sink_mut(),
            Self::Text(filter, _) => filter.sink_mut(),
            Self::Command(filter, _) => filter.sink_mut(),
        }
    }
}

impl BindingStream {
    pub(crate) fn of_document(filter: Filter<Vec<u8>>) -> Self {
        Self(Run::Document(Box::new(filter)))
    }

    pub(crate) fn of_text(filter: TextFilter<Vec<u8>>) -> Self {
        Self(Run::Text(Box::new(filter), None))
    }

    pub(crate) fn of_command(filter: CommandFilter<Vec<u8>>) -> Self {
        Self(Run::Command(Box::new(filter), None))
    }

    /// Takes the next bytes, and returns the output that is ready.
    ///
    /// # Errors
    /// As for [`BindingProgram::filter`](crate::BindingProgram::filter). [`ErrorMembers::output`](crate::ErrorMembers::output)
    /// has the output of this call before the error. The stream then stays failed.
    pub fn write(&mut self, chunk: &[u8]) -> Result<Vec<u8>, BindingError> {
        let written = match &mut self.0 {
            Run::Document(filter) => filter.write(chunk),
            Run::Text(filter, _) => filter.write(chunk),
            Run::Command(filter, _) => filter.write(chunk),
        };
        self.taken(written)
    }

    /// Returns the lines that a reader should see now, although later input could still change them. Call it if somebody waits
    /// and no input has arrived for a second. Documents have no such output.
    pub fn release(&mut self) -> Vec<u8> {
        match &mut self.0 {
            Run::Document(_) => {}
            Run::Text(filter, _) => filter.release(),
            Run::Command(filter, _) => filter.release(),
        }
        std::mem::take(self.0.sink())
    }

    /// Ends the input, and returns the rest of the output. `exit_code` is that of the command; other runs ignore it.
    ///
    /// # Errors
    /// As for [`write`](Self::write), and `unexpected_end` if a document is incomplete.
    pub fn end(&mut self, exit_code: Option<i32>) -> Result<Vec<u8>, BindingError> {
        let ended = match &mut self.0 {
            Run::Document(filter) => filter.end().map(drop),
            Run::Text(filter, report) => filter.end().map(|ended| *report = Some(ended)),
            Run::Command(filter, report) => {
                filter.set_exit_code(exit_code);
                filter.end().map(|ended| *report = Some(Box::new(ended)))
            }
        };
        self.taken(ended)
    }

    fn taken(&mut self, result: Result<(), Error>) -> Result<Vec<u8>, BindingError> {
        let output = std::mem::take(self.0.sink());
        match result {
            Ok(()) => Ok(output),
            Err(error) => Err(BindingError::of_run(&error, output, Some(self.report()))),
        }
    }

    /// Returns whether the output is complete, so that further input is ignored.
    #[must_use]
    pub fn is_done(&self) -> bool {
        match &self.0 {
            Run::Document(filter) => filter.is_done(),
            Run::Text(..) | Run::Command(..) => false,
        }
    }

    /// Returns the report as a JSON object. For a document it is the report so far; for a text and the output of a command it
    /// is empty until the end.
    #[must_use]
    pub fn report(&self) -> String {
        match &self.0 {
            Run::Document(filter) => text_of(&filter.report()),
            Run::Text(_, Some(report)) => text_of(report),
            Run::Command(_, Some(report)) => text_of(report),
            Run::Text(_, None) | Run::Command(_, None) => "{}".to_owned(),
        }
    }
}
