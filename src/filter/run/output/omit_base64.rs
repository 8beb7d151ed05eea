//! The stage that leaves out long strings of base64 and `data:` URLs, and writes a mark in their place.
//!
//! ```text
//! {"items":[{"icon":"iVBORw0KGgoAAAANSUhEUgAA…"}]}
//! {"items":[{"icon":"[tamis: 14,203 bytes of base64 left out at /items/0/icon]"}]}
//! ```
//!
//! The mark has the size, and the place as a JSON Pointer into the document that this stage reads. Strings at every depth
//! are looked at; keys are not. A string is replaced only if all of it is binary data, if it is longer than the limit,
//! and if the mark is shorter. In other strings, such as Markdown, each `data:` URL in base64 that is longer is replaced.
//! The place needs all keys on its path, so a key over the limit `key` is an error.
//!
//! # Held bytes
//!
//! A string is held while it may be binary data, because a string that turns out to be something else is written
//! unchanged. Prose is written from its first blank on, and nearly nothing of it is held. The first 4 KiB are held in a
//! buffer that is reused for each string. Longer binary data fills memory up to the limit `held`, then a temporary file
//! up to `spill`; beyond that the run fails.

use tamis_json::error::Raise;
use tamis_json::hold::Hold;
use tamis_json::key::RawKey;
use tamis_json::limits::{Limits, Meter};
use tamis_json::policy::{Action, Output, Policy};
use tamis_json::sink::Sink;
use tamis_json::writer::JsonWriter;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};
use tamis_text::data_urls::DataUrls;
use tamis_text::grouped::grouped;

use super::binary_text::BinaryText;
use super::json_stage::OutputState;
use crate::filter::run::stage::{StageHandler, StageState};
use crate::report::Report;

/// The size of the buffer for the beginning of a string.
const BEGINNING: usize = 4 << 10;

/// The handler of the stage. One per document.
#[derive(Debug)]
pub(super) struct OmitBase64Stage {
    /// Strings with more characters are replaced.
    over: u64,
    /// The limits of the call, for what is held.
    limits: Limits,
    /// Writes the document.
    writer: JsonWriter,
    /// The place of the current value.
    path: PointerPath,
    /// The string that is being copied.
    string: Option<HeldString>,
    /// Writes strings that are not binary data as a whole.
    urls: DataUrls,
    /// The buffer of strings that have ended, for reuse.
    spare: Vec<u8>,
    /// Charged for what is held beyond the buffer.
    meter: Meter,
    /// The number of replaced strings.
    omitted: u64,
    /// The characters of the replaced strings, without escapes.
    omitted_bytes: u64,
}

/// A string that is being copied.
///
/// ```text
///           the quote               a character that does not fit
/// Opening ────────────▶ Candidate ────────────────────────────────▶ Passing
///                           │ the hold is full
///                           └──────────────────▶ Failed
/// ```
///
/// At the end a candidate is replaced, or written if it does not qualify. A failed one ends the run.
#[derive(Debug)]
struct HeldString {
    state: StringState,
    /// The first bytes, with the opening quote.
    beginning: Vec<u8>,
    /// The bytes after those.
    rest: Hold,
}

#[derive(Debug)]
enum StringState {
    /// Before the opening quote.
    Opening,
    /// It may be binary data, and all of it is held.
    Candidate(BinaryText),
    /// It is not binary data. Its bytes are written as they arrive.
    Passing,
    /// It could not be held.
    Failed(Raise),
}

impl OmitBase64Stage {
    /// Creates the stage for one document.
    pub(super) fn new(over: u64, limits: Limits) -> Self {
        Self {
            over,
            limits,
            writer: JsonWriter::default(),
            path: PointerPath::default(),
            string: None,
            urls: DataUrls::new(over),
            spare: Vec::new(),
            meter: Meter::default(),
            omitted: 0,
            omitted_bytes: 0,
        }
    }

    /// Returns the mark for a string, with quotes, and the number of characters that it replaces. `None` if the string is
    /// kept. `held`: its bytes with the quotes.
    fn mark(&self, text: &BinaryText, held: u64) -> Option<(Vec<u8>, u64)> {
        let (kind, chars) = text.end().filter(|(_, chars)| *chars > self.over)?;
        // A long path is not copied for each of many short strings.
        if self.path.text.len() as u64 >= held {
            return None;
        }
        let (size, kind) = (grouped(chars), kind.as_str());
        let mut mark = format!("\"[tamis: {size} bytes of {kind} left out").into_bytes();
        if !self.path.text.is_empty() {
            mark.extend_from_slice(b" at ");
            mark.extend_from_slice(&self.path.text);
        }
        mark.extend_from_slice(b"]\"");
        ((mark.len() as u64) < held).then_some((mark, chars))
    }
}

impl HeldString {
    /// Returns the number of held bytes.
    fn len(&self) -> u64 {
        self.beginning.len() as u64 + self.rest.len()
    }

    /// Appends bytes: first to the buffer, then to the hold.
    ///
    /// # Errors
    /// The hold is full, or the temporary file cannot be written.
    fn push(&mut self, bytes: &[u8], limits: &Limits, meter: &mut Meter) -> Result<(), Raise> {
        let room = BEGINNING.saturating_sub(self.beginning.len());
        let (first, rest) = bytes.split_at(bytes.len().min(room));
        self.beginning.extend_from_slice(first);
        if rest.is_empty() { Ok(()) } else { self.rest.push(rest, limits, meter) }
    }

    /// Passes the held bytes to `write`, and holds none of them any more.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    fn release(&mut self, meter: &mut Meter, mut write: impl FnMut(&[u8])) -> Result<(), Raise> {
        write(&self.beginning);
        self.beginning.clear();
        if self.rest.len() == 0 {
            return Ok(());
        }
        let write = |_: &mut Meter, bytes: &[u8]| {
            write(bytes);
            Ok(true)
        };
        self.rest.drain(meter, write, |raise| raise)
    }
}

/// The output of the stage as a sink for parts of a string.
struct StringSink<'a> {
    writer: &'a mut JsonWriter,
    sink: &'a mut dyn Sink,
}

impl Sink for StringSink<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.writer.raw(self.sink, bytes);
    }
}

impl OutputState for OmitBase64Stage {
    fn report(&self, report: &mut Report) {
        report.held_peak_bytes += self.meter.peak();
        if report.error.is_none() {
            report.base64_omitted = self.omitted + self.urls.replaced();
            report.base64_omitted_bytes = self.omitted_bytes + self.urls.replaced_characters();
        }
    }
}

impl StageState for OmitBase64Stage {
    fn flush(&mut self, sink: &mut dyn Sink) {
        self.writer.flush(sink);
    }
}

impl Handler for StageHandler<'_, OmitBase64Stage> {
    /// Enters containers and copies scalars. Strings are copied into a [`HeldString`].
    fn value(&mut self, slot: ValueSlot<'_>, kind: ValueKind, _: u64) -> Result<Interest, Raise> {
        let Self { stage, sink } = self;
        let OmitBase64Stage { writer, path, string, spare, .. } = &mut **stage;
        let member = match slot {
            ValueSlot::Member(key) => Some(key),
            ValueSlot::Top | ValueSlot::Element(_) => None,
        };
        let is_string = matches!(kind, ValueKind::String | ValueKind::EmptyString);
        if !is_string && !kind.is_container() {
            writer.begin(*sink);
            return Ok(if member.is_some() { Interest::CopyMember } else { Interest::Copy });
        }
        path.step(slot);
        if let Some(key) = member {
            writer.spelled(*sink, key.raw());
        }
        if !is_string {
            writer.open(*sink, if kind == ValueKind::Object { b'{' } else { b'[' });
            path.enter(kind == ValueKind::Array);
            return Ok(Interest::Inspect);
        }
        writer.begin(*sink);
        let beginning = std::mem::take(spare);
        *string =
            Some(HeldString { state: StringState::Opening, beginning, rest: Hold::default() });
        Ok(Interest::Copy)
    }

    /// A string that is not longer than the limit is written without a look at its characters.
    fn policy(&mut self) -> Policy<'_> {
        let Self { stage, sink } = self;
        let OmitBase64Stage { over, writer, .. } = &mut **stage;
        let longest = u32::try_from(*over).unwrap_or(u32::MAX);
        let output = Some(Output { writer, sink: *sink });
        Policy { longest, output, ..Policy::all(Action::Keep) }
    }

    /// Ends a container.
    fn close(&mut self, _: u64) -> Result<(), Raise> {
        let OmitBase64Stage { writer, path, .. } = &mut *self.stage;
        let bracket = if path.leave() { b']' } else { b'}' };
        writer.close(self.sink, bracket);
        Ok(())
    }

    /// Holds or writes bytes of a copied value.
    fn raw(&mut self, bytes: &[u8]) {
        let OmitBase64Stage { limits, writer, path, string, urls, meter, .. } = &mut *self.stage;
        let Some(held) = string else { return writer.raw(self.sink, bytes) };
        let mut pass = |bytes: &[u8]| {
            let mut out = StringSink { writer: &mut *writer, sink: &mut *self.sink };
            urls.write(bytes, &path.text, &mut out);
        };
        let mut bytes = bytes;
        if let StringState::Opening = held.state
            && let Some((quote, after)) = bytes.split_first()
        {
            held.beginning.push(*quote);
            held.state = StringState::Candidate(BinaryText::default());
            bytes = after;
        }
        let StringState::Candidate(text) = &mut held.state else {
            if let StringState::Passing = held.state {
                pass(bytes);
            }
            return;
        };
        let (fitting, others) = bytes.split_at(text.read(bytes).min(bytes.len()));
        // The fitting part is held even if the string passes, so that the limit does not depend on chunks.
        let mut done = held.push(fitting, limits, meter);
        if !others.is_empty() {
            done = done.and_then(|()| held.release(meter, &mut pass));
            held.state = StringState::Passing;
        }
        match done {
            Ok(()) => pass(others),
            Err(raise) => {
                held.rest.clear(meter);
                held.state = StringState::Failed(raise);
            }
        }
    }

    /// Ends a copied value. A string that is still held is replaced, or written.
    fn copied(&mut self, _: u64) -> Result<(), Raise> {
        let Some(mut held) = self.stage.string.take() else { return Ok(()) };
        let state = std::mem::replace(&mut held.state, StringState::Passing);
        let mark = match &state {
            StringState::Candidate(text) => self.stage.mark(text, held.len()),
            StringState::Opening | StringState::Passing | StringState::Failed(_) => None,
        };
        let OmitBase64Stage { writer, path, urls, meter, spare, omitted, omitted_bytes, .. } =
            &mut *self.stage;
        urls.end(&path.text, &mut StringSink { writer: &mut *writer, sink: &mut *self.sink });
        let done = match (mark, state) {
            (Some((mark, chars)), _) => {
                writer.raw(self.sink, &mark);
                *omitted += 1;
                *omitted_bytes += chars;
                held.rest.clear(meter);
                Ok(())
            }
            (None, StringState::Failed(raise)) => Err(raise),
            (None, _) => held.release(meter, |bytes| writer.raw(self.sink, bytes)),
        };
        held.beginning.clear();
        *spare = held.beginning;
        done
    }
}

/// The JSON Pointer of the current value, spelled as in a JSON string.
///
/// Keys keep their escapes, so that the pointer can be copied into the mark. The text is truncated to the pointer of the
/// innermost container before the next step, so each key is copied once.
#[derive(Debug, Default)]
struct PointerPath {
    text: Vec<u8>,
    /// For each open container, the length of its own pointer, and whether it is an array.
    open: Vec<(usize, bool)>,
}

impl PointerPath {
    /// Moves to the value at a slot of the innermost container.
    fn step(&mut self, slot: ValueSlot<'_>) {
        self.text.truncate(self.open.last().map_or(0, |(length, _)| *length));
        match slot {
            ValueSlot::Top => {}
            ValueSlot::Member(key) => {
                self.text.push(b'/');
                push_token(&mut self.text, &key);
            }
            ValueSlot::Element(index) => {
                self.text.push(b'/');
                self.text.extend_from_slice(index.to_string().as_bytes());
            }
        }
    }

    /// Enters the container at the current place.
    fn enter(&mut self, is_array: bool) {
        self.open.push((self.text.len(), is_array));
    }

    /// Leaves the innermost container. Returns whether it is an array.
    fn leave(&mut self) -> bool {
        self.open.pop().is_some_and(|(_, is_array)| is_array)
    }
}

/// Appends a key as a token of a pointer: `~` is `~0`, and `/` is `~1`. Other characters keep their spelling.
fn push_token(pointer: &mut Vec<u8>, key: &RawKey<'_>) {
    let mut rest = key.raw();
    while let Some((byte, after)) = rest.split_first() {
        let (length, character) = match (byte, after) {
            (b'\\', [b'u', b'0', b'0', b'7', b'e' | b'E', ..]) => (6, b'~'),
            (b'\\', [b'u', b'0', b'0', b'2', b'f' | b'F', ..]) => (6, b'/'),
            (b'\\', [b'/', ..]) => (2, b'/'),
            // The character after a backslash does not begin an escape.
            (b'\\', [_, ..]) => (2, b'\\'),
            _ => (1, *byte),
        };
        let (spelled, after) = rest.split_at(length);
        match character {
            b'~' => pointer.extend_from_slice(b"~0"),
            b'/' => pointer.extend_from_slice(b"~1"),
            _ => pointer.extend_from_slice(spelled),
        }
        rest = after;
    }
}
