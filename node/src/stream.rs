//! Runs that bytes are pushed into.

use napi::bindgen_prelude::{BufferSlice, Env, ObjectFinalize};
use napi_derive::napi;
use tamis_bindings::BindingStream;

use crate::failure::{Outcome, buffer};

/// Bytes that a run takes, about. They are reported to the garbage collector, which would otherwise see no reason to collect streams.
const RUN: i64 = 60 << 10;

/// A run that bytes are pushed into.
#[napi(custom_finalize)]
pub struct NativeStream {
    run: BindingStream,
    /// Whether the garbage collector counts the run.
    is_counted: bool,
}

impl NativeStream {
    pub(crate) fn new(env: &Env, run: BindingStream) -> Self {
        let is_counted = env.adjust_external_memory(RUN).is_ok();
        Self { run, is_counted }
    }

    /// Reports a run that is over to the garbage collector.
    fn settle(&mut self, env: &Env) {
        if self.is_counted && self.run.is_over() {
            self.is_counted = env.adjust_external_memory(-RUN).is_err();
        }
    }
}

impl ObjectFinalize for NativeStream {
    fn finalize(mut self, env: Env) -> napi::Result<()> {
        self.run.close();
        self.settle(&env);
        Ok(())
    }
}

#[napi]
impl NativeStream {
    /// Takes the next bytes and returns the output that is ready.
    #[napi]
    pub fn write<'env>(
        &mut self,
        env: &'env Env,
        chunk: &[u8],
    ) -> napi::Result<Outcome<BufferSlice<'env>>> {
        let written = self.run.write(chunk);
        self.settle(env);
        buffer(env, written)
    }

    /// Ends the input and returns the rest of the output.
    #[napi]
    pub fn end<'env>(
        &mut self,
        env: &'env Env,
        exit_code: Option<i32>,
    ) -> napi::Result<Outcome<BufferSlice<'env>>> {
        let ended = self.run.end(exit_code);
        self.settle(env);
        buffer(env, ended)
    }

    /// Returns lines that a reader should see now.
    #[napi]
    pub fn release<'env>(&mut self, env: &'env Env) -> napi::Result<Outcome<BufferSlice<'env>>> {
        buffer(env, Ok(self.run.release()))
    }

    /// Frees the memory of the run.
    #[napi]
    pub fn close(&mut self, env: &Env) {
        self.run.close();
        self.settle(env);
    }

    /// Whether the output is complete, so that further input is ignored.
    #[napi(getter)]
    pub fn done(&self) -> bool {
        self.run.is_done()
    }

    /// The report, as JSON.
    #[napi(getter)]
    pub fn report(&self) -> String {
        self.run.report()
    }
}
