//! Commands: running one, with its output on the way to a reader that needs little of it.
//!
//! Must not know the command line.

#[cfg(unix)]
mod run;

#[cfg(unix)]
pub use run::{
    CommandControls, CommandRunner, Notice, OverflowFile, OverflowFolder, RunReport, RunningCommand,
};
