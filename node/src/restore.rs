//! Factored documents.

use napi::bindgen_prelude::{BufferSlice, Env};
use napi_derive::napi;

use crate::failure::{Outcome, buffer};

/// Restores a document that was factored. A document that is not factored is returned unchanged.
#[napi]
pub fn restore<'env>(env: &'env Env, document: &[u8]) -> napi::Result<Outcome<BufferSlice<'env>>> {
    buffer(env, tamis_bindings::restore(document))
}
