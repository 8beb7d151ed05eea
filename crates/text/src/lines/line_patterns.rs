//! Decides by the patterns `strip` and `keep` which lines are kept.
//!
//! The pipeline calls [`LinePatterns`] directly. If a rule has sections in which nothing is removed,
//! [`LinePatternStage`] applies the patterns to the lines outside of them.

use std::sync::Arc;

use super::line_sink::TextLine;
use super::line_stage::{EmitLine, LineStage, StageCounts};
use super::pattern_list::{PatternList, PrefixMatch};

#[derive(Default)]
pub(super) struct LinePatterns {
    pub(super) strip: Option<PatternList>,
    pub(super) keep: Option<PatternList>,
}

impl LinePatterns {
    /// Whether a complete line is kept.
    #[inline]
    pub(super) fn keeps(&self, line: &[u8]) -> bool {
        !self.strip.as_ref().is_some_and(|strip| strip.matches(line))
            && self.keep.as_ref().is_none_or(|keep| keep.matches(line))
    }

    /// Whether a line that begins with `head` may be kept, before it is complete.
    pub(super) fn keeps_early(&self, head: &[u8]) -> bool {
        !self.strip.as_ref().is_some_and(|strip| strip.match_prefix(head) == PrefixMatch::Matches)
    }

    /// Whether a line that begins with `head` and is too long to be held is kept. `doubt` is returned if `head` does
    /// not decide.
    pub(super) fn keeps_long(&self, head: &[u8], doubt: bool) -> bool {
        let matches = |patterns: &PatternList, doubt| match patterns.match_prefix(head) {
            PrefixMatch::Matches => true,
            PrefixMatch::MatchesNot => false,
            PrefixMatch::Unknown => doubt,
        };
        !self.strip.as_ref().is_some_and(|strip| matches(strip, !doubt))
            && self.keep.as_ref().is_none_or(|keep| matches(keep, doubt))
    }
}

/// The patterns as a stage.
pub(super) struct LinePatternStage {
    sift: Arc<LinePatterns>,
    doubt: bool,
    removed: u64,
}

impl LinePatternStage {
    pub(super) fn new(sift: Arc<LinePatterns>, doubt: bool) -> Self {
        Self { sift, doubt, removed: 0 }
    }
}

impl LineStage for LinePatternStage {
    fn line(&mut self, line: TextLine<'_>, next: EmitLine<'_>) {
        if self.sift.keeps(line.text) {
            next(line);
        } else {
            self.removed += 1;
        }
    }

    fn long(&mut self, head: &[u8], _: EmitLine<'_>) -> bool {
        self.sift.keeps_long(head, self.doubt)
    }

    fn flush(&mut self, _: EmitLine<'_>) {}

    fn tally(&self) -> StageCounts {
        StageCounts { removed: self.removed, ..StageCounts::default() }
    }
}
