//! [`TextCutter`]: holds a text that arrives in chunks, and writes what is kept of it.
//!
//! ```text
//! written ──┤ held: text, and the places where lines were left out before ├── open line
//! ```
//!
//! A text that fits is written unchanged. If it is too long, a part is chosen at the end. If it is too long to be held, it is
//! made shorter in between: half of it is chosen, with the same rules, and the rest is left out. That takes linear
//! time, because each time as much text was added as is read.

use memchr::memchr;
use tamis_json::sink::Sink;

use super::choose::{Choice, Request, choose, reason};
use super::kind::TextKind;
use super::map::{Gap, UnitMap};
use super::report::{CutReport, KeptLines};
use super::size::{CutSize, CutUnit};
use super::units::EarlierGap;
use crate::estimate::Estimate;
use crate::notice;
use crate::words::Query;

/// The longest part of an open line that is looked at as a whole.
const LONGEST_PIECE: usize = 64 << 10;
const SHORTEST_PIECE: usize = 16;
/// The least that a line or a gap counts for in memory, in bytes: what is known about each while the text is cut takes more.
const LEAST_COST: usize = 16;
/// The least limit in bytes that depends on the estimated tokens of a text. A few lines have no kind.
const LEAST_ESTIMATED: u64 = 1024;
/// The part of the room that is written before the end if a reader waits, in thousandths.
const EARLY: u64 = 500;

/// Facts about a text that are known before it arrives.
#[derive(Clone, Debug)]
pub struct CutOptions {
    /// The kind that the origin of the text suggests. The first lines show it if they have a clear form.
    pub kind: Option<TextKind>,
    /// Words of the call that asked for the text.
    pub query: Query,
    /// The most bytes that are held.
    pub held: usize,
    /// Whether lines that look like a notice are marked.
    pub marks: bool,
    /// The most that will be written, if anything is left out.
    pub room: CutSize,
    /// The unit of `room`.
    pub unit: CutUnit,
}

/// A text that may be too long.
#[derive(Debug)]
pub struct TextCutter {
    options: CutOptions,
    kind: Option<TextKind>,
    text: Vec<u8>,
    earlier: Vec<EarlierGap>,
    /// Whether the held text begins at the beginning of a line, and how many lines begin in it.
    begins_line: bool,
    held_lines: usize,
    /// Where the open line, or the open part of a long one, begins; and whether it is the beginning of a line.
    open: usize,
    opens_line: bool,
    /// The size of the text that was written, and the number of its lines and bytes.
    written: CutSize,
    written_lines: u64,
    written_bytes: u64,
    /// The estimated tokens of the text that was written before the end.
    early: Estimate,
    last_byte: Option<u8>,
    report: CutReport,
}

impl TextCutter {
    /// Creates a cutter.
    #[must_use]
    pub fn new(options: CutOptions) -> Self {
        Self {
            kind: None,
            options,
            text: Vec::new(),
            earlier: Vec::new(),
            begins_line: true,
            held_lines: 0,
            open: 0,
            opens_line: true,
            written: CutSize::default(),
            written_lines: 0,
            written_bytes: 0,
            early: Estimate::default(),
            last_byte: None,
            report: CutReport::default(),
        }
    }

    /// Takes the next bytes of the text.
    pub fn write(&mut self, mut bytes: &[u8], sink: &mut dyn Sink) {
        self.report.bytes += bytes.len() as u64;
        let longest = (self.options.held / 8).clamp(SHORTEST_PIECE, LONGEST_PIECE);
        while !bytes.is_empty() {
            if self.opens_line && self.open == self.text.len() {
                self.report.lines += 1;
                self.held_lines += 1;
            }
            let room = longest.saturating_sub(self.text.len() - self.open).max(1);
            let window = bytes.get(..room).unwrap_or(bytes);
            let line = memchr(b'\n', window).map(|at| at + 1);
            let (now, rest) = bytes.split_at(line.unwrap_or(window.len()));
            self.text.extend_from_slice(now);
            bytes = rest;
            if line.is_some() || self.text.len() - self.open >= longest {
                self.end_piece(line.is_some());
                self.fit(sink);
            }
        }
    }

    /// Returns the size of the text if nothing of it was left out.
    #[must_use]
    pub fn size(&self) -> Option<CutSize> {
        let bytes = self.options.unit.of_lines(&self.text);
        let held = CutSize { lines: self.held_lines as u64, bytes };
        self.earlier.is_empty().then(|| self.written.plus(held))
    }

    /// Returns the size of the text that was read.
    #[must_use]
    pub fn read(&self) -> CutSize {
        CutSize { lines: self.report.lines, bytes: self.report.bytes }
    }

    /// Returns a limit of four bytes for each token as one of bytes of this text, whose tokens may be shorter: of what was
    /// written, and of what its tokens leave for the text that is held. A small limit, and one of tokens that are counted, is
    /// unchanged.
    #[must_use]
    pub fn limit(&self, limit: CutSize) -> CutSize {
        if limit.bytes < LEAST_ESTIMATED { limit } else { self.estimated(limit) }
    }

    fn estimated(&self, limit: CutSize) -> CutSize {
        match self.options.unit {
            CutUnit::Bytes if limit.bytes < u64::MAX => {
                let written = self.written.bytes;
                let spent = self.early.tokens().saturating_mul(4).max(written);
                let left = limit.bytes.saturating_sub(spent).div_ceil(4);
                let rest = Estimate::sampled(&self.text).bytes_of(left);
                CutSize { bytes: written.saturating_add(rest), ..limit }
            }
            CutUnit::Bytes | CutUnit::Tokens(_) => limit,
        }
    }

    /// Returns the text that is held.
    #[must_use]
    pub fn held(&self) -> &[u8] {
        &self.text
    }

    /// Returns about the number of bytes of memory that the held text takes.
    #[must_use]
    pub fn cost(&self) -> usize {
        self.text.len().max(LEAST_COST * (self.held_lines + self.earlier.len()))
    }

    /// Removes the last line if it is this one.
    pub fn remove_last_line(&mut self, line: &str) {
        let text = self.text.strip_suffix(b"\n").unwrap_or(&self.text);
        let Some(rest) = text.strip_suffix(line.as_bytes()) else { return };
        if rest.last().is_none_or(|byte| *byte == b'\n') {
            let (rest, removed) = (rest.len(), self.text.len() - rest.len());
            self.text.truncate(rest);
            self.open = rest;
            self.report.lines = self.report.lines.saturating_sub(1);
            self.report.bytes = self.report.bytes.saturating_sub(removed as u64);
            self.held_lines = self.held_lines.saturating_sub(1);
        }
    }

    /// Writes what is held, up to half of the room: no input has arrived for a while, and the open line may be a question.
    pub fn release(&mut self, sink: &mut dyn Sink) {
        if !self.earlier.is_empty() {
            return;
        }
        let open = self.text.get(self.open..).unwrap_or_default();
        let may_be_notice =
            self.opens_line && self.options.marks && notice::looks_like_one(open, false);
        let whole = self.open + if may_be_notice { 0 } else { whole_characters(open) };
        let most = self.estimated(self.options.room).part(EARLY);
        let (mut end, mut size, mut begins) = (0, self.written, self.begins_line);
        while end < whole {
            let rest = self.text.get(end..whole).unwrap_or_default();
            let line = memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
            let bytes = self.options.unit.of(rest.get(..line).unwrap_or_default());
            let next = size.plus(CutSize { lines: u64::from(begins), bytes });
            if !next.fits(most) {
                break;
            }
            (end, size, begins) = (end + line, next, true);
        }
        self.write_front(end, sink);
    }

    /// Ends the text, and writes what is kept of it. `room`: what may be written, the marks of the gaps included; `None`:
    /// everything. `unit`: the unit of `room`.
    ///
    /// If there is only room for one line, gaps are not marked.
    pub fn end(
        &mut self,
        room: Option<CutSize>,
        has_failed: bool,
        unit: CutUnit,
        sink: &mut dyn Sink,
    ) -> CutReport {
        self.end_piece(true);
        self.report.bytes_left_out = 0;
        let Some(room) = room else {
            let all = self.text.len();
            self.write_front(all, sink);
            return std::mem::take(&mut self.report);
        };
        let kind = self.kind();
        let choice = choose(&Request {
            text: &self.text,
            earlier: &self.earlier,
            begins_line: self.begins_line,
            is_end: true,
            kind,
            has_failed,
            query: &self.options.query,
            room: room.minus(self.written),
            written: self.written,
            unit,
        });
        self.report.kind = Some(kind);
        Writer { cutter: self, sink, marks_gaps: room.has_marks() }.write(&choice);
        self.text = Vec::new();
        std::mem::take(&mut self.report)
    }

    /// Returns the last byte that was written.
    #[must_use]
    pub fn last_byte(&self) -> Option<u8> {
        self.last_byte
    }

    fn kind(&mut self) -> TextKind {
        let (text, suggested) = (&self.text, self.options.kind);
        *self.kind.get_or_insert_with(|| TextKind::of(text).or(suggested))
    }

    /// Ends the open line, or a part of a long one.
    fn end_piece(&mut self, ends_line: bool) {
        if self.opens_line && self.options.marks {
            let piece = self.text.get(self.open..).unwrap_or_default();
            let line = piece.strip_suffix(b"\n").unwrap_or(piece);
            if let std::borrow::Cow::Owned(mut marked) = notice::marked(line) {
                if piece.len() > line.len() {
                    marked.push(b'\n');
                }
                self.report.bytes += (marked.len() - piece.len()) as u64;
                self.text.truncate(self.open);
                self.text.extend_from_slice(&marked);
            }
        }
        let end = match ends_line {
            true => self.text.len(),
            false => {
                let open = self.text.get(self.open..).unwrap_or_default();
                self.open + whole_characters(open)
            }
        };
        self.opens_line = ends_line;
        self.open = end;
    }

    /// Makes the held text shorter if it is too long.
    fn fit(&mut self, sink: &mut dyn Sink) {
        if self.cost() <= self.options.held - self.options.held / 32 {
            return;
        }
        if self.earlier.is_empty() {
            // As long as the room is larger than what can be held, the first half is certain to be kept.
            let half = self.text.get(..self.open / 2).unwrap_or_default();
            let half =
                memchr::memrchr(b'\n', half).map_or_else(|| whole_characters(half), |end| end + 1);
            let lines = memchr::memchr_iter(b'\n', self.text.get(..half).unwrap_or_default());
            let lines = lines.count() as u64 + u64::from(self.begins_line);
            let bytes = self.options.unit.of_lines(self.text.get(..half).unwrap_or_default());
            let size = CutSize { lines, bytes };
            let room = self.limit(self.options.room);
            if half > 0 && self.written.plus(size).plus(size).fits(room) {
                self.write_front(half, sink);
                return;
            }
        }
        self.shorten();
    }

    /// Leaves out half of the held text.
    fn shorten(&mut self) {
        let kind = self.kind();
        // A few long lines are kept in many parts, and each gap between them counts as a line.
        let lines = (self.held_lines / 2).max(self.options.held / (4 * LEAST_COST)).max(2);
        let text = self.text.get(..self.open).unwrap_or_default();
        let choice = choose(&Request {
            text,
            earlier: &self.earlier,
            begins_line: self.begins_line,
            is_end: false,
            kind,
            has_failed: false,
            query: &self.options.query,
            room: CutSize { lines: lines as u64, bytes: self.text.len() as u64 / 2 },
            written: CutSize::default(),
            unit: CutUnit::Bytes,
        });
        let mut shorter = Vec::with_capacity(self.text.len());
        let mut earlier: Vec<EarlierGap> = Vec::new();
        let mut gap_from = 0;
        let mut lines = 0;
        for (at, (unit, reasons)) in choice.map.units().iter().zip(&choice.reasons).enumerate() {
            if *reasons == 0 {
                continue;
            }
            let gap = choice.map.gap(gap_from, at);
            earlier.extend(gap.map(|gap| EarlierGap::of(gap, shorter.len(), unit.begins_line)));
            gap_from = at + 1;
            lines += usize::from(unit.begins_line);
            shorter.extend_from_slice(unit.text(&self.text));
        }
        let gap = choice.map.gap(gap_from, choice.map.len());
        earlier.extend(gap.map(|gap| EarlierGap::of(gap, shorter.len(), self.opens_line)));
        let open = shorter.len();
        let rest = self.text.get(self.open..).unwrap_or_default();
        lines += usize::from(!rest.is_empty() && self.opens_line);
        shorter.extend_from_slice(rest);
        (self.text, self.earlier, self.open, self.held_lines) = (shorter, earlier, open, lines);
    }

    /// Writes the beginning of the held text, of which nothing was left out.
    fn write_front(&mut self, end: usize, sink: &mut dyn Sink) {
        if end == 0 {
            return;
        }
        let front = self.text.get(..end).unwrap_or_default();
        let ends = memchr::memchr_iter(b'\n', front).count();
        let ends_line = front.ends_with(b"\n");
        let lines = ends + usize::from(!ends_line) - usize::from(!self.begins_line);
        let bytes = self.options.unit.of_lines(front);
        self.written = self.written.plus(CutSize { lines: lines as u64, bytes });
        self.written_lines += lines as u64;
        self.written_bytes += end as u64;
        self.last_byte = front.last().copied();
        if self.options.room.bytes < u64::MAX {
            self.early.push(front);
        }
        sink.write(front);
        self.held_lines = self.held_lines.saturating_sub(lines);
        self.text.drain(..end);
        self.opens_line &= self.open > end || ends_line;
        self.open = self.open.saturating_sub(end);
        self.begins_line = ends_line;
    }

    fn put(&mut self, bytes: &[u8], sink: &mut dyn Sink) {
        self.last_byte = bytes.last().copied().or(self.last_byte);
        sink.write(bytes);
    }
}

/// Writes the units that are kept, and the marks between them.
struct Writer<'a, 'b> {
    cutter: &'a mut TextCutter,
    sink: &'b mut dyn Sink,
    marks_gaps: bool,
}

impl Writer<'_, '_> {
    fn write(&mut self, Choice { map, reasons }: &Choice) {
        let text = std::mem::take(&mut self.cutter.text);
        let mut at = 0;
        self.cutter.report.kept_size = self.cutter.written.bytes;
        if self.cutter.written_lines > 0 {
            let lines = (1, self.cutter.written_lines);
            self.cutter.report.kept.push(KeptLines { lines, reasons: reason::HEAD });
        }
        while at < map.len() {
            let is_kept = reasons.get(at).is_some_and(|bits| *bits != 0);
            let rest = reasons.get(at..).unwrap_or_default();
            let end = rest.iter().position(|bits| (*bits != 0) != is_kept);
            let end = end.map_or(map.len(), |end| at + end);
            if is_kept {
                let kept = map.get(at).zip(map.get(end - 1));
                let kept = kept.map_or(0..0, |(first, last)| first.start..last.end());
                self.cutter.put(text.get(kept).unwrap_or_default(), self.sink);
                let report = &mut self.cutter.report;
                report.kept_size += map.cost(at, end).bytes;
                let reasons = reasons.get(at..end).unwrap_or_default().iter();
                self.keep(map, (at, end), reasons.fold(0, |all, bits| all | bits));
            } else if let Some(gap) = map.gap(at, end) {
                self.leave_out(map, at, &gap);
            }
            at = end;
        }
    }

    /// Returns the number of the line of a unit.
    fn line(&self, map: &UnitMap, at: usize) -> u64 {
        let begins = map.get(at).is_some_and(|unit| unit.begins_line && !unit.is_gap());
        self.cutter.written_lines + map.before(at).0 + u64::from(begins)
    }

    fn keep(&mut self, map: &UnitMap, (from, to): (usize, usize), reasons: u8) {
        let lines = (self.line(map, from).max(1), self.line(map, to - 1).max(1));
        let kept = &mut self.cutter.report.kept;
        match kept.last_mut().filter(|last| from == 0 && last.lines.1 + 1 >= lines.0) {
            Some(last) => {
                last.lines.1 = lines.1;
                last.reasons |= reasons;
            }
            None => kept.push(KeptLines { lines, reasons }),
        }
    }

    fn leave_out(&mut self, map: &UnitMap, at: usize, gap: &Gap) {
        let (lines, bytes) = map.before(at);
        let before = self.cutter.written_lines + lines;
        let begins = map.get(at).is_some_and(|unit| unit.begins_line || unit.is_gap());
        let first = (before + u64::from(begins && gap.lines > 0)).max(1);
        let last = (before + gap.lines).max(1);
        let written = self.cutter.written_bytes;
        let report = &mut self.cutter.report;
        report.lines_left_out += gap.lines;
        report.bytes_left_out += gap.bytes;
        report.splits_line |= gap.splits_line;
        report.gaps += 1;
        let first_byte = written + bytes;
        let last_byte = (first_byte + gap.bytes).saturating_sub(1);
        report.range = Some((report.range.map_or(first, |(from, _)| from), last));
        let from = report.byte_range.map_or(first_byte, |(from, _)| from);
        report.byte_range = Some((from, last_byte));
        if self.marks_gaps {
            if self.cutter.last_byte.is_some_and(|byte| byte != b'\n') {
                self.cutter.put(b"\n", self.sink);
            }
            self.cutter.put(gap.mark().as_bytes(), self.sink);
            self.cutter.put(b"\n", self.sink);
        }
    }
}

/// Returns the length of a text without an incomplete character at its end.
pub fn whole_characters(text: &[u8]) -> usize {
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
