//! Writes reports of runs as JSON.
//!
//! This module must not depend on what is reported.

use std::io::{self, Write};

use serde::Serialize;
use tamis_mcp::program::check_writable;

use crate::console::print::json;
use crate::console::{Console, Exit};
use crate::files;
use crate::files::place::Place;

/// The destination of a report. It is opened before a run, so that a run is not lost for a report that cannot be written.
pub(crate) struct ReportFile {
    name: String,
    writer: Box<dyn Write>,
}

impl ReportFile {
    /// Opens the destination, if there is one.
    ///
    /// # Errors
    /// It cannot be written to; the error is printed.
    pub(crate) fn open(console: &Console, place: Option<&Place>) -> Result<Option<Self>, Exit> {
        let Some(place) = place else { return Ok(None) };
        let name = place.name("standard error");
        match open(place) {
            Ok(writer) => Ok(Some(Self { name, writer })),
            Err(error) => Err(console.fail(&name, cannot_report(&error))),
        }
    }

    /// Writes a report, as one line of JSON.
    ///
    /// # Errors
    /// It cannot be written; the error is printed.
    pub(crate) fn write(mut self, console: &Console, report: &impl Serialize) -> Result<(), Exit> {
        let text = json(report);
        let written = text.and_then(|text| self.writer.write_all(&text));
        let written = written.and_then(|()| self.writer.flush());
        written.map_err(|error| console.fail(&self.name, cannot_report(&error)))
    }
}

fn open(place: &Place) -> io::Result<Box<dyn Write>> {
    Ok(match place {
        Place::Standard => {
            let stream = io::stderr();
            check_writable(&stream)?;
            Box::new(stream)
        }
        Place::Path(path) => Box::new(files::create(path)?),
    })
}

fn cannot_report(error: &io::Error) -> String {
    format!("cannot write the report: {error}")
}
