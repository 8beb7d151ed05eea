//! The shell prefix of Claude Code: runs what it hands over, and filters the output of commands.
//!
//! Claude Code starts the program of `CLAUDE_CODE_SHELL_PREFIX` with one argument, for three kinds of things. Commands of
//! the model come as a script of a certain form ([`WrappedScript`]); hooks and MCP servers come as command lines. Only
//! the former are filtered. Everything else replaces this process untouched.

mod agent_shell;
mod prefix_script;
mod wrapped;

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::process::Command;

use tamis_command::{CommandLine, OutputCap, OutputFilterRegistry};

pub use prefix_script::prefix_script;
pub use wrapped::WrappedScript;

use super::limits::output_cap;
use super::settings::HookSettings;
use crate::agent::Agent;
use crate::recorder::StoreRecorder;
use agent_shell::ShellPlaces;

/// The most characters of a command that name its record.
const LONGEST_NAME: usize = 200;

/// The use of the argument.
#[derive(Debug)]
pub enum ShellPlan {
    /// This command replaces the process.
    Replace(Command),
    /// This command is run, and its output is filtered.
    Filter(Box<ShellRun>),
}

/// A command of the model.
#[derive(Debug)]
pub struct ShellRun {
    /// The shell with the script.
    pub command: Command,
    /// The command of the model, which chooses the filter.
    pub line: CommandLine,
    /// The filters.
    pub registry: OutputFilterRegistry,
    /// Where the full output is recorded.
    pub recorder: StoreRecorder,
    /// The limits of the output, filtered or not.
    pub cap: OutputCap,
    /// Whether invisible characters are removed.
    pub cleans: bool,
}

/// Plans what is done with the argument of a shell prefix.
///
/// The output is filtered only if both output streams are one file, as in Claude Code. Otherwise somebody reads them
/// apart.
#[must_use]
pub fn plan(argument: &OsStr, settings: &HookSettings) -> ShellPlan {
    let run =
        argument.to_str().filter(|_| is_one_stream()).and_then(|text| filtered(text, settings));
    run.map_or_else(|| ShellPlan::Replace(shell(argument)), |run| ShellPlan::Filter(Box::new(run)))
}

fn filtered(text: &str, settings: &HookSettings) -> Option<ShellRun> {
    let script = WrappedScript::parse(text)?;
    if settings.leaves_alone(&script.command) {
        return None;
    }
    let line = CommandLine::parse(&script.command);
    let cap = output_cap(Agent::ClaudeCode, settings.max_tokens(), &script.command);
    let registry = settings.command_filters()?;
    let cleans = settings.removes_invisible();
    if registry.filter_for(&line).is_none() && cap.is_unlimited() && !cleans {
        return None;
    }
    let name: String = script.command.chars().take(LONGEST_NAME).collect();
    let recorder = settings.recorder(name);
    let recorder = recorder.with_session_files(settings.session_files());
    Some(ShellRun { command: shell(OsStr::new(text)), line, registry, recorder, cap, cleans })
}

/// Returns the shell that Claude Code would have used, with an argument to run.
fn shell(argument: &OsStr) -> Command {
    let text = argument.to_string_lossy();
    let mut command = if text.contains(wrapped::END_OF_SCRIPT) {
        Command::new(ShellPlaces::of_process().shell(&text))
    } else {
        // Hooks and servers are started by the shell of the system.
        Command::new("/bin/sh")
    };
    command.arg("-c").arg(argument);
    command
}

/// Returns whether standard output and standard error are the same file.
fn is_one_stream() -> bool {
    let file = |stream: std::os::fd::BorrowedFd<'_>| {
        rustix::fs::fstat(stream).ok().map(|stat| (stat.st_dev, stat.st_ino))
    };
    let output = file(std::io::stdout().as_fd());
    output.is_some() && output == file(std::io::stderr().as_fd())
}
