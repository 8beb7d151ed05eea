//! Runs that bytes are pushed into.

use napi::bindgen_prelude::{BufferSlice, Env};
use napi_derive::napi;
use tamis_bindings::BindingStream;

use crate::failure::{Outcome, buffer};

/// A run that bytes are pushed into.
#[napi]
pub struct NativeStream(BindingStream);

impl NativeStream {
    pub(crate) fn new(stream: BindingStream) -> Self {
        Self(stream)
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
        buffer(env, self.0.write(chunk))
    }

    /// Ends the input and returns the rest of the output.
    #[napi]
    pub fn end<'env>(
        &mut self,
        env: &'env Env,
        exit_code: Option<i32>,
    ) -> napi::Result<Outcome<BufferSlice<'env>>> {
        buffer(env, self.0.end(exit_code))
    }

    /// Returns lines that a reader should see now.
    #[napi]
    pub fn release<'env>(&mut self, env: &'env Env) -> napi::Result<Outcome<BufferSlice<'env>>> {
        buffer(env, Ok(self.0.release()))
    }

    /// Frees what the run holds.
    #[napi]
    pub fn close(&mut self) {
        self.0.close();
    }

    /// Whether the output is complete, so that further input is ignored.
    #[napi(getter)]
    pub fn done(&self) -> bool {
        self.0.is_done()
    }

    /// The report, as JSON.
    #[napi(getter)]
    pub fn report(&self) -> String {
        self.0.report()
    }
}
