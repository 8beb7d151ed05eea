//! The command line: `tamis filter`, `tamis check`, `tamis tools`.
//!
//! Three steps, each in a module: what was typed ([`args`]), what is meant by it ([`resolve`]), doing it ([`run`]).
//! Exit codes leave through [`main`] alone.

mod args;
mod check;
mod diagnostics;
mod files;
mod lists;
mod places;
mod progress;
mod resolve;
mod run;
mod tool;
mod tools;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use diagnostics::{Console, Exit};

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Help and the version are no errors, and neither is a closed pipe behind them.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() };
        }
    };
    let args = match args.command {
        Command::Filter(args) => args,
        Command::Check(args) => return check::run(&args).into(),
        Command::Tools(args) => return tools::run(&args).into(),
    };
    match resolve::resolve(*args) {
        Ok(job) => run::run(&job).into(),
        Err(usage) => {
            Console::default().usage(&usage);
            Exit::Usage.into()
        }
    }
}
