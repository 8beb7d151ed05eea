//! Reads the characters of a text in one of two spellings: as they are, or percent-encoded as in the query of a URL.
//!
//! A writer that puts a URL into another one encodes the signs between its parts and keeps letters, digits and some other
//! signs: `https%3A%2F%2Fmira%3Atide%40example.org`. Python's `quote` also keeps slashes.

use super::kinds::{Class, class, has};

/// The spelling of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// Each byte is a character.
    Plain,
    /// `%3A` is a colon. A sign that a writer encodes ends what is encoded if it is not.
    Percent,
}

/// The characters that are encoded wherever they are part of a value.
const ENCODED: Class = class(b":?#[]@&=;,\"<> ");
/// The length of an encoded character.
const LENGTH: usize = 3;

/// A text with its spelling.
#[derive(Clone, Copy)]
pub(super) struct Spelled<'a> {
    pub(super) text: &'a [u8],
    pub(super) spelling: Spelling,
    /// Nothing follows the text.
    pub(super) ended: bool,
}

impl Spelled<'_> {
    /// Returns the character at a position, and the length of its spelling. `None` at the end, and where it is cut off.
    #[inline(always)]
    pub(super) fn at(&self, at: usize) -> Option<(u8, usize)> {
        let byte = *self.text.get(at)?;
        match self.spelling {
            Spelling::Plain => Some((byte, 1)),
            Spelling::Percent if has(ENCODED, byte) => Some((0, 1)),
            Spelling::Percent => encoded(self.text, at, self.ended),
        }
    }

    /// Returns the end of the characters of a class from a position on, at most `most`, and their number.
    #[inline]
    pub(super) fn run(&self, from: usize, class: Class, most: usize) -> (usize, usize) {
        let (mut at, mut count) = (from, 0);
        while count < most
            && let Some((byte, len)) = self.at(at)
            && has(class, byte)
        {
            at += len;
            count += 1;
        }
        (at, count)
    }

    /// Returns the characters of a part of the text.
    pub(super) fn characters(&self, from: usize, to: usize) -> Vec<u8> {
        let mut characters = Vec::new();
        let mut at = from;
        while at < to
            && let Some((byte, len)) = self.at(at)
        {
            characters.push(byte);
            at += len;
        }
        characters
    }
}

/// Returns the character at a position, percent-encoded or not, and the length of its spelling. `None` at the end, and where
/// it is cut off.
#[inline]
pub(super) fn encoded(text: &[u8], at: usize, ended: bool) -> Option<(u8, usize)> {
    let byte = *text.get(at)?;
    if byte != b'%' {
        return Some((byte, 1));
    }
    let digit = |at: usize| text.get(at).map(|digit| char::from(*digit).to_digit(16));
    match (digit(at + 1), digit(at + 2)) {
        (Some(Some(high)), Some(Some(low))) => {
            let code = (high << 4 | low) as u8;
            Some((if code.is_ascii() { code } else { 0x80 }, LENGTH))
        }
        (None | Some(Some(_)), None) if !ended => None,
        _ => Some((b'%', 1)),
    }
}

/// The text at a position compared with an anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// The anchor is not there.
    Other,
    /// The text ends before this is known.
    Cut,
    /// The anchor is there, ends here, and is spelled like this.
    Anchor(usize, Spelling),
}

/// Compares the text at a position with an anchor, each of whose characters may be encoded.
#[inline]
pub(super) fn beginning(text: &[u8], from: usize, anchor: &[u8], ended: bool) -> Beginning {
    let (mut at, mut spelling) = (from, Spelling::Plain);
    for wanted in anchor {
        match text.get(at) {
            Some(byte) if byte == wanted => at += 1,
            Some(b'%') => match encoded(text, at, ended) {
                Some((byte, LENGTH)) if byte == *wanted => {
                    at += LENGTH;
                    spelling = Spelling::Percent;
                }
                None => return Beginning::Cut,
                _ => return Beginning::Other,
            },
            None if !ended => return Beginning::Cut,
            _ => return Beginning::Other,
        }
    }
    Beginning::Anchor(at, spelling)
}

/// Returns the position of the character the given number of places before another one, each of which may be encoded.
pub(super) fn places_before(text: &[u8], at: usize, places: usize) -> Option<usize> {
    (0..places).try_fold(at, |at, _| {
        let encoded = at.checked_sub(LENGTH).and_then(|begin| text.get(begin..at));
        let len = match encoded {
            Some([b'%', high, low]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                LENGTH
            }
            _ => 1,
        };
        at.checked_sub(len)
    })
}

/// Percent-encodes the characters of an anchor that are not letters, digits, or one of `-`, `_` and `.`.
pub(super) fn percent_encoded(anchor: &str) -> String {
    anchor.chars().fold(String::new(), |mut text, char| {
        match char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.') {
            true => text.push(char),
            false => text += &format!("%{:02X}", u32::from(char)),
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::{Beginning, Spelling, beginning, encoded, places_before};

    #[test]
    fn characters_are_read_in_both_spellings() {
        assert_eq!(encoded(b"%3Ax", 0, false), Some((b':', 3)));
        assert_eq!(encoded(b"%3a", 0, false), Some((b':', 3)));
        assert_eq!(encoded(b"%C3", 0, true), Some((0x80, 3)));
        assert_eq!(encoded(b"%3", 0, false), None);
        assert_eq!(encoded(b"%3", 0, true), Some((b'%', 1)));
        assert_eq!(encoded(b"%G", 0, false), Some((b'%', 1)));
        assert_eq!(places_before(b"1%3AAA", 4, 1), Some(1));
        assert_eq!(places_before(b"1:AA", 2, 1), Some(1));
        assert_eq!(places_before(b"AA", 0, 1), None);
    }

    #[test]
    fn anchors_are_found_in_both_spellings() {
        for (text, expected) in [
            ("://x", Beginning::Anchor(3, Spelling::Plain)),
            ("%3A%2F%2Fx", Beginning::Anchor(9, Spelling::Percent)),
            ("%3a//x", Beginning::Anchor(5, Spelling::Percent)),
            ("%3A%2", Beginning::Cut),
            (":", Beginning::Cut),
            ("%3B//", Beginning::Other),
            ("%", Beginning::Cut),
        ] {
            assert_eq!(beginning(text.as_bytes(), 0, b"://", false), expected, "{text}");
        }
        assert_eq!(beginning(b":/", 0, b"://", true), Beginning::Other);
    }
}
