//! Finds the characters of a JSON string that arrives byte by byte.
//!
//! A character is a Unicode scalar value. An escape is one character, and so is a surrogate pair.

use smallvec::SmallVec;

/// The longest character: a surrogate pair of two escapes.
pub(super) const LONGEST: usize = 12;

/// A character as spelled in the input.
pub(super) type SpelledChar = SmallVec<[u8; LONGEST]>;

/// A character that may be incomplete.
#[derive(Clone, Debug, Default)]
pub(super) struct PartialChar {
    bytes: SpelledChar,
    /// Its final length, or 0 before its first byte.
    wanted: usize,
}

/// The effect of one byte.
pub(super) enum CharRead {
    /// The character is incomplete.
    Open,
    /// The byte completes this character.
    Complete(SpelledChar),
    /// This character was already complete. The bytes after it start another one.
    Before(SpelledChar, SpelledChar),
}

impl PartialChar {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Ends the character at the end of its string or text.
    pub(super) fn take(&mut self) -> SpelledChar {
        self.wanted = 0;
        std::mem::take(&mut self.bytes)
    }

    /// Adds a byte of a string. The byte is not a closing quote unless a character is open.
    pub(super) fn add(&mut self, byte: u8) -> CharRead {
        if self.is_high() && self.bytes.len() == self.wanted {
            // A high surrogate waits for the low one.
            if byte != b'\\' {
                return CharRead::Before(self.take(), SpelledChar::from_slice(&[byte]));
            }
            self.wanted = LONGEST;
        }
        if self.wanted == LONGEST {
            self.bytes.push(byte);
            let other = self.bytes.get(6..).unwrap_or_default();
            if !may_be_low(other) {
                // The surrogate is unpaired, and another character has begun.
                let other = SpelledChar::from_slice(other);
                self.bytes.truncate(6);
                return CharRead::Before(self.take(), other);
            }
            return self.read(self.bytes.len() == LONGEST);
        }
        if self.wanted == 0 {
            self.wanted = match byte {
                b'\\' | 0xC0..0xE0 => 2,
                0xE0..0xF0 => 3,
                0xF0.. => 4,
                _ => 1,
            };
        }
        self.bytes.push(byte);
        if self.bytes.as_slice() == b"\\u" {
            self.wanted = 6;
        }
        self.read(self.bytes.len() == self.wanted && !self.is_high())
    }

    fn read(&mut self, complete: bool) -> CharRead {
        if complete { CharRead::Complete(self.take()) } else { CharRead::Open }
    }

    /// Returns whether the character is a high surrogate.
    fn is_high(&self) -> bool {
        matches!(
            self.bytes.as_slice(),
            [b'\\', b'u', b'd' | b'D', b'8'..=b'9' | b'a' | b'b' | b'A' | b'B', _, _]
        )
    }
}

/// Returns whether these bytes may start a low surrogate.
fn may_be_low(bytes: &[u8]) -> bool {
    match bytes {
        [] | [b'\\'] | [b'\\', b'u'] => true,
        [b'\\', b'u', b'd' | b'D', rest @ ..] => {
            rest.first().is_none_or(|digit| matches!(digit, b'c'..=b'f' | b'C'..=b'F'))
        }
        _ => false,
    }
}
