//! Stages before the patterns. A stage reads lines and writes lines.
//!
//! Sections, which rules declare, and engines, which are code for one tool, are such stages. Each written line counts
//! as one input line. A stage does not know bytes, chunks or the output; the stages after the patterns are
//! entry stages (`entry_stage`).
//!
//! A stage does linear work, and everything it holds has a limit. Lines are written in the order in which they are
//! decided. A stage keeps lines that it does not recognise.

use super::line_sink::TextLine;

/// Numbers of lines that a stage changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageCounts {
    /// Lines removed.
    pub removed: u64,
    /// Lines that became part of another line.
    pub folded: u64,
    /// Lines that were shortened or rewritten.
    pub shortened: u64,
    /// Lines that look like a notice and were marked.
    pub marked: u64,
}

impl StageCounts {
    pub(super) fn add(&mut self, other: Self) {
        self.removed += other.removed;
        self.folded += other.folded;
        self.shortened += other.shortened;
        self.marked += other.marked;
    }

    /// Returns the counts since `other`.
    pub(super) fn since(self, other: Self) -> Self {
        Self {
            removed: self.removed.saturating_sub(other.removed),
            folded: self.folded.saturating_sub(other.folded),
            shortened: self.shortened.saturating_sub(other.shortened),
            marked: self.marked.saturating_sub(other.marked),
        }
    }
}

/// Receives the lines that a stage writes.
pub type EmitLine<'a> = &'a mut dyn FnMut(TextLine<'_>);

/// An operation on the lines of a text.
pub trait LineStage: Send {
    /// Processes a line.
    fn line(&mut self, line: TextLine<'_>, next: EmitLine<'_>);

    /// A line that begins with `head` and is too long to be held follows. Writes everything held. Returns whether the
    /// line is kept.
    fn long(&mut self, _head: &[u8], next: EmitLine<'_>) -> bool {
        self.flush(next);
        true
    }

    /// Writes everything held: the text has ended, or a line follows that is too long to be held.
    fn flush(&mut self, next: EmitLine<'_>);

    /// Writes held lines that a reader may be waiting for, such as the running command: no input has arrived for a
    /// while. Lines held for a sum stay held.
    fn release(&mut self, _next: EmitLine<'_>) {}

    /// A line is about to be written before it has ended. Writes lines that must precede it. A
    /// [release](Self::release) has come before.
    fn begin_early(&mut self, _next: EmitLine<'_>) {}

    /// A line that was written before it had ended is now complete, so that the stage can update its state. Lines
    /// written here are discarded, because the line itself is already in the output.
    fn end_early(&mut self, line: TextLine<'_>, next: EmitLine<'_>) {
        self.line(line, next);
        self.release(next);
    }

    /// Returns what the stage has done so far.
    fn tally(&self) -> StageCounts;
}

/// Passes a line through the stages in order. Recursion is as deep as the list, which has a handful of stages.
pub(super) fn through(stages: &mut [Box<dyn LineStage>], line: TextLine<'_>, out: EmitLine<'_>) {
    match stages.split_first_mut() {
        None => out(line),
        Some((first, rest)) => first.line(line, &mut |line| through(rest, line, out)),
    }
}

/// Flushes the stages in order. The output of each passes through the later ones.
pub(super) fn flush(stages: &mut [Box<dyn LineStage>], out: EmitLine<'_>) {
    if let Some((first, rest)) = stages.split_first_mut() {
        first.flush(&mut |line| through(rest, line, out));
        flush(rest, out);
    }
}

/// Releases the stages in order. The output of each passes through the later ones.
pub(super) fn release(stages: &mut [Box<dyn LineStage>], out: EmitLine<'_>) {
    if let Some((first, rest)) = stages.split_first_mut() {
        first.release(&mut |line| through(rest, line, out));
        release(rest, out);
    }
}

/// Calls `begin_early` of the stages in order. The output of each passes through the later ones.
pub(super) fn begin_early(stages: &mut [Box<dyn LineStage>], out: EmitLine<'_>) {
    if let Some((first, rest)) = stages.split_first_mut() {
        first.begin_early(&mut |line| through(rest, line, out));
        begin_early(rest, out);
    }
}

/// Calls `end_early` of the stages in order, with a line that was written before it had ended.
pub(super) fn end_early(stages: &mut [Box<dyn LineStage>], line: TextLine<'_>) {
    if let Some((first, rest)) = stages.split_first_mut() {
        first.end_early(line, &mut |line| end_early(rest, line));
    }
}

/// Announces a long line to the stages in order, until one of them refuses it. Returns whether it is kept.
pub(super) fn past(stages: &mut [Box<dyn LineStage>], head: &[u8], out: EmitLine<'_>) -> bool {
    match stages.split_first_mut() {
        None => true,
        Some((first, rest)) => {
            let passes = first.long(head, &mut |line| through(rest, line, out));
            passes && past(rest, head, out)
        }
    }
}
