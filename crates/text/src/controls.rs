//! Characters that are not shown: controls, the sequences of terminals, and the characters that reorder others.
//!
//! Text for a model has none of them. A page or a field that has nothing else has no text, so a search for text must
//! not stop there. [`ansi`](crate::ansi) reads all that a terminal does; this module only knows the sequences that begin
//! with `ESC [`, because their rest would be read as the beginning of a word.

use crate::notice::is_invisible;

/// Finds the characters of a text that are dropped. Holds the place in a sequence of a terminal, so that a text may
/// arrive in pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Controls {
    sequence: Sequence,
}

/// The place in a sequence of a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Sequence {
    #[default]
    Outside,
    /// After ESC.
    Begun,
    /// After `ESC [`, or the character that stands for both.
    Parameters,
}

impl Controls {
    /// Reads a character. Returns whether it is dropped: it is a control that is not white space, belongs to a sequence
    /// such as `ESC [ 1 ; 31 m`, or reorders other characters.
    pub fn drops(&mut self, char: char) -> bool {
        let next = match (self.sequence, char) {
            (_, '\u{1b}') => Some(Sequence::Begun),
            (_, '\u{9b}') | (Sequence::Begun, '[') => Some(Sequence::Parameters),
            (Sequence::Parameters, ' '..='?') => Some(Sequence::Parameters),
            (Sequence::Parameters, '@'..='~') => Some(Sequence::Outside),
            _ => None,
        };
        self.sequence = next.unwrap_or_default();
        next.is_some() || is_control(char)
    }

    /// Returns whether a text after the last one is dropped at least in part.
    pub fn change(self, text: &str) -> bool {
        self != Self::default() || (!text.bytes().all(is_plain) && text.chars().any(is_control))
    }
}

/// Returns whether a byte of UTF-8 cannot be part of a character that [`Controls`] drops outside of sequences, nor of a
/// control that is white space.
pub fn is_plain(byte: u8) -> bool {
    !matches!(byte, 0..=0x08 | 0x0B..=0x1F | 0x7F | 0xC2 | 0xE2)
}

/// Returns whether a text has a character that a reader sees.
pub fn has_text(text: &str) -> bool {
    let mut controls = Controls::default();
    text.chars().any(|char| !controls.drops(char) && is_seen(char))
}

/// Returns whether a reader sees a character that is not dropped: it is not white space, and has a width.
pub fn is_seen(char: char) -> bool {
    !char.is_whitespace() && !char.is_control() && !is_invisible(char)
}

/// Returns whether a character is dropped by itself.
fn is_control(char: char) -> bool {
    match char {
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => char.is_control() && !char.is_whitespace(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Controls, has_text, is_plain};

    fn kept(text: &str) -> String {
        let mut controls = Controls::default();
        text.chars().filter(|char| !controls.drops(*char)).collect()
    }

    #[test]
    fn dropped_characters() {
        for (text, expected) in [
            ("a\tb\r\n\u{b}\u{c}\u{85}\u{a0}c", "a\tb\r\n\u{b}\u{c}\u{85}\u{a0}c"),
            ("\0a\u{1}\u{e}\u{18}\u{1e}\u{7f}\u{80}b", "ab"),
            ("\u{1b}]0;t\u{7}a\u{9b}2Jb", "]0;tab"),
            ("a\u{1b}[1;31mb\u{1b}[mc\u{1b}\u{1b}[0", "abc"),
            ("\u{1b}[1\nb\u{1b}c", "\nbc"),
            ("a\u{202e}b\u{2066}c\u{200f}é\u{2028}", "abc\u{200f}é\u{2028}"),
        ] {
            assert_eq!(kept(text), expected, "{text:?}");
            assert_eq!(Controls::default().change(text), kept(text) != text, "{text:?}");
        }
    }

    /// No character outside the plain bytes is missed.
    #[test]
    fn plain_bytes_are_kept() {
        for char in '\0'..=char::MAX {
            let text = char.to_string();
            if text.bytes().all(is_plain) {
                assert_eq!(kept(&text), text);
            }
        }
    }

    #[test]
    fn what_a_reader_sees() {
        for (text, expected) in [
            ("", false),
            (" \n\t\u{a0}\u{85}", false),
            ("\0\u{1}\u{e}\u{18}\u{1e}\u{7f}\u{9f}", false),
            ("\u{1b}[1;31m \u{9b}2J", false),
            ("\u{200b}\u{ad}\u{feff}\u{2060}\u{200e}\u{fe0f}\u{e0041}", false),
            ("\u{1}a", true),
            ("\u{1b}[1;31m1", true),
            ("\0→", true),
        ] {
            assert_eq!(has_text(text), expected, "{text:?}");
        }
    }
}
