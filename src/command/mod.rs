//! The output of commands: which command it is, which filter is for it, and what that leaves.
//!
//! ```text
//! command line ─▶ shell ─▶ line ──words──▶ registry ─▶ rules (TOML) | a filter of one's own | nothing
//! bytes ─▶ stream ─▶ text engine ─▶ sink
//! ```
//!
//! `shell` reads words, [`line`] finds the command that prints, [`machine`] knows formats that are left alone, [`rules`] are
//! filters as data, [`engines`] those that are code, [`chain`] applies several rules to one output, [`stream`] runs a filter over
//! bytes. Those know no process and no file: `run`
//! does, which runs a command through them.
//!
//! Invariants: what is not certain passes; output does not depend on chunks; work is linear; what is held has a limit.

mod builtin;
mod chain;
mod engines;
mod filter;
mod line;
mod machine;
mod registry;
mod report;
mod rules;
#[cfg(unix)]
mod run;
mod shell;
mod stream;

pub use filter::{FilterResult, OutputFilter};
pub use line::CommandLine;
pub use registry::OutputFilterRegistry;
pub use report::{CommandReport, PassThroughReason};
pub use rules::CommandRules;
#[cfg(unix)]
pub use run::{
    CommandHandle, CommandRunner, OverflowFile, OverflowFolder, RunReport, RunnerWarning,
    RunningCommand,
};
pub use stream::CommandFilter;
