//! Passes the lines that match a pattern, with their numbers and the lines around them.
//!
//! The form is that of grep: `12:` before a line that matches, `11-` before a line of context, and `--` between groups of
//! lines that do not follow each other. A long line is shortened to the text around its first match.

use std::collections::VecDeque;
use std::io::Write as _;
use std::ops::Range;

use memchr::memchr;
use regex::bytes::Regex;

use super::report::WindowFacts;
use super::stage::Stage;

/// The longest line that is searched as a whole.
const LONGEST: usize = 64 << 10;
/// The longest line that is shown as a whole.
const SHOWN: usize = 4 << 10;
/// Bytes that are shown on each side of the first match in a longer line.
const AROUND: usize = 1 << 10;

/// The stage of `grep`.
pub(super) struct GrepStage<'a, N> {
    pattern: &'a Regex,
    context: usize,
    next: N,
    /// The open line, or a piece of it.
    line: Vec<u8>,
    /// The number of the open line.
    number: u64,
    /// Whether a piece of the open line was searched before.
    continues: bool,
    /// Whether a piece of the open line matched.
    matched: bool,
    /// The last lines that did not match, as they would be shown, with their numbers.
    before: VecDeque<(u64, Vec<u8>)>,
    /// How many lines after the last match are still to be shown.
    after: usize,
    /// The number of the last line that was shown.
    shown: Option<u64>,
    matches: u64,
    long_lines: u64,
}

impl<'a, N: Stage> GrepStage<'a, N> {
    /// `first` is the number of the first line.
    pub(super) fn new(pattern: &'a Regex, context: u32, first: u64, next: N) -> Self {
        Self {
            pattern,
            context: usize::try_from(context).unwrap_or(usize::MAX),
            next,
            line: Vec::new(),
            number: first,
            continues: false,
            matched: false,
            before: VecDeque::new(),
            after: 0,
            shown: None,
            matches: 0,
            long_lines: 0,
        }
    }

    /// Searches the open line, which is complete if `ends`.
    fn search(&mut self, ends: bool) {
        let line = std::mem::take(&mut self.line);
        if !ends && !self.continues {
            self.long_lines += 1;
        }
        // `$` matches before the carriage return of a line that ends with both.
        let text = line.strip_suffix(b"\r").unwrap_or(&line);
        if let Some(found) = self.pattern.find(text) {
            self.matches += u64::from(!std::mem::replace(&mut self.matched, true));
            for (number, shown) in std::mem::take(&mut self.before) {
                self.show(number, b'-', &shown);
            }
            self.show(self.number, b':', &excerpt(text, found.range()));
            self.after = self.context;
        } else if self.continues {
            // Context is the beginning of a line.
        } else if self.after > 0 {
            self.show(self.number, b'-', &excerpt(text, 0..0));
            self.after -= 1;
        } else if self.context > 0 {
            if self.before.len() == self.context {
                self.before.pop_front();
            }
            self.before.push_back((self.number, excerpt(text, 0..0)));
        }
        self.matched &= !ends;
        self.continues = !ends;
        self.number += u64::from(ends);
        self.line = line;
        self.line.clear();
    }

    fn show(&mut self, number: u64, sign: u8, text: &[u8]) {
        let is_next = self.shown.is_none_or(|shown| number <= shown + 1);
        if self.context > 0 && !is_next {
            self.next.write(b"--\n");
        }
        let mut head = Vec::with_capacity(24);
        // Writing to a vector does not fail.
        _ = write!(head, "{number}");
        head.push(sign);
        self.next.write(&head);
        self.next.write(text);
        self.next.write(b"\n");
        self.shown = Some(number);
    }
}

/// Returns a line as it is shown: whole, or the text around `found` with marks for what is left out.
fn excerpt(line: &[u8], found: Range<usize>) -> Vec<u8> {
    if line.len() <= SHOWN {
        return line.to_vec();
    }
    // The window begins before the match and has at least `AROUND` bytes from its start on. The match itself may be longer
    // than what is shown.
    let start = char_start(line, found.start.saturating_sub(AROUND));
    let end = found.end.min(found.start + SHOWN).max(found.start + AROUND);
    let end = char_start(line, (end + AROUND).min(line.len()));
    let mut shown = Vec::with_capacity(end - start + 80);
    if start > 0 {
        _ = write!(shown, "[... {start} bytes left out]");
    }
    shown.extend_from_slice(line.get(start..end).unwrap_or_default());
    if end < line.len() {
        _ = write!(shown, "[... {} bytes left out]", line.len() - end);
    }
    shown
}

/// Returns the start of the character that contains a byte.
fn char_start(line: &[u8], at: usize) -> usize {
    let continues = |at: &usize| line.get(*at).is_some_and(|byte| byte & 0xC0 == 0x80);
    (at.saturating_sub(3)..=at).rev().find(|at| !continues(at)).unwrap_or(at)
}

impl<N: Stage> Stage for GrepStage<'_, N> {
    fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.next.is_closed() {
            // A piece ends at the newline, at the limit of a line, or with the bytes.
            let room = LONGEST - self.line.len();
            let piece = bytes.get(..room).unwrap_or(bytes);
            let end = memchr(b'\n', piece);
            let taken = end.unwrap_or(piece.len());
            self.line.extend_from_slice(piece.get(..taken).unwrap_or_default());
            bytes = bytes.get(taken + usize::from(end.is_some())..).unwrap_or_default();
            if end.is_some() || self.line.len() == LONGEST {
                self.search(end.is_some());
            }
        }
    }

    fn end(&mut self, facts: &mut WindowFacts) {
        if !self.line.is_empty() && !self.next.is_closed() {
            self.search(true);
        }
        if !self.next.is_closed() {
            facts.matches = Some(self.matches);
        }
        facts.long_lines = self.long_lines;
        self.next.end(facts);
    }

    fn is_closed(&self) -> bool {
        self.next.is_closed()
    }
}

#[cfg(test)]
mod tests {
    use super::{AROUND, SHOWN, excerpt};

    #[test]
    fn long_lines_are_shown_around_the_match() {
        let line = "é".repeat(SHOWN);
        let whole = line.as_bytes();
        assert_eq!(excerpt(&whole[..SHOWN], 5..6), &whole[..SHOWN]);
        for found in [0..0, 0..2, 4_001..4_003, 8_000..8_192, 0..8_192, 8_192..8_192] {
            let shown = String::from_utf8(excerpt(whole, found.clone())).unwrap();
            assert!(shown.len() <= SHOWN + 3 * AROUND, "{found:?}: {}", shown.len());
            let left_out: usize = shown
                .split("[... ")
                .filter_map(|part| part.split_once(" bytes left out]")?.0.parse::<usize>().ok())
                .sum();
            assert_eq!(left_out + 2 * shown.matches('é').count(), whole.len(), "{found:?}");
        }
    }
}
