//! Prints complete texts to standard output: help, explanations, scripts.
//!
//! This module must not depend on their content.

use std::io::{ErrorKind, Write};

use anstream::AutoStream;
use serde::Serialize;
use struson::writer::{JsonStreamWriter, JsonWriter};
use tamis_mcp::program::check_writable;

use crate::diagnostics::{Console, Exit};

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
