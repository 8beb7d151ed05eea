//! The fields of an event that the protocol knows.

use tamis_json::bom::BOM;

use super::event::{EventLines, SseEvent};

/// The longest id of an event that is forwarded where a filter removes for safety.
const LONGEST_PLACE: usize = 256;

impl SseEvent {
    /// Removes everything that is not part of the protocol: events of another type than `message`, unknown fields, and
    /// the text of comments, which may hold data that a filter removes. The place in the stream, the time for
    /// reconnecting and empty comments, which keep the connection alive, are kept.
    #[must_use]
    pub fn without_other_fields(mut self) -> Self {
        if !self.message {
            self.data = None;
            self.lines.retain(|lines| matches!(lines, EventLines::Raw(_)));
        }
        for lines in &mut self.lines {
            if let EventLines::Raw(raw) = lines {
                *raw = of_protocol(raw);
            }
        }
        self
    }
}

/// Splits a line into the name of its field and the value.
pub(super) fn split(line: &[u8]) -> (&[u8], &[u8]) {
    let colon = memchr::memchr(b':', line).unwrap_or(line.len());
    let (name, value) = line.split_at(colon);
    let value = value.strip_prefix(b":").unwrap_or(value);
    (name, value.strip_prefix(b" ").unwrap_or(value))
}

/// Returns the lines without unknown fields, types other than `message`, and the text of comments.
fn of_protocol(lines: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    // Clients ignore the mark at the start of a stream.
    let mut rest = lines.strip_prefix(BOM).unwrap_or(lines);
    while !rest.is_empty() {
        let (line, after) =
            rest.split_at(memchr::memchr2(b'\r', b'\n', rest).unwrap_or(rest.len()));
        let end: &[u8] = match after {
            [b'\r', b'\n', ..] => b"\r\n",
            [b'\r', ..] => b"\r",
            [b'\n', ..] => b"\n",
            _ => b"",
        };
        rest = after.get(end.len()..).unwrap_or_default();
        let (name, value) = split(line);
        let kept_part: &[u8] = match name {
            _ if line.is_empty() => line,
            b"" => b":",
            b"id" if value.len() <= LONGEST_PLACE => line,
            b"retry" if value.iter().all(u8::is_ascii_digit) => line,
            b"event" if matches!(value, b"" | b"message") => line,
            _ => continue,
        };
        kept.extend_from_slice(kept_part);
        kept.extend_from_slice(end);
    }
    kept
}
