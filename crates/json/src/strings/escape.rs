//! Encodes text as the contents of a JSON string, with the shortest spelling of each character.

use memchr::memchr;

use super::DIGITS;
use super::{DIGIT, LONE};

/// The encoder of one string. The text may be cut anywhere, also within a character.
#[derive(Clone, Debug, Default)]
pub struct StringEscaper {
    /// Encoded bytes, gathered to be written at once.
    pub out: Vec<u8>,
    /// Number of digits of a lone surrogate that are still to come.
    digits: u8,
}

impl StringEscaper {
    /// Encodes the next bytes of a text, and appends them to `out`.
    pub fn spell_text(&mut self, mut bytes: &[u8]) {
        loop {
            let special = bytes.iter().position(|byte| is_escaped(*byte));
            let (plain, rest) = bytes.split_at(special.unwrap_or(bytes.len()));
            self.out.extend_from_slice(plain);
            let Some((special, rest)) = rest.split_first() else { return };
            self.escape(*special);
            bytes = rest;
        }
    }

    /// Encodes the next bytes of a text that may have units for lone surrogates, and appends them to `out`.
    pub fn spell_units(&mut self, mut bytes: &[u8]) {
        while let Some((first, rest)) = bytes.split_first() {
            if self.digits > 0 {
                self.digits -= 1;
                let digit = DIGITS.get(usize::from(first ^ DIGIT)).unwrap_or(&b'0');
                self.out.push(*digit);
                bytes = rest;
                continue;
            }
            let lone = memchr(LONE, bytes).unwrap_or(bytes.len());
            let (text, rest) = bytes.split_at(lone);
            self.spell_text(text);
            let Some((_, rest)) = rest.split_first() else { return };
            self.digits = 4;
            self.out.extend_from_slice(b"\\u");
            bytes = rest;
        }
    }

    #[inline]
    fn escape(&mut self, byte: u8) {
        let letter = match byte {
            b'"' | b'\\' => byte,
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            _ => {
                self.out.extend_from_slice(b"\\u00");
                for digit in [byte >> 4, byte & 0xF] {
                    self.out.extend(DIGITS.get(usize::from(digit)));
                }
                return;
            }
        };
        self.out.extend_from_slice(&[b'\\', letter]);
    }
}

/// Whether a byte of the text has to be escaped in a string.
fn is_escaped(byte: u8) -> bool {
    matches!(byte, 0..0x20 | b'"' | b'\\')
}
