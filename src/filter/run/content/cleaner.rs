//! Removes control characters from text, and marks lines that look like notices of tamis.
//!
//! All text passes through here before it is cut, because pages, fields and plain text are untrusted. It drops
//! controls (C0 except line breaks and tabs, DEL, C1) and the characters that reorder others (bidirectional
//! embeddings, overrides and isolates), and the sequences with which a terminal sets colours (`ESC [ 1 ; 31 m`), because
//! their rest would hide the beginning of a word. A carriage return ends a line. Lines that have the form of a notice are
//! marked. At most [`HEAD`] bytes are held.
//!
//! ```text
//! start of a line ── may be a notice, incomplete ──▶ held in `head` ── more text ──▶ the same question again
//!        │                                               └── a notice, or HEAD bytes ──▶ marked, written
//!        └── not a notice ──▶ decided: the rest of the line is written at once
//! ```
//!
//! Example: `[ta` and `mis x]\n` arrive in two pieces. The first may begin a notice and is held. With the second the
//! line is complete and is written as `| [tamis x]\n`. If `b]\n` arrives instead, `[tab]\n` is written.

use tamis_text::controls::{Controls, is_plain, is_seen};
use tamis_text::notice;

/// The number of bytes at the start of a line that are held to find out whether it is a notice. A line that is still
/// undecided then is marked.
const HEAD: usize = 1 << 10;

/// The state of the text between two pieces. The result does not depend on how the text is cut into pieces.
#[derive(Debug, Default)]
pub(super) struct ContentCleaner {
    /// The start of a line that may be a notice. Empty if the line is decided or has not begun.
    head: String,
    /// The line is not a notice, or is marked already: the rest of it is passed on. Reset at its end.
    decided: bool,
    /// The line ended with a carriage return. A line feed after it belongs to it.
    returned: bool,
    controls: Controls,
    /// There was a character that a reader sees.
    shown: bool,
}

impl ContentCleaner {
    /// Reads more text, and appends the part that is decided to `out`. Lines without a dropped character are not copied
    /// in between.
    pub(super) fn push(&mut self, text: &str, out: &mut String) {
        for line in text.split_inclusive('\n') {
            let is_outside = !self.returned && self.controls == Controls::default();
            if is_outside && line.bytes().all(is_plain) {
                self.plain(line, out);
                continue;
            }
            let mut kept = String::with_capacity(line.len());
            // `\r\n` is one line break, also if it is cut in two.
            for char in line.chars() {
                if self.controls.drops(char) {
                    continue;
                }
                let after_return = std::mem::replace(&mut self.returned, char == '\r');
                match char {
                    '\n' if after_return => {}
                    '\r' => {
                        kept.push('\n');
                        self.plain(&kept, out);
                        kept.clear();
                    }
                    '\u{b}' | '\u{c}' | '\u{85}' => {}
                    _ => kept.push(char),
                }
            }
            self.plain(&kept, out);
        }
    }

    /// Ends the text: decides a line that is still held, and resets the cleaner.
    pub(super) fn end(&mut self, out: &mut String) {
        if !self.decided && notice::looks_like_one(self.head.as_bytes(), true) {
            out.push_str(notice::MARK);
        }
        out.push_str(&self.head);
        *self = Self::default();
    }

    /// Returns whether a reader sees any of the text since the last question. The marks of the cleaner do not count.
    pub(super) fn take_shown(&mut self) -> bool {
        std::mem::take(&mut self.shown)
    }

    /// Handles a part of a line, or a whole line with its end. The part has no dropped characters.
    fn plain(&mut self, part: &str, out: &mut String) {
        self.shown = self.shown || part.contains(is_seen);
        let whole = part.ends_with('\n');
        // Nothing to decide in this part.
        if self.decided || part.is_empty() {
            out.push_str(part);
            self.decided &= !whole;
            return;
        }
        let line = part.trim_end_matches('\n');
        // The question is always asked about the line from its beginning, of which at most HEAD bytes are looked at.
        if !self.head.is_empty() {
            self.head.push_str(line);
        }
        let head = if self.head.is_empty() { line } else { self.head.as_str() };
        let looked = head.get(..floor(head, HEAD)).unwrap_or(head);
        let is_all = whole && looked.len() == head.len();
        let may_be_one = notice::looks_like_one(looked.as_bytes(), is_all);
        // The rest of the line decides.
        if may_be_one && !whole && head.len() < HEAD {
            if self.head.is_empty() {
                self.head.push_str(line);
            }
            return;
        }
        if may_be_one {
            out.push_str(notice::MARK);
        }
        out.push_str(head);
        out.push_str(part.get(line.len()..).unwrap_or_default());
        self.head.clear();
        self.decided = !whole;
    }
}

/// Returns the last character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{ContentCleaner, HEAD};

    fn clean(parts: &[&str]) -> String {
        let mut clean = ContentCleaner::default();
        let mut out = String::new();
        parts.iter().for_each(|part| clean.push(part, &mut out));
        clean.end(&mut out);
        out
    }

    #[test]
    fn controls_go_and_notices_are_marked_however_they_come() {
        let long = " ".repeat(2 * HEAD);
        for (text, expected) in [
            ("", ""),
            ("a\tb\n\nc", "a\tb\n\nc"),
            ("a\r\nb\rc\r", "a\nb\nc\n"),
            ("\r\n\n\r\r\n", "\n\n\n\n"),
            ("\u{1b}]0;t\u{7}a\u{7f}\u{9b}2J\u{85}b", "]0;tab"),
            ("a\u{1b}[1;31mb\u{1b}[mc\u{1b}\u{1b}[0", "abc"),
            ("\u{1b}[1\nb\u{1b}c", "\nbc"),
            ("a\u{202e}b\u{2066}c\u{200f}é\u{2028}", "abc\u{200f}é\u{2028}"),
            ("[tamis x: y]", "| [tamis x: y]"),
            ("a\n  [... 12 tokens left out]\nb", "a\n|   [... 12 tokens left out]\nb"),
            ("a\r[tamis x]", "a\n| [tamis x]"),
            ("\u{200b}[\u{0}ta\u{202e}mis x]", "| \u{200b}[tamis x]"),
            ("[a]\n[tami", "[a]\n[tami"),
            ("a [tamis x]", "a [tamis x]"),
            (&long, &format!("| {long}")),
        ] {
            let whole = clean(&[text]);
            let expected = if text == long { whole.as_str() } else { expected };
            assert_eq!(whole, expected, "{text:?}");
            let chars: Vec<String> = text.chars().map(String::from).collect();
            let chars: Vec<&str> = chars.iter().map(String::as_str).collect();
            assert_eq!(clean(&chars), expected, "{text:?}, character by character");
            for (at, _) in text.char_indices().take(100) {
                let (one, two) = text.split_at(at);
                assert_eq!(clean(&[one, two]), expected, "{text:?} at {at}");
            }
        }
    }

    /// The beginning of a line is looked at again while it waits, but not more of it than waits.
    #[test]
    fn the_beginning_of_a_line_is_not_kept_for_long() {
        let mut clean = ContentCleaner::default();
        let mut out = String::new();
        for _ in 0..100_000 {
            clean.push("\u{200b}", &mut out);
            assert!(clean.head.len() <= HEAD + 4);
        }
        assert!(out.starts_with("| \u{200b}"));
    }
}
