//! Compiled filters, and runs that bytes are pushed into.

use napi::bindgen_prelude::{AsyncTask, BufferSlice, Env};
use napi_derive::napi;
use tamis_bindings::{BindingCall, BindingError, BindingProgram, BindingRun, BindingStream};

use crate::background::FilterTask;
use crate::failure::{Outcome, buffer, outcome};

/// A compiled filter.
#[napi]
pub struct NativeProgram(pub(crate) BindingProgram);

/// An output with its report.
#[napi(object)]
pub struct Reported<'env> {
    pub output: BufferSlice<'env>,
    /// JSON.
    pub report: String,
}

/// Compiles rules.
#[napi]
pub fn compile(rules: String) -> Outcome<NativeProgram> {
    outcome(BindingProgram::compile(&rules).map(NativeProgram))
}

/// Reads the options of a call.
pub(crate) fn call_of(options: Option<String>) -> Result<BindingCall, BindingError> {
    options.map_or_else(|| Ok(BindingCall::default()), |json| BindingCall::parse(&json))
}

impl NativeProgram {
    fn run(&self, document: &[u8], options: Option<String>) -> Result<BindingRun, BindingError> {
        self.0.filter(&call_of(options)?, document)
    }
}

#[napi]
impl NativeProgram {
    /// Filters a document.
    #[napi]
    pub fn filter<'env>(
        &self,
        env: &'env Env,
        document: &[u8],
        options: Option<String>,
    ) -> napi::Result<Outcome<BufferSlice<'env>>> {
        buffer(env, self.run(document, options).map(|run| run.output))
    }

    /// Filters a document that is text.
    #[napi]
    pub fn filter_text<'env>(
        &self,
        env: &'env Env,
        document: String,
        options: Option<String>,
    ) -> napi::Result<Outcome<BufferSlice<'env>>> {
        self.filter(env, document.as_bytes(), options)
    }

    /// Filters a document and returns the report.
    #[napi]
    pub fn filter_with_report<'env>(
        &self,
        env: &'env Env,
        document: &[u8],
        options: Option<String>,
    ) -> napi::Result<Outcome<Reported<'env>>> {
        reported(env, self.run(document, options).map(|run| (run.report(), run.output)))
    }

    /// Filters each line as a document.
    #[napi]
    pub fn filter_lines<'env>(
        &self,
        env: &'env Env,
        lines: &[u8],
        options: Option<String>,
    ) -> napi::Result<Outcome<BufferSlice<'env>>> {
        let run = call_of(options).and_then(|call| self.0.filter_lines(&call, lines));
        buffer(env, run.map(|run| run.output))
    }

    /// Filters a copy of a document on another thread.
    #[napi]
    pub fn filter_async(&self, document: &[u8], options: Option<String>) -> AsyncTask<FilterTask> {
        AsyncTask::new(FilterTask::new(&self.0, document, options))
    }

    /// Starts a run that bytes are pushed into.
    #[napi]
    pub fn push(&self, options: Option<String>) -> Outcome<NativeStream> {
        outcome(call_of(options).map(|call| NativeStream(self.0.stream(&call))))
    }

    /// Describes how the program will run.
    #[napi]
    pub fn explain(&self, options: Option<String>) -> Outcome<String> {
        outcome(call_of(options).map(|call| self.0.explain(&call)))
    }

    /// Whether rules may be relied on to keep values back.
    #[napi(getter)]
    pub fn removes_for_safety(&self) -> bool {
        self.0.removes_for_safety()
    }

    /// The rules, as JSON.
    #[napi(getter)]
    pub fn spec(&self) -> String {
        self.0.spec()
    }
}

/// A run that bytes are pushed into.
#[napi]
pub struct NativeStream(BindingStream);

#[napi]
impl NativeStream {
    /// Takes the next bytes and returns the output that is ready.
    #[napi]
    pub fn write<'env>(
        &mut self,
        env: &'env Env,
        chunk: &[u8],
    ) -> napi::Result<Outcome<BufferSlice<'env>>> {
        buffer(env, self.0.write(chunk))
    }

    /// Ends the document and returns the rest of the output.
    #[napi]
    pub fn end<'env>(&mut self, env: &'env Env) -> napi::Result<Outcome<BufferSlice<'env>>> {
        buffer(env, self.0.end())
    }

    /// Whether the output is complete, so that further input is ignored.
    #[napi(getter)]
    pub fn done(&self) -> bool {
        self.0.is_done()
    }

    /// The report so far, as JSON.
    #[napi(getter)]
    pub fn report(&self) -> String {
        self.0.report()
    }
}

/// Returns a report and an output, or the failure.
pub(crate) fn reported<'env>(
    env: &'env Env,
    result: Result<(String, Vec<u8>), BindingError>,
) -> napi::Result<Outcome<Reported<'env>>> {
    Ok(match result {
        Ok((report, output)) => {
            Outcome::A(Reported { output: BufferSlice::from_data(env, output)?, report })
        }
        Err(error) => Outcome::B(error.into()),
    })
}
