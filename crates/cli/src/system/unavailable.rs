//! The message of commands that do not work on this system yet.
//!
//! They are in the help of every system, so that the documentation is the same, and refuse to run.

use crate::console::{Console, Exit};

/// The remedy for commands that set up or run the hooks of coding agents.
pub(crate) const AGENTS: &str = "hooks of coding agents need a POSIX shell, which WSL has; without one, instruct the agent to begin commands with `tamis run --`, and put `tamis mcp --` before its MCP servers";

/// Reports that the command `name` does not work here, and what to do instead.
pub(crate) fn report(name: &str, remedy: &str) -> Exit {
    Console::default()
        .note(format_args!("`tamis {name}` is not available on {} yet; {remedy}", system()));
    Exit::Failed
}

/// Returns the name of this system in messages.
pub(crate) fn system() -> &'static str {
    match std::env::consts::OS {
        "windows" => "Windows",
        other => other,
    }
}
