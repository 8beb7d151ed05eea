//! Writes documents that are strings without their quotes and escapes, for `-r`.
//!
//! This module must not depend on what is written: it reads minified JSON.

use std::io::{Result, Write};

/// A writer that unquotes documents that are strings, and passes all others on unchanged.
#[derive(Debug)]
pub(crate) struct Unquote<W> {
    inner: W,
    /// Each line is a document.
    lines: bool,
    state: UnquoteState,
    /// The first half of a surrogate pair.
    high: Option<u32>,
    /// The output of one write.
    out: Vec<u8>,
}

/// ```text
///        "             \              u
/// Start ───▶ InString ───▶ Escaped ───▶ Digits       and back to InString
///   │           │ "
///   └───────────┴──────▶ Passing       until the end of the line
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnquoteState {
    /// Before a document.
    Start,
    /// In a document that is not a string, or after one.
    Passing,
    InString,
    /// After a backslash.
    Escaped,
    /// After `\u` and this many digits with this value.
    Digits(u8, u32),
}

impl<W: Write> Unquote<W> {
    /// Creates a writer. `lines`: each line is a document, otherwise there is one.
    pub(crate) fn new(inner: W, lines: bool) -> Self {
        Self { inner, lines, state: UnquoteState::Start, high: None, out: Vec::new() }
    }

    /// Returns the inner writer.
    pub(crate) fn get_mut(&mut self) -> &mut W {
        &mut self.inner
    }

    /// Adds one character of a string.
    fn push(&mut self, char: char) {
        self.out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
    }

    /// Ends a surrogate pair that has no second half.
    fn end_pair(&mut self) {
        if self.high.take().is_some() {
            self.push(char::REPLACEMENT_CHARACTER);
        }
    }

    /// Adds the character of an escape with four digits.
    fn code_unit(&mut self, unit: u32) {
        if let (Some(high), 0xDC00..=0xDFFF) = (self.high, unit) {
            self.high = None;
            let char = char::from_u32(0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00));
            return self.push(char.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        self.end_pair();
        match char::from_u32(unit) {
            Some(char) => self.push(char),
            None if unit < 0xDC00 => self.high = Some(unit),
            None => self.push(char::REPLACEMENT_CHARACTER),
        }
    }

    /// Takes one byte of a string.
    fn in_string(&mut self, byte: u8) {
        self.state = match (self.state, byte) {
            (UnquoteState::Escaped, b'u') => UnquoteState::Digits(0, 0),
            (UnquoteState::Escaped, _) => {
                self.end_pair();
                self.out.push(match byte {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'b' => 8,
                    b'f' => 12,
                    other => other,
                });
                UnquoteState::InString
            }
            (UnquoteState::Digits(count, value), _) => {
                let value = (value << 4) + char::from(byte).to_digit(16).unwrap_or(0);
                if count < 3 {
                    UnquoteState::Digits(count + 1, value)
                } else {
                    self.code_unit(value);
                    UnquoteState::InString
                }
            }
            (_, b'\\') => UnquoteState::Escaped,
            (_, b'"') => {
                self.end_pair();
                UnquoteState::Passing
            }
            _ => {
                self.end_pair();
                self.out.push(byte);
                UnquoteState::InString
            }
        };
    }
}

impl<W: Write> Write for Unquote<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.out.clear();
        for byte in bytes {
            match (self.state, byte) {
                (UnquoteState::Start, b'"') => self.state = UnquoteState::InString,
                (UnquoteState::Start | UnquoteState::Passing, _) => {
                    self.out.push(*byte);
                    let ends = self.lines && *byte == b'\n';
                    self.state = if ends { UnquoteState::Start } else { UnquoteState::Passing };
                }
                _ => self.in_string(*byte),
            }
        }
        self.inner.write_all(&self.out)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::Unquote;

    fn unquoted(text: &str, lines: bool) -> String {
        let mut whole = Unquote::new(Vec::new(), lines);
        whole.write_all(text.as_bytes()).unwrap();
        let mut pieces = Unquote::new(Vec::new(), lines);
        for byte in text.as_bytes() {
            pieces.write_all(&[*byte]).unwrap();
        }
        assert_eq!(whole.inner, pieces.inner, "{text}");
        String::from_utf8(whole.inner).unwrap()
    }

    #[test]
    fn strings_lose_their_quotes_and_escapes() {
        for text in ["", "a", "é\"\\/\n\t\r\u{8}\u{c}\0", "𝄞 and 𝄞", "[\"a\"]"] {
            let quoted = serde_json::to_string(text).unwrap();
            assert_eq!(unquoted(&quoted, false), text);
        }
        assert_eq!(unquoted(r#""\u00e9\ud834\udd1e\/""#, false), "é𝄞/");
        assert_eq!(unquoted(r#""\ud834\ud834\udd1ea\ud834""#, false), "\u{fffd}𝄞a\u{fffd}");
        assert_eq!(unquoted(r#""\udd1e\ud834\n\uD834a""#, false), "\u{fffd}\u{fffd}\n\u{fffd}a");
    }

    #[test]
    fn other_documents_are_unchanged() {
        for text in ["[\"a\\n\"]", "{\"a\":\"b\"}", "1", "null", ""] {
            assert_eq!(unquoted(text, false), text);
            assert_eq!(unquoted(text, true), text);
        }
    }

    #[test]
    fn each_line_is_a_document() {
        assert_eq!(unquoted("\"a\\nb\"\n[\"c\"]\n\"\"\n\"d\"\n", true), "a\nb\n[\"c\"]\n\nd\n");
        assert_eq!(unquoted("[\n\"a\"\n]", false), "[\n\"a\"\n]", "indented");
    }
}
