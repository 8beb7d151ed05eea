//! Replaces equal or similar lines in a row by the first of them and a count: `line (x3)`, `12:00:01 retrying (x3
//! alike)`.
//!
//! [`Similarity`] decides which lines are similar. Memory: one line, and its key and that of the next line.

use std::sync::Arc;

use super::entry_stage::{EmitEntry, EntryRole, EntryStage, HeldEntry, LineEntry};
use super::line_end::LineEnd;
use super::similarity::{Similarity, add_fold_mark};

/// More bytes than the count at the end of a line can have.
const NUMBER: u64 = 80;

#[derive(Debug)]
pub(super) struct DedupAdjacent {
    similarity: Arc<Similarity>,
    /// The first line of the run, if `count` is not 0.
    held: HeldEntry,
    key: Vec<u8>,
    other: Vec<u8>,
    /// A buffer for the count.
    mark: Vec<u8>,
    /// Number of entries in the run; bytes of all of them except the first.
    count: u64,
    others: u64,
    ends: LineEnd,
    /// Whether all lines of the run are equal.
    equal: bool,
    /// The last line, if not all are equal.
    last: Vec<u8>,
    /// The lines of the run except the first, until they are certainly longer than a count. Empty if lines must be
    /// equal, because then the first line reproduces them.
    short: Vec<HeldEntry>,
    #[cfg(test)]
    steps: u64,
}

impl DedupAdjacent {
    pub(super) fn new(similarity: Arc<Similarity>) -> Self {
        Self {
            similarity,
            held: HeldEntry::default(),
            key: Vec::new(),
            other: Vec::new(),
            mark: Vec::new(),
            count: 0,
            others: 0,
            ends: LineEnd::Missing,
            equal: true,
            last: Vec::new(),
            short: Vec::new(),
            #[cfg(test)]
            steps: 0,
        }
    }

    /// Whether an entry belongs to the open run.
    fn is_like(&mut self, entry: &LineEntry<'_>) -> bool {
        // Lines must have the same end. Only the last line of the text may lack it.
        let same_end = entry.end == self.ends || entry.end == LineEnd::Missing;
        if self.similarity.is_equality() {
            return self.count > 0
                && same_end
                && self.held.role == entry.role
                && self.held.text == entry.text;
        }
        self.other.clear();
        self.similarity.key(entry.text, &mut self.other);
        self.count > 0 && same_end && self.held.role == entry.role && self.key == self.other
    }
}

impl EntryStage for DedupAdjacent {
    fn entry(&mut self, entry: LineEntry<'_>, next: EmitEntry<'_>) {
        #[cfg(test)]
        {
            self.steps += entry.text.len() as u64;
        }
        if entry.role == EntryRole::Heading {
            self.flush(next);
            return next(entry);
        }
        if self.is_like(&entry) {
            if self.others <= NUMBER && !self.similarity.is_equality() {
                self.short.push(entry.into());
            }
            self.count += 1;
            self.others += (entry.text.len() + self.ends.bytes().len()) as u64;
            self.equal &= self.held.text == entry.text;
            if !self.equal {
                self.last.clear();
                self.last.extend_from_slice(entry.text);
            }
            self.held.end = entry.end;
            self.held.lines += entry.lines;
            self.held.shortened += entry.shortened;
            return;
        }
        self.flush(next);
        std::mem::swap(&mut self.key, &mut self.other);
        let HeldEntry { text, end, role, lines, shortened } = &mut self.held;
        text.extend_from_slice(entry.text);
        (*end, *role, *lines, *shortened) = (entry.end, entry.role, entry.lines, entry.shortened);
        (self.count, self.others, self.equal) = (1, 0, true);
        self.ends = entry.end;
    }

    /// Ends the run: writes one line with a count if that is shorter, or else the original lines.
    fn flush(&mut self, next: EmitEntry<'_>) {
        let Self { similarity, held, mark, short, count, ends, others, equal, last, .. } = self;
        let line = held.text.len();
        if *count > 1 {
            let is_grave = similarity.is_grave(&held.text);
            mark.clear();
            add_fold_mark(
                mark,
                held.lines,
                *equal,
                similarity.time(&held.text, is_grave),
                similarity.time(last, is_grave),
            );
            held.text.extend_from_slice(mark);
        }
        let number = (held.text.len() - line) as u64;
        if *count > 1 && number < *others {
            next(held.entry());
        } else if let Some(lines) = held.lines.checked_div(*count) {
            held.text.truncate(line);
            let last = held.end;
            held.lines = lines;
            held.shortened = held.shortened.min(held.lines);
            // If any lines were stored, all were: the run is shorter than `NUMBER`.
            let others = *count - 1 - short.len() as u64;
            for left in (0..=others).rev() {
                held.end = if left == 0 && short.is_empty() { last } else { *ends };
                next(held.entry());
            }
            short.iter().for_each(|one| next(one.entry()));
        }
        held.text.clear();
        short.clear();
        *count = 0;
    }

    #[cfg(test)]
    fn steps(&self) -> u64 {
        self.steps
    }
}
