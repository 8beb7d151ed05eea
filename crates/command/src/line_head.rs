//! [`LineHead`]: the beginning of each line of an output, which decides what reads the line.
//!
//! The beginning is held until the line ends, or up to a limit. Output arrives in chunks that are cut anywhere, and what is
//! passed on does not depend on them.

use memchr::memchr;

/// A part of a line.
pub(super) enum LinePart<'a> {
    /// The beginning of the line: all of it, with its end, or as many bytes as the limit.
    Head(&'a [u8]),
    /// More of the same line.
    Rest(&'a [u8]),
}

/// Divides an output into beginnings of lines and what follows them.
#[derive(Debug, Default)]
pub(super) struct LineHead {
    /// The beginning of the open line, until it is passed on.
    open: Vec<u8>,
    is_decided: bool,
    limit: usize,
}

impl LineHead {
    /// Creates a reader that holds at most `limit` bytes of a line.
    pub(super) fn new(limit: usize) -> Self {
        Self { open: Vec::new(), is_decided: false, limit }
    }

    pub(super) fn write(&mut self, mut bytes: &[u8], next: &mut dyn FnMut(LinePart<'_>)) {
        while !bytes.is_empty() {
            let line = memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
            let room = if self.is_decided { line } else { self.limit - self.open.len() };
            let (now, rest) = bytes.split_at(line.min(room));
            bytes = rest;
            let ends = now.ends_with(b"\n");
            if self.is_decided {
                next(LinePart::Rest(now));
            } else {
                self.open.extend_from_slice(now);
                if ends || self.open.len() >= self.limit {
                    self.release(next);
                }
            }
            if ends {
                self.is_decided = false;
            }
        }
    }

    /// Passes the beginning of the open line on.
    pub(super) fn release(&mut self, next: &mut dyn FnMut(LinePart<'_>)) {
        if !self.open.is_empty() {
            let open = std::mem::take(&mut self.open);
            self.is_decided = true;
            next(LinePart::Head(&open));
        }
    }
}

/// Returns a line without its end.
pub(super) fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}
