//! The checksums of account numbers, cards and national identifiers.

use super::personal::{before, blank, is_apart, is_fraction};

/// Returns the IBAN whose first digits are a run: two letters, two digits and up to 30 others, in groups of four or in one
/// (ISO 13616). The remainder of the number that it spells is 1.
pub(super) fn iban(text: &[u8], (run, _): (usize, usize), at: usize) -> Option<(usize, usize)> {
    let from = run.checked_sub(2).filter(|from| *from >= at)?;
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
    while code.len() < wanted {
        // A space after each group of four.
        if !code.is_empty() && code.len().is_multiple_of(4) {
            to += blank(text, to);
        }
        match text.get(to) {
            Some(byte @ (b'A'..=b'Z' | b'0'..=b'9')) => code.push(*byte),
            _ => return None,
        }
        to += 1;
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

/// The most groups of a number of a card, and the fewest digits.
const GROUPS: usize = 5;
pub(super) const CARD: usize = 13;

/// Returns the number of a card that begins with a run of digits, in up to five groups.
pub(super) fn card(text: &[u8], (from, mut to): (usize, usize)) -> Option<(usize, usize)> {
    if is_fraction(text, from) {
        return None;
    }
    for _ in 0..GROUPS {
        if to - from >= CARD && is_card(text, from, to) {
            return Some((from, to));
        }
        let separator = if text.get(to) == Some(&b'-') { 1 } else { blank(text, to) };
        let next = text.get(to + separator..)?;
        let digits = next.iter().take(20).take_while(|byte| byte.is_ascii_digit()).count();
        if separator == 0 || digits == 0 {
            return None;
        }
        to += separator + digits;
    }
    None
}

/// Returns whether a group of digits is the number of a card: the numbers of its issuer, its length, and its last digit
/// (ISO 7812).
fn is_card(text: &[u8], from: usize, to: usize) -> bool {
    let group = text.get(from..to).unwrap_or_default();
    // Mostly a longer number.
    if group.len() > 32 {
        return false;
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
    is_issued && is_new && luhn(&digits) && is_apart(text, from, to)
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

/// The form of an identifier: `9` is a digit, `A` a capital, `-` one of the signs before the last part, `?` any character, and
/// a blank any blank.
struct Form {
    form: &'static str,
    /// The position of its first run of digits, and the length of that.
    run: (usize, usize),
    is_valid: fn(&Id<'_>) -> bool,
}

/// A text that has a form.
struct Id<'a> {
    text: &'a [u8],
    digits: Vec<u32>,
}

impl Id<'_> {
    /// Returns the number that some of the digits spell.
    fn number(&self, from: usize, to: usize) -> u64 {
        let digits = self.digits.get(from..to).unwrap_or_default();
        digits.iter().fold(0, |number, digit| number * 10 + u64::from(*digit))
    }

    fn first(&self) -> Option<&u8> {
        self.text.first()
    }

    fn last(&self) -> Option<&u8> {
        self.text.last()
    }
}

/// The forms of identifiers, with the number or the checksum that each has.
const FORMS: &[Form] = &[
    // United States: no area 000, 666 or above 899, no group 00, no number 0000.
    Form {
        form: "999-99-9999",
        run: (0, 3),
        is_valid: |id| {
            !matches!(id.number(0, 3), 0 | 666 | 900..)
                && id.number(3, 5) != 0
                && id.number(5, 9) != 0
        },
    },
    // Brazil.
    Form { form: "999.999.999-99", run: (0, 3), is_valid: |id| cpf(&id.digits) },
    // Spain, also for foreigners.
    Form {
        form: "99999999A",
        run: (0, 8),
        is_valid: |id| id.last() == letter_of_dni(id.number(0, 8)),
    },
    Form {
        form: "A9999999A",
        run: (1, 7),
        is_valid: |id| matches!(id.first(), Some(b'X'..=b'Z')) && nie(id.text, id.number(0, 7)),
    },
    // France: the sex, a date and a place, and 97 minus the rest.
    Form { form: "9 99 99 99 999 999 99", run: (0, 1), is_valid: nir },
    Form { form: "999999999999999", run: (0, 15), is_valid: nir },
    // Italy.
    Form { form: "AAAAAA99A99A999A", run: (6, 2), is_valid: |id| codice_fiscale(id.text) },
    // Sweden, also with the century: the date, whose day is 60 more for those who do not live there, and a number.
    Form { form: "999999-9999", run: (0, 6), is_valid: |id| personnummer(&id.digits) },
    Form { form: "99999999-9999", run: (0, 8), is_valid: long_personnummer },
    Form { form: "999999999999", run: (0, 12), is_valid: long_personnummer },
    // Finland, where the sign is that of the century: https://dvv.fi/en/reform-of-personal-identity-code.
    Form { form: "999999?999?", run: (0, 6), is_valid: hetu },
    // India, whose numbers do not begin with 0 or 1.
    Form {
        form: "9999 9999 9999",
        run: (0, 4),
        is_valid: |id| id.number(0, 1) > 1 && verhoeff(&id.digits),
    },
];

/// Returns the national identifier whose first digits are a run.
pub(super) fn national_id(
    text: &[u8],
    (run, run_end): (usize, usize),
    at: usize,
) -> Option<(usize, usize)> {
    let forms = FORMS.iter().filter(|form| form.run.1 == run_end - run);
    forms.into_iter().find_map(|form| {
        let from = run.checked_sub(form.run.0).filter(|from| *from >= at)?;
        let mut to = from;
        for wanted in form.form.bytes() {
            to += match (wanted, text.get(to)?) {
                (b'9', byte) if byte.is_ascii_digit() => 1,
                (b'A', byte) if byte.is_ascii_uppercase() => 1,
                (b'?', byte) if byte.is_ascii() => 1,
                (b'-', b'-' | b'+') => 1,
                (b'.', b'.') => 1,
                (b' ', _) if blank(text, to) > 0 => blank(text, to),
                _ => return None,
            };
        }
        // Not a part of a number with a fraction, or of a longer one.
        let is_part = matches!(before(text, from), Some(b'.' | b'-' | b'+' | b'/'))
            || matches!(text.get(to..), Some([b'-' | b'.', next, ..]) if next.is_ascii_digit());
        if is_part || !is_apart(text, from, to) {
            return None;
        }
        let id = text.get(from..to)?;
        let id = Id { text: id, digits: digits_of(id) };
        (form.is_valid)(&id).then_some((from, to))
    })
}

/// The number of a person in France.
fn nir(id: &Id<'_>) -> bool {
    matches!(id.number(0, 1), 1 | 2)
        && matches!(id.number(3, 5), 1..=12 | 20 | 30..=42 | 50..)
        && 97 - id.number(0, 13) % 97 == id.number(13, 15)
}

/// The date and the number of a person in Sweden, without the century.
fn personnummer(digits: &[u32]) -> bool {
    let number = |at: usize| {
        digits.get(at..at + 2).unwrap_or_default().iter().fold(0, |sum, digit| sum * 10 + digit)
    };
    matches!(number(2), 1..=12) && matches!(number(4), 1..=31 | 61..=91) && luhn(digits)
}

/// The date with its century and the number of a person in Sweden. A recent date with a time of day is something else.
fn long_personnummer(id: &Id<'_>) -> bool {
    let year = id.number(0, 4);
    let is_time = year >= 2010 && id.number(8, 10) < 24 && id.number(10, 12) < 60;
    matches!(year, 1880..=2060) && !is_time && personnummer(id.digits.get(2..).unwrap_or_default())
}

/// The letter for the rest of the date and the number of a person in Finland.
fn hetu(id: &Id<'_>) -> bool {
    let is_century = matches!(id.text.get(6), Some(b'+' | b'-' | b'U'..=b'Y' | b'A'..=b'F'));
    is_century
        && matches!(id.number(0, 2), 1..=31)
        && matches!(id.number(2, 4), 1..=12)
        && id.number(6, 9) > 1
        && id.last() == b"0123456789ABCDEFHJKLMNPRSTUVWXY".get((id.number(0, 9) % 31) as usize)
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
