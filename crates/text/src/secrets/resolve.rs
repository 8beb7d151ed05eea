//! Reads the characters of a text through the escapes that it spells.
//!
//! A text may itself hold JSON: the body of a response in a log, a document in a string of another one. Writers escape
//! different characters there: PHP the slash (`\/`), Go `&`, `<` and `>` (`\u0026`), .NET also `+` and quotes (`\u002B`).
//! Each of these escapes counts as the character that it stands for, whatever the number of its backslashes. Others, such
//! as `\n`, stay two characters, because they end a secret in the same way.
//!
//! ```text
//! bytes of a JSON string   postgres:\\\/\\/mira:tide\\u0026…
//! its characters           postgres:\  / \/mira:tide\ u0026…
//! resolved                 postgres:/    / mira:tide&…
//! ```

use memchr::{memchr_iter, memchr2};

use super::decode::character;

/// The form of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    /// A valid JSON text, with or without white space.
    Json,
    /// Any other text.
    Plain,
}

/// The most backslashes of one escape that the text spells.
const BACKSLASHES: usize = 4;

/// Returns the first character of `rest` and the length of its spelling, through the escapes of JSON if that is the form of
/// the input, and through those that the text spells. `None` at the end, at the quote that closes a string, and at an escape
/// that is cut off. `ended`: nothing follows `rest`.
#[inline]
pub(super) fn resolved(rest: &[u8], form: TextForm, ended: bool) -> Option<(u8, usize)> {
    match form {
        TextForm::Plain => match rest.first()? {
            b'\\' => after_backslash((b'\\', 1), rest, form, ended),
            byte => Some((*byte, 1)),
        },
        TextForm::Json => match character(rest)? {
            found @ (b'\\', _) => after_backslash(found, rest, form, ended),
            found => Some(found),
        },
    }
}

/// Resolves the escape that may begin with the backslash `first`.
fn after_backslash(
    first: (u8, usize),
    rest: &[u8],
    form: TextForm,
    ended: bool,
) -> Option<(u8, usize)> {
    let mut at = first.1;
    // `Err`: it is not an escape, or more text decides.
    let mut next = || {
        let after = rest.get(at..).unwrap_or_default();
        let found = match form {
            TextForm::Plain => after.first().map(|byte| (*byte, 1)),
            TextForm::Json => character(after),
        };
        match found {
            Some((byte, len)) => {
                at += len;
                Ok(byte)
            }
            None if ended || after.first() == Some(&b'"') => Err(Some(first)),
            None => Err(None),
        }
    };
    let mut read = || {
        let mut byte = next()?;
        for _ in 1..BACKSLASHES {
            if byte != b'\\' {
                break;
            }
            byte = next()?;
        }
        match byte {
            b'/' => return Ok(b'/'),
            b'u' => {}
            _ => return Err(Some(first)),
        }
        let mut code = 0;
        for _ in 0..4 {
            let digit = char::from(next()?).to_digit(16).ok_or(Some(first))?;
            code = code << 4 | digit;
        }
        u8::try_from(code).ok().filter(u8::is_ascii).ok_or(Some(first))
    };
    match read() {
        Ok(byte) => Some((byte, at)),
        Err(other) => other,
    }
}

/// Returns whether the backslash at a position is resolved together with what follows, or may be.
pub(super) fn may_be_escape(input: &[u8], form: TextForm, at: usize) -> bool {
    let rest = input.get(at..).unwrap_or_default();
    form == TextForm::Json || resolved(rest, form, false).is_none_or(|(_, len)| len > 1)
}

/// Returns the position of the first quote of JSON or escape at or after a position.
pub(super) fn next_special(input: &[u8], form: TextForm, at: usize) -> Option<usize> {
    let rest = input.get(at..)?;
    let special = match form {
        TextForm::Json => memchr2(b'"', b'\\', rest),
        TextForm::Plain => {
            memchr_iter(b'\\', rest).find(|len| may_be_escape(input, form, at + len))
        }
    };
    special.map(|len| at + len)
}

/// Returns whether an escape that a text spells may be in `bytes` or begin at their end.
pub(super) fn may_have_escape(bytes: &[u8]) -> bool {
    memchr_iter(b'\\', bytes)
        .any(|at| matches!(bytes.get(at + 1), None | Some(b'/' | b'u' | b'\\')))
}

#[cfg(test)]
mod tests {
    use super::{TextForm, resolved};

    #[test]
    fn escapes_that_the_text_spells_are_resolved() {
        let plain = |text: &str| resolved(text.as_bytes(), TextForm::Plain, true);
        let json = |text: &str| resolved(text.as_bytes(), TextForm::Json, true);
        for (text, expected) in [
            ("a", (b'a', 1)),
            (r"\/x", (b'/', 2)),
            (r"\\\/x", (b'/', 4)),
            (r"\u002Bx", (b'+', 6)),
            (r"\\u0067", (b'g', 7)),
            (r"\u00e9", (b'\\', 1)),
            (r"\u12", (b'\\', 1)),
            (r"\n", (b'\\', 1)),
            (r"\", (b'\\', 1)),
            (r"\\\\\/", (b'\\', 1)),
        ] {
            assert_eq!(plain(text), Some(expected), "{text}");
        }
        for (text, expected) in [
            (r"\/x", (b'/', 2)),
            (r"\\/x", (b'/', 3)),
            (r"\\\/x", (b'/', 4)),
            (r"\\u002B", (b'+', 7)),
            (r"\u005cu0067", (b'g', 11)),
            (r"\\\\u0067", (b'g', 9)),
            (r"\\n", (b'\\', 2)),
            ("\\\\\"", (b'\\', 2)),
        ] {
            assert_eq!(json(text), Some(expected), "{text}");
        }
        for text in [r"\", r"\u00", r"\\"] {
            assert_eq!(resolved(text.as_bytes(), TextForm::Plain, false), None, "{text}");
        }
        for text in [r"\\", r"\\u00", r"\\\u00"] {
            assert_eq!(resolved(text.as_bytes(), TextForm::Json, false), None, "{text}");
        }
    }
}
