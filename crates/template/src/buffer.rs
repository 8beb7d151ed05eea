//! A buffer of bounded length.

use std::fmt::{self, Write as _};

/// Collects text up to a limit. Text beyond the limit is dropped, and [`is_full`](Self::is_full) reports it.
pub(super) struct TextBuffer<'o> {
    bytes: &'o mut Vec<u8>,
    left: usize,
    is_full: bool,
}

impl<'o> TextBuffer<'o> {
    /// Appends to `bytes`, at most `left` bytes.
    pub(super) fn new(bytes: &'o mut Vec<u8>, left: usize) -> Self {
        Self { bytes, left, is_full: false }
    }

    /// Bytes that may still be written.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Whether something was dropped.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    #[inline]
    pub(super) fn push_str(&mut self, text: &str) {
        match self.left.checked_sub(text.len()) {
            Some(left) => {
                self.left = left;
                self.bytes.extend_from_slice(text.as_bytes());
            }
            None => (self.left, self.is_full) = (0, true),
        }
    }

    #[inline]
    pub(super) fn push(&mut self, char: char) {
        self.push_str(char.encode_utf8(&mut [0; 4]));
    }

    pub(super) fn push_args(&mut self, text: fmt::Arguments<'_>) {
        // A full buffer is found by its flag.
        let _ = self.write_fmt(text);
    }

    /// Writes an ASCII character `count` times.
    pub(super) fn fill(&mut self, char: u8, count: usize) {
        match self.left.checked_sub(count) {
            Some(left) => {
                self.left = left;
                self.bytes.resize(self.bytes.len() + count, char);
            }
            None => (self.left, self.is_full) = (0, true),
        }
    }
}

impl fmt::Write for TextBuffer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        if self.is_full { Err(fmt::Error) } else { Ok(()) }
    }
}
