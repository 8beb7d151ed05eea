//! The ids of JSON-RPC requests, compared as peers compare them.

use std::fmt;

/// The longest id that is compared. A request with a longer id gets an error; a response with one is unknown.
pub const LONGEST_ID: usize = 4 << 10;

/// The id of a request or of a response: a string by its characters, or a number by its value.
///
/// `1`, `1.0` and `10e-1` are one id, since JavaScript does not tell them apart. Values are compared exactly, at any
/// size: `9007199254740993` is not `9007199254740992`. The string `"7"` is another id than the number 7; for peers that
/// confuse them there is [`other_kind`](Self::other_kind).
///
/// ```
/// use tamis_mcp::jsonrpc::Id;
///
/// assert_eq!(Id::parse(b"1e0"), Id::parse(b"1.0"));
/// assert_eq!(Id::parse(br#""\u0061""#), Id::parse(br#""a""#));
/// assert_ne!(Id::parse(b"7"), Id::parse(br#""7""#));
/// assert_eq!(Id::parse(b"7").unwrap().other_kind(), Id::parse(br#""7""#));
/// assert_eq!(Id::parse(b"null"), None);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Id {
    /// A number, in canonical form: digits without leading or trailing zeros, and an exponent if it is not 0.
    Number(Box<str>),
    /// The characters of a string.
    Text(Box<str>),
}

impl Id {
    /// Reads the JSON text of an id. Returns `None` for anything but a string or a number, for a string with a lone
    /// surrogate, and for more than [`LONGEST_ID`] bytes.
    #[must_use]
    pub fn parse(json: &[u8]) -> Option<Self> {
        if json.len() > LONGEST_ID {
            return None;
        }
        match json.first()? {
            b'"' => super::text::decode(json).map(|text| Self::Text(text.into())),
            b'-' | b'0'..=b'9' => canonical(json).map(|number| Self::Number(number.into())),
            _ => None,
        }
    }

    /// Returns the id of the other kind that lenient peers take for this one: for the string `"7"` the number 7, and
    /// the reverse. Returns `None` for a string that is not a number.
    #[must_use]
    pub fn other_kind(&self) -> Option<Self> {
        match self {
            Self::Number(number) => Some(Self::Text(number.clone())),
            Self::Text(text) => {
                let text = text.trim().as_bytes();
                // `+7` and `.5` are numbers to some peers, but not to JSON.
                canonical(text).map(|number| Self::Number(number.into()))
            }
        }
    }
}

/// Shows the kind and the length only: ids may hold anything.
impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "Number({number})"),
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
        }
    }
}

/// Returns the canonical form of a JSON number: `15e-1` for `1.5`, `-3e2` for `-300.0`. Integers of up to 20 digits
/// are written out, so that they read as peers write them. Returns `None` if the text is not a JSON number.
fn canonical(text: &[u8]) -> Option<String> {
    let (negative, rest) = match text.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match rest.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        Some(at) => (rest.get(..at)?, exponent(rest.get(at + 1..)?)?),
        None => (rest, 0),
    };
    let (whole, fraction) = match mantissa.iter().position(|byte| *byte == b'.') {
        Some(at) => (mantissa.get(..at)?, Some(mantissa.get(at + 1..)?)),
        None => (mantissa, None),
    };
    let digits_only = |digits: &[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let leading_zero = whole.len() > 1 && whole.first() == Some(&b'0');
    if !digits_only(whole) || leading_zero || !fraction.is_none_or(digits_only) {
        return None;
    }
    let fraction = fraction.unwrap_or_default();
    let digits: Vec<u8> = whole.iter().chain(fraction).copied().collect();
    let digits = std::str::from_utf8(&digits).ok()?.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some("0".to_owned());
    }
    let zeros = i64::try_from(digits.len() - significant.len()).ok()?;
    let exponent = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?.checked_add(zeros)?;
    let sign = if negative { "-" } else { "" };
    Some(match usize::try_from(exponent) {
        Ok(zeros) if significant.len() + zeros <= 20 => {
            format!("{sign}{significant}{}", "0".repeat(zeros))
        }
        _ => format!("{sign}{significant}e{exponent}"),
    })
}

/// Reads an exponent. Returns `None` if it is not a number, or has more than 18 digits.
fn exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let size: i64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(if negative { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::{Id, LONGEST_ID};

    fn id(json: &str) -> Option<Id> {
        Id::parse(json.as_bytes())
    }

    #[test]
    fn equal_ids_have_equal_values() {
        for (group, ids) in [
            ("one", &["1", "1.0", "1e0", "10e-1", "0.1E+1", "100e-2"][..]),
            ("zero", &["0", "-0", "0.0", "0e5", "0E-3"]),
            ("hundred", &["100", "1e2", "1E+2", "100.000", "0.0001e6"]),
            ("large", &["12345678901234567890123", "12345678901234567890123.0"]),
            ("next", &["9007199254740993", "9007199254740993.0"]),
            ("rounded", &["9007199254740992", "9007199254740992.0"]),
            ("half", &["1.5", "15e-1", "0.15e1"]),
            ("minus", &["-1", "-1.0", "-10e-1"]),
            ("text one", &["\"1\"", "\"\\u0031\""]),
            ("text one point", &["\"1.0\""]),
            ("text a", &["\"a\"", "\"\\u0061\"", "\"\\u0061\""]),
            ("text empty", &["\"\""]),
            ("text pair", &["\"\u{1F600}\"", "\"\\ud83d\\ude00\""]),
            ("huge", &["1e400", "10e399"]),
        ] {
            for first in ids {
                for second in ids {
                    assert!(id(first).is_some(), "{group}: {first}");
                    assert_eq!(id(first), id(second), "{group}");
                }
            }
        }
        let different =
            ["1", "0", "100", "9007199254740993", "9007199254740992", "1.5", "-1", "\"1\"", "\"\""];
        for (number, first) in different.iter().enumerate() {
            for second in &different[number + 1..] {
                assert_ne!(id(first), id(second));
            }
        }
    }

    #[test]
    fn other_values_are_no_ids() {
        let long = format!("\"{}\"", "x".repeat(LONGEST_ID));
        for json in [
            "null",
            "true",
            "{}",
            "[]",
            "",
            "-",
            "01",
            "1.",
            ".5",
            "1e",
            "+1",
            "\"\\ud800\"",
            &long,
            "1e9999999999999999999",
        ] {
            assert_eq!(id(json), None, "{json}");
        }
    }

    #[test]
    fn lenient_peers_confuse_numbers_and_strings() {
        for (json, other) in [
            ("7", Some("\"7\"")),
            ("7.0", Some("\"7\"")),
            ("\"7\"", Some("7")),
            ("\" 7 \"", Some("7")),
            ("\"7.0\"", Some("7")),
            ("\"07\"", None),
            ("\"x\"", None),
            ("\"\"", None),
        ] {
            assert_eq!(id(json).unwrap().other_kind(), other.and_then(id), "{json}");
        }
    }
}
