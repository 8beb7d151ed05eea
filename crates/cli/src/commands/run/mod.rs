//! `tamis run`: runs a command, saves its full output, prints the filtered output and exits like the command.
//!
//! `args.rs` has the arguments, and `execute.rs` has the run.

mod args;
#[cfg(unix)]
mod execute;

pub(crate) use args::{HELP, HELP_SHORT, RunArgs};
#[cfg(unix)]
pub(crate) use execute::run;

/// Commands are run only on Unix.
#[cfg(not(unix))]
pub(crate) fn run(args: &RunArgs) -> crate::console::Exit {
    if args.last {
        return crate::system::unavailable::report(
            "run --last",
            crate::system::unavailable::STORED,
        );
    }
    crate::system::unavailable::report(
        "run",
        "pipe the output of the command to `tamis text` instead",
    )
}
