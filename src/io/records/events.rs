//! One document an event of an event stream (server-sent events, WHATWG HTML §9.2).
//!
//! ```text
//!            a line that is no comment           data that is neither white space nor [DONE]
//!  Between ────────────────────────────▶ Waiting ─────────────────────────────────────────▶ Document
//!     ▲   what is here passes               │ all waits as it is                  data to the filter, │ a flaw
//!     └─────────────── empty line ──────────┴──────────────────────────────────── other lines wait ───┴───▶ Bad
//! ```
//!
//! Until there is a document the event may have to pass as it came, so nothing of it reaches the filter; then what waits is
//! read once more. Each byte is looked at twice at most, and no line is gathered.

use super::fields::{Fields, Line, Piece};
use super::{Flaw, Held, Record, RecordForm, Records};
use crate::error::{Error, Raise};
use crate::limits::Limits;
use crate::sink::Sink;

/// A push run over events.
pub(crate) type Events<S, F> = Records<EventForm, S, F>;

/// The data by which OpenAI's streams end. It is no document.
const DONE: &[u8] = b"[DONE]";

/// Where the run is in the stream.
pub(crate) struct EventForm {
    fields: Fields,
    /// Bytes of the stream so far.
    offset: u64,
    number: u64,
    event: Event,
    /// What waits of the event, but for its output.
    waiting: Held,
    /// The last event was bad.
    dropped: bool,
}

/// The event that has begun.
#[derive(Debug, Default)]
struct Event {
    state: State,
    /// Offset of its first byte.
    start: u64,
    data: Data,
    /// Its first line end; empty if there was none.
    line_end: &'static [u8],
    /// That was the last that came, and is a CR.
    line_end_open: bool,
    /// The end of its last line.
    last_end: &'static [u8],
    /// The name of a data line, while all of the line so far is the name and, behind it, what `done` says.
    name: &'static [u8],
    /// The data so far is the begin of `[DONE]`, so many bytes.
    done: usize,
    /// Data lines wait.
    has_blank_data: bool,
    /// The filter got the first data line's begin.
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

/// Where an event's data is.
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

/// What is wrong with an event.
enum Wrong {
    /// More of it, beside its output, would have to wait.
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
            // Nobody has to see it, and what it holds was declared nowhere.
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

    /// Takes a piece of an event that may have to pass as it came.
    fn wait<S: Sink, F: FnMut(u64, &Error)>(
        &mut self,
        piece: Piece<'_>,
        record: &mut Record<S, F>,
    ) -> Result<(), Wrong> {
        let Self { event, waiting, .. } = self;
        match piece {
            // Behind `[DONE]`.
            Piece::Begin(Line::Data) if event.done > 0 => self.begin_document(record, piece),
            Piece::Begin(_) => Ok(()),
            Piece::Name(name) => {
                event.name = name;
                Ok(())
            }
            Piece::Text(Line::Data, text) => {
                // `text` counts already.
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

    /// The event has a document, as `piece` shows: what waits of it goes to the filter first.
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

    /// Ends the event by an empty line, or by the end of the stream: it goes out.
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
            // Behind the CR of another line than it was behind, a LF would be no line of its own.
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
    /// Remembers where the data is, and how the first line ended. `behind` is the offset of the byte behind the piece.
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
            // The byte behind the first line is its line end, and the LF of the data.
            Some(at) if at <= self.first_line => (self.start + at, message.to_owned()),
            Some(at) => (self.start, format!("{message} (byte {at} of the event's data)")),
        };
        Error::at(Raise::new(error.kind(), message), offset, error.path().to_owned())
    }
}

/// Lets what waits pass.
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
    /// The line before ended with a CR, and nothing came since.
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

    /// Ends the last line, which is there also if it is empty.
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
