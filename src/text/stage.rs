//! A stage on lines before the patterns: takes lines, hands lines on, holds few.
//!
//! Sections, which are declared, and named engines, which are written for one tool, are such stages. A line that comes out counts
//! as one line of the input. Knows nothing of bytes, chunks or the way out; the stages after the patterns are
//! [entry stages](super::entry).
//!
//! A stage is linear in its lines, and what it holds has a limit. Lines come out in the order in which they are decided; a
//! line that a stage does not know passes.

use super::lines::Line;

/// What a stage did with lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Lines that are gone.
    pub(crate) removed: u64,
    /// Lines that are part of another.
    pub(crate) folded: u64,
    /// Lines that were made shorter, or written in another way.
    pub(crate) shortened: u64,
    /// Lines that have the form of a notice, and were marked.
    pub(crate) marked: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: Self) {
        self.removed += other.removed;
        self.folded += other.folded;
        self.shortened += other.shortened;
        self.marked += other.marked;
    }

    /// What was done beyond `other`.
    pub(super) fn since(self, other: Self) -> Self {
        Self {
            removed: self.removed.saturating_sub(other.removed),
            folded: self.folded.saturating_sub(other.folded),
            shortened: self.shortened.saturating_sub(other.shortened),
            marked: self.marked.saturating_sub(other.marked),
        }
    }
}

/// Takes what a stage hands on.
pub(crate) type Next<'a> = &'a mut dyn FnMut(Line<'_>);

pub(crate) trait LineStage: Send {
    /// Takes a line.
    fn line(&mut self, line: Line<'_>, next: Next<'_>);

    /// A line that is too long to be held comes by; its beginning is known. What is held goes first. Whether the line
    /// passes.
    fn long(&mut self, _head: &[u8], next: Next<'_>) -> bool {
        self.flush(next);
        true
    }

    /// Hands on what is held: the text is complete, or a line comes by that is too long.
    fn flush(&mut self, next: Next<'_>);

    /// No input has come for a while: hands on lines that are held and that a reader may wait for, such as the command that runs.
    /// What is held for a sum stays.
    fn release(&mut self, _next: Next<'_>) {}

    /// A line is about to leave before it is complete: hands on what must stand in front of it. What a
    /// [release](Self::release) hands on has gone.
    fn begin_early(&mut self, _next: Next<'_>) {}

    /// A line is complete that left before it was: it shapes what follows. What is handed on is not written again.
    fn end_early(&mut self, line: Line<'_>, next: Next<'_>) {
        self.line(line, next);
        self.release(next);
    }

    /// What was done so far.
    fn tally(&self) -> Tally;
}

/// Takes a line through stages, the first to the last. The depth is that of the list, a handful.
pub(super) fn through(stages: &mut [Box<dyn LineStage>], line: Line<'_>, out: Next<'_>) {
    match stages.split_first_mut() {
        None => out(line),
        Some((first, rest)) => first.line(line, &mut |line| through(rest, line, out)),
    }
}

/// Flushes stages, the first to the last.
pub(super) fn flush(stages: &mut [Box<dyn LineStage>], out: Next<'_>) {
    if let Some((first, rest)) = stages.split_first_mut() {
        first.flush(&mut |line| through(rest, line, out));
        flush(rest, out);
    }
}

/// Releases what stages hold, the first to the last.
pub(super) fn release(stages: &mut [Box<dyn LineStage>], out: Next<'_>) {
    if let Some((first, rest)) = stages.split_first_mut() {
        first.release(&mut |line| through(rest, line, out));
        release(rest, out);
    }
}

/// Asks stages for what must stand in front of a line that leaves early, the first to the last.
pub(super) fn begin_early(stages: &mut [Box<dyn LineStage>], out: Next<'_>) {
    if let Some((first, rest)) = stages.split_first_mut() {
        first.begin_early(&mut |line| through(rest, line, out));
        begin_early(rest, out);
    }
}

/// Shows stages a line that left early, now that it is complete.
pub(super) fn end_early(stages: &mut [Box<dyn LineStage>], line: Line<'_>) {
    if let Some((first, rest)) = stages.split_first_mut() {
        first.end_early(line, &mut |line| end_early(rest, line));
    }
}

/// Takes a long line past the stages. Whether it passes.
pub(super) fn past(stages: &mut [Box<dyn LineStage>], head: &[u8], out: Next<'_>) -> bool {
    match stages.split_first_mut() {
        None => true,
        Some((first, rest)) => {
            let passes = first.long(head, &mut |line| through(rest, line, out));
            passes && past(rest, head, out)
        }
    }
}
