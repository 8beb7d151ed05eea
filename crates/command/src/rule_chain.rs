//! Applies several rules to one output, one after the other, as zeph does. Security lines are kept, whatever the
//! rules remove.
//!
//! A chain is an engine: a stage that runs one text pipeline for each rule. Security lines that the rules removed are
//! written at the end. Memory: that of the pipelines, and the security lines, up to the limit `held`.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use regex::bytes::RegexSet;
use tamis_json::limits::Limits;
use tamis_text::lines::line_stage::{EmitLine, LineStage, StageCounts};
use tamis_text::lines::pipeline::TextPipeline;
use tamis_text::lines::rule_ops::StageFactory;
use tamis_text::lines::{LineEnd, TextLine};
use tamis_text::notice;

use tamis::text::TextProgram;

/// Patterns of security lines: those that zeph keeps by default.
const SECURITY: [&str; 9] = [
    r"warning:.*(unused.*Result|must be used|unsafe)",
    r"thread '.*' (\(\d+\) )?panicked at|dereference of raw pointer",
    r"RUSTSEC-\d{4}-\d{4}",
    r"(?i-u:authentication failed|permission denied)",
    r"(?i-u:unauthorized|40[13]\s+forbidden)",
    r"(?i-u:weak cipher|deprecated algorithm|insecure hash)",
    r"(?i-u:sql injection|unsafe query)",
    r"(?i-u:security advisory)",
    r"(?i-u:vulnerability detected)",
];
static KEPT: LazyLock<Option<Arc<RegexSet>>> =
    LazyLock::new(|| RegexSet::new(SECURITY).ok().map(Arc::new));

/// Returns the default patterns of security lines.
pub(super) fn security() -> Option<Arc<RegexSet>> {
    KEPT.clone()
}

/// Creates the engine of a chain. Lines that match one of the `security` sets are kept.
pub(super) fn engine(programs: Vec<TextProgram>, security: Vec<Arc<RegexSet>>) -> StageFactory {
    StageFactory::new(move |limits| Box::new(RuleChain::new(&programs, &security, limits)))
}

struct RuleChain {
    links: Vec<ChainLink>,
    security: SecurityLines,
    /// Output of the last rule that is not a complete line yet.
    open: Vec<u8>,
    seen: u64,
    tally: StageCounts,
}

/// One rule, and its output that the next rule has not read yet.
struct ChainLink {
    engine: TextPipeline,
    out: Vec<u8>,
}

impl RuleChain {
    fn new(programs: &[TextProgram], security: &[Arc<RegexSet>], limits: &Limits) -> Self {
        // All rules but the first read the output of tamis, so its notices must not be marked as imitations.
        let link = |(place, program)| {
            let make = if place == 0 { TextPipeline::new } else { TextPipeline::unmarked };
            ChainLink { engine: make(program, limits), out: Vec::new() }
        };
        let room = usize::try_from(limits.held()).unwrap_or(usize::MAX);
        Self {
            links: programs.iter().enumerate().map(link).collect(),
            security: SecurityLines::new(security.to_vec(), room),
            open: Vec::new(),
            seen: 0,
            tally: StageCounts::default(),
        }
    }

    /// Writes bytes through the rules from `first` on, and appends the result to `open`.
    fn write(&mut self, bytes: &[u8], first: usize) {
        let mut bytes = bytes.to_vec();
        for ChainLink { engine, out } in self.links.iter_mut().skip(first) {
            engine.write(&bytes, out);
            std::mem::swap(&mut bytes, out);
            out.clear();
        }
        self.open.extend_from_slice(&bytes);
    }

    /// Writes the complete lines.
    fn emit(&mut self, next: EmitLine<'_>) {
        let Some(last) = memchr::memrchr(b'\n', &self.open) else { return };
        let rest = self.open.split_off(last + 1);
        let complete = std::mem::replace(&mut self.open, rest);
        for line in lines(&complete) {
            self.security.comes_out(line.text);
            next(line);
        }
    }
}

/// Splits bytes into lines.
fn lines(bytes: &[u8]) -> impl Iterator<Item = TextLine<'_>> {
    bytes.split_inclusive(|byte| *byte == b'\n').map(|line| match line.strip_suffix(b"\n") {
        None => TextLine { text: line, end: LineEnd::Missing },
        Some(text) => match text.strip_suffix(b"\r") {
            None => TextLine { text, end: LineEnd::Lf },
            Some(text) => TextLine { text, end: LineEnd::CrLf },
        },
    })
}

impl LineStage for RuleChain {
    fn line(&mut self, line: TextLine<'_>, next: EmitLine<'_>) {
        self.seen += 1;
        if !self.security.takes(line.text) {
            return next(TextLine { text: &notice::marked(line.text), ..line });
        }
        self.write(&[line.text, line.end.bytes()].concat(), 0);
        self.emit(next);
    }

    /// A line that is too long to be held is kept.
    fn long(&mut self, _: &[u8], next: EmitLine<'_>) -> bool {
        self.release(next);
        true
    }

    /// Ends the text. Before a long line, a chain only [releases](Self::release) what it holds.
    fn flush(&mut self, next: EmitLine<'_>) {
        for link in 0..self.links.len() {
            let Some(ChainLink { engine, out }) = self.links.get_mut(link) else { continue };
            engine.end(out);
            let report = engine.settle(out);
            self.tally.removed += report.lines_removed + report.lines_left_out;
            self.tally.folded += report.lines_folded;
            self.tally.shortened += report.lines_shortened;
            self.tally.marked += report.lines_marked;
            let bytes = std::mem::take(out);
            self.write(&bytes, link + 1);
        }
        let last = std::mem::take(&mut self.open);
        lines(&last).for_each(|line| self.security.comes_out(line.text));
        let kept = self.security.kept();
        for line in lines(&last) {
            let is_last = line.end == LineEnd::Missing && kept.is_empty();
            next(if is_last || line.end != LineEnd::Missing {
                line
            } else {
                TextLine { end: LineEnd::Lf, ..line }
            });
        }
        self.tally.removed = self.tally.removed.min(self.seen).saturating_sub(kept.len() as u64);
        if !kept.is_empty() {
            next(TextLine { text: notice::SECURITY.as_bytes(), end: LineEnd::Lf });
        }
        for text in &kept {
            next(TextLine { text: &notice::marked(text), end: LineEnd::Lf });
        }
    }

    fn release(&mut self, next: EmitLine<'_>) {
        for link in 0..self.links.len() {
            let Some(ChainLink { engine, out }) = self.links.get_mut(link) else { continue };
            engine.release(out);
            let bytes = std::mem::take(out);
            self.write(&bytes, link + 1);
        }
        self.emit(next);
    }

    /// The line is already in the output, so a security line is not lost, whatever the rules do.
    fn end_early(&mut self, line: TextLine<'_>, next: EmitLine<'_>) {
        self.line(line, next);
        self.release(next);
        self.security.comes_out(line.text);
    }

    fn tally(&self) -> StageCounts {
        self.tally
    }
}

/// Security lines of the input, and whether they were written.
struct SecurityLines {
    patterns: Vec<Arc<RegexSet>>,
    /// Each line, with its index if it was not written yet.
    lines: HashMap<Vec<u8>, Option<usize>>,
    /// Bytes that may still be held.
    room: usize,
}

/// Estimated memory for a line in addition to its text, in bytes.
const COST: usize = 160;

impl SecurityLines {
    fn new(patterns: Vec<Arc<RegexSet>>, room: usize) -> Self {
        Self { patterns, lines: HashMap::new(), room }
    }

    /// Examines an input line. Returns `false` if it has to be kept right away, because there is no room to remember
    /// it.
    fn takes(&mut self, text: &[u8]) -> bool {
        let is_kept = self.patterns.iter().any(|patterns| patterns.is_match(text));
        if !is_kept || self.lines.contains_key(text) {
            return true;
        }
        let Some(room) = self.room.checked_sub(text.len() + COST) else { return false };
        self.room = room;
        self.lines.insert(text.to_vec(), Some(self.lines.len()));
        true
    }

    /// Examines an output line.
    fn comes_out(&mut self, text: &[u8]) {
        if self.lines.is_empty() {
            return;
        }
        let text = text.strip_prefix(notice::MARK.as_bytes()).unwrap_or(text);
        // A folded line ends with a count.
        let folded = memchr::memmem::rfind(text, b" (x").filter(|_| text.ends_with(b")"));
        let folded = folded.and_then(|at| text.get(..at));
        for text in [Some(text), folded].into_iter().flatten() {
            if let Some(place) = self.lines.get_mut(text) {
                *place = None;
            }
        }
    }

    /// Returns the lines that were not written, in order.
    fn kept(&mut self) -> Vec<Vec<u8>> {
        let lines = std::mem::take(&mut self.lines);
        let mut kept: Vec<(usize, Vec<u8>)> =
            lines.into_iter().filter_map(|(text, place)| Some((place?, text))).collect();
        kept.sort_unstable();
        kept.into_iter().map(|(_, text)| text).collect()
    }
}
