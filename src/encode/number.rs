//! Numbers as readers in JavaScript expect them.

use tamis_json::tree::same_number;

use crate::report::EncodeSkip;

/// Returns the spelling of a valid JSON number.
///
/// A plain decimal keeps its spelling. A number with an exponent, with trailing zeros of its fraction, or `-0` is
/// written as JavaScript prints it, if that has exactly the same value.
pub(super) fn written(number: String) -> Result<String, EncodeSkip> {
    let value: f64 = number.parse().map_err(|_error| EncodeSkip::Number)?;
    // Readers take a number that is too large for a string.
    if !value.is_finite() {
        return Err(EncodeSkip::Number);
    }
    let has_exponent = number.contains(['e', 'E']);
    let has_trailing_zero = number.contains('.') && number.ends_with('0');
    if !has_exponent && !has_trailing_zero && number != "-0" {
        return Ok(number);
    }
    let printed = printed(value);
    if same_number(&number, &printed) { Ok(printed) } else { Err(EncodeSkip::Number) }
}

/// Prints a number as JavaScript does (ECMA-262, `Number::toString`).
fn printed(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{:e}", value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = mantissa.replace('.', "");
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let count = digits.len() as i32;
    let sign = if value < 0.0 { "-" } else { "" };
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let text = if (-6..0).contains(&exponent) {
        format!("0.{}{digits}", zeros(-exponent - 1))
    } else if (0..21).contains(&exponent) {
        if count <= exponent + 1 {
            format!("{digits}{}", zeros(exponent + 1 - count))
        } else {
            let (whole, fraction) = digits.split_at(exponent as usize + 1);
            format!("{whole}.{fraction}")
        }
    } else {
        let plus = if exponent > 0 { "+" } else { "" };
        format!("{mantissa}e{plus}{exponent}")
    };
    format!("{sign}{text}")
}
