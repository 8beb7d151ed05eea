//! Finds personal data: addresses, phone numbers, numbers of accounts and cards, national identifiers.
//!
//! Each kind is searched from the sign or the digits that it always has. Its checksum must be right, where it has one
//! (`checksums`): of random numbers, one in ten to one in a hundred is. Kinds without one need their separators or their sign
//! (`contacts`).
//!
//! A string with too few digits and signs is not searched at all.

use memchr::{memchr, memchr_iter, memmem};

use super::checksums::{CARD, card, iban, national_id};
use super::contacts::{address, email, phone};
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
    .map(|(name, kind)| Pattern {
        name: name.to_owned(),
        expression: Box::new(kind),
        is_numbered: true,
    })
    .into()
}

impl Expression for Personal {
    fn find_at(&self, text: &[u8], at: usize) -> Option<(usize, usize)> {
        match self {
            Self::Email => email(text, at),
            Self::IpAddress => address(text, at),
            Self::Phone => phone(text, at),
            Self::Iban => digit_runs(text, at).find_map(|run| iban(text, run, at)),
            Self::Card => digit_runs(text, at).find_map(|run| card(text, run)),
            Self::NationalId => digit_runs(text, at).find_map(|run| national_id(text, run, at)),
        }
    }

    fn may_match(&self, spelled: &[u8]) -> bool {
        let has = |part: &[u8]| memmem::find(spelled, part).is_some();
        // An escape may spell anything.
        let has_digits = |fewest: usize| {
            spelled.iter().filter(|byte| byte.is_ascii_digit()).count() >= fewest
                || memchr(b'\\', spelled).is_some() && has(br"\u")
        };
        match self {
            Self::Email => memchr(b'@', spelled).is_some() || has(b"%40") || has(br"\u0040"),
            Self::IpAddress => has_digits(4) || memchr_iter(b':', spelled).count() > 1,
            Self::NationalId => has_digits(7),
            Self::Phone => has_digits(8),
            Self::Iban => has_digits(10),
            Self::Card => has_digits(CARD),
        }
    }
}

/// Returns the runs of digits that begin at or after a position.
pub(super) fn digit_runs(text: &[u8], at: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut next = at;
    std::iter::from_fn(move || {
        let from = next + text.get(next..)?.iter().position(u8::is_ascii_digit)?;
        let digits = text.get(from..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
        next = from + digits;
        Some((from, next))
    })
}

/// Returns the length of the blank at a position, or 0: a space, also one that does not break a line.
pub(super) fn blank(text: &[u8], at: usize) -> usize {
    match text.get(at..) {
        Some([b' ', ..]) => 1,
        Some([0xC2, 0xA0, ..]) => 2,
        // Spaces of other widths.
        Some([0xE2, 0x80, 0x80..=0x8A | 0xAF, ..] | [0xE2, 0x81, 0x9F, ..]) => 3,
        _ => 0,
    }
}

/// Returns the byte before a position.
pub(super) fn before(text: &[u8], at: usize) -> Option<u8> {
    text.get(at.checked_sub(1)?).copied()
}

/// Returns whether a character that is not ASCII is a sign, such as a quote, and not a letter.
fn is_sign(char: &[u8]) -> bool {
    match char {
        [0xC2, 0xAA | 0xB5 | 0xBA, ..] => false,
        // General punctuation and symbols, those of East Asia, their wide forms, emoji.
        [0xC2 | 0xE2, ..] | [0xE3, 0x80, ..] | [0xF0, 0x9F, ..] | [0xEF, 0xBB, ..] => true,
        [0xEF, 0xBC, 0x81..=0x8F | 0x9A..=0xA0, ..] => true,
        _ => false,
    }
}

/// Returns the last character before a position.
fn last_char(text: &[u8], at: usize) -> &[u8] {
    let before = text.get(..at).unwrap_or_default();
    let is_rest = |byte: &&u8| **byte & 0xC0 == 0x80;
    let rest = before.iter().rev().take(3).take_while(is_rest).count();
    before.get(before.len().saturating_sub(rest + 1)..).unwrap_or_default()
}

/// Returns whether the character before a position is of a word.
pub(super) fn is_word_before(text: &[u8], at: usize) -> bool {
    match before(text, at) {
        None => false,
        Some(byte) if byte.is_ascii() => byte.is_ascii_alphanumeric() || byte == b'_',
        Some(_) => !is_sign(last_char(text, at)),
    }
}

/// Returns whether the character at a position is of a word.
pub(super) fn is_word_at(text: &[u8], at: usize) -> bool {
    match text.get(at..) {
        Some([byte, ..]) if byte.is_ascii() => byte.is_ascii_alphanumeric() || *byte == b'_',
        Some([_, ..]) => !is_sign(text.get(at..).unwrap_or_default()),
        _ => false,
    }
}

/// Returns whether the text `from..to` is a word of its own.
pub(super) fn is_apart(text: &[u8], from: usize, to: usize) -> bool {
    !is_word_before(text, from) && !is_word_at(text, to)
}

/// Returns whether a number that begins at a position is the fraction of another one.
pub(super) fn is_fraction(text: &[u8], from: usize) -> bool {
    let point = from.checked_sub(1).filter(|_| before(text, from) == Some(b'.'));
    point.is_some_and(|point| before(text, point).is_some_and(|byte| byte.is_ascii_digit()))
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

    /// A search ends with the first match: the rest is not read for each of them. The time is that of a search which does so
    /// many times over.
    #[test]
    fn a_search_stops_at_the_first_match() {
        let begun = std::time::Instant::now();
        for (name, one) in [
            ("ip-address", "1::2 "),
            ("ip-address", "192.0.2.7 "),
            ("email", "a@b.example "),
            ("phone", "212-555-0123 "),
            ("phone", "+493012345678 + - "),
            ("card", "4111111111111111 "),
        ] {
            let count = if cfg!(miri) { 8 } else { 300_000 / one.len() };
            let found = marked(name, &one.repeat(count));
            assert_eq!(found.matches('[').count(), count, "{one}");
        }
        assert!(cfg!(miri) || begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
    }

    /// Each text has brackets around what is found in it.
    #[test]
    fn personal_data_are_found_and_others_are_not() {
        let mut wrong = Vec::new();
        for (name, expected) in [
            ("email", "mail [mira@example.org], <[a.b+c@mail.example.co.uk]>."),
            ("email", "\"[x_1%y@sub-domain.example]\""),
            (
                "email",
                "mailto:[mira@example.org]?subject=x, '[mira@example.org]', “[mira@example.org]”…",
            ),
            (
                "email",
                "?email=[a.b%40example.org]&x=1 email%3D[mira%2Bx%40example.org]%26 %3C[a%40b.example]%3E",
            ),
            ("email", "[mira@example.org]: x, [mira@example.org]:login [müller@exämple.org]。"),
            (
                "email",
                "a@b.c 100%40x deploy@db.example.org:/var/www ssh://mira@example.org:22/x ssh://git@example.org/x",
            ),
            ("email", "git@example.org:project/x icon@2x.png getty@tty1.service a@b @types/x"),
            ("email", "user@localhost pkg@1.2.3 mira@ @example.org"),
            ("phone", "call [+49 30 1234567] or [+1 (212) 555-0123] or [+442071234567]"),
            ("phone", "[(212) 555-0123], [212-555-0123]"),
            ("phone", "phone=[+493012345678]&x tel:[+49-30-1234567] to=[%2B493012345678]&y"),
            ("phone", "to=[%2B49+30+1234567] p=[%2b49%2030%201234567] [+49 30 1234567]"),
            (
                "phone",
                "[+33\u{a0}6\u{202f}12\u{202f}34\u{202f}56\u{202f}78] ([+358 40 1234567]) “[+442071234567]”",
            ),
            ("phone", "1+12345678 a/+4930123456 +0123456789 +4930 100%2B x+4930123456 2+ 555-0123"),
            (
                "phone",
                "2024-01-15 123-456-7890 +12 252.227.7013 252.227-7013 v212-555-0123 2125550123",
            ),
            ("phone", "+12345-03-04"),
            (
                "phone",
                "[+493012345678], [212-555-0123] [+493012345678] x-1 [(212) 555-0123] 1-+442071234567",
            ),
            ("iban", "[DE89370400440532013000] [GB82 WEST 1234 5698 7654 32]"),
            (
                "iban",
                "iban=[DE89370400440532013000]&x [DE89\u{a0}3704\u{a0}0044\u{a0}0532\u{a0}0130\u{a0}00]",
            ),
            ("iban", "DE89370400440532013001 XX89370400440532013000 DE8937040044053201300"),
            ("card", "[4111111111111111] [5555 5555 5555 4444] [3782-822463-10005]"),
            (
                "card",
                "[4111\u{a0}1111\u{a0}1111\u{a0}1111] x=[4111-1111-1111-1111] 12 [4111 1111 1111 1111] 12",
            ),
            (
                "card",
                "0.4111111111111111 4111111111111112 1234567812345670 41111111111111111 0000000000000000",
            ),
            ("ip-address", "from [192.0.2.7] to [2001:db8::7], [10.1.2.3]."),
            (
                "ip-address",
                "[192.0.2.7]:8080 peer:[192.0.2.7] ip=[192.0.2.7]/24 [192.0.2.1]-[192.0.2.9] http://[192.0.2.7]/",
            ),
            (
                "ip-address",
                "[[[2001:db8::7]]]:443 addr:[2001:db8::7] [2001:db8::7]: x [fe80::1]%eth0 [::ffff:192.0.2.7]",
            ),
            (
                "ip-address",
                "x-1.2.3.4 1.2.3.4-beta 01:23:45:67:89:ab:cd:ef aa:bb:cc:dd:ee:ff std::x::y 1:2",
            ),
            (
                "ip-address",
                "99999999999999999999 Add::add dfa::D 127.0.0.1 0.0.0.0 ::1 1.2.3 1.2.3.4.5 256.1.1.1 12:34:56 01.2.3.4",
            ),
            (
                "ip-address",
                "[1::2] [192.0.2.7] [::ffff:192.0.2.7] 1.2.3 [10.1.2.3] 1:2 .1::2 :[192.0.2.7]",
            ),
            ("national-id", "ssn [123-45-6789], cpf [529.982.247-25], dni [12345678Z]"),
            ("national-id", "nir [1 84 12 76 451 089 46] cf [RSSMRA85T10A562S] nie [X1234567L]"),
            ("national-id", "[811228-9874] [131052-308T] [2341 2341 2346] 0.234123412346"),
            (
                "national-id",
                "[131052A308T] [131052Y308T] [010190B900P] [19811228-9874] [198112289874] [811228+9874]",
            ),
            (
                "national-id",
                "131052G308T 331052A308T 131352-308T 18781228-9874 202603041234 x198112289874",
            ),
            ("national-id", "000-45-6789 529.982.247-26 12345678A RSSMRA85T10A562T 811228-9875"),
        ] {
            // Brackets of the text itself are doubled.
            let text =
                expected.replace("[[", "\u{1}").replace("]]", "\u{2}").replace(['[', ']'], "");
            let text = text.replace('\u{1}', "[").replace('\u{2}', "]");
            let found = marked(name, &text);
            let expected = expected.replace("[[", "[").replace("]]", "]");
            if found != expected {
                wrong.push(format!("{name}\n  {found}\n  {expected}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
