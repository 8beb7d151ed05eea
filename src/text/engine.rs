//! The operations in their order, from bytes to bytes. What [`TextRun`](super::TextRun) and
//! [`QuotedTextRun`](super::QuotedTextRun) have in common.
//!
//! ```text
//! bytes ─▶ lines ──Line──▶ front ─▶ patterns ─▶ back ─▶ fold ─▶ cut ──▶ gate ─▶ Sink
//!          ansi, returns   engine,  strip,      replace, (x3)   head,   4 KiB
//!                          sections keep        group,          tail
//!                                               alike
//! ```
//!
//! A further operation on lines is a [`LineStage`](super::stage::LineStage) in front of the patterns or behind them; one that
//! has to look back holds what it needs, and says what it does with lines that are too long to be held.

use std::sync::Arc;

use super::cut::{Cut, Most};
use super::fold::Fold;
use super::gate::{Gate, Size};
use super::lines::{End, Line, Lines, Take};
use super::program::{Compiled, TextProgram};
use super::report::TextReport;
use super::stage::{self, LineStage, Tally};
use crate::limits::Limits;
use crate::sink::Sink;

/// Which operations there are besides those of the patterns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operations {
    pub(super) terminal: bool,
    pub(super) fold: bool,
    pub(super) most: Most,
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
    /// In front of the patterns, and behind them.
    front: Vec<Box<dyn LineStage>>,
    back: Vec<Box<dyn LineStage>>,
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
        let operations = program.operations(limits);
        let [front, back] = program.stages(limits);
        Self {
            program,
            lines: Lines::new(operations.terminal, limits.line()),
            stages: Stages {
                operations,
                removed: 0,
                front,
                back,
                fold: Fold::default(),
                cut: Cut::new(operations.most),
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
        self.stages.end(&self.program, sink);
    }

    /// Whether the text that went in is the one that comes out.
    pub(crate) fn is_unchanged(&self) -> bool {
        !self.has_changed() || self.stages.gate.is_raw()
    }

    /// Hands on what waits.
    pub(crate) fn settle(&mut self, sink: &mut dyn Sink) -> TextReport {
        self.settle_with(sink, |_| None)
    }

    /// The same, with a last line that says what was done: it is there if the text is another, and counts where lengths are
    /// compared.
    pub(crate) fn settle_with(
        &mut self,
        sink: &mut dyn Sink,
        note: impl FnOnce(&TextReport) -> Option<String>,
    ) -> TextReport {
        let raw = TextReport {
            bytes_in: self.read.bytes,
            chars_in: self.read.chars,
            lines_in: self.lines.seen(),
            lines_out: self.lines.seen(),
            lines_too_long: self.lines.too_long(),
            ..TextReport::default()
        };
        let Stages { removed, fold, cut, written, was_empty, .. } = &self.stages;
        let tally = self.stages.tally();
        let mut report = TextReport {
            changed: true,
            lines_out: *written,
            lines_removed: *removed + tally.removed,
            lines_folded: fold.folded() + tally.folded,
            lines_shortened: tally.shortened,
            lines_left_out: cut.left_out(),
            was_empty: *was_empty,
            ..raw
        };
        let note = if self.is_unchanged() { None } else { note(&report) };
        let gate = &mut self.stages.gate;
        if let Some(note) = note {
            gate.note(&note);
            report.lines_out += 1;
        }
        let unchanged = self.is_unchanged();
        let Size { bytes, chars } = self.stages.gate.settle(sink);
        let report = if unchanged { raw } else { report };
        TextReport { bytes_out: bytes, chars_out: chars, ..report }
    }

    fn has_changed(&self) -> bool {
        let Stages { removed, fold, cut, was_empty, .. } = &self.stages;
        self.lines.rewrote()
            || *removed > 0
            || fold.folded() > 0
            || cut.left_out() > 0
            || *was_empty
            || !self.stages.tally().is_nothing()
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
        let Self { operations, back, fold, cut, gate, written, .. } = self;
        let mut out = Out { folds: operations.fold, fold, cut, gate, written, sink };
        if back.is_empty() {
            out.line(line);
        } else {
            stage::through(back, line, &mut |line| out.line(line));
        }
    }

    /// What waits in front of a line that is too long to be held goes. Whether that line passes.
    fn long(&mut self, head: &[u8], sink: &mut dyn Sink) -> bool {
        let Self { operations, back, fold, cut, gate, written, .. } = self;
        let mut out = Out { folds: operations.fold, fold, cut, gate, written, sink };
        let passes = stage::past(back, head, &mut |line| out.line(line));
        out.flush();
        passes
    }

    fn end(&mut self, program: &Compiled, sink: &mut dyn Sink) {
        self.through_front(program, sink, stage::flush);
        let Self { operations, back, fold, cut, gate, written, .. } = self;
        let mut out = Out { folds: operations.fold, fold, cut, gate, written, sink: &mut *sink };
        stage::flush(back, &mut |line| out.line(line));
        out.flush();
        cut.note(|note| {
            gate.open();
            put(note, gate, sink);
            *written += 1;
        });
        cut.last(|line| {
            put(line, gate, sink);
            *written += 1;
        });
        if let Some(text) = program.on_empty()
            && gate.is_empty()
            && !text.is_empty()
        {
            gate.open();
            gate.put(text.as_bytes(), sink);
            *written += text.lines().count() as u64;
            self.was_empty = true;
        }
    }

    /// Does something with the stages in front of the patterns; what comes out meets the patterns.
    fn through_front<T>(
        &mut self,
        program: &Compiled,
        sink: &mut dyn Sink,
        act: impl FnOnce(&mut [Box<dyn LineStage>], stage::Next<'_>) -> T,
    ) -> T {
        let mut front = std::mem::take(&mut self.front);
        let done = act(&mut front, &mut |line| self.judge(program, line, sink));
        self.front = front;
        done
    }

    /// Lets the patterns decide.
    #[inline]
    fn judge(&mut self, program: &Compiled, line: Line<'_>, sink: &mut dyn Sink) {
        if program.keeps(line.text) {
            self.line(line, sink);
        } else {
            self.removed += 1;
        }
    }

    fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for stage in self.front.iter().chain(&self.back) {
            tally.add(stage.tally());
        }
        tally
    }
}

/// The last stages.
struct Out<'a> {
    folds: bool,
    fold: &'a mut Fold,
    cut: &'a mut Cut,
    gate: &'a mut Gate,
    written: &'a mut u64,
    sink: &'a mut dyn Sink,
}

impl Out<'_> {
    fn line(&mut self, line: Line<'_>) {
        let Self { folds, fold, cut, gate, written, sink } = self;
        if *folds {
            fold.line(line, |line| last(line, cut, gate, written, *sink));
        } else {
            last(line, cut, gate, written, *sink);
        }
    }

    fn flush(&mut self) {
        let Self { fold, cut, gate, written, sink, .. } = self;
        fold.flush(|line| last(line, cut, gate, written, *sink));
    }
}

fn last(line: Line<'_>, cut: &mut Cut, gate: &mut Gate, written: &mut u64, sink: &mut dyn Sink) {
    if cut.keeps() {
        put(line, gate, sink);
        *written += 1;
    } else {
        cut.line(line);
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
        let Self { program, stages, sink } = self;
        if stages.front.is_empty() {
            stages.judge(program, line, *sink);
        } else {
            stages.through_front(program, *sink, |front, out| stage::through(front, line, out));
        }
    }

    fn begin_long(&mut self, head: &[u8]) -> bool {
        let Self { program, stages, sink } = self;
        let passes = stages.front.is_empty()
            || stages.through_front(program, *sink, |front, out| stage::past(front, head, out));
        let passes = passes && program.keeps_long(head) && stages.long(head, *sink);
        if passes {
            stages.muted = !stages.cut.keeps();
            stages.written += u64::from(!stages.muted);
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
            self.stages.cut.long(end);
        } else {
            self.stages.gate.put(end.bytes(), self.sink);
        }
    }

    fn lost(&mut self) {
        self.stages.removed += 1;
    }
}
