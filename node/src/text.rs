//! Lines of text that is not JSON.

use napi::bindgen_prelude::Env;
use napi_derive::napi;
use tamis_bindings::BindingText;

use crate::failure::{Outcome, outcome};
use crate::program::{Reported, reported};
use crate::stream::NativeStream;

/// Compiled rules for lines of text.
#[napi]
pub struct NativeText(BindingText);

/// Compiles rules for lines of text.
#[napi]
pub fn compile_text(rules: String) -> Outcome<NativeText> {
    outcome(BindingText::compile(&rules).map(NativeText))
}

#[napi]
impl NativeText {
    /// Filters a text.
    #[napi]
    pub fn filter<'env>(
        &self,
        env: &'env Env,
        text: &[u8],
        options: String,
    ) -> napi::Result<Outcome<Reported<'env>>> {
        let filtered = self.0.filter(&options, text);
        reported(env, filtered.map(|(output, report)| (report, output)))
    }

    /// Starts a run that bytes are pushed into.
    #[napi]
    pub fn push(&self, env: &Env, options: String) -> Outcome<NativeStream> {
        outcome(self.0.stream(&options).map(|run| NativeStream::new(env, run)))
    }

    /// The rules, as JSON.
    #[napi(getter)]
    pub fn spec(&self) -> String {
        self.0.spec()
    }
}
