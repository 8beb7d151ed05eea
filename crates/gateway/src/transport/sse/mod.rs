//! Messages as events of an event stream: the framing of MCP over HTTP.
//!
//! The framer follows the rules of browsers. A line ends with LF, CRLF or CR, and with nothing else: U+0085 and U+2028
//! are data. A byte order mark counts only at the start. Several `data` lines are one message, joined by LF. An event
//! ends at an empty line; an event without that end is never returned.
//!
//! An event keeps how it was written, so that it can be forwarded byte for byte, or with other data and everything else
//! in its place. A stream is read in pieces of any size.

use tamis_json::bom::BOM;
use tamis_json::event_fields::{FieldSplitter, LineKind, StreamPiece};
use tamis_mcp::OverflowScan;
use tamis_mcp::spool::{Spool, SpoolError, SpoolLimits};

use crate::transport::lines::Collecting;

/// Bytes of an event that are not data. Comments, ids and names are short.
const OTHER: usize = 1 << 20;

/// Groups of lines of an event. Data that is written in the usual way is one group, whatever its number of lines.
const GROUPS: usize = 10_000;

/// Bytes of an event that are written at once.
const PIECE: usize = 64 << 10;

/// The end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnd {
    Lf,
    Cr,
    CrLf,
}

impl LineEnd {
    fn bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::Cr => b"\r",
            Self::CrLf => b"\r\n",
        }
    }
}

/// How the name of a data line was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DataName {
    /// `data`, without a value.
    Bare,
    /// `data:`
    Colon,
    /// `data: `
    Space,
}

impl DataName {
    fn of(bytes: &[u8]) -> Self {
        match bytes {
            b"data" => Self::Bare,
            b"data:" => Self::Colon,
            _ => Self::Space,
        }
    }

    fn bytes(self) -> &'static [u8] {
        match self {
            Self::Bare => b"data",
            Self::Colon => b"data:",
            Self::Space => b"data: ",
        }
    }
}

/// Lines of an event, as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
enum EventLines {
    /// Bytes to repeat, with the end of their line.
    Raw(Vec<u8>),
    /// Data lines in the same style. Their values are in the data of the event.
    Data { name: DataName, end: LineEnd, count: u64 },
}

/// An event of a stream, complete.
#[derive(Debug)]
pub struct SseEvent {
    lines: Vec<EventLines>,
    data: Option<Collecting>,
    /// The value of the last `id` field.
    id: Option<Vec<u8>>,
    /// The value of the last `retry` field: milliseconds.
    retry: Option<u64>,
    /// Whether clients read the data as a message: the type is `message` or missing.
    message: bool,
}

/// The data of an event.
#[derive(Debug)]
pub enum EventData<'a> {
    /// No data, or empty data, as in the priming event of a resumable stream; or an event of another type.
    NotMessage,
    /// The values of all data lines, joined by LF.
    Message(&'a Spool),
    /// The data was beyond the limits and is lost.
    TooLong,
}

impl SseEvent {
    fn empty() -> Self {
        Self { lines: Vec::new(), data: None, id: None, retry: None, message: true }
    }

    /// Creates the LF of an event whose empty line ended with CR at the end of a piece.
    fn of_rest() -> Self {
        Self { lines: vec![EventLines::Raw(b"\n".to_vec())], ..Self::empty() }
    }

    /// Creates an event that carries a message.
    #[must_use]
    pub fn of_message(message: Vec<u8>) -> Self {
        let one = EventLines::Data { name: DataName::Space, end: LineEnd::Lf, count: 1 };
        let name = EventLines::Raw(b"event: message\n".to_vec());
        Self {
            lines: vec![name, one, EventLines::Raw(b"\n".to_vec())],
            data: Some(Collecting::Message(Spool::from_vec(message))),
            ..Self::empty()
        }
    }

    /// Returns the data as a message, if it is one.
    #[must_use]
    pub fn data(&self) -> EventData<'_> {
        match &self.data {
            Some(Collecting::TooLong(_)) => EventData::TooLong,
            Some(Collecting::Message(spool)) if self.message && !spool.is_empty() => {
                EventData::Message(spool)
            }
            _ => EventData::NotMessage,
        }
    }

    /// Returns the value of the `id` field. The stream can be resumed after an event that has one.
    #[must_use]
    pub fn id(&self) -> Option<&[u8]> {
        self.id.as_deref()
    }

    /// Returns the value of the `retry` field: how many milliseconds to wait before resuming.
    #[must_use]
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// Takes the data out, for a filter in another thread. [`SseEvent::restore_data`] puts it back.
    pub(crate) fn take_data(&mut self) -> Spool {
        match self.data.take() {
            Some(Collecting::Message(spool)) => spool,
            _ => Spool::from_vec(Vec::new()),
        }
    }

    /// Puts the data back that [`SseEvent::take_data`] took out.
    #[must_use]
    pub(crate) fn restore_data(mut self, data: Spool) -> Self {
        self.data = Some(Collecting::Message(data));
        self
    }

    /// Returns the scan of data that is beyond the limits, and an event with what may be forwarded of this one.
    #[must_use]
    pub fn into_scan(mut self) -> Option<(OverflowScan, Self)> {
        match self.data.take() {
            Some(Collecting::TooLong(scan)) => Some((scan, self.without_data())),
            _ => None,
        }
    }

    /// Returns the encoder that writes the event as it was read.
    #[must_use]
    pub fn encode(self) -> SseEncoder {
        let data = match self.data {
            Some(Collecting::Message(spool)) => spool,
            _ => Spool::from_vec(Vec::new()),
        };
        SseEncoder::new(self.lines, data)
    }

    /// Replaces the data. The new data becomes one line, at the place of the first data line.
    ///
    /// `data` must not have line ends in it.
    #[must_use]
    pub fn with_data(mut self, data: Spool) -> Self {
        let mut written = false;
        self.lines.retain_mut(|lines| match lines {
            EventLines::Raw(_) => true,
            EventLines::Data { name, count, .. } => {
                if *name == DataName::Bare {
                    *name = DataName::Space;
                }
                *count = 1;
                !std::mem::replace(&mut written, true)
            }
        });
        self.data = Some(Collecting::Message(data));
        self
    }

    /// Removes the data. The place in the stream and the time for reconnecting are kept, since clients need them.
    /// Otherwise nothing is left.
    #[must_use]
    pub fn without_data(mut self) -> Self {
        self.data = None;
        if self.id.is_some() || self.retry.is_some() {
            self.lines.retain(|lines| matches!(lines, EventLines::Raw(_)));
        } else {
            self.lines.clear();
        }
        self
    }
}

/// Writes an event in pieces.
#[derive(Debug)]
pub struct SseEncoder {
    lines: std::vec::IntoIter<EventLines>,
    /// Data lines that are being written, and whether the name of the current one was written.
    current: Option<(DataName, LineEnd, u64, bool)>,
    data: Spool,
    /// Bytes of `data` that were written.
    at: u64,
}

impl SseEncoder {
    fn new(lines: Vec<EventLines>, data: Spool) -> Self {
        Self { lines: lines.into_iter(), current: None, data, at: 0 }
    }

    /// Returns the next piece, of about 64 KiB, or `None` at the end.
    ///
    /// # Errors
    /// The error of the temporary file of the data.
    pub fn next_piece(&mut self) -> Result<Option<Vec<u8>>, SpoolError> {
        let mut piece = Vec::new();
        while piece.len() < PIECE {
            match self.current {
                Some((.., 0, _)) => self.current = None,
                Some(lines) => self.write_data(lines, &mut piece)?,
                None => match self.lines.next() {
                    Some(EventLines::Raw(bytes)) => piece.extend_from_slice(&bytes),
                    Some(EventLines::Data { name, end, count }) => {
                        self.current = Some((name, end, count, false));
                    }
                    None => break,
                },
            }
        }
        Ok(if piece.is_empty() { None } else { Some(piece) })
    }

    /// Writes a part of a data line.
    fn write_data(
        &mut self,
        (name, end, count, named): (DataName, LineEnd, u64, bool),
        piece: &mut Vec<u8>,
    ) -> Result<(), SpoolError> {
        if !named {
            piece.extend_from_slice(name.bytes());
        }
        let mut rest = (name, end, count, true);
        if count == 1
            && self.lines.as_slice().iter().all(|lines| matches!(lines, EventLines::Raw(_)))
        {
            // The last line: no LF in it, whatever its length.
            let until = self.data.len().min(self.at + PIECE as u64);
            piece.extend_from_slice(&self.data.to_vec(self.at..until, PIECE)?);
            self.at = until;
            if until == self.data.len() {
                piece.extend_from_slice(end.bytes());
                rest.2 = 0;
            }
        } else {
            let until = self.at + PIECE as u64;
            let next = self.data.to_vec(self.at..until, PIECE)?;
            let found = memchr::memchr(b'\n', &next);
            let line = found.map_or(&*next, |at| next.split_at(at).0);
            piece.extend_from_slice(line);
            self.at += line.len() as u64;
            if found.is_some() {
                self.at += 1;
                piece.extend_from_slice(end.bytes());
                rest = (name, end, count - 1, false);
            } else if next.is_empty() {
                // Not reached: the data has as many lines as were counted.
                rest.2 = 0;
            }
        }
        self.current = Some(rest);
        Ok(())
    }
}

/// A line that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndedLine {
    Data(DataName),
    Other,
}

/// Finds the events of a stream.
#[derive(Debug)]
pub struct SseFramer {
    limits: SpoolLimits,
    fields: FieldSplitter,
    event: SseEvent,
    /// How the name of the open data line was written.
    name: DataName,
    /// A line of another field, without its end.
    line: Vec<u8>,
    /// A line that ended with CR. An LF belongs to it.
    after_cr: Option<EndedLine>,
    /// Bytes in the raw lines of the event.
    raw: usize,
}

impl SseFramer {
    /// Creates a framer. `limits` apply to the data of each event.
    #[must_use]
    pub fn new(limits: SpoolLimits) -> Self {
        Self {
            limits,
            fields: FieldSplitter::new(),
            event: SseEvent::empty(),
            name: DataName::Bare,
            line: Vec::new(),
            after_cr: None,
            raw: 0,
        }
    }

    /// Reads bytes until an event is complete. Returns the event, and removes the bytes that were read from `input`.
    ///
    /// A comment between events is returned as an event of its own, so that it keeps the connection alive.
    pub fn next_event(&mut self, input: &mut &[u8]) -> Option<SseEvent> {
        loop {
            if self.after_cr.is_some() {
                let end = self.end_after_cr(input)?;
                if let Some(line) = self.after_cr.take()
                    && let Some(event) = self.finish_line(line, end)
                {
                    return Some(event);
                }
            }
            match self.fields.next(input)? {
                StreamPiece::Mark => self.event.lines.push(EventLines::Raw(BOM.to_vec())),
                StreamPiece::Begin(LineKind::Data) => self.begin_data(),
                StreamPiece::Begin(_) => {}
                StreamPiece::Name(name) => self.name = DataName::of(name),
                StreamPiece::Text(LineKind::Data, value) => self.push_data(value),
                StreamPiece::Text(_, part) => self.push_other(part),
                StreamPiece::End(LineKind::Empty, end) => {
                    return Some(self.finish_event(end, input));
                }
                StreamPiece::End(kind, end) => {
                    let line = match kind {
                        LineKind::Data => EndedLine::Data(self.name),
                        _ => EndedLine::Other,
                    };
                    if end == b"\r" {
                        self.after_cr = Some(line);
                    } else if let Some(event) = self.finish_line(line, LineEnd::Lf) {
                        return Some(event);
                    }
                }
                // The empty line ended with CR, the last byte of a piece, and its event was returned. Clients may wait for
                // the LF, so it is not kept until the next event.
                StreamPiece::Feed(_) => return Some(SseEvent::of_rest()),
            }
        }
    }

    /// Returns how a line ended whose CR was read, and reads an LF after it. `None`: the next byte is not there yet.
    fn end_after_cr(&mut self, input: &mut &[u8]) -> Option<LineEnd> {
        if input.first()? != &b'\n' {
            return Some(LineEnd::Cr);
        }
        self.fields.next(input).map(|_| LineEnd::CrLf)
    }

    /// Begins the value of a data line.
    fn begin_data(&mut self) {
        if self.event.data.is_some() {
            self.push_data(b"\n");
        } else {
            self.event.data = Some(Collecting::Message(Spool::new(self.limits)));
        }
    }

    fn push_data(&mut self, bytes: &[u8]) {
        if let Some(data) = &mut self.event.data {
            data.push(bytes);
        }
    }

    /// Adds bytes of another line. Bytes beyond the limit make the event too long.
    fn push_other(&mut self, bytes: &[u8]) {
        if self.raw.saturating_add(self.line.len() + bytes.len()) <= OTHER {
            self.line.extend_from_slice(bytes);
        } else {
            self.refuse();
        }
    }

    /// Gives the data of the event up.
    fn refuse(&mut self) {
        let scan = match self.event.data.take() {
            Some(Collecting::TooLong(scan)) => scan,
            Some(Collecting::Message(spool)) => crate::transport::lines::scan_of(&spool),
            None => OverflowScan::new(),
        };
        self.event.data = Some(Collecting::TooLong(scan));
    }

    /// Records how a line was written. Returns it if it is a comment between events.
    fn finish_line(&mut self, line: EndedLine, end: LineEnd) -> Option<SseEvent> {
        if let EndedLine::Data(name) = line {
            let full = self.event.lines.len() >= GROUPS;
            match self.event.lines.last_mut() {
                Some(EventLines::Data { name: before, end: usual, count })
                    if *before == name && *usual == end =>
                {
                    *count += 1;
                }
                _ if full => self.refuse(),
                _ => self.event.lines.push(EventLines::Data { name, end, count: 1 }),
            }
            return None;
        }
        let mut raw = std::mem::take(&mut self.line);
        self.note_field(&raw);
        if raw.is_empty() {
            // All of the line was beyond the limit. An empty line would end the event.
            return None;
        }
        let comment = raw.first() == Some(&b':');
        raw.extend_from_slice(end.bytes());
        self.raw += raw.len();
        let full = self.event.lines.len() >= GROUPS;
        match self.event.lines.last_mut() {
            Some(EventLines::Raw(before)) => before.extend_from_slice(&raw),
            _ if full => self.refuse(),
            _ => self.event.lines.push(EventLines::Raw(raw)),
        }
        let between = comment && self.event.data.is_none() && !self.has_fields();
        between.then(|| self.take_event())
    }

    /// Returns whether the event has a field other than data. A comment without fields can be returned early.
    fn has_fields(&self) -> bool {
        self.event.id.is_some()
            || self.event.retry.is_some()
            || !self.event.message
            || self.event.lines.len() > 1
    }

    /// Notes fields that matter for forwarding.
    fn note_field(&mut self, line: &[u8]) {
        let (name, value) = fields::split(line);
        match name {
            b"id" => self.event.id = Some(value.to_vec()),
            b"retry" => {
                let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                self.event.retry = number.or(self.event.retry);
            }
            b"event" => self.event.message = matches!(value, b"" | b"message"),
            _ => {}
        }
    }

    /// Ends the event at an empty line.
    fn finish_event(&mut self, end: &[u8], input: &mut &[u8]) -> SseEvent {
        let end = match end {
            // Without a further byte, an LF is an event of its own.
            b"\r" => self.end_after_cr(input).unwrap_or(LineEnd::Cr),
            _ => LineEnd::Lf,
        };
        match self.event.lines.last_mut() {
            Some(EventLines::Raw(before)) => before.extend_from_slice(end.bytes()),
            _ => self.event.lines.push(EventLines::Raw(end.bytes().to_vec())),
        }
        self.take_event()
    }

    fn take_event(&mut self) -> SseEvent {
        self.raw = 0;
        std::mem::replace(&mut self.event, SseEvent::empty())
    }
}

mod fields;
#[cfg(test)]
mod tests;
