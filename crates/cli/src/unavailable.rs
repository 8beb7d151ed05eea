//! The commands that do not work on this system yet.
//!
//! They are in the help of every system, so that the documentation is the same, and refuse to run.

use crate::args::Command;
use crate::diagnostics::{Console, Exit};

/// Reports that a command does not work here. `None`: it does.
pub(crate) fn refuse(command: &Command) -> Option<Exit> {
    let (name, remedy) = match command {
        Command::Run(_) => ("run", "pipe the output of the command to `tamis text` instead"),
        Command::Install(_) => ("install", AGENTS),
        Command::Uninstall(_) => ("uninstall", AGENTS),
        Command::Doctor(_) => ("doctor", AGENTS),
        Command::Hook(args) if args.is_shell() => ("hook shell", AGENTS),
        _ => return None,
    };
    let system = match std::env::consts::OS {
        "windows" => "Windows",
        other => other,
    };
    Console::default()
        .note(format_args!("tamis: `tamis {name}` is not available on {system} yet; {remedy}"));
    Some(Exit::Failed)
}

const AGENTS: &str = "hooks of coding agents need a POSIX shell, which WSL has";
