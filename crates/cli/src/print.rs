//! Prints a text that is complete: help, explanations, scripts.
//!
//! Must not know what it is.

use std::io::{ErrorKind, Write};

use anstream::AutoStream;

use crate::diagnostics::{Console, Exit};
use crate::files;

/// Prints to standard output. A closed pipe is no error: whoever reads has enough of it.
pub(crate) fn print(text: &[u8]) -> Exit {
    let stdout = std::io::stdout().lock();
    let written = files::check_writable(&stdout).and_then(|()| {
        let mut out = AutoStream::auto(stdout);
        out.write_all(text).and_then(|()| out.flush())
    });
    match written {
        Ok(()) => Exit::Done,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => {
            Console::default()
                .say("standard output", format_args!("cannot write the output: {error}"));
            Exit::Failed
        }
    }
}
