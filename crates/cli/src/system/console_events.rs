//! The counterpart of `signals` on Windows: while a command runs, Ctrl-C is left to it, and tamis ends with its exit code.
//!
//! A console sends Ctrl-C to all of its processes, so the command gets it, too. Ctrl-Break ends both.

use std::io::Result;
use std::process::ExitStatus;
use std::sync::Arc;

use signal_hook::consts::SIGINT;
use tamis_command::CommandHandle;

use crate::console::Exit;

/// Nothing has to be prepared here.
///
/// # Errors
/// None.
pub(crate) fn wait_for_children() -> Result<()> {
    Ok(())
}

/// Ignores Ctrl-C from now on.
///
/// # Errors
/// That of the system.
pub(crate) fn forward(_: CommandHandle) -> Result<()> {
    ignore_interrupts()
}

/// Ignores Ctrl-C, which another process of the console handles.
///
/// # Errors
/// That of the system.
pub(crate) fn ignore_interrupts() -> Result<()> {
    signal_hook::flag::register(SIGINT, Arc::default()).map(|_| ())
}

/// Ends like a command, with its exit code.
///
/// A code has 32 bits, of which the standard library returns only 8 from `main`. A command that crashed or was interrupted has
/// a large one, so the process ends here. Everything was written by then.
pub(crate) fn end_as(status: ExitStatus) -> Exit {
    let Some(code) = status.code() else { return Exit::Failed };
    match u8::try_from(code) {
        Ok(code) => Exit::Code(code),
        #[allow(clippy::exit, reason = "the only way to end with such a code")]
        Err(_) => std::process::exit(code),
    }
}
