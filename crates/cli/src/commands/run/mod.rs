//! `tamis run`: runs a command, saves its full output, prints the filtered output and exits like the command.
//!
//! `args.rs` has the arguments, `execute.rs` has the run, and `program_*.rs` find the program that a name refers to.

mod args;
mod execute;
#[cfg(unix)]
mod program_unix;
#[cfg(not(unix))]
mod program_windows;

pub(crate) use args::{HELP, HELP_SHORT, RunArgs};
pub(crate) use execute::run;
