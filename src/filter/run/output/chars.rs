//! The characters inside a JSON string, which arrives byte by byte.
//!
//! A character is a Unicode scalar value: an escape is one, and so is a pair of surrogates.

use smallvec::SmallVec;

/// The longest character: a pair of surrogates, each an escape.
pub(super) const LONGEST: usize = 12;

/// The character that has begun, as it is spelled.
pub(super) type SpelledChar = SmallVec<[u8; LONGEST]>;

/// The part of a character that has come.
#[derive(Clone, Debug, Default)]
pub(super) struct PartialChar {
    bytes: SpelledChar,
    /// How long it will be; 0: it begins with the next byte.
    wanted: usize,
}

/// The effect of a byte.
pub(super) enum CharRead {
    /// The character is not complete.
    Open,
    /// This character is complete; the byte belongs to it.
    Complete(SpelledChar),
    /// This character was complete before the bytes that follow it, which begin another one.
    Before(SpelledChar, SpelledChar),
}

impl PartialChar {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Ends the character, because its string or its text ends.
    pub(super) fn take(&mut self) -> SpelledChar {
        self.wanted = 0;
        std::mem::take(&mut self.bytes)
    }

    /// Adds a byte of a string, which is no closing quote unless a character is open.
    pub(super) fn add(&mut self, byte: u8) -> CharRead {
        if self.is_high() && self.bytes.len() == self.wanted {
            // It waits for its other half.
            if byte != b'\\' {
                return CharRead::Before(self.take(), SpelledChar::from_slice(&[byte]));
            }
            self.wanted = LONGEST;
        }
        if self.wanted == LONGEST {
            self.bytes.push(byte);
            let other = self.bytes.get(6..).unwrap_or_default();
            if !may_be_low(other) {
                // It was alone, and another character has begun.
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

    /// Whether the character is the first half of a pair.
    fn is_high(&self) -> bool {
        matches!(
            self.bytes.as_slice(),
            [b'\\', b'u', b'd' | b'D', b'8'..=b'9' | b'a' | b'b' | b'A' | b'B', _, _]
        )
    }
}

/// Whether these bytes may begin the second half of a pair.
fn may_be_low(bytes: &[u8]) -> bool {
    match bytes {
        [] | [b'\\'] | [b'\\', b'u'] => true,
        [b'\\', b'u', b'd' | b'D', rest @ ..] => {
            rest.first().is_none_or(|digit| matches!(digit, b'c'..=b'f' | b'C'..=b'F'))
        }
        _ => false,
    }
}
