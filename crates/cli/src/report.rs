//! Writes reports of runs as JSON, and recognises output whose reader is gone.
//!
//! This module must not depend on what is reported.

use std::io::{ErrorKind as IoKind, Write};

use serde::Serialize;
use struson::writer::{JsonStreamWriter, JsonWriter};
use tamis::{Error, ErrorKind};
use tamis_mcp::program::check_writable;

use crate::files;
use crate::place::Place;

/// Returns whether the output failed because its reader closed the pipe.
pub(crate) fn is_closed_pipe(error: &Error) -> bool {
    error.kind() == ErrorKind::Write
        && error.io_error().is_some_and(|error| error.kind() == IoKind::BrokenPipe)
}

/// Opens the destination of a report.
pub(crate) fn open_report(place: &Place) -> std::io::Result<Box<dyn Write>> {
    Ok(match place {
        Place::Standard => {
            let stream = std::io::stderr();
            check_writable(&stream)?;
            Box::new(stream)
        }
        Place::Path(path) => Box::new(files::create(path)?),
    })
}

/// Writes a report, as one line of JSON.
pub(crate) fn write_report(
    report: &impl Serialize,
    mut writer: Box<dyn Write>,
) -> std::io::Result<()> {
    let mut json = JsonStreamWriter::new(Vec::new());
    json.serialize_value(report).map_err(std::io::Error::other)?;
    let mut text = json.finish_document()?;
    text.push(b'\n');
    writer.write_all(&text)?;
    writer.flush()
}

/// Returns the message for a report that could not be written.
pub(crate) fn cannot_report(error: &std::io::Error) -> String {
    format!("cannot write the report: {error}")
}
