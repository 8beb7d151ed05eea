//! Messages for a byte that begins neither a value nor a key, with what was probably meant.
//!
//! Only the byte itself decides, because the ones after it may be in the next chunk. This module must not depend on the machine.

/// The containers around a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    /// None: the value is the document. A letter begins a text of another form rather than a misspelled literal.
    Nothing,
    Array,
    Object,
}

/// Returns the message for a byte at the place of a value.
#[cold]
pub(super) fn not_a_value(byte: u8, around: Around) -> &'static str {
    match byte {
        _ if byte.is_ascii_alphabetic() && around == Around::Nothing => "expected a value",
        b'N' => "expected a value (`NaN` and `None` are not JSON: write `null`)",
        b'I' | b'i' => "expected a value (`Infinity` is not JSON: write `null` or a string)",
        b'T' | b'F' => "expected a value (`true` and `false` are written in lower case)",
        b'u' | b'U' => "expected a value (`undefined` is not JSON: write `null`)",
        b'+' => "expected a value (a number has no `+` before it)",
        b'.' => "expected a value (a number begins with a digit)",
        b'\'' => "expected a value (a string is written in double quotes)",
        b'/' | b'#' => "expected a value (JSON has no comments)",
        b']' if around == Around::Array => "expected a value (a comma before `]`?)",
        0x1e => "expected a value (a JSON text sequence, RFC 7464?)",
        _ => "expected a value",
    }
}

/// Returns the message for a byte at the place of a key. `may_end`: the object may end here instead.
#[cold]
pub(super) fn not_a_key(byte: u8, may_end: bool) -> &'static str {
    match byte {
        b'}' if !may_end => "expected a key in double quotes (a comma before `}`?)",
        b'/' | b'#' => "expected a key in double quotes (JSON has no comments)",
        _ => "expected a key in double quotes",
    }
}

#[cfg(test)]
mod tests {
    use super::{Around, not_a_key, not_a_value};

    #[test]
    fn every_message_begins_alike() {
        for byte in 0..=u8::MAX {
            for around in [Around::Nothing, Around::Array, Around::Object] {
                assert!(not_a_value(byte, around).starts_with("expected a value"));
            }
            for flag in [false, true] {
                assert!(not_a_key(byte, flag).starts_with("expected a key in double quotes"));
            }
        }
    }
}
