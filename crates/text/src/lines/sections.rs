//! Sections: from a line that matches a pattern to another one. Removes lines outside the sections that are kept, and
//! lines inside the sections that are stripped.
//!
//! If no kept section begins, all lines are kept, because the text is not what the sections were written for. Until
//! one begins, lines are held up to a limit; beyond the limit they are written.

use std::sync::Arc;

use regex::bytes::Regex;

use super::line_end::LineEnd;
use super::line_sink::TextLine;

use super::line_stage::{EmitLine, LineStage, StageCounts};

pub(super) struct CompiledSection {
    pub(super) keeps: bool,
    pub(super) from: Regex,
    /// The pattern of the line that ends the section, and whether that line belongs to the section.
    pub(super) end: Option<(bool, Regex)>,
}

/// Knowledge about the text so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SectionState {
    /// No kept section has begun yet. Lines are held.
    Nothing,
    /// A kept section has begun. Lines outside of sections are removed.
    Shape,
    /// No section is kept, or none began in time. Lines outside of sections are kept.
    Open,
}

pub(super) struct SectionStage {
    sections: Arc<[CompiledSection]>,
    known: SectionState,
    /// Index of the open section.
    open: Option<usize>,
    /// The held lines: their texts, and the length and line end of each.
    waiting: Vec<u8>,
    ends: Vec<(usize, LineEnd)>,
    limit: usize,
    tally: StageCounts,
}

impl SectionStage {
    pub(super) fn new(sections: Arc<[CompiledSection]>, limit: usize) -> Self {
        let keeps = sections.iter().any(|section| section.keeps);
        Self {
            sections,
            known: if keeps { SectionState::Nothing } else { SectionState::Open },
            open: None,
            waiting: Vec::new(),
            ends: Vec::new(),
            limit,
            tally: StageCounts::default(),
        }
    }

    /// Returns whether the section of a line keeps it, or `None` if the line is in no section.
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
        // A section may begin and end with the same line.
        let over = matches!(&section.end, Some((true, end)) if end.is_match(text));
        if !over {
            self.open = Some(begins);
        }
        Some(section.keeps)
    }

    /// Writes the held lines.
    fn release(&mut self, next: EmitLine<'_>) {
        let mut begin = 0;
        for (length, end) in std::mem::take(&mut self.ends) {
            let text = self.waiting.get(begin..begin + length).unwrap_or_default();
            next(TextLine { text, end });
            begin += length;
        }
        self.waiting = Vec::new();
    }
}

impl LineStage for SectionStage {
    fn line(&mut self, line: TextLine<'_>, next: EmitLine<'_>) {
        match (self.judge(line.text), self.known) {
            (Some(true), known) => {
                if known == SectionState::Nothing {
                    self.known = SectionState::Shape;
                    self.tally.removed += self.ends.len() as u64;
                    (self.waiting, self.ends) = (Vec::new(), Vec::new());
                }
                next(line);
            }
            (None, SectionState::Open) => next(line),
            (None, SectionState::Nothing) => {
                // Empty lines need memory, too.
                let used = self.waiting.len() + self.ends.len() * size_of::<(usize, u64)>();
                if used + line.text.len() > self.limit {
                    self.known = SectionState::Open;
                    self.release(next);
                    next(line);
                } else {
                    self.waiting.extend_from_slice(line.text);
                    self.ends.push((line.text.len(), line.end));
                }
            }
            (Some(false), _) | (None, SectionState::Shape) => self.tally.removed += 1,
        }
    }

    fn long(&mut self, _: &[u8], next: EmitLine<'_>) -> bool {
        let open = self.open.and_then(|open| self.sections.get(open));
        match (open.map(|section| section.keeps), self.known) {
            (Some(keeps), _) => keeps,
            (None, SectionState::Shape) => false,
            (None, SectionState::Nothing) => {
                self.known = SectionState::Open;
                self.release(next);
                true
            }
            (None, SectionState::Open) => true,
        }
    }

    fn flush(&mut self, next: EmitLine<'_>) {
        if self.known == SectionState::Nothing {
            self.release(next);
        }
    }

    /// Only writes the held lines. A kept section that begins later still applies to the lines after it.
    fn release(&mut self, next: EmitLine<'_>) {
        self.flush(next);
    }

    fn tally(&self) -> StageCounts {
        self.tally
    }
}
