//! The stage for plain text in a JSON answer: filters the lines of the document's member `raw` (seed: kimbap's
//! `text_filter`; SPEC §10).
//!
//! Knows one name and no line; all other members pass as they are. `_text_filtered: true` joins them at the end.

use crate::filter::stage::{Stage, With};
use crate::json::writer::Writer;
use crate::json::{Halt, Handler, Interest, Kind, Slot};
use crate::limits::Limits;
use crate::sink::Sink;
use crate::text::TextProgram;
use crate::text::quoted::QuotedPipeline;

/// The member with the text, and the one that says that it was filtered.
const RAW: &[u8] = b"raw";
const FILTERED: &[u8] = b"_text_filtered";

#[derive(Debug)]
pub(super) struct Lines {
    program: TextProgram,
    limits: Limits,
    writer: Writer,
    /// The text that is filtered now.
    text: Option<Text>,
    /// There was a text.
    filtered: bool,
    /// The document says already that its text is filtered.
    said: bool,
}

struct Text {
    lines: QuotedPipeline,
    /// Its opening quote has come.
    begun: bool,
    /// The byte before the next one: the last one is the closing quote.
    last: Option<u8>,
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Text").field("begun", &self.begun).finish_non_exhaustive()
    }
}

struct ToWriter<'a>(&'a mut Writer, &'a mut dyn Sink);

impl Sink for ToWriter<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.0.raw(self.1, bytes);
    }
}

impl Lines {
    pub(super) fn new(program: TextProgram, limits: Limits) -> Self {
        Self {
            program,
            limits,
            writer: Writer::default(),
            text: None,
            filtered: false,
            said: false,
        }
    }
}

impl Stage for Lines {
    fn flush(&mut self, sink: &mut dyn Sink) {
        self.writer.flush(sink);
    }
}

impl Handler for With<'_, Lines> {
    fn value(&mut self, slot: Slot<'_>, kind: Kind, _: u64) -> Result<Interest, Halt> {
        let Self { stage, sink } = self;
        let Lines { program, limits, writer, text, filtered, said } = &mut **stage;
        let Slot::Member(key) = slot else {
            if kind == Kind::Object {
                writer.open(*sink, b'{');
                return Ok(Interest::Inspect);
            }
            writer.begin(*sink);
            return Ok(Interest::Copy);
        };
        let name = |wanted: &[u8]| key.with_name(|name| name == Some(wanted));
        *said |= name(FILTERED);
        if !matches!(kind, Kind::String | Kind::EmptyString) || !name(RAW) {
            writer.begin(*sink);
            return Ok(Interest::CopyMember);
        }
        writer.spelled(*sink, key.raw());
        writer.begin(*sink);
        *text =
            Some(Text { lines: QuotedPipeline::new(program, limits), begun: false, last: None });
        *filtered = true;
        Ok(Interest::Copy)
    }

    fn close(&mut self, _: u64) -> Result<(), Halt> {
        let Lines { writer, filtered: true, said, .. } = &mut *self.stage else {
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

    fn raw(&mut self, bytes: &[u8]) {
        let Lines { writer, text, .. } = &mut *self.stage;
        let Some(text) = text else { return writer.raw(self.sink, bytes) };
        let mut rest = bytes;
        if !text.begun
            && let Some((quote, behind)) = rest.split_first()
        {
            writer.raw(self.sink, &[*quote]);
            text.begun = true;
            rest = behind;
        }
        if let Some((last, before)) = rest.split_last() {
            let mut to = ToWriter(writer, self.sink);
            if let Some(earlier) = text.last.replace(*last) {
                text.lines.write(&[earlier], &mut to);
            }
            text.lines.write(before, &mut to);
        }
    }

    fn copied(&mut self, _: u64) -> Result<(), Halt> {
        let Lines { writer, text, .. } = &mut *self.stage;
        if let Some(mut text) = text.take() {
            text.lines.end(&mut ToWriter(writer, self.sink));
            writer.raw(self.sink, b"\"");
        }
        Ok(())
    }
}
