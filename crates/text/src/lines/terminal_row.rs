//! One row of a terminal: the characters at its columns, and earlier texts of the row that have to be kept.
//!
//! A row is a plain text until the cursor moves within it. Then it has a cell for each column:
//!
//! ```text
//! column   0  1  2  3  4  5  6  7  8
//! cells    a  あ ·· é  ▢  \t ·· ·· b      ·· continues the cell before it, ▢ was never written
//! ```
//!
//! **Frames.** A program that shows progress writes a row again and again. A text of a row that is complete, because the
//! cursor has left it or returned to its beginning, is a frame. If a later text destroys a frame that says what failed, the
//! frame becomes a line of its own, which precedes the row. Frames that differ only in numbers, bars and spinners are one.
//! A program may also write a few characters of a long row again and again. So that neither the output nor the work multiplies,
//! a text is looked at as a frame only if a part of it was written since the last look, and the kept frames have at most a few
//! times the bytes that were written.
//!
//! Memory: a cell of eight bytes for each column, less than twice the bytes of the characters, and the kept frames.

use unicode_width::UnicodeWidthChar;

use super::line_end::LineEnd;
use crate::failures::says_what_failed;

/// The bytes of a cell, in the row's list of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    begin: u32,
    length: u8,
    kind: CellKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CellKind {
    Text,
    /// A further column of the character before it.
    Continues,
    /// Never written, or erased.
    Gap,
}

const GAP: Cell = Cell { begin: 0, length: 1, kind: CellKind::Gap };
/// The most bytes of a character with its combining marks. Further marks have cells of their own.
const CHARACTER: usize = 64;
/// The part of a row, as a divisor, that must be written before its text is looked at again as a frame. In rows of up to this
/// many bytes, a single character is enough.
const FRAME_PART: usize = 256;
/// Bytes of kept frames for each byte written. Frames may have the end of a longer text that they were written over.
const FRAME_SHARE: usize = 4;
/// Distance of the tab stops.
const TAB: usize = 8;
/// The farthest column to which a sequence moves the cursor, unless the row is longer.
pub(super) const FARTHEST: usize = 1000;

/// Frames that become lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FrameMode {
    /// Those that say what failed.
    #[default]
    Failures,
    /// All but progress in percent: the text is that of a file rather than of a running program.
    All,
}

#[derive(Debug, Default)]
pub(super) struct TerminalRow {
    mode: FrameMode,
    /// The text, or the bytes of the cells.
    bytes: Vec<u8>,
    cells: Vec<Cell>,
    has_cells: bool,
    /// Bytes of all cells together.
    length: usize,
    /// Bytes of input for this row, at least.
    input: usize,
    /// The text that was already written as a line, if the row was.
    old: Option<Vec<u8>>,
    /// How the row ends, if it has ended.
    pub(super) end: Option<LineEnd>,
    /// Whether text was overwritten or erased.
    pub(super) erased: bool,
    /// Whether text was written since the last frame, and the column after it.
    is_written: bool,
    written_to: usize,
    /// Whether the text is a frame.
    is_frame: bool,
    /// The first cell, as it was before a blank was written over it.
    blanked: Option<Cell>,
    /// Bytes of input since a frame was looked at.
    unseen: usize,
    /// The last kept frame.
    frame: Option<Vec<u8>>,
    /// The frames before it that wait to be passed on, and their bytes.
    frames: Vec<Vec<u8>>,
    waiting_bytes: usize,
    /// The bytes of all frames before the last one.
    kept_bytes: usize,
    /// A buffer for the row's text.
    scratch: Vec<u8>,
}

impl TerminalRow {
    pub(super) fn new(mode: FrameMode) -> Self {
        Self { mode, ..Self::default() }
    }

    /// Returns an unused row that has the buffers of this one.
    pub(super) fn cleared(self) -> Self {
        let Self { mode, mut bytes, mut cells, mut frames, mut scratch, .. } = self;
        bytes.clear();
        cells.clear();
        frames.clear();
        scratch.clear();
        Self { mode, bytes, cells, frames, scratch, ..Self::default() }
    }

    /// Returns the number of cells that the row has room for.
    pub(super) fn capacity(&self) -> usize {
        self.cells.capacity()
    }

    /// Takes the bytes of `text` as those of an unused row, and leaves it empty with the buffer of the row.
    pub(super) fn take(&mut self, text: &mut Vec<u8>) {
        std::mem::swap(&mut self.bytes, text);
        self.count(self.bytes.len());
        self.is_written = !self.bytes.is_empty();
    }

    /// Creates a row that was already written as a line.
    pub(super) fn old(mode: FrameMode, text: Vec<u8>) -> Self {
        Self {
            mode,
            input: text.len(),
            old: Some(text.clone()),
            bytes: text,
            end: Some(LineEnd::Lf),
            ..Self::default()
        }
    }

    /// Whether the row was already written as a line, and nothing was added.
    pub(super) fn is_known(&self, text: &[u8]) -> bool {
        self.old.as_ref().is_some_and(|old| text.is_empty() || old == text)
    }

    /// Returns the number of bytes of the row's text.
    pub(super) fn length(&self) -> usize {
        if self.has_cells { self.length } else { self.bytes.len() }
    }

    /// Returns the memory that the row takes, in bytes.
    pub(super) fn cost(&self) -> usize {
        self.bytes.len() + self.cells.len() * size_of::<Cell>() + 64
    }

    /// Whether the row was never written.
    pub(super) fn is_unused(&self) -> bool {
        self.length() == 0 && self.end.is_none()
    }

    /// Counts the bytes of a sequence with a number, without its introduction.
    pub(super) fn sequence(&mut self, number: u16) {
        let digits = number.checked_ilog10().map_or(0, |log| log as usize + 1);
        self.count(2 + if number < 2 { 0 } else { digits });
    }

    /// Counts bytes of input.
    fn count(&mut self, bytes: usize) {
        self.input += bytes;
        self.unseen += bytes;
    }

    /// Appends text to a row without cells.
    pub(super) fn append(&mut self, text: &[u8]) {
        debug_assert!(!self.has_cells, "the text would be lost");
        self.count(text.len());
        self.is_written |= !text.is_empty();
        self.bytes.extend_from_slice(text);
    }

    /// Returns the number of columns, and gives the row cells if it has none.
    pub(super) fn columns(&mut self) -> usize {
        self.cells().len()
    }

    /// Returns the cells. If there are none, they are made of the text.
    fn cells(&mut self) -> &mut Vec<Cell> {
        if !self.has_cells {
            self.has_cells = true;
            let mut text = std::mem::replace(&mut self.bytes, std::mem::take(&mut self.scratch));
            let counts = (self.input, self.unseen);
            let written = (self.is_written, self.is_frame);
            let mut column = 0;
            for chunk in text.utf8_chunks() {
                for char in chunk.valid().chars() {
                    let mut bytes = [0; 4];
                    column =
                        self.put(column, char.encode_utf8(&mut bytes).as_bytes(), columns_of(char));
                }
                for byte in chunk.invalid() {
                    column = self.put(column, &[*byte], columns_of_byte(*byte));
                }
            }
            (self.input, self.unseen) = counts;
            (self.is_written, self.is_frame) = written;
            text.clear();
            self.scratch = text;
        }
        &mut self.cells
    }

    /// Writes a character. Returns the column after it.
    pub(super) fn put(&mut self, column: usize, bytes: &[u8], columns: usize) -> usize {
        if bytes == b"\t" {
            self.count(1);
            return self.put_tab(column);
        }
        let blanked = std::mem::take(&mut self.blanked);
        if columns == 0 && self.combine(column, bytes) {
            self.count(bytes.len());
            return column;
        }
        let columns = columns.max(1);
        let old = self.cells().get(column).copied();
        if let Some(old) = old.filter(|old| old.kind != CellKind::Gap) {
            let text = self.text_of(old);
            // A character that is written twice is bold.
            if old.kind == CellKind::Continues || text != bytes && text != b" " {
                let is_first = column == 0 && !self.is_written && blanked.is_none();
                self.destroy(column);
                if is_first && bytes == b" " && self.columns() > 0 {
                    self.blanked = Some(old);
                }
            }
        }
        // After the text before it was looked at.
        self.count(bytes.len());
        self.is_written = true;
        self.fill(column);
        for at in column..column + columns {
            self.break_up(at);
        }
        let begin = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes.extend_from_slice(bytes);
        let cell = Cell {
            begin,
            length: u8::try_from(bytes.len()).unwrap_or(u8::MAX),
            kind: CellKind::Text,
        };
        self.set(column, cell);
        for at in column + 1..column + columns {
            self.set(at, Cell { begin: 0, length: 0, kind: CellKind::Continues });
        }
        self.compact();
        self.written_to = column + columns;
        self.written_to
    }

    /// Moves to the next tab stop. At the end of the row the tab is part of the text.
    fn put_tab(&mut self, column: usize) -> usize {
        let next = (column / TAB + 1) * TAB;
        if column < self.columns() {
            return next;
        }
        self.is_written = true;
        self.fill(column);
        let begin = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes.push(b'\t');
        self.set(column, Cell { begin, length: 1, kind: CellKind::Text });
        for at in column + 1..next {
            self.set(at, Cell { begin: 0, length: 0, kind: CellKind::Continues });
        }
        self.written_to = next;
        next
    }

    /// Adds a combining mark to the character before the cursor. Returns whether there is one with room for it.
    fn combine(&mut self, column: usize, mark: &[u8]) -> bool {
        let cells = self.cells();
        let before = cells.get(..column.min(cells.len())).unwrap_or_default();
        let base = before.iter().rev().take(TAB).position(|cell| cell.kind != CellKind::Continues);
        let Some(at) = base.map(|back| before.len() - 1 - back) else { return false };
        let Some(cell) = before.get(at).copied() else { return false };
        let length = usize::from(cell.length) + mark.len();
        if cell.kind != CellKind::Text || length > CHARACTER {
            return false;
        }
        let text = [self.text_of(cell), mark].concat();
        let begin = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes.extend_from_slice(&text);
        self.set(at, Cell { begin, length: u8::try_from(length).unwrap_or(u8::MAX), ..cell });
        self.compact();
        true
    }

    /// Erases columns from `from` to before `to`; they become gaps.
    pub(super) fn erase(&mut self, from: usize, to: usize) {
        let columns = self.columns();
        let to = to.min(columns);
        if from >= to {
            return;
        }
        self.blanked = None;
        let cells = self.cells().get(from..to).unwrap_or_default();
        if cells.iter().any(|cell| cell.kind != CellKind::Gap) {
            // A shorter text was written over a longer one. The rest of the longer one does not belong to a frame.
            let is_rest = self.is_written && from >= self.written_to;
            match is_rest {
                true => self.erased = true,
                false => self.destroy_as_frame(from),
            }
        }
        // The row may have been emptied with its frame.
        let to = to.min(self.columns());
        for at in from..to {
            self.break_up(at);
        }
        if to == self.columns() {
            self.truncate(from);
        }
    }

    /// Removes columns. Those after them move to the left.
    pub(super) fn delete(&mut self, from: usize, count: usize) {
        self.erase(from, from.saturating_add(count));
        let columns = self.columns();
        let to = from.saturating_add(count).min(columns);
        if from < to {
            self.length -= to - from;
            self.cells().drain(from..to);
        }
    }

    /// Inserts blank columns, after a wide character if the cursor is within it. The row gets at most as long as a row of a
    /// terminal.
    pub(super) fn insert(&mut self, at: usize, count: usize) {
        let after = self.cells().get(at..).unwrap_or_default();
        if after.is_empty() {
            return;
        }
        let at = at + after.iter().take_while(|cell| cell.kind == CellKind::Continues).count();
        let count = count.min(FARTHEST.saturating_sub(self.columns()));
        self.length += count;
        self.cells().splice(at..at, std::iter::repeat_n(GAP, count));
    }

    /// Takes back a single blank at the beginning of the row, if the cursor returns directly after it: zsh writes it
    /// over an output without a line end, which it has moved to the row above on a real terminal.
    pub(super) fn take_back_blank(&mut self) {
        if let Some(cell) = self.blanked.take() {
            self.set(0, cell);
        }
    }

    /// Makes a frame of the text, because the cursor leaves the row or returns to its beginning.
    pub(super) fn end_frame(&mut self) {
        self.is_frame |= std::mem::take(&mut self.is_written);
    }

    /// Prepares for text of the row being erased.
    fn destroy_as_frame(&mut self, column: usize) {
        self.end_frame();
        self.destroy(column);
    }

    /// Keeps the frame before text is overwritten from a column on, if the frame has to be kept.
    fn destroy(&mut self, column: usize) {
        self.erased = true;
        if !std::mem::take(&mut self.is_frame) {
            return;
        }
        if self.unseen.saturating_mul(FRAME_PART) < self.length() {
            return;
        }
        self.unseen = 0;
        let mut text = std::mem::take(&mut self.scratch);
        self.text(&mut text);
        let keeps = match self.mode {
            FrameMode::Failures => says_what_failed(&text),
            FrameMode::All => !text.iter().all(u8::is_ascii_whitespace),
        };
        if !keeps {
            self.scratch = text;
            return;
        }
        if let Some(before) = self.frame.take().filter(|before| !self.is_same(before, &text))
            && self.kept_bytes + before.len() <= self.input.saturating_mul(FRAME_SHARE)
        {
            self.kept_bytes += before.len();
            self.waiting_bytes += before.len();
            self.frames.push(before);
        }
        self.frame = Some(text);
        if self.mode == FrameMode::All {
            // The text before the column was written again.
            self.truncate(column);
        }
    }

    /// Whether one text is a later frame of the other.
    fn is_same(&self, one: &[u8], other: &[u8]) -> bool {
        let is_progress = |text: &[u8]| text.contains(&b'%');
        (self.mode == FrameMode::Failures || is_progress(one) && is_progress(other))
            && has_same_words(one, other)
    }

    /// Returns the bytes of the frames that no later text can change.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// Returns these frames.
    pub(super) fn take_waiting_frames(&mut self) -> Vec<Vec<u8>> {
        self.waiting_bytes = 0;
        std::mem::take(&mut self.frames)
    }

    /// Ends the row: returns the lines that precede it.
    pub(super) fn take_frames(&mut self, text: &[u8]) -> Vec<Vec<u8>> {
        let mut frames = self.take_waiting_frames();
        frames.extend(self.frame.take().filter(|frame| !self.is_same(frame, text)));
        frames
    }

    /// Moves the frames of another row to this one, before which they were on the screen.
    pub(super) fn adopt(&mut self, mut other: Self) {
        other.destroy_as_frame(0);
        self.erased |= other.erased;
        self.frames.append(&mut other.frames);
        self.frames.extend(other.frame);
        self.waiting_bytes = self.frames.iter().map(Vec::len).sum();
    }

    /// Replaces the contents of a buffer by the text of the row. Trailing blanks are removed if the row has cells, so that the
    /// text is at most as long as the input.
    pub(super) fn text(&self, text: &mut Vec<u8>) {
        self.whole_text(text);
        if self.has_cells {
            let length = text.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
            text.truncate(length);
        }
    }

    /// Replaces the contents of a buffer by the text of the row, including trailing blanks.
    pub(super) fn whole_text(&self, text: &mut Vec<u8>) {
        text.clear();
        if !self.has_cells {
            return text.extend_from_slice(&self.bytes);
        }
        // Gaps that would make the row longer than the input are one blank each.
        let narrow = self.length > self.input;
        let mut before = CellKind::Text;
        for cell in &self.cells {
            match cell.kind {
                CellKind::Gap if narrow && before == CellKind::Gap => {}
                CellKind::Gap => text.push(b' '),
                _ => text.extend_from_slice(self.text_of(*cell)),
            }
            before = cell.kind;
        }
    }

    fn text_of(&self, cell: Cell) -> &[u8] {
        if cell.kind == CellKind::Gap {
            return b" ";
        }
        let begin = usize::try_from(cell.begin).unwrap_or(usize::MAX);
        self.bytes.get(begin..begin.saturating_add(usize::from(cell.length))).unwrap_or_default()
    }

    /// Adds gaps up to a column.
    fn fill(&mut self, column: usize) {
        let cells = self.cells();
        let more = column.saturating_sub(cells.len());
        cells.resize(cells.len() + more, GAP);
        self.length += more;
    }

    /// Sets a cell: an existing one, or the one after the last.
    fn set(&mut self, at: usize, cell: Cell) {
        let cells = &mut self.cells;
        match cells.get_mut(at) {
            Some(place) => {
                let old = std::mem::replace(place, cell);
                self.length -= usize::from(old.length);
            }
            None => cells.push(cell),
        }
        self.length += usize::from(cell.length);
    }

    /// Turns all columns of the character at a column into gaps.
    fn break_up(&mut self, at: usize) {
        let cells = &mut self.cells;
        if cells.get(at).is_none() {
            return;
        }
        let before = cells.get(..=at).unwrap_or_default();
        let back = before.iter().rev().take(TAB).position(|cell| cell.kind != CellKind::Continues);
        let from = at - back.unwrap_or(0);
        let after = cells.get(at + 1..).unwrap_or_default();
        let more = after.iter().take_while(|cell| cell.kind == CellKind::Continues).count();
        for place in from..=at + more {
            self.set(place, GAP);
        }
    }

    fn truncate(&mut self, columns: usize) {
        let cells = &mut self.cells;
        let gone = cells.get(columns..).unwrap_or_default();
        self.length -= gone.iter().map(|cell| usize::from(cell.length)).sum::<usize>();
        cells.truncate(columns);
        if columns == 0 {
            self.bytes.clear();
        }
    }

    /// Removes the bytes of overwritten characters, once they are the larger part.
    fn compact(&mut self) {
        /// Too few bytes would be freed.
        const LEAST: usize = 1024;
        if self.bytes.len() < LEAST + 2 * self.length {
            return;
        }
        let old = std::mem::take(&mut self.bytes);
        let mut bytes = std::mem::take(&mut self.scratch);
        for cell in self.cells.iter_mut().filter(|cell| cell.kind == CellKind::Text) {
            let begin = usize::try_from(cell.begin).unwrap_or(usize::MAX);
            let end = begin.saturating_add(usize::from(cell.length));
            cell.begin = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            bytes.extend_from_slice(old.get(begin..end).unwrap_or_default());
        }
        // Its bytes may be gone.
        self.blanked = None;
        self.bytes = bytes;
        self.scratch = old;
        self.scratch.clear();
    }
}

/// Number of columns of a character.
pub(super) fn columns_of(char: char) -> usize {
    if char.is_ascii() { 1 } else { char.width().unwrap_or(0) }
}

/// Number of columns of a byte of invalid UTF-8. A continuation byte belongs to the byte before it: the bytes of a lone
/// surrogate stay together.
pub(super) fn columns_of_byte(byte: u8) -> usize {
    usize::from(byte & 0xC0 != 0x80)
}

/// Whether two texts have the same letters: they differ at most in numbers, bars and spinners.
fn has_same_words(one: &[u8], other: &[u8]) -> bool {
    let letters = |text: &[u8]| -> String {
        String::from_utf8_lossy(text).chars().filter(|char| char.is_alphabetic()).collect()
    };
    letters(one) == letters(other)
}
