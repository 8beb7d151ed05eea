//! The order of the operations, from bytes to bytes. Both [`TextFilter`](super::TextFilter) and
//! `QuotedTextFilter` run it.
//!
//! ```text
//! bytes ─▶ splitter ──lines──▶ front ─▶ patterns ──entries──▶ back ─▶ head_tail ─▶ pending ─▶ sink
//!          controls,           engine,  strip,                replace,             4 KiB
//!          returns,            sections keep                  dedup,
//!          backspaces                                         group
//! ```
//!
//! To add an operation on lines, write a [`LineStage`] before the patterns or an
//! `EntryStage` after them. A stage that looks back holds what it needs, and defines
//! what it does with lines that are too long to be held.

use std::sync::Arc;

use tamis_json::limits::Limits;
use tamis_json::sink::Sink;

use super::entry_stage::{self, EntryStage, LineEntry};
use super::head_tail::{HeadTail, OutputItem};
use super::line_end::LineEnd;
use super::line_sink::{LineSink, TextLine};
use super::line_splitter::LineSplitter;
use super::line_stage::{self, LineStage, StageCounts};
use super::pending_text::{COMPARE_LIMIT, COMPARE_LIMIT_WITH_NOTICE, PendingText, TextSize};
use super::program::{CompiledText, TextProgram};
use super::report::TextReport;
use crate::notice;

/// More bytes than a notice has. If more were removed, the output is shorter with its notice.
const NOTICE: u64 = 512;

/// One run over one text. The sink is an argument of each call.
pub struct TextPipeline {
    program: Arc<CompiledText>,
    lines: LineSplitter,
    stages: PipelineStages,
    read: TextSize,
}

struct PipelineStages {
    removed: u64,
    /// Bytes of lines that the patterns removed.
    removed_bytes: u64,
    /// The stages before the patterns.
    front: Vec<Box<dyn LineStage>>,
    /// The open line, if its beginning is already written and the stages have to be shown it later.
    early: Option<EarlyLine>,
    /// Counts of those stages for lines that were already written.
    done_early: StageCounts,
    /// Maximum number of held bytes of a line.
    limit: usize,
    after: AfterPatterns,
    was_empty: bool,
}

/// A line that is being written before it has ended, up to the limit.
#[derive(Debug, Default)]
struct EarlyLine {
    text: Vec<u8>,
    is_long: bool,
}

impl EarlyLine {
    fn push(&mut self, bytes: &[u8], limit: usize) {
        let room = limit.saturating_sub(self.text.len());
        let (now, later) = bytes.split_at(bytes.len().min(room));
        self.text.extend_from_slice(now);
        self.is_long |= !later.is_empty();
    }
}

/// The part of the pipeline after the patterns.
struct AfterPatterns {
    back: Vec<Box<dyn EntryStage>>,
    head_tail: HeadTail,
    /// Whether the line that is being written in parts is left out.
    muted: bool,
    writer: LineWriter,
}

/// Marks and counts lines, and writes them to the pending text.
struct LineWriter {
    pending: PendingText,
    /// Whether lines that look like a notice are marked: lines written in parts, and entries.
    marks: bool,
    marks_entries: bool,
    /// Lines written.
    written: u64,
    /// Input lines that were folded into others, shortened, and marked.
    folded: u64,
    shortened: u64,
    marked: u64,
}

impl TextPipeline {
    /// Creates the pipeline of one text.
    pub fn new(program: &TextProgram, limits: &Limits) -> Self {
        let CompiledText { marks, marks_output, .. } = **program.compiled();
        Self::with_marks(program, limits, marks, marks_output)
    }

    /// Creates a pipeline for text whose notices were written by tamis.
    pub fn unmarked(program: &TextProgram, limits: &Limits) -> Self {
        Self::with_marks(program, limits, false, false)
    }

    /// Compares longer inputs with their outputs: the output will end with a notice, which may be longer than what was left
    /// out. At most `held` bytes are compared.
    #[must_use]
    pub fn for_notice(mut self, held: u64) -> Self {
        let held = usize::try_from(held).unwrap_or(usize::MAX);
        let limit = COMPARE_LIMIT_WITH_NOTICE.min(held).max(COMPARE_LIMIT);
        self.stages.after.writer.pending.set_limit(limit);
        self
    }

    fn with_marks(
        program: &TextProgram,
        limits: &Limits,
        marks: bool,
        marks_entries: bool,
    ) -> Self {
        let program = Arc::clone(program.compiled());
        let writer = LineWriter {
            pending: PendingText::default(),
            marks,
            marks_entries,
            written: 0,
            folded: 0,
            shortened: 0,
            marked: 0,
        };
        Self {
            lines: LineSplitter::new(
                program.plays_terminal(),
                program.frames(),
                limits.line(),
                marks,
            ),
            stages: PipelineStages {
                removed: 0,
                removed_bytes: 0,
                front: program.front(limits),
                early: None,
                done_early: StageCounts::default(),
                limit: limits.line(),
                after: AfterPatterns {
                    back: program.back(limits),
                    head_tail: HeadTail::new(program.head_tail_limits(limits), program.messages()),
                    muted: false,
                    writer,
                },
                was_empty: false,
            },
            read: TextSize::default(),
            program,
        }
    }

    /// Filters the next bytes of the text.
    pub fn write(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        self.read.add(chunk);
        self.stages.after.writer.pending.input(chunk);
        self.update_hold();
        let Self { program, stages, lines, .. } = self;
        lines.write(chunk, &mut LineReceiver { program, stages, sink: &mut *sink });
        self.update_hold();
        self.stages.after.writer.pending.flush(sink);
    }

    /// Writes held output: no input has arrived for a while. From now on the output is used, whatever its length.
    pub fn release(&mut self, sink: &mut dyn Sink) {
        if self.read.bytes == 0 {
            return;
        }
        let Self { program, stages, lines, .. } = self;
        stages.release(program, sink);
        lines.release(&mut LineReceiver { program, stages, sink: &mut *sink });
        self.stages.after.writer.pending.open();
        self.update_hold();
        self.stages.after.writer.pending.flush(sink);
    }

    /// Stops collecting the input for the comparison, once the output is certain to be used.
    fn update_hold(&mut self) {
        // A removed line has a byte at least.
        if self.stages.removed_bytes + self.stages.tally().removed >= NOTICE {
            self.stages.after.writer.pending.set_limit(COMPARE_LIMIT);
        }
        if self.stages.after.writer.pending.is_open() {
            self.lines.clean.stop();
        }
    }

    /// Ends the text. [`settle`](Self::settle) has to be called next, and writes the pending output.
    pub fn end(&mut self, sink: &mut dyn Sink) {
        let Self { program, stages, lines, .. } = self;
        lines.end(&mut LineReceiver { program, stages, sink: &mut *sink });
        stages.end(program, sink);
        self.update_hold();
    }

    /// Whether the output equals the input, byte for byte.
    pub fn is_unchanged(&self) -> bool {
        let is_clean = !self.lines.rewrote() && self.lines.clean.marked() == 0;
        is_clean && (!self.has_changed() || self.prefers_input())
    }

    /// Whether the input, as a terminal shows it, is no longer than the output.
    fn prefers_input(&self) -> bool {
        self.lines.clean.text().is_some_and(|clean| self.stages.after.writer.pending.prefers(clean))
    }

    /// Writes the pending output and returns the report.
    pub fn settle(&mut self, sink: &mut dyn Sink) -> TextReport {
        self.settle_with(sink, |_| None)
    }

    /// Writes the pending output, followed by the line that `note` returns for the report, if any. This line counts
    /// when lengths are compared.
    pub fn settle_with(
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
        let PipelineStages {
            removed,
            after: AfterPatterns { head_tail, writer, .. },
            was_empty,
            ..
        } = &self.stages;
        let tally = self.stages.tally();
        let mut report = TextReport {
            changed: self.has_changed(),
            lines_out: writer.written,
            lines_removed: *removed + tally.removed,
            lines_folded: writer.folded + tally.folded,
            lines_shortened: writer.shortened + tally.shortened,
            lines_left_out: head_tail.left_out(),
            lines_marked: writer.marked + tally.marked,
            was_empty: *was_empty,
            ..input
        };
        if !self.prefers_input()
            && let Some(note) = note(&report)
        {
            self.stages.after.writer.pending.note(&note);
            report.lines_out += 1;
        }
        let prefers_input = self.prefers_input();
        let instead = self.lines.clean.text().filter(|_| prefers_input);
        let TextSize { bytes, chars } = self.stages.after.writer.pending.settle(instead, sink);
        let report = if prefers_input { input } else { report };
        TextReport { bytes_out: bytes, chars_out: chars, ..report }
    }

    fn has_changed(&self) -> bool {
        let PipelineStages {
            removed,
            after: AfterPatterns { head_tail, writer, .. },
            was_empty,
            ..
        } = &self.stages;
        self.lines.rewrote()
            || *removed > 0
            || head_tail.left_out() > 0
            || *was_empty
            || writer.folded + writer.shortened + writer.marked > 0
            || self.stages.tally() != StageCounts::default()
    }

    /// Number of bytes examined, counted each time, except by patterns.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        let back = self.stages.after.back.iter().map(|stage| stage.steps());
        self.lines.steps() + back.sum::<u64>()
    }
}

impl PipelineStages {
    /// Applies the patterns to a line.
    #[inline]
    fn apply_patterns(&mut self, program: &CompiledText, line: TextLine<'_>, sink: &mut dyn Sink) {
        if program.keeps(line.text) {
            self.after.entry(LineEntry::line(line), sink);
        } else {
            self.removed += 1;
            self.removed_bytes += line.text.len() as u64;
        }
    }

    /// Calls the stages before the patterns. The lines that they write pass through the patterns.
    fn through_front<T>(
        &mut self,
        program: &CompiledText,
        sink: &mut dyn Sink,
        act: impl FnOnce(&mut [Box<dyn LineStage>], line_stage::EmitLine<'_>) -> T,
    ) -> T {
        let mut front = std::mem::take(&mut self.front);
        let done = act(&mut front, &mut |line| self.apply_patterns(program, line, sink));
        self.front = front;
        done
    }

    fn release(&mut self, program: &CompiledText, sink: &mut dyn Sink) {
        self.through_front(program, sink, line_stage::release);
        let AfterPatterns { back, head_tail, writer, .. } = &mut self.after;
        entry_stage::release(back, &mut |entry| {
            head_tail.entry(entry, &mut |out| writer.put(out, sink))
        });
        head_tail.release(&mut |out| writer.put(out, sink));
    }

    fn end(&mut self, program: &CompiledText, sink: &mut dyn Sink) {
        self.through_front(program, sink, line_stage::flush);
        self.after.flush(sink);
        let AfterPatterns { head_tail, writer, .. } = &mut self.after;
        head_tail.flush(&mut |out| writer.put(out, sink));
        if let Some(text) = program.on_empty()
            && writer.pending.is_empty()
            && !text.is_empty()
        {
            writer.pending.open();
            writer.pending.put(text.as_bytes(), sink);
            writer.written += text.lines().count() as u64;
            self.was_empty = true;
        }
    }

    /// Ends a line that was written before it had ended: shows it to the stages before the patterns.
    fn end_early(&mut self, program: &CompiledText, end: LineEnd, sink: &mut dyn Sink) {
        let Some(EarlyLine { text, is_long }) = self.early.take() else { return };
        if is_long {
            self.through_front(program, sink, |front, out| line_stage::past(front, &text, out));
            return;
        }
        let before = self.tally();
        // Stages may hold a line without a line end as the last one, but this line is already written.
        let end = if end == LineEnd::Missing { LineEnd::Lf } else { end };
        line_stage::end_early(&mut self.front, TextLine { text: &text, end });
        self.done_early.add(self.tally().since(before));
    }

    fn tally(&self) -> StageCounts {
        let mut tally = StageCounts::default();
        for stage in &self.front {
            tally.add(stage.tally());
        }
        tally.since(self.done_early)
    }
}

impl AfterPatterns {
    /// Processes a line that the patterns kept.
    fn entry(&mut self, line: LineEntry<'_>, sink: &mut dyn Sink) {
        let Self { back, head_tail, writer, .. } = self;
        let mut out =
            |entry: LineEntry<'_>| head_tail.entry(entry, &mut |out| writer.put(out, sink));
        if back.is_empty() {
            out(line);
        } else {
            entry_stage::through(back, line, &mut out);
        }
    }

    /// Flushes the stages after the patterns.
    fn flush(&mut self, sink: &mut dyn Sink) {
        let Self { back, head_tail, writer, .. } = self;
        entry_stage::flush(back, &mut |entry| {
            head_tail.entry(entry, &mut |out| writer.put(out, sink))
        });
    }

    /// Begins a line that is written in parts.
    fn begin(&mut self, head: &[u8], room: bool, sink: &mut dyn Sink) {
        self.muted = !room;
        if room {
            self.writer.begin(head, false, sink);
        }
    }
}

impl LineWriter {
    fn put(&mut self, out: OutputItem<'_>, sink: &mut dyn Sink) {
        self.written += 1;
        match out {
            OutputItem::Entry(entry) => {
                self.folded += entry.lines.saturating_sub(1);
                self.shortened += entry.shortened;
                if self.marks_entries {
                    let marked = notice::marked(entry.text);
                    self.marked += u64::from(marked.len() > entry.text.len());
                    self.pending.put(&marked, sink);
                } else {
                    self.pending.put(entry.text, sink);
                }
                self.pending.put(entry.end.bytes(), sink);
            }
            OutputItem::Gap(text, end) => {
                self.pending.open();
                self.pending.put(text.as_bytes(), sink);
                self.pending.put(end.bytes(), sink);
            }
        }
    }

    /// Begins a line that is written in parts: writes the mark if the line may look like a notice.
    fn begin(&mut self, head: &[u8], whole: bool, sink: &mut dyn Sink) {
        self.written += 1;
        if self.marks && notice::looks_like_one(head, whole) {
            self.marked += 1;
            self.pending.put(notice::MARK.as_bytes(), sink);
        }
    }
}

/// Receives lines from the splitter and passes them to the stages.
struct LineReceiver<'a> {
    program: &'a CompiledText,
    stages: &'a mut PipelineStages,
    sink: &'a mut dyn Sink,
}

impl LineSink for LineReceiver<'_> {
    #[inline]
    fn line(&mut self, line: TextLine<'_>) {
        let Self { program, stages, sink } = self;
        if stages.front.is_empty() {
            stages.apply_patterns(program, line, *sink);
        } else {
            stages
                .through_front(program, *sink, |front, out| line_stage::through(front, line, out));
        }
    }

    fn begin_long(&mut self, head: &[u8]) -> bool {
        let Self { program, stages, sink } = self;
        let passes = stages.front.is_empty()
            || stages
                .through_front(program, *sink, |front, out| line_stage::past(front, head, out));
        let passes = passes && program.keeps_long(head);
        if passes {
            stages.after.flush(*sink);
            let room = stages.after.head_tail.begins();
            stages.after.begin(head, room, *sink);
        }
        passes
    }

    fn begin_early(&mut self, head: &[u8]) -> bool {
        let Self { program, stages, sink } = self;
        let passes = program.keeps_early(head);
        if passes {
            if !stages.front.is_empty() {
                stages.through_front(program, *sink, line_stage::begin_early);
                stages.early = Some(EarlyLine::default());
            }
            stages.after.flush(*sink);
            let AfterPatterns { head_tail, writer, .. } = &mut stages.after;
            let room = head_tail.begins_early(&mut |out| writer.put(out, *sink));
            stages.after.begin(head, room, *sink);
        }
        passes
    }

    fn is_undecided(&self, head: &[u8]) -> bool {
        let marks = self.stages.after.writer.marks;
        marks && notice::looks_like_one(head, false) && !notice::looks_like_one(head, true)
    }

    fn long(&mut self, bytes: &[u8]) {
        let PipelineStages { early, limit, after: AfterPatterns { muted, writer, .. }, .. } =
            &mut *self.stages;
        if let Some(early) = early {
            early.push(bytes, *limit);
        }
        if !*muted {
            writer.pending.put(bytes, self.sink);
        }
    }

    fn resume(&mut self, text: &[u8], whole: bool) {
        let PipelineStages { early, limit, after: AfterPatterns { muted, writer, .. }, .. } =
            &mut *self.stages;
        if let Some(early) = early {
            *early = EarlyLine::default();
            early.push(text, *limit);
        }
        if !*muted {
            writer.begin(text, whole, self.sink);
            writer.pending.put(text, self.sink);
        }
    }

    fn end_long(&mut self, end: LineEnd) {
        let AfterPatterns { muted, head_tail, writer, .. } = &mut self.stages.after;
        if *muted {
            let sink = &mut *self.sink;
            head_tail.long(end, &mut |out| writer.put(out, sink));
        } else {
            writer.pending.put(end.bytes(), self.sink);
        }
        self.stages.end_early(self.program, end, self.sink);
    }

    fn lost(&mut self) {
        self.stages.removed += 1;
    }
}
