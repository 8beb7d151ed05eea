//! Event streams with one document per event (server-sent events, WHATWG HTML §9.2).
//!
//! ```text
//!            a line that is no comment           data other than white space or [DONE]
//!  Between ────────────────────────────▶ Waiting ─────────────────────────────────────▶ Document
//!     ▲   bytes are written at once        │ bytes are held                  data is filtered, │ error
//!     └─────────────── empty line ─────────┴──────────────────────────── other lines are held ─┴───▶ Bad
//! ```
//!
//! An event without a document is written unchanged, so nothing of an event is filtered until there is a document. Then the held
//! bytes are read again. Each byte is read twice at most, and no line is collected.

use tamis_json::error::{Error, Raise};
use tamis_json::event_fields::{FieldSplitter, LineKind, StreamPiece};
use tamis_json::sink::Sink;

use super::{HeldOutput, Record, RecordFlaw, RecordForm, Records};
use crate::filter::Call;

/// A filter over an event stream.
pub(crate) type Events<S, F> = Records<EventForm, S, F>;

/// The data that ends the streams of OpenAI. It is not a document.
const DONE: &[u8] = b"[DONE]";

/// The position in an event stream.
pub(crate) struct EventForm {
    fields: FieldSplitter,
    /// Bytes of the stream so far.
    offset: u64,
    number: u64,
    event: Event,
    /// The held bytes of the event, except its output.
    waiting: HeldOutput,
    /// The last event was bad.
    dropped: bool,
}

/// The current event.
#[derive(Debug, Default)]
struct Event {
    state: EventState,
    /// Offset of its first byte.
    start: u64,
    data: EventData,
    /// Its first line end; empty if there was none.
    line_end: &'static [u8],
    /// The first line end was the last byte read, and is a CR.
    line_end_open: bool,
    /// The end of its last line.
    last_end: &'static [u8],
    /// The name of a data line, if the line so far consists only of it and the bytes counted in `done`.
    name: &'static [u8],
    /// Length of the data, if it is a prefix of `[DONE]`.
    done: usize,
    /// Data lines are held.
    has_blank_data: bool,
    /// The start of the first data line was filtered.
    feeding: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum EventState {
    #[default]
    Between,
    Waiting,
    Document,
    Bad,
}

/// The place of an event's data in the stream.
#[derive(Debug, Default)]
struct EventData {
    lines: u64,
    /// Bytes, with the LFs between lines.
    length: u64,
    /// Offset of the first.
    start: u64,
    /// Bytes of the first line.
    first_line: u64,
}

/// Why an event is bad.
enum Wrong {
    /// Too much of its other lines would have to be held.
    Waiting(Raise),
    Document(RecordFlaw),
}

impl From<Raise> for Wrong {
    fn from(raise: Raise) -> Self {
        Self::Waiting(raise)
    }
}

impl From<RecordFlaw> for Wrong {
    fn from(flaw: RecordFlaw) -> Self {
        Self::Document(flaw)
    }
}

impl RecordForm for EventForm {
    const RECORD: &'static str = "event";

    fn new(call: &Call<'_>) -> Self {
        Self {
            fields: FieldSplitter::new(),
            offset: 0,
            number: 0,
            event: Event::default(),
            waiting: HeldOutput::new(call.options().limits()),
            dropped: false,
        }
    }

    fn write<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        mut chunk: &[u8],
        record: &mut Record<S, F>,
    ) -> Result<(), Error> {
        while let Some(piece) = self.fields.next(&mut chunk) {
            self.take(piece, record)?;
        }
        Ok(())
    }

    fn end<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        record: &mut Record<S, F>,
    ) -> Result<(), Error> {
        if let Some(piece) = self.fields.settle() {
            self.take(piece, record)?;
            self.write(b"", record)?;
        }
        self.end_event(b"", record)
    }
}

impl EventForm {
    fn take<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        piece: StreamPiece<'_>,
        record: &mut Record<S, F>,
    ) -> Result<(), Error> {
        let start = self.offset;
        self.offset += piece.bytes().len() as u64;
        if piece.line() == Some(LineKind::Unknown) {
            // Clients ignore the line, and no rule declares what it may contain.
            return Ok(());
        }
        if let StreamPiece::Begin(LineKind::Data | LineKind::Other) = piece
            && self.event.state == EventState::Between
        {
            self.number += 1;
            self.event = Event { state: EventState::Waiting, start, ..Event::default() };
        }
        self.event.note(piece, self.offset);
        let taken = match (self.event.state, piece) {
            (EventState::Between, StreamPiece::Feed(LineKind::Empty)) if self.dropped => Ok(()),
            (EventState::Between, _) => {
                self.dropped &= !matches!(piece, StreamPiece::End(..));
                record.sink.write(piece.bytes());
                Ok(())
            }
            (_, StreamPiece::End(LineKind::Empty, end)) => return self.end_event(end, record),
            (EventState::Waiting, _) => self.wait(piece, record),
            (EventState::Document, _) => self.feed(piece, record),
            (EventState::Bad, _) => Ok(()),
        };
        if let Err(wrong) = taken {
            self.bad(wrong, record);
        }
        Ok(())
    }

    /// Takes a piece of an event that has no document so far.
    fn wait<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        piece: StreamPiece<'_>,
        record: &mut Record<S, F>,
    ) -> Result<(), Wrong> {
        let Self { event, waiting, .. } = self;
        match piece {
            // After `[DONE]`.
            StreamPiece::Begin(LineKind::Data) if event.done > 0 => {
                self.begin_document(record, piece)
            }
            StreamPiece::Begin(_) => Ok(()),
            StreamPiece::Name(name) => {
                event.name = name;
                Ok(())
            }
            StreamPiece::Text(LineKind::Data, text) => {
                // `text` is counted already.
                if event.done > 0 || event.data.length == text.len() as u64 {
                    let wanted = DONE.get(event.done..).unwrap_or_default();
                    let same = text.iter().zip(wanted).take_while(|(byte, done)| byte == done);
                    let same = same.count();
                    event.done += same;
                    if event.done > 0 {
                        let rest = text.get(same..).unwrap_or_default();
                        if rest.is_empty() {
                            return Ok(());
                        }
                        return self
                            .begin_document(record, StreamPiece::Text(LineKind::Data, rest));
                    }
                }
                let blank = text.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
                let (blank, rest) = text.split_at(blank);
                if !blank.is_empty() {
                    event.has_blank_data = true;
                    waiting.push(std::mem::take(&mut event.name))?;
                    waiting.push(blank)?;
                }
                if rest.is_empty() {
                    return Ok(());
                }
                self.begin_document(record, StreamPiece::Text(LineKind::Data, rest))
            }
            StreamPiece::End(LineKind::Data, _) if (1..DONE.len()).contains(&event.done) => {
                self.begin_document(record, piece)
            }
            StreamPiece::End(LineKind::Data, end) => {
                event.has_blank_data = true;
                waiting.push(std::mem::take(&mut event.name))?;
                // All of it, or nothing.
                waiting.push(DONE.get(..event.done).unwrap_or_default())?;
                Ok(waiting.push(end)?)
            }
            _ => Ok(waiting.push(piece.bytes())?),
        }
    }

    /// Starts the document of the event at `piece`: the held bytes are filtered first.
    fn begin_document<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        record: &mut Record<S, F>,
        piece: StreamPiece<'_>,
    ) -> Result<(), Wrong> {
        self.event.state = EventState::Document;
        if std::mem::take(&mut self.event.has_blank_data) {
            let mut waiting = self.waiting.take();
            let mut fields = FieldSplitter::inside();
            let mut fed = Ok(());
            let drained = waiting.drain_into(|mut bytes| {
                while let (Ok(()), Some(piece)) = (&fed, fields.next(&mut bytes)) {
                    fed = self.feed(piece, record);
                }
                fed.is_ok()
            });
            self.waiting.meter.absorb(&waiting.meter);
            fed?;
            drained.map_err(RecordFlaw::Document)?;
        }
        if !std::mem::take(&mut self.event.name).is_empty() {
            self.feed(StreamPiece::Begin(LineKind::Data), record)?;
            let done = DONE.get(..self.event.done).unwrap_or_default();
            self.feed(StreamPiece::Text(LineKind::Data, done), record)?;
        }
        self.feed(piece, record)
    }

    /// Takes a piece of an event that has a document.
    fn feed<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        piece: StreamPiece<'_>,
        record: &mut Record<S, F>,
    ) -> Result<(), Wrong> {
        match piece {
            StreamPiece::Begin(LineKind::Data) => {
                if std::mem::replace(&mut self.event.feeding, true) {
                    record.feed(b"\n")?;
                }
            }
            StreamPiece::Text(LineKind::Data, text) => record.feed(text)?,
            StreamPiece::Name(_)
            | StreamPiece::End(LineKind::Data, _)
            | StreamPiece::Feed(LineKind::Data) => {}
            _ => self.waiting.push(piece.bytes())?,
        }
        Ok(())
    }

    /// Ends the event at an empty line, or at the end of the stream, and writes it.
    fn end_event<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        end: &[u8],
        record: &mut Record<S, F>,
    ) -> Result<(), Error> {
        if self.event.state == EventState::Waiting
            && (1..DONE.len()).contains(&self.event.done)
            && let Err(wrong) = self.begin_document(record, StreamPiece::Begin(LineKind::Empty))
        {
            self.bad(wrong, record);
        }
        if self.event.state == EventState::Document
            && let Err(flaw) = record.complete(self.number, self.waiting.peak())
        {
            self.bad(flaw.into(), record);
        }
        record.sum.add_peak(self.waiting.peak());
        let Self { event, waiting, .. } = self;
        self.dropped = event.state == EventState::Bad;
        let mut last_end = event.last_end;
        match event.state {
            EventState::Between => {}
            EventState::Waiting => {
                pass(waiting, &mut record.sink)?;
                if !event.name.is_empty() {
                    record.sink.write(event.name);
                    record.sink.write(DONE.get(..event.done).unwrap_or_default());
                }
            }
            EventState::Document => {
                let line_end = if event.line_end.is_empty() { b"\n" } else { event.line_end };
                last_end = line_end;
                pass(waiting, &mut record.sink)?;
                if matches!(self.fields.line(), Some(LineKind::Other | LineKind::Comment)) {
                    record.sink.write(line_end);
                }
                let mut lines = DataLines::new(line_end);
                record.drain(|sink, piece| lines.write(piece, sink))?;
                lines.end(&mut record.sink);
                record.restart();
            }
            EventState::Bad => record.sum.add_bad_bytes(event.data.length),
        }
        if !self.dropped {
            // After a line that ends with a CR, a LF would be read as a part of its line end.
            let joins = last_end == b"\r" && end == b"\n";
            record.sink.write(if joins { b"\r" } else { end });
        }
        self.waiting.clear();
        self.event = Event::default();
        Ok(())
    }

    fn bad<S: Sink, F: FnMut(u64, &Error)>(&mut self, wrong: Wrong, record: &mut Record<S, F>) {
        let error = match wrong {
            Wrong::Waiting(raise) => Error::at(raise, self.event.start, String::new()),
            Wrong::Document(flaw) => self.event.data.place(flaw),
        };
        record.sum.add_peak(self.waiting.peak());
        record.bad(self.number, &error);
        self.waiting.clear();
        self.event.state = EventState::Bad;
    }
}

impl Event {
    /// Records the place of the data and the first line end. `behind` is the offset of the byte after the piece.
    fn note(&mut self, piece: StreamPiece<'_>, behind: u64) {
        let data = &mut self.data;
        let first = data.lines <= 1;
        match piece {
            StreamPiece::Begin(line) => {
                if line == LineKind::Data {
                    data.lines += 1;
                    // The LF between two lines.
                    data.length += u64::from(data.lines > 1);
                }
                self.line_end_open = false;
            }
            StreamPiece::Name(_) if first => data.start = behind,
            StreamPiece::Text(LineKind::Data, text) => {
                data.length += text.len() as u64;
                data.first_line += if first { text.len() as u64 } else { 0 };
            }
            StreamPiece::End(line, end) if line != LineKind::Empty => {
                self.last_end = end;
                if self.line_end.is_empty() {
                    self.line_end = end;
                    self.line_end_open = true;
                }
            }
            StreamPiece::Feed(_) => {
                self.last_end = b"\r\n";
                if self.line_end_open {
                    self.line_end = b"\r\n";
                }
            }
            _ => {}
        }
    }
}

impl EventData {
    fn place(&self, flaw: RecordFlaw) -> Error {
        let error = match flaw {
            RecordFlaw::Output(raise) => return Error::at(raise, self.start, String::new()),
            RecordFlaw::Document(error) => error,
        };
        let message = error.message();
        let (offset, message) = match error.offset() {
            None => (self.start, message.to_owned()),
            Some(at) if error.is_elsewhere() => (self.start, format!("{message}: byte {at} there")),
            // The byte after the first line is its line end, and the LF of the data.
            Some(at) if at <= self.first_line => (self.start + at, message.to_owned()),
            Some(at) => (self.start, format!("{message} (byte {at} of the event's data)")),
        };
        error.moved(message, offset)
    }
}

/// Writes the held bytes unchanged.
fn pass(waiting: &mut HeldOutput, sink: &mut impl Sink) -> Result<(), Error> {
    waiting.drain_into(|piece| {
        sink.write(piece);
        !sink.is_closed()
    })
}

/// Writes a text as lines of data: LF, CRLF and CR in it begin a new one.
struct DataLines {
    line_end: &'static [u8],
    /// The line has its name.
    named: bool,
    /// The last byte was a CR.
    cr: bool,
}

impl DataLines {
    fn new(line_end: &'static [u8]) -> Self {
        Self { line_end, named: false, cr: false }
    }

    fn write(&mut self, text: &[u8], sink: &mut impl Sink) {
        let mut rest = text;
        while let Some((&byte, behind)) = rest.split_first() {
            if std::mem::take(&mut self.cr) && byte == b'\n' {
                rest = behind;
                continue;
            }
            self.name(sink);
            let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
            let (line, behind) = rest.split_at(end);
            sink.write(line);
            rest = behind;
            if let Some((&byte, behind)) = rest.split_first() {
                sink.write(self.line_end);
                self.named = false;
                self.cr = byte == b'\r';
                rest = behind;
            }
        }
    }

    /// Ends the last line, which is written even if it is empty.
    fn end(mut self, sink: &mut impl Sink) {
        self.name(sink);
        sink.write(self.line_end);
    }

    fn name(&mut self, sink: &mut impl Sink) {
        if !std::mem::replace(&mut self.named, true) {
            sink.write(b"data: ");
        }
    }
}
