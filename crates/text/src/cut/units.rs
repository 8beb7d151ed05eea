//! Divides a text into units: lines, and segments of long lines. A unit is kept or left out as a whole.

use memchr::memchr;

use super::map::Gap;
use super::size::{CutSize, CutUnit};

/// A line with more bytes is divided into segments.
const LONGEST_LINE: usize = 400;
/// About the length of a segment.
const SEGMENT: usize = 300;

/// A place of a held text where lines were left out before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EarlierGap {
    /// The offset in the held text.
    pub(super) at: usize,
    /// How many lines began in the gap, and how many bytes it had.
    pub(super) size: CutSize,
    /// Whether the gap begins or ends within a line.
    pub(super) splits_line: bool,
    /// Whether a line begins after it.
    pub(super) begins_line: bool,
}

impl EarlierGap {
    /// Returns a gap as one that was left out before `at`. `begins_line`: whether a line begins there.
    pub(super) fn of(gap: Gap, at: usize, begins_line: bool) -> Self {
        let size = CutSize { lines: gap.lines, bytes: gap.bytes };
        Self { at, size, splits_line: gap.splits_line, begins_line }
    }
}

/// A line, a segment of a long line, or an earlier gap.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unit {
    pub(super) start: usize,
    pub(super) len: u32,
    /// The size in bytes as the limit counts it.
    pub(super) size: u32,
    pub(super) begins_line: bool,
    pub(super) ends_line: bool,
    /// It is the earlier gap of this number plus one.
    pub(super) gap: u32,
    /// It repeats the shape of earlier units.
    pub(super) is_folded: bool,
    pub(super) is_failure: bool,
    /// It has a word of the query that most units do not have.
    pub(super) is_asked: bool,
    /// The end of its words in the list of all words.
    pub(super) words_end: u32,
    /// A hash of its shape.
    pub(super) template: u64,
}

impl Unit {
    pub(super) fn end(&self) -> usize {
        self.start + self.len as usize
    }

    pub(super) fn is_gap(&self) -> bool {
        self.gap > 0
    }

    /// Returns the earlier gap that the unit is.
    pub(super) fn earlier<'a>(&self, earlier: &'a [EarlierGap]) -> Option<&'a EarlierGap> {
        (self.gap as usize).checked_sub(1).and_then(|number| earlier.get(number))
    }

    pub(super) fn text<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        text.get(self.start..self.end()).unwrap_or_default()
    }

    /// The size of the unit in the output.
    pub(super) fn cost(&self) -> CutSize {
        CutSize { lines: u64::from(self.begins_line), bytes: u64::from(self.size) }
    }
}

/// Divides a text into units. `begins_line`: whether the text begins at the beginning of a line. `splits_lines`: whether long
/// lines are divided.
pub(super) fn divide(
    text: &[u8],
    earlier: &[EarlierGap],
    begins_line: bool,
    splits_lines: bool,
    unit: CutUnit,
) -> Vec<Unit> {
    let longest = if splits_lines { LONGEST_LINE } else { u32::MAX as usize };
    let mut units = Vec::with_capacity(text.len() / 40 + 8);
    let mut begins_line = begins_line;
    let mut earlier = earlier.iter().enumerate().peekable();
    let mut at = 0;
    loop {
        while let Some((number, gap)) = earlier.next_if(|(_, gap)| gap.at <= at) {
            units.push(Unit { start: at, gap: number as u32 + 1, ..Unit::default() });
            begins_line = gap.begins_line;
        }
        if at >= text.len() {
            return units;
        }
        let most = earlier.peek().map_or(text.len(), |(_, gap)| gap.at.min(text.len()));
        let rest = text.get(at..most).unwrap_or_default();
        let line = memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        let mut line = rest.get(..line).unwrap_or_default();
        while !line.is_empty() {
            let len = if line.len() > longest { segment(line) } else { line.len() };
            let (now, later) = line.split_at(len);
            units.push(Unit {
                start: at,
                len: len as u32,
                size: u32::try_from(unit.of(now)).unwrap_or(u32::MAX),
                begins_line,
                ends_line: now.ends_with(b"\n"),
                ..Unit::default()
            });
            begins_line = now.ends_with(b"\n");
            at += len;
            line = later;
        }
    }
}

/// Returns the length of the first segment of a long line: up to the end of a sentence, else white space or punctuation, else to
/// the end of a character.
fn segment(line: &[u8]) -> usize {
    let window = line.get(..SEGMENT).unwrap_or(line);
    let may_end = |byte: &u8| matches!(byte, b' ' | b',' | b'.' | b';' | b'\t');
    let from = SEGMENT / 2;
    let late = window.get(from..).unwrap_or_default();
    let sentence = (from + 1..=window.len()).rev().find(|end| ends_sentence(window, *end));
    if let Some(end) = sentence {
        return end;
    }
    if let Some(end) = late.iter().rposition(may_end) {
        return from + end + 1;
    }
    let is_inside = |at: usize| line.get(at).is_some_and(|byte| byte & 0xC0 == 0x80);
    let back = (0..4).find(|back| !is_inside(window.len() - back)).unwrap_or(0);
    window.len() - back
}

/// Whether a sentence ends before `at`: after a full stop and a space, or after one of East Asia.
fn ends_sentence(text: &[u8], at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    if let Some(before) = before.strip_suffix(b" ") {
        let before = before.strip_suffix(b"\"").or_else(|| before.strip_suffix(b")"));
        let before = before.unwrap_or_else(|| text.get(..at - 1).unwrap_or_default());
        return before.last().is_some_and(|byte| matches!(byte, b'.' | b'!' | b'?'));
    }
    ["。", "！", "？"].iter().any(|stop| before.ends_with(stop.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::{CutUnit, divide};

    #[test]
    fn long_lines_are_divided_between_sentences() {
        let text = "It was said (by all) that tides rise, and fall, each day. ".repeat(20);
        let units = divide(text.as_bytes(), &[], true, true, CutUnit::Bytes);
        let mut parts = units.iter().map(|unit| unit.text(text.as_bytes()));
        assert!(parts.all(|part| part.ends_with(b". ")));
        let text = "これは文です。".repeat(40);
        let units = divide(text.as_bytes(), &[], true, true, CutUnit::Bytes);
        let mut parts = units.iter().map(|unit| unit.text(text.as_bytes()));
        assert!(parts.all(|part| part.ends_with("。".as_bytes())));
    }

    #[test]
    fn units_are_the_text() {
        let long = "é\u{20ac}x\u{1F600}".repeat(300);
        let words = "some words of a line ".repeat(90);
        for text in ["", "a", "a\nb", "\n\n\n", "a\r\nb\r\n", &long, &words, &"x".repeat(5000)] {
            let units = divide(text.as_bytes(), &[], true, true, CutUnit::Bytes);
            let parts = units.iter().map(|unit| unit.text(text.as_bytes()));
            let parts: Vec<&str> = parts.map(|part| std::str::from_utf8(part).unwrap()).collect();
            assert_eq!(parts.concat(), text);
            assert!(parts.iter().all(|part| !part.is_empty() && part.len() <= 400), "{parts:?}");
            let lines = units.iter().filter(|unit| unit.begins_line).count();
            assert_eq!(lines, text.lines().count());
        }
    }
}
