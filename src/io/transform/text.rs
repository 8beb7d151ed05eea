//! Filters of texts and of the output of commands as [`PushFilter`]s.

use tamis_json::error::Error;

use super::{BodyFilter, Outcome};

use crate::io::gather::GatherSink;
use crate::io::push::PushFilter;

use crate::text::{TextFilter, TextRedactor, TextReport};

/// A filter of text with the report of its end, once it has ended. It never fails before that.
pub(super) enum TextPush {
    Text(Box<TextFilter<GatherSink>>, TextReport),
    /// The search for credentials is before the filter.
    Redacted(Box<RedactedText>, TextReport),
}

pub(super) struct RedactedText {
    redactor: TextRedactor,
    filter: TextFilter<GatherSink>,
    /// The text between the two.
    safe: Vec<u8>,
    /// Bytes of the input.
    read: u64,
}

impl RedactedText {
    pub(super) fn new(redactor: TextRedactor, filter: TextFilter<GatherSink>) -> Self {
        Self { redactor, filter, safe: Vec::new(), read: 0 }
    }

    fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.read += chunk.len() as u64;
        self.redactor.write(chunk, &mut self.safe);
        self.pass()
    }

    fn end(&mut self) -> Result<TextReport, Error> {
        let found = self.redactor.end(&mut self.safe);
        self.pass()?;
        let mut report = self.filter.end()?;
        report.changed |= !found.is_empty();
        report.bytes_in = self.read;
        Ok(report)
    }

    fn pass(&mut self) -> Result<(), Error> {
        let written = self.filter.write(&self.safe);
        self.safe.clear();
        written
    }
}

impl PushFilter for TextPush {
    type Sink = GatherSink;

    fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        match self {
            Self::Text(filter, _) => filter.write(chunk),
            Self::Redacted(text, _) => text.write(chunk),
        }
    }

    fn end(&mut self) -> Result<(), Error> {
        match self {
            Self::Text(filter, report) => *report = filter.end()?,
            Self::Redacted(text, report) => *report = text.end()?,
        }
        Ok(())
    }

    fn fail(&mut self, _: &Error) {}

    fn sink_mut(&mut self) -> &mut GatherSink {
        match self {
            Self::Text(filter, _) => filter.sink_mut(),
            Self::Redacted(text, _) => text.filter.sink_mut(),
        }
    }
}

impl BodyFilter for TextPush {
    fn held_peak(&self) -> u64 {
        0
    }

    fn outcome(&self) -> Outcome {
        match self {
            Self::Text(_, report) | Self::Redacted(_, report) => Outcome::Text(*report),
        }
    }

    fn sink(&self) -> &GatherSink {
        match self {
            Self::Text(filter, _) => filter.sink(),
            Self::Redacted(text, _) => text.filter.sink(),
        }
    }
}
