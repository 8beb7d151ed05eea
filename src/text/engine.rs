//! The operations in their order, from bytes to bytes. What [`TextRun`](super::TextRun) and
//! [`QuotedTextRun`](super::QuotedTextRun) have in common.
//!
//! ```text
//! bytes ─▶ lines ──Line──▶ patterns ─▶ fold ─▶ cut ─▶ gate ─▶ Sink
//!          ansi, returns   strip, keep  (x3)    max    4 KiB
//! ```
//!
//! A further operation on lines takes its place between two of these; one that has to look back holds what it needs, as
//! [`fold`](super::fold) does, and says what it does with lines that are too long to be held.

use std::sync::Arc;

use super::cut::Cut;
use super::fold::Fold;
use super::gate::{Gate, Size};
use super::lines::{End, Line, Lines, Take};
use super::program::{Compiled, TextProgram};
use super::report::TextReport;
use crate::limits::Limits;
use crate::sink::Sink;

/// Which operations there are besides those of the patterns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operations {
    pub(super) terminal: bool,
    pub(super) fold: bool,
    pub(super) max_lines: u64,
}

/// One run over one text, whose sink is given call by call.
pub(crate) struct Engine {
    program: Arc<Compiled>,
    lines: Lines,
    stages: Stages,
    read: Size,
}

struct Stages {
    operations: Operations,
    removed: u64,
    fold: Fold,
    cut: Cut,
    /// The long line that passes is left out.
    muted: bool,
    gate: Gate,
    written: u64,
    was_empty: bool,
}

impl Engine {
    pub(crate) fn new(program: &TextProgram, limits: &Limits) -> Self {
        let program = Arc::clone(program.compiled());
        let operations = program.operations();
        Self {
            program,
            lines: Lines::new(operations.terminal, limits.line()),
            stages: Stages {
                operations,
                removed: 0,
                fold: Fold::default(),
                cut: Cut::default(),
                muted: false,
                gate: Gate::default(),
                written: 0,
                was_empty: false,
            },
            read: Size::default(),
        }
    }

    /// Takes the next bytes of the text.
    pub(crate) fn write(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        self.read.add(chunk);
        self.stages.gate.input(chunk);
        self.lines.write(
            chunk,
            &mut Stage { program: &self.program, stages: &mut self.stages, sink: &mut *sink },
        );
        self.stages.gate.flush(sink);
    }

    /// The text is complete. What waits goes out with [`settle`](Self::settle).
    pub(crate) fn end(&mut self, sink: &mut dyn Sink) {
        self.lines.end(&mut Stage {
            program: &self.program,
            stages: &mut self.stages,
            sink: &mut *sink,
        });
        self.stages.end(self.program.on_empty(), sink);
    }

    /// Whether the text that went in is the one that comes out.
    pub(crate) fn is_unchanged(&self) -> bool {
        !self.has_changed() || self.stages.gate.is_raw()
    }

    /// Hands on what waits.
    pub(crate) fn settle(&mut self, sink: &mut dyn Sink) -> TextReport {
        let unchanged = self.is_unchanged();
        let Size { bytes, chars } = self.stages.gate.settle(sink);
        let Self { lines, stages, read, .. } = self;
        let report = TextReport {
            bytes_in: read.bytes,
            bytes_out: bytes,
            chars_in: read.chars,
            chars_out: chars,
            lines_in: lines.seen(),
            lines_out: lines.seen(),
            lines_too_long: lines.too_long(),
            ..TextReport::default()
        };
        if unchanged {
            return report;
        }
        TextReport {
            changed: true,
            lines_out: stages.written,
            lines_removed: stages.removed,
            lines_folded: stages.fold.folded(),
            lines_left_out: stages.cut.left_out(),
            was_empty: stages.was_empty,
            ..report
        }
    }

    fn has_changed(&self) -> bool {
        let Stages { removed, fold, cut, was_empty, .. } = &self.stages;
        self.lines.rewrote()
            || *removed > 0
            || fold.folded() > 0
            || cut.left_out() > 0
            || *was_empty
    }

    /// Bytes that were looked at, each time they were; but for those that patterns look at.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        self.lines.steps() + self.stages.fold.steps()
    }
}

impl Stages {
    /// A line that patterns left.
    fn line(&mut self, line: Line<'_>, sink: &mut dyn Sink) {
        let Self { operations, fold, cut, gate, written, .. } = self;
        let mut out = Out { max: operations.max_lines, cut, gate, written, sink };
        if operations.fold {
            fold.line(line, |line| out.line(line));
        } else {
            out.line(line);
        }
    }

    fn flush(&mut self, sink: &mut dyn Sink) {
        let Self { operations, fold, cut, gate, written, .. } = self;
        let mut out = Out { max: operations.max_lines, cut, gate, written, sink };
        fold.flush(|line| out.line(line));
    }

    fn end(&mut self, on_empty: Option<&str>, sink: &mut dyn Sink) {
        self.flush(sink);
        let Self { cut, gate, written, .. } = self;
        cut.note(|note| {
            gate.open();
            put(note, gate, sink);
            *written += 1;
        });
        if let Some(text) = on_empty
            && gate.is_empty()
            && !text.is_empty()
        {
            gate.open();
            gate.put(text.as_bytes(), sink);
            *written += text.lines().count() as u64;
            self.was_empty = true;
        }
    }
}

/// The last stages.
struct Out<'a> {
    max: u64,
    cut: &'a mut Cut,
    gate: &'a mut Gate,
    written: &'a mut u64,
    sink: &'a mut dyn Sink,
}

impl Out<'_> {
    fn line(&mut self, line: Line<'_>) {
        if self.cut.keeps(self.max) {
            put(line, self.gate, self.sink);
            *self.written += 1;
        } else {
            self.cut.ended(line.end);
        }
    }
}

fn put(line: Line<'_>, gate: &mut Gate, sink: &mut dyn Sink) {
    gate.put(line.text, sink);
    gate.put(line.end.bytes(), sink);
}

/// Takes lines from bytes to the stages.
struct Stage<'a> {
    program: &'a Compiled,
    stages: &'a mut Stages,
    sink: &'a mut dyn Sink,
}

impl Take for Stage<'_> {
    #[inline]
    fn line(&mut self, line: Line<'_>) {
        if self.program.keeps(line.text) {
            self.stages.line(line, self.sink);
        } else {
            self.stages.removed += 1;
        }
    }

    fn begin_long(&mut self, head: &[u8]) -> bool {
        let passes = self.program.surely_keeps(head);
        if passes {
            self.stages.flush(self.sink);
            self.stages.muted = !self.stages.cut.keeps(self.stages.operations.max_lines);
            self.stages.written += u64::from(!self.stages.muted);
        }
        passes
    }

    fn long(&mut self, bytes: &[u8]) {
        if !self.stages.muted {
            self.stages.gate.put(bytes, self.sink);
        }
    }

    fn end_long(&mut self, end: End) {
        if self.stages.muted {
            self.stages.cut.ended(end);
        } else {
            self.stages.gate.put(end.bytes(), self.sink);
        }
    }

    fn lost(&mut self) {
        self.stages.removed += 1;
    }
}
