//! Handles of entries: the names by which a model or a user asks for a stored result.
//!
//! A handle is `tm_` and 26 lower-case characters of RFC 4648 base32, which encode 128 random bits. It says nothing
//! about the entry, and cannot be guessed. Only this spelling is accepted, so each entry has exactly one name, and a
//! handle is always a safe name of a file.
//!
//! ```text
//! tm_  aaaqeayeaudaocajbifqydiob4
//!      └───── 26 characters ────┘   16 bytes, 5 bits a character, and 2 unused bits that are 0
//! ```

use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::Arc;

/// The characters of base32, in the order of their values.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// The beginning of every handle.
const PREFIX: &str = "tm_";
/// Random bytes of a handle.
const BYTES: usize = 16;
/// Characters that encode them.
const CHARS: usize = 26;
/// The bits of one character.
const BITS: u32 = 5;
/// The unused bits of the last character.
const UNUSED: u32 = 2;

/// The name of a stored entry.
///
/// ```
/// use tamis_store::Handle;
///
/// let handle: Handle = "tm_aaaqeayeaudaocajbifqydiob4".parse()?;
/// assert_eq!(handle.to_string(), "tm_aaaqeayeaudaocajbifqydiob4");
/// assert!("tm_AAAQEAYEAUDAOCAJBIFQYDIOB4".parse::<Handle>().is_err());
/// # Ok::<(), tamis_store::InvalidHandle>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle([u8; BYTES]);

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        let bits = u128::from_be_bytes(self.0);
        for index in 0..CHARS {
            // The first character has the five highest bits. The last one has three bits, followed by two zeros.
            let shift = u128::BITS.saturating_sub(BITS * (index as u32 + 1));
            let value = if index + 1 == CHARS { bits << UNUSED } else { bits >> shift } & 31;
            let char = ALPHABET.get(value as usize).copied().unwrap_or_default();
            fmt::Write::write_char(f, char::from(char))?;
        }
        Ok(())
    }
}

impl FromStr for Handle {
    type Err = InvalidHandle;

    fn from_str(text: &str) -> Result<Self, InvalidHandle> {
        let encoded = text.strip_prefix(PREFIX).ok_or(InvalidHandle)?;
        if encoded.len() != CHARS {
            return Err(InvalidHandle);
        }
        let mut bits = 0_u128;
        for (index, byte) in encoded.bytes().enumerate() {
            let value =
                ALPHABET.iter().position(|char| *char == byte).ok_or(InvalidHandle)? as u128;
            let last = index + 1 == CHARS;
            if last && value & ((1 << UNUSED) - 1) != 0 {
                return Err(InvalidHandle);
            }
            let kept = if last { BITS - UNUSED } else { BITS };
            bits = bits << kept | value >> (BITS - kept);
        }
        Ok(Self(bits.to_be_bytes()))
    }
}

/// The error of a text that is not a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidHandle;

impl fmt::Display for InvalidHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a handle: `tm_` and 26 characters of a-z and 2-7")
    }
}

impl std::error::Error for InvalidHandle {}

/// Where the random bytes of handles come from: the operating system, or a function of a test.
#[derive(Clone, Default)]
pub(crate) struct HandleSource(Option<Arc<dyn Fn() -> [u8; BYTES] + Send + Sync>>);

impl HandleSource {
    pub(crate) fn new(source: impl Fn() -> [u8; BYTES] + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(source)))
    }

    /// Returns a new handle.
    pub(crate) fn draw(&self) -> io::Result<Handle> {
        if let Some(source) = &self.0 {
            return Ok(Handle(source()));
        }
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Handle(bytes))
    }
}

impl fmt::Debug for HandleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "replaced" } else { "system" })
    }
}

#[cfg(test)]
mod tests {
    use super::{Handle, HandleSource};

    #[test]
    fn handles_are_written_and_read() {
        for (bytes, text) in [
            ([0; 16], "tm_aaaaaaaaaaaaaaaaaaaaaaaaaa"),
            ([255; 16], "tm_77777777777777777777777774"),
            (
                *b"\0\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f",
                "tm_aaaqeayeaudaocajbifqydiob4",
            ),
        ] {
            assert_eq!(Handle(bytes).to_string(), text);
            assert_eq!(text.parse(), Ok(Handle(bytes)));
        }
        let source = HandleSource::default();
        for _ in 0..1_000 {
            let handle = source.draw().unwrap();
            assert_eq!(handle.to_string().parse(), Ok(handle));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "tm_",
            "aaaaaaaaaaaaaaaaaaaaaaaaaa",
            "tm_aaaaaaaaaaaaaaaaaaaaaaaaa",
            "tm_aaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "TM_aaaaaaaaaaaaaaaaaaaaaaaaaa",
            "tm_Aaaaaaaaaaaaaaaaaaaaaaaaaa",
            "tm_1aaaaaaaaaaaaaaaaaaaaaaaaa",
            "tm_aaaaaaaaaaaaaaaaaaaaaaaaab",
            "tm_../aaaaaaaaaaaaaaaaaaaaaaa",
            " tm_aaaaaaaaaaaaaaaaaaaaaaaaaa",
            "tm_aaaaaaaaaaaaaaaaaaaaaaaaaé",
        ] {
            assert!(text.parse::<Handle>().is_err(), "{text:?}");
        }
    }
}
