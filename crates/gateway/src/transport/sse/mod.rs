//! Messages as events of an event stream: the framing of MCP over HTTP.
//!
//! The framer follows the rules of browsers. A line ends with LF, CRLF or CR, and with nothing else: U+0085 and U+2028
//! are data. A byte order mark counts only at the start. Several `data` lines are one message, joined by LF. An event
//! ends at an empty line; an event without that end is never returned.
//!
//! An event keeps how it was written, so that it can be forwarded byte for byte, or with other data and everything else
//! in its place. A stream is read in pieces of any size.

mod encoder;
mod event;
mod fields;
#[cfg(test)]
mod tests;

use tamis_json::bom::BOM;
use tamis_json::event_fields::{FieldSplitter, LineKind, StreamPiece};
use tamis_mcp::OverflowScan;
use tamis_mcp::spool::{Spool, SpoolLimits};

use crate::transport::lines::Collecting;

pub use encoder::SseEncoder;
use event::{DataName, EventLines, LineEnd};
pub use event::{EventData, SseEvent};

/// Bytes of an event that are not data. Comments, ids and names are short.
const OTHER: usize = 1 << 20;

/// Groups of lines of an event. Data that is written in the usual way is one group, whatever its number of lines.
const GROUPS: usize = 10_000;

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
