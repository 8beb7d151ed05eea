//! Writes reports of runs as JSON.
//!
//! This module must not depend on what is reported.

use std::io::Write;

use serde::Serialize;
use tamis_mcp::program::check_writable;

use crate::console::print::json;
use crate::files;
use crate::files::place::Place;

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
    writer.write_all(&json(report)?)?;
    writer.flush()
}

/// Returns the message for a report that could not be written.
pub(crate) fn cannot_report(error: &std::io::Error) -> String {
    format!("cannot write the report: {error}")
}
