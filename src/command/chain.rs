//! Several rules for one output, one after the other: each filters what the one before it made, as zeph applies its rules.
//! Lines that speak of security are kept, whatever the rules do.
//!
//! A chain is an engine: a stage on lines, around one text engine for each rule. Lines of security that no rule let through are
//! written at the end. Holds what the text engines hold, and those lines up to the limit `held`.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use regex::bytes::RegexSet;

use crate::limits::Limits;
use crate::notice;
use crate::text::TextProgram;
use crate::text::engine::Engine;
use crate::text::lines::{End, Line};
use crate::text::more::MakeEngine;
use crate::text::stage::{LineStage, Next, Tally};

/// Lines of security: those that zeph keeps by default.
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

/// The patterns of lines that are kept by default.
pub(super) fn security() -> Option<Arc<RegexSet>> {
    KEPT.clone()
}

/// Returns the engine of a chain. Lines that match one of the `security` sets are kept.
pub(super) fn engine(programs: Vec<TextProgram>, security: Vec<Arc<RegexSet>>) -> MakeEngine {
    MakeEngine::new(move |limits| Box::new(Chain::new(&programs, &security, limits)))
}

struct Chain {
    links: Vec<Link>,
    security: Security,
    /// The end of what comes out, until its line is complete.
    open: Vec<u8>,
    seen: u64,
    tally: Tally,
}

/// One rule, and what it made that the next one has not read yet.
struct Link {
    engine: Engine,
    out: Vec<u8>,
}

impl Chain {
    fn new(programs: &[TextProgram], security: &[Arc<RegexSet>], limits: &Limits) -> Self {
        // The output of the first rule contains notices of tamis.
        let link = |(place, program)| {
            let make = if place == 0 { Engine::new } else { Engine::unmarked };
            Link { engine: make(program, limits), out: Vec::new() }
        };
        let room = usize::try_from(limits.held()).unwrap_or(usize::MAX);
        Self {
            links: programs.iter().enumerate().map(link).collect(),
            security: Security::new(security.to_vec(), room),
            open: Vec::new(),
            seen: 0,
            tally: Tally::default(),
        }
    }

    /// Writes bytes to the rules from `first` on; what the last one makes is in `open`.
    fn write(&mut self, bytes: &[u8], first: usize) {
        let mut bytes = bytes.to_vec();
        for Link { engine, out } in self.links.iter_mut().skip(first) {
            engine.write(&bytes, out);
            std::mem::swap(&mut bytes, out);
            out.clear();
        }
        self.open.extend_from_slice(&bytes);
    }

    /// Hands on the lines that are complete.
    fn emit(&mut self, next: Next<'_>) {
        let Some(last) = memchr::memrchr(b'\n', &self.open) else { return };
        let rest = self.open.split_off(last + 1);
        let complete = std::mem::replace(&mut self.open, rest);
        for line in lines(&complete) {
            self.security.comes_out(line.text);
            next(line);
        }
    }
}

/// The lines of some bytes.
fn lines(bytes: &[u8]) -> impl Iterator<Item = Line<'_>> {
    bytes.split_inclusive(|byte| *byte == b'\n').map(|line| match line.strip_suffix(b"\n") {
        None => Line { text: line, end: End::Missing },
        Some(text) => match text.strip_suffix(b"\r") {
            None => Line { text, end: End::Lf },
            Some(text) => Line { text, end: End::CrLf },
        },
    })
}

impl LineStage for Chain {
    fn line(&mut self, line: Line<'_>, next: Next<'_>) {
        self.seen += 1;
        if !self.security.takes(line.text) {
            return next(Line { text: &notice::marked(line.text), ..line });
        }
        self.write(&[line.text, line.end.bytes()].concat(), 0);
        self.emit(next);
    }

    /// A line that is too long to be held is kept.
    fn long(&mut self, _: &[u8], next: Next<'_>) -> bool {
        self.release(next);
        true
    }

    /// The text is complete: in front of a long line, a chain hands on what it [releases](Self::release).
    fn flush(&mut self, next: Next<'_>) {
        for link in 0..self.links.len() {
            let Some(Link { engine, out }) = self.links.get_mut(link) else { continue };
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
            let is_last = line.end == End::Missing && kept.is_empty();
            next(if is_last || line.end != End::Missing {
                line
            } else {
                Line { end: End::Lf, ..line }
            });
        }
        self.tally.removed = self.tally.removed.min(self.seen).saturating_sub(kept.len() as u64);
        if !kept.is_empty() {
            next(Line { text: notice::SECURITY.as_bytes(), end: End::Lf });
        }
        for text in &kept {
            next(Line { text: &notice::marked(text), end: End::Lf });
        }
    }

    fn release(&mut self, next: Next<'_>) {
        for link in 0..self.links.len() {
            let Some(Link { engine, out }) = self.links.get_mut(link) else { continue };
            engine.release(out);
            let bytes = std::mem::take(out);
            self.write(&bytes, link + 1);
        }
        self.emit(next);
    }

    /// Written text is not lost, whatever the rules do.
    fn end_early(&mut self, line: Line<'_>, next: Next<'_>) {
        self.line(line, next);
        self.release(next);
        self.security.comes_out(line.text);
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}

/// Lines of security: which came, and which came out.
struct Security {
    patterns: Vec<Arc<RegexSet>>,
    /// Each line, with its place among them until it comes out.
    lines: HashMap<Vec<u8>, Option<usize>>,
    /// Bytes that may still be held.
    room: usize,
}

/// Bytes that a line costs beside its text.
const COST: usize = 160;

impl Security {
    fn new(patterns: Vec<Arc<RegexSet>>, room: usize) -> Self {
        Self { patterns, lines: HashMap::new(), room }
    }

    /// Looks at a line that came. `false`: it is to be kept at once, for there is no room to remember it.
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

    /// Looks at a line that came out.
    fn comes_out(&mut self, text: &[u8]) {
        if self.lines.is_empty() {
            return;
        }
        let text = text.strip_prefix(notice::MARK.as_bytes()).unwrap_or(text);
        // A folded line has its count behind it.
        let folded = memchr::memmem::rfind(text, b" (x").filter(|_| text.ends_with(b")"));
        let folded = folded.and_then(|at| text.get(..at));
        for text in [Some(text), folded].into_iter().flatten() {
            if let Some(place) = self.lines.get_mut(text) {
                *place = None;
            }
        }
    }

    /// The lines that did not come out, in their order.
    fn kept(&mut self) -> Vec<Vec<u8>> {
        let lines = std::mem::take(&mut self.lines);
        let mut kept: Vec<(usize, Vec<u8>)> =
            lines.into_iter().filter_map(|(text, place)| Some((place?, text))).collect();
        kept.sort_unstable();
        kept.into_iter().map(|(_, text)| text).collect()
    }
}
