//! Transforms of texts, and their filters as [`PushFilter`]s.

use std::collections::BTreeMap;

use tamis_json::error::Error;
use tamis_json::limits::{Limits, SpillGate};

use super::{BodyFilter, Outcome, Pace, Transform};
use crate::http::gather::GatherSink;
use crate::io::push::PushFilter;
use crate::text::{TextFilter, TextProgram, TextRedactor, TextReport};

/// The report of a filter over a text in which credentials are replaced first ([`Transform::redacted_text`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedactedTextReport {
    /// The report of the filter. The bytes of its input are those of the text with credentials.
    pub text: TextReport,
    /// How many credentials of each kind were replaced.
    pub redacted: BTreeMap<String, u64>,
}

impl Transform {
    /// Creates a filter over a text.
    #[must_use]
    pub fn text(program: &TextProgram, limits: &Limits) -> Self {
        let filter = TextFilter::with_limits(program, limits, GatherSink::default());
        let filter = TextPush::Text(Box::new(filter), TextReport::default());
        Self::of(filter, Pace::Match, SpillGate::default()).without_input()
    }

    /// Creates a filter over a text in which credentials are replaced first. Its report is a [`RedactedTextReport`].
    ///
    /// ```
    /// use tamis::http::{Transform, transform_async};
    /// use tamis::text::{TextProgram, TextRedactor, TextSpec};
    /// use tamis::Limits;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tamis::Error> {
    /// let program = TextProgram::compile(&TextSpec::new().dedup(true))?;
    /// let transform = Transform::redacted_text(&program, TextRedactor::new(), &Limits::new());
    /// let mut output = Vec::new();
    /// let log = b"from https://mira:tide@example.org/\nfrom https://mira:tide@example.org/\n";
    /// transform_async(transform, &log[..], &mut output).await?;
    /// assert_eq!(output, b"from https://mira:[redacted:url-password]@example.org/ (x2)\n");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn redacted_text(program: &TextProgram, redactor: TextRedactor, limits: &Limits) -> Self {
        let filter = TextFilter::with_limits(program, limits, GatherSink::default());
        let text = RedactedText::new(redactor, filter);
        let filter = TextPush::Redacted(Box::new(text), RedactedTextReport::default());
        Self::of(filter, Pace::Match, SpillGate::default()).without_input()
    }
}

/// A filter of text with the report of its end, once it has ended. It never fails before that.
pub(super) enum TextPush {
    Text(Box<TextFilter<GatherSink>>, TextReport),
    /// The search for credentials is before the filter.
    Redacted(Box<RedactedText>, RedactedTextReport),
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

    fn end(&mut self) -> Result<RedactedTextReport, Error> {
        let redacted = self.redactor.end(&mut self.safe);
        self.pass()?;
        let mut text = self.filter.end()?;
        text.changed |= !redacted.is_empty();
        text.bytes_in = self.read;
        Ok(RedactedTextReport { text, redacted })
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
            Self::Text(_, report) => Outcome::other(*report),
            Self::Redacted(_, report) => Outcome::other(report.clone()),
        }
    }

    fn sink(&self) -> &GatherSink {
        match self {
            Self::Text(filter, _) => filter.sink(),
            Self::Redacted(text, _) => text.filter.sink(),
        }
    }
}
