//! [`CapRun`]: the cap over one output. [`tamis_text::cut`] chooses what is kept; this decides how much.
//!
//! Invariants: the result does not depend on the chunks, except by [`release`](CapRun::release). As long as the text fits,
//! nothing is left out.

use tamis_json::limits::Limits;
use tamis_json::sink::Sink;
use tamis_text::cut::{CutOptions, CutReport, CutSize, CutUnit, Query, TextCutter, TextKind};
use tamis_text::lines::pending_text::TextSize;

use super::{CapReport, OutputCap};

/// About the room for the last line, before it is known.
const NOTICE: CutSize = CutSize { lines: 2, bytes: 120 };

/// A run of a cap.
#[derive(Debug)]
pub(crate) struct CapRun {
    cap: OutputCap,
    cutter: TextCutter,
    chars: u64,
    /// The counts of the text that was given up to hold the rest. Its tokens are not counted.
    written: Counts,
    cut: Option<CutReport>,
}

/// Facts about the output of a command that are known before it arrives.
#[derive(Clone, Debug, Default)]
pub(crate) struct CapHints {
    pub(crate) kind: Option<TextKind>,
    pub(crate) query: Query,
}

impl CapRun {
    /// `marks`: whether lines that look like a notice are marked. Behind a filter, they are already.
    pub(crate) fn new(cap: &OutputCap, hints: CapHints, limits: &Limits, marks: bool) -> Self {
        let options = CutOptions {
            kind: hints.kind,
            query: hints.query,
            held: usize::try_from(limits.held()).unwrap_or(usize::MAX),
            marks,
            room: cap.size_if_cut().minus(NOTICE),
            unit: cap.unit(),
        };
        Self {
            cap: *cap,
            cutter: TextCutter::new(options),
            chars: 0,
            written: Counts::default(),
            cut: None,
        }
    }

    /// Takes the next bytes of the output.
    pub(crate) fn write(&mut self, bytes: &[u8], sink: &mut dyn Sink) {
        // Bytes that begin a character.
        self.chars += bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count() as u64;
        self.cutter.write(bytes, &mut Counting { inner: sink, counts: &mut self.written });
    }

    /// Writes what is held, as far as the limits allow: no input has arrived for a while.
    pub(crate) fn release(&mut self, sink: &mut dyn Sink) {
        self.cutter.release(&mut Counting { inner: sink, counts: &mut self.written });
    }

    /// Ends the output, and returns what was left out. The line that `note` returns is written last if anything was.
    ///
    /// `filter_note` is the last line that the filter wrote: it is removed if anything was left out.
    pub(crate) fn end(
        &mut self,
        has_failed: bool,
        filter_note: Option<&str>,
        sink: &mut dyn Sink,
        note: impl Fn(&CapReport) -> Option<String>,
    ) -> CapReport {
        let mut sink = Counting { inner: sink, counts: &mut self.written };
        let of_failure = self.cap.size_if_failed().filter(|_| has_failed);
        let unit = if of_failure.is_some() { CutUnit::Bytes } else { self.cap.unit() };
        let in_bytes = |size: CutSize| match self.cap.max_bytes {
            Some(_) => size,
            None => self.cutter.limit(size),
        };
        let limit = of_failure.unwrap_or_else(|| in_bytes(self.cap.size()));
        let limit_if_cut = of_failure.unwrap_or_else(|| in_bytes(self.cap.size_if_cut()));
        let fits = self.cutter.size().is_some_and(|size| {
            let bytes = if of_failure.is_some() { self.chars } else { size.bytes };
            let is_whole = self.cap.is_whole(size.bytes, self.chars, has_failed);
            CutSize { bytes, ..size }.fits(limit)
                || (is_whole && size.lines <= self.cap.size().lines)
        });
        if fits {
            let cut = self.cutter.end(None, has_failed, unit, &mut sink);
            return CapReport::of(&cut);
        }
        if let Some(note) = filter_note {
            self.cutter.remove_last_line(note);
        }
        let last = CutSize { lines: 1, bytes: longest_note(&self.cutter, &note, unit) };
        let last = if last.bytes == 0 { CutSize::default() } else { last };
        let room = limit_if_cut.minus(last);
        // If there is one line, it says how much was left out.
        let lines = room.lines.max(u64::from(last.lines == 0));
        let room = CutSize { lines, bytes: room.bytes.max(1) };
        let cut = self.cutter.end(Some(room), has_failed, unit, &mut sink);
        let report = CapReport::of(&cut);
        if report.is_cut()
            && let Some(line) = note(&report)
        {
            if self.cutter.last_byte().is_some_and(|byte| byte != b'\n') {
                sink.write(b"\n");
            }
            sink.write(line.as_bytes());
            sink.write(b"\n");
        }
        self.cut = Some(cut);
        report
    }

    /// Returns whether a command with this exit code has failed.
    pub(crate) fn is_failure(&self, exit_code: Option<i32>) -> bool {
        self.cap.is_failure(exit_code)
    }

    /// Returns what was kept, and why, if anything was left out.
    pub(crate) fn cut(&self) -> Option<&CutReport> {
        self.cut.as_ref()
    }

    /// Returns the number of bytes, characters and lines that were written.
    pub(crate) fn written(&self) -> (u64, u64, u64) {
        let Counts { size, lines, last_byte } = &self.written;
        let open = u64::from(last_byte.is_some_and(|byte| byte != b'\n'));
        (size.bytes, size.chars, lines + open)
    }

    /// Returns about the number of bytes of held text.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.cutter.cost()
    }
}

/// Returns the most bytes that the last line takes, with its line end.
fn longest_note(
    cutter: &TextCutter,
    note: &impl Fn(&CapReport) -> Option<String>,
    unit: CutUnit,
) -> u64 {
    let read = cutter.read();
    let all = CapReport {
        lines: read.lines,
        bytes: read.bytes,
        lines_left_out: read.lines,
        bytes_left_out: read.bytes,
        range: Some((read.lines, read.lines + 1)),
        splits_line: false,
        first_byte: Some(read.bytes),
    };
    let notes = [all, CapReport { splits_line: true, ..all }].map(|report| note(&report));
    // A part of a line that is the last one gets a line end.
    let sizes = notes.iter().flatten().map(|note| unit.of(note.as_bytes()) + 2);
    sizes.max().unwrap_or(0)
}

/// The size of what was written.
#[derive(Debug, Default)]
struct Counts {
    size: TextSize,
    lines: u64,
    last_byte: Option<u8>,
}

/// A sink that counts what it forwards.
struct Counting<'a> {
    inner: &'a mut dyn Sink,
    counts: &'a mut Counts,
}

impl Sink for Counting<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.counts.size.add(bytes);
        self.counts.lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.counts.last_byte = bytes.last().copied().or(self.counts.last_byte);
        self.inner.write(bytes);
    }
}
