//! The commands that do not work on this system yet.
//!
//! They are in the help of every system, so that the documentation is the same, and refuse to run.

use crate::args::Command;
use crate::diagnostics::{Console, Exit};

/// Reports that a command does not work here. `None`: it does, or it reports that on its own.
pub(crate) fn refuse(command: &Command) -> Option<Exit> {
    let name = match command {
        Command::Install(_) => "install",
        Command::Uninstall(_) => "uninstall",
        Command::Doctor(_) => "doctor",
        _ => return None,
    };
    Some(report(name, AGENTS))
}

/// Reports that `name` does not work here, and what to do instead.
pub(crate) fn report(name: &str, remedy: &str) -> Exit {
    let system = match std::env::consts::OS {
        "windows" => "Windows",
        other => other,
    };
    Console::default()
        .note(format_args!("`tamis {name}` is not available on {system} yet; {remedy}"));
    Exit::Failed
}

/// The remedy for commands that set up or run the hooks of coding agents.
pub(crate) const AGENTS: &str = "hooks of coding agents need a POSIX shell, which WSL has";
