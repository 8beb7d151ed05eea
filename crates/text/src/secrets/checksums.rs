//! The checksums of account numbers, cards and national identifiers.

use super::personal::is_apart;

/// Returns the IBAN that begins at a position: two letters, two digits and up to 30 others, in groups of four or in one
/// (ISO 13616). The remainder of the number that it spells is 1.
pub(super) fn iban(text: &[u8], from: usize) -> Option<(usize, usize)> {
    let [a, b, c, d] = *text.get(from..)?.first_chunk::<4>()?;
    let is_begin = a.is_ascii_uppercase()
        && b.is_ascii_uppercase()
        && c.is_ascii_digit()
        && d.is_ascii_digit();
    if !is_begin {
        return None;
    }
    let wanted = length_of_iban([a, b])?;
    let (mut code, mut to) = (Vec::new(), from);
    for (index, byte) in text.get(from..)?.iter().enumerate() {
        match byte {
            b'A'..=b'Z' | b'0'..=b'9' if code.len() < wanted => code.push(*byte),
            // A space after each group of four.
            b' ' if code.len().is_multiple_of(4)
                && code.len() < wanted
                && text.get(from + index - 1) != Some(&b' ') => {}
            _ => break,
        }
        to = from + index + 1;
    }
    let rest = code.iter().cycle().skip(4).take(code.len()).fold(0_u32, |rest, byte| match byte {
        b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
        _ => (rest * 100 + u32::from(byte - b'A') + 10) % 97,
    });
    (code.len() == wanted && rest == 1 && is_apart(text, from, to)).then_some((from, to))
}

/// Returns the number of characters of the IBANs of a country, from the registry of SWIFT.
fn length_of_iban(country: [u8; 2]) -> Option<usize> {
    Some(match &country {
        b"NO" => 15,
        b"BE" => 16,
        b"DK" | b"FI" | b"FO" | b"GL" | b"NL" | b"SD" => 18,
        b"MK" | b"SI" => 19,
        b"AT" | b"BA" | b"EE" | b"KZ" | b"LT" | b"LU" | b"XK" => 20,
        b"CH" | b"HR" | b"LI" | b"LV" => 21,
        b"BG" | b"BH" | b"CR" | b"DE" | b"GB" | b"GE" | b"IE" | b"ME" | b"RS" | b"VA" => 22,
        b"AE" | b"GI" | b"IL" | b"IQ" | b"TL" => 23,
        b"AD" | b"CZ" | b"ES" | b"MD" | b"PK" | b"RO" | b"SA" | b"SE" | b"SK" | b"TN" | b"VG" => 24,
        b"PT" | b"ST" => 25,
        b"IS" | b"TR" => 26,
        b"FR" | b"GR" | b"IT" | b"MC" | b"MR" | b"SM" => 27,
        b"AL" | b"AZ" | b"BY" | b"CY" | b"DO" | b"GT" | b"HU" | b"LB" | b"PL" | b"SV" => 28,
        b"BR" | b"EG" | b"PS" | b"QA" | b"UA" => 29,
        b"JO" | b"KW" | b"MU" => 30,
        b"MT" | b"SC" => 31,
        _ => return None,
    })
}

/// Returns the number of a card in a group of digits: the numbers of its issuer, its length, and its last digit (ISO 7812).
pub(super) fn card(text: &[u8], from: usize, to: usize) -> Option<(usize, usize)> {
    let group = text.get(from..to)?;
    if !group.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b' ' | b'-')) {
        return None;
    }
    let digits = digits_of(group);
    let first =
        |count: usize| digits.iter().take(count).fold(0, |number, digit| number * 10 + digit);
    let is_issued = match digits.len() {
        13 => first(1) == 4,
        14 => matches!(first(2), 30 | 36 | 38 | 39),
        15 => matches!(first(2), 34 | 37),
        16 => {
            matches!(first(1), 4)
                || matches!(first(2), 35 | 51..=55 | 65)
                || matches!(first(4), 2221..=2720 | 6011)
        }
        19 => matches!(first(1), 4) || first(2) == 62,
        _ => false,
    };
    let is_new = digits.windows(2).any(|pair| pair.first() != pair.last());
    (is_issued && is_new && luhn(&digits) && is_apart(text, from, to)).then_some((from, to))
}

fn digits_of(text: &[u8]) -> Vec<u32> {
    text.iter().filter(|byte| byte.is_ascii_digit()).map(|byte| u32::from(byte - b'0')).collect()
}

/// The sum of the digits, every second one doubled, ends with zero.
fn luhn(digits: &[u32]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| if at % 2 == 0 { *digit } else { digit * 2 - 9 * u32::from(*digit > 4) })
        .sum();
    sum.is_multiple_of(10)
}

/// The longest spelling of an identifier.
const LONGEST_ID: usize = 21;

/// Returns the national identifier at the beginning of a text.
pub(super) fn national_id(text: &[u8], from: usize, to: usize) -> Option<(usize, usize)> {
    let run = text.get(from..to.min(from + LONGEST_ID))?;
    [11, 14, 9, 18, 21, 15, 16, 10, 12].into_iter().find_map(|len| {
        let id = run.get(..len)?;
        let before = from.checked_sub(1).and_then(|before| text.get(before));
        // Not a part of a number with a fraction, or of a longer one.
        let is_part = matches!(before, Some(b'.' | b'-' | b'+' | b'/'))
            || matches!(text.get(from + len..), Some([b'-' | b'.', next, ..]) if next.is_ascii_digit());
        let is_id = is_national_id(id) && !is_part && is_apart(text, from, from + len);
        is_id.then_some((from, from + len))
    })
}

fn is_national_id(id: &[u8]) -> bool {
    // The places of the signs, and what the others are: `9` a digit, `A` a capital.
    let fits = |form: &str| {
        form.len() == id.len()
            && form.bytes().zip(id).all(|(wanted, byte)| match wanted {
                b'9' => byte.is_ascii_digit(),
                b'A' => byte.is_ascii_uppercase(),
                b'?' => true,
                sign => sign == *byte,
            })
    };
    let digits = digits_of(id);
    let number = |from: usize, to: usize| {
        digits
            .get(from..to)
            .unwrap_or_default()
            .iter()
            .fold(0_u64, |number, digit| number * 10 + u64::from(*digit))
    };
    // United States: no area 000, 666 or above 899, no group 00, no number 0000.
    (fits("999-99-9999") && !matches!(number(0, 3), 0 | 666 | 900..) && number(3, 5) != 0 && number(5, 9) != 0)
        // Brazil.
        || (fits("999.999.999-99") && cpf(&digits))
        // Spain, also for foreigners.
        || (fits("99999999A") && id.last() == letter_of_dni(number(0, 8)))
        || (fits("A9999999A") && matches!(id.first(), Some(b'X'..=b'Z')) && nie(id, number(0, 7)))
        // France: the sex, a date and a place, and 97 minus the rest.
        || ((fits("9 99 99 99 999 999 99") || fits("999999999999999"))
            && matches!(number(0, 1), 1 | 2)
            && matches!(number(3, 5), 1..=12 | 20 | 30..=42 | 50..)
            && 97 - number(0, 13) % 97 == number(13, 15))
        // Italy.
        || (fits("AAAAAA99A99A999A") && codice_fiscale(id))
        // Sweden and Finland.
        || (fits("999999-9999") && matches!(number(2, 4), 1..=12) && matches!(number(4, 6), 1..=31) && luhn(&digits))
        || (fits("999999-999?") && hetu(id, number(0, 9)))
        // India, whose numbers do not begin with 0 or 1.
        || (fits("9999 9999 9999") && number(0, 1) > 1 && verhoeff(&digits))
}

/// Both check digits of a CPF, of weights that count down to 2.
fn cpf(digits: &[u32]) -> bool {
    let check = |count: u32| {
        let sum: u32 =
            digits.iter().zip((2..=count + 1).rev()).map(|(digit, weight)| digit * weight).sum();
        sum * 10 % 11 % 10
    };
    let is_new = digits.windows(2).any(|pair| pair.first() != pair.last());
    is_new && digits.get(9) == Some(&check(9)) && digits.get(10) == Some(&check(10))
}

fn letter_of_dni(number: u64) -> Option<&'static u8> {
    b"TRWAGMYFPDXBNJZSQVHLCKE".get((number % 23) as usize)
}

/// The first letter stands for a digit.
fn nie(id: &[u8], number: u64) -> bool {
    let first = u64::from(id.first().map_or(0, |first| first - b'X'));
    id.last() == letter_of_dni(first * 10_000_000 + number)
}

/// The letter for the rest of the date and the number.
fn hetu(id: &[u8], number: u64) -> bool {
    id.last() == b"0123456789ABCDEFHJKLMNPRSTUVWXY".get((number % 31) as usize)
}

/// The characters at odd places have values of their own.
fn codice_fiscale(id: &[u8]) -> bool {
    const ODD: [u32; 26] = [
        1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24,
        23,
    ];
    let value = |byte: u8| u32::from(if byte.is_ascii_digit() { byte - b'0' } else { byte - b'A' });
    let sum: u32 = id
        .iter()
        .take(15)
        .enumerate()
        .map(|(at, byte)| match at % 2 {
            0 => ODD.get(value(*byte) as usize).copied().unwrap_or(0),
            _ => value(*byte),
        })
        .sum();
    id.last().is_some_and(|last| value(*last) == sum % 26)
}

/// The algorithm of Verhoeff: products in the group of the symmetries of a pentagon.
fn verhoeff(digits: &[u32]) -> bool {
    const TURNS: [u32; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let product = |a: u32, b: u32| match (a < 5, b < 5) {
        (true, true) => (a + b) % 5,
        (true, false) => (a + b) % 5 + 5,
        (false, true) => (a - b) % 5 + 5,
        (false, false) => (a + 5 - b) % 5,
    };
    let check = digits.iter().rev().enumerate().fold(0, |check, (at, digit)| {
        let turned =
            (0..at % 8).fold(*digit, |digit, _| TURNS.get(digit as usize).copied().unwrap_or(0));
        product(check, turned)
    });
    check == 0
}

#[cfg(test)]
mod tests {
    use super::{digits_of, luhn, verhoeff};

    #[test]
    fn checksums_detect_each_changed_digit() {
        for (number, check) in [("4111111111111111", luhn as fn(&[u32]) -> bool), ("236", verhoeff)]
        {
            let digits = digits_of(number.as_bytes());
            assert!(check(&digits), "{number}");
            for at in 0..digits.len() {
                let mut changed = digits.clone();
                changed[at] = (changed[at] + 1) % 10;
                assert!(!check(&changed), "{changed:?}");
            }
        }
    }
}
