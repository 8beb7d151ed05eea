//! A compiled filter, its runs, and streams that bytes are pushed into.

use std::fs::File;
use std::io::{Read, Write};

use tamis::manifest::ManifestEntry;
use tamis::{
    Error, FailedRun, Filter, Program, Report, Spec, WriteSink, filter_file, filter_ndjson,
    filter_slice,
};

use crate::error::BindingError;
use crate::options::{BindingCall, read};

/// A compiled filter. Cheap to clone, shared by any number of threads.
#[derive(Clone, Debug)]
pub struct BindingProgram {
    program: Program,
    removes_for_safety: bool,
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
        self.report.filter_error.as_deref()
    }
}

impl BindingProgram {
    /// Compiles a spec, given as a JSON object with the names of native specs.
    ///
    /// # Errors
    /// Fails for names that are not known and for rules that cannot be compiled, with the kind `spec`.
    pub fn compile(spec: &str) -> Result<Self, BindingError> {
        let spec: Spec = read(spec)?;
        let program = Program::compile(&spec).map_err(|error| BindingError::from(&error))?;
        Ok(Self { program, removes_for_safety: spec.removes_for_safety() })
    }

    pub(crate) fn of_entry(entry: &ManifestEntry) -> Self {
        Self { program: entry.program().clone(), removes_for_safety: entry.removes_for_safety() }
    }

    /// Returns whether the caller may rely on a rule to keep values back. An adapter must then not pass the original if
    /// the filter fails.
    #[must_use]
    pub fn removes_for_safety(&self) -> bool {
        self.removes_for_safety
    }

    /// Returns the spec as JSON.
    #[must_use]
    pub fn spec(&self) -> String {
        text_of(self.program.spec())
    }

    /// Returns how the program will run, in words.
    #[must_use]
    pub fn explain(&self, call: &BindingCall) -> String {
        self.program.explain(&call.0).to_string()
    }

    /// Filters a document that is in memory.
    ///
    /// # Errors
    /// Malformed input, a reached limit, a miss under `on_error: closed`.
    pub fn filter(&self, call: &BindingCall, document: &[u8]) -> Result<BindingRun, BindingError> {
        let (output, report) = filter_slice(self.program.with_options(&call.0), document)?;
        Ok(BindingRun { output, report })
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
        let (report, result) = FailedRun::split(ran);
        match result {
            Ok(()) => Ok(BindingRun { output, report }),
            Err(error) => Err(failed(&error, output, &report)),
        }
    }

    /// Starts a run that bytes are pushed into.
    #[must_use]
    pub fn stream(&self, call: &BindingCall) -> BindingStream {
        BindingStream { filter: Filter::new(self.program.with_options(&call.0), Vec::new()) }
    }
}

/// A run that bytes are pushed into. Each call returns what is ready.
#[derive(Debug)]
pub struct BindingStream {
    filter: Filter<Vec<u8>>,
}

impl BindingStream {
    /// Takes the next bytes, and returns the output that is ready.
    ///
    /// # Errors
    /// As for [`BindingProgram::filter`]. [`ErrorMembers::output`](crate::ErrorMembers::output) has what this call wrote before the error. The stream
    /// then stays failed.
    pub fn write(&mut self, chunk: &[u8]) -> Result<Vec<u8>, BindingError> {
        let written = self.filter.write(chunk);
        self.taken(written)
    }

    /// Ends the document, and returns the rest of the output.
    ///
    /// # Errors
    /// As for [`write`](Self::write), and `unexpected_end` if the document is incomplete.
    pub fn end(&mut self) -> Result<Vec<u8>, BindingError> {
        let ended = self.filter.end().map(drop);
        self.taken(ended)
    }

    fn taken(&mut self, result: Result<(), Error>) -> Result<Vec<u8>, BindingError> {
        let output = std::mem::take(self.filter.sink_mut());
        match result {
            Ok(()) => Ok(output),
            Err(error) => Err(failed(&error, output, &self.filter.report())),
        }
    }

    /// Returns whether the output is complete, so that further input is ignored.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.filter.is_done()
    }

    /// Returns the report so far, as a JSON object.
    #[must_use]
    pub fn report(&self) -> String {
        text_of(&self.filter.report())
    }
}

fn failed(error: &Error, output: Vec<u8>, report: &Report) -> BindingError {
    BindingError::of_run(error, output, Some(text_of(report)))
}

/// Writes a value as JSON. The types of the library always can be written.
pub(crate) fn text_of(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "{}".to_owned())
}
