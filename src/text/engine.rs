//! The operations in their order, from bytes to bytes. What [`TextFilter`](super::TextFilter) and
//! [`QuotedTextFilter`](super::QuotedTextFilter) have in common.
//!
//! ```text
//! bytes ─▶ lines ──Line──▶ front ─▶ patterns ──Entry──▶ back ─▶ cut ──▶ marks ─▶ gate ─▶ Sink
//!          controls,       engine,  strip,              replace, head,           4 KiB
//!          returns,        sections keep                dedup,   tail
//!          backspaces                                   group
//! ```
//!
//! A further operation on lines is a [`LineStage`](super::stage::LineStage) before the patterns or an
//! [`EntryStage`](super::entry::EntryStage) after them; one that has to look back holds what it needs, and says what it does
//! with lines that are too long to be held.

use std::sync::Arc;

use super::cut::{Cut, Most, Out};
use super::entry::{self, Entry, EntryStage};
use super::gate::{Gate, Size};
use super::lines::{End, Line, Lines, Take};
use super::program::{Compiled, TextProgram};
use super::report::TextReport;
use super::stage::{self, LineStage, Tally};
use crate::limits::Limits;
use crate::notice;
use crate::sink::Sink;

/// Which operations there are besides those of the patterns and the stages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operations {
    pub(super) terminal: bool,
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
    removed: u64,
    /// Before the patterns.
    front: Vec<Box<dyn LineStage>>,
    /// The open line, if it leaves before it is complete and there are stages that will be shown it.
    early: Option<Early>,
    /// What those stages did with such lines, which had been written.
    done_early: Tally,
    /// Bytes of a line that are held at most.
    limit: usize,
    exit: Exit,
    was_empty: bool,
}

/// A line that left before it was complete, up to the limit.
#[derive(Debug, Default)]
struct Early {
    text: Vec<u8>,
    is_long: bool,
}

impl Early {
    fn push(&mut self, bytes: &[u8], limit: usize) {
        let room = limit.saturating_sub(self.text.len());
        let (now, later) = bytes.split_at(bytes.len().min(room));
        self.text.extend_from_slice(now);
        self.is_long |= !later.is_empty();
    }
}

/// What is after the patterns.
struct Exit {
    back: Vec<Box<dyn EntryStage>>,
    cut: Cut,
    /// The line that passes in parts is left out.
    muted: bool,
    way: Way,
}

/// The way out.
struct Way {
    gate: Gate,
    /// Lines that have the form of a notice are marked: those that pass in parts, and those that come from the stages.
    marks: bool,
    marks_entries: bool,
    /// Lines that came out.
    written: u64,
    /// Lines of the input that others stand for, that came out shorter, and that are marked.
    folded: u64,
    shortened: u64,
    marked: u64,
}

impl Engine {
    pub(crate) fn new(program: &TextProgram, limits: &Limits) -> Self {
        let Compiled { marks, marks_output, .. } = **program.compiled();
        Self::with_marks(program, limits, marks, marks_output)
    }

    /// An engine for text in which notices are known to be those of tamis.
    #[cfg(feature = "command")]
    pub(crate) fn unmarked(program: &TextProgram, limits: &Limits) -> Self {
        Self::with_marks(program, limits, false, false)
    }

    fn with_marks(
        program: &TextProgram,
        limits: &Limits,
        marks: bool,
        marks_entries: bool,
    ) -> Self {
        let program = Arc::clone(program.compiled());
        let operations = program.operations(limits);
        let way = Way {
            gate: Gate::default(),
            marks,
            marks_entries,
            written: 0,
            folded: 0,
            shortened: 0,
            marked: 0,
        };
        Self {
            lines: Lines::new(operations.terminal, limits.line(), marks),
            stages: Stages {
                removed: 0,
                front: program.front(limits),
                early: None,
                done_early: Tally::default(),
                limit: limits.line(),
                exit: Exit {
                    back: program.back(limits),
                    cut: Cut::new(operations.most),
                    muted: false,
                    way,
                },
                was_empty: false,
            },
            read: Size::default(),
            program,
        }
    }

    /// Takes the next bytes of the text.
    pub(crate) fn write(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        self.read.add(chunk);
        self.stages.exit.way.gate.input(chunk);
        self.settle_hold();
        let Self { program, stages, lines, .. } = self;
        lines.write(chunk, &mut Stage { program, stages, sink: &mut *sink });
        self.settle_hold();
        self.stages.exit.way.gate.flush(sink);
    }

    /// No input has come for a while: hands on what is held. From now on the output wins, however long it is.
    pub(crate) fn release(&mut self, sink: &mut dyn Sink) {
        if self.read.bytes == 0 {
            return;
        }
        let Self { program, stages, lines, .. } = self;
        stages.release(program, sink);
        lines.release(&mut Stage { program, stages, sink: &mut *sink });
        self.stages.exit.way.gate.open();
        self.settle_hold();
        self.stages.exit.way.gate.flush(sink);
    }

    /// What the output would be compared with is not held any longer than it may win.
    fn settle_hold(&mut self) {
        if self.stages.exit.way.gate.is_open() {
            self.lines.clean.stop();
        }
    }

    /// The text is complete. What waits goes out with [`settle`](Self::settle).
    pub(crate) fn end(&mut self, sink: &mut dyn Sink) {
        let Self { program, stages, lines, .. } = self;
        lines.end(&mut Stage { program, stages, sink: &mut *sink });
        stages.end(program, sink);
        self.settle_hold();
    }

    /// Whether the text that went in is the one that comes out, byte for byte.
    pub(crate) fn is_unchanged(&self) -> bool {
        let is_clean = !self.lines.rewrote() && self.lines.clean.marked() == 0;
        is_clean && (!self.has_changed() || self.prefers_input())
    }

    /// Whether the input, as a terminal shows it, is no longer than the output.
    fn prefers_input(&self) -> bool {
        self.lines.clean.text().is_some_and(|clean| self.stages.exit.way.gate.prefers(clean))
    }

    /// Hands on what waits.
    pub(crate) fn settle(&mut self, sink: &mut dyn Sink) -> TextReport {
        self.settle_with(sink, |_| None)
    }

    /// The same, with a last line that says what was done: it is there if lines were cut, and counts where lengths are
    /// compared.
    pub(crate) fn settle_with(
        &mut self,
        sink: &mut dyn Sink,
        note: impl FnOnce(&TextReport) -> Option<String>,
    ) -> TextReport {
        let clean_marked = self.lines.clean.marked();
        let input = TextReport {
            changed: self.lines.rewrote() || clean_marked > 0,
            bytes_in: self.read.bytes,
            chars_in: self.read.chars,
            lines_in: self.lines.seen(),
            lines_out: self.lines.seen(),
            lines_too_long: self.lines.too_long(),
            lines_overwritten: self.lines.overwritten(),
            lines_marked: clean_marked,
            ..TextReport::default()
        };
        let Stages { removed, exit: Exit { cut, way, .. }, was_empty, .. } = &self.stages;
        let tally = self.stages.tally();
        let mut report = TextReport {
            changed: self.has_changed(),
            lines_out: way.written,
            lines_removed: *removed + tally.removed,
            lines_folded: way.folded + tally.folded,
            lines_shortened: way.shortened + tally.shortened,
            lines_left_out: cut.left_out(),
            lines_marked: way.marked + tally.marked,
            was_empty: *was_empty,
            ..input
        };
        if !self.prefers_input()
            && let Some(note) = note(&report)
        {
            self.stages.exit.way.gate.note(&note);
            report.lines_out += 1;
        }
        let prefers_input = self.prefers_input();
        let instead = self.lines.clean.text().filter(|_| prefers_input);
        let Size { bytes, chars } = self.stages.exit.way.gate.settle(instead, sink);
        let report = if prefers_input { input } else { report };
        TextReport { bytes_out: bytes, chars_out: chars, ..report }
    }

    fn has_changed(&self) -> bool {
        let Stages { removed, exit: Exit { cut, way, .. }, was_empty, .. } = &self.stages;
        self.lines.rewrote()
            || *removed > 0
            || cut.left_out() > 0
            || *was_empty
            || way.folded + way.shortened + way.marked > 0
            || self.stages.tally() != Tally::default()
    }

    /// Bytes that were looked at, each time they were; but for those that patterns look at.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        let back = self.stages.exit.back.iter().map(|stage| stage.steps());
        self.lines.steps() + back.sum::<u64>()
    }
}

impl Stages {
    /// Lets the patterns decide.
    #[inline]
    fn judge(&mut self, program: &Compiled, line: Line<'_>, sink: &mut dyn Sink) {
        if program.keeps(line.text) {
            self.exit.entry(Entry::line(line), sink);
        } else {
            self.removed += 1;
        }
    }

    /// Does something with the stages before the patterns; what comes out meets the patterns.
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

    fn release(&mut self, program: &Compiled, sink: &mut dyn Sink) {
        self.through_front(program, sink, stage::release);
        let Exit { back, cut, way, .. } = &mut self.exit;
        entry::release(back, &mut |entry| cut.entry(entry, &mut |out| way.put(out, sink)));
        cut.release(&mut |out| way.put(out, sink));
    }

    fn end(&mut self, program: &Compiled, sink: &mut dyn Sink) {
        self.through_front(program, sink, stage::flush);
        self.exit.flush(sink);
        let Exit { cut, way, .. } = &mut self.exit;
        cut.flush(&mut |out| way.put(out, sink));
        if let Some(text) = program.on_empty()
            && way.gate.is_empty()
            && !text.is_empty()
        {
            way.gate.open();
            way.gate.put(text.as_bytes(), sink);
            way.written += text.lines().count() as u64;
            self.was_empty = true;
        }
    }

    /// A line that left early has ended: the stages before the patterns are shown it.
    fn end_early(&mut self, program: &Compiled, end: End, sink: &mut dyn Sink) {
        let Some(Early { text, is_long }) = self.early.take() else { return };
        if is_long {
            self.through_front(program, sink, |front, out| stage::past(front, &text, out));
            return;
        }
        let before = self.tally();
        // A last line is not held for its end.
        let end = if end == End::Missing { End::Lf } else { end };
        stage::end_early(&mut self.front, Line { text: &text, end });
        self.done_early.add(self.tally().since(before));
    }

    fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for stage in &self.front {
            tally.add(stage.tally());
        }
        tally.since(self.done_early)
    }
}

impl Exit {
    /// A line that patterns left.
    fn entry(&mut self, line: Entry<'_>, sink: &mut dyn Sink) {
        let Self { back, cut, way, .. } = self;
        let mut out = |entry: Entry<'_>| cut.entry(entry, &mut |out| way.put(out, sink));
        if back.is_empty() {
            out(line);
        } else {
            entry::through(back, line, &mut out);
        }
    }

    /// What waits in the stages goes on.
    fn flush(&mut self, sink: &mut dyn Sink) {
        let Self { back, cut, way, .. } = self;
        entry::flush(back, &mut |entry| cut.entry(entry, &mut |out| way.put(out, sink)));
    }

    /// A line that passes in parts begins.
    fn begin(&mut self, head: &[u8], room: bool, sink: &mut dyn Sink) {
        self.muted = !room;
        if room {
            self.way.begin(head, false, sink);
        }
    }
}

impl Way {
    fn put(&mut self, out: Out<'_>, sink: &mut dyn Sink) {
        self.written += 1;
        match out {
            Out::Entry(entry) => {
                self.folded += entry.lines.saturating_sub(1);
                self.shortened += entry.shortened;
                if self.marks_entries {
                    let marked = notice::marked(entry.text);
                    self.marked += u64::from(marked.len() > entry.text.len());
                    self.gate.put(&marked, sink);
                } else {
                    self.gate.put(entry.text, sink);
                }
                self.gate.put(entry.end.bytes(), sink);
            }
            Out::Gap(text, end) => {
                self.gate.open();
                self.gate.put(text.as_bytes(), sink);
                self.gate.put(end.bytes(), sink);
            }
        }
    }

    /// A line begins that passes in parts: its mark, if it may have the form of a notice.
    fn begin(&mut self, head: &[u8], whole: bool, sink: &mut dyn Sink) {
        self.written += 1;
        if self.marks && notice::looks_like_one(head, whole) {
            self.marked += 1;
            self.gate.put(notice::MARK.as_bytes(), sink);
        }
    }
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
        let passes = passes && program.keeps_long(head);
        if passes {
            stages.exit.flush(*sink);
            let room = stages.exit.cut.begins();
            stages.exit.begin(head, room, *sink);
        }
        passes
    }

    fn begin_early(&mut self, head: &[u8]) -> bool {
        let Self { program, stages, sink } = self;
        let passes = program.keeps_early(head);
        if passes {
            if !stages.front.is_empty() {
                stages.through_front(program, *sink, stage::begin_early);
                stages.early = Some(Early::default());
            }
            stages.exit.flush(*sink);
            let Exit { cut, way, .. } = &mut stages.exit;
            let room = cut.begins_early(&mut |out| way.put(out, *sink));
            stages.exit.begin(head, room, *sink);
        }
        passes
    }

    fn is_undecided(&self, head: &[u8]) -> bool {
        let marks = self.stages.exit.way.marks;
        marks && notice::looks_like_one(head, false) && !notice::looks_like_one(head, true)
    }

    fn long(&mut self, bytes: &[u8]) {
        let Stages { early, limit, exit: Exit { muted, way, .. }, .. } = &mut *self.stages;
        if let Some(early) = early {
            early.push(bytes, *limit);
        }
        if !*muted {
            way.gate.put(bytes, self.sink);
        }
    }

    fn resume(&mut self, text: &[u8], whole: bool) {
        let Stages { early, limit, exit: Exit { muted, way, .. }, .. } = &mut *self.stages;
        if let Some(early) = early {
            *early = Early::default();
            early.push(text, *limit);
        }
        if !*muted {
            way.begin(text, whole, self.sink);
            way.gate.put(text, self.sink);
        }
    }

    fn end_long(&mut self, end: End) {
        let Exit { muted, cut, way, .. } = &mut self.stages.exit;
        if *muted {
            cut.long(end);
        } else {
            way.gate.put(end.bytes(), self.sink);
        }
        self.stages.end_early(self.program, end, self.sink);
    }

    fn lost(&mut self) {
        self.stages.removed += 1;
    }
}
