//! The last stages of a window: `offset` and `limit`, then the marks of imitated notices.
//!
//! The window is cut before it is marked. So an offset counts bytes of the entry's text, whatever was marked in earlier
//! windows, and a text cannot use the beginning of a window, which it may know in advance, to show a notice.

use std::cell::Cell;
use std::rc::Rc;

use tamis::Sink;
use tamis::text::mark_notices;

use super::report::WindowFacts;
use super::stage::Stage;

/// Cuts the window. Cuts only between characters, so that the next window begins with a whole one.
pub(super) struct CutStage<'a> {
    /// Bytes that are still to be skipped.
    skip: u64,
    /// Bytes before those that arrive, for the total.
    position: u64,
    limit: Option<u64>,
    written: u64,
    /// Whether more bytes arrived than the limit allows.
    is_full: bool,
    /// The beginning of a character whose end has not arrived.
    open: Vec<u8>,
    marks: MarkStage<'a>,
}

impl<'a> CutStage<'a> {
    /// `skipped` bytes of `offset` do not arrive.
    pub(super) fn new(offset: u64, skipped: u64, limit: Option<u64>, marks: MarkStage<'a>) -> Self {
        Self {
            skip: offset - skipped.min(offset),
            position: skipped,
            limit,
            written: 0,
            is_full: false,
            open: Vec::new(),
            marks,
        }
    }

    /// Writes bytes that begin and end between characters.
    fn write_chars(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || self.is_full {
            return;
        }
        let room = self.limit.map_or(u64::MAX, |limit| limit.saturating_sub(self.written));
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let mut fits = bytes;
        if let Some(head) = bytes.get(..room).filter(|head| head.len() < bytes.len()) {
            self.is_full = true;
            fits = head.get(..char_start(bytes, room)).unwrap_or_default();
            if fits.is_empty() && self.written == 0 {
                // A window smaller than its first character would never go on.
                fits = bytes.get(..char_end(bytes)).unwrap_or_default();
            }
        }
        self.written += fits.len() as u64;
        self.marks.write(fits);
    }
}

impl Stage for CutStage<'_> {
    fn write(&mut self, mut bytes: &[u8]) {
        self.position += bytes.len() as u64;
        let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(bytes.len());
        self.skip -= skipped as u64;
        bytes = bytes.get(skipped..).unwrap_or_default();
        // A character may be cut by the pieces in which bytes arrive. It waits for its end.
        if !self.open.is_empty() {
            let missing = char_length(&self.open) - self.open.len();
            let more =
                bytes.iter().take(missing).take_while(|byte| is_continuation(**byte)).count();
            let (end, later) = bytes.split_at(more);
            self.open.extend_from_slice(end);
            if more < missing && later.is_empty() {
                return;
            }
            bytes = later;
            let whole = std::mem::take(&mut self.open);
            self.write_chars(&whole);
        }
        let (whole, open) = bytes.split_at(bytes.len() - open_char(bytes));
        self.write_chars(whole);
        self.open.extend_from_slice(open);
    }

    fn end(&mut self, facts: &mut WindowFacts) {
        let open = std::mem::take(&mut self.open);
        self.write_chars(&open);
        self.marks.end();
        facts.bytes = self.written;
        facts.more = self.is_full;
        if !self.is_full {
            facts.total.get_or_insert(self.position);
        }
    }

    fn is_closed(&self) -> bool {
        self.is_full || self.marks.out.is_closed()
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Returns the length of the character that begins with these bytes, as its first byte says.
fn char_length(bytes: &[u8]) -> usize {
    match bytes.first() {
        Some(0xC2..=0xDF) => 2,
        Some(0xE0..=0xEF) => 3,
        Some(0xF0..=0xF4) => 4,
        _ => 1,
    }
}

/// Returns the length of the first character, as far as it is there.
fn char_end(bytes: &[u8]) -> usize {
    let rest = bytes.iter().skip(1).take(char_length(bytes).saturating_sub(1));
    1 + rest.take_while(|byte| is_continuation(**byte)).count()
}

/// Returns the start of the character that contains the byte at `at`. Bytes that are not UTF-8 are characters.
fn char_start(bytes: &[u8], at: usize) -> usize {
    let first = at.saturating_sub(3);
    let start =
        (first..=at).rev().find(|at| bytes.get(*at).is_some_and(|byte| !is_continuation(*byte)));
    match start.and_then(|start| Some((start, bytes.get(start..)?))) {
        Some((start, char)) if start + char_length(char) > at => start,
        _ => at,
    }
}

/// Returns the number of bytes at the end that are the beginning of a character.
fn open_char(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(3);
    let start = (tail..bytes.len())
        .rev()
        .find(|at| bytes.get(*at).is_some_and(|byte| !is_continuation(*byte)));
    match start.and_then(|start| bytes.get(start..)) {
        Some(char) if char_length(char) > char.len() => char.len(),
        _ => 0,
    }
}

/// Where imitations of notices are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkMode {
    /// Nowhere: the window begins where its JSON text begins.
    Nothing,
    /// At the beginning of the window, which may be inside a string. JSON values are not changed.
    Beginning,
    /// At the beginning of the window and of each line: the text is the tool's.
    Lines,
}

/// The longest line that is tested as a whole. Later pieces of a longer line are tested after their first line break.
const LONGEST: usize = 64 << 10;
/// The mark before a line that imitates a notice.
const MARK: &[u8] = b"| ";
/// Bytes at the beginning of JSON that are tested.
const BEGINNING: usize = 4 << 10;

/// Marks lines that imitate a notice of tamis, and writes to the receiver.
pub(super) struct MarkStage<'a> {
    /// Decided before the first byte.
    mode: Rc<Cell<MarkMode>>,
    out: &'a mut dyn Sink,
    /// The open line, or the beginning of JSON.
    held: Vec<u8>,
    /// Whether the held text continues a line, or JSON after its beginning.
    continues: bool,
}

impl<'a> MarkStage<'a> {
    pub(super) fn new(mode: Rc<Cell<MarkMode>>, out: &'a mut dyn Sink) -> Self {
        Self { mode, out, held: Vec::new(), continues: false }
    }

    fn write(&mut self, mut bytes: &[u8]) {
        match self.mode.get() {
            MarkMode::Lines => {
                while !bytes.is_empty() {
                    let room = LONGEST - self.held.len();
                    let piece = bytes.get(..room).unwrap_or(bytes);
                    let end = memchr::memchr(b'\n', piece).map(|at| at + 1);
                    let (line, _) = piece.split_at(end.unwrap_or(piece.len()));
                    self.held.extend_from_slice(line);
                    bytes = bytes.get(line.len()..).unwrap_or_default();
                    if end.is_some() || self.held.len() == LONGEST {
                        self.release_line();
                        self.continues = end.is_none();
                    }
                }
            }
            // Enough bytes for the test are collected first.
            MarkMode::Beginning if !self.continues => {
                self.held.extend_from_slice(bytes);
                if self.held.len() >= BEGINNING {
                    self.release_beginning();
                }
            }
            _ => self.out.write(bytes),
        }
    }

    fn end(&mut self) {
        match self.mode.get() {
            MarkMode::Lines => self.release_line(),
            MarkMode::Beginning if !self.continues => self.release_beginning(),
            _ => {}
        }
    }

    /// Writes the held line, with its marks.
    fn release_line(&mut self) {
        let mut held = std::mem::take(&mut self.held);
        if self.continues {
            // No notice begins with this byte, so only places after a line break are marked.
            held.insert(0, b'x');
            self.out.write(mark_notices(&held).get(1..).unwrap_or_default());
        } else {
            let (line, end) = match held.strip_suffix(b"\n") {
                Some(line) => (line, &b"\n"[..]),
                None => (&held[..], &b""[..]),
            };
            self.out.write(&mark_notices(line));
            self.out.write(end);
        }
        held.clear();
        self.held = held;
    }

    /// Writes the beginning of JSON, with a mark if it looks like a notice.
    fn release_beginning(&mut self) {
        let held = std::mem::take(&mut self.held);
        let head = held.get(..BEGINNING).unwrap_or(&held);
        let marked = mark_notices(head);
        // Places inside are not marked: they may be in a value.
        if marked.starts_with(MARK) && !head.starts_with(MARK) {
            self.out.write(MARK);
        }
        self.out.write(&held);
        self.continues = true;
    }
}
