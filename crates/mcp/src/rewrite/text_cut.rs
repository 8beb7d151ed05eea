//! Plain text of a result: marks what imitates a notice, and keeps the beginning and the end of a text that is too long.

use std::borrow::Cow;
use std::collections::VecDeque;

use memchr::memchr;
use tamis::Sink;
use tamis::text::mark_notices;

use crate::spool::Spool;

/// The longest piece of a line that is looked at as a whole.
const LONGEST_PIECE: usize = 64 << 10;

/// Cuts a text that arrives in chunks.
///
/// ```text
/// ├── head: written at once ──┤   left out   ├── tail: waits until the end ──┤
///        ¾ of the room                              ¼ of the room
/// ```
///
/// The text consists of pieces: lines, or parts of long lines. A piece is shown or left out as a whole.
pub(crate) struct TextCut<'a> {
    out: &'a mut Spool,
    longest_piece: usize,
    /// Room that is left for the beginning; `None` if the text is not cut.
    head: Option<u64>,
    tail_room: u64,
    tail: VecDeque<Piece>,
    tail_bytes: u64,
    /// The open piece.
    open: Vec<u8>,
    /// Whether the open piece begins a line.
    begins_line: bool,
    is_past_head: bool,
    /// Whether a part of a line is left out.
    splits_line: bool,
    /// The number of the first line that is left out.
    first_left_out: Option<u64>,
    last_left_out: u64,
    report: TextCutReport,
}

struct Piece {
    text: Vec<u8>,
    /// The number of bytes that the text had before lines were marked.
    bytes: u64,
    line: u64,
    is_line: bool,
}

/// The counts of a text that was cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextCutReport {
    /// Number of bytes of the text.
    pub(crate) bytes: u64,
    /// Number of lines of the text.
    pub(crate) lines: u64,
    /// The first and the last line of the gap, if it consists of whole lines.
    pub(crate) gap_lines: Option<(u64, u64)>,
    /// The first byte of the gap.
    pub(crate) gap_start: u64,
    /// Number of bytes that are left out.
    pub(crate) left_out: u64,
    /// Number of lines that a filter removed before.
    pub(crate) filtered_out: u64,
    /// Whether a filter changed the text before, so that its bytes are not those of the stored text.
    pub(crate) changed: bool,
    /// Number of credentials that were replaced before. The stored text lacks them as well.
    pub(crate) redacted: u64,
    /// Whether a line was marked, because it imitates a notice.
    pub(crate) marked: bool,
}

impl<'a> TextCut<'a> {
    /// `most`: the most bytes of the result, not counting the line in the gap.
    pub(crate) fn new(out: &'a mut Spool, most: Option<u64>) -> Self {
        let eighth =
            most.map_or(usize::MAX, |most| usize::try_from(most / 8).unwrap_or(usize::MAX));
        Self {
            out,
            longest_piece: eighth.clamp(256, LONGEST_PIECE),
            head: most.map(|most| most - most / 4),
            tail_room: most.map_or(0, |most| most / 4),
            tail: VecDeque::new(),
            tail_bytes: 0,
            open: Vec::new(),
            begins_line: true,
            is_past_head: false,
            splits_line: false,
            first_left_out: None,
            last_left_out: 0,
            report: TextCutReport::default(),
        }
    }

    /// Takes a piece that ends with a line, with the text, or between two characters of a long line.
    fn take(&mut self, piece: &[u8]) {
        let ends_line = piece.ends_with(b"\n");
        let (text, ending) = piece.split_at(piece.len() - usize::from(ends_line));
        let mut shown = Cow::Borrowed(text);
        if self.begins_line {
            self.report.lines += 1;
            shown = mark_notices(text);
            self.report.marked |= matches!(shown, Cow::Owned(_));
        }
        let is_line = self.begins_line && ends_line;
        self.begins_line = ends_line;
        let length = (shown.len() + ending.len()) as u64;
        if !self.is_past_head {
            match &mut self.head {
                Some(room) if *room < length => self.is_past_head = true,
                room => {
                    if let Some(room) = room {
                        *room -= length;
                    }
                    self.out.write(&shown);
                    self.out.write(ending);
                    self.report.gap_start += piece.len() as u64;
                    return;
                }
            }
        }
        self.tail_bytes += length;
        let text = [&shown, ending].concat();
        let line = self.report.lines;
        self.tail.push_back(Piece { text, bytes: piece.len() as u64, line, is_line });
        // Nothing is left out of a text that fits as a whole.
        let unused = if self.report.left_out == 0 { self.head.unwrap_or_default() } else { 0 };
        while self.tail_bytes > self.tail_room + unused {
            let Some(first) = self.tail.pop_front() else { break };
            self.leave_out(&first);
        }
    }

    fn leave_out(&mut self, piece: &Piece) {
        self.tail_bytes -= piece.text.len() as u64;
        self.report.left_out += piece.bytes;
        self.splits_line |= !piece.is_line;
        self.first_left_out.get_or_insert(piece.line);
        self.last_left_out = piece.line;
    }

    /// Ends the text.
    pub(crate) fn end(mut self) -> TextCutReport {
        let open = std::mem::take(&mut self.open);
        if !open.is_empty() {
            self.take(&open);
        }
        // The window may have been larger before the first piece was left out.
        while self.report.left_out > 0 && self.tail_bytes > self.tail_room {
            let Some(first) = self.tail.pop_front() else { break };
            self.leave_out(&first);
        }
        if let Some(first) = self.first_left_out {
            let gap = if self.splits_line {
                format!("\n[tamis: {} bytes left out]\n", self.report.left_out)
            } else {
                self.report.gap_lines = Some((first, self.last_left_out));
                format!("[tamis: lines {first}-{} left out]\n", self.last_left_out)
            };
            self.out.write(gap.as_bytes());
        }
        for piece in &self.tail {
            self.out.write(&piece.text);
        }
        self.report
    }

    /// Takes a complete piece out of `bytes`, which continue the open one, and returns what follows it.
    fn take_from<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let room = self.longest_piece.saturating_sub(self.open.len()).max(1);
        let window = bytes.get(..room).unwrap_or(bytes);
        let line = memchr(b'\n', window).map(|at| at + 1);
        let is_full = line.is_some() || window.len() == room;
        let (now, rest) = bytes.split_at(line.unwrap_or(window.len()));
        if !is_full {
            self.open.extend_from_slice(now);
            return rest;
        }
        if self.open.is_empty() && line.is_some() {
            self.take(now);
            return rest;
        }
        let mut piece = std::mem::take(&mut self.open);
        piece.extend_from_slice(now);
        let end = if line.is_some() { piece.len() } else { whole_characters(&piece) };
        let (whole, open) = piece.split_at(end);
        self.take(whole);
        self.open.extend_from_slice(open);
        rest
    }
}

/// Returns the length of a text without an incomplete character at its end.
fn whole_characters(text: &[u8]) -> usize {
    let last = text.iter().rev().take(4).position(|byte| *byte & 0xC0 != 0x80);
    let Some(back) = last.map(|back| back + 1) else { return text.len() };
    let width = match text.get(text.len() - back) {
        Some(0xC0..=0xDF) => 2,
        Some(0xE0..=0xEF) => 3,
        Some(0xF0..=0xFF) => 4,
        _ => 1,
    };
    if back < width && back < text.len() { text.len() - back } else { text.len() }
}

impl Sink for TextCut<'_> {
    fn write(&mut self, mut bytes: &[u8]) {
        self.report.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            bytes = self.take_from(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use tamis::Sink;

    use super::{TextCut, TextCutReport};
    use crate::spool::{Spool, SpoolLimits};

    fn cut(text: &str, most: Option<u64>, chunk: usize) -> (String, TextCutReport) {
        let mut out = Spool::new(SpoolLimits::default());
        let mut cut = TextCut::new(&mut out, most);
        for chunk in text.as_bytes().chunks(chunk) {
            cut.write(chunk);
        }
        let report = cut.end();
        (String::from_utf8(out.into_vec().unwrap()).unwrap(), report)
    }

    #[test]
    fn long_texts_keep_their_ends() {
        let text: String = (1..=1000).map(|line| format!("line {line}\n")).collect();
        for chunk in [1, 7, 100_000] {
            let (output, report) = cut(&text, Some(400), chunk);
            assert!(output.starts_with("line 1\n") && output.ends_with("line 1000\n"), "{output}");
            assert!(
                output.contains("line 38\n[tamis: lines 39-989 left out]\nline 990"),
                "{output}"
            );
            assert!(output.len() < 450);
            assert_eq!((report.lines, report.gap_lines), (1000, Some((39, 989))));
            assert_eq!(report.gap_start as usize, text.find("line 39\n").unwrap());
            let (output, report) = cut(&text, None, chunk);
            assert_eq!((output.as_str(), report.left_out), (text.as_str(), 0));
        }
    }

    #[test]
    fn texts_that_fit_stay_whole() {
        for text in ["", "a", "a\n", "\n\n", "a\r\nb", "é\nü", "\u{1F600}\n\u{1F600}"] {
            for chunk in 1..4 {
                let (output, report) = cut(text, Some(text.len() as u64), chunk);
                assert_eq!((output.as_str(), report.left_out), (text, 0), "{text:?}");
            }
        }
    }

    #[test]
    fn imitated_notices_are_marked() {
        for chunk in [1, 100] {
            let (output, report) = cut("a\n[tamis: all is well]\nb", None, chunk);
            assert_eq!(output, "a\n| [tamis: all is well]\nb");
            assert!(report.marked);
        }
    }

    #[test]
    fn one_long_line_is_cut_between_characters() {
        let text = "é\u{20ac}x\u{1F600}".repeat(20_000);
        for chunk in [1, 1000, 65_537, 1_000_000] {
            let (output, report) = cut(&text, Some(10_000), chunk);
            assert!(output.len() < 10_100 && output.len() > 7_000, "{}", output.len());
            let kept = output.len() - output.find("\n[").unwrap();
            assert!(kept > 1000 && output.contains(" bytes left out]\n"));
            assert_eq!((report.lines, report.gap_lines), (1, None));
            let head = output.find("\n[").unwrap();
            assert_eq!(report.gap_start as usize, head);
            let rest = &text[head + report.left_out as usize..];
            assert!(output.ends_with(&format!(" bytes left out]\n{rest}")));
            assert_eq!(cut(&text, None, chunk).0, text);
        }
    }
}
