//! Runs on the thread pool.

use napi::Task;
use napi::bindgen_prelude::{Buffer, Env};
use tamis_bindings::{BindingCall, BindingError, BindingProgram};

use crate::failure::{Outcome, outcome};
use crate::program::call_of;

/// One document, copied, with its program.
pub struct FilterTask {
    program: BindingProgram,
    call: Option<Result<BindingCall, BindingError>>,
    document: Vec<u8>,
}

impl FilterTask {
    pub(crate) fn new(program: &BindingProgram, document: &[u8], options: Option<String>) -> Self {
        Self { program: program.clone(), call: Some(call_of(options)), document: document.to_vec() }
    }
}

impl Task for FilterTask {
    type Output = Result<Vec<u8>, BindingError>;
    type JsValue = Outcome<Buffer>;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        let call = self.call.take().unwrap_or_else(|| Ok(BindingCall::default()));
        Ok(call.and_then(|call| Ok(self.program.filter(&call, &self.document)?.output)))
    }

    fn resolve(&mut self, _: Env, output: Self::Output) -> napi::Result<Self::JsValue> {
        Ok(outcome(output.map(Buffer::from)))
    }
}
