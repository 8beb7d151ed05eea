//! Sections in which nothing is removed, such as the report of a failed test.
//!
//! The lines of a failure can be anything: a failed test may print the output of another test runner. So these lines
//! bypass the sections and patterns of the rule, which apply only to the lines outside. The stage holds nothing
//! itself.

use std::sync::Arc;

use super::line_sink::TextLine;
use super::line_stage::{self, EmitLine, LineStage, StageCounts};
use super::sections::CompiledSection;

pub(super) struct ProtectedSections {
    sections: Arc<[CompiledSection]>,
    /// Index of the open section.
    open: Option<usize>,
    /// The stages for lines outside the sections.
    outside: Vec<Box<dyn LineStage>>,
}

impl ProtectedSections {
    pub(super) fn new(sections: Arc<[CompiledSection]>, outside: Vec<Box<dyn LineStage>>) -> Self {
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

impl LineStage for ProtectedSections {
    fn line(&mut self, line: TextLine<'_>, next: EmitLine<'_>) {
        if self.has(line.text) {
            line_stage::flush(&mut self.outside, next);
            next(line);
        } else {
            line_stage::through(&mut self.outside, line, next);
        }
    }

    fn long(&mut self, head: &[u8], next: EmitLine<'_>) -> bool {
        if self.has(head) {
            line_stage::flush(&mut self.outside, next);
            return true;
        }
        line_stage::past(&mut self.outside, head, next)
    }

    fn flush(&mut self, next: EmitLine<'_>) {
        line_stage::flush(&mut self.outside, next);
    }

    fn release(&mut self, next: EmitLine<'_>) {
        line_stage::release(&mut self.outside, next);
    }

    fn tally(&self) -> StageCounts {
        let mut tally = StageCounts::default();
        for stage in &self.outside {
            tally.add(stage.tally());
        }
        tally
    }
}
