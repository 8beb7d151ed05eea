//! Decides which lines are similar, by a key for each line: two lines are similar if their keys are equal.
//!
//! Depending on the rule, matches of patterns are replaced in the key, and times and ids are ignored. These are
//! dates, times of day, durations with a unit, numbers of five or more digits, UUIDs, and other hexadecimal words of
//! eight or more characters with a digit. Other numbers count as text: `user 17` is not similar to `user 18`. In
//! lines about errors or failures, only dates and times of day are ignored, because the ids may matter.
//!
//! Addresses with ports, versions and sizes are not read as times. A time of day without seconds is one only at the beginning of a
//! line or after a date, and in lines about failures so is every time without a date: `took 12:30` is a duration.
//!
//! The number of folded lines is followed by the time of the last of them, if they have times: ` (x3 alike, last 18:30:00)`.
//!
//! **Order.** Lines about failures are folded only with their neighbours, because their places among the other lines matter. So
//! are lines about a state (`eth0 is up`, `connected`) between which the state has changed or something has failed.
//!
//! Work is linear: each byte is examined a small number of times.

use std::io::Write;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::replace::CompiledReplacement;
use crate::failures::mentions_failure;

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
            normalise(&text, !mentions_failure(line), key);
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

/// How a line may be folded with lines that are not its neighbours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FoldReach {
    /// Wherever they are.
    Anywhere,
    /// As long as the state has not changed. The text is the line without the word for the state.
    SameState(Vec<u8>),
    /// Not at all: the line is about a failure.
    Neighbours,
}

/// Words for states that change back and forth.
static STATES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = "up|down|(?:dis|re)?connect(?:ed|ing|ion)?|lost|restored|recovered|(?:un)?healthy|(?:not ?)?ready|(?:un)?available|online|offline|(?:in)?active|(?:un)?reachable|degraded|started|stopped|paused|resumed|enabled|disabled|leader|follower|primary|standby|locked|unlocked|attached|detached";
    Regex::new(&format!(r"(?i-u:\b(?:{words})\b)")).ok()
});

impl Similarity {
    /// Whether a line is about a failure, if that matters.
    pub(super) fn is_grave(&self, line: &[u8]) -> bool {
        self.times_and_ids && mentions_failure(line)
    }

    /// Returns how far apart lines like this one may be.
    pub(super) fn reach(&self, is_grave: bool, key: &[u8]) -> FoldReach {
        // The order matters in logs. Compilers repeat their messages in a summary.
        if !self.times_and_ids {
            return FoldReach::Anywhere;
        }
        if is_grave {
            return FoldReach::Neighbours;
        }
        match STATES.as_ref().filter(|states| states.is_match(key)) {
            Some(states) => FoldReach::SameState(states.replace_all(key, &b""[..]).into_owned()),
            None => FoldReach::Anywhere,
        }
    }

    /// Returns the first time in a line, if times are ignored. Fractions of seconds and what follows are left out.
    pub(super) fn time<'a>(&self, line: &'a [u8], is_grave: bool) -> Option<&'a [u8]> {
        if !self.times_and_ids {
            return None;
        }
        let mut places = LineParts { line, at: 0, is_grave, ids: false };
        loop {
            match places.next_part()? {
                LinePart::Time { begin, to_seconds } => {
                    return line.get(begin..begin + to_seconds);
                }
                LinePart::Id | LinePart::Text(_) => {}
            }
        }
    }
}

/// Adds what follows a line that stands for `count` lines. `first` and `last` are the times of the first and last of them.
pub(super) fn add_fold_mark(
    line: &mut Vec<u8>,
    count: u64,
    equal: bool,
    first: Option<&[u8]>,
    last: Option<&[u8]>,
) {
    // Writing to memory does not fail.
    _ = write!(line, " (x{count}");
    if !equal {
        line.extend_from_slice(b" alike");
    }
    if let (false, Some(first), Some(last)) = (equal, first, last)
        && first != last
    {
        // The date is left out if it is the same.
        let day = |time: &[u8]| time.iter().rposition(|byte| matches!(byte, b'T' | b't' | b' '));
        let last = match (day(first), day(last)) {
            (Some(one), Some(other)) if first.get(..one) == last.get(..other) => {
                last.get(other + 1..).unwrap_or_default()
            }
            _ => last,
        };
        line.extend_from_slice(b", last ");
        line.extend_from_slice(last);
    }
    line.push(b')');
}

/// Bytes of that text without the digits of the number and the time.
pub(super) const FOLD_MARK: usize = 18;

/// A part of a line.
enum LinePart {
    /// A date, a time of day or both: where it begins, and its length without fractions of seconds.
    Time {
        begin: usize,
        to_seconds: usize,
    },
    Id,
    /// Bytes that are compared.
    Text(std::ops::Range<usize>),
}

/// Divides a line into times, ids and text.
struct LineParts<'a> {
    line: &'a [u8],
    at: usize,
    is_grave: bool,
    ids: bool,
}

impl LineParts<'_> {
    fn next_part(&mut self) -> Option<LinePart> {
        let Self { line, at, is_grave, ids } = self;
        let begin = *at;
        let byte = line.get(begin)?;
        if !byte.is_ascii_alphanumeric() {
            *at += 1;
            return Some(LinePart::Text(begin..begin + 1));
        }
        let rest = line.get(begin..).unwrap_or_default();
        let before = line.get(..begin).unwrap_or_default();
        let found = if byte.is_ascii_digit() { time(rest, before, *is_grave) } else { None };
        if let Some(TimeLength { length, to_seconds }) = found {
            *at += length;
            return Some(LinePart::Time { begin, to_seconds });
        }
        let id = if *ids { id(rest) } else { 0 };
        if id > 0 {
            *at += id;
            return Some(LinePart::Id);
        }
        *at += word(rest).max(1);
        Some(LinePart::Text(begin..*at))
    }
}

/// Appends a line to `key`, with a mark in place of each time, and of each id if `ids` is set.
fn normalise(line: &[u8], ids: bool, key: &mut Vec<u8>) {
    let mut parts = LineParts { line, at: 0, is_grave: !ids, ids };
    while let Some(part) = parts.next_part() {
        match part {
            LinePart::Time { .. } | LinePart::Id => key.push(MARK),
            LinePart::Text(range) => key.extend_from_slice(line.get(range).unwrap_or_default()),
        }
    }
}

/// Length of the letters and digits at the beginning.
fn word(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count()
}

/// The length of a time, and its length without fractions of seconds and a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TimeLength {
    length: usize,
    to_seconds: usize,
}

/// Reads the date, time of day or both at the beginning of a text. `before` is the line before it.
///
/// ```text
/// 2026-01-02T03:04:05.678+01:00   2026/01/02 03:04   02.01.2026 03:04:05,678   10-30 16:54:08   12:00:01   2026-01-02
/// ```
fn time(text: &[u8], before: &[u8], is_grave: bool) -> Option<TimeLength> {
    let opens = |byte: u8| byte.is_ascii_whitespace() || b"[(<\"'=|,".contains(&byte);
    // It must not follow a colon or a letter: `a.rs:12:34` is a source position, and `10.0.0.1:80` an address.
    if before.last().is_some_and(|byte| !opens(*byte)) {
        return None;
    }
    let date = date(text);
    let after = |at: usize| text.get(at..).unwrap_or_default();
    let separator = |at: usize| after(at).first().is_some_and(|byte| b"Tt _".contains(byte));
    let is_short = matches!(date, Some((_, false)));
    let found = match date {
        Some((at, _)) if separator(at) => match time_of_day(after(at + 1)) {
            Some((seconds, length, _)) => {
                Some(TimeLength { length: at + 1 + length, to_seconds: at + 1 + seconds })
            }
            None if is_short => None,
            None => Some(TimeLength { length: at, to_seconds: at }),
        },
        Some((at, true)) => Some(TimeLength { length: at, to_seconds: at }),
        _ => None,
    };
    let has_time = |found: &TimeLength| found.length > date.map_or(0, |(at, _)| at);
    // The beginning of a line: no word before it but the name of a month, a name before a bar, or a key.
    let letters = before.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let is_key = matches!(before.last(), Some(b'=' | b'"' | b'|')) || before.ends_with(b"| ");
    let leads = letters == 0 || letters == 3 && before.len() <= 8 || is_key;
    let found = match found {
        Some(found) if is_grave && !leads && !has_time(&found) => None,
        Some(found) => Some(found),
        None => time_of_day(text)
            .filter(|(_, _, has_seconds)| leads || *has_seconds && !is_grave)
            .map(|(to_seconds, length, _)| TimeLength { length, to_seconds }),
    }?;
    let goes_on = match after(found.length) {
        [b':', next, ..] => next.is_ascii_digit(),
        [next, ..] => next.is_ascii_alphanumeric(),
        [] => false,
    };
    (!goes_on).then_some(found)
}

/// Reads digits: their value and their number.
fn number(text: &[u8]) -> (u32, usize) {
    let digits = text.iter().take(5).take_while(|byte| byte.is_ascii_digit());
    digits.fold((0, 0), |(value, count), digit| (value * 10 + u32::from(digit - b'0'), count + 1))
}

/// Length of the date at the beginning, and whether it has a year.
fn date(text: &[u8]) -> Option<(usize, bool)> {
    let is_day = |day| (1..=31).contains(&day);
    let is_year = |year| (1970..2100).contains(&year);
    let (first, one) = number(text);
    let separator = *text.get(one).filter(|byte| b"-/.".contains(byte))?;
    let (second, two) = number(text.get(one + 1..)?);
    let at = one + 1 + two;
    if !(1..=2).contains(&two) || !is_day(second) {
        return None;
    }
    let third = text.get(at).filter(|byte| **byte == separator).map(|_| {
        let (third, three) = number(text.get(at + 1..).unwrap_or_default());
        (third, three, at + 1 + three)
    });
    match third {
        Some((day, 1..=2, end)) if one == 4 && is_year(first) && is_day(day) => Some((end, true)),
        Some((year, 4, end)) if one <= 2 && is_day(first) && is_year(year) => Some((end, true)),
        None if one == 2 && two == 2 && is_day(first) => Some((at, false)),
        _ => None,
    }
}

/// Reads a time of day: its length without fractions, its length, and whether it has seconds.
fn time_of_day(text: &[u8]) -> Option<(usize, usize, bool)> {
    let two = |at: usize| -> Option<u32> {
        match number(text.get(at..)?) {
            (value, 2) => Some(value),
            _ => None,
        }
    };
    let (hour, digits) = number(text);
    if !(1..=2).contains(&digits) || hour > 24 || text.get(digits) != Some(&b':') {
        return None;
    }
    two(digits + 1).filter(|minute| *minute < 60)?;
    let minutes = digits + 3;
    if text.get(minutes) != Some(&b':') {
        return Some((minutes, minutes, false));
    }
    two(minutes + 1).filter(|second| *second <= 60)?;
    let seconds = minutes + 3;
    let mut end = seconds;
    if let Some([b'.' | b',', fraction @ ..]) = text.get(seconds..) {
        let digits = fraction.iter().take(9).take_while(|byte| byte.is_ascii_digit()).count();
        end += if digits > 0 { 1 + digits } else { 0 };
    }
    match text.get(end..) {
        Some([b'Z', ..]) => end += 1,
        Some([b'+' | b'-', zone @ ..]) => {
            let zone =
                zone.iter().take(5).take_while(|byte| byte.is_ascii_digit() || **byte == b':');
            let digits = zone.count();
            end += if digits >= 2 { 1 + digits } else { 0 };
        }
        _ => {}
    }
    Some((seconds, end, true))
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
    use super::{mentions_failure, normalise};

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
            ("connect 223.167.104.147:80 ok", "connect 223.167.104.147:80 ok"),
            ("connect 223.167.104.147:80 error : x", "connect 223.167.104.147:80 error : x"),
            ("[10.30 16:54:08] a.exe - 1.2.3.4:80 error : x", "[#] a.exe - 1.2.3.4:80 error : x"),
            ("error: request took 12:30", "error: request took 12:30"),
            ("error: request took 00:12:30", "error: request took 00:12:30"),
            ("request took 12:30 of 13:00", "request took 12:30 of 13:00"),
            ("started at 12:00:05", "started at #"),
            ("error at 2026-01-02 12:00:05: x", "error at #: x"),
            ("error: expired on 2026-01-02", "error: expired on 2026-01-02"),
            ("size 10:20 version 1.2.3-4", "size 10:20 version 1.2.3-4"),
            ("Nov  3 10:00:01 host sshd: failed", "Nov  3 # host sshd: failed"),
            ("03.11.2025 10:00:01,5 x", "# x"),
            ("web-1  | 2025-11-03T10:00:01Z error x", "web-1  | # error x"),
            ("time=\"2025-11-03T10:00:01Z\" level=error", "time=\"#\" level=error"),
        ] {
            let mut key = Vec::new();
            normalise(line.as_bytes(), !mentions_failure(line.as_bytes()), &mut key);
            let expected: Vec<u8> =
                expected.bytes().map(|byte| if byte == b'#' { 0xFF } else { byte }).collect();
            assert_eq!(key, expected, "{line}: {}", key.escape_ascii());
        }
    }
}
