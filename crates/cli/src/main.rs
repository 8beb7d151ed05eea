//! The command line: what is typed, and who does it.
//!
//! A command that runs something has three steps, each in a module: what was typed ([`args`]), what is meant by it
//! ([`resolve`]), doing it ([`run`], [`explain`]). Exit codes leave through [`main`] alone.

mod args;
mod check;
mod colour;
mod content;
mod diagnostics;
mod explain;
mod files;
mod help;
mod lists;
mod patch;
mod places;
mod print;
mod progress;
mod prune;
mod remedies;
mod resolve;
mod run;
mod runner;
mod scripts;
#[cfg(unix)]
mod signals;
mod silence;
mod stats;
mod text;
mod tokens;
mod tool;
mod tools;

use std::ffi::OsString;
use std::process::ExitCode;

use anstream::ColorChoice;
use clap::Parser;
use clap::error::ErrorKind;

use args::{Args, Command};
use diagnostics::{Console, Exit, Usage};

fn main() -> ExitCode {
    let typed: Vec<OsString> = std::env::args_os().collect();
    colour::choose(&typed);
    let exit = match Args::try_parse_from(typed) {
        Ok(args) => {
            // What was typed for a command that is run says nothing about our colours.
            args.color.unwrap_or(ColorChoice::Auto).write_global();
            execute(args.command)
        }
        Err(error) => not_parsed(&error),
    };
    exit.into()
}

fn execute(command: Command) -> Exit {
    match command {
        Command::Filter(args) => match resolve::resolve(*args) {
            Ok(job) => run::run(&job),
            Err(usage) => {
                Console::default().usage(&usage);
                Exit::Usage
            }
        },
        Command::Run(args) => runner::run(&args),
        Command::Content(args) => run::run(&content::resolve(args)),
        Command::Explain(args) => explain::run(&args),
        Command::Prune(args) => prune::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Text(args) => text::run(&args),
        Command::Tools(args) => tools::run(&args),
        Command::Help(args) => help::run(&args),
        Command::Completions(args) => scripts::completions(&args),
        Command::Man(args) => scripts::man(&args),
    }
}

/// Help and the version were asked for, or what was typed is wrong.
fn not_parsed(error: &clap::Error) -> Exit {
    let text = error.render();
    if !error.use_stderr() {
        return print::print(text.ansi().to_string().as_bytes());
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        _ = error.print();
        return Exit::Usage;
    }
    Console::default().usage(&Usage::from_parser(&text.to_string()));
    Exit::Usage
}
