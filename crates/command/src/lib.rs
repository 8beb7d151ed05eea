//! Filters for the output of commands such as `cargo test` and `git status`, and a runner for commands (Unix, Windows).
//!
//! Use it in an agent that runs commands: a model needs the failures, not the progress. An [`OutputFilterRegistry`]
//! finds the filter for a command line. Filters are rules in TOML ([`CommandRules`]; many are built in) or code that
//! implements [`OutputFilter`]. A [`CommandFilter`] applies one to an output that arrives in chunks. On Unix and
//! Windows, `CommandRunner` runs a command and filters its output at the same time.
//!
//! ```
//! use tamis_command::OutputFilterRegistry;
//!
//! let registry = OutputFilterRegistry::builtin();
//! let raw = "   Compiling ryu v1.0.18\n   Compiling app v0.1.0 (/app)\nerror[E0425]: cannot find value `x`\n";
//! let result = registry.apply("cargo build", raw, 101);
//! assert!(result.output.starts_with("error[E0425]"));
//! ```
//!
//! The output of an unknown command is passed through unchanged.

// Filters for the output of commands: which command printed it, which filter applies, and its application.
//
// ```text
// command line ─▶ shell ─▶ command_line ─words─▶ registry ─▶ rules (TOML) | an `OutputFilter` | nothing
// bytes ─▶ command_filter ─▶ text pipeline ─▶ cap ─▶ sink
// ```
//
// `shell` splits a command line into words, `printing` finds the commands that print, and `command_line` removes what only
// wraps them. `machine_output`
// detects formats that are never filtered. `rules` are filters as data, and `engines` are filters in code that
// rules can name. `compound` tells the outputs of several commands apart, and `step_run` those of the steps of a log. `rule_chain` applies several rules to one output. `command_filter` runs the chosen filter over
// bytes, and `cap` limits any output. None of these accesses processes or files. `run` does: it runs a command through them.
//
// Invariants: output is passed through unless its command is certain. Output does not depend on the chunks. Work is
// linear, and everything held has a limit.

mod builtin;
mod cap;
mod command_filter;
mod command_line;
mod compared_output;
mod compound;
mod engines;
mod exit_variant;
mod full_output;
mod line_head;
mod line_prefix;
mod machine_output;
mod output_filter;
mod output_reader;
mod printing;
mod registry;
mod report;
mod rule_chain;
mod rules;
#[cfg(any(unix, windows))]
mod run;
mod shell;
mod step_run;
mod text_decoder;
#[cfg(feature = "tokio")]
mod transform;
mod wrappers;

pub use cap::{CapReport, OutputCap};
pub use command_filter::CommandFilter;
pub use command_line::CommandLine;
pub use full_output::FullOutput;
pub use output_filter::{FilterResult, OutputFilter};
pub use registry::OutputFilterRegistry;
pub use report::{CommandReport, PassThroughReason};
pub use rules::CommandRules;
#[cfg(any(unix, windows))]
pub use run::{
    CommandHandle, CommandRunner, OutputRecord, OutputRecorder, RecordPlace, RunReport,
    RunnerWarning, RunningCommand,
};
#[cfg(unix)]
pub use run::{OverflowFile, OverflowFolder};
pub use tamis_text::cut::{CutReport, KeptLines, TextKind};
