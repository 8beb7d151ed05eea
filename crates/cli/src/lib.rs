//! The command line of tamis.
//!
//! A command has three steps: its arguments are parsed (`args`, `flags` and the module of the command), resolved into a
//! job and executed (`job`, or the module of the command). Only [`main`] sets the exit code.
//!
//! The binary calls [`main`] and has nothing else, so that cargo compiles the command while it optimises the library.
//!
//! A room imports only rooms below it:
//!
//! ```text
//! main, args     the table of commands
//! commands       one module for each command
//! job            flags resolved into a filter, inputs and outputs; runs it
//! filters        where filters come from: flags, manifests, the catalog, other files
//! figures        reports, savings, tokens
//! flags          flags that several commands share, and values of flags
//! files          inputs and outputs; one file must not be both
//! system         signals, waiting for input, what this system lacks
//! console        messages, exit codes, colours, complete texts on standard output
//! ```

mod args;
mod commands;
mod console;
mod figures;
mod files;
mod filters;
mod flags;
mod job;
mod system;

use std::ffi::OsString;
use std::process::ExitCode;

use anstream::ColorChoice;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use args::{Args, Command, FrequentCommand};
use commands::{
    about, audit, check, content, doctor, explain, filter, gateway, help, hook, install, look,
    prune, recall, replay, restore, run, savings, scripts, suggest, text, tools, trust,
};
use console::{Console, Exit, Usage, colour, print};
use flags::habits;
use job::execution;
#[cfg(not(unix))]
use system::unavailable;

/// Runs the command with the arguments of this process.
pub fn main() -> ExitCode {
    let typed: Vec<OsString> = std::env::args_os().collect();
    // An agent waits for it at each call.
    if let Some(exit) = hook::run_typed(&typed) {
        return exit.into();
    }
    colour::choose(&typed);
    if about::asks_for_version(&typed) {
        return print::print(about::VERSION.as_bytes()).into();
    }
    if about::asks_for_details(&typed) {
        return print::print(about::details().as_bytes()).into();
    }
    if let Some(welcome) = about::welcome(&typed) {
        return print::print(welcome.as_bytes()).into();
    }
    let exit = match args::parse(&typed) {
        Ok((global, command)) => {
            // The arguments of a command that is run do not choose the colours of tamis.
            global.color.unwrap_or(ColorChoice::Auto).write_global();
            execute(command, &typed)
        }
        Err(error) => not_parsed(&error, &typed),
    };
    exit.into()
}

fn execute(command: Command, typed: &[OsString]) -> Exit {
    #[cfg(not(unix))]
    match &command {
        Command::Install(_) => return unavailable::report("install", unavailable::AGENTS),
        Command::Uninstall(_) => return unavailable::report("uninstall", unavailable::AGENTS),
        Command::Doctor(_) => return unavailable::report("doctor", unavailable::AGENTS),
        _ => {}
    }
    match command {
        Command::Frequent(FrequentCommand::Filter(args)) => filter::run(*args),
        Command::Frequent(FrequentCommand::Run(args)) => run::run(&args),
        Command::Recall(args) => recall::run(&args),
        Command::Content(args) => execution::run(&content::resolve(args)),
        Command::Mcp(_) => gateway::run(typed.iter().skip(1), ""),
        Command::Serve(_) => gateway::run(typed.iter().skip(1), " --features serve"),
        Command::Savings(args) => savings::run(&args),
        Command::Install(args) => install::install(&args),
        Command::Uninstall(args) => install::uninstall(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Trust(args) => trust::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Look(args) => look::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Suggest(args) => suggest::run(&args),
        Command::Prune(args) => prune::run(&args),
        Command::Restore(args) => restore::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Audit(args) => audit::run(*args),
        Command::Text(args) => text::run(&args),
        Command::Tools(args) => tools::run(&args),
        Command::Hook(args) => hook::run(&args),
        Command::Help(args) => help::run(&args, Args::command()),
        Command::Completions(args) => {
            scripts::completions(&args, help::with_pages(Args::command()))
        }
        Command::Man(args) => scripts::man(&args, Args::command()),
    }
}

/// Prints the help or the version, or reports wrong arguments.
fn not_parsed(error: &clap::Error, typed: &[OsString]) -> Exit {
    let text = error.render();
    if !error.use_stderr() {
        return print::print(text.ansi().to_string().as_bytes());
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        _ = error.print();
        return Exit::Usage;
    }
    Console::default()
        .refuse(&Usage::from_parser(&text.to_string(), habit(error, typed).as_deref()))
}

/// Returns what to write instead of an argument that a command for JSON does not have.
fn habit(error: &clap::Error, typed: &[OsString]) -> Option<String> {
    let of_json = ["filter", "explain", "look", "suggest"];
    let typed = typed.get(1..).unwrap_or_default();
    typed.first().filter(|arg| of_json.iter().any(|name| arg == name))?;
    let ContextValue::String(arg) = error.get(ContextKind::InvalidArg)? else { return None };
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    match arg.starts_with('-') {
        true => habits::of_flag(arg).map(str::to_owned),
        false => habits::of_extra(typed, arg),
    }
}

/// Runs the examples of the guide that use several packages as documentation tests.
#[cfg(doctest)]
#[doc(hidden)]
pub mod guide {
    #[doc = include_str!("../../../docs/src/library.md")]
    pub mod library {}

    #[doc = include_str!("../../../docs/src/chats.md")]
    pub mod chats {}

    #[doc = include_str!("../../../docs/src/command-output.md")]
    pub mod command_output {}
}
