//! Plain text of a result: marks what imitates a notice, and keeps the most important parts of a text that is too long.

use std::borrow::Cow;

use memchr::memchr;
use tamis::Sink;
use tamis::spec::Budget;
use tamis::text::mark_notices;
use tamis_text::cut::{CutOptions, CutSize, CutUnit, Query, TextCutter, whole_characters};

use super::replaced::Replaced;
use crate::spool::Spool;

/// The longest piece of a line that is looked at as a whole.
const LONGEST_PIECE: usize = 64 << 10;
/// The most that is held for a large limit, if no more is allowed.
const MOST_HELD: usize = 1 << 20;

/// The most that the texts of a result may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextRoom {
    /// Four bytes stand for a token.
    bytes: u64,
    unit: CutUnit,
    /// Whether texts of short tokens get fewer bytes.
    is_estimated: bool,
}

impl TextRoom {
    /// Returns the room under the limit of a profile: four bytes for each token, and fewer if the text is one of short tokens.
    pub(crate) fn of_profile(bytes: u64) -> Self {
        Self { bytes, unit: CutUnit::Bytes, is_estimated: true }
    }

    /// Returns the room under a budget that somebody wrote. Its tokens are counted.
    pub(crate) fn of_budget(budget: Budget) -> Option<Self> {
        match budget.unless_zero()? {
            Budget::Bytes(bytes) => Some(Self { bytes, unit: CutUnit::Bytes, is_estimated: false }),
            Budget::Tokens(tokens) => {
                let unit = CutUnit::Tokens(tamis_tokens::o200k_base());
                Some(Self { bytes: tokens.saturating_mul(4), unit, is_estimated: false })
            }
            _ => None,
        }
    }

    /// Returns the bytes, four for each token.
    pub(crate) fn bytes(self) -> u64 {
        self.bytes
    }

    /// Limits the room to a number of bytes.
    pub(crate) fn at_most(self, bytes: u64) -> Self {
        Self { bytes: self.bytes.min(bytes), ..self }
    }
}

/// Cuts a text that arrives in chunks. Without a limit, it is written as it arrives.
pub(crate) struct TextCut<'a> {
    out: &'a mut Spool,
    /// The limit, and what is held for it.
    cut: Option<(TextRoom, TextCutter)>,
    /// The open piece, and whether it begins a line.
    open: Vec<u8>,
    begins_line: bool,
    /// Whether lines that imitate a notice are marked.
    marks: bool,
    report: TextCutReport,
}

/// The counts of a text that was cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextCutReport {
    /// Number of bytes of the text.
    pub(crate) bytes: u64,
    /// Number of lines of the text.
    pub(crate) lines: u64,
    /// The first and the last line that are left out, if only whole lines are. Some between them may be shown.
    pub(crate) gap_lines: Option<(u64, u64)>,
    /// Number of lines that are left out.
    pub(crate) lines_left_out: u64,
    /// The first and the last byte that are left out. Some between them may be shown.
    pub(crate) gap_bytes: Option<(u64, u64)>,
    /// Number of bytes that are left out.
    pub(crate) left_out: u64,
    /// Number of lines that a filter left out before, and of those that it read. Lines that report this do not count.
    pub(crate) filtered_out: u64,
    pub(crate) lines_in: u64,
    /// Number of bytes of data in `data:` URLs that were left out before.
    pub(crate) url_bytes: u64,
    /// Whether a filter changed the text before, so that its bytes are not those of the stored text.
    pub(crate) changed: bool,
    /// The credentials and other values that were replaced before. The stored text lacks them as well.
    pub(crate) redacted: Replaced,
    /// Whether a line was marked, because it imitates a notice.
    pub(crate) marked: bool,
}

impl TextCutReport {
    /// Returns whether anything was left out.
    pub(crate) fn is_cut(&self) -> bool {
        self.left_out > 0 || self.filtered_out > 0 || self.url_bytes > 0
    }
}

impl<'a> TextCut<'a> {
    /// `room`: the most that is written. `held`: the most bytes that are held. `query`: the words of the call.
    pub(crate) fn new(
        out: &'a mut Spool,
        room: Option<TextRoom>,
        held: usize,
        query: &Query,
    ) -> Self {
        let cut = room.map(|room| {
            let TextRoom { bytes, unit, .. } = room;
            let size = CutSize { bytes, ..CutSize::MAX };
            let query = query.clone();
            // A piece is held in any case, and what is kept is chosen of more than fits.
            let least = usize::try_from(bytes.saturating_mul(4)).unwrap_or(held);
            let held = held.max(LONGEST_PIECE).max(least.min(MOST_HELD));
            // The lines are marked here.
            let options = CutOptions { kind: None, query, held, marks: false, room: size, unit };
            (room, TextCutter::new(options))
        });
        let report = TextCutReport::default();
        Self { out, cut, open: Vec::new(), begins_line: true, marks: true, report }
    }

    /// Leaves lines that look like a notice as they are: a filter has marked imitations, and has written notices of its own.
    pub(crate) fn of_marked_text(self) -> Self {
        Self { marks: false, ..self }
    }

    /// Takes a piece that ends with a line, with the text, or between two characters of a long line.
    fn take(&mut self, piece: &[u8]) {
        let ends_line = piece.ends_with(b"\n");
        let (text, ending) = piece.split_at(piece.len() - usize::from(ends_line));
        let mut shown = Cow::Borrowed(text);
        if self.begins_line {
            self.report.lines += 1;
            if self.marks {
                shown = mark_notices(text);
            }
            self.report.marked |= matches!(shown, Cow::Owned(_));
        }
        self.begins_line = ends_line;
        match &mut self.cut {
            None => {
                self.out.write(&shown);
                self.out.write(ending);
            }
            Some((_, cutter)) => {
                cutter.write(&shown, self.out);
                cutter.write(ending, self.out);
            }
        }
    }

    /// Ends the text.
    pub(crate) fn end(mut self) -> TextCutReport {
        let open = std::mem::take(&mut self.open);
        if !open.is_empty() {
            self.take(&open);
        }
        let Some((TextRoom { bytes, unit, is_estimated }, mut cutter)) = self.cut else {
            return self.report;
        };
        let limit = CutSize { bytes, ..CutSize::MAX };
        let limit = if is_estimated { cutter.limit(limit) } else { limit };
        let fits = cutter.size().is_some_and(|size| size.fits(limit));
        let room = (!fits).then_some(limit);
        let cut = cutter.end(room, false, unit, self.out);
        TextCutReport {
            gap_lines: cut.range.filter(|_| !cut.splits_line),
            lines_left_out: cut.lines_left_out,
            gap_bytes: cut.byte_range,
            left_out: cut.bytes_left_out,
            ..self.report
        }
    }

    /// Takes a complete piece out of `bytes`, which continue the open one, and returns what follows it.
    fn take_from<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let room = LONGEST_PIECE.saturating_sub(self.open.len()).max(1);
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
    use tamis_text::cut::Query;

    use tamis::spec::Budget;

    use super::{TextCut, TextCutReport, TextRoom};
    use crate::spool::{Spool, SpoolLimits};

    fn cut(text: &str, most: Option<u64>, chunk: usize) -> (String, TextCutReport) {
        cut_to(text, most.map(TextRoom::of_profile), chunk)
    }

    fn cut_to(text: &str, room: Option<TextRoom>, chunk: usize) -> (String, TextCutReport) {
        let mut out = Spool::new(SpoolLimits::default());
        let mut cut = TextCut::new(&mut out, room, 4 << 20, &Query::default());
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
            assert!(output.contains(" lines left out\n"), "{output}");
            assert!(output.len() <= 400 && output.len() > 380, "{output}");
            let shown = output.lines().filter(|line| line.starts_with("line ")).count() as u64;
            assert_eq!((report.lines, report.lines_left_out), (1000, 1000 - shown));
            let (from, to) = report.gap_bytes.unwrap();
            let (first, rest) = output.split_at(from as usize);
            assert!(text.starts_with(first) && rest.starts_with("... "), "{output}");
            let (first, last) = report.gap_lines.unwrap();
            assert_eq!(from as usize, text.find(&format!("line {first}\n")).unwrap());
            assert_eq!(to as usize + 1, text.find(&format!("line {}\n", last + 1)).unwrap());
            assert!(output.contains(&format!("line {}\n", last + 1)), "{output}");
            let (output, report) = cut(&text, None, chunk);
            assert_eq!((output.as_str(), report.left_out), (text.as_str(), 0));
        }
    }

    /// A budget is in the unit in which somebody wrote it. Digits have about two bytes for each token.
    #[test]
    fn budgets_are_kept() {
        let digits: String = (0..2000).map(|line| format!("{line:08}\n")).collect();
        let words = "a line of words in a log\n".repeat(1000);
        let tokens = |text: &str| tamis_tokens::o200k_base().count(text);
        for text in [&digits, &words] {
            for count in [64, 300, 5000] {
                let (output, report) = cut_to(text, TextRoom::of_budget(Budget::Bytes(count)), 999);
                let length = output.len() as u64;
                assert!(length <= count && length + 100 > count, "{count}: {length}");
                assert!(report.left_out > 0);
            }
            let (output, report) = cut_to(text, TextRoom::of_budget(Budget::Tokens(500)), 999);
            assert!((450..=500).contains(&tokens(&output)), "{}", tokens(&output));
            assert!(report.left_out > 0);
            let whole = TextRoom::of_budget(Budget::Bytes(text.len() as u64));
            assert_eq!(cut_to(text, whole, 999).0, *text);
            let whole = TextRoom::of_budget(Budget::Tokens(tokens(text)));
            assert_eq!(cut_to(text, whole, 999).0, *text);
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
            // 2,500 tokens have about 6,000 bytes.
            assert!(output.len() < 6_100 && output.len() > 5_000, "{}", output.len());
            let kept = output.len() - output.find("\n[").unwrap();
            assert!(kept > 600 && output.contains(" bytes left out]\n"));
            assert_eq!((report.lines, report.gap_lines), (1, None));
            let head = output.find("\n[").unwrap();
            let (from, to) = report.gap_bytes.unwrap();
            assert_eq!((from as usize, to + 1 - from), (head, report.left_out));
            let rest = &text[head + report.left_out as usize..];
            assert!(output.ends_with(&format!(" bytes left out]\n{rest}")));
            assert_eq!(cut(&text, None, chunk).0, text);
        }
    }
}
