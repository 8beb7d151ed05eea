//! All that a terminal shows of a short text: what stands for the text where no operation makes it shorter.
//!
//! Knows lines as [`Lines`](super::lines::Lines) finds them, and no operation. Lines that have the form of a notice are marked in
//! it. Holds a few KiB: once it is [stopped](Clean::stop) it holds nothing.

use super::lines::End;
use crate::notice;

#[derive(Debug)]
pub(super) struct Clean {
    text: Vec<u8>,
    /// Where the open line begins.
    line: usize,
    /// Lines that have the form of a notice are marked.
    marks: bool,
    marked: u64,
    stopped: bool,
}

impl Clean {
    pub(super) fn new(marks: bool) -> Self {
        Self { text: Vec::new(), line: 0, marks, marked: 0, stopped: false }
    }

    /// Nothing more is wanted.
    pub(super) fn stop(&mut self) {
        self.stopped = true;
        self.text = Vec::new();
    }

    /// The text, if all of it is here.
    pub(super) fn text(&self) -> Option<&[u8]> {
        (!self.stopped).then_some(&self.text)
    }

    /// Lines of it that are marked.
    pub(super) fn marked(&self) -> u64 {
        self.marked
    }

    /// A whole line.
    #[inline]
    pub(super) fn line(&mut self, text: &[u8], end: End) {
        if !self.stopped {
            self.begin_part(text, true);
            self.end(end);
        }
    }

    /// The beginning of a line.
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

    /// More of a line.
    pub(super) fn part(&mut self, text: &[u8]) {
        if !self.stopped {
            self.text.extend_from_slice(text);
        }
    }

    /// The line ends.
    pub(super) fn end(&mut self, end: End) {
        self.part(end.bytes());
        self.line = self.text.len();
    }

    /// The text of the line so far is kept, on a line of its own.
    pub(super) fn break_line(&mut self) {
        self.part(b"\n");
        self.line = self.text.len();
    }

    /// The text of the line so far is removed.
    pub(super) fn erase_line(&mut self) {
        self.text.truncate(self.line);
    }
}
