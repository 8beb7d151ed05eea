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

use super::settings::HookSettings;
use crate::recorder::StoreRecorder;
use agent_shell::ShellPlaces;

/// The most bytes of an output that Claude Code shows as a whole (2.1.330), unless `BASH_MAX_OUTPUT_LENGTH` is set.
const MOST_BYTES: u64 = 30_000;

/// The most characters of the output of a command that failed. Claude Code cuts the middle out of a longer one.
const MOST_CHARS_IF_FAILED: u64 = 10_000;

/// The most tokens of an output that is cut. Claude Code shows a preview of 2,000 characters if an output is too long.
const MOST_TOKENS_IF_CUT: u64 = 500;

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
    let line = CommandLine::parse(&script.command);
    let cap = settings.max_tokens().map_or_else(OutputCap::new, |tokens| {
        let cap = OutputCap::new().with_max_tokens(tokens.min(most_tokens()));
        let cap = cap.with_max_tokens_if_cut(MOST_TOKENS_IF_CUT);
        cap.with_max_chars_if_failed(MOST_CHARS_IF_FAILED.min(tokens * 4))
    });
    let registry = settings.command_filters()?;
    let cleans = settings.removes_invisible();
    if registry.filter_for(&line).is_none() && cap.is_unlimited() && !cleans {
        return None;
    }
    let name: String = script.command.chars().take(LONGEST_NAME).collect();
    let recorder = settings.recorder(name);
    Some(ShellRun { command: shell(OsStr::new(text)), line, registry, recorder, cap, cleans })
}

/// Returns the limit of Claude Code, in tokens of four bytes.
fn most_tokens() -> u64 {
    let set = std::env::var("BASH_MAX_OUTPUT_LENGTH").ok().and_then(|value| value.parse().ok());
    set.filter(|bytes| *bytes > 0).unwrap_or(MOST_BYTES) / 4
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
