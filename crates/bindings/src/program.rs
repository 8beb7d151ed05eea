//! A compiled filter, and its runs.

use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;

use tamis::{
    Error, FailedRun, Filter, Program, Report, RunResult, Spec, WriteSink, filter_events,
    filter_file, filter_ndjson, filter_slice,
};
use tamis_manifest::ManifestEntry;

use crate::error::BindingError;
use crate::idle_run::{IdleRun, SMALL};
use crate::options::{BindingCall, read};
use crate::plain_text::PlainText;
use crate::stream::BindingStream;

/// A compiled filter. Cheap to clone, shared by any number of threads.
#[derive(Clone, Debug)]
pub struct BindingProgram {
    program: Program,
    removes_for_safety: bool,
    plain: PlainText,
    /// The JSON text of the rules. A filter of a manifest has none: it may have rules that JSON cannot state.
    source: Option<Arc<str>>,
    idle: IdleRun,
}

/// The output of a run, and its report.
#[derive(Debug)]
#[non_exhaustive]
pub struct BindingRun {
    /// The output. Empty if the run wrote to a writer.
    pub output: Vec<u8>,
    report: Report,
}

impl BindingRun {
    /// Returns the report as a JSON object.
    #[must_use]
    pub fn report(&self) -> String {
        text_of(&self.report)
    }

    /// Returns why the output was not made by the rules: the reason of a total miss, for a warning.
    #[must_use]
    pub fn warning(&self) -> Option<&str> {
        self.report.fallback.as_deref()
    }
}

impl BindingProgram {
    /// Compiles a spec, given as a JSON object with the names of native specs.
    ///
    /// # Errors
    /// Fails for names that are not known and for rules that cannot be compiled, with the kind `spec`.
    pub fn compile(spec: &str) -> Result<Self, BindingError> {
        let source = Some(spec.into());
        let spec: Spec = read(spec)?;
        let program = Program::compile(&spec).map_err(|error| BindingError::from(&error))?;
        let removes_for_safety = spec.removes_for_safety();
        let plain = PlainText::of_spec(&spec)?;
        Ok(Self { program, removes_for_safety, plain, source, idle: IdleRun::default() })
    }

    pub(crate) fn of_entry(entry: &ManifestEntry) -> Result<Self, BindingError> {
        Ok(Self {
            program: entry.program().clone(),
            removes_for_safety: entry.removes_for_safety(),
            plain: PlainText::of_entry(entry)?,
            source: None,
            idle: IdleRun::default(),
        })
    }

    /// Filters a text that is not JSON, as the proxy does with the text of a result: credentials are replaced, and the rule
    /// `text_filter` applies. Returns `None` if the text must not pass, because it could have values that other rules remove
    /// from JSON. With `is_error`, the text is the message of a failed call.
    ///
    /// ```
    /// use tamis_bindings::BindingProgram;
    ///
    /// let text = b"see https://mira:tide@example.org/";
    /// let redacts = BindingProgram::compile(r#"{"redact": "secrets"}"#)?;
    /// let found = redacts.filter_plain(text, false).unwrap();
    /// assert_eq!(found, b"see https://mira:[redacted:url-password]@example.org/");
    /// let badges = BindingProgram::compile(r#"{"redact": {"patterns": {"badge": "E-[0-9]+"}}}"#)?;
    /// assert_eq!(badges.filter_plain(b"E-123", false).unwrap(), b"[redacted:badge]");
    /// assert_eq!(BindingProgram::compile(r#"{"exclude": ["user"]}"#)?.filter_plain(text, false), None);
    /// # Ok::<(), tamis_bindings::BindingError>(())
    /// ```
    #[must_use]
    pub fn filter_plain(&self, text: &[u8], is_error: bool) -> Option<Vec<u8>> {
        self.plain.filter(text, is_error, self.removes_for_safety)
    }

    /// Returns the JSON text that the program was compiled from, or `None` for a filter of a manifest.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// Returns whether the caller may rely on a rule to keep values back. An adapter must then not pass the original if
    /// the filter fails.
    #[must_use]
    pub fn removes_for_safety(&self) -> bool {
        self.removes_for_safety
    }

    /// Returns the rules as JSON.
    ///
    /// # Errors
    /// Fails with the kind `spec` if the rules of a manifest have a number that JSON text of serde cannot hold exactly.
    pub fn spec(&self) -> Result<String, BindingError> {
        serde_json::to_string(self.program.spec()).map_err(|error| BindingError::options(&error))
    }

    /// Returns how the program will run, in words.
    #[must_use]
    pub fn explain(&self, call: &BindingCall) -> String {
        self.program.explain(&call.0).to_string()
    }

    /// Returns how the program will run, as a JSON object.
    #[must_use]
    pub fn plan(&self, call: &BindingCall) -> String {
        text_of(&self.program.explain(&call.0))
    }

    /// Returns the rules in one line, in words.
    #[must_use]
    pub fn summary(&self) -> String {
        self.program.spec().summary()
    }

    /// Filters a document that is in memory.
    ///
    /// # Errors
    /// Malformed input, a reached limit, a miss under `on_error: closed`.
    pub fn filter(&self, call: &BindingCall, document: &[u8]) -> Result<BindingRun, BindingError> {
        let (output, report) = filter_slice(self.program.with_options(&call.0), document)?;
        Ok(BindingRun { output, report })
    }

    /// Filters a document that is in memory, without options of a call, and returns the output without a report. Small documents
    /// take turns with one run.
    ///
    /// # Errors
    /// As for [`filter`](Self::filter).
    ///
    /// ```
    /// use tamis_bindings::BindingProgram;
    ///
    /// let program = BindingProgram::compile(r#"{"select": ["id"]}"#)?;
    /// assert_eq!(program.output(br#"{"id": 1, "x": 2}"#)?, br#"{"id":1}"#);
    /// assert_eq!(program.output(br#"{"id": "#).unwrap_err().kind, "unexpected_end");
    /// assert_eq!(program.output(br#"{"id": 3, "x": 4}"#)?, br#"{"id":3}"#);
    /// # Ok::<(), tamis_bindings::BindingError>(())
    /// ```
    pub fn output(&self, document: &[u8]) -> Result<Vec<u8>, BindingError> {
        if document.len() <= SMALL {
            return self.output_with(document, <[u8]>::to_vec);
        }
        Ok(self.filter(&BindingCall::default(), document)?.output)
    }

    /// As [`output`](Self::output), but gives the output to `take`, which copies it where the caller needs it: for a small document,
    /// nothing is allocated before.
    ///
    /// # Errors
    /// As for [`filter`](Self::filter).
    pub fn output_with<R>(
        &self,
        document: &[u8],
        take: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, BindingError> {
        if document.len() <= SMALL {
            return self.idle.filter(&self.program, document, take);
        }
        Ok(take(&self.filter(&BindingCall::default(), document)?.output))
    }

    /// Filters a file, which may be read twice instead of held.
    ///
    /// # Errors
    /// As for [`filter`](Self::filter), and errors of the file and the writer.
    pub fn filter_file(
        &self,
        call: &BindingCall,
        file: File,
        writer: impl Write,
    ) -> Result<BindingRun, BindingError> {
        let report = filter_file(self.program.with_options(&call.0), file, writer)?;
        Ok(BindingRun { output: Vec::new(), report })
    }

    /// Filters what `reader` returns into `writer`, as it arrives.
    ///
    /// # Errors
    /// As for [`filter`](Self::filter), and errors of the reader and the writer.
    pub fn filter_reader(
        &self,
        call: &BindingCall,
        reader: impl Read,
        writer: impl Write,
    ) -> Result<BindingRun, BindingError> {
        let mut filter = Filter::new(self.program.with_options(&call.0), WriteSink::new(writer));
        match filter.read_from(reader) {
            Ok(report) => Ok(BindingRun { output: Vec::new(), report }),
            Err(error) => Err(failed(&error, Vec::new(), &filter.report())),
        }
    }

    /// Filters each line as a document of its own. A line that fails writes nothing.
    ///
    /// # Errors
    /// The first line that failed, after all lines were read. [`ErrorMembers::output`](crate::ErrorMembers::output) has the output of the others.
    pub fn filter_lines(
        &self,
        call: &BindingCall,
        lines: &[u8],
    ) -> Result<BindingRun, BindingError> {
        let mut output = Vec::new();
        let ran = filter_ndjson(self.program.with_options(&call.0), lines, &mut output, |_, _| {});
        ended(output, ran)
    }

    /// Filters the data of each event of an event stream (`text/event-stream`) as a document. Comments, other fields,
    /// and data that is empty or `[DONE]` are kept. An event that fails writes nothing.
    ///
    /// # Errors
    /// The first event that failed, after all events were read. [`ErrorMembers::output`](crate::ErrorMembers::output) has the output of the others.
    ///
    /// ```
    /// use tamis_bindings::{BindingCall, BindingProgram};
    ///
    /// let program = BindingProgram::compile(r#"{"select": ["id"]}"#)?;
    /// let events = b"id: 7\ndata: {\"id\": 1, \"x\": 2}\n\ndata: [DONE]\n\n";
    /// let run = program.filter_events(&BindingCall::default(), events)?;
    /// assert_eq!(run.output, b"id: 7\ndata: {\"id\":1}\n\ndata: [DONE]\n\n");
    /// # Ok::<(), tamis_bindings::BindingError>(())
    /// ```
    pub fn filter_events(
        &self,
        call: &BindingCall,
        events: &[u8],
    ) -> Result<BindingRun, BindingError> {
        let mut output = Vec::new();
        let ran = filter_events(self.program.with_options(&call.0), events, &mut output, |_, _| {});
        ended(output, ran)
    }

    /// Starts a run that bytes are pushed into.
    #[must_use]
    pub fn stream(&self, call: &BindingCall) -> BindingStream {
        BindingStream::of_document(Filter::new(self.program.with_options(&call.0), Vec::new()))
    }
}

/// Returns the outcome of a run over several documents.
fn ended(output: Vec<u8>, ran: RunResult<Report>) -> Result<BindingRun, BindingError> {
    let (report, result) = FailedRun::split(ran);
    match result {
        Ok(()) => Ok(BindingRun { output, report }),
        Err(error) => Err(failed(&error, output, &report)),
    }
}

fn failed(error: &Error, output: Vec<u8>, report: &Report) -> BindingError {
    BindingError::of_run(error, output, Some(text_of(report)))
}

/// Writes a value as JSON. The types of the library always can be written.
pub(crate) fn text_of(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "{}".to_owned())
}
