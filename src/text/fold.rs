//! Lines in a row that are equal or alike become one: `line (x3)`, `12:00:01 retrying (x3 alike)`; the first of them stays.
//!
//! What is alike a [`Likeness`] says. Holds one line, and one more as it is compared.

use std::io::Write;
use std::sync::Arc;

use super::alike::Likeness;
use super::entry::{Entry, EntryStage, Held, Pass, Role};
use super::lines::End;

/// No number of lines takes more bytes to be told than this.
const NUMBER: u64 = 40;

#[derive(Debug)]
pub(super) struct Fold {
    likeness: Arc<Likeness>,
    /// The first of the lines, if `count` is not 0.
    held: Held,
    key: Vec<u8>,
    other: Vec<u8>,
    /// How many entries it stands for; how many bytes the others had.
    count: u64,
    others: u64,
    ends: End,
    /// All of them are the same.
    equal: bool,
    /// The others, while it is not certain that one line is shorter than they are; not those that are equal by rule.
    short: Vec<Held>,
    #[cfg(test)]
    steps: u64,
}

impl Fold {
    pub(super) fn new(likeness: Arc<Likeness>) -> Self {
        Self {
            likeness,
            held: Held::default(),
            key: Vec::new(),
            other: Vec::new(),
            count: 0,
            others: 0,
            ends: End::Missing,
            equal: true,
            short: Vec::new(),
            #[cfg(test)]
            steps: 0,
        }
    }

    /// Whether a line goes into the one that is held.
    fn is_like(&mut self, entry: &Entry<'_>) -> bool {
        // A last line without an end may be like those before, else lines have to end alike.
        let same_end = entry.end == self.ends || entry.end == End::Missing;
        if self.likeness.is_equality() {
            return self.count > 0
                && same_end
                && self.held.role == entry.role
                && self.held.text == entry.text;
        }
        self.other.clear();
        self.likeness.key(entry.text, &mut self.other);
        self.count > 0 && same_end && self.held.role == entry.role && self.key == self.other
    }
}

impl EntryStage for Fold {
    fn entry(&mut self, entry: Entry<'_>, next: Pass<'_>) {
        #[cfg(test)]
        {
            self.steps += entry.text.len() as u64;
        }
        if entry.role == Role::Heading {
            self.flush(next);
            return next(entry);
        }
        if self.is_like(&entry) {
            if self.others <= NUMBER && !self.likeness.is_equality() {
                self.short.push(entry.into());
            }
            self.count += 1;
            self.others += (entry.text.len() + self.ends.bytes().len()) as u64;
            self.equal &= self.held.text == entry.text;
            self.held.end = entry.end;
            self.held.lines += entry.lines;
            self.held.shortened += entry.shortened;
            return;
        }
        self.flush(next);
        std::mem::swap(&mut self.key, &mut self.other);
        let Held { text, end, role, lines, shortened } = &mut self.held;
        text.extend_from_slice(entry.text);
        (*end, *role, *lines, *shortened) = (entry.end, entry.role, entry.lines, entry.shortened);
        (self.count, self.others, self.equal) = (1, 0, true);
        self.ends = entry.end;
    }

    /// One line where that is shorter, else the lines that came.
    fn flush(&mut self, next: Pass<'_>) {
        let Self { held, short, count, ends, others, equal, .. } = self;
        let line = held.text.len();
        if *count > 1 {
            let word = if *equal { "" } else { " alike" };
            // Writing to memory does not fail.
            _ = write!(held.text, " (x{}{word})", held.lines);
        }
        let number = (held.text.len() - line) as u64;
        if *count > 1 && number < *others {
            next(held.entry());
        } else if let Some(lines) = held.lines.checked_div(*count) {
            held.text.truncate(line);
            let last = held.end;
            held.lines = lines;
            held.shortened = held.shortened.min(held.lines);
            // Those that were short are all there are.
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
