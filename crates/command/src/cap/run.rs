//! [`CapRun`]: the cap over one output, in one pass.
//!
//! ```text
//! ├── head: written at once ──┤  middle: failures, and gaps  ├── window: may become the tail ──┤
//!        at least ¼ of the room                                     at least ⅛
//! ```
//!
//! The output consists of pieces: lines, or parts of long lines. A piece is kept or left out as a whole. The newest pieces
//! are in the window. A piece that no longer fits into the window is left out, or kept in the middle if it reports a
//! failure.
//!
//! Invariants: the result does not depend on the chunks, except by [`release`](CapRun::release). As long as the text fits,
//! nothing is left out.

use std::borrow::Cow;
use std::collections::VecDeque;

use memchr::memchr;
use tamis_json::limits::Limits;
use tamis_json::sink::Sink;
use tamis_text::lines::pending_text::TextSize;
use tamis_text::notice;

use super::failure_lines::is_failure;
use super::size::CapSize;
use super::{CapReport, OutputCap};

/// The longest piece.
const LONGEST_PIECE: u64 = 64 << 10;
/// The shortest length at which a line is cut into pieces.
const SHORTEST_PIECE: u64 = 16;
/// Room for the line in the gap before the tail, and for the last line.
const NOTICES: CapSize = CapSize { lines: 2, bytes: 240 };
/// Room for the line in a gap before a failure.
const GAP: CapSize = CapSize { lines: 1, bytes: 32 };
/// How many indented lines after a failure are kept with it.
const CONTEXT: u8 = 3;
/// Estimated memory for a held piece in addition to its text, in bytes.
const COST: usize = 64;

/// A run of a cap.
#[derive(Debug)]
pub(crate) struct CapRun {
    /// The limits, and the room for text once something is left out.
    limit: CapSize,
    room: CapSize,
    /// The room if the command has not failed, if that is another one.
    room_of_success: Option<CapSize>,
    /// The limits if the command has failed.
    limit_of_failure: Option<CapSize>,
    chars: u64,
    exact: bool,
    /// Whether lines that look like a notice are marked here.
    marks: bool,
    longest_piece: usize,
    /// Maximum number of bytes in the window and in the middle.
    held_limit: usize,
    held: usize,
    /// The size of the head, and the most that it takes of the text at once.
    head: CapSize,
    head_room: CapSize,
    is_past_head: bool,
    middle: Vec<MiddleEntry>,
    middle_size: CapSize,
    window: VecDeque<Piece>,
    window_size: CapSize,
    /// How many lines may still be kept with the last failure.
    context: u8,
    /// The open piece, and whether it begins a line.
    open: Vec<u8>,
    begins_line: bool,
    report: CapReport,
    written: TextSize,
    lines_written: u64,
    last_byte: Option<u8>,
}

/// A line, or a part of a long one.
#[derive(Debug)]
struct Piece {
    text: Vec<u8>,
    size: CapSize,
    /// Number of the line.
    line: u64,
    begins_line: bool,
    ends_line: bool,
}

impl Piece {
    fn cost(&self) -> usize {
        self.text.len() + COST
    }

    fn is_line(&self) -> bool {
        self.begins_line && self.ends_line
    }
}

/// A part of the output between the head and the tail.
#[derive(Debug)]
enum MiddleEntry {
    Kept(Piece),
    Gap(Gap),
}

/// Pieces that follow each other and are left out.
#[derive(Debug)]
struct Gap {
    lines: u64,
    bytes: u64,
    first: u64,
    last: u64,
    splits_line: bool,
    /// The only piece, if it may be shorter than the line that reports the gap.
    only: Option<Piece>,
}

impl Gap {
    /// The line that reports the gap.
    fn line(&self) -> String {
        match self.splits_line {
            true => notice::text_left_out("", self.bytes, "byte"),
            false => notice::lines_left_out(self.lines),
        }
    }
}

impl CapRun {
    /// `marks`: whether lines that look like a notice are marked. Behind a filter, they are already.
    pub(crate) fn new(cap: &OutputCap, limits: &Limits, marks: bool) -> Self {
        let (limit, if_cut) = (cap.size(), cap.size_if_cut());
        let held_limit = usize::try_from(limits.held()).unwrap_or(usize::MAX);
        let notices = CapSize {
            lines: if limit.lines == u64::MAX { 0 } else { NOTICES.lines },
            bytes: if if_cut.bytes == u64::MAX { 0 } else { NOTICES.bytes.min(if_cut.bytes / 2) },
        };
        let room_in = |size: CapSize| size.minus(notices).at_least(CapSize { lines: 1, bytes: 1 });
        let success = room_in(if_cut);
        let limit_of_failure = cap.size_if_failed();
        // Until the end, it is not known whether the command fails.
        let room = limit_of_failure.map_or(success, |size| success.at_least(room_in(size)));
        // The window should fit into memory, so a long head is better than a long tail.
        let window = CapSize { lines: u64::MAX, bytes: (held_limit / 2) as u64 };
        Self {
            limit,
            room,
            room_of_success: Some(success).filter(|success| *success != room),
            limit_of_failure,
            chars: 0,
            exact: cap.counts_exactly(),
            marks,
            longest_piece: usize::try_from(
                success.part(4).bytes.clamp(SHORTEST_PIECE, LONGEST_PIECE),
            )
            .unwrap_or(usize::MAX),
            held_limit,
            held: 0,
            head: CapSize::default(),
            head_room: CapSize {
                // One line at least, unless the tail is only one.
                lines: success.part(4).lines.max(success.lines.min(2) - 1),
                bytes: success.part(4).bytes.max(success.minus(window).bytes),
            },
            is_past_head: false,
            middle: Vec::new(),
            middle_size: CapSize::default(),
            window: VecDeque::new(),
            window_size: CapSize::default(),
            context: 0,
            open: Vec::new(),
            begins_line: true,
            report: CapReport::default(),
            written: TextSize::default(),
            lines_written: 0,
            last_byte: None,
        }
    }

    /// Takes the next bytes of the output.
    pub(crate) fn write(&mut self, mut bytes: &[u8], sink: &mut dyn Sink) {
        self.report.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            bytes = self.take_from(bytes, sink);
        }
    }

    /// Writes what is held, as far as the limits allow: no input has arrived for a while.
    pub(crate) fn release(&mut self, sink: &mut dyn Sink) {
        let open = std::mem::take(&mut self.open);
        let (whole, rest) = open.split_at(whole_characters(&open));
        let may_be_notice = self.begins_line && self.marks && notice::looks_like_one(whole, false);
        if whole.is_empty() || may_be_notice {
            self.open = open;
        } else {
            self.take(whole, false, sink);
            self.open = rest.to_vec();
        }
        while self.middle.is_empty() && self.extend_head(sink) {}
    }

    /// Ends the output, and returns what was left out. The line that `note` returns is written last if anything was.
    ///
    /// `filter_note` is the last line that the filter wrote: it is removed if anything was left out.
    pub(crate) fn end(
        &mut self,
        has_failed: bool,
        filter_note: Option<&str>,
        sink: &mut dyn Sink,
        note: impl FnOnce(&CapReport) -> Option<String>,
    ) -> CapReport {
        let open = std::mem::take(&mut self.open);
        if !open.is_empty() {
            self.take(&open, true, sink);
        }
        self.settle(has_failed, sink);
        if !self.middle.is_empty() {
            self.drop_note(filter_note);
            self.drop_part_of_line();
        }
        let middle = std::mem::take(&mut self.middle);
        let window = std::mem::take(&mut self.window);
        for entry in middle {
            match entry {
                MiddleEntry::Kept(piece) => self.put(&piece.text, sink),
                MiddleEntry::Gap(gap) => self.put_gap(gap, sink),
            }
        }
        for piece in window {
            self.put(&piece.text, sink);
        }
        if self.report.is_cut()
            && let Some(line) = note(&self.report)
        {
            self.put_line(&line, sink);
        }
        self.report
    }

    /// Applies the limits for a command that failed, or for one that did not.
    fn settle(&mut self, has_failed: bool, sink: &mut dyn Sink) {
        if let Some(limit) = self.limit_of_failure.filter(|_| has_failed) {
            let fits = self.chars <= limit.bytes && self.report.lines <= limit.lines;
            if fits || !self.middle.is_empty() {
                return;
            }
            // The first lines say more of a failure than those of a success, of which the head is a preview.
            self.room_of_success = None;
            self.head_room = self.room.part(4);
            while self
                .window
                .front()
                .is_some_and(|first| self.head.plus(first.size).fits(self.head_room))
                && self.extend_head(sink)
            {}
            self.limit = self.room;
            return self.shrink(sink);
        }
        let Some(room) = self.room_of_success.take().filter(|_| !self.middle.is_empty()) else {
            return;
        };
        self.room = room;
        self.middle_size = CapSize::default();
        for entry in std::mem::take(&mut self.middle) {
            match entry {
                MiddleEntry::Kept(piece) => {
                    self.held -= piece.cost();
                    self.leave_window(piece);
                }
                MiddleEntry::Gap(gap) => self.leave_out_gap(gap),
            }
        }
        self.shrink(sink);
    }

    /// Adds a gap to the one before it.
    fn leave_out_gap(&mut self, gap: Gap) {
        let Some(MiddleEntry::Gap(before)) = self.middle.last_mut() else {
            return self.middle.push(MiddleEntry::Gap(gap));
        };
        before.lines += gap.lines;
        before.bytes += gap.bytes;
        before.last = gap.last;
        before.splits_line |= gap.splits_line;
        before.only = None;
    }

    /// Returns the number of bytes, characters and lines that were written.
    pub(crate) fn written(&self) -> (u64, u64, u64) {
        let open = u64::from(self.last_byte.is_some_and(|byte| byte != b'\n'));
        (self.written.bytes, self.written.chars, self.lines_written + open)
    }

    /// Returns the number of bytes of held pieces.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        let middle = self.middle.iter().filter_map(|entry| match entry {
            MiddleEntry::Kept(piece) => Some(piece),
            MiddleEntry::Gap(_) => None,
        });
        self.window.iter().chain(middle).map(Piece::cost).sum()
    }

    /// Takes a complete piece out of `bytes`, which continue the open one, and returns what follows it.
    fn take_from<'b>(&mut self, bytes: &'b [u8], sink: &mut dyn Sink) -> &'b [u8] {
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
            self.take(now, true, sink);
            return rest;
        }
        let mut piece = std::mem::take(&mut self.open);
        piece.extend_from_slice(now);
        let end = if line.is_some() { piece.len() } else { whole_characters(&piece) };
        let (whole, open) = piece.split_at(end);
        self.take(whole, line.is_some(), sink);
        self.open.extend_from_slice(open);
        rest
    }

    /// Takes a piece that ends with a line, with the text, or between two characters of a long line.
    fn take(&mut self, text: &[u8], ends_line: bool, sink: &mut dyn Sink) {
        let begins_line = std::mem::replace(&mut self.begins_line, ends_line);
        let mut shown = Cow::Borrowed(text);
        if begins_line {
            self.report.lines += 1;
            if self.marks {
                shown = notice::marked(text);
            }
        }
        let size = CapSize { lines: u64::from(begins_line), bytes: self.measure(&shown) };
        // Bytes that begin a character.
        self.chars += shown.iter().filter(|byte| **byte & 0xC0 != 0x80).count() as u64;
        if !self.is_past_head {
            let head = self.head.plus(size);
            if head.fits(self.head_room) {
                self.head = head;
                return self.put(&shown, sink);
            }
            self.is_past_head = true;
        }
        let text = shown.into_owned();
        let piece = Piece { text, size, line: self.report.lines, begins_line, ends_line };
        self.held += piece.cost();
        self.window_size = self.window_size.plus(size);
        self.window.push_back(piece);
        self.shrink(sink);
    }

    /// Returns the length of a text in bytes, or four times its number of tokens.
    fn measure(&self, text: &[u8]) -> u64 {
        if self.exact {
            let mut counter = tamis_tokens::counter();
            counter.push(text);
            return counter.end().tokens.saturating_mul(4);
        }
        _ = self.exact;
        text.len() as u64
    }

    /// Makes the window fit again.
    fn shrink(&mut self, sink: &mut dyn Sink) {
        loop {
            // As long as nothing is left out, no line has to report it.
            let room = if self.middle.is_empty() { self.limit } else { self.room };
            let fits = self.window_size.fits(room.minus(self.head).minus(self.middle_size));
            if fits && self.held <= self.held_limit {
                return;
            }
            if fits && self.middle.is_empty() && self.extend_head(sink) {
                continue;
            }
            let Some(piece) = self.pop_front() else { return };
            self.leave_window(piece);
        }
    }

    /// Writes the first piece of the window, if there is room before the tail. Nothing may be left out yet.
    fn extend_head(&mut self, sink: &mut dyn Sink) -> bool {
        let Some(first) = self.window.front() else { return false };
        let head = self.head.plus(first.size);
        if !head.plus(self.tail()).fits(self.room_of_success.unwrap_or(self.room)) {
            return false;
        }
        self.head = head;
        if let Some(piece) = self.pop_front() {
            self.put(&piece.text, sink);
        }
        true
    }

    /// The room that is kept for the tail.
    fn tail(&self) -> CapSize {
        self.room.part(8).at_least(CapSize { lines: 1, bytes: 1 })
    }

    fn pop_front(&mut self) -> Option<Piece> {
        let piece = self.window.pop_front()?;
        self.held -= piece.cost();
        self.window_size = self.window_size.minus(piece.size);
        Some(piece)
    }

    /// Keeps a piece in the middle, or leaves it out.
    fn leave_window(&mut self, piece: Piece) {
        let gap = match self.middle.last() {
            Some(MiddleEntry::Gap(_)) => GAP,
            _ => CapSize::default(),
        };
        let size = self.middle_size.plus(piece.size).plus(gap);
        let most = self.room.minus(self.head).minus(self.tail());
        let has_room = |size: CapSize, most| {
            size.fits(most) && self.held.saturating_add(piece.cost()) <= self.held_limit
        };
        let is_kept = if piece.is_line() && has_room(size, most) && is_failure(&piece.text) {
            self.context = CONTEXT;
            true
        } else {
            let is_context = self.context > 0
                && piece.is_line()
                && piece.text.first().is_some_and(|byte| matches!(byte, b' ' | b'\t'))
                && !piece.text.trim_ascii().is_empty()
                // The other half is for failures.
                && has_room(size, most.part(2));
            self.context = if is_context { self.context - 1 } else { 0 };
            is_context
        };
        if is_kept {
            self.held += piece.cost();
            self.middle_size = size;
            self.middle.push(MiddleEntry::Kept(piece));
        } else {
            self.leave_out(piece);
        }
    }

    fn leave_out(&mut self, piece: Piece) {
        let bytes = piece.text.len() as u64;
        self.leave_out_gap(Gap {
            lines: u64::from(piece.begins_line),
            bytes,
            first: piece.line,
            last: piece.line,
            splits_line: !piece.is_line(),
            only: Some(piece).filter(|piece| piece.is_line() && bytes <= GAP.bytes),
        });
    }

    /// Removes the note of the filter, which was written last.
    fn drop_note(&mut self, note: Option<&str>) {
        let Some(note) = note else { return };
        let is_note = |piece: &Piece| piece.text.strip_suffix(b"\n") == Some(note.as_bytes());
        if self.window.back().is_some_and(is_note) {
            self.report.lines -= 1;
            self.report.bytes -= note.len() as u64 + 1;
            if let Some(piece) = self.window.pop_back() {
                self.window_size = self.window_size.minus(piece.size);
            }
        }
    }

    /// Leaves out the rest of a line at the beginning of the tail, if a whole line follows.
    fn drop_part_of_line(&mut self) {
        let Some(whole) = self.window.iter().position(|piece| piece.begins_line) else { return };
        for _ in 0..whole {
            if let Some(piece) = self.pop_front() {
                self.leave_out(piece);
            }
        }
    }

    fn put_gap(&mut self, mut gap: Gap, sink: &mut dyn Sink) {
        let line = gap.line();
        if let Some(only) = gap.only.take().filter(|only| only.text.len() <= line.len() + 1) {
            return self.put(&only.text, sink);
        }
        self.report.lines_left_out += gap.lines;
        self.report.bytes_left_out += gap.bytes;
        self.report.splits_line |= gap.splits_line;
        let first = self.report.range.map_or(gap.first, |(first, _)| first);
        self.report.range = Some((first, gap.last));
        // Of two lines, the last one reports everything.
        if self.limit.lines > NOTICES.lines {
            self.put_line(&line, sink);
        }
    }

    /// Writes a line of our own.
    fn put_line(&mut self, line: &str, sink: &mut dyn Sink) {
        if self.last_byte.is_some_and(|byte| byte != b'\n') {
            self.put(b"\n", sink);
        }
        self.put(line.as_bytes(), sink);
        self.put(b"\n", sink);
    }

    fn put(&mut self, bytes: &[u8], sink: &mut dyn Sink) {
        self.written.add(bytes);
        self.lines_written += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.last_byte = bytes.last().copied().or(self.last_byte);
        sink.write(bytes);
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
