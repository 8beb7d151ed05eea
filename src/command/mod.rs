//! Filters for the output of commands: which command printed it, which filter applies, and its application.
//!
//! ```text
//! command line ─▶ shell ─▶ command_line ─words─▶ registry ─▶ rules (TOML) | an `OutputFilter` | nothing
//! bytes ─▶ command_filter ─▶ text pipeline ─▶ sink
//! ```
//!
//! [`shell`] splits a command line into words, and [`command_line`] finds the command that prints. [`machine_output`]
//! detects formats that are never filtered. [`rules`] are filters as data, and [`engines`] are filters in code that
//! rules can name. [`rule_chain`] applies several rules to one output. [`command_filter`] runs the chosen filter over
//! bytes. None of these accesses processes or files. `run` does: it runs a command through them.
//!
//! Invariants: output is passed through unless its command is certain. Output does not depend on the chunks. Work is
//! linear, and everything held has a limit.

mod builtin;
mod command_filter;
mod command_line;
mod engines;
mod machine_output;
mod output_filter;
mod registry;
mod report;
mod rule_chain;
mod rules;
#[cfg(unix)]
mod run;
mod shell;

pub use command_filter::CommandFilter;
pub use command_line::CommandLine;
pub use output_filter::{FilterResult, OutputFilter};
pub use registry::OutputFilterRegistry;
pub use report::{CommandReport, PassThroughReason};
pub use rules::CommandRules;
#[cfg(unix)]
pub use run::{
    CommandHandle, CommandRunner, OverflowFile, OverflowFolder, RunReport, RunnerWarning,
    RunningCommand,
};
