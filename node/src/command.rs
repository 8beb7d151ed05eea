//! The output of commands.

use napi::bindgen_prelude::Env;
use napi_derive::napi;
use tamis_bindings::BindingCommands;

use crate::failure::{Outcome, Problem, outcome};
use crate::program::{Reported, reported};
use crate::stream::NativeStream;

/// Filters for the output of commands.
#[napi]
pub struct NativeCommands(BindingCommands);

/// Returns the built-in filters for the output of commands.
#[napi]
pub fn builtin_commands() -> NativeCommands {
    NativeCommands(BindingCommands::builtin())
}

/// Reads rules for the output of commands from TOML.
#[napi]
pub fn parse_commands(name: String, text: String) -> Outcome<NativeCommands> {
    outcome(BindingCommands::parse(&name, &text).map(NativeCommands))
}

/// Reads rules for the output of commands from a file.
#[napi]
pub fn load_commands(path: String) -> Outcome<NativeCommands> {
    outcome(BindingCommands::load(path).map(NativeCommands))
}

#[napi]
impl NativeCommands {
    /// Filters the output of a command.
    #[napi]
    pub fn filter<'env>(
        &self,
        env: &'env Env,
        command: String,
        output: &[u8],
        exit_code: Option<i32>,
        options: String,
    ) -> napi::Result<Outcome<Reported<'env>>> {
        let filtered = self.0.filter(&command, output, exit_code, &options);
        reported(env, filtered.map(|filtered| (filtered.report, filtered.output)))
    }

    /// Starts a run that the output is pushed into.
    #[napi]
    pub fn push(&self, env: &Env, command: String, options: String) -> Outcome<NativeStream> {
        outcome(self.0.stream(&command, &options).map(|run| NativeStream::new(env, run)))
    }

    /// Returns the name of the filter for a command.
    #[napi]
    pub fn filter_for(&self, command: String) -> Option<String> {
        self.0.filter_for(&command)
    }

    /// Runs the examples of the rules.
    #[napi]
    pub fn run_examples(&self) -> Vec<Problem> {
        self.0.run_examples().into_iter().map(Problem::from).collect()
    }

    /// The names of the rules.
    #[napi(getter)]
    pub fn names(&self) -> Vec<String> {
        self.0.names().into_iter().map(str::to_owned).collect()
    }

    /// Warnings about keys that have no effect.
    #[napi(getter)]
    pub fn warnings(&self) -> Vec<Problem> {
        self.0.warnings().into_iter().map(Problem::from).collect()
    }
}
