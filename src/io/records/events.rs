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

use super::fields::{Fields, Line, Piece};
use super::{Flaw, Held, Record, RecordForm, Records};
use crate::error::{Error, Raise};
use crate::limits::Limits;
use crate::sink::Sink;

/// A filter over an event stream.
pub(crate) type Events<S, F> = Records<EventForm, S, F>;

/// The data that ends the streams of OpenAI. It is not a document.
const DONE: &[u8] = b"[DONE]";

/// The position in an event stream.
pub(crate) struct EventForm {
    fields: Fields,
    /// Bytes of the stream so far.
    offset: u64,
    number: u64,
    event: Event,
    /// The held bytes of the event, except its output.
    waiting: Held,
    /// The last event was bad.
    dropped: bool,
}

/// The current event.
#[derive(Debug, Default)]
struct Event {
    state: State,
    /// Offset of its first byte.
    start: u64,
    data: Data,
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
enum State {
    #[default]
    Between,
    Waiting,
    Document,
    Bad,
}

/// The place of an event's data in the stream.
#[derive(Debug, Default)]
struct Data {
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
    Document(Flaw),
}

impl From<Raise> for Wrong {
    fn from(raise: Raise) -> Self {
        Self::Waiting(raise)
    }
}

impl From<Flaw> for Wrong {
    fn from(flaw: Flaw) -> Self {
        Self::Document(flaw)
    }
}

impl RecordForm for EventForm {
    const RECORD: &'static str = "event";

    fn new(limits: &Limits) -> Self {
        Self {
            fields: Fields::new(),
            offset: 0,
            number: 0,
            event: Event::default(),
            waiting: Held::new(limits),
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
        piece: Piece<'_>,
        record: &mut Record<S, F>,
    ) -> Result<(), Error> {
        let start = self.offset;
        self.offset += piece.bytes().len() as u64;
        if piece.line() == Some(Line::Unknown) {
            // Clients ignore the line, and no rule declares what it may contain.
            return Ok(());
        }
        if let Piece::Begin(Line::Data | Line::Other) = piece
            && self.event.state == State::Between
        {
            self.number += 1;
            self.event = Event { state: State::Waiting, start, ..Event::default() };
        }
        self.event.note(piece, self.offset);
        let taken = match (self.event.state, piece) {
            (State::Between, Piece::Feed(Line::Empty)) if self.dropped => Ok(()),
            (State::Between, _) => {
                self.dropped &= !matches!(piece, Piece::End(..));
                record.sink.write(piece.bytes());
                Ok(())
            }
            (_, Piece::End(Line::Empty, end)) => return self.end_event(end, record),
            (State::Waiting, _) => self.wait(piece, record),
            (State::Document, _) => self.feed(piece, record),
            (State::Bad, _) => Ok(()),
        };
        if let Err(wrong) = taken {
            self.bad(wrong, record);
        }
        Ok(())
    }

    /// Takes a piece of an event that has no document so far.
    fn wait<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        piece: Piece<'_>,
        record: &mut Record<S, F>,
    ) -> Result<(), Wrong> {
        let Self { event, waiting, .. } = self;
        match piece {
            // After `[DONE]`.
            Piece::Begin(Line::Data) if event.done > 0 => self.begin_document(record, piece),
            Piece::Begin(_) => Ok(()),
            Piece::Name(name) => {
                event.name = name;
                Ok(())
            }
            Piece::Text(Line::Data, text) => {
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
                        return self.begin_document(record, Piece::Text(Line::Data, rest));
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
                self.begin_document(record, Piece::Text(Line::Data, rest))
            }
            Piece::End(Line::Data, _) if (1..DONE.len()).contains(&event.done) => {
                self.begin_document(record, piece)
            }
            Piece::End(Line::Data, end) => {
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
        piece: Piece<'_>,
    ) -> Result<(), Wrong> {
        self.event.state = State::Document;
        if std::mem::take(&mut self.event.has_blank_data) {
            let mut waiting = self.waiting.take();
            let mut fields = Fields::inside();
            let mut fed = Ok(());
            let drained = waiting.drain_into(|mut bytes| {
                while let (Ok(()), Some(piece)) = (&fed, fields.next(&mut bytes)) {
                    fed = self.feed(piece, record);
                }
                fed.is_ok()
            });
            self.waiting.meter.absorb(&waiting.meter);
            fed?;
            drained.map_err(Flaw::Document)?;
        }
        if !std::mem::take(&mut self.event.name).is_empty() {
            self.feed(Piece::Begin(Line::Data), record)?;
            let done = DONE.get(..self.event.done).unwrap_or_default();
            self.feed(Piece::Text(Line::Data, done), record)?;
        }
        self.feed(piece, record)
    }

    /// Takes a piece of an event that has a document.
    fn feed<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        piece: Piece<'_>,
        record: &mut Record<S, F>,
    ) -> Result<(), Wrong> {
        match piece {
            Piece::Begin(Line::Data) => {
                if std::mem::replace(&mut self.event.feeding, true) {
                    record.feed(b"\n")?;
                }
            }
            Piece::Text(Line::Data, text) => record.feed(text)?,
            Piece::Name(_) | Piece::End(Line::Data, _) | Piece::Feed(Line::Data) => {}
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
        if self.event.state == State::Waiting
            && (1..DONE.len()).contains(&self.event.done)
            && let Err(wrong) = self.begin_document(record, Piece::Begin(Line::Empty))
        {
            self.bad(wrong, record);
        }
        if self.event.state == State::Document
            && let Err(flaw) = record.complete(self.number, self.waiting.peak())
        {
            self.bad(flaw.into(), record);
        }
        record.sum.add_peak(self.waiting.peak());
        let Self { event, waiting, .. } = self;
        self.dropped = event.state == State::Bad;
        let mut last_end = event.last_end;
        match event.state {
            State::Between => {}
            State::Waiting => {
                pass(waiting, &mut record.sink)?;
                if !event.name.is_empty() {
                    record.sink.write(event.name);
                    record.sink.write(DONE.get(..event.done).unwrap_or_default());
                }
            }
            State::Document => {
                let line_end = if event.line_end.is_empty() { b"\n" } else { event.line_end };
                last_end = line_end;
                pass(waiting, &mut record.sink)?;
                if matches!(self.fields.line(), Some(Line::Other | Line::Comment)) {
                    record.sink.write(line_end);
                }
                let mut lines = DataLines::new(line_end);
                record.drain(|sink, piece| lines.write(piece, sink))?;
                lines.end(&mut record.sink);
                record.restart();
            }
            State::Bad => record.sum.add_bad_bytes(event.data.length),
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
        self.event.state = State::Bad;
    }
}

impl Event {
    /// Records the place of the data and the first line end. `behind` is the offset of the byte after the piece.
    fn note(&mut self, piece: Piece<'_>, behind: u64) {
        let data = &mut self.data;
        let first = data.lines <= 1;
        match piece {
            Piece::Begin(line) => {
                if line == Line::Data {
                    data.lines += 1;
                    // The LF between two lines.
                    data.length += u64::from(data.lines > 1);
                }
                self.line_end_open = false;
            }
            Piece::Name(_) if first => data.start = behind,
            Piece::Text(Line::Data, text) => {
                data.length += text.len() as u64;
                data.first_line += if first { text.len() as u64 } else { 0 };
            }
            Piece::End(line, end) if line != Line::Empty => {
                self.last_end = end;
                if self.line_end.is_empty() {
                    self.line_end = end;
                    self.line_end_open = true;
                }
            }
            Piece::Feed(_) => {
                self.last_end = b"\r\n";
                if self.line_end_open {
                    self.line_end = b"\r\n";
                }
            }
            _ => {}
        }
    }
}

impl Data {
    fn place(&self, flaw: Flaw) -> Error {
        let error = match flaw {
            Flaw::Output(raise) => return Error::at(raise, self.start, String::new()),
            Flaw::Document(error) => error,
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
fn pass(waiting: &mut Held, sink: &mut impl Sink) -> Result<(), Error> {
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
