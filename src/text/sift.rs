//! Which lines the patterns of a filter keep: `strip` and `keep`.
//!
//! The engine asks [`Sift`] directly. Where a rule has sections in which nothing is removed, [`SiftStage`] asks it for the
//! lines outside.

use std::sync::Arc;

use super::lines::Line;
use super::patterns::{Patterns, Verdict};
use super::stage::{LineStage, Next, Tally};

#[derive(Default)]
pub(super) struct Sift {
    pub(super) strip: Option<Patterns>,
    pub(super) keep: Option<Patterns>,
}

impl Sift {
    /// Whether a line is kept.
    #[inline]
    pub(super) fn keeps(&self, line: &[u8]) -> bool {
        !self.strip.as_ref().is_some_and(|strip| strip.matches(line))
            && self.keep.as_ref().is_none_or(|keep| keep.matches(line))
    }

    /// Whether a line that is not complete may be kept.
    pub(super) fn keeps_early(&self, head: &[u8]) -> bool {
        !self.strip.as_ref().is_some_and(|strip| strip.judge(head) == Verdict::Matches)
    }

    /// Whether a line is kept that is too long to be held; `doubt` is the answer where its beginning does not decide.
    pub(super) fn keeps_long(&self, head: &[u8], doubt: bool) -> bool {
        let matches = |patterns: &Patterns, doubt| match patterns.judge(head) {
            Verdict::Matches => true,
            Verdict::MatchesNot => false,
            Verdict::Unknown => doubt,
        };
        !self.strip.as_ref().is_some_and(|strip| matches(strip, !doubt))
            && self.keep.as_ref().is_none_or(|keep| matches(keep, doubt))
    }
}

/// The patterns as a stage.
pub(super) struct SiftStage {
    sift: Arc<Sift>,
    doubt: bool,
    removed: u64,
}

impl SiftStage {
    pub(super) fn new(sift: Arc<Sift>, doubt: bool) -> Self {
        Self { sift, doubt, removed: 0 }
    }
}

impl LineStage for SiftStage {
    fn line(&mut self, line: Line<'_>, next: Next<'_>) {
        if self.sift.keeps(line.text) {
            next(line);
        } else {
            self.removed += 1;
        }
    }

    fn long(&mut self, head: &[u8], _: Next<'_>) -> bool {
        self.sift.keeps_long(head, self.doubt)
    }

    fn flush(&mut self, _: Next<'_>) {}

    fn tally(&self) -> Tally {
        Tally { removed: self.removed, ..Tally::default() }
    }
}
