//! The lines that tamis itself writes into text, and the test whether a line of the input has the form of one.
//!
//! Readers of a filtered text trust these lines, which say what is missing and where the full text is. A tool could
//! print such a line, so a line of the input that has the form of one is marked as the tool's: `| [tamis …`. All forms
//! are in this file, with the functions that write them.
//!
//! | written by | form |
//! |---|---|
//! | [`cut`] | `[tamis NAME: 3 of 5 lines left out; full output: PATH]`, `[tamis: …]` |
//! | [`SECURITY`] | `[tamis security: lines that the rules removed]` |
//! | [`lines_left_out`] | `... 12 lines left out` |
//! | [`text_left_out`] | `[... about 12 tokens left out]` |
//!
//! The test sees through letter case, white space, escape sequences, control characters and characters that are not
//! shown (zero-width, bidirectional, tags), and looks wherever a reader sees the beginning of a line: after a carriage
//! return, a vertical tab, a form feed, U+0085, U+2028 and U+2029, too. Letters that only look alike (`[tаmis` with a
//! Cyrillic letter) are not covered.
//!
//! This module does not depend on filters. The work is linear in the line; for most lines only the first visible byte
//! is looked at.

use std::borrow::Cow;

use memchr::memchr3;

use crate::ansi::{Terminal, TerminalEvent};

/// The mark before a line of the input that has the form of a notice.
pub const MARK: &str = "| ";

/// The line before lines of security that rules removed.
pub const SECURITY: &str = "[tamis security: lines that the rules removed]";

/// Returns the line about a whole output: what was done (`3 of 5 lines left out`), and the path of the full output.
/// `filter` is empty if there is none.
pub fn cut(filter: &str, what: &str, full_output: Option<&str>) -> String {
    let space = if filter.is_empty() { "" } else { " " };
    let mut note = format!("[tamis{space}{filter}: {what}");
    if let Some(path) = full_output {
        note.push_str("; full output: ");
        // The notice must be a single line, even if the path contains a line break.
        for char in path.chars() {
            if char.is_control() {
                note.extend(char.escape_default());
            } else {
                note.push(char);
            }
        }
    }
    note.push(']');
    note
}

/// Returns the line that replaces omitted lines of the input.
pub fn lines_left_out(count: u64) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("... {count} line{plural} left out")
}

/// Returns the text that replaces the rest of a text: `[... about 12 tokens left out]`. `about` is empty or ends with a
/// space; `unit` is in the singular.
pub fn text_left_out(about: &str, count: u64, unit: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("[... {about}{count} {unit}{plural} left out]")
}

/// Returns whether a line begins in the form of a notice.
///
/// `head` is the complete line without its line ending if `whole` is set. Otherwise it is the beginning of a longer
/// line, and the result is also `true` if the rest of the line could make it a notice.
pub fn looks_like_one(head: &[u8], whole: bool) -> bool {
    let mut prefix = LinePrefix::default();
    // Most lines are decided here.
    let Some(at) = head.iter().position(|byte| !matches!(byte, b' ' | b'\t')) else {
        return !whole;
    };
    let head = head.get(at..).unwrap_or_default();
    if head.first().is_some_and(|byte| matches!(byte, b'!'..=b'~') && !b"[.".contains(byte)) {
        return false;
    }
    let mut terminal = Terminal::default();
    for piece in head.chunks(PIECE) {
        terminal.write(piece, &mut |seen| prefix.see(seen));
        if prefix.is_full() || prefix.is_another() {
            break;
        }
    }
    terminal.end_line(&mut |seen| prefix.see(seen));
    prefix.looks_like_one(whole || prefix.is_full())
}

/// Marks the places in a line where a reader would see a notice of tamis begin: `| [tamis …`.
///
/// Use it for text of a tool that is shown together with notices, so that the tool cannot imitate one. The test sees through
/// letter case, white space, escape sequences and characters that are not shown. A place is the beginning of the line,
/// or follows a character that a reader sees as a line break, such as a carriage return. `line` has no newline.
///
/// The result is borrowed if nothing was marked. Time is linear in the line; for most lines only the first visible byte
/// is looked at.
///
/// ```
/// use tamis::text::mark_notices;
///
/// assert_eq!(&*mark_notices(b"[tamis x: 3 lines left out]"), b"| [tamis x: 3 lines left out]");
/// assert_eq!(&*mark_notices(b"3 lines left out"), b"3 lines left out");
/// ```
#[must_use]
pub fn marked(line: &[u8]) -> Cow<'_, [u8]> {
    if !may_have_breaks(line) {
        return match looks_like_one(line, true) {
            true => [MARK.as_bytes(), line].concat().into(),
            false => line.into(),
        };
    }
    let mut out = Vec::new();
    let mut done = 0;
    let mut from = 0;
    loop {
        let rest = line.get(from..).unwrap_or_default();
        let (length, next) = first_break(rest);
        if looks_like_one(rest.get(..length).unwrap_or_default(), true) {
            out.extend_from_slice(line.get(done..from).unwrap_or_default());
            out.extend_from_slice(MARK.as_bytes());
            done = from;
        }
        if length == rest.len() {
            break;
        }
        from += next;
    }
    if out.is_empty() {
        return line.into();
    }
    out.extend_from_slice(line.get(done..).unwrap_or_default());
    out.into()
}

/// The number of bytes that are tested together.
const PIECE: usize = 64;
/// The number of bytes at the beginning of a line that decide.
const LONGEST: usize = 96;

/// Returns whether a line may contain a character that a reader sees as a line break.
fn may_have_breaks(line: &[u8]) -> bool {
    memchr3(b'\r', 0x0b, 0x0c, line).is_some()
        || !line.is_ascii() && first_break(line).0 < line.len()
}

/// Returns the length of the text up to the next break, and the start of the text after it.
fn first_break(text: &[u8]) -> (usize, usize) {
    let ends = text.windows(1).enumerate().find_map(|(at, byte)| {
        let rest = text.get(at..).unwrap_or_default();
        match (byte, rest) {
            ([b'\r' | 0x0b | 0x0c], _) => Some((at, at + 1)),
            (_, [0xC2, 0x85, ..]) => Some((at, at + 2)),
            (_, [0xE2, 0x80, 0xA8 | 0xA9, ..]) => Some((at, at + 3)),
            _ => None,
        }
    });
    ends.unwrap_or((text.len(), text.len()))
}

/// The beginning of a line as a reader sees it: in lower case, with one space for white space.
#[derive(Debug)]
struct LinePrefix {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Default for LinePrefix {
    fn default() -> Self {
        Self { bytes: [0; LONGEST], length: 0 }
    }
}

impl LinePrefix {
    fn is_full(&self) -> bool {
        self.length >= LONGEST
    }

    /// No notice has this beginning.
    fn is_another(&self) -> bool {
        self.seen().first().is_some_and(|byte| !b"[.".contains(byte))
    }

    fn push(&mut self, byte: u8) {
        let after_space = self.length == 0 || self.seen().last() == Some(&b' ');
        if byte == b' ' && after_space {
            return;
        }
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
    }

    fn seen(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    fn see(&mut self, seen: TerminalEvent<'_>) {
        let TerminalEvent::Text(text) = seen else { return };
        for chunk in text.utf8_chunks() {
            for char in chunk.valid().chars() {
                match char {
                    char if char.is_whitespace() => self.push(b' '),
                    char if char.is_control() || is_invisible(char) => {}
                    '…' => (0..3).for_each(|_| self.push(b'.')),
                    char if char.is_ascii() => {
                        self.push(u8::try_from(char).unwrap_or(b'?').to_ascii_lowercase());
                    }
                    _ => self.push(b'?'),
                }
            }
            if !chunk.invalid().is_empty() {
                self.push(b'?');
            }
        }
    }

    fn looks_like_one(&self, whole: bool) -> bool {
        let mut rest = PrefixRest { bytes: self.seen(), ran_out: false };
        let in_brackets = rest.literal(b"[");
        _ = in_brackets && rest.literal(b" ");
        let own = rest;
        let is_one = in_brackets && rest.own_name() || {
            let ran_out = rest.ran_out;
            rest = PrefixRest { ran_out, ..own };
            rest.left_out()
        };
        is_one || !whole && rest.ran_out
    }
}

/// The rest of a prefix, and whether it ended where more text could have completed a notice.
#[derive(Clone, Copy)]
struct PrefixRest<'a> {
    bytes: &'a [u8],
    ran_out: bool,
}

impl PrefixRest<'_> {
    /// Consumes a text if the prefix begins with it.
    fn literal(&mut self, text: &[u8]) -> bool {
        match self.bytes.strip_prefix(text) {
            Some(rest) => {
                self.bytes = rest;
                true
            }
            None => {
                self.ran_out |= text.starts_with(self.bytes);
                false
            }
        }
    }

    /// Takes all leading bytes of a kind and returns their number.
    fn all(&mut self, is: impl Fn(u8) -> bool) -> usize {
        let count = self.bytes.iter().take_while(|byte| is(**byte)).count();
        self.bytes = self.bytes.get(count..).unwrap_or_default();
        self.ran_out |= self.bytes.is_empty();
        count
    }

    /// Accepts `tamis` as a whole word.
    fn own_name(&mut self) -> bool {
        self.literal(b"tamis") && {
            self.ran_out |= self.bytes.is_empty();
            !self.bytes.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        }
    }

    /// Accepts `... 12 lines left out` and `... about 1,200 tokens left out`.
    fn left_out(&mut self) -> bool {
        if self.all(|byte| byte == b'.') < 2 {
            return false;
        }
        self.literal(b" ");
        for about in [&b"about "[..], b"at least ", b"~"] {
            self.literal(about);
        }
        let digit = |byte: u8| byte.is_ascii_digit() || b",._'".contains(&byte);
        self.all(digit) > 0
            && self.literal(b" ")
            && self.all(|byte| byte.is_ascii_alphabetic()) > 0
            && self.literal(b" left out")
    }
}

/// Returns whether a character has no width and is not shown.
pub(crate) fn is_invisible(char: char) -> bool {
    matches!(
        u32::from(char),
        0xAD | 0x34F
            | 0x61C
            | 0x115F..=0x1160
            | 0x17B4..=0x17B5
            | 0x180B..=0x180F
            | 0x200B..=0x200F
            | 0x202A..=0x202E
            | 0x2060..=0x206F
            | 0x3164
            | 0xFE00..=0xFE0F
            | 0xFEFF
            | 0xFFA0
            | 0xFFF0..=0xFFFB
            | 0x1D173..=0x1D17A
            | 0xE0000..=0xE0FFF
    )
}

#[cfg(test)]
mod tests {
    use super::{cut, lines_left_out, looks_like_one, marked, text_left_out};

    #[test]
    fn written_notices_are_recognized() {
        for notice in [
            cut("cargo-test", "3 of 5 lines left out", Some("/tmp/a\nb")),
            cut("x", "2 folded", None),
            cut("", "3 of 5 lines left out", None),
            lines_left_out(1),
            lines_left_out(12_345),
            text_left_out("", 1, "token"),
            text_left_out("about ", 12, "byte"),
        ] {
            assert!(!notice.contains('\n'), "{notice}");
            assert!(looks_like_one(notice.as_bytes(), true), "{notice}");
            for end in 0..notice.len() {
                assert!(looks_like_one(&notice.as_bytes()[..end], false), "{notice} to {end}");
            }
            assert_eq!(&*marked(notice.as_bytes()), format!("| {notice}").as_bytes());
        }
    }

    #[test]
    fn imitations_are_marked_where_they_begin() {
        for (line, expected) in [
            ("[tamis x: y]", "| [tamis x: y]"),
            ("  \t[TAMIS x", "|   \t[TAMIS x"),
            ("[ tamis]", "| [ tamis]"),
            ("\u{1b}[1m[ta\u{1b}[0mmis x]", "| \u{1b}[1m[ta\u{1b}[0mmis x]"),
            ("\u{200b}[\u{202e}ta\u{e0041}mis x", "| \u{200b}[\u{202e}ta\u{e0041}mis x"),
            ("\u{9b}1m[tamis x", "| \u{9b}1m[tamis x"),
            ("a\r[tamis x]\rb", "a\r| [tamis x]\rb"),
            ("a\u{2028}... 3 lines left out", "a\u{2028}| ... 3 lines left out"),
            ("\u{a0}…\u{3000}3 Lines  left out (all)", "| \u{a0}…\u{3000}3 Lines  left out (all)"),
            ("[...3 tokens left out]", "| [...3 tokens left out]"),
            ("[... 1,203 tokens left out]", "| [... 1,203 tokens left out]"),
            ("[... at least 7 bytes left out]", "| [... at least 7 bytes left out]"),
            ("| [tamis x]", ""),
            ("a [tamis x]", ""),
            ("[tamisx]", ""),
            ("[tami", ""),
            ("tamis x", ""),
            ("... and 3 more", ""),
            ("... 3 lines", ""),
            (".", ""),
            ("", ""),
            ("  ", ""),
        ] {
            let expected = if expected.is_empty() { line } else { expected };
            assert_eq!(&*marked(line.as_bytes()), expected.as_bytes(), "{line:?}");
        }
    }

    #[test]
    fn the_beginning_of_a_longer_line_is_enough() {
        for (head, expected) in [
            ("", true),
            ("   ", true),
            ("[ta", true),
            ("[tamis", true),
            ("[tamisx", false),
            ("[a", false),
            ("...", true),
            ("... 3 li", true),
            ("... b", false),
            ("word", false),
        ] {
            assert_eq!(looks_like_one(head.as_bytes(), false), expected, "{head:?}");
        }
    }
}
