//! Which lines are alike: what they are compared by. Times and ids are left out of it where that is asked for, and what patterns
//! match is replaced.
//!
//! In lines that speak of errors, failures and the like only dates and times of day are left out: their ids may be what is
//! looked for.
//!
//! Times and ids: dates, times of day, durations with a unit, numbers of five digits and more, UUIDs and other hexadecimal
//! words of eight characters and more with a digit. Other numbers count as text: `user 17` is not `user 18`. Linear: each
//! byte is looked at a few times.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::replace::Replacement;

/// What stands for a time or an id in what is compared: no text has it.
const MARK: u8 = 0xFF;
/// Matches of one pattern in a line that are replaced in what is compared.
const MATCHES: usize = 100;

/// Which lines are like one another.
#[derive(Debug, Default)]
pub(super) struct Likeness {
    /// What is replaced in what is compared, in this order.
    pub(super) normalize: Vec<Replacement>,
    /// Times and ids do not count.
    pub(super) times_and_ids: bool,
}

impl Likeness {
    /// Whether lines have to be equal.
    pub(super) fn is_equality(&self) -> bool {
        self.normalize.is_empty() && !self.times_and_ids
    }

    /// Appends what a line is compared by.
    pub(super) fn key(&self, line: &[u8], key: &mut Vec<u8>) {
        let mut text = std::borrow::Cow::Borrowed(line);
        for Replacement { pattern, with } in &self.normalize {
            if let Some(other) = replaced(&text, pattern, with) {
                text = other.into();
            }
        }
        if self.times_and_ids {
            normalise(&text, !is_grave(line), key);
        } else {
            key.extend_from_slice(&text);
        }
    }
}

/// A text with its first matches replaced, if there are any; a bounded number, so that the work is linear in the text, and to a
/// bounded length.
fn replaced(text: &[u8], pattern: &Regex, with: &[u8]) -> Option<Vec<u8>> {
    /// Bytes by which a text may grow, and as often as it is long.
    const GROWTH: usize = 4096;
    if !pattern.is_match(text) {
        return None;
    }
    let mut out = Vec::new();
    let mut done = 0;
    for groups in pattern.captures_iter(text).take(MATCHES) {
        let all = groups.get(0)?;
        out.extend_from_slice(text.get(done..all.start()).unwrap_or_default());
        groups.expand(with, &mut out);
        done = all.end();
        if out.len() > 2 * text.len() + GROWTH {
            return None;
        }
    }
    out.extend_from_slice(text.get(done..).unwrap_or_default());
    Some(out)
}

/// What nobody wants to miss a number of.
static GRAVE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = "error|fail|panic|fatal|critical|exception|abort|denied|refused|traceback";
    Regex::new(&format!("(?i-u){words}")).ok()
});

fn is_grave(line: &[u8]) -> bool {
    GRAVE.as_ref().is_none_or(|grave| grave.is_match(line))
}

/// Appends the line to `key` with a mark for each time, and each id if they are wanted.
fn normalise(line: &[u8], ids: bool, key: &mut Vec<u8>) {
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        if !byte.is_ascii_alphanumeric() {
            key.push(*byte);
            at += 1;
            continue;
        }
        let rest = line.get(at..).unwrap_or_default();
        let before = at.checked_sub(1).and_then(|before| line.get(before));
        let length = match stamp(rest, before.copied()) {
            0 if ids => id(rest),
            length => length,
        };
        if length > 0 {
            key.push(MARK);
            at += length;
            continue;
        }
        let word = word(rest);
        key.extend_from_slice(rest.get(..word).unwrap_or_default());
        at += word.max(1);
    }
}

/// Letters and digits at the beginning.
fn word(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count()
}

/// How long a date or a time of day is that begins here: digits in groups of at most four, three groups at least or two
/// with a colon between them, and the letters that ISO 8601 has in between and behind. Behind a colon or a letter there is
/// none: `a.rs:12:34` is a place.
fn stamp(text: &[u8], before: Option<u8>) -> usize {
    /// Bytes of `2026-01-02T03:04:05.123456789+00:00`, and some.
    const LONGEST: usize = 40;
    let opens = |byte: u8| byte.is_ascii_whitespace() || b"[(<\"'=|,".contains(&byte);
    if before.is_some_and(|byte| !opens(byte)) {
        return 0;
    }
    let (mut at, mut groups, mut colons, mut dashes, mut end) = (0, 0, 0, 0, 0);
    let mut separator = 0;
    while at < LONGEST {
        let rest = text.get(at..).unwrap_or_default();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let most = if groups == 0 { 4 } else { 9 };
        if digits == 0 || digits > most || (separator == b':' && digits != 2) {
            return 0;
        }
        groups += 1;
        at += digits;
        end = at;
        let Some([byte, behind @ ..]) = text.get(at..) else { break };
        separator = *byte;
        match separator {
            b':' => colons += 1,
            b'-' | b'/' => dashes += 1,
            b'T' | b't' | b'.' | b',' | b'+' => {}
            b' ' if dashes == 2 && colons == 0 => {}
            b'Z' => {
                end += 1;
                break;
            }
            _ => break,
        }
        if !behind.first().is_some_and(u8::is_ascii_digit) {
            if separator == b':' {
                colons -= 1;
            }
            break;
        }
        at += 1;
    }
    let is_stamp = colons >= 1 && groups >= 2 || dashes >= 2 && groups >= 3;
    let ends_word = !text.get(end).is_some_and(u8::is_ascii_alphanumeric);
    if is_stamp && ends_word { end } else { 0 }
}

/// How long an id or a duration is that begins here.
fn id(text: &[u8]) -> usize {
    let word = word(text);
    let letters = text.get(..word).unwrap_or_default();
    let digits = letters.iter().filter(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return 0;
    }
    let hex = letters.iter().all(u8::is_ascii_hexdigit);
    if digits == word {
        // A number, or a duration such as `1.50s`.
        let fraction = match text.get(word..) {
            Some([b'.', behind @ ..]) => {
                let digits = behind.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let unit = behind.get(digits..).unwrap_or_default();
                let unit = unit.get(..self::word(unit)).unwrap_or_default();
                if digits > 0 && is_unit(unit) { 1 + digits + unit.len() } else { 0 }
            }
            _ => 0,
        };
        if fraction > 0 {
            return word + fraction;
        }
        return if word >= 5 { word } else { 0 };
    }
    let number = letters.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if number > 0 && letters.get(number..).is_some_and(is_unit) {
        return word;
    }
    if hex && word >= 8 { uuid(text, word) } else { 0 }
}

fn is_unit(letters: &[u8]) -> bool {
    matches!(letters, b"ns" | b"us" | b"ms" | b"s")
}

/// The groups of a UUID behind its first.
fn uuid(text: &[u8], mut at: usize) -> usize {
    for _ in 0..4 {
        let Some([b'-', behind @ ..]) = text.get(at..) else { break };
        let word = word(behind);
        let letters = behind.get(..word).unwrap_or_default();
        if word < 4 || !letters.iter().all(u8::is_ascii_hexdigit) {
            break;
        }
        at += 1 + word;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::normalise;

    #[test]
    fn times_and_ids_are_marked() {
        for (line, expected) in [
            ("2026-01-02T03:04:05.678Z started", "# started"),
            ("2026-01-02 03:04:05,678 INFO x", "# INFO x"),
            ("12:00:01 a", "# a"),
            ("[12:00] a", "[#] a"),
            ("took 15ms, then 1.50s", "took #, then #"),
            ("user 17 of 18", "user 17 of 18"),
            ("request 123456", "request #"),
            ("id 550e8400-e29b-41d4-a716-446655440000.", "id #."),
            ("commit deadbeef1 and deadbeef", "commit # and deadbeef"),
            ("10.0.0.1 v1.2.3", "10.0.0.1 v1.2.3"),
            ("a.rs:12:5: x", "a.rs:12:5: x"),
            ("a.rs:12:34: x", "a.rs:12:34: x"),
            ("12:345 x", "12:345 x"),
            ("12:00:01 ERROR in request 123456", "# ERROR in request 123456"),
            ("12:00:01 it Failed after 15ms", "# it Failed after 15ms"),
            ("x9: 3", "x9: 3"),
            ("12: 3", "12: 3"),
        ] {
            let mut key = Vec::new();
            normalise(line.as_bytes(), !super::is_grave(line.as_bytes()), &mut key);
            let expected: Vec<u8> =
                expected.bytes().map(|byte| if byte == b'#' { 0xFF } else { byte }).collect();
            assert_eq!(key, expected, "{line}: {}", key.escape_ascii());
        }
    }
}
