//! Equal lines in a row become one: `line (x3)`.
//!
//! Knows lines as they come. Holds one, and how often it came.

use std::io::Write;

use super::lines::{End, Line};

#[derive(Debug, Default)]
pub(super) struct Fold {
    held: Vec<u8>,
    /// How often it came.
    count: u64,
    /// How it ended, the last time and the times before.
    end: End,
    ends: End,
    /// Lines that went into others.
    folded: u64,
    /// Bytes that were compared.
    steps: u64,
}

impl Fold {
    pub(super) fn folded(&self) -> u64 {
        self.folded
    }

    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// Takes a line; the one before goes to `next` if this is another.
    pub(super) fn line(&mut self, line: Line<'_>, next: impl FnMut(Line<'_>)) {
        self.steps += line.text.len() as u64;
        // A last line without an end may be like those before, else lines have to end alike.
        let same_end = line.end == self.ends || line.end == End::Missing;
        if self.count > 0 && same_end && self.held == line.text {
            self.count += 1;
            self.end = line.end;
            return;
        }
        self.flush(next);
        self.held.extend_from_slice(line.text);
        self.count = 1;
        (self.end, self.ends) = (line.end, line.end);
    }

    /// Hands on what is held: as one line where that is shorter, else as the lines that came.
    pub(super) fn flush(&mut self, mut next: impl FnMut(Line<'_>)) {
        let Self { held, count, end, ends, .. } = self;
        if *count > 1 {
            let line = held.len();
            // Writing to memory does not fail.
            _ = write!(held, " (x{count})");
            let number = (held.len() - line) as u64;
            let other = (line + ends.bytes().len()) as u64;
            if number < other.saturating_mul(*count - 1) {
                self.folded += *count - 1;
                *count = 1;
            } else {
                held.truncate(line);
            }
        }
        for left in (0..*count).rev() {
            let end = if left == 0 { *end } else { *ends };
            next(Line { text: held, end });
        }
        held.clear();
        *count = 0;
    }
}
