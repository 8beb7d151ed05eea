//! Decides which lines are similar, by a key for each line: two lines are similar if their keys are equal.
//!
//! Depending on the rule, matches of patterns are replaced in the key, and times and ids are ignored. These are
//! dates, times of day, durations with a unit, numbers of five or more digits, UUIDs, and other hexadecimal words of
//! eight or more characters with a digit. Other numbers count as text: `user 17` is not similar to `user 18`. In
//! lines about errors or failures, only dates and times of day are ignored, because the ids may matter.
//!
//! Work is linear: each byte is examined a small number of times.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::replace::CompiledReplacement;

/// Replaces a time or an id in a key. It does not occur in UTF-8.
const MARK: u8 = 0xFF;
/// Maximum number of matches of one pattern that are replaced in a line.
const MATCHES: usize = 100;

/// A definition of similar lines.
#[derive(Debug, Default)]
pub(super) struct Similarity {
    /// Replacements in the key, in order.
    pub(super) normalize: Vec<CompiledReplacement>,
    /// Whether times and ids are ignored.
    pub(super) times_and_ids: bool,
}

impl Similarity {
    /// Whether only equal lines are similar.
    pub(super) fn is_equality(&self) -> bool {
        self.normalize.is_empty() && !self.times_and_ids
    }

    /// Appends the key of a line to `key`.
    pub(super) fn key(&self, line: &[u8], key: &mut Vec<u8>) {
        let mut text = std::borrow::Cow::Borrowed(line);
        for CompiledReplacement { pattern, with } in &self.normalize {
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

/// Returns a text with the first [`MATCHES`] matches replaced, or `None` if there are none or the result is too long.
/// Both bounds keep the work linear.
fn replaced(text: &[u8], pattern: &Regex, with: &[u8]) -> Option<Vec<u8>> {
    /// Bytes by which the result may exceed twice the length of the text.
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

/// Words that mark a line about an error or failure.
static GRAVE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = "error|fail|panic|fatal|critical|exception|abort|denied|refused|traceback";
    Regex::new(&format!("(?i-u){words}")).ok()
});

fn is_grave(line: &[u8]) -> bool {
    GRAVE.as_ref().is_none_or(|grave| grave.is_match(line))
}

/// Appends a line to `key`, with a mark in place of each time, and of each id if `ids` is set.
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

/// Length of the letters and digits at the beginning.
fn word(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count()
}

/// Length of the date or time of day at the beginning, or 0. It has groups of at most four digits: at least three
/// groups, or two separated by a colon, with the letters that ISO 8601 has between and after them. It must not follow
/// a colon or a letter: `a.rs:12:34` is a source position.
fn stamp(text: &[u8], before: Option<u8>) -> usize {
    /// A little more than the length of `2026-01-02T03:04:05.123456789+00:00`.
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
        let Some([byte, after @ ..]) = text.get(at..) else { break };
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
        if !after.first().is_some_and(u8::is_ascii_digit) {
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

/// Length of the id or duration at the beginning, or 0.
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
            Some([b'.', after @ ..]) => {
                let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let unit = after.get(digits..).unwrap_or_default();
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

/// Returns the position after the remaining groups of a UUID; its first group ends at `at`.
fn uuid(text: &[u8], mut at: usize) -> usize {
    for _ in 0..4 {
        let Some([b'-', after @ ..]) = text.get(at..) else { break };
        let word = word(after);
        let letters = after.get(..word).unwrap_or_default();
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
