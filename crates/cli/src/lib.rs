//! The command line of tamis.
//!
//! A command has three steps: its arguments are parsed (`args`, `groups` and the module of the command), resolved into a
//! job (`resolve`) and executed (`run` or the module of the command). Only [`main`] sets the exit code.
//!
//! The binary calls [`main`] and has nothing else, so that cargo compiles the command while it optimises the library.
//!
//! Modules import only modules below them:
//!
//! ```text
//! main, args                                   the table of commands
//! audit                                        uses the files of check
//! filter explain content look prune check text suggest   one module per command
//! gateway mcp_args serve_args                  the commands of another binary
//! hook                                         what coding agents call
//! tools runner recall savings help scripts install doctor
//! run, resolve, tool, patch, rules, why        jobs, where their rules come from
//! report, places, files, print, lists, name_watch, cap_args, unquote, ...   files, values of flags, standard streams
//! unavailable                                  what this system lacks
//! diagnostics, colour, progress, remedies      messages on standard error
//! ```

mod args;
mod audit;
mod cap_args;
mod check;
mod choice;
mod colour;
mod conditions;
mod content;
mod diagnostics;
mod doctor;
mod explain;
mod files;
mod filter;
mod gateway;
mod groups;
mod help;
mod hook;
mod install;
mod lists;
mod look;
mod name_watch;
mod patch;
mod place;
mod places;
mod print;
mod progress;
mod prune;
mod recall;
mod remedies;
mod report;
mod resolve;
mod routes;
mod rules;
mod run;
mod runner;
mod samples;
mod savings;
mod scripts;
#[cfg(unix)]
mod signals;
mod silence;
mod stats;
mod suggest;
mod text;
mod tokens;
mod tool;
mod tools;
#[cfg(not(unix))]
mod unavailable;
mod unquote;
mod why;

use std::ffi::OsString;
use std::process::ExitCode;

use anstream::ColorChoice;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use args::{Args, Command};
use diagnostics::{Console, Exit, Usage};

/// Runs the command with the arguments of this process.
pub fn main() -> ExitCode {
    let typed: Vec<OsString> = std::env::args_os().collect();
    // An agent waits for it at each call.
    if let Some(exit) = hook::run_typed(&typed) {
        return exit.into();
    }
    colour::choose(&typed);
    let exit = match Args::try_parse_from(&typed) {
        Ok(args) => {
            // The arguments of a command that is run do not choose the colours of tamis.
            args.color.unwrap_or(ColorChoice::Auto).write_global();
            execute(args.command, &typed)
        }
        Err(error) => not_parsed(&error),
    };
    exit.into()
}

fn execute(command: Command, typed: &[OsString]) -> Exit {
    #[cfg(not(unix))]
    match &command {
        Command::Install(_) => return unavailable::report("install", unavailable::AGENTS),
        Command::Uninstall(_) => return unavailable::report("uninstall", unavailable::AGENTS),
        Command::Doctor(_) => return unavailable::report("doctor", unavailable::AGENTS),
        Command::Recall(_) => return unavailable::report("recall", unavailable::STORED),
        _ => {}
    }
    match command {
        Command::Filter(args) => filter::run(*args),
        Command::Run(args) => runner::run(&args),
        Command::Recall(args) => recall::run(&args),
        Command::Content(args) => run::run(&content::resolve(args)),
        Command::Mcp(_) => gateway::run(typed.iter().skip(1), "cargo install tamis-gateway"),
        Command::Serve(_) => {
            gateway::run(typed.iter().skip(1), "cargo install tamis-gateway --features serve")
        }
        Command::Savings(args) => savings::run(&args),
        Command::Install(args) => install::install(&args),
        Command::Uninstall(args) => install::uninstall(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Look(args) => look::run(&args),
        Command::Suggest(args) => suggest::run(&args),
        Command::Prune(args) => prune::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Audit(args) => audit::run(*args),
        Command::Text(args) => text::run(&args),
        Command::Tools(args) => tools::run(&args),
        Command::Hook(args) => hook::run(&args),
        Command::Help(args) => help::run(&args, Args::command()),
        Command::Completions(args) => scripts::completions(&args, Args::command()),
        Command::Man(args) => scripts::man(&args, Args::command()),
    }
}

/// Prints the help or the version, or reports wrong arguments.
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
