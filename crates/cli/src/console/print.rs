//! Prints complete texts to standard output: help, explanations, scripts. Recognises output whose reader is gone.
//!
//! This module must not depend on their content.

use std::io::{ErrorKind, Write};

use anstream::AutoStream;
use serde::Serialize;
use struson::writer::{JsonStreamWriter, JsonWriter};
use tamis_mcp::program::check_writable;

use crate::console::{Console, Exit};

/// Prints to standard output. A closed pipe is not an error: the reader has enough.
pub(crate) fn print(text: &[u8]) -> Exit {
    let stdout = std::io::stdout().lock();
    let written = check_writable(&stdout).and_then(|()| {
        let mut out = AutoStream::auto(stdout);
        out.write_all(text).and_then(|()| out.flush())
    });
    match written {
        Ok(()) => Exit::Done,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => {
            cannot_print(&error);
            Exit::Failed
        }
    }
}

/// Returns whether standard output can be written to, and reports it if it cannot.
pub(crate) fn can_print() -> bool {
    let checked = check_writable(std::io::stdout());
    if let Err(error) = &checked {
        cannot_print(error);
    }
    checked.is_ok()
}

fn cannot_print(error: &std::io::Error) {
    Console::default().say("standard output", format_args!("cannot write the output: {error}"));
}

/// Returns a value as JSON, on one line.
pub(crate) fn json(value: &impl Serialize) -> std::io::Result<Vec<u8>> {
    let mut json = JsonStreamWriter::new(Vec::new());
    json.serialize_value(value).map_err(std::io::Error::other)?;
    let mut text = json.finish_document()?;
    text.push(b'\n');
    Ok(text)
}

/// Replaces characters that would begin a line, move the cursor or reorder the text. Names and paths may contain them.
pub(crate) fn one_line(text: &str) -> String {
    let is_hidden = |char: char| {
        char.is_control()
            || matches!(char, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    text.replace(is_hidden, "\u{fffd}")
}

/// Returns whether the output failed because its reader closed the pipe.
pub(crate) fn is_closed_pipe(error: &tamis::Error) -> bool {
    error.kind() == tamis::ErrorKind::Write
        && error.io_error().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
