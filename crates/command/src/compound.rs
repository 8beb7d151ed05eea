//! [`CompoundRun`]: the filters of a compound command, such as `npm ci && cargo test`, over its output.
//!
//! Each part filters its own output. The output of a later part begins with a line that its rule declares (`begins`) and
//! that the current part does not print, or after the line of an `echo`. Lines of `echo` are kept.
//!
//! Invariants: as those of a [`CommandFilter`]. A part that is not found only means that the filter before it sees lines
//! that it does not know, and keeps.

use std::sync::Arc;

use tamis_json::limits::Limits;
use tamis_json::sink::Sink;

use super::command_filter::{CommandFilter, FilterChoice};
use super::compared_output::ComparedOutput;
use super::line_head::{LineHead, LinePart, without_end};
use super::printing::{EchoLine, RunCondition};
use super::report::CommandReport;
use super::rules::CommandRule;

/// Bytes of a line that decide whether it begins a part.
const DECIDES: usize = 512;

/// A part of a compound command.
#[derive(Clone)]
pub(super) struct CompoundPart {
    pub(super) kind: PartKind,
    pub(super) runs: RunCondition,
}

#[derive(Clone)]
pub(super) enum PartKind {
    Rule(Arc<CommandRule>),
    /// Prints this line.
    Echo(EchoLine),
}

impl CompoundPart {
    fn rule(&self) -> Option<&Arc<CommandRule>> {
        match &self.kind {
            PartKind::Rule(rule) => Some(rule),
            PartKind::Echo(_) => None,
        }
    }

    fn begins_with(&self, line: &[u8]) -> bool {
        match &self.kind {
            PartKind::Rule(rule) => rule.begins_with(line),
            PartKind::Echo(echo) => echo.matches(line),
        }
    }
}

/// Returns the filter of a compound command: the rule that all parts share, or their parts. `None` if their
/// outputs cannot be separated.
pub(super) fn choose(parts: Vec<CompoundPart>) -> Option<FilterChoice> {
    let first = parts.first()?;
    let is_first = |part: &CompoundPart| match (part.rule(), first.rule()) {
        (Some(rule), Some(first)) => rule.name() == first.name(),
        _ => false,
    };
    if parts.iter().all(is_first) {
        return Some(FilterChoice::Rule(Arc::clone(first.rule()?)));
    }
    // Only lines of `echo`.
    parts.iter().find_map(CompoundPart::rule)?;
    let can_be_found = parts.iter().zip(parts.iter().skip(1)).all(|(before, part)| {
        matches!(before.kind, PartKind::Echo(_))
            || match (&part.kind, before.rule()) {
                (PartKind::Rule(rule), Some(before)) => {
                    rule.name() == before.name() || rule.has_beginning()
                }
                _ => true,
            }
    });
    can_be_found.then_some(FilterChoice::Compound(parts))
}

/// Returns the name of the filter: the names of the rules.
pub(super) fn name(parts: &[CompoundPart]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in parts.iter().filter_map(CompoundPart::rule).map(|rule| rule.name()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join("+")
}

/// A run over the output of a compound command.
pub(super) struct CompoundRun {
    parts: Vec<CompoundPart>,
    /// The part that prints, and whether it has printed a line.
    at: usize,
    has_line: bool,
    filter: CommandFilter<Vec<u8>>,
    lines: LineHead,
    limits: Limits,
    /// The sum of the parts that have ended.
    sum: CommandReport,
    output: ComparedOutput,
}

impl CompoundRun {
    pub(super) fn new(parts: Vec<CompoundPart>, limits: &Limits) -> Self {
        let filter = filter_of(parts.first(), limits);
        Self {
            parts,
            at: 0,
            has_line: false,
            filter,
            lines: LineHead::new(DECIDES),
            limits: limits.clone(),
            sum: CommandReport::default(),
            output: ComparedOutput::new(),
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8], sink: &mut dyn Sink) {
        self.output.read(bytes);
        self.read(|lines, next| lines.write(bytes, next));
        self.take_out();
        self.output.write_out(sink);
    }

    pub(super) fn release(&mut self, sink: &mut dyn Sink) {
        self.read(LineHead::release);
        self.filter.release();
        self.take_out();
        self.output.release(sink);
    }

    /// Ends the output. Returns the sum of the parts. The line that `note` returns for it is written last.
    pub(super) fn end(
        &mut self,
        exit_code: Option<i32>,
        sink: &mut dyn Sink,
        note: impl FnOnce(&CommandReport) -> Option<String>,
    ) -> CommandReport {
        self.read(LineHead::release);
        let rest = self.parts.get(self.at + 1..).unwrap_or_default();
        let failed = exit_code.is_some_and(|code| code != 0);
        // Later parts did not run if the exit code is that of this one.
        let is_last =
            rest.is_empty() || failed && rest.iter().all(|part| part.runs == RunCondition::Success);
        self.end_part(exit_code.filter(|_| is_last));
        let report = std::mem::take(&mut self.sum);
        let is_preferred = |report: &CommandReport, raw, out| report.cut && out >= raw;
        self.output.end(report, sink, note, is_preferred).unwrap_or_else(|raw| {
            let mut passing = CommandFilter::marking(&self.limits, Vec::new());
            _ = passing.write(&raw);
            let report = passing.end().unwrap_or_default();
            sink.write(passing.sink());
            report
        })
    }

    /// Calls the reader of lines, and filters what it passes on.
    fn read(&mut self, act: impl FnOnce(&mut LineHead, &mut dyn FnMut(LinePart<'_>))) {
        let mut lines = std::mem::take(&mut self.lines);
        act(&mut lines, &mut |part| match part {
            LinePart::Head(head) => self.decide(head),
            LinePart::Rest(rest) => self.push(rest),
        });
        self.lines = lines;
    }

    /// Decides to which part the open line belongs.
    fn decide(&mut self, head: &[u8]) {
        if let Some(next) = self.next_part(without_end(head)) {
            let runs = self.parts.get(next).map(|part| part.runs);
            let is_next = next == self.at + 1;
            self.end_part(match runs {
                Some(RunCondition::Success) if is_next => Some(0),
                Some(RunCondition::Failure) if is_next => Some(1),
                _ => None,
            });
            self.at = next;
            self.filter = filter_of(self.parts.get(next), &self.limits);
        }
        self.has_line = true;
        self.push(head);
    }

    /// Returns the part that begins with a line, if it is another one.
    fn next_part(&self, line: &[u8]) -> Option<usize> {
        let current = self.parts.get(self.at)?;
        let name = current.rule().map(|rule| rule.name());
        let own = current.rule().is_some_and(|rule| rule.begins_with(line));
        let mut later = self.parts.iter().enumerate().skip(self.at + 1);
        let found = later.find(|(_, part)| {
            !own && part.rule().is_none_or(|rule| Some(rule.name()) != name)
                && part.begins_with(line)
        });
        let after_echo = || {
            let next = self.at + 1;
            let follows = name.is_none() && self.has_line && next < self.parts.len();
            follows.then_some(next)
        };
        found.map(|(next, _)| next).or_else(after_echo)
    }

    fn push(&mut self, bytes: &[u8]) {
        // Fails only after the end.
        _ = self.filter.write(bytes);
    }

    /// Ends the current part.
    fn end_part(&mut self, exit_code: Option<i32>) {
        self.filter.set_exit_code(exit_code);
        self.sum.add(&self.filter.end().unwrap_or_default());
        self.take_out();
    }

    /// Takes what the filter of the part has written.
    fn take_out(&mut self) {
        self.output.out.append(self.filter.sink_mut());
    }
}

/// Creates the filter of a part.
fn filter_of(part: Option<&CompoundPart>, limits: &Limits) -> CommandFilter<Vec<u8>> {
    match part.and_then(CompoundPart::rule) {
        Some(rule) => {
            let choice = FilterChoice::Rule(Arc::clone(rule));
            CommandFilter::new(choice, "", limits, Vec::new()).with_notice(false)
        }
        None => CommandFilter::marking(limits, Vec::new()),
    }
}
