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
pub struct StringUnescaper {
    state: UnescapeState,
    digits: [u8; 4],
    high: Option<HighSurrogate>,
    /// The number of bytes before the current chunk.
    offset: u64,
    /// The first error, with the length of the text before it.
    first_error: Option<(StringError, usize)>,
    /// Whether U+FFFD replaces lone surrogates.
    is_lossy: bool,
}

impl StringUnescaper {
    /// Creates one that replaces each lone surrogate by U+FFFD.
    pub fn lossy() -> Self {
        Self { is_lossy: true, ..Self::default() }
    }

    /// Decodes the next bytes of a string and appends the text. A quote or an invalid escape is not reported here: the
    /// text is then unspecified.
    pub fn write(&mut self, chunk: &[u8], text: &mut Vec<u8>) {
        let mut at = 0;
        while let Some(bytes) = chunk.get(at..).filter(|bytes| !bytes.is_empty()) {
            if self.state == UnescapeState::None {
                if self.high.is_none() {
                    let done = unescape_blocks(bytes, text);
                    if done > 0 {
                        at += done;
                        continue;
                    }
                }
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
    pub fn end(&mut self, text: &mut Vec<u8>) {
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
        if self.is_lossy {
            return push(u32::from(char::REPLACEMENT_CHARACTER), text);
        }
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

/// Bytes whose escapes are found together.
const BLOCK: usize = 64;

/// Bytes that are copied at once. Most runs between escapes are shorter.
const COPY: usize = 32;

/// Decodes blocks while their escapes have a single letter, and appends the text. Returns the number of bytes that were
/// decoded, which end before an escape or after one. The last bytes are left to the caller.
///
/// JSON in a string has an escaped quote every few bytes. A branch for each byte, or a call of `memchr` for each escape,
/// would be mispredicted as often.
fn unescape_blocks(bytes: &[u8], text: &mut Vec<u8>) -> usize {
    // A run is copied with the bytes after it, which the next run overwrites.
    let mut out = [0; 2 * BLOCK];
    let mut at = 0;
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<{ BLOCK + COPY }>())
    {
        let mut special = special_bytes(block);
        if special == 0 {
            let rest = bytes.get(at..).unwrap_or_default();
            let after = rest.get(BLOCK..).unwrap_or_default();
            let plain = BLOCK + memchr2(b'\\', b'"', after).unwrap_or(after.len());
            text.extend_from_slice(rest.get(..plain).unwrap_or_default());
            at += plain;
            continue;
        }
        let (mut from, mut to) = (0, 0);
        while special != 0 {
            let place = special.trailing_zeros() as usize;
            copy_run(block, from..place, &mut out, to);
            to += place - from;
            from = place;
            let letter = match (block.get(place), block.get(place + 1)) {
                (Some(b'\\'), Some(letter)) => LETTERS.get(usize::from(*letter)),
                _ => None,
            };
            // The caller knows the other escapes, and what is an error.
            let (Some(letter), Some(slot)) = (letter.filter(|byte| **byte != 0), out.get_mut(to))
            else {
                text.extend_from_slice(out.get(..to).unwrap_or_default());
                return at + from;
            };
            *slot = *letter;
            to += 1;
            from += 2;
            // Neither the backslash nor the letter.
            special &= !(3 << place);
        }
        copy_run(block, from..BLOCK.max(from), &mut out, to);
        to += BLOCK.saturating_sub(from);
        text.extend_from_slice(out.get(..to).unwrap_or_default());
        at += BLOCK.max(from);
    }
    at
}

/// Copies a run of a block. Bytes after it are copied too.
#[inline]
fn copy_run(
    block: &[u8; BLOCK + COPY],
    run: std::ops::Range<usize>,
    out: &mut [u8; 2 * BLOCK],
    to: usize,
) {
    let copy = |out: &mut [u8; 2 * BLOCK], skipped: usize| {
        let source = block.get(run.start + skipped..).and_then(|rest| rest.first_chunk::<COPY>());
        let target = out.get_mut(to + skipped..).and_then(|rest| rest.first_chunk_mut::<COPY>());
        if let (Some(source), Some(target)) = (source, target) {
            *target = *source;
        }
    };
    copy(out, 0);
    if run.end - run.start > COPY {
        copy(out, COPY);
    }
}

/// The bytes that escapes of one letter stand for. 0: the letter has no such escape.
#[allow(clippy::indexing_slicing, reason = "evaluated while compiling")]
const LETTERS: [u8; 256] = {
    let mut letters = [0; 256];
    letters[b'"' as usize] = b'"';
    letters[b'\\' as usize] = b'\\';
    letters[b'/' as usize] = b'/';
    letters[b'b' as usize] = 0x08;
    letters[b'f' as usize] = 0x0c;
    letters[b'n' as usize] = b'\n';
    letters[b'r' as usize] = b'\r';
    letters[b't' as usize] = b'\t';
    letters
};

/// Returns which bytes of a block are backslashes or quotes, one bit each.
#[inline]
fn special_bytes(block: &[u8; BLOCK + COPY]) -> u64 {
    const ONES: u64 = u64::MAX / 0xFF;
    /// Gathers the lowest bits of eight bytes in the top byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    // The top bit of each byte that is 0. Without carries between bytes, so that all of them are exact.
    let zeros = |word: u64| !(((word & (0x7F * ONES)) + 0x7F * ONES) | word) & (0x80 * ONES);
    let (words, _) = block.as_chunks::<8>();
    let mut bits = 0;
    for word in words.iter().take(BLOCK / 8).rev() {
        let word = u64::from_le_bytes(*word);
        let found =
            zeros(word ^ (u64::from(b'\\') * ONES)) | zeros(word ^ (u64::from(b'"') * ONES));
        bits = bits << 8 | (found >> 7).wrapping_mul(GATHER) >> 56;
    }
    bits
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
