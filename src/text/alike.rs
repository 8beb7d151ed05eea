//! Lines in a row become one that differ in times and ids alone: `12:00:01 retrying (x3 alike)`; the first of them stays.
//!
//! In lines that speak of errors, failures and the like only dates and times of day: their ids may be what is looked for.
//!
//! Times and ids: dates, times of day, durations with a unit, numbers of five digits and more, UUIDs and other hexadecimal
//! words of eight characters and more with a digit. Other numbers count as text: `user 17` is not `user 18`. Holds one line,
//! and one more as it is compared. Linear: each byte is looked at a few times.

use std::io::Write;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::lines::{End, Line};
use super::stage::{LineStage, Next, Tally};

/// What stands for a time or an id in what is compared: no text has it.
const MARK: u8 = 0xFF;
/// No number of lines takes more bytes to be told than this.
const NUMBER: u64 = 40;

#[derive(Debug, Default)]
pub(super) struct Alike {
    held: Vec<u8>,
    key: Vec<u8>,
    other: Vec<u8>,
    /// How often the line came; how many bytes the others had.
    count: u64,
    others: u64,
    ends: End,
    end: End,
    /// All of them are the same.
    equal: bool,
    /// The others, while it is not certain that one line is shorter than they are.
    short: Vec<Vec<u8>>,
    tally: Tally,
}

impl LineStage for Alike {
    fn line(&mut self, line: Line<'_>, next: Next<'_>) {
        self.other.clear();
        normalise(line.text, !is_grave(line.text), &mut self.other);
        let same_end = line.end == self.ends || line.end == End::Missing;
        if self.count > 0 && same_end && self.key == self.other {
            if self.others <= NUMBER {
                self.short.push(line.text.to_vec());
            }
            self.count += 1;
            self.others += (line.text.len() + self.ends.bytes().len()) as u64;
            self.equal &= self.held == line.text;
            self.end = line.end;
            return;
        }
        self.flush(next);
        std::mem::swap(&mut self.key, &mut self.other);
        self.held.extend_from_slice(line.text);
        (self.count, self.others, self.equal) = (1, 0, true);
        (self.end, self.ends) = (line.end, line.end);
    }

    fn flush(&mut self, next: Next<'_>) {
        let Self { held, short, count, ends, end, tally, others, .. } = self;
        let line = held.len();
        if *count > 1 {
            let word = if self.equal { "" } else { " alike" };
            // Writing to memory does not fail.
            _ = write!(held, " (x{count}{word})");
        }
        let number = (held.len() - line) as u64;
        if *count > 1 && number < *others {
            tally.folded += *count - 1;
            next(Line { text: held, end: *end });
        } else if *count > 0 {
            held.truncate(line);
            let last = if *count > 1 { *ends } else { *end };
            next(Line { text: held, end: last });
            for (place, text) in short.iter().enumerate() {
                let end = if place + 1 == short.len() { *end } else { *ends };
                next(Line { text, end });
            }
        }
        held.clear();
        short.clear();
        self.count = 0;
    }

    fn tally(&self) -> Tally {
        self.tally
    }
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
