//! Finds the characters of a JSON string that arrives byte by byte.
//!
//! A character is a Unicode scalar value. An escape is one character, and so is a surrogate pair. Strings are shortened
//! by characters, so that no escape and no UTF-8 sequence is cut in two.
//!
//! ```text
//! spelled        é (2 bytes)     \n    \u00e9    \ud83d\ude00     \ud83dx
//! characters     1               1     1         1                2: an unpaired surrogate, and `x`
//! ```
//!
//! The end of most characters is known from their first byte. A high surrogate must wait for the next bytes, because a
//! low one after it belongs to the same character:
//!
//! ```text
//! byte    \  u  d  8  3  d   x
//! read    O  O  O  O  O  O   Before(\ud83d, x)         O: open
//! byte    \  u  d  8  3  d   \  n
//! read    O  O  O  O  O  O   O  Before(\ud83d, \n)
//! ```

use smallvec::SmallVec;

/// The longest character: a surrogate pair of two escapes.
pub(super) const LONGEST: usize = 12;

/// A character as spelled in the input.
pub(super) type SpelledChar = SmallVec<[u8; LONGEST]>;

/// A character that may be incomplete.
#[derive(Clone, Debug, Default)]
pub(super) struct PartialChar {
    /// The bytes so far. Empty between two characters.
    bytes: SpelledChar,
    /// Its final length in bytes, or 0 before its first byte. An escape has 2 until its second byte is a `u`.
    wanted: usize,
}

/// The effect of one byte on the character that is open.
pub(super) enum CharRead {
    /// The character is incomplete.
    Open,
    /// The byte completes this character.
    Complete(SpelledChar),
    /// This character was already complete. The bytes after it start another one.
    Before(SpelledChar, SpelledChar),
}

impl PartialChar {
    /// Returns whether no character is open.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Ends the character at the end of its string or text, and returns its bytes.
    pub(super) fn take(&mut self) -> SpelledChar {
        self.wanted = 0;
        std::mem::take(&mut self.bytes)
    }

    /// Adds a byte of a string. The byte is not a closing quote unless a character is open.
    ///
    /// The string must be valid JSON. Bytes that are returned as the start of another character are not kept here: the
    /// caller adds them again.
    pub(super) fn add(&mut self, byte: u8) -> CharRead {
        if self.is_high() && self.bytes.len() == self.wanted {
            // A high surrogate waits for the low one.
            if byte != b'\\' {
                return CharRead::Before(self.take(), SpelledChar::from_slice(&[byte]));
            }
            self.wanted = LONGEST;
        }
        // Inside the second escape of what may be a pair.
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
        // `\u` and four digits.
        if self.bytes.as_slice() == b"\\u" {
            self.wanted = 6;
        }
        self.read(self.bytes.len() == self.wanted && !self.is_high())
    }

    /// Returns the character if it is complete.
    fn read(&mut self, complete: bool) -> CharRead {
        if complete { CharRead::Complete(self.take()) } else { CharRead::Open }
    }

    /// Returns whether the character is a complete escape of a high surrogate, `\ud800` to `\udbff`.
    fn is_high(&self) -> bool {
        matches!(
            self.bytes.as_slice(),
            [b'\\', b'u', b'd' | b'D', b'8'..=b'9' | b'a' | b'b' | b'A' | b'B', _, _]
        )
    }
}

/// Returns whether these bytes may start a low surrogate, `\udc00` to `\udfff`. They follow a high one.
fn may_be_low(bytes: &[u8]) -> bool {
    match bytes {
        [] | [b'\\'] | [b'\\', b'u'] => true,
        [b'\\', b'u', b'd' | b'D', rest @ ..] => {
            rest.first().is_none_or(|digit| matches!(digit, b'c'..=b'f' | b'C'..=b'F'))
        }
        _ => false,
    }
}
