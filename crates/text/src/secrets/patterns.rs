//! Replaces what the patterns of a user match.
//!
//! Patterns have no beginning that could be searched for, so each string, key and number is matched. In text, each line is.
//! The rest is copied. A piece of a string or line is matched with what follows it:
//!
//! ```text
//! string     "........................................"
//! decoded     |------------ PIECE ------------|
//!             |-- matches begin here --|- AHEAD -|      the next piece begins at the end of the last match, or here
//! ```
//!
//! A match of a number is a match of the whole number, because the result must be JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use memchr::memchr;
use tamis_json::sink::Sink;

use super::decode::Utf8Text;
use super::keys::KeyNames;
use super::marks::MarkTable;
use super::resolve::TextForm;
use super::strings::close_quote;

/// A pattern with the name of its kind.
#[derive(Debug)]
pub struct Pattern {
    /// The name of its kind, which the marks have.
    pub name: String,
    /// The compiled pattern.
    pub expression: Box<dyn Expression>,
    /// Whether marks may have the number of the value (`MarkTable`).
    pub is_numbered: bool,
}

/// A compiled regular expression: the search for secrets needs no engine for those if the user has no patterns.
pub trait Expression: fmt::Debug + Send + Sync {
    /// Returns where the first match at or after a position begins and ends.
    fn find_at(&self, text: &[u8], at: usize) -> Option<(usize, usize)>;

    /// Returns whether a text that is spelled like this may have a match. JSON has escapes there.
    fn may_match(&self, _spelled: &[u8]) -> bool {
        true
    }
}

#[cfg(any(feature = "filters", test))]
impl Expression for regex::bytes::Regex {
    fn find_at(&self, text: &[u8], at: usize) -> Option<(usize, usize)> {
        Self::find_at(self, text, at).map(|found| (found.start(), found.end()))
    }
}

/// The number of bytes after which the buffer is examined.
const BLOCK: usize = 16 << 10;
/// The most bytes of text that are matched at once.
const PIECE: usize = 8192;
/// The bytes of a piece in which no match begins, because more text could change it.
const AHEAD: usize = 4096;
/// The most digits and signs of a number that is matched.
const LONGEST_NUMBER: usize = 32;
/// The most white space between a key and its colon.
const BLANKS: usize = 4096;

/// Replaces what patterns match in one text after the other.
#[derive(Debug)]
pub(super) struct PatternFilter {
    form: TextForm,
    patterns: Arc<[Pattern]>,
    /// The numbers of values. `None`: marks have none.
    marks: Option<MarkTable>,
    /// Input that is not examined.
    buffer: Vec<u8>,
    /// The number of bytes of the text.
    total: u64,
    /// The position in the buffer up to which the text was examined and written.
    done: usize,
    place: Place,
    /// Inside a string or a line: the character before.
    before: Vec<u8>,
    keys: KeyNames<usize>,
    decoded: Utf8Text,
    found: BTreeMap<String, u64>,
}

/// The state at the position up to which the text was examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In JSON: outside strings. In text: the beginning of a line.
    Begin,
    /// Inside a string or a line that is longer than a piece. A match of this pattern came directly before.
    Inside(Option<usize>),
    /// Inside a number that is too long.
    Number,
}

/// The result of examining one string, number or line.
enum Step {
    /// It was written.
    Done,
    /// More input is needed.
    Wait,
}

impl PatternFilter {
    pub(super) fn new(form: TextForm, patterns: Arc<[Pattern]>) -> Self {
        Self {
            form,
            patterns,
            marks: None,
            buffer: Vec::new(),
            total: 0,
            done: 0,
            place: Place::Begin,
            before: Vec::new(),
            keys: KeyNames::default(),
            decoded: Utf8Text::default(),
            found: BTreeMap::new(),
        }
    }

    /// Sets the table with the numbers of values.
    pub(super) fn set_marks(&mut self, marks: Option<MarkTable>) {
        self.marks = marks;
    }

    pub(super) fn found(&self) -> &BTreeMap<String, u64> {
        &self.found
    }

    pub(super) fn write(&mut self, mut bytes: &[u8], sink: &mut dyn Sink) {
        while !bytes.is_empty() {
            let room = BLOCK - (self.total % BLOCK as u64) as usize;
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.buffer.extend_from_slice(now);
            self.total += now.len() as u64;
            if now.len() == room {
                self.examine(false, sink);
            }
            bytes = later;
        }
    }

    /// Writes all complete lines: no input has arrived for a while.
    pub(super) fn release(&mut self, sink: &mut dyn Sink) {
        self.examine(false, sink);
    }

    pub(super) fn end(&mut self, sink: &mut dyn Sink) {
        self.examine(true, sink);
        self.restart();
    }

    pub(super) fn restart(&mut self) {
        self.buffer.clear();
        self.before.clear();
        (self.total, self.done, self.place) = (0, 0, Place::Begin);
        self.keys = KeyNames::default();
    }

    fn examine(&mut self, ended: bool, sink: &mut dyn Sink) {
        while self.done < self.buffer.len() {
            let step = match (self.form, self.place) {
                (_, Place::Number) => self.skip_number(sink),
                (TextForm::Json, Place::Begin) => self.begin_in_json(ended, sink),
                _ => self.read_piece(ended, sink),
            };
            if matches!(step, Step::Wait) {
                break;
            }
        }
        if self.keys.is_active() {
            self.keys.read_to(&self.buffer, self.done);
            self.keys.forget(self.done);
        }
        self.buffer.drain(..self.done);
        self.done = 0;
    }

    /// Copies up to the next string or number in JSON.
    fn begin_in_json(&mut self, ended: bool, sink: &mut dyn Sink) -> Step {
        let rest = self.buffer.get(self.done..).unwrap_or_default();
        let next = rest.iter().position(|byte| matches!(byte, b'"' | b'-' | b'0'..=b'9'));
        let before = next.unwrap_or(rest.len());
        sink.write(rest.get(..before).unwrap_or_default());
        self.done += before;
        match rest.get(before) {
            None => Step::Done,
            Some(b'"') => self.read_string(ended, sink),
            Some(_) => self.read_number(ended, sink),
        }
    }

    /// Reads a number at the position.
    fn read_number(&mut self, ended: bool, sink: &mut dyn Sink) -> Step {
        let rest = self.buffer.get(self.done..).unwrap_or_default();
        let len = rest.iter().take_while(|byte| is_of_number(**byte)).count();
        if len > LONGEST_NUMBER {
            self.place = Place::Number;
            return Step::Done;
        }
        if len == rest.len() && !ended {
            return Step::Wait;
        }
        let number = rest.get(..len).unwrap_or_default().to_owned();
        let mut patterns = self.patterns.iter().map(|pattern| &pattern.expression);
        match patterns.position(|one| one.may_match(&number) && one.find_at(&number, 0).is_some()) {
            None => sink.write(&number),
            Some(index) => {
                sink.write(b"\"");
                self.write_mark(index, 1, &number, sink);
                sink.write(b"\"");
            }
        }
        self.done += len;
        Step::Done
    }

    /// Copies the rest of a number that is too long.
    fn skip_number(&mut self, sink: &mut dyn Sink) -> Step {
        let rest = self.buffer.get(self.done..).unwrap_or_default();
        let len = rest.iter().take_while(|byte| is_of_number(**byte)).count();
        sink.write(rest.get(..len).unwrap_or_default());
        if len < rest.len() {
            self.place = Place::Begin;
        }
        self.done += len;
        Step::Done
    }

    /// Reads a string of JSON at its opening quote: as a whole if it is short, because it may be a key.
    fn read_string(&mut self, ended: bool, sink: &mut dyn Sink) -> Step {
        let begin = self.done + 1;
        let end = self.buffer.len().min(begin + PIECE);
        if let Some(close) = close_quote(&self.buffer, begin, end)
            && !self.may_match(begin, close)
        {
            self.write_to(close + 1, sink);
            return Step::Done;
        }
        self.decoded.read_string(b"", &self.buffer, begin, PIECE);
        if !self.decoded.is_closed() {
            if !ended && !self.decoded.is_full() {
                return Step::Wait;
            }
            sink.write(b"\"");
            (self.done, self.place) = (begin, Place::Inside(None));
            return Step::Done;
        }
        let close = self.decoded.place(self.decoded.text().len());
        let first = Matches::new(&self.patterns, self.decoded.text()).next(self.decoded.text(), 0);
        let Some((index, from, to)) = first else {
            sink.write(self.buffer.get(self.done..=close).unwrap_or_default());
            self.done = close + 1;
            return Step::Done;
        };
        let after = self.buffer.get(close + 1..).unwrap_or_default();
        let next = after.iter().take(BLANKS).find(|byte| !byte.is_ascii_whitespace());
        if next.is_none() && !ended && after.len() < BLANKS {
            return Step::Wait;
        }
        sink.write(b"\"");
        if next == Some(&b':') {
            let number = self.keys.number(index, &self.buffer, begin);
            // A key that has more than the value is another name.
            let text = self.decoded.text();
            let value = text.get(from..to).filter(|value| value.len() == text.len());
            let value = value.unwrap_or_default().to_owned();
            self.write_mark(index, number, &value, sink);
            sink.write(b"\"");
            self.done = close + 1;
        } else {
            (self.done, self.place) = (begin, Place::Inside(None));
        }
        Step::Done
    }

    /// Returns whether a pattern may match in a part of the buffer, which is false for most.
    fn may_match(&self, from: usize, to: usize) -> bool {
        let spelled = self.buffer.get(from..to).unwrap_or_default();
        self.patterns.iter().any(|pattern| pattern.expression.may_match(spelled))
    }

    /// Reads a piece of a string or of a line.
    fn read_piece(&mut self, ended: bool, sink: &mut dyn Sink) -> Step {
        if self.place == Place::Begin
            && let rest = self.buffer.get(self.done..).unwrap_or_default()
            && let Some(len) = memchr(b'\n', rest.get(..PIECE).unwrap_or(rest))
            && !self.may_match(self.done, self.done + len)
        {
            self.write_to(self.done + len + 1, sink);
            return Step::Done;
        }
        let mut decoded = std::mem::take(&mut self.decoded);
        match self.form {
            TextForm::Json => decoded.read_string(&self.before, &self.buffer, self.done, PIECE),
            TextForm::Plain => decoded.read_line(&self.before, &self.buffer, self.done, PIECE),
        }
        let step = self.read_decoded(&decoded, ended, sink);
        self.decoded = decoded;
        step
    }

    fn read_decoded(&mut self, decoded: &Utf8Text, ended: bool, sink: &mut dyn Sink) -> Step {
        let is_last = decoded.is_closed() || (ended && !decoded.is_full());
        if !is_last && !decoded.is_full() {
            return Step::Wait;
        }
        let text = decoded.text();
        let last = if is_last { text.len() } else { text.len().saturating_sub(AHEAD) };
        let (mut at, patterns) = (self.before.len(), Arc::clone(&self.patterns));
        let mut matches = Matches::new(&patterns, text);
        let mut directly = match self.place {
            Place::Inside(pattern) => pattern,
            _ => None,
        };
        while let Some((index, from, to)) = matches.next(text, at) {
            if from >= last {
                break;
            }
            self.write_to(decoded.place(from), sink);
            // The rest of a match that is longer than a piece has no mark of its own.
            if !(directly == Some(index) && from == at) {
                self.write_mark(index, 1, text.get(from..to).unwrap_or_default(), sink);
            }
            self.done = decoded.place(to);
            directly = (to == text.len()).then_some(index);
            at = to;
        }
        if at < last {
            (at, directly) = (last, None);
            self.write_to(decoded.place(last), sink);
        }
        self.place = Place::Inside(directly);
        self.before.clear();
        if is_last {
            self.write_to(decoded.place(at) + usize::from(decoded.is_closed()), sink);
            self.place = Place::Begin;
        } else {
            self.before.extend_from_slice(last_character(text.get(..at).unwrap_or_default()));
        }
        Step::Done
    }

    fn write_to(&mut self, to: usize, sink: &mut dyn Sink) {
        sink.write(self.buffer.get(self.done..to).unwrap_or_default());
        self.done = self.done.max(to);
    }

    /// Writes the mark of a value. `number`: that of a key in its object. An empty value has no number of its own.
    fn write_mark(&mut self, index: usize, number: u32, value: &[u8], sink: &mut dyn Sink) {
        let Some(pattern) = self.patterns.get(index) else { return };
        let name = &pattern.name;
        let marks = self.marks.as_ref().filter(|_| pattern.is_numbered && !value.is_empty());
        let mark = match (marks.and_then(|marks| marks.mark(name, value)), number) {
            (Some(mark), _) => mark,
            (None, 1) => format!("[redacted:{name}]"),
            (None, _) => format!("[redacted:{name} {number}]"),
        };
        sink.write(mark.as_bytes());
        match self.found.get_mut(name) {
            Some(count) => *count += 1,
            None => {
                self.found.insert(name.clone(), 1);
            }
        }
    }
}

/// Returns whether a byte may be part of a number in JSON.
fn is_of_number(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')
}

/// Returns the bytes of the last character of UTF-8.
fn last_character(text: &[u8]) -> &[u8] {
    let is_rest = |byte: &&u8| **byte & 0xC0 == 0x80;
    let rest = text.iter().rev().take(3).take_while(is_rest).count();
    text.get(text.len().saturating_sub(rest + 1)..).unwrap_or_default()
}

/// The matches of all patterns in one text, in order. A pattern is only searched again after its last match was passed.
struct Matches<'a> {
    patterns: &'a [Pattern],
    /// For each pattern, the next match, if it was searched.
    next: Vec<Option<Option<(usize, usize)>>>,
}

impl<'a> Matches<'a> {
    fn new(patterns: &'a [Pattern], text: &[u8]) -> Self {
        let next = |pattern: &Pattern| (!pattern.expression.may_match(text)).then_some(None);
        Self { patterns, next: patterns.iter().map(next).collect() }
    }

    /// Returns the first match at or after a position that is not empty: its pattern, and where it begins and ends.
    fn next(&mut self, text: &[u8], at: usize) -> Option<(usize, usize, usize)> {
        let mut first: Option<(usize, usize, usize)> = None;
        for (index, (pattern, next)) in self.patterns.iter().zip(&mut self.next).enumerate() {
            if next.is_none_or(|found| found.is_some_and(|(from, _)| from < at)) {
                *next = Some(pattern.find(text, at));
            }
            if let Some(Some((from, to))) = *next
                && first.is_none_or(|(_, earliest, _)| from < earliest)
            {
                first = Some((index, from, to));
            }
        }
        first
    }
}

impl Pattern {
    /// Returns the first match at or after a position that is not empty.
    fn find(&self, text: &[u8], at: usize) -> Option<(usize, usize)> {
        let mut from = at;
        while from < text.len() {
            let (begin, end) = self.expression.find_at(text, from)?;
            if begin < end {
                return Some((begin, end));
            }
            from = end + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use regex::bytes::Regex;
    use serde_json::{Value, json};

    use super::{AHEAD, BLOCK, PIECE, Pattern, PatternFilter, TextForm};

    fn patterns() -> Arc<[Pattern]> {
        [("badge", r"\bE-[0-9]{3}\b"), ("sign", "^é.|😀+"), ("many", "x+y?"), ("digits", "77[0-9]")]
            .map(|(name, regex)| Pattern {
                name: name.into(),
                expression: Box::new(Regex::new(regex).unwrap()),
                is_numbered: false,
            })
            .into()
    }

    fn run(form: TextForm, pieces: &[&[u8]]) -> String {
        let (mut filter, mut output) = (PatternFilter::new(form, patterns()), Vec::new());
        pieces.iter().for_each(|piece| filter.write(piece, &mut output));
        filter.end(&mut output);
        String::from_utf8(output).unwrap()
    }

    /// Runs the text in one piece and in pieces of several lengths. The results must be equal.
    fn check(form: TextForm, text: &str) -> String {
        let output = run(form, &[text.as_bytes()]);
        for len in [1, 7, 4097, BLOCK - 1] {
            let pieces: Vec<_> = text.as_bytes().chunks(len).collect();
            assert_eq!(run(form, &pieces), output, "in pieces of {len} bytes");
        }
        output
    }

    #[test]
    fn strings_keys_and_numbers_are_replaced() {
        for (document, expected) in [
            (
                r#"["E-123","aE-123","E-1234","E-123, E-456"]"#,
                r#"["[redacted:badge]","aE-123","E-1234","[redacted:badge], [redacted:badge]"]"#,
            ),
            (
                r#"["\u0045-123","a\nE-12\u0033","\u00e9a","a\u00e9a"]"#,
                r#"["[redacted:badge]","a\n[redacted:badge]","[redacted:sign]","a\u00e9a"]"#,
            ),
            (
                r#"["\ud83d\ude00!","😀\ud83d\ude00","\ud83d!"]"#,
                r#"["[redacted:sign]!","[redacted:sign]","\ud83d!"]"#,
            ),
            (
                r#"{"E-123":1,"a E-456" : {"E-123":2},"b":"E-123"}"#,
                r#"{"[redacted:badge]":1,"[redacted:badge 2]" : {"[redacted:badge]":2},"b":"[redacted:badge]"}"#,
            ),
            (
                r"[771, -1.77e-779,12,true,-0.5]",
                r#"["[redacted:digits]", "[redacted:digits]",12,true,-0.5]"#,
            ),
        ] {
            assert_eq!(check(TextForm::Json, document), expected, "{document}");
        }
        let long = "77".repeat(20);
        let document = format!("[{long},771]");
        assert_eq!(check(TextForm::Json, &document), format!(r#"[{long},"[redacted:digits]"]"#));
    }

    #[test]
    fn long_strings_are_replaced_once_per_match() {
        for filler in [0, 1, AHEAD - 5, AHEAD, PIECE - 7, PIECE - 1, PIECE, 3 * PIECE + 11] {
            let text = format!("{} E-123 {}y E-456", "a ".repeat(filler / 2), "x".repeat(filler));
            let expected = text
                .replace(
                    &format!("{}y", "x".repeat(filler)),
                    if filler == 0 { "y" } else { "[redacted:many]" },
                )
                .replace("E-123", "[redacted:badge]")
                .replace("E-456", "[redacted:badge]");
            let document = json!([text.clone(), 1]).to_string();
            let output: Value = serde_json::from_str(&check(TextForm::Json, &document)).unwrap();
            assert_eq!(output, json!([expected.clone(), 1]), "{filler}");
            let escaped = document.replace('a', r"\u0061");
            let output: Value = serde_json::from_str(&check(TextForm::Json, &escaped)).unwrap();
            assert_eq!(output, json!([expected.clone(), 1]), "{filler}");
            let lines = format!("{text}\n{text}");
            assert_eq!(check(TextForm::Plain, &lines), format!("{expected}\n{expected}"));
        }
    }

    #[test]
    fn lines_are_matched_one_by_one() {
        assert_eq!(
            check(TextForm::Plain, "éa\naéa\nE-123"),
            "[redacted:sign]\naéa\n[redacted:badge]"
        );
        let mut filter = PatternFilter::new(TextForm::Plain, patterns());
        let mut output = Vec::new();
        filter.write(b"a E-123\nb E-1", &mut output);
        filter.release(&mut output);
        assert_eq!(output, b"a [redacted:badge]\n");
        filter.write(b"23", &mut output);
        filter.end(&mut output);
        assert_eq!(output, b"a [redacted:badge]\nb [redacted:badge]");
        assert_eq!(filter.found()["badge"], 2);
    }
}
