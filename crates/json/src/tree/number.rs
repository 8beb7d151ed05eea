//! Compares JSON numbers exactly, however they are spelled: `1` equals `1.0` and `10e-1`.
//!
//! No float is involved and nothing is rounded. Digits are compared as text, and exponents are added in decimal. Linear
//! in the text. (RFC 6902, 4.6: numbers are equal if their values are numerically equal.)

use std::borrow::Cow;
use std::cmp::Ordering;

/// Maximum number of digits of an exponent that is added as an integer.
const SHORT: usize = 37;

/// Returns the value of a short integer, which most numbers are.
fn short_integer(number: &[u8]) -> Option<i64> {
    let (negative, digits) = sign(number);
    // 18 digits fit any value.
    if digits.len() > 18 {
        return None;
    }
    let value = digits.iter().try_fold(0, |value, digit| {
        digit.is_ascii_digit().then(|| value * 10 + i64::from(digit - b'0'))
    })?;
    Some(if negative { -value } else { value })
}

/// Whether two valid JSON numbers have the same value.
pub(super) fn equal(a: &[u8], b: &[u8]) -> bool {
    if let (Some(a), Some(b)) = (short_integer(a), short_integer(b)) {
        return a == b;
    }
    let (a, b) = (Decimal::new(a), Decimal::new(b));
    match (a.is_zero(), b.is_zero()) {
        (false, false) => {
            a.negative == b.negative && a.exponent() == b.exponent() && a.digits().eq(b.digits())
        }
        (a, b) => a == b,
    }
}

/// Returns a text that two valid JSON numbers have in common if and only if they have the same value.
pub(super) fn canonical(number: &[u8]) -> Vec<u8> {
    let number = Decimal::new(number);
    if number.is_zero() {
        return b"0".to_vec();
    }
    let (power_negative, power) = number.exponent();
    let sign = |negative| if negative { b'-' } else { b'+' };
    let mut text = vec![sign(number.negative)];
    text.extend(number.digits());
    text.extend([b'e', sign(power_negative)]);
    text.extend(power);
    text
}

/// Compares the values of two valid JSON numbers.
pub(super) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    if let (Some(a), Some(b)) = (short_integer(a), short_integer(b)) {
        return a.cmp(&b);
    }
    let (a, b) = (Decimal::new(a), Decimal::new(b));
    let sign = |number: &Decimal<'_>| match (number.is_zero(), number.negative) {
        (true, _) => 0,
        (false, true) => -1,
        (false, false) => 1,
    };
    let order = sign(&a).cmp(&sign(&b));
    if order.is_ne() || a.is_zero() {
        return order;
    }
    let sizes =
        compare_powers(&a.exponent(), &b.exponent()).then_with(|| a.digits().cmp(b.digits()));
    if a.negative { sizes.reverse() } else { sizes }
}

fn compare_powers(a: &PowerOfTen, b: &PowerOfTen) -> Ordering {
    let size = |digits: &[u8], other: &[u8]| {
        digits.len().cmp(&other.len()).then_with(|| digits.cmp(other))
    };
    match (a.0, b.0) {
        (false, false) => size(&a.1, &b.1),
        (true, true) => size(&b.1, &a.1),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
    }
}

/// The parts of a number: `-12.50e3` is negative and has the digits `12` and `50` and the power 3.
struct Decimal<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    power_negative: bool,
    /// Without leading zeros; empty for none, and for 0.
    power: &'a [u8],
}

/// A power of ten: its sign, and its decimal digits without leading zeros; 0 is positive and has none.
type PowerOfTen = (bool, Vec<u8>);

impl<'a> Decimal<'a> {
    fn new(text: &'a [u8]) -> Self {
        let (negative, text) = sign(text);
        let at = text.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(text.len());
        let (digits, power) = text.split_at(at);
        let (power_negative, power) = sign(power.get(1..).unwrap_or_default());
        let at = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
        let (whole, fraction) = digits.split_at(at);
        let fraction = fraction.get(1..).unwrap_or_default();
        Self { negative, whole, fraction, power_negative, power: without_zeros(power) }
    }

    fn is_zero(&self) -> bool {
        self.digits().next().is_none()
    }

    /// Returns the digits from the first to the last that is not 0.
    fn digits(&self) -> impl Iterator<Item = &u8> {
        let fraction = trimmed(self.fraction);
        let whole = if fraction.is_empty() { trimmed(self.whole) } else { self.whole };
        whole.iter().chain(fraction).skip_while(|digit| **digit == b'0')
    }

    /// Returns the exponent of the first digit: `0.00012` is 0.12 with the exponent -3.
    fn exponent(&self) -> PowerOfTen {
        let whole = without_zeros(self.whole);
        let zeros = self.fraction.len() - without_zeros(self.fraction).len();
        let shift = if whole.is_empty() { -(zeros as i64) } else { whole.len() as i64 };
        sum(self.power_negative, self.power, shift)
    }
}

fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

fn without_zeros(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    digits.get(zeros..).unwrap_or_default()
}

/// Removes trailing zeros.
fn trimmed(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().rev().take_while(|digit| **digit == b'0').count();
    digits.get(..digits.len() - zeros).unwrap_or_default()
}

/// `power + shift`, where `shift` is at most the length of a text.
fn sum(negative: bool, power: &[u8], shift: i64) -> PowerOfTen {
    if power.len() <= SHORT {
        let power = power.iter().fold(0i128, |sum, digit| sum * 10 + i128::from(digit - b'0'));
        let power = if negative { -power } else { power } + i128::from(shift);
        let digits = if power == 0 { String::new() } else { power.unsigned_abs().to_string() };
        return (power < 0, digits.into_bytes());
    }
    // The power is far larger than the shift, so the sum has the sign of the power.
    let grows = negative == (shift < 0);
    let mut carry = shift.unsigned_abs();
    let mut digits = Vec::from(power);
    for digit in digits.iter_mut().rev() {
        let here = (carry % 10) as u8;
        carry /= 10;
        let value = *digit - b'0';
        if grows {
            carry += u64::from((value + here) / 10);
            *digit = (value + here) % 10 + b'0';
        } else {
            carry += u64::from(value < here);
            *digit = (value + 10 - here) % 10 + b'0';
        }
    }
    let digits = match carry {
        0 => Cow::Borrowed(without_zeros(&digits)),
        carry => Cow::Owned([carry.to_string().as_bytes(), &digits].concat()),
    };
    (negative, digits.into_owned())
}

#[cfg(test)]
mod tests {
    use super::equal;

    #[test]
    fn spellings_of_a_number() {
        let same = [
            &["0", "-0", "0.0", "0e5", "-0.00E-99999999999999999999999999999999999999999"][..],
            &["1", "1.0", "1e0", "1E+00", "10e-1", "0.1e1", "0.001E3", "100e-00002"],
            &["-12.5", "-125e-1", "-0.125e2", "-12.50000"],
            &["1E400", "10E399", "0.1e401", "1000e397"],
            &["9007199254740993", "9007199254740993.0", "9.007199254740993e15"],
            &["1e-400", "0.1e-399", "10E-401"],
            &[
                "1e10000000000000000000000000000000000000000",
                "10e9999999999999999999999999999999999999999",
                "0.1e10000000000000000000000000000000000000001",
                "0.001e00010000000000000000000000000000000000000003",
            ],
            &[
                "1e-10000000000000000000000000000000000000000",
                "0.1e-9999999999999999999999999999999999999999",
                "10e-10000000000000000000000000000000000000001",
            ],
            // One exponent is short, the other is not.
            &[
                "1e9999999999999999999999999999999999999",
                "0.1e10000000000000000000000000000000000000",
            ],
        ];
        for (number, group) in same.iter().enumerate() {
            for a in *group {
                for (other, group) in same.iter().enumerate() {
                    for b in *group {
                        assert_eq!(
                            equal(a.as_bytes(), b.as_bytes()),
                            number == other,
                            "{a} and {b}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn neighbours_are_not_equal() {
        let pairs = [
            ("9007199254740993", "9007199254740992"),
            ("0.1", "0.10000000000000000001"),
            ("1", "-1"),
            ("1e400", "1e401"),
            ("1.5", "15"),
            ("100", "1"),
            ("12", "120"),
            ("0.12", "0.012"),
        ];
        for (a, b) in pairs {
            assert!(!equal(a.as_bytes(), b.as_bytes()), "{a} and {b}");
            assert!(!equal(b.as_bytes(), a.as_bytes()), "{b} and {a}");
        }
    }
}
