//! [`StepRun`]: the filters of the commands inside a log, such as that of a CI run, in which each line names its step.
//!
//! ```text
//! line ─▶ step: text ─▶ filter of the step ─▶ step: text ─┐
//!    └──▶ no step, or no filter known ────────────────────┴▶ filter of the log ─▶ sink
//! ```
//!
//! The rule of the log declares how a line names its step (`steps`). The log shows the command of the step, or a line
//! that nothing else prints begins the output of one command. The text of the step is filtered like the output of that
//! command. It then continues, with the name of its step, to the filter of the log.
//!
//! Invariants: as those of a `CommandFilter`. A program may print what looks like a command, so filters that cut long outputs are
//! not used for steps. At most [`STEPS`] steps are open.

use std::sync::Arc;

use tamis_json::limits::Limits;
use tamis_json::sink::Sink;
use tamis_text::lines::LineEnd;

use super::command_filter::{CommandFilter, FilterChoice};
use super::compared_output::ComparedOutput;
use super::line_head::{LineHead, LinePart, without_end};
use super::report::{CommandReport, PassThroughReason};
use super::rules::{CommandRule, StepLines};

/// Bytes of a line that decide about it. The command of a step may be long.
const DECIDES: usize = 4 << 10;
/// Bytes of the command of a step, which may have several lines.
const COMMAND: usize = 16 << 10;
/// Steps that are open at once.
const STEPS: usize = 32;
/// Lines of a step that may begin the output of a known command.
const BEGINNINGS: u32 = 2000;

/// Chooses the filters for steps.
pub(super) trait StepFilters: Send + Sync {
    /// Returns the filter for a command that the log shows.
    fn for_command(&self, command: &str) -> FilterChoice;

    /// Returns the filter for the only command whose output begins with a line.
    fn for_beginning(&self, line: &[u8]) -> Option<FilterChoice>;
}

/// A step whose lines may still arrive.
struct OpenStep {
    name: Vec<u8>,
    /// The command that the log shows, until its last line was read.
    command: String,
    filter: Option<CommandFilter<Vec<u8>>>,
    /// Lines that may still begin the output of a known command.
    beginnings: u32,
}

/// The filter that reads the rest of the open line.
#[derive(Clone, Copy)]
enum LineTarget {
    Log,
    Step(usize),
}

/// A run over the log of several steps.
pub(super) struct StepRun {
    rule: Arc<CommandRule>,
    filters: Arc<dyn StepFilters>,
    log: CommandFilter<Vec<u8>>,
    /// Whether the last line that the filter of the log read is open.
    log_is_open: bool,
    /// The step whose filter wrote the open line.
    open_step: Option<usize>,
    steps: Vec<OpenStep>,
    lines: LineHead,
    target: LineTarget,
    /// Whether a step had a filter.
    has_filters: bool,
    /// The sum of the filters of steps that have ended.
    sum: CommandReport,
    /// Counts of the whole log.
    read: CommandReport,
    ends_line: bool,
    limits: Limits,
    output: ComparedOutput,
}

impl StepRun {
    pub(super) fn new(
        rule: Arc<CommandRule>,
        filters: Arc<dyn StepFilters>,
        limits: &Limits,
    ) -> Self {
        let choice = FilterChoice::Rule(Arc::clone(&rule));
        Self {
            rule,
            filters,
            log: CommandFilter::new(choice, "", limits, Vec::new()).with_notice(false),
            log_is_open: false,
            open_step: None,
            steps: Vec::new(),
            lines: LineHead::new(DECIDES),
            target: LineTarget::Log,
            has_filters: false,
            sum: CommandReport::default(),
            read: CommandReport::default(),
            ends_line: true,
            limits: limits.clone(),
            output: ComparedOutput::new(),
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8], sink: &mut dyn Sink) {
        self.output.read(bytes);
        self.count(bytes);
        self.read(|lines, next| lines.write(bytes, next));
        self.take_out();
        self.output.write_out(sink);
    }

    pub(super) fn release(&mut self, sink: &mut dyn Sink) {
        self.read(LineHead::release);
        self.release_steps();
        self.log.release();
        self.take_out();
        self.output.release(sink);
    }

    /// Ends the output. Returns the sum of the filters. The line that `note` returns for it is written last.
    ///
    /// # Errors
    /// The whole output, if the rule of the log is to be applied to it without the filters of steps: no step had one, or nothing became
    /// shorter.
    pub(super) fn end(
        &mut self,
        exit_code: Option<i32>,
        sink: &mut dyn Sink,
        note: impl FnOnce(&CommandReport) -> Option<String>,
    ) -> Result<CommandReport, Vec<u8>> {
        self.read(LineHead::release);
        self.end_steps();
        self.log.set_exit_code(exit_code);
        let mut report = self.log.end().unwrap_or_default();
        self.take_out();
        report.changed |= self.sum.changed;
        report.cut |= self.sum.cut;
        (report.bytes_in, report.chars_in) = (self.read.bytes_in, self.read.chars_in);
        report.lines_in = self.read.lines_in;
        report.lines_removed += self.sum.lines_removed;
        report.lines_folded += self.sum.lines_folded;
        report.lines_left_out += self.sum.lines_left_out;
        report.lines_overwritten += self.sum.lines_overwritten;
        report.lines_marked += self.sum.lines_marked;
        // A line may be shortened by both filters.
        let shortened = report.lines_shortened + self.sum.lines_shortened;
        report.lines_shortened = shortened.min(report.lines_out);
        let has_filters = self.has_filters;
        self.output.end(report, sink, note, |_, raw, out| !has_filters || out >= raw)
    }

    /// Returns the rule of the log.
    pub(super) fn rule(&self) -> Arc<CommandRule> {
        Arc::clone(&self.rule)
    }

    /// Counts bytes of the log.
    fn count(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.read.lines_in += u64::from(self.ends_line);
            self.ends_line = *byte == b'\n';
            self.read.chars_in += u64::from(byte & 0xc0 != 0x80);
        }
        self.read.bytes_in += bytes.len() as u64;
    }

    /// Calls the reader of lines, and filters what it passes on.
    fn read(&mut self, act: impl FnOnce(&mut LineHead, &mut dyn FnMut(LinePart<'_>))) {
        let mut lines = std::mem::take(&mut self.lines);
        act(&mut lines, &mut |part| match part {
            LinePart::Head(head) => self.decide(head),
            LinePart::Rest(rest) => match self.target {
                LineTarget::Log => self.write_log(rest),
                LineTarget::Step(step) => self.write_step(step, rest),
            },
        });
        self.lines = lines;
    }

    /// Finds the step of a line and what filters the line.
    fn decide(&mut self, head: &[u8]) {
        let line = without_end(head);
        let rule = Arc::clone(&self.rule);
        let Some((steps, (name, text))) =
            rule.steps().and_then(|steps| Some((steps, steps.divide(line)?)))
        else {
            // An empty line says nothing. In an interleaved log, steps go on after a line of the tool.
            if !line.trim_ascii().is_empty() {
                match rule.steps().is_some_and(StepLines::interleaved) {
                    true => self.release_steps(),
                    false => self.end_steps(),
                }
            }
            return self.keep(head);
        };
        let place = self.open(name, steps.interleaved());
        let command = steps.command(text);
        if command.is_some() || steps.ends(text) {
            self.end_filter(place);
        }
        let Some(step) = self.steps.get_mut(place) else { return self.keep(head) };
        if let Some(command) = command {
            step.add(command);
            return self.keep(head);
        }
        if !step.command.is_empty() {
            let command = std::mem::take(&mut step.command);
            let choice = self.filters.for_command(&command);
            step.beginnings = match choice {
                FilterChoice::None(PassThroughReason::NoFilter | PassThroughReason::Unclear) => {
                    BEGINNINGS
                }
                _ => 0,
            };
            step.start(choice, &command, &self.limits);
        }
        if step.filter.is_none() && step.beginnings > 0 && !text.is_empty() {
            step.beginnings -= 1;
            if let Some(choice) = self.filters.for_beginning(text) {
                step.start(choice, "", &self.limits);
            }
        }
        if step.filter.is_none() {
            return self.keep(head);
        }
        self.has_filters = true;
        self.sum.lines_shortened += u64::from(name.len() + text.len() < line.len());
        if step.name != name {
            step.name = name.to_vec();
        }
        self.target = LineTarget::Step(place);
        let end = head.get(line.len()..).unwrap_or_default();
        self.write_step(place, &[text, end].concat());
    }

    /// Passes a line on as it is.
    fn keep(&mut self, head: &[u8]) {
        self.target = LineTarget::Log;
        self.finish_line();
        self.write_log(head);
        self.open_step = None;
    }

    /// Returns the place of a step, which is opened if it is new.
    fn open(&mut self, name: &[u8], interleaved: bool) -> usize {
        let is_same = |step: &OpenStep| of_name(&step.name) == of_name(name);
        if let Some(place) = self.steps.iter().position(is_same) {
            return place;
        }
        if !interleaved {
            self.end_steps();
            self.steps.clear();
        } else if self.steps.len() >= STEPS {
            self.end_filter(0);
            self.steps.remove(0);
        }
        self.steps.push(OpenStep {
            name: name.to_vec(),
            command: String::new(),
            filter: None,
            beginnings: BEGINNINGS,
        });
        self.steps.len() - 1
    }

    /// Passes on what the filters of steps hold.
    fn release_steps(&mut self) {
        for step in 0..self.steps.len() {
            if let Some(filter) = self.steps.get_mut(step).and_then(|step| step.filter.as_mut()) {
                filter.release();
            }
            self.pass_on(step);
        }
    }

    /// Ends the filters of all steps, in the order in which the steps began.
    fn end_steps(&mut self) {
        for place in 0..self.steps.len() {
            self.end_filter(place);
        }
    }

    fn end_filter(&mut self, place: usize) {
        let filter = self.steps.get_mut(place).and_then(|step| step.filter.as_mut());
        let Some(filter) = filter else { return };
        self.sum.add(&filter.end().unwrap_or_default());
        self.pass_on(place);
        self.finish_line();
        if let Some(step) = self.steps.get_mut(place) {
            step.filter = None;
        }
    }

    /// Writes text to the filter of a step.
    fn write_step(&mut self, place: usize, text: &[u8]) {
        if let Some(filter) = self.steps.get_mut(place).and_then(|step| step.filter.as_mut()) {
            // Fails only after the end.
            _ = filter.write(text);
        }
        self.pass_on(place);
    }

    /// Passes on what the filter of a step has written, with the name of the step before each line.
    fn pass_on(&mut self, place: usize) {
        let Some(step) = self.steps.get_mut(place) else { return };
        let Some(filter) = &mut step.filter else { return };
        let text = std::mem::take(filter.sink_mut());
        let name = step.name.clone();
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            if self.open_step != Some(place) {
                self.finish_line();
            }
            if !self.log_is_open {
                self.write_log(&name);
            }
            self.write_log(line);
            self.open_step = Some(place);
        }
    }

    /// Ends the open line before another one.
    fn finish_line(&mut self) {
        if self.log_is_open {
            self.write_log(LineEnd::Lf.bytes());
        }
    }

    fn write_log(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last() {
            self.log_is_open = *last != b'\n';
        }
        // Fails only after the end.
        _ = self.log.write(bytes);
    }

    /// Takes what the filter of the log has written.
    fn take_out(&mut self) {
        self.output.out.append(self.log.sink_mut());
    }
}

/// Returns the name of a step without what separates it from the text.
fn of_name(name: &[u8]) -> &[u8] {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    let end = name.iter().rposition(is_word).map_or(0, |at| at + 1);
    name.get(..end).unwrap_or_default()
}

impl OpenStep {
    /// Adds a line of the command, which the log may show twice.
    fn add(&mut self, line: &str) {
        let last = self.command.lines().next_back();
        if last == Some(line) || self.command.len() + line.len() > COMMAND {
            return;
        }
        if last.is_some() {
            self.command.push('\n');
        }
        self.command.push_str(line);
    }

    fn start(&mut self, choice: FilterChoice, command: &str, limits: &Limits) {
        let is_none = match &choice {
            FilterChoice::None(_) => true,
            FilterChoice::Rule(rule) => rule.cuts(),
            _ => false,
        };
        if is_none {
            return;
        }
        let limits = limits.clone().with_held(limits.held() / STEPS as u64);
        self.filter =
            Some(CommandFilter::new(choice, command, &limits, Vec::new()).with_notice(false));
    }
}
