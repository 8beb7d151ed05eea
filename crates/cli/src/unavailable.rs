//! The message of commands that do not work on this system yet.
//!
//! They are in the help of every system, so that the documentation is the same, and refuse to run.

use crate::diagnostics::{Console, Exit};

/// The remedy for commands that set up or run the hooks of coding agents.
pub(crate) const AGENTS: &str = "hooks of coding agents need a POSIX shell, which WSL has";

/// Reports that the command `name` does not work here, and what to do instead.
pub(crate) fn report(name: &str, remedy: &str) -> Exit {
    let system = match std::env::consts::OS {
        "windows" => "Windows",
        other => other,
    };
    Console::default()
        .note(format_args!("`tamis {name}` is not available on {system} yet; {remedy}"));
    Exit::Failed
}
