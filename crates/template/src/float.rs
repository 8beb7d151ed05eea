//! Prints floats as Go's `strconv` does.

/// The form of a float.
#[derive(Clone, Copy, Debug)]
pub(super) enum Digits {
    /// `%e`, with digits after the point.
    Exponent(usize),
    /// `%f`, with digits after the point.
    Fixed(usize),
    /// `%g`, with significant digits, or as few as the float needs.
    General(Option<usize>),
    /// `%b`: the mantissa and the exponent of two.
    Binary,
    /// `%x`, with hexadecimal digits after the point, or as few as the float needs.
    Hexadecimal(Option<usize>),
}

/// No float has more decimal digits after the point. Those after them are zeros.
const MAX_DECIMALS: usize = 1100;
const MANTISSA_BITS: u32 = 52;

/// Prints a float that is finite and not negative.
pub(super) fn digits(float: f64, form: Digits) -> String {
    match form {
        Digits::Exponent(precision) => {
            let text = format!("{float:.*e}", precision.min(MAX_DECIMALS));
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let zeros = precision.saturating_sub(MAX_DECIMALS);
            let exponent = exponent.parse().unwrap_or(0);
            format!("{mantissa}{}{}", "0".repeat(zeros), decimal_exponent(exponent))
        }
        Digits::Fixed(precision) => {
            let zeros = precision.saturating_sub(MAX_DECIMALS);
            format!("{float:.*}{}", precision.min(MAX_DECIMALS), "0".repeat(zeros))
        }
        Digits::General(precision) => general(float, precision),
        Digits::Binary => {
            let (mantissa, exponent) = parts(float);
            format!("{mantissa}p{exponent:+}")
        }
        Digits::Hexadecimal(precision) => hexadecimal(float, precision),
    }
}

fn decimal_exponent(exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("e{sign}{:02}", exponent.unsigned_abs())
}

fn general(float: f64, precision: Option<usize>) -> String {
    let text = match precision {
        Some(digits) => format!("{float:.*e}", digits.saturating_sub(1).min(MAX_DECIMALS)),
        None => format!("{float:e}"),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_end_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    // From this exponent on the number is written with its exponent.
    let most = match precision {
        None => 6,
        Some(precision) => {
            let precision = i32::try_from(precision.max(1)).unwrap_or(i32::MAX);
            if precision > count && count > exponent { count } else { precision }
        }
    };
    if exponent < -4 || exponent >= most {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        return format!("{first}{point}{rest}{}", decimal_exponent(exponent));
    }
    let Ok(whole) = usize::try_from(exponent + 1) else {
        let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
        return format!("0.{}{digits}", "0".repeat(zeros));
    };
    if whole == 0 {
        return format!("0.{digits}");
    }
    match digits.split_at_checked(whole) {
        Some((digits, "")) => digits.to_owned(),
        Some((whole, fraction)) => format!("{whole}.{fraction}"),
        None => format!("{digits}{}", "0".repeat(whole - digits.len())),
    }
}

/// Returns the mantissa and the exponent of two of a float: it is their product.
fn parts(float: f64) -> (u64, i32) {
    let bits = float.to_bits();
    let mantissa = bits & ((1 << MANTISSA_BITS) - 1);
    let biased = i32::try_from((bits >> MANTISSA_BITS) & 0x7ff).unwrap_or(0);
    if biased == 0 { (mantissa, -1074) } else { (mantissa | 1 << MANTISSA_BITS, biased - 1075) }
}

fn hexadecimal(float: f64, precision: Option<usize>) -> String {
    let (mut mantissa, mut exponent) = parts(float);
    if mantissa == 0 {
        exponent = 0;
    } else {
        // The highest bit becomes the digit before the point.
        let shift = mantissa.leading_zeros() - (63 - MANTISSA_BITS);
        mantissa <<= shift;
        exponent += 52 - i32::try_from(shift).unwrap_or(0);
    }
    if let Some(dropped) = precision.filter(|digits| *digits < 13).map(|digits| 52 - 4 * digits) {
        // Rounds to the nearest, and half to even.
        let half = 1 << (dropped - 1);
        let rest = mantissa & ((1 << dropped) - 1);
        mantissa >>= dropped;
        if rest > half || rest == half && mantissa & 1 == 1 {
            mantissa += 1;
        }
        mantissa <<= dropped;
        if mantissa >> (MANTISSA_BITS + 1) == 1 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let whole = mantissa >> MANTISSA_BITS;
    let fraction = format!("{:013x}", mantissa & ((1 << MANTISSA_BITS) - 1));
    let fraction = match precision {
        None => fraction.trim_end_matches('0').to_owned(),
        Some(digits) => format!("{fraction:0<digits$.digits$}", digits = digits.min(MAX_DECIMALS)),
    };
    let zeros = "0".repeat(precision.unwrap_or(0).saturating_sub(MAX_DECIMALS));
    let point = if fraction.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("0x{whole}{point}{fraction}{zeros}p{sign}{:02}", exponent.unsigned_abs())
}

/// Adds what the flag `#` asks for: a decimal point, and zeros up to `least` significant digits.
pub(super) fn with_point(text: &str, least: usize, is_hex: bool) -> String {
    let end = text.find(if is_hex { 'p' } else { 'e' }).unwrap_or(text.len());
    let (number, exponent) = text.split_at(end);
    let significant =
        number.chars().filter(char::is_ascii_hexdigit).skip_while(|char| *char == '0');
    let mut count = significant.count();
    let mut out = number.to_owned();
    if !number.contains('.') {
        // A zero before the point is a digit, too.
        count += usize::from(number == "0");
        out.push('.');
    }
    out.push_str(&"0".repeat(least.saturating_sub(count)));
    out + exponent
}
