//! Finds secrets in percent-encoded text whose anchor, name or value is encoded in part: `?access%5Ftoken=…`, `%3Ftoken%3D…`,
//! `token=ab%2Fcd`.
//!
//! Most percent-encoded secrets are found as they are spelled (`percent.rs`). The others are decoded around the characters
//! that hide them, which are rare: letters, digits and the signs of words need no encoding. Each place is decoded once.

use memchr::memchr_iter;
use tamis_json::sink::Sink;

use super::before::{Before, REACH};
use super::before_text::Earlier;
use super::decode::{DecodedText, MOST, after_escape};
use super::filter::{Look, SecretFilter};
use super::fingerprints::{BEFORE, Fingerprints};
use super::kinds::{Class, RUN, class, has};
use super::names::may_end_with_name;
use super::percent::Spelling;
use super::rest::{Rest, RestState};
use super::shape::{Match, find_at};
use super::strings::{Around, KEPT};
use super::table::KINDS;

/// The characters of a URL, and those that escape them in JSON.
const URL: Class = RUN | class(b"-&?#:;@!'()*[]\\");
/// The characters that end a value in a query where they are not encoded.
const ENDS: Class = class(b"&#;?");
/// The most characters of a name after an encoded one, and of the signs after it.
const NAME: usize = 40;
/// The bytes before a place that spell the characters that matter.
const PLACES_BEFORE: usize = 9 * REACH;
/// The characters after a place that decide about most of them.
const FEW: usize = 256;
/// The characters after a sign among which the value has an encoded one.
const VALUE: usize = 512;
/// The most quotes and blanks, each percent-encoded, between a name and its sign.
const BETWEEN: usize = 3;

/// Returns whether the sign `%` at a position begins a character that may hide a secret: one of a word, a sign after a name, or
/// another sign `%`.
pub(super) fn may_hide(text: &[u8], at: usize) -> bool {
    let digit = |at: usize| char::from(text.get(at).copied().unwrap_or(0)).to_digit(16);
    let (Some(high), Some(low)) = (digit(at + 1), digit(at + 2)) else { return false };
    match (high << 4 | low) as u8 {
        b'-' | b'.' | b'_' | b'~' => true,
        b'%' => digit(at + 3).is_some() && digit(at + 4).is_some(),
        b'=' | b':' => {
            let mut before = text.get(..at).unwrap_or_default();
            for _ in 0..BETWEEN {
                let [rest @ .., b'%', b'2', b'0' | b'2' | b'7'] = before else { break };
                before = rest;
            }
            may_end_with_name(before)
        }
        byte => byte.is_ascii_alphanumeric(),
    }
}

/// Returns whether a percent-encoded character of a text may hide a secret, or be a part of one.
pub(super) fn hides_any(text: &[u8]) -> bool {
    memchr_iter(b'%', text).any(|at| {
        let digits = text.get(at + 1..at + 3);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

impl SecretFilter {
    /// Returns whether the value after a sign has a percent-encoded character.
    pub(super) fn has_encoded_value(&self, sign: usize) -> bool {
        let rest = self.buffer.get(sign + 1..).unwrap_or_default();
        let is_of_value = |byte: &&u8| has(URL & !ENDS, **byte);
        let len = rest.iter().take(VALUE).take_while(is_of_value).count();
        hides_any(rest.get(..len + 2).unwrap_or(rest))
    }

    /// Decodes the text around a place, and replaces the first secret whose anchor or name is there.
    pub(super) fn look_at_encoded(&mut self, hit: usize, ended: bool, sink: &mut dyn Sink) -> Look {
        if hit < self.floor.max(self.decoded_to) {
            return Look::Nothing;
        }
        let (mut end, mut ended) = (self.buffer.len(), ended);
        if self.is_json() {
            match self.string_around(hit, ended) {
                Around::Open(quote) => return Look::Wait(quote),
                Around::Whole { begin, close, is_key: true } => {
                    return self.look_at_encoded_key([begin, close], sink);
                }
                Around::Whole { close, .. } => (end, ended) = (close, true),
                Around::Long(_) => {}
            }
        }
        let earliest = self.floor.max(hit.saturating_sub(BEFORE));
        let before = self.buffer.get(earliest..hit).unwrap_or_default();
        let begin = hit - before.iter().rev().take_while(|byte| has(URL, **byte)).count();
        let first = begin.max(self.decoded_to);
        let mut from = begin.max(first.saturating_sub(PLACES_BEFORE));
        if self.is_json() {
            from = after_escape(&self.buffer, self.odd, from);
        }
        let mut decoded = DecodedText::default();
        // Most are decided by a few characters.
        for most in [hit - from + FEW, MOST] {
            let shown = self.buffer.get(..end).unwrap_or_default();
            decoded.read_url(self.form, shown, from, most, ended);
            let is_all = !decoded.is_full() || most == MOST;
            let found = self.read_encoded(&decoded, [from, first, hit], ended, is_all, sink);
            return match found {
                None if !is_all => continue,
                None => Look::Nothing,
                // The rest of a short text decides, whatever was compared.
                Some(Look::Wait(_)) if self.buffer.len() - begin <= KEPT => Look::Wait(begin),
                Some(Look::Wait(at)) if at == end => {
                    self.decoded_to = end;
                    Look::Nothing
                }
                Some(look) => look,
            };
        }
        Look::Nothing
    }

    /// Compares a decoded text from `first` on, until a character after `hit` that is in no anchor or name. `None`: nothing
    /// was found, or more has to be decoded, if that is not all.
    fn read_encoded(
        &mut self,
        decoded: &DecodedText,
        [from, first, hit]: [usize; 3],
        ended: bool,
        is_all: bool,
        sink: &mut dyn Sink,
    ) -> Option<Look> {
        let text = decoded.text();
        let is_end = decoded.is_closed() || (ended && !decoded.is_full());
        let mut before = self.before(from);
        for (index, byte) in text.iter().enumerate() {
            let place = decoded.place(index);
            if place > hit + NAME && !Fingerprints::shared().may_be_in_anchor(*byte) {
                self.decoded_to = place;
                return Some(Look::Nothing);
            }
            let find = |is_end| find_at(Earlier::NONE, text, index, before, is_end, self.level);
            let found = if place < first { (Match::No, "") } else { find(is_end) };
            let (found, kind) = match found {
                (Match::More, _) if !is_all => return None,
                // It is longer than what is decoded.
                (Match::More, _) if decoded.is_full() => match find(true) {
                    (Match::Found { from, to }, kind) if to == text.len() => {
                        (Match::Long { from, to, rest: Rest::Class(URL & !ENDS) }, kind)
                    }
                    found => found,
                },
                (Match::More, _) => return Some(Look::Wait(place)),
                found => found,
            };
            let (begin, to, rest) = match found {
                Match::No | Match::More => {
                    before.push(*byte);
                    continue;
                }
                Match::Found { from, to } => {
                    (from, self.value_end(decoded, kind, [from, to]), None)
                }
                Match::Long { from, to, rest: Rest::Class(class) } => {
                    (from, to, Some(Rest::of_class(class, Spelling::Percent)))
                }
                Match::Long { from, to, rest } => (from, to, Some(rest)),
            };
            self.replace(decoded.place(begin), decoded.place(to), kind, sink);
            self.rest = rest.map(RestState::new);
            self.decoded_to = decoded.place(to);
            self.set_floor(self.decoded_to, before.and(text.get(index..to).unwrap_or_default()));
            return Some(Look::Read);
        }
        if !is_all {
            return None;
        }
        let end = decoded.place(text.len());
        if !is_end && !decoded.is_full() {
            return Some(Look::Wait(end));
        }
        self.decoded_to = end;
        None
    }

    /// Returns the end of the value of a name: a sign that is encoded does not end it if the sign before it is not.
    pub(super) fn value_end(
        &self,
        decoded: &DecodedText,
        kind: &str,
        [from, to]: [usize; 2],
    ) -> usize {
        let is_encoded = |index: usize| {
            let place = decoded.place(index);
            decoded.place(index + 1) > place + 1 && self.buffer.get(place) == Some(&b'%')
        };
        let is_named = KINDS.iter().any(|one| one.name == kind && !one.names.is_empty());
        let sign = from.checked_sub(1);
        if !is_named || sign.is_none_or(is_encoded) {
            return to;
        }
        let rest = decoded.text().get(to..).unwrap_or_default();
        let is_of_value = |(index, byte): &(usize, &u8)| {
            is_encoded(to + index) || (has(RUN, **byte) && !has(ENDS, **byte))
        };
        match is_encoded(to) && !rest.is_empty() {
            true => to + rest.iter().enumerate().take_while(is_of_value).count(),
            false => to,
        }
    }

    /// Replaces a key of JSON if it has a secret.
    fn look_at_encoded_key(&mut self, [begin, close]: [usize; 2], sink: &mut dyn Sink) -> Look {
        let mut decoded = DecodedText::default();
        let contents = self.buffer.get(..close).unwrap_or_default();
        decoded.read_url(self.form, contents, begin, MOST, true);
        self.decoded_to = close;
        if begin < self.floor || !self.replace_key(&decoded, begin, close, sink) {
            return Look::Nothing;
        }
        self.set_floor(close + 1, Before::EDGE);
        Look::Read
    }
}

#[cfg(test)]
mod tests {
    use crate::secrets::filter::SecretFilter;
    use crate::secrets::resolve::TextForm;

    fn run(form: TextForm, text: &str, piece: usize) -> String {
        let (mut filter, mut output) = (SecretFilter::new(form), Vec::new());
        text.as_bytes().chunks(piece).for_each(|piece| filter.write(piece, &mut output));
        filter.end(&mut output);
        String::from_utf8(output).unwrap()
    }

    /// Texts, and what leaves of them.
    const CASES: &[(&str, &str)] = &[
        // A value with encoded characters.
        (
            "https://x.io/cb?access_token=R7kQ2mZx9LpV4t%2FWc8NbYs3Hd%3D&x=1",
            "https://x.io/cb?access_token=[redacted:access-token]&x=1",
        ),
        (
            "/cb?access_token=R7kQ2mZx9LpV4tWc8NbYs3Hd%2FWc8NbYs3Hd%3D%26&x=1",
            "/cb?access_token=[redacted:access-token]&x=1",
        ),
        (
            "a=1&aws_secret_access_key=wJalrXUtnFEMI%2FK7MDENG%2FbPxRfiCYzQ3kLm9pRs&x=1",
            "a=1&aws_secret_access_key=[redacted:aws-secret-key]&x=1",
        ),
        // An encoded sign after a name.
        (
            "/r?u=https%3A%2F%2Fy.io%2Fcb%3Faccess_token%3DR7kQ2mZx9LpV4tWc8NbYs3Hd%26a%3D1&b=2",
            "/r?u=https%3A%2F%2Fy.io%2Fcb%3Faccess_token%3D[redacted:access-token]%26a%3D1&b=2",
        ),
        (
            "?q=%7B%22access_token%22%3A%22R7kQ2mZx9LpV4tWc8NbYs3Hd%22%7D",
            "?q=%7B%22access_token%22%3A%22[redacted:access-token]%22%7D",
        ),
        // An encoded name.
        (
            "/cb?access%5Ftoken=R7kQ2mZx9LpV4tWc8NbYs3Hd&x=1",
            "/cb?access%5Ftoken=[redacted:access-token]&x=1",
        ),
        (
            "?%61ccess%5ftoken%3dR7kQ2mZx9LpV4t%2fWc8NbYs3Hd%26a",
            "?%61ccess%5ftoken%3d[redacted:access-token]%26a",
        ),
        // An encoded anchor.
        ("/?key=ghp%5F16C7e42F292c6912E7710c838347Ae178B4a&x", "/?key=[redacted:github-token]&x"),
        ("/?key=g%68p_16C7e42F292c6912E7710c838347Ae178B4a&x", "/?key=[redacted:github-token]&x"),
        ("/?key=AKIA%52QZ3X5J7W2LMN4KP", "/?key=[redacted:aws-access-key]"),
        ("/?key=AK%49ARQZ3X5J7W2LMN4KP", "/?key=[redacted:aws-access-key]"),
        (
            "/?key=xoxb%2D123456789012%2D1234567890123%2DR7kQ2mZx9LpV4tWc8NbYs3Hd.",
            "/?key=[redacted:slack-token].",
        ),
        // More than once.
        (
            "?u=https%253A%252F%252Fy.io%252Fcb%253Faccess_token%253DR7kQ2mZx9LpV4tWc8NbYs3Hd%2526a",
            "?u=https%253A%252F%252Fy.io%252Fcb%253Faccess_token%253D[redacted:access-token]%2526a",
        ),
    ];

    /// Ordinary URLs.
    const OTHERS: &[&str] = &[
        "https://x.io/search?q=access%20token%20of%20a%20user&next_page_token%3DCAUQAA",
        "https://x.io/r?u=https%3A%2F%2Fy.io%2Fpath%2Fto%2Fpage%3Fa%3D1%26b%3Dtwo%2Bthree",
        "https://x.io/%E4%BD%A0%E5%A5%BD/%41%42%43?x=%5Ba%5D&y=100%25",
        "https://x.io/?token%3Dstring&password=%3Cyour-password%3E&secret%3A%20none",
        "https://x.io/?filter%5Bkind%5D=pull%5Frequest%2Dreview&sort=%2Dcreated%5Fat",
        "https://x.io/?client_id%3D1234&redirect_uri=https%3A%2F%2Fapp.x.io%2Foauth%2Fcallback",
    ];

    #[test]
    fn encoded_characters_hide_no_secret() {
        for (text, expected) in CASES {
            for before in ["", "GET ", &"a line of words\n".repeat(1200), &"x%41y".repeat(1500)] {
                let (text, expected) =
                    (format!("{before}{text} end"), format!("{before}{expected} end"));
                let json = |text: &str| {
                    let inner = text.replace('\n', " ");
                    format!(r#"{{"a":"{inner}","b":1}}"#)
                };
                for piece in [usize::MAX, 1, 7] {
                    assert_eq!(run(TextForm::Plain, &text, piece), expected);
                    let (text, expected) = (json(&text), json(&expected));
                    assert_eq!(run(TextForm::Json, &text, piece), expected);
                }
            }
            // Slashes and signs that JSON escapes.
            let escaped =
                |text: &str| format!(r#"["{}"]"#, text.replace('/', r"\/").replace('&', r"\u0026"));
            assert_eq!(run(TextForm::Json, &escaped(text), 7), escaped(expected));
        }
    }

    #[test]
    fn keys_with_encoded_secrets_are_replaced() {
        let text = r#"{"/?key=ghp%5F16C7e42F292c6912E7710c838347Ae178B4a":1,"a":2}"#;
        assert_eq!(run(TextForm::Json, text, 7), r#"{"[redacted:github-token]":1,"a":2}"#);
        let text = r#"{"access_token":"R7kQ2mZx9LpV4t%2FWc8NbYs3Hd%3D"}"#;
        assert_eq!(run(TextForm::Json, text, 7), r#"{"access_token":"[redacted:access-token]"}"#);
    }

    #[test]
    fn ordinary_urls_stay() {
        for text in OTHERS {
            assert_eq!(run(TextForm::Plain, text, 7), *text);
            let json = format!(r#"["{text}"]"#);
            assert_eq!(run(TextForm::Json, &json, 7), json);
        }
    }

    /// Every end of a block, and long tokens.
    #[test]
    fn long_and_cut_texts_hide_no_secret() {
        for count in 16340..16390 {
            let text = format!(
                "{} ?access%5Ftoken=R7kQ2mZx9LpV4tWc8NbYs3Hd&x=1 {}",
                "a".repeat(count),
                "word ".repeat(5000)
            );
            let output = run(TextForm::Plain, &text, usize::MAX);
            assert!(!output.contains("R7kQ2"), "{count}");
        }
        let token = "R7kQ2mZx9LpV4t%2FWc8NbYs3Hd".repeat(2000);
        for text in [format!("?access_token={token}&x=1"), format!("?access%5Ftoken={token}&x=1")] {
            let output = run(TextForm::Plain, &text, 999);
            assert!(output.ends_with("[redacted:access-token]&x=1"), "{}", output.len());
        }
    }
}
