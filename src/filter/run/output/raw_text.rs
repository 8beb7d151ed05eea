//! The stage for plain text in a JSON response: filters the lines of the document's member `raw` (seed: kimbap's
//! `text_filter`; SPEC §10).
//!
//! All other members are forwarded unchanged. A member `_text_filtered: true` is added at the end.
//!
//! Example with `strip_ansi`:
//!
//! ```text
//! {"exit":0,"raw":"\u001b[1mok\u001b[0m"}
//! {"exit":0,"raw":"ok","_text_filtered":true}
//! ```
//!
//! Only members of the document itself count, and only strings. A document that is not an object, or has no such
//! member, is unchanged. Each of several members `raw` is filtered. The text streams: its lines are filtered as they
//! arrive.

use std::collections::BTreeMap;

use tamis_json::error::Raise;
use tamis_json::limits::Limits;
use tamis_json::sink::Sink;
use tamis_json::writer::JsonWriter;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};

use super::json_stage::OutputState;
use crate::filter::run::stage::{StageHandler, StageState};
use crate::report::{Report, add_counts};
use crate::text::{TextProgram, TextRedactor};
use tamis_text::quoted::QuotedPipeline;
use tamis_text::secrets::SecretRules;

/// The member with the text.
const RAW: &[u8] = b"raw";
/// The member that reports that the text was filtered.
const FILTERED: &[u8] = b"_text_filtered";

/// The handler of the stage. One per document.
#[derive(Debug)]
pub(super) struct RawTextStage {
    /// The compiled `text_filter`.
    program: TextProgram,
    /// The limits of the call, for the text filter.
    limits: Limits,
    /// Writes the document.
    writer: JsonWriter,
    /// The text that is being filtered: set while a member `raw` is copied.
    text: Option<RawTextMember>,
    /// Credentials are replaced before the lines are filtered.
    secrets: Option<SecretRules>,
    /// How many were replaced in texts that have ended.
    redacted: BTreeMap<String, u64>,
    /// The document has such a text, which may have ended.
    filtered: bool,
    /// The document already has the member `_text_filtered`, which is then not added.
    said: bool,
}

/// A member `raw` whose value is being read.
struct RawTextMember {
    /// Filters the contents of the string, as spelled between its quotes.
    lines: QuotedPipeline,
    /// The opening quote was written.
    begun: bool,
    /// The most recent byte, which is held: it may be the closing quote, which does not belong to the contents.
    last: Option<u8>,
}

impl std::fmt::Debug for RawTextMember {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawTextMember").field("begun", &self.begun).finish_non_exhaustive()
    }
}

/// The writer as the sink of the text filter.
struct WriterSink<'a>(&'a mut JsonWriter, &'a mut dyn Sink);

impl Sink for WriterSink<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.0.raw(self.1, bytes);
    }
}

impl RawTextStage {
    /// Creates the stage for one document.
    pub(super) fn new(program: TextProgram, limits: Limits, secrets: Option<SecretRules>) -> Self {
        Self {
            secrets,
            redacted: BTreeMap::new(),
            program,
            limits,
            writer: JsonWriter::default(),
            text: None,
            filtered: false,
            said: false,
        }
    }
}

impl OutputState for RawTextStage {
    fn report(&self, report: &mut Report) {
        if report.error.is_none() {
            add_counts(&mut report.redacted, &self.redacted);
        }
    }
}

impl StageState for RawTextStage {
    fn flush(&mut self, sink: &mut dyn Sink) {
        self.writer.flush(sink);
    }
}

impl Handler for StageHandler<'_, RawTextStage> {
    /// Copies every value. The value of a member `raw` is copied to the text filter instead of the writer.
    fn value(&mut self, slot: ValueSlot<'_>, kind: ValueKind, _: u64) -> Result<Interest, Raise> {
        let Self { stage, sink } = self;
        let RawTextStage { program, limits, writer, text, filtered, said, secrets, .. } =
            &mut **stage;
        let ValueSlot::Member(key) = slot else {
            if kind == ValueKind::Object {
                writer.open(*sink, b'{');
                return Ok(Interest::Inspect);
            }
            writer.begin(*sink);
            return Ok(Interest::Copy);
        };
        let name = |wanted: &[u8]| key.with_name(|name| name == Some(wanted));
        *said |= name(FILTERED);
        if !matches!(kind, ValueKind::String | ValueKind::EmptyString) || !name(RAW) {
            writer.begin(*sink);
            return Ok(Interest::CopyMember);
        }
        writer.spelled(*sink, key.raw());
        writer.begin(*sink);
        let mut lines = QuotedPipeline::new(program, limits);
        if let Some(secrets) = secrets {
            lines.redact(TextRedactor::with_rules(secrets, limits));
        }
        *text = Some(RawTextMember { lines, begun: false, last: None });
        *filtered = true;
        Ok(Interest::Copy)
    }

    /// Ends the document, an object. All other containers are copied and do not come here.
    fn close(&mut self, _: u64) -> Result<(), Raise> {
        let RawTextStage { writer, filtered: true, said, .. } = &mut *self.stage else {
            self.stage.writer.close(self.sink, b'}');
            return Ok(());
        };
        if !*said {
            writer.begin(self.sink);
            writer.raw(self.sink, b"\"_text_filtered\":true");
        }
        writer.close(self.sink, b'}');
        Ok(())
    }

    /// Passes copied bytes on, to the text filter or to the writer.
    fn raw(&mut self, bytes: &[u8]) {
        let RawTextStage { writer, text, .. } = &mut *self.stage;
        let Some(text) = text else { return writer.raw(self.sink, bytes) };
        let mut rest = bytes;
        // The first byte of a string is its opening quote.
        if !text.begun
            && let Some((quote, after)) = rest.split_first()
        {
            writer.raw(self.sink, &[*quote]);
            text.begun = true;
            rest = after;
        }
        // A later byte shows that the one held is not the closing quote.
        if let Some((last, before)) = rest.split_last() {
            let mut to = WriterSink(writer, self.sink);
            if let Some(earlier) = text.last.replace(*last) {
                text.lines.write(&[earlier], &mut to);
            }
            text.lines.write(before, &mut to);
        }
    }

    /// Ends the text: writes the lines that are still held, and the closing quote.
    fn copied(&mut self, _: u64) -> Result<(), Raise> {
        let RawTextStage { writer, text, redacted, .. } = &mut *self.stage;
        if let Some(mut text) = text.take() {
            text.lines.end(&mut WriterSink(writer, self.sink));
            add_counts(redacted, &text.lines.redacted);
            writer.raw(self.sink, b"\"");
        }
        Ok(())
    }
}
