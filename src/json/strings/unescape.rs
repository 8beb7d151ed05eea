//! Decodes escapes that may be cut anywhere (RFC 8259, section 7).
//!
//! ```text
//!         \               u             digit ×3           digit
//! None ──────▶ Backslash ───▶ Digits(0) ────────▶ Digits(3) ─────▶ None
//!   ▲              │
//!   └── a letter ──┘
//! ```
//!
//! A high surrogate waits until it is known whether a low one follows it.

use memchr::memchr2;

use super::decoder::{StringError, StringErrorKind};
use super::{DIGIT, DIGITS, LONE};

/// Position within an escape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum UnescapeState {
    #[default]
    None,
    Backslash,
    /// After `\u` and this number of digits.
    Digits(u8),
}

/// A surrogate that waits for its other half.
#[derive(Clone, Copy, Debug)]
struct HighSurrogate {
    digits: [u8; 4],
    /// The offset of its backslash.
    at: u64,
}

/// Up to this number, the bytes before an escape are examined one by one.
const SHORT: usize = 16;

/// The decoder of one string.
#[derive(Clone, Debug, Default)]
pub(crate) struct StringUnescaper {
    state: UnescapeState,
    digits: [u8; 4],
    high: Option<HighSurrogate>,
    /// The number of bytes before the current chunk.
    offset: u64,
    /// The first error, with the length of the text before it.
    first_error: Option<(StringError, usize)>,
}

impl StringUnescaper {
    /// Decodes the next bytes of a string and appends the text. A quote or an invalid escape is not reported here: the
    /// text is then unspecified.
    pub(crate) fn write(&mut self, chunk: &[u8], text: &mut Vec<u8>) {
        let mut at = 0;
        while let Some(bytes) = chunk.get(at..).filter(|bytes| !bytes.is_empty()) {
            if self.state == UnescapeState::None {
                let plain = plain_prefix(bytes);
                if plain > 0 {
                    self.give_up(text);
                    text.extend_from_slice(bytes.get(..plain).unwrap_or_default());
                }
                at += plain;
                match bytes.get(plain) {
                    Some(b'\\') => self.state = UnescapeState::Backslash,
                    Some(quote) => {
                        self.give_up(text);
                        self.fail(StringErrorKind::UnescapedQuote, self.offset + at as u64, text);
                        text.push(*quote);
                    }
                    None => break,
                }
                at += 1;
                continue;
            }
            let Some(byte) = bytes.first() else { break };
            match self.state {
                UnescapeState::Digits(count) => {
                    self.digit(*byte, count, self.offset + at as u64, text)
                }
                _ => self.letter(*byte, self.offset + at as u64, text),
            }
            at += 1;
        }
        self.offset += chunk.len() as u64;
    }

    /// Ends the string. An incomplete escape is dropped.
    pub(crate) fn end(&mut self, text: &mut Vec<u8>) {
        self.give_up(text);
        if self.state != UnescapeState::None {
            self.fail(StringErrorKind::Incomplete, self.offset, text);
        }
    }

    /// Returns the first error, and the length of the text before it.
    pub(super) fn error(&self) -> Option<(StringError, usize)> {
        self.first_error
    }

    /// Whether an escape has begun that is not complete, or that may be half of a pair.
    pub(super) fn is_within_escape(&self) -> bool {
        self.state != UnescapeState::None || self.high.is_some()
    }

    #[cold]
    fn fail(&mut self, kind: StringErrorKind, offset: u64, text: &[u8]) {
        self.first_error.get_or_insert((StringError::new(kind, offset), text.len()));
    }

    /// Writes the open high surrogate as a lone one.
    #[inline]
    fn give_up(&mut self, text: &mut Vec<u8>) {
        if let Some(high) = self.high.take() {
            self.lone(high, text);
        }
    }

    /// Appends the representation of a lone surrogate.
    #[cold]
    fn lone(&mut self, surrogate: HighSurrogate, text: &mut Vec<u8>) {
        self.fail(StringErrorKind::LoneSurrogate, surrogate.at, text);
        text.push(LONE);
        for digit in surrogate.digits {
            let place = DIGITS.iter().position(|other| *other == digit).unwrap_or_default();
            text.push(DIGIT | place as u8);
        }
    }

    /// Decodes the byte after a backslash, which is at this offset.
    #[inline]
    fn letter(&mut self, letter: u8, offset: u64, text: &mut Vec<u8>) {
        if letter == b'u' {
            self.state = UnescapeState::Digits(0);
            return;
        }
        self.state = UnescapeState::None;
        self.give_up(text);
        text.push(match letter {
            b'"' | b'\\' | b'/' => letter,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            other => {
                self.fail(StringErrorKind::InvalidEscape, offset - 1, text);
                other
            }
        });
    }

    /// Takes a digit, after `count` others.
    fn digit(&mut self, digit: u8, count: u8, offset: u64, text: &mut Vec<u8>) {
        if let Some(slot) = self.digits.get_mut(usize::from(count)) {
            *slot = digit;
        }
        let start = offset - 2 - u64::from(count);
        if !digit.is_ascii_hexdigit() {
            self.give_up(text);
            self.fail(StringErrorKind::InvalidEscape, start, text);
        }
        if count < 3 {
            self.state = UnescapeState::Digits(count + 1);
        } else {
            self.state = UnescapeState::None;
            self.unit(start, text);
        }
    }

    /// Decodes the four digits after `\u`. The backslash is at this offset.
    fn unit(&mut self, at: u64, text: &mut Vec<u8>) {
        let code = number(self.digits);
        if let (Some(high), 0xDC00..0xE000) = (self.high, code) {
            self.high = None;
            let code = 0x10000 + ((number(high.digits) - 0xD800) << 10) + (code - 0xDC00);
            push(code, text);
            return;
        }
        self.give_up(text);
        let surrogate = HighSurrogate { digits: self.digits, at };
        match code {
            0xD800..0xDC00 => self.high = Some(surrogate),
            0xDC00..0xE000 => self.lone(surrogate, text),
            _ => push(code, text),
        }
    }
}

/// Returns the number of bytes before the first backslash or quote. Texts with many escapes, such as JSON in a string,
/// have few bytes between them, so that a call of `memchr` does not pay for each.
#[inline]
fn plain_prefix(bytes: &[u8]) -> usize {
    let is_special = |byte: &u8| matches!(byte, b'\\' | b'"');
    match bytes.iter().take(SHORT).position(is_special) {
        Some(at) => at,
        None => match bytes.get(SHORT..) {
            Some(rest) => SHORT + memchr2(b'\\', b'"', rest).unwrap_or(rest.len()),
            None => bytes.len(),
        },
    }
}

/// Value of hexadecimal digits.
fn number(digits: [u8; 4]) -> u32 {
    let value = |digit: u8| char::from(digit).to_digit(16).unwrap_or_default();
    digits.iter().fold(0, |number, digit| number << 4 | value(*digit))
}

fn push(code: u32, text: &mut Vec<u8>) {
    let char = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
}
