//! Sections in which nothing is removed, such as the report of a failed test.
//!
//! The lines of a failure are arbitrary: a failed test may print the output of another test runner. So lines inside these
//! sections skip the sections and patterns of their rule, which only see the lines outside. Holds nothing itself.

use std::sync::Arc;

use super::lines::Line;
use super::sections::Section;
use super::stage::{self, LineStage, Next, Tally};

pub(super) struct Whole {
    sections: Arc<[Section]>,
    /// The section that is open.
    open: Option<usize>,
    /// The stages for lines outside the sections.
    outside: Vec<Box<dyn LineStage>>,
}

impl Whole {
    pub(super) fn new(sections: Arc<[Section]>, outside: Vec<Box<dyn LineStage>>) -> Self {
        Self { sections, open: None, outside }
    }

    /// Whether a line is in one of the sections.
    fn has(&mut self, text: &[u8]) -> bool {
        if let Some(section) = self.open.and_then(|open| self.sections.get(open)) {
            match &section.end {
                Some((inside, end)) if end.is_match(text) => {
                    self.open = None;
                    if *inside {
                        return true;
                    }
                }
                _ => return true,
            }
        }
        self.open = self.sections.iter().position(|section| section.from.is_match(text));
        self.open.is_some()
    }
}

impl LineStage for Whole {
    fn line(&mut self, line: Line<'_>, next: Next<'_>) {
        if self.has(line.text) {
            stage::flush(&mut self.outside, next);
            next(line);
        } else {
            stage::through(&mut self.outside, line, next);
        }
    }

    fn long(&mut self, head: &[u8], next: Next<'_>) -> bool {
        if self.has(head) {
            stage::flush(&mut self.outside, next);
            return true;
        }
        stage::past(&mut self.outside, head, next)
    }

    fn flush(&mut self, next: Next<'_>) {
        stage::flush(&mut self.outside, next);
    }

    fn release(&mut self, next: Next<'_>) {
        stage::release(&mut self.outside, next);
    }

    fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for stage in &self.outside {
            tally.add(stage.tally());
        }
        tally
    }
}
