//! Finds personal data: addresses, phone numbers, numbers of accounts and cards, national identifiers.
//!
//! Each kind is searched from the sign or the digits that it always has. Its checksum must be right, where it has one
//! (`checksums`): of random numbers, one in ten to one in a hundred is. Kinds without one need their separators or their sign.

use std::net::Ipv6Addr;

use memchr::memchr;

use super::checksums::{card, iban, national_id};
use super::patterns::{Expression, Pattern};

/// A kind of personal data.
#[derive(Clone, Copy, Debug)]
enum Personal {
    Email,
    Phone,
    Iban,
    Card,
    NationalId,
    IpAddress,
}

/// Returns the kinds of personal data, as patterns.
#[must_use]
pub fn personal_patterns() -> Vec<Pattern> {
    [
        ("email", Personal::Email),
        ("iban", Personal::Iban),
        ("card", Personal::Card),
        ("national-id", Personal::NationalId),
        ("ip-address", Personal::IpAddress),
        ("phone", Personal::Phone),
    ]
    .map(|(name, kind)| Pattern { name: name.to_owned(), expression: Box::new(kind) })
    .into()
}

impl Expression for Personal {
    fn find_at(&self, text: &[u8], at: usize) -> Option<(usize, usize)> {
        match self {
            Self::Email => email(text, at),
            Self::IpAddress => candidates(text, at, is_of_address).find_map(|(from, to)| {
                let to = to - usize::from(text.get(to.checked_sub(1)?) == Some(&b'.'));
                is_address(text, from, to).then_some((from, to))
            }),
            Self::Phone => groups(text, at).find_map(|(from, to)| {
                phone(text, from, to)
                    .or_else(|| parts(text, from, to).find_map(|(from, to)| phone(text, from, to)))
            }),
            Self::Iban => candidates(text, at, is_of_code).find_map(|(from, _)| iban(text, from)),
            Self::Card => groups(text, at).find_map(|(from, to)| {
                parts(text, from, to).find_map(|(from, to)| card(text, from, to))
            }),
            Self::NationalId => {
                candidates(text, at, is_of_id).find_map(|(from, to)| national_id(text, from, to))
            }
        }
    }
}

/// The most bytes of a candidate.
const LONGEST: usize = 64;

fn is_of_address(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || matches!(byte, b'.' | b':')
}

fn is_of_code(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_of_id(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'+' | b' ')
}

/// Returns whether a byte continues a word, so that nothing ends before it or begins after it.
fn is_word(byte: Option<&u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii())
}

/// Returns whether the text `from..to` is a word of its own.
pub(super) fn is_apart(text: &[u8], from: usize, to: usize) -> bool {
    let before = from.checked_sub(1).and_then(|before| text.get(before));
    !is_word(before) && !is_word(text.get(to))
}

/// Returns the runs of a class from a position on that begin a word, up to [`LONGEST`] bytes of each.
fn candidates(
    text: &[u8],
    at: usize,
    class: fn(u8) -> bool,
) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut next = at;
    std::iter::from_fn(move || {
        loop {
            let rest = text.get(next..)?;
            let from = next
                + rest.iter().position(|byte| byte.is_ascii_alphanumeric() || *byte == b':')?;
            let before = from.checked_sub(1).and_then(|before| text.get(before));
            let word = text.get(from..)?.iter().take_while(|byte| is_word(Some(byte))).count();
            next = from + word.max(1);
            if is_word(before) {
                continue;
            }
            let run = text.get(from..)?.iter().take(LONGEST).take_while(|byte| class(**byte));
            return Some((from, from + run.count()));
        }
    })
}

/// Returns the groups of digits from a position on, with the sign `+` and single separators between them.
fn groups(text: &[u8], at: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut next = at;
    std::iter::from_fn(move || {
        let is_first = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'(');
        let from = next + text.get(next..)?.iter().position(is_first)?;
        let (mut to, mut at) = (from + 1, from + 1);
        while let Some(byte) = text.get(at).filter(|_| at - from < LONGEST) {
            match byte {
                b'0'..=b'9' | b')' => to = at + 1,
                b' ' | b'-' | b'.' | b'/' | b'(' if at - to < 2 => {}
                _ => break,
            }
            at += 1;
        }
        next = to;
        Some((from, to))
    })
}

/// Returns the parts of a group of digits, one to five neighbours at once, as several numbers may follow each other.
fn parts(text: &[u8], from: usize, to: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
    let group = text.get(from..to).unwrap_or_default();
    let is_digit = move |at: usize| group.get(at).is_some_and(u8::is_ascii_digit);
    let begins = move |at: &usize| is_digit(*at) && (*at == 0 || !is_digit(*at - 1));
    (0..group.len()).filter(begins).flat_map(move |begin| {
        let ends = (begin..group.len()).filter(move |at| is_digit(*at) && !is_digit(*at + 1));
        ends.take(5).map(move |end| (from + begin, from + end + 1))
    })
}

/// Ends of file names that look like a top-level domain: `icon@2x.png`, `getty@tty1.service`.
const FILES: &[&[u8]] = &[
    b"png", b"jpg", b"jpeg", b"gif", b"svg", b"webp", b"service", b"socket", b"timer", b"target",
    b"mount", b"js", b"css", b"json", b"lock",
];

/// Returns the first e-mail address.
fn email(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let mut next = at;
    loop {
        let sign = next + memchr(b'@', text.get(next..)?)?;
        next = sign + 1;
        let is_local = |byte: &&u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'%' | b'+' | b'-' | b'\'')
        };
        let before = text.get(at..sign)?;
        let local = before.iter().rev().take(LONGEST).take_while(is_local).count();
        let skipped = before.get(before.len() - local..)?;
        let from = sign - skipped.iter().skip_while(|byte| !byte.is_ascii_alphanumeric()).count();
        let is_host = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
        let host = text.get(sign + 1..)?.iter().take(253).take_while(is_host).count();
        let host = text.get(sign + 1..sign + 1 + host)?;
        let kept = host.iter().rposition(u8::is_ascii_alphanumeric).map_or(0, |last| last + 1);
        let host = host.get(..kept)?;
        let to = sign + 1 + kept;
        let last = host.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
        let is_name = host.contains(&b'.')
            && host.split(|byte| *byte == b'.').all(|label| !label.is_empty())
            && last.len() >= 2
            && last.iter().all(u8::is_ascii_alphabetic)
            && !FILES.iter().any(|file| last.eq_ignore_ascii_case(file));
        // `git@example.org:project` is a place in a repository.
        let is_path =
            matches!(text.get(to..to + 2), Some([b':', next]) if !next.is_ascii_whitespace());
        if from < sign && is_name && !is_path && !is_word(text.get(to)) {
            return Some((from, to));
        }
    }
}

/// Returns whether a text is the address of a host, but not of the machine itself.
fn is_address(text: &[u8], from: usize, to: usize) -> bool {
    let Some(address) = text.get(from..to) else { return false };
    let before = from.checked_sub(1).and_then(|before| text.get(before));
    if matches!(before, Some(b'.' | b':' | b'-')) || is_word(text.get(to)) {
        return false;
    }
    if memchr(b':', address).is_some_and(|_| !address.contains(&b'.')) {
        let parsed =
            std::str::from_utf8(address).ok().and_then(|text| text.parse::<Ipv6Addr>().ok());
        // `Add::add` is a path of a program.
        let is_path = memchr::memchr_iter(b':', address).count() < 3
            && !address.iter().take_while(|byte| **byte != b':').any(u8::is_ascii_digit);
        let is_own = |address: Ipv6Addr| address.is_loopback() || address.is_unspecified();
        return !is_path && parsed.is_some_and(|address| !is_own(address));
    }
    // A port may follow.
    let host = address.split(|byte| *byte == b':').next().unwrap_or_default();
    let mut parts = host.split(|byte| *byte == b'.').map(|part| {
        let is_number = (1..=3).contains(&part.len()) && part.iter().all(u8::is_ascii_digit);
        if !is_number || (part.len() > 1 && part.first() == Some(&b'0')) {
            return None;
        }
        let number = part.iter().fold(0, |number, digit| number * 10 + u32::from(digit & 0xF));
        (number < 256).then_some(number)
    });
    let numbers: Option<Vec<u32>> = parts.by_ref().collect();
    matches!(numbers.as_deref(), Some([first, _, _, _]) if !matches!(first, 0 | 127 | 255))
        && address.len() == host.len()
}

/// Returns the phone number in a group of digits: one with the sign `+`, or one of North America with its separators.
fn phone(text: &[u8], from: usize, to: usize) -> Option<(usize, usize)> {
    let group = text.get(from..to)?;
    let digits: Vec<u8> = group.iter().copied().filter(u8::is_ascii_digit).collect();
    let before = from.checked_sub(1).and_then(|before| text.get(before));
    let is_part = matches!(before, Some(b'.' | b'-' | b'/' | b'='));
    if is_part || is_word(before) || is_word(text.get(to)) {
        return None;
    }
    let parts: Vec<usize> = group
        .split(|byte| !byte.is_ascii_digit())
        .map(<[u8]>::len)
        .filter(|len| *len > 0)
        .collect();
    // A country has at most three digits, which are a part of their own unless all digits are in one.
    let is_international = group.first() == Some(&b'+')
        && matches!(digits.first(), Some(b'1'..=b'9'))
        && (8..=15).contains(&digits.len())
        && (parts.len() == 1 || parts.first().is_some_and(|first| *first <= 3));
    // `(212) 555-0123` or `212-555-0123`. Periods are also those of sections and versions.
    let is_american = parts == [3, 3, 4]
        && group.iter().rev().nth(4) == Some(&b'-')
        && !group.iter().any(|byte| matches!(byte, b'.' | b'/'))
        && matches!(digits.first(), Some(b'2'..=b'9'))
        && matches!(digits.get(3), Some(b'2'..=b'9'));
    (is_international || is_american).then_some((from, to))
}

#[cfg(test)]
mod tests {
    use super::personal_patterns;
    use crate::secrets::sample_text::Random;

    /// Returns the text with each match in brackets, by the kind of this name.
    fn marked(name: &str, text: &str) -> String {
        let patterns = personal_patterns();
        let pattern = patterns.iter().find(|pattern| pattern.name == name).unwrap();
        let (mut output, mut at) = (String::new(), 0);
        while let Some((from, to)) = pattern.expression.find_at(text.as_bytes(), at) {
            assert!(from >= at && to > from, "{text}");
            output += &format!("{}[{}]", &text[at..from], &text[from..to]);
            at = to;
        }
        output + &text[at..]
    }

    /// No text stops a search, and every match is after the last one.
    #[test]
    fn any_text_is_searched() {
        let mut random = Random::new(31);
        let signs = b"0123456789+-. ():/@%aAfFzZ_\xc3\xa9'DE89";
        for _ in 0..3000 {
            let text: Vec<u8> =
                (0..random.below(90)).map(|_| signs[random.below(signs.len())]).collect();
            for pattern in personal_patterns() {
                let mut at = 0;
                while let Some((from, to)) = pattern.expression.find_at(&text, at) {
                    assert!(from >= at && to > from && to <= text.len());
                    at = to;
                }
            }
        }
    }

    /// Each text has brackets around what is found in it.
    #[test]
    fn personal_data_are_found_and_others_are_not() {
        for (name, expected) in [
            ("email", "mail [mira@example.org], <[a.b+c@mail.example.co.uk]>."),
            ("email", "\"[x_1%y@sub-domain.example]\""),
            ("email", "git@example.org:project/x icon@2x.png getty@tty1.service a@b @types/x"),
            ("email", "user@localhost pkg@1.2.3 mira@ @example.org"),
            ("phone", "call [+49 30 1234567] or [+1 (212) 555-0123] or [+442071234567]"),
            ("phone", "[(212) 555-0123], [212-555-0123]"),
            (
                "phone",
                "2024-01-15 123-456-7890 +12 252.227.7013 252.227-7013 v212-555-0123 2125550123",
            ),
            ("phone", "+12345-03-04"),
            ("iban", "[DE89370400440532013000] [GB82 WEST 1234 5698 7654 32]"),
            ("iban", "DE89370400440532013001 XX89370400440532013000 DE8937040044053201300"),
            ("card", "[4111111111111111] [5555 5555 5555 4444] [3782-822463-10005]"),
            ("card", "4111111111111112 1234567812345670 41111111111111111 0000000000000000"),
            ("ip-address", "from [192.0.2.7] to [2001:db8::7], [10.1.2.3]."),
            (
                "ip-address",
                "99999999999999999999 Add::add dfa::D 127.0.0.1 0.0.0.0 ::1 1.2.3 1.2.3.4.5 256.1.1.1 12:34:56 01.2.3.4",
            ),
            ("national-id", "ssn [123-45-6789], cpf [529.982.247-25], dni [12345678Z]"),
            ("national-id", "nir [1 84 12 76 451 089 46] cf [RSSMRA85T10A562S] nie [X1234567L]"),
            ("national-id", "[811228-9874] [131052-308T] [2341 2341 2346] 0.234123412346"),
            ("national-id", "000-45-6789 529.982.247-26 12345678A RSSMRA85T10A562T 811228-9875"),
        ] {
            let text = expected.replace(['[', ']'], "");
            assert_eq!(marked(name, &text), expected, "{name}");
        }
    }
}
