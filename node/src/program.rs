//! Compiled filters.

use napi::bindgen_prelude::{AsyncTask, Buffer, BufferSlice, Env};
use napi_derive::napi;
use tamis_bindings::{BindingCall, BindingError, BindingProgram, BindingRun};

use crate::background::FilterTask;
use crate::failure::{Outcome, buffer, outcome};
use crate::stream::NativeStream;

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
        let output = match options {
            None => self.0.output(document),
            Some(_) => self.run(document, options).map(|run| run.output),
        };
        buffer(env, output)
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

    /// Filters the data of each event as a document.
    #[napi]
    pub fn filter_events<'env>(
        &self,
        env: &'env Env,
        events: &[u8],
        options: Option<String>,
    ) -> napi::Result<Outcome<BufferSlice<'env>>> {
        let run = call_of(options).and_then(|call| self.0.filter_events(&call, events));
        buffer(env, run.map(|run| run.output))
    }

    /// Filters a text that is not JSON; returns null if it must not pass.
    #[napi]
    pub fn filter_plain(&self, text: &[u8], is_error: bool) -> Option<Buffer> {
        self.0.filter_plain(text, is_error).map(Buffer::from)
    }

    /// Filters a copy of a document on another thread.
    #[napi]
    pub fn filter_async(&self, document: &[u8], options: Option<String>) -> AsyncTask<FilterTask> {
        AsyncTask::new(FilterTask::new(&self.0, document, options))
    }

    /// Starts a run that bytes are pushed into.
    #[napi]
    pub fn push(&self, env: &Env, options: Option<String>) -> Outcome<NativeStream> {
        outcome(call_of(options).map(|call| NativeStream::new(env, self.0.stream(&call))))
    }

    /// Describes how the program will run.
    #[napi]
    pub fn explain(&self, options: Option<String>) -> Outcome<String> {
        outcome(call_of(options).map(|call| self.0.explain(&call)))
    }

    /// Describes how the program will run, as JSON.
    #[napi]
    pub fn plan(&self, options: Option<String>) -> Outcome<String> {
        outcome(call_of(options).map(|call| self.0.plan(&call)))
    }

    /// The rules in one line.
    #[napi(getter)]
    pub fn summary(&self) -> String {
        self.0.summary()
    }

    /// Whether rules may be relied on to keep values back.
    #[napi(getter)]
    pub fn removes_for_safety(&self) -> bool {
        self.0.removes_for_safety()
    }

    /// The rules, as JSON.
    #[napi(getter)]
    pub fn spec(&self) -> Outcome<String> {
        outcome(self.0.spec())
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
