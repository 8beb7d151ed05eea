//! Sections of a text: from a line to a line. Lines outside the sections that are kept go, and those inside the sections
//! that are stripped.
//!
//! Fails open: until a section begins that is kept, lines are held up to a limit, and if none begins they all stay, for
//! then the text is not what the sections were written for. Beyond the limit they pass, too.

use std::sync::Arc;

use super::lines::Line;
use super::more::Pattern;
use super::stage::{LineStage, Next, Tally};

pub(super) struct Section {
    pub(super) keeps: bool,
    pub(super) from: Pattern,
    /// Whether the line that ends it is part of it, and the line.
    pub(super) end: Option<(bool, Pattern)>,
}

/// What is known of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// No section that is kept has begun; the lines wait.
    Nothing,
    /// One has: what is in none goes.
    Shape,
    /// There are none to be kept, or none began in time: what is in none stays.
    Open,
}

pub(super) struct Sections {
    sections: Arc<[Section]>,
    known: Known,
    /// The section that is open.
    open: Option<usize>,
    /// Lines that wait: text and how it ends.
    waiting: Vec<u8>,
    ends: Vec<(usize, super::lines::End)>,
    limit: usize,
    tally: Tally,
}

impl Sections {
    pub(super) fn new(sections: Arc<[Section]>, limit: usize) -> Self {
        let keeps = sections.iter().any(|section| section.keeps);
        Self {
            sections,
            known: if keeps { Known::Nothing } else { Known::Open },
            open: None,
            waiting: Vec::new(),
            ends: Vec::new(),
            limit,
            tally: Tally::default(),
        }
    }

    /// Whether the section to which a line belongs keeps it, if it belongs to one.
    fn judge(&mut self, text: &[u8]) -> Option<bool> {
        let sections = Arc::clone(&self.sections);
        if let Some(section) = self.open.and_then(|open| sections.get(open)) {
            match &section.end {
                Some((inside, end)) if end.is_match(text) => {
                    self.open = None;
                    if *inside {
                        return Some(section.keeps);
                    }
                }
                _ => return Some(section.keeps),
            }
        }
        let begins = sections.iter().position(|section| section.from.is_match(text))?;
        let section = sections.get(begins)?;
        // A section of one line ends where it begins.
        let over = matches!(&section.end, Some((true, end)) if end.is_match(text));
        if !over {
            self.open = Some(begins);
        }
        Some(section.keeps)
    }

    /// The lines that wait go on.
    fn release(&mut self, next: Next<'_>) {
        let mut begin = 0;
        for (length, end) in std::mem::take(&mut self.ends) {
            let text = self.waiting.get(begin..begin + length).unwrap_or_default();
            next(Line { text, end });
            begin += length;
        }
        self.waiting = Vec::new();
    }
}

impl LineStage for Sections {
    fn line(&mut self, line: Line<'_>, next: Next<'_>) {
        match (self.judge(line.text), self.known) {
            (Some(true), known) => {
                if known == Known::Nothing {
                    self.known = Known::Shape;
                    self.tally.removed += self.ends.len() as u64;
                    (self.waiting, self.ends) = (Vec::new(), Vec::new());
                }
                next(line);
            }
            (None, Known::Open) => next(line),
            (None, Known::Nothing) => {
                // An empty line has its cost, too.
                let used = self.waiting.len() + self.ends.len() * size_of::<(usize, u64)>();
                if used + line.text.len() > self.limit {
                    self.known = Known::Open;
                    self.release(next);
                    next(line);
                } else {
                    self.waiting.extend_from_slice(line.text);
                    self.ends.push((line.text.len(), line.end));
                }
            }
            (Some(false), _) | (None, Known::Shape) => self.tally.removed += 1,
        }
    }

    fn long(&mut self, _: &[u8], next: Next<'_>) -> bool {
        let open = self.open.and_then(|open| self.sections.get(open));
        match (open.map(|section| section.keeps), self.known) {
            (Some(keeps), _) => keeps,
            (None, Known::Shape) => false,
            (None, Known::Nothing) => {
                self.known = Known::Open;
                self.release(next);
                true
            }
            (None, Known::Open) => true,
        }
    }

    fn flush(&mut self, next: Next<'_>) {
        if self.known == Known::Nothing {
            self.release(next);
        }
    }

    /// A section that begins later shapes what follows it.
    fn release(&mut self, next: Next<'_>) {
        self.flush(next);
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
