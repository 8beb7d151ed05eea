//! Passes a range of lines.
//!
//! A line ends with a newline, which belongs to it. The last line may have none. Lines before the range are only counted,
//! by a search for newlines; the first line after the range closes the stage, so that nothing after it is read.

use memchr::{memchr, memchr_iter};

use super::WindowRange;
use super::report::WindowFacts;
use super::stage::Stage;

/// The stage of `lines`. Lines keep their line endings.
pub(super) struct LineStage<N> {
    range: WindowRange,
    next: N,
    /// The number of the current line, from 1.
    line: u64,
    /// Whether the current line has bytes.
    in_line: bool,
}

impl<N: Stage> LineStage<N> {
    pub(super) fn new(range: WindowRange, next: N) -> Self {
        Self { range, next, line: 1, in_line: false }
    }

    fn is_past(&self) -> bool {
        self.range.last.is_some_and(|last| self.line > last)
    }

    /// Skips whole lines before the range. Returns the rest of the bytes.
    fn skip<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let ahead =
            usize::try_from(self.range.first.saturating_sub(self.line)).unwrap_or(usize::MAX);
        if ahead == 0 {
            return bytes;
        }
        // The end of the last line that is skipped, and the number of skipped lines.
        let mut end = bytes.len();
        let mut count = 0_u64;
        for at in memchr_iter(b'\n', bytes).take(ahead) {
            count += 1;
            end = at + 1;
        }
        self.line += count;
        if count < ahead as u64 {
            // The range begins in a later piece.
            self.in_line = bytes.last().is_some_and(|byte| *byte != b'\n');
            return &[];
        }
        self.in_line = false;
        bytes.get(end..).unwrap_or_default()
    }
}

impl<N: Stage> Stage for LineStage<N> {
    fn write(&mut self, bytes: &[u8]) {
        let mut rest = self.skip(bytes);
        while !rest.is_empty() && !self.is_past() && !self.next.is_closed() {
            let Some(last) = self.range.last else {
                // Without a last line everything passes, and the lines are only counted for the report.
                self.line += memchr_iter(b'\n', rest).count() as u64;
                self.in_line = rest.last().is_some_and(|byte| *byte != b'\n');
                self.next.write(rest);
                return;
            };
            debug_assert!(self.line <= last, "lines after the range are not passed");
            let end = memchr(b'\n', rest);
            let (line, later) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
            self.next.write(line);
            // A line without an end goes on with the next bytes.
            self.in_line = end.is_none();
            self.line += u64::from(end.is_some());
            rest = later;
        }
    }

    fn end(&mut self, facts: &mut WindowFacts) {
        if !self.next.is_closed() {
            facts.lines = Some(self.line - 1 + u64::from(self.in_line));
        }
        self.next.end(facts);
    }

    fn is_closed(&self) -> bool {
        self.is_past() || self.next.is_closed()
    }
}
