//! The output of commands, and chats.

use napi::bindgen_prelude::Env;
use napi_derive::napi;
use tamis_bindings::{BindingPrune, filter_output};

use crate::failure::Outcome;
use crate::program::{Reported, reported};

/// Filters the output of a command.
#[napi]
pub fn filter_command_output<'env>(
    env: &'env Env,
    command: String,
    output: &[u8],
    exit_code: Option<i32>,
    options: String,
) -> napi::Result<Outcome<Reported<'env>>> {
    let filtered = filter_output(&command, output, exit_code, &options);
    reported(env, filtered.map(|filtered| (filtered.report, filtered.output)))
}

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
