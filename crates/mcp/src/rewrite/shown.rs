//! The size of the part of a result that a client shows to the model, for the log.

use std::ops::Range;

use memchr::memchr;
use tamis_store::calls::TextSize;

use crate::jsonrpc::find::{Found, ValueKind};
use crate::jsonrpc::head::{Parts, ShownPart};
use crate::policy::clients::ClientReads;
use crate::spool::{Spool, SpoolError};

/// Returns the size of what is shown of the result in a message. `None`: the message has none.
pub(super) fn shown(message: &Spool, span: Range<u64>, reads: ClientReads) -> Option<TextSize> {
    let parts = Parts::<ShownPart>::find(message, span).ok()?;
    let structured = parts.last(ShownPart::Structured);
    let structured = structured.filter(|found| found.kind != ValueKind::Null);
    if let Some(found) = structured.filter(|_| reads == ClientReads::Structured) {
        return size(message, found, false);
    }
    if !parts.has(ShownPart::Content) {
        return None;
    }
    let texts = parts.all(ShownPart::Text).iter().chain(parts.all(ShownPart::ResourceText));
    texts.filter(|found| found.kind == ValueKind::String).try_fold(
        TextSize::default(),
        |all, found| {
            let one = size(message, found, true)?;
            Some(TextSize { bytes: all.bytes + one.bytes, chars: all.chars + one.chars })
        },
    )
}

/// Returns the size of a value: of its JSON text, or of the characters of a string.
fn size(message: &Spool, found: &Found, is_text: bool) -> Option<TextSize> {
    let mut counter = TextCounter::default();
    let span = if is_text { found.span.start + 1..found.span.end - 1 } else { found.span.clone() };
    let read: Result<(), SpoolError> = message.each_chunk(span, |chunk| {
        counter.push(chunk, is_text);
        Ok(())
    });
    read.ok().map(|()| counter.size)
}

/// Counts the characters of a JSON string.
#[derive(Debug, Default)]
struct TextCounter {
    size: TextSize,
    escape: Escape,
}

/// The place in an escape.
#[derive(Debug, Default)]
enum Escape {
    #[default]
    None,
    Backslash,
    /// Hexadecimal digits that follow.
    Digits(u8),
}

impl TextCounter {
    fn push(&mut self, mut bytes: &[u8], is_text: bool) {
        loop {
            if let Escape::None = self.escape {
                let escape = memchr(b'\\', bytes).filter(|_| is_text);
                let (plain, rest) = bytes.split_at(escape.unwrap_or(bytes.len()));
                let chars = plain.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
                self.add(plain.len() as u64, chars as u64);
                bytes = rest;
            }
            let Some((byte, rest)) = bytes.split_first() else { return };
            bytes = rest;
            match (&self.escape, byte) {
                (Escape::None, _) => self.escape = Escape::Backslash,
                (Escape::Backslash, b'u') => self.escape = Escape::Digits(4),
                (Escape::Backslash, _) => {
                    self.escape = Escape::None;
                    self.add(1, 1);
                }
                (Escape::Digits(1), _) => {
                    self.escape = Escape::None;
                    // Most characters that are escaped have two bytes, as each half of a longer one.
                    self.add(2, 1);
                }
                (Escape::Digits(digits), _) => self.escape = Escape::Digits(digits - 1),
            }
        }
    }

    fn add(&mut self, bytes: u64, chars: u64) {
        self.size.bytes += bytes;
        self.size.chars += chars;
    }
}

#[cfg(test)]
mod tests {
    use super::{ClientReads, Spool, TextSize, shown};

    #[test]
    fn the_part_that_a_client_shows_is_measured() {
        let text = r#"{"result":{"content":[{"type":"text","text":"a\n\"é\u00e9"}],"structuredContent":{"a":1}}}"#;
        let message = Spool::from_vec(text.as_bytes().to_vec());
        let size = |reads| shown(&message, 0..message.len(), reads);
        assert_eq!(size(ClientReads::Structured), Some(TextSize { bytes: 7, chars: 7 }));
        assert_eq!(size(ClientReads::Both), Some(TextSize { bytes: 7, chars: 5 }));
        let other = Spool::from_vec(br#"{"result":{"tools":[]}}"#.to_vec());
        assert_eq!(shown(&other, 0..other.len(), ClientReads::Both), None);
    }
}
