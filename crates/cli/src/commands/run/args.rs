//! The arguments of `tamis run`.
//!
//! This module must not depend on rules or how a process is run.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::flags::caps::CapArgs;
use crate::flags::lists;

pub(crate) const HELP_SHORT: &str = "\
For more and for examples see --help. tamis exits like the command; 127: not found, 126: not executable.";

pub(crate) const HELP: &str = "\
Examples:
  tamis run -- cargo test
  tamis run -- RUST_LOG=debug cargo test
  tamis run --stats -- sh -c 'cd corpus && cargo build 2>&1'
  tamis run --max-lines 100 -- find . -name '*.conf'
  tamis run --keep --overflow-dir logs -- make -j4

Rules and what they keep: tamis help commands. Signals, files and exit codes: tamis help running.

Exit codes:
  that of the command; if a signal killed the command, tamis ends by the same signal
  127  the command was not found
  126  it cannot be executed
  1    the output could not be written
  2    the command line or a manifest is wrong";

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// The command and its arguments
    ///
    /// Run directly, as by env(1), without a shell. It inherits standard input, the current folder and the environment;
    /// `NAME=VALUE` before it sets a variable.
    #[arg(
        value_name = "COMMAND",
        required_unless_present = "last",
        trailing_var_arg = true,
        value_hint = clap::ValueHint::CommandWithArguments
    )]
    pub(super) command: Vec<OsString>,

    /// Rules in TOML, which take precedence over the built-in rules; may be repeated
    ///
    /// The format is described by tamis help commands.
    #[arg(long, value_name = "RULES.toml", help_heading = "Rules")]
    pub(super) manifest: Vec<PathBuf>,

    /// Print the output unfiltered
    #[arg(long, help_heading = "Rules")]
    pub(super) raw: bool,

    /// Replace credentials by [redacted:KIND], in the stored full output, too
    #[arg(long, value_name = "WHAT", help_heading = "Rules", value_parser = ["secrets"])]
    pub(super) redact: Option<String>,

    #[command(flatten)]
    pub(super) cap: CapArgs,

    /// Save the full output even if nothing was removed, and print where it is
    #[arg(long, help_heading = "Full output")]
    pub(super) keep: bool,

    /// Save the full output in a file in this folder, instead of the store that tamis recall reads
    ///
    /// Created if missing. Only its owner may have access (0700). Not on Windows.
    #[arg(long, value_name = "DIR", help_heading = "Full output")]
    pub(super) overflow_dir: Option<PathBuf>,

    /// Save at most the first BYTES bytes of the full output (k, M, G: powers of 1024) [default: 256M]
    #[arg(long, value_name = "BYTES", help_heading = "Full output", value_parser = lists::bytes, allow_negative_numbers = true)]
    pub(super) overflow_limit: Option<u64>,

    /// Print the full output of the last command that was saved, and run nothing
    #[arg(
        long,
        help_heading = "Full output",
        conflicts_with_all = [
            "command", "manifest", "raw", "redact", "keep", "overflow_dir", "overflow_limit", "no_overflow", "linger", "report",
            "stats", "CapArgs"
        ]
    )]
    pub(super) last: bool,

    /// With --last: print only these lines, counted from 1: `100-180`, `100-` or `100`
    #[arg(long, value_name = "RANGE", requires = "last", help_heading = "Full output")]
    pub(super) lines: Option<String>,

    /// With --last: print only lines that match a regular expression, with their numbers
    #[arg(
        long,
        value_name = "REGEX",
        allow_hyphen_values = true,
        requires = "last",
        help_heading = "Full output"
    )]
    pub(super) grep: Option<String>,

    /// With --grep: print N lines before and after each match, too
    #[arg(long, value_name = "N", requires = "grep", help_heading = "Full output")]
    pub(super) context: Option<u32>,

    /// Do not save the full output: removed lines are lost
    #[arg(long, help_heading = "Full output", conflicts_with_all = ["keep", "overflow_dir", "overflow_limit"])]
    pub(super) no_overflow: bool,

    /// How long to wait for more output after the command's end, while a process it started keeps it open [default:
    /// 0.25]
    ///
    /// Servers and daemons keep it open for good. Output that never pauses is read for ten times as long.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(super) linger: Option<std::time::Duration>,

    /// Write a report of the run as JSON, even if it failed; `-` is standard error
    #[arg(long, value_name = "PATH|-", help_heading = "Output")]
    pub(super) report: Option<PathBuf>,

    /// Print on standard error which filter ran and how much was saved
    #[arg(long, help_heading = "Output")]
    pub(super) stats: bool,
}

fn seconds(text: &str) -> Result<std::time::Duration, String> {
    let number =
        text.parse().ok().and_then(|number| std::time::Duration::try_from_secs_f64(number).ok());
    number.ok_or_else(|| String::from("expected seconds, such as 0.5"))
}
