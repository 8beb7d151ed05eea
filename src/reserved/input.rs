//! Reads the reserved parameters from the input of a call, which is a JSON object.
//!
//! The engine walks the object and reports where their values begin; nothing is copied. Values are read as kimbap
//! reads them (seed 000): a JSON number counts in any notation, and a value that cannot be a budget is ignored.

use tamis_json::bom::BOM;
use tamis_json::error::{Error, ErrorKind, Raise};
use tamis_json::key::{self, is_too_long_for};
use tamis_json::{Handler, Interest, ValueKind, ValueSlot, machine};

use super::{BUDGET, OUTPUT_MODE, RAW};

/// The maximum length, in bytes, of a JSON string that can spell a known word.
const LONGEST: usize = 256;

/// The options that the input of a call requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) raw: bool,
    /// The budget in bytes, at least 1.
    pub(crate) budget: Option<u64>,
}

/// Reads the input of a call.
///
/// # Errors
/// Fails if the input is not a JSON object, or is nested more deeply than a document may be.
pub(crate) fn read(input: &[u8]) -> Result<Asked, Error> {
    let document = input.strip_prefix(BOM).unwrap_or(input);
    let mut found = Found::default();
    machine::read(document, (input.len() - document.len()) as u64, &mut found)?;
    let value = |found: Option<(ValueKind, u64)>| {
        let (kind, offset) = found?;
        let rest = input.get(usize::try_from(offset).ok()?..)?;
        Some((kind, rest))
    };
    Ok(Asked {
        raw: value(found.mode).is_some_and(|value| is_raw(value).unwrap_or(false)),
        budget: value(found.budget).and_then(budget),
    })
}

/// The offsets at which the values begin. Of several members with one name, the last one counts, as in most JSON
/// readers including Go's, so that the tool and this reader see the same values.
#[derive(Default)]
struct Found {
    mode: Option<(ValueKind, u64)>,
    budget: Option<(ValueKind, u64)>,
}

impl Handler for Found {
    fn value(
        &mut self,
        slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Raise> {
        match slot {
            ValueSlot::Top if kind == ValueKind::Object => return Ok(Interest::Inspect),
            ValueSlot::Top => {
                let message = "the input of a call must be a JSON object";
                return Err(Raise::new(ErrorKind::Syntax, message));
            }
            ValueSlot::Member(key) => key.with_name(|name| match name.map(std::str::from_utf8) {
                Some(Ok(OUTPUT_MODE)) => self.mode = Some((kind, offset)),
                Some(Ok(BUDGET)) => self.budget = Some((kind, offset)),
                _ => {}
            }),
            ValueSlot::Element(_) => {}
        }
        Ok(Interest::Skip)
    }

    fn close(&mut self, _: u64) -> Result<(), Raise> {
        Ok(())
    }

    fn raw(&mut self, _: &[u8]) {}

    fn takes_long_keys(&self, limit: usize) -> bool {
        is_too_long_for(limit, OUTPUT_MODE.len())
    }
}

fn is_raw((kind, rest): (ValueKind, &[u8])) -> Option<bool> {
    Some(kind == ValueKind::String && string(rest)? == RAW.as_bytes())
}

/// Returns the number of bytes, if the value is a number of at least 1.
fn budget((kind, rest): (ValueKind, &[u8])) -> Option<u64> {
    let count = match kind {
        ValueKind::Number => {
            let end = rest.iter().position(|byte| !is_of_number(*byte)).unwrap_or(rest.len());
            whole(rest.get(..end)?)
        }
        ValueKind::String => whole(string(rest)?.trim_ascii()),
        _ => None,
    };
    count.filter(|count| *count > 0)
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E')
}

/// Returns the text of the valid JSON string at the beginning of `rest`, if it is short.
fn string(rest: &[u8]) -> Option<Vec<u8>> {
    let inside = rest.strip_prefix(b"\"")?;
    let mut end = 0;
    loop {
        match inside.get(end)? {
            b'"' => return key::unescape(inside.get(..end)?),
            b'\\' => end += 2,
            _ => end += 1,
        }
        if end > LONGEST {
            return None;
        }
    }
}

/// Returns the whole part of a decimal number, exactly, or `u64::MAX` if it is larger. Returns `None` for a negative
/// number and for text that is not a number.
fn whole(text: &[u8]) -> Option<u64> {
    let (mantissa, exponent) = match text.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        Some(at) => (text.get(..at)?, exponent(text.get(at + 1..)?)?),
        None => (text, 0),
    };
    let (before, behind) = match mantissa.iter().position(|byte| *byte == b'.') {
        Some(at) => (mantissa.get(..at)?, mantissa.get(at + 1..)?),
        None => (mantissa, &[][..]),
    };
    let dangling = behind.is_empty() && before.len() < mantissa.len();
    let mut digits = before.iter().chain(behind);
    if before.is_empty() || dangling || !digits.clone().all(u8::is_ascii_digit) {
        return None;
    }
    let mut count = 0_u64;
    let mut left = i64::try_from(before.len()).ok()?.saturating_add(exponent);
    while left > 0 {
        // Only zeros follow the last digit; twenty of them exceed any value.
        let digit = match digits.next() {
            Some(digit) => u64::from(digit - b'0'),
            None if count == 0 || count == u64::MAX => break,
            None => 0,
        };
        count = count.saturating_mul(10).saturating_add(digit);
        left -= 1;
    }
    Some(count)
}

/// Returns an exponent, clamped: beyond that, only its sign matters.
fn exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let size = digits
        .iter()
        .fold(0_i64, |size, digit| size.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    Some(if negative { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::{Asked, read};

    fn asked(members: &str) -> Asked {
        read(format!("{{{members}}}").as_bytes()).unwrap()
    }

    #[test]
    fn output_modes() {
        for (members, raw) in [
            ("", false),
            (r#""_output_mode":"raw""#, true),
            (r#""owner": {"x": [1]}, "_output_mode" : "raw" , "z": null"#, true),
            (r#""_output\u005fmode":"r\u0061w""#, true),
            (r#""_output_mode":"default""#, false),
            (r#""_output_mode":"RAW""#, false),
            (r#""_output_mode":" raw""#, false),
            (r#""_output_mode":"raw\ud800""#, false),
            (r#""_output_mode":"""#, false),
            (r#""_output_mode":true"#, false),
            (r#""_output_mode":null"#, false),
            (r#""_output_mode":["raw"]"#, false),
            (r#""_output_mode":{"_output_mode":"raw"}"#, false),
            (r#""input":{"_output_mode":"raw"}"#, false),
            (r#""output_mode":"raw""#, false),
            // The last member counts.
            (r#""_output_mode":"raw","_output_mode":"default""#, false),
            (r#""_output_mode":"default","_output_mode":"raw""#, true),
            (r#""_output_mode":"raw","_output_mode":null"#, false),
        ] {
            assert_eq!(asked(members), Asked { raw, budget: None }, "{members}");
        }
        let long = format!("\"_output_mode\":\"{}raw\"", " ".repeat(1_000_000));
        assert_eq!(asked(&long), Asked::default());
    }

    #[test]
    fn budgets() {
        for (value, budget) in [
            ("4096", Some(4096)),
            ("1", Some(1)),
            ("18446744073709551615", Some(u64::MAX)),
            // Larger than 64 bits: the maximum.
            ("18446744073709551616", Some(u64::MAX)),
            ("12345678901234567890123", Some(u64::MAX)),
            ("1E400", Some(u64::MAX)),
            ("1e99999999999999999999", Some(u64::MAX)),
            // Every notation of a number counts.
            ("4096.0", Some(4096)),
            ("4.096e3", Some(4096)),
            ("4.096E+3", Some(4096)),
            ("409600e-2", Some(4096)),
            ("0.00001e8", Some(1000)),
            // Exact, where a floating-point number is not.
            ("9007199254740993.0", Some(9_007_199_254_740_993)),
            // A budget must be at least one byte.
            ("4096.9", Some(4096)),
            ("0.9", None),
            ("1e-1", None),
            ("1e-99999999999999999999", None),
            // 0 and negative numbers.
            ("0", None),
            ("-0", None),
            ("-1", None),
            ("-4096", None),
            ("0e99999999999999999999", None),
            // Spellings that models and command lines use.
            ("\"4096\"", Some(4096)),
            ("\" 4096\\n\"", Some(4096)),
            ("\"\\u0034096\"", Some(4096)),
            ("\"4096.5\"", Some(4096)),
            ("\"1e3\"", Some(1000)),
            ("\"-1\"", None),
            ("\"0\"", None),
            ("\"\"", None),
            ("\" \"", None),
            ("\".\"", None),
            ("\"4.\"", None),
            ("\".5e1\"", None),
            ("\"e3\"", None),
            ("\"1e\"", None),
            ("\"1e+-3\"", None),
            ("\"4096 bytes\"", None),
            ("\"4k\"", None),
            ("\"0x10\"", None),
            ("\"\\ud800\"", None),
            ("true", None),
            ("null", None),
            ("[4096]", None),
            ("{\"_budget\":4096}", None),
        ] {
            let read = asked(&format!("\"_budget\":{value}"));
            assert_eq!(read, Asked { raw: false, budget }, "{value}");
        }
        assert_eq!(asked(r#""_budget":1,"_budget":2"#).budget, Some(2));
        assert_eq!(asked(r#""_budget":1,"_budget":-2"#).budget, None);
        assert_eq!(asked(r#""_\u0062udget":3"#).budget, Some(3));
        let digits = "0".repeat(1_000_000);
        assert_eq!(asked(&format!("\"_budget\":7.{digits}")).budget, Some(7));
        assert_eq!(asked(&format!("\"_budget\":0.{digits}7e1000001")).budget, Some(7));
        assert_eq!(asked(&format!("\"_budget\":7{digits}")).budget, Some(u64::MAX));
        assert_eq!(asked(&format!("\"_budget\":\"{digits}7\"")).budget, None);
    }

    #[test]
    fn an_input_that_is_not_an_object_is_refused() {
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        for (input, error) in [
            ("", "byte 0: the document is empty"),
            ("[]", "byte 0: the input of a call must be a JSON object"),
            (" null", "byte 1: the input of a call must be a JSON object"),
            ("\"_budget\"", "byte 0: the input of a call must be a JSON object"),
            ("{\"_budget\":4", "byte 12: the document ends too early"),
            ("{\"_budget\":04}", "byte 12 at /_budget: invalid number or literal"),
            ("{} {}", "byte 3: trailing characters after the document"),
            (&deep, "more than 1024 nested containers"),
        ] {
            let refused = read(input.as_bytes()).unwrap_err().to_string();
            assert!(refused.contains(error), "{refused}");
        }
        assert_eq!(read(b"\xEF\xBB\xBF {\"_budget\": 4}").unwrap().budget, Some(4));
    }
}
