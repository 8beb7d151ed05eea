//! The rows of a terminal that a program may still change, and the cursor.
//!
//! A screen exists only while it is needed. Most texts move the cursor only within a line, if at all; then the screen has one
//! row and ends with it. Once a text moves the cursor to another row, or hides it to repaint some rows, the last rows are
//! held until they scroll out of reach.
//!
//! ```text
//! rows already written ─┤ above ─ row of the cursor ─ below ├
//!                        └──── held, at most `ROWS` ────────┘
//! ```
//!
//! The size of the terminal is unknown, so rows are as long as their texts, and there are as many as the text has. A movement
//! to a row that was already written takes its text back from [`WrittenRows`]; if it changes, it is written again. An erased
//! screen ends all rows that are held: nothing that was shown is lost.
//!
//! Sequences that name a row of the terminal begin a page, because the rows before it have no known place on the terminal. A
//! line feed does not move from these rows into the page: it inserts a row between them.

use std::collections::VecDeque;

use super::line_end::LineEnd;
use super::terminal_row::{FARTHEST, FrameMode, TerminalRow, columns_of, columns_of_byte};
use crate::ansi::{EraseRange, ScreenControl};

/// The most rows that are held. Real terminals have fewer.
const ROWS: usize = 128;
/// The rows of the smallest terminal. After this number of line feeds without text, the text before them has scrolled out.
const SCREEN: usize = 10;
/// The most memory of held rows, in bytes, apart from that of the last one.
const HELD: usize = 256 << 10;
/// The most bytes of frames that wait for rows above them.
const FRAMES: usize = 64 << 10;

/// The last lines that were written.
#[derive(Debug, Default)]
pub(super) struct WrittenRows {
    rows: VecDeque<Vec<u8>>,
    /// Buffers for rows.
    spare: Vec<Vec<u8>>,
}

impl WrittenRows {
    /// The number of rows that are remembered. Few programs repaint more.
    const MOST: usize = 24;
    /// The longest one, in bytes.
    const LONGEST: usize = 512;

    pub(super) fn push(&mut self, text: &[u8]) {
        if text.len() > Self::LONGEST {
            // Rows above a long one are out of reach.
            return self.clear();
        }
        let is_full = self.rows.len() >= Self::MOST;
        let oldest = if is_full { self.rows.pop_front() } else { self.spare.pop() };
        let mut row = oldest.unwrap_or_default();
        row.clear();
        row.extend_from_slice(text);
        self.rows.push_back(row);
    }

    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        self.spare.extend(self.rows.drain(..));
    }
}

#[derive(Debug)]
pub(super) struct TerminalScreen {
    mode: FrameMode,
    above: VecDeque<TerminalRow>,
    /// The row of the cursor.
    row: TerminalRow,
    below: VecDeque<TerminalRow>,
    /// The column of the cursor. Without one it is at the end of a row without cells.
    column: Option<usize>,
    /// The number of the first held row in the text.
    first: u64,
    /// The number of the first row of the terminal, if it is known.
    page: Option<u64>,
    /// The number of the first row after the last erased screen. Earlier rows are out of reach.
    oldest: u64,
    /// The number of rows that scroll, if the rows below them do not.
    scrolling: Option<u64>,
    /// Whether a screen was erased, so that no row of it can be taken back.
    pub(super) forgets: bool,
    saved: Option<(u64, usize)>,
    /// Whether rows are held after their ends.
    pub(super) holds: bool,
    /// Rows ended since the cursor last moved to another row.
    quiet: usize,
    /// An unused row.
    spare: Option<TerminalRow>,
    /// Rows that no later text can change.
    pub(super) done: VecDeque<TerminalRow>,
}

impl TerminalScreen {
    /// Creates a screen with one empty row.
    pub(super) fn new(mode: FrameMode) -> Self {
        Self {
            mode,
            above: VecDeque::new(),
            row: TerminalRow::new(mode),
            below: VecDeque::new(),
            column: None,
            first: 0,
            page: None,
            oldest: 0,
            scrolling: None,
            forgets: false,
            saved: None,
            holds: false,
            quiet: 0,
            spare: None,
            done: VecDeque::new(),
        }
    }

    /// Clears a screen, possibly one that was used before, so that its only row is row `first` of the text. Takes the bytes of
    /// `text` and leaves it empty, with the buffer of an unused row.
    pub(super) fn begin(&mut self, text: &mut Vec<u8>, first: u64, holds: bool) {
        if let Some(spare) = self.spare.take() {
            self.row = spare;
        }
        self.row.take(text);
        (self.column, self.saved) = (None, None);
        (self.first, self.page, self.oldest) = (first, None, 0);
        (self.scrolling, self.forgets) = (None, false);
        (self.quiet, self.holds) = (0, holds);
    }

    /// Keeps the buffers of a row for a later one.
    pub(super) fn recycle(&mut self, row: TerminalRow) {
        if self.spare.as_ref().is_none_or(|spare| spare.capacity() < row.capacity()) {
            self.spare = Some(row.cleared());
        }
    }

    fn new_row(&mut self) -> TerminalRow {
        self.spare.take().unwrap_or_else(|| TerminalRow::new(self.mode))
    }

    /// Returns the number of the row of the cursor.
    fn row_number(&self) -> u64 {
        self.first + self.above.len() as u64
    }

    /// Number of held rows.
    fn rows(&self) -> usize {
        self.above.len() + 1 + self.below.len()
    }

    /// Whether the cursor is at the end of its row, and no text follows it.
    pub(super) fn is_at_end(&self) -> bool {
        self.column.is_none()
    }

    /// Returns the column of the cursor, and gives the row cells if it has none.
    fn column(&mut self) -> usize {
        match self.column {
            Some(column) => column,
            None => {
                let column = self.row.columns();
                self.column = Some(column);
                column
            }
        }
    }

    /// Writes text at the cursor, as long as the row has at most `limit` bytes. Returns how many bytes were written.
    pub(super) fn write(&mut self, text: &[u8], limit: usize) -> usize {
        let Some(mut column) = self.column else {
            let room = limit.saturating_sub(self.row.length());
            let now = text.get(..text.len().min(room)).unwrap_or_default();
            self.row.append(now);
            return now.len();
        };
        let row = &mut self.row;
        let mut done = 0;
        'text: for chunk in text.utf8_chunks() {
            let mut buffer = [0; 4];
            for char in chunk.valid().chars() {
                let bytes = char.encode_utf8(&mut buffer).as_bytes();
                // NUL, BEL, DEL and the like move nothing and show nothing.
                if !char.is_ascii_control() || char == '\t' {
                    let gap = column.saturating_sub(row.columns());
                    if row.length() + gap + bytes.len() > limit {
                        break 'text;
                    }
                    column = row.put(column, bytes, columns_of(char));
                }
                done += bytes.len();
            }
            for byte in chunk.invalid() {
                let gap = column.saturating_sub(row.columns());
                if row.length() + gap >= limit {
                    break 'text;
                }
                column = row.put(column, &[*byte], columns_of_byte(*byte));
                done += 1;
            }
        }
        self.column = Some(column);
        done
    }

    /// Records that text of the row was already overwritten.
    pub(super) fn set_erased(&mut self) {
        self.row.erased = true;
    }

    /// Moves the cursor to the beginning of its row.
    pub(super) fn carriage_return(&mut self) {
        self.row.take_back_blank();
        self.row.end_frame();
        self.column = Some(0);
    }

    /// Moves the cursor back by one column.
    pub(super) fn backspace(&mut self) {
        self.column = Some(self.column().saturating_sub(1));
    }

    /// Ends the row and moves to the beginning of the next one.
    pub(super) fn line_feed(&mut self, end: LineEnd) {
        self.row.end = Some(end);
        self.row.end_frame();
        self.quiet += 1;
        let is_new = self.insert_rows(1) || self.below.is_empty();
        let next = self.below.pop_front().unwrap_or_else(|| self.new_row());
        self.column = if is_new { None } else { Some(0) };
        self.above.push_back(std::mem::replace(&mut self.row, next));
        self.limit_rows();
        if self.quiet > ROWS && is_new && self.below.is_empty() {
            self.finish_above();
            self.holds = false;
        }
    }

    /// Ends the first rows above the cursor if too many are held.
    fn limit_rows(&mut self) {
        while self.rows() > ROWS && !self.above.is_empty() || self.cost() > HELD {
            self.finish(1);
        }
    }

    /// Inserts rows if the cursor would move down into the page, or out of the rows that scroll, by moving `count` rows.
    /// Otherwise text would overwrite the bar that apt writes into the last row. Returns whether rows were inserted.
    fn insert_rows(&mut self, count: usize) -> bool {
        let Some(mut page) = self.page else { return false };
        let row = self.row_number();
        let end = match self.scrolling {
            _ if row < page => page,
            Some(scrolling) if row < page + scrolling => page + scrolling,
            _ => return false,
        };
        let room = usize::try_from(end - row).unwrap_or(usize::MAX);
        for _ in room..=count {
            let row = self.new_row();
            self.below.insert(self.below.len().min(room - 1), row);
            if let Some((saved, _)) = &mut self.saved {
                *saved += u64::from(*saved >= page);
            }
            page += 1;
        }
        self.page = Some(page);
        room <= count
    }

    /// Memory of the rows above the cursor.
    fn cost(&self) -> usize {
        self.above.iter().map(TerminalRow::cost).sum()
    }

    /// Ends the first rows above the cursor, which no later text can change.
    fn finish(&mut self, count: usize) {
        for mut row in self.above.drain(..count.min(self.above.len())) {
            if row.end.is_none() && row.length() > 0 {
                row.end = Some(LineEnd::Lf);
            }
            self.done.push_back(row);
            self.first += 1;
        }
    }

    /// Ends the rows above the cursor.
    pub(super) fn finish_above(&mut self) {
        self.finish(self.above.len());
    }

    /// Ends all rows and begins a new one.
    pub(super) fn finish_all(&mut self) {
        let row = self.new_row();
        self.above.push_back(std::mem::replace(&mut self.row, row));
        self.above.append(&mut self.below);
        self.finish_above();
        self.column = None;
    }

    /// Ends all rows before that of the cursor, and returns that row if it is the last one; ends all rows otherwise.
    pub(super) fn take_last(&mut self) -> TerminalRow {
        if !self.below.is_empty() {
            self.finish_all();
        }
        self.finish_above();
        self.column = None;
        let row = self.new_row();
        std::mem::replace(&mut self.row, row)
    }

    /// Ends all rows at the end of the text. Only the last one may have no line end.
    pub(super) fn end(&mut self) {
        let row = self.new_row();
        self.above.push_back(std::mem::replace(&mut self.row, row));
        self.above.append(&mut self.below);
        let mut last = self.above.pop_back();
        while last.as_ref().is_some_and(TerminalRow::is_unused)
            && let Some(mut before) = self.above.pop_back()
        {
            before.adopt(last.take().unwrap_or_default());
            last = Some(before);
        }
        self.finish_above();
        self.done.extend(last);
    }

    /// Whether there are rows or frames that can be passed on.
    pub(super) fn has_done(&self) -> bool {
        let waiting = self.row.waiting_bytes();
        !self.done.is_empty() || waiting > 0 && (self.above.is_empty() || waiting > FRAMES)
    }

    /// Ends the rows above the cursor if too many of its frames wait for them.
    pub(super) fn limit_frames(&mut self) {
        if self.row.waiting_bytes() > FRAMES {
            self.finish_above();
        }
    }

    /// Returns the frames that precede the row of the cursor, if no row is above it.
    pub(super) fn take_frames(&mut self) -> Vec<Vec<u8>> {
        if self.above.is_empty() { self.row.take_waiting_frames() } else { Vec::new() }
    }

    /// Applies a sequence.
    pub(super) fn control(&mut self, control: ScreenControl, written: &mut WrittenRows) {
        use ScreenControl::{
            Column, DeleteChars, Down, EraseChars, EraseRow, EraseScreen, HideCursor, InsertBlanks,
            LeaveScreen, Left, NewScreen, Restore, ReverseLineFeed, Right, Row, Save,
            ScrollingRegion, Up,
        };
        self.row.sequence(match control {
            Column(to) => to.saturating_add(1),
            Right(count) | InsertBlanks(count) => count,
            _ => 1,
        });
        match control {
            Column(to) => self.move_to(usize::from(to)),
            Right(count) => {
                let column = self.column();
                self.move_to(column.saturating_add(usize::from(count)));
            }
            Left(count) => {
                let column = self.column().saturating_sub(usize::from(count));
                self.move_to(column);
            }
            Up(count) => {
                let most = self.rows_above_on_page();
                self.up(usize::from(count).min(most), written);
            }
            Down(count) => self.down(usize::from(count)),
            ReverseLineFeed if self.is_at_top() => self.new_page(),
            ReverseLineFeed => self.up(1, written),
            Row(row) => self.move_to_page(usize::from(row)),
            ScrollingRegion(rows) => {
                self.scrolling = rows.map(|rows| u64::from(rows.get()));
                // The cursor is at most in the row below them. Earlier rows have scrolled out of the terminal.
                let begin = self.row_number().saturating_sub(self.scrolling.unwrap_or(u64::MAX));
                self.page = self.page.map(|page| page.max(begin));
            }
            Save => {
                let column = self.column();
                self.saved = Some((self.row_number(), column));
            }
            Restore => self.restore(written),
            EraseRow(range) => self.erase_row(range),
            EraseScreen(EraseRange::All) => self.erase_page(self.is_at_top()),
            NewScreen => {
                self.scrolling = None;
                self.erase_page(true);
            }
            LeaveScreen => self.erase_page(false),
            EraseScreen(range) => self.erase_screen(range),
            EraseChars(count) => {
                let column = self.column();
                let count = usize::from(count).min(FARTHEST);
                self.row.erase(column, column.saturating_add(count));
            }
            DeleteChars(count) => {
                let column = self.column();
                self.row.delete(column, usize::from(count).min(FARTHEST));
            }
            InsertBlanks(count) => {
                let column = self.column();
                self.row.insert(column, usize::from(count));
            }
            HideCursor => self.hold(),
        }
    }

    /// Holds rows from now on.
    fn hold(&mut self) {
        (self.holds, self.quiet) = (true, 0);
    }

    /// Moves to a column of the row.
    fn move_to(&mut self, column: usize) {
        if column == 0 {
            self.row.end_frame();
        }
        self.stay_in(column);
    }

    /// Sets the column of the cursor: the last one of a terminal and of the row, if it is beyond them.
    fn stay_in(&mut self, column: usize) {
        let most = self.row.columns().max(FARTHEST);
        self.column = Some(column.min(most));
    }

    fn up(&mut self, count: usize, written: &mut WrittenRows) {
        let column = self.column();
        let missing = count.saturating_sub(self.above.len());
        if missing > written.rows.len() {
            // The row was already written, and is out of reach. Its new text is a new row.
            self.finish_all();
        } else {
            for _ in 0..missing {
                let text = written.rows.pop_back().unwrap_or_default();
                self.above.push_front(TerminalRow::old(self.mode, text));
                self.first = self.first.saturating_sub(1);
            }
            self.go_to_row(self.above.len() - count);
        }
        self.stay_in(column);
        self.hold();
    }

    fn down(&mut self, count: usize) {
        let count = count.min((ROWS - 1).saturating_sub(self.above.len()));
        self.insert_rows(count);
        self.move_to_row(self.above.len() + count);
        self.limit_rows();
    }

    /// Moves to a held row or to a new one below.
    fn move_to_row(&mut self, row: usize) {
        let column = self.column();
        self.go_to_row(row.min(self.above.len().max(ROWS - 1)));
        self.stay_in(column);
        self.hold();
    }

    /// Moves to a row of the page.
    fn move_to_page(&mut self, row: usize) {
        let page = match self.page.filter(|page| *page >= self.first) {
            Some(page) => page.max(self.after_blank_screen()),
            None => {
                // The last row before the page stays, because the cursor may return to it.
                let column = self.column();
                self.go_to_row(self.rows() - 1);
                self.finish_above();
                self.stay_in(column);
                self.row_number() + 1
            }
        };
        self.page = Some(page);
        let from = usize::try_from(page - self.first).unwrap_or(usize::MAX);
        self.move_to_row(from.saturating_add(row));
    }

    /// Returns the number of the row after all text, if so many line feeds follow that the text has scrolled out of the
    /// terminal. Vite clears the screen in this way.
    fn after_blank_screen(&self) -> u64 {
        if !self.below.is_empty() || !self.row.is_unused() {
            return 0;
        }
        let is_blank = |row: &&TerminalRow| row.length() == 0 && row.end.is_some();
        let blank = self.above.iter().rev().take_while(is_blank).count();
        if blank < SCREEN { 0 } else { self.row_number() - blank as u64 }
    }

    /// Returns whether the first row of the terminal is known.
    pub(super) fn has_page(&self) -> bool {
        self.page.is_some()
    }

    /// Returns whether the cursor is in the first row of the terminal.
    fn is_at_top(&self) -> bool {
        self.page == Some(self.row_number())
    }

    /// Returns the number of rows between the cursor and the first row of the terminal, if that is known.
    fn rows_above_on_page(&self) -> usize {
        let rows = self.page.and_then(|page| self.row_number().checked_sub(page));
        rows.and_then(|rows| usize::try_from(rows).ok()).unwrap_or(usize::MAX)
    }

    fn go_to_row(&mut self, row: usize) {
        self.row.end_frame();
        while row < self.above.len()
            && let Some(above) = self.above.pop_back()
        {
            self.below.push_front(std::mem::replace(&mut self.row, above));
        }
        while row > self.above.len() {
            let below = self.below.pop_front();
            let below = below.unwrap_or_else(|| self.new_row());
            self.above.push_back(std::mem::replace(&mut self.row, below));
        }
    }

    /// Begins an empty page.
    fn new_page(&mut self) {
        let column = self.column();
        self.finish_all();
        self.column = Some(column.min(FARTHEST));
        self.page = Some(self.first);
        self.hold();
    }

    /// Begins an empty page after the screen was erased, which leaves the cursor in its row.
    fn erase_page(&mut self, is_at_top: bool) {
        self.new_page();
        (self.oldest, self.forgets) = (self.first, true);
        self.page = self.page.filter(|_| is_at_top);
        self.column = None;
    }

    fn restore(&mut self, written: &mut WrittenRows) {
        let Some((row, column)) = self.saved else { return self.move_to(0) };
        if row < self.oldest {
            self.finish_all();
            return self.stay_in(column);
        }
        match row.checked_sub(self.first).and_then(|row| usize::try_from(row).ok()) {
            Some(row) if row == self.above.len() => {}
            Some(row) => self.move_to_row(row),
            None => {
                let missing = usize::try_from(self.first - row).unwrap_or(usize::MAX);
                self.up(self.above.len().saturating_add(missing), written);
            }
        }
        self.row.end_frame();
        self.stay_in(column);
    }

    fn erase_row(&mut self, range: EraseRange) {
        let column = self.column();
        let row = &mut self.row;
        match range {
            EraseRange::After => row.erase(column, usize::MAX),
            // A longer row has several on the terminal.
            EraseRange::Before => {
                let after = column.saturating_add(1);
                row.erase(after.saturating_sub(FARTHEST), after);
            }
            EraseRange::All => row.erase(0, usize::MAX),
        }
    }

    fn erase_screen(&mut self, range: EraseRange) {
        self.erase_row(range);
        if range == EraseRange::After {
            for below in self.below.drain(..) {
                self.row.adopt(below);
            }
            if self.column == Some(0) {
                self.row.end = None;
            }
        } else {
            for row in &mut self.above {
                row.erase(0, usize::MAX);
            }
        }
    }
}
