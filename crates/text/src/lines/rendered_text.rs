//! The whole of a short text as a terminal shows it. It replaces the output if no operation makes the text shorter.
//!
//! The lines come from [`LineSplitter`](super::line_splitter::LineSplitter). Lines that look like a notice are
//! marked. Memory: a few KiB, and nothing once [stopped](RenderedText::stop).

use super::line_end::LineEnd;
use crate::notice;

#[derive(Debug)]
pub(super) struct RenderedText {
    text: Vec<u8>,
    /// Where the open line begins.
    line: usize,
    /// Whether lines that look like a notice are marked.
    marks: bool,
    marked: u64,
    stopped: bool,
}

impl RenderedText {
    pub(super) fn new(marks: bool) -> Self {
        Self { text: Vec::new(), line: 0, marks, marked: 0, stopped: false }
    }

    /// Stops collecting: the output is certain to be used.
    pub(super) fn stop(&mut self) {
        self.stopped = true;
        self.text = Vec::new();
    }

    /// Returns the text, if all of it was collected.
    pub(super) fn text(&self) -> Option<&[u8]> {
        (!self.stopped).then_some(&self.text)
    }

    /// Number of marked lines.
    pub(super) fn marked(&self) -> u64 {
        self.marked
    }

    /// Adds a complete line.
    #[inline]
    pub(super) fn line(&mut self, text: &[u8], end: LineEnd) {
        if !self.stopped {
            self.begin_part(text, true);
            self.end(end);
        }
    }

    /// Adds the beginning of a line. `whole` is true if it is the complete line.
    pub(super) fn begin_part(&mut self, text: &[u8], whole: bool) {
        if self.stopped {
            return;
        }
        if !self.marks {
            self.text.extend_from_slice(text);
        } else if whole {
            let marked = notice::marked(text);
            self.marked += u64::from(marked.len() > text.len());
            self.text.extend_from_slice(&marked);
        } else {
            if notice::looks_like_one(text, false) {
                self.marked += 1;
                self.text.extend_from_slice(notice::MARK.as_bytes());
            }
            self.text.extend_from_slice(text);
        }
    }

    /// Adds more of the open line.
    pub(super) fn part(&mut self, text: &[u8]) {
        if !self.stopped {
            self.text.extend_from_slice(text);
        }
    }

    /// Ends the open line.
    pub(super) fn end(&mut self, end: LineEnd) {
        self.part(end.bytes());
        self.line = self.text.len();
    }

    /// Ends the open line with a line feed. Its text was already written, so it cannot be overwritten.
    pub(super) fn break_line(&mut self) {
        self.part(b"\n");
        self.line = self.text.len();
    }

    /// Removes the text of the open line.
    pub(super) fn erase_line(&mut self) {
        self.text.truncate(self.line);
    }
}
