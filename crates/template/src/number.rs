//! Reads the number constants of a template.

use super::lex::TokenKind;

/// Reads a number constant as Go spells it.
///
/// # Errors
/// The message, if Go refuses the number or if it has no value here.
pub(super) fn read_number(text: &str) -> Result<TokenKind, String> {
    let bad = || format!("bad number {text}");
    let (negative, unsigned) = match text.strip_prefix(['+', '-']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    let lower = unsigned.to_ascii_lowercase();
    let (radix, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, lower.get(2..)),
        [b'0', b'o', ..] => (8, lower.get(2..)),
        [b'0', b'b', ..] => (2, lower.get(2..)),
        [b'0', b'0'..=b'9' | b'_', ..] => (8, lower.get(1..)),
        _ => (10, Some(lower.as_str())),
    };
    let digits = digits.unwrap_or_default();
    let digits = if radix == 10 { digits } else { digits.strip_prefix('_').unwrap_or(digits) };
    if digits.starts_with('_') || digits.ends_with('_') || digits.contains("__") {
        return Err(bad());
    }
    let digits = digits.replace('_', "");
    if !digits.is_empty() && digits.chars().all(|char| char.is_digit(radix)) {
        let value = i128::from_str_radix(&digits, radix).ok();
        let value = value.map(|value| if negative { -value } else { value });
        let value = value.and_then(|value| i64::try_from(value).ok());
        return value.map(TokenKind::Integer).ok_or_else(|| format!("{text} overflows int"));
    }
    if digits.ends_with('i') && radix == 10 {
        return Err(format!("{text}: complex numbers are not supported"));
    }
    let value = match radix {
        16 => hex_float(&digits),
        // Rust also reads names such as `inf`, Go does not.
        _ if lower
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'+' | b'-' | b'_')) =>
        {
            lower.replace('_', "").parse::<f64>().ok()
        }
        _ => None,
    };
    let value = value.filter(|value| value.is_finite()).ok_or_else(bad)?;
    Ok(TokenKind::Float(if negative { -value } else { value }))
}

/// Returns the value of `1.8p3`, a hexadecimal float without its `0x`.
fn hex_float(digits: &str) -> Option<f64> {
    let (mantissa, exponent) = digits.split_once('p')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // A float holds every number of 13 hexadecimal digits exactly.
    if whole.len() + fraction.len() > 13 {
        return None;
    }
    let value = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
    let exponent: i32 = exponent.parse().ok()?;
    let shift = exponent.checked_sub(i32::try_from(fraction.len()).ok()?.checked_mul(4)?)?;
    #[allow(clippy::cast_precision_loss, reason = "13 digits are exact")]
    Some(value as f64 * f64::from(2).powi(shift))
}
