//! Chats.

use napi::bindgen_prelude::Env;
use napi_derive::napi;
use tamis_bindings::BindingPrune;

use crate::failure::Outcome;
use crate::program::{Reported, reported};

/// Prunes a history that is written as JSON.
#[napi]
pub fn prune_history<'env>(
    env: &'env Env,
    history: &[u8],
    rules: String,
) -> napi::Result<Outcome<Reported<'env>>> {
    let pruned = BindingPrune::compile(&rules).and_then(|prune| prune.prune(history));
    reported(env, pruned.map(|(output, report)| (report, output)))
}
