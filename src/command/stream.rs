//! One run over one command's output: bytes are pushed in, what is left goes to a sink.
//!
//! Rules stream by line. Where a rule depends on how the command ends, its variants run side by side and their outputs wait,
//! up to a limit; beyond it the one for a failure is taken, which keeps most. A filter of one's own gets the whole output,
//! up to the same limit; beyond it the output passes.
//!
//! Invariants: output and report do not depend on the chunks. No run fails.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use super::filter::OutputFilter;
use super::machine::{self, HEAD, Looks};
use super::registry::Choice;
use super::report::{CommandReport, PassThroughReason, note};
use super::rules::{Exit, Rule};
use crate::limits::Limits;
use crate::notice;
use crate::sink::Sink;
use crate::text::engine::Engine;
use crate::text::gate::HOLD;
use crate::text::{TextProgram, TextReport};

/// A run over one command's output, made by [`OutputFilterRegistry::start`](crate::OutputFilterRegistry::start).
///
/// Chunks may be cut anywhere. Bytes that are not UTF-8 pass, and lines over [`Limits::line`](crate::Limits::with_line) of
/// which patterns do not tell from their beginning that they go. An output that begins like JSON or XML passes, whatever the
/// command: the filters for text are not for it. Memory: that of a [`TextFilter`](crate::TextFilter), and at most
/// [`Limits::held`](crate::Limits::with_held) bytes where a filter depends on the exit code or needs the whole output.
///
/// The result is never longer than the raw output where that has at most 4 KiB, but for the text that a rule has for an
/// empty output; of a longer one, each operation is used only where it shortens. If something was cut, one line at the end
/// says how much and where all of it is; of a short output it is part of what is compared. A line of the output that has the
/// form of such a line is marked as the command's own where there is a filter: `| [tamis …`.
pub struct CommandFilter<S> {
    state: State,
    filter: Option<String>,
    passed: Option<PassThroughReason>,
    /// Nothing is said of what was left out.
    quiet: bool,
    limits: Limits,
    sink: S,
}

enum State {
    /// The beginning, until it is known what it is.
    Begin {
        head: Vec<u8>,
        variants: Vec<Variant>,
    },
    /// A rule's variants: one of them, or several whose outputs wait.
    Rule {
        variants: Vec<Variant>,
    },
    Custom {
        filter: Arc<dyn OutputFilter>,
        command: String,
        raw: Vec<u8>,
    },
    Pass(Box<Engine>),
}

/// A rule as it is for some exit codes.
struct Variant {
    exit: Exit,
    engine: Engine,
    out: Vec<u8>,
}

impl<S: Sink> CommandFilter<S> {
    pub(super) fn new(choice: Choice, command: &str, limits: &Limits, sink: S) -> Self {
        let (state, filter, passed) = match choice {
            Choice::None(passed) => (State::Pass(unfiltered(limits)), None, Some(passed)),
            Choice::Custom(filter) => {
                let name = Some(filter.name().to_owned());
                let command = command.to_owned();
                (State::Custom { filter, command, raw: Vec::new() }, name, None)
            }
            Choice::Rule(rule) => match variants(&rule, limits) {
                Some(variants) => {
                    let state = State::Begin { head: Vec::new(), variants };
                    (state, Some(rule.name().to_owned()), None)
                }
                None => (State::Pass(unfiltered(limits)), None, Some(PassThroughReason::NoFilter)),
            },
        };
        Self { state, filter, passed, quiet: false, limits: limits.clone(), sink }
    }

    /// Bytes that may wait.
    fn held(&self) -> usize {
        usize::try_from(self.limits.held()).unwrap_or(usize::MAX)
    }

    /// Nothing is said in the output of what was left out.
    #[must_use]
    pub fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// The name of the filter, if there is one.
    #[must_use]
    pub fn filter(&self) -> Option<&str> {
        self.filter.as_deref()
    }

    /// Whether a user's filter gets the output, all of it at once: how long that takes nobody knows.
    #[cfg(feature = "tokio")]
    pub(crate) fn is_custom(&self) -> bool {
        matches!(self.state, State::Custom { .. })
    }

    /// Where the output goes.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// The same, to be written to or flushed.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Takes the next bytes of the output.
    pub fn write(&mut self, bytes: &[u8]) {
        let held = self.held();
        match &mut self.state {
            State::Begin { head, .. } => {
                let room = HEAD - head.len();
                let (now, later) = bytes.split_at(bytes.len().min(room));
                head.extend_from_slice(now);
                match machine::looks(head) {
                    Looks::Unknown => {}
                    Looks::Text => self.decided(false),
                    Looks::Structured => self.decided(true),
                }
                if !later.is_empty() {
                    self.write(later);
                }
            }
            State::Rule { variants } => {
                if let [Variant { engine, .. }] = variants.as_mut_slice() {
                    engine.write(bytes, &mut self.sink);
                    return;
                }
                // Small pieces, so that no more waits than is allowed by about as much.
                for bytes in bytes.chunks(PIECE) {
                    self.write_variants(bytes);
                }
            }
            State::Custom { raw, .. } => {
                if raw.len() + bytes.len() <= held {
                    raw.extend_from_slice(bytes);
                    return;
                }
                let raw = std::mem::take(raw);
                self.pass(PassThroughReason::TooLong, &raw);
                self.write(bytes);
            }
            State::Pass(engine) => engine.write(bytes, &mut self.sink),
        }
    }

    /// No output has come for a while: hands on what is held, the open line too, as far as it has come.
    ///
    /// Call it where a reader waits for the output and a second or so has passed without any: the open line may be a
    /// question. From then on a short output is no longer compared with the raw one. A rule that depends on how the command ends
    /// is taken as for one that failed. A filter of one's own still gets the whole output, and until then nothing of it leaves.
    ///
    /// ```
    /// use tamis::{CommandLine, Limits, OutputFilterRegistry};
    ///
    /// let registry = OutputFilterRegistry::builtin();
    /// let mut run = registry.start(&CommandLine::parse("cargo install x"), &Limits::new(), Vec::new());
    /// run.write(b"    Updating crates.io index\nOverwrite it? [y/N] ");
    /// assert_eq!(run.sink(), b"");
    /// run.release();
    /// assert_eq!(run.sink(), b"Overwrite it? [y/N] ");
    /// ```
    pub fn release(&mut self) {
        match &mut self.state {
            State::Begin { head, .. } => {
                // What began like JSON goes on like it, perhaps.
                match head.iter().any(|byte| !byte.is_ascii_whitespace()) {
                    true => self.decided(true),
                    false => return,
                }
            }
            State::Rule { variants } if variants.len() > 1 => self.choose(),
            State::Rule { .. } | State::Custom { .. } | State::Pass(_) => {}
        }
        match &mut self.state {
            State::Rule { variants } => {
                if let [Variant { engine, .. }] = variants.as_mut_slice() {
                    engine.release(&mut self.sink);
                }
            }
            State::Pass(engine) => engine.release(&mut self.sink),
            State::Begin { .. } | State::Custom { .. } => {}
        }
    }

    /// The output is complete. How the command ended, if that is known, and where all of its output is, if anywhere.
    pub fn end(mut self, exit_code: Option<i32>, full_output: Option<&str>) -> (S, CommandReport) {
        if matches!(self.state, State::Begin { .. }) {
            self.decided(false);
        }
        let done = self.custom(exit_code, full_output);
        let name = self.filter.as_deref().unwrap_or_default();
        let quiet = self.quiet;
        let say = |text: &TextReport| {
            if quiet { None } else { note(name, text, full_output) }
        };
        let text = match &mut self.state {
            State::Rule { variants } => {
                let chosen = variants
                    .iter()
                    .position(|variant| variant.exit.is(exit_code))
                    .or_else(|| variants.iter().position(|variant| variant.exit == Exit::Any));
                match variants.get_mut(chosen.unwrap_or(0)) {
                    Some(Variant { engine, out, .. }) => {
                        self.sink.write(out);
                        engine.end(&mut self.sink);
                        engine.settle_with(&mut self.sink, say)
                    }
                    None => TextReport::default(),
                }
            }
            State::Pass(engine) => {
                engine.end(&mut self.sink);
                let passed = engine.settle(&mut self.sink);
                done.unwrap_or(passed)
            }
            State::Begin { .. } | State::Custom { .. } => TextReport::default(),
        };
        let report = CommandReport {
            filter: self.filter,
            passed: self.passed,
            exit_code,
            full_output: full_output.map(str::to_owned),
            ..CommandReport::of(&text)
        };
        (self.sink, report)
    }

    /// The beginning tells what the output is.
    fn decided(&mut self, structured: bool) {
        let State::Begin { head, variants } = &mut self.state else { return };
        let (head, variants) = (std::mem::take(head), std::mem::take(variants));
        if structured {
            self.pass(PassThroughReason::Structured, &head);
        } else {
            self.state = State::Rule { variants };
            self.write(&head);
        }
    }

    /// The output passes from now on; some of it has come already.
    fn pass(&mut self, why: PassThroughReason, before: &[u8]) {
        let mut engine = marking(&self.limits);
        engine.write(before, &mut self.sink);
        self.state = State::Pass(engine);
        (self.filter, self.passed) = (None, Some(why));
    }

    fn write_variants(&mut self, bytes: &[u8]) {
        let held = self.held();
        let State::Rule { variants } = &mut self.state else { return };
        if let [Variant { engine, .. }] = variants.as_mut_slice() {
            return engine.write(bytes, &mut self.sink);
        }
        let mut waiting = 0;
        for Variant { engine, out, .. } in variants.iter_mut() {
            engine.write(bytes, out);
            waiting += out.len();
        }
        if waiting > held {
            self.choose();
        }
    }

    /// Takes the variant for a failure, which keeps most.
    fn choose(&mut self) {
        let State::Rule { variants } = &mut self.state else { return };
        let of = |exit| variants.iter().position(|variant| variant.exit == exit);
        let place = of(Exit::Failed).or_else(|| of(Exit::Any)).unwrap_or(0);
        let mut chosen = variants.swap_remove(place);
        self.sink.write(&std::mem::take(&mut chosen.out));
        *variants = vec![chosen];
    }

    /// Asks a filter of one's own for what it makes of the output. What it did, unless the output passes as it came.
    fn custom(&mut self, exit_code: Option<i32>, full_output: Option<&str>) -> Option<TextReport> {
        let State::Custom { filter, command, raw } = &mut self.state else { return None };
        let raw = std::mem::take(raw);
        let Ok(text) = std::str::from_utf8(&raw) else {
            self.pass(PassThroughReason::NotText, &raw);
            return None;
        };
        let result = filter.filter(command, text, exit_code.unwrap_or(-1)).output;
        let (result, lines_marked) = marked(text, result);
        let (lines_in, lines) = (text.lines().count() as u64, result.lines().count() as u64);
        let mut report = TextReport {
            changed: true,
            bytes_in: raw.len() as u64,
            chars_in: text.chars().count() as u64,
            lines_in,
            lines_removed: lines_in.saturating_sub(lines),
            lines_shortened: u64::from(lines >= lines_in),
            lines_marked,
            ..TextReport::default()
        };
        let said = if self.quiet { None } else { note(filter.name(), &report, full_output) };
        let unsaid = result.len();
        let mut out = result;
        if let Some(said) = said {
            if !out.is_empty() && !out.ends_with('\n') {
                out.push('\n');
            }
            out.push_str(&said);
            out.push('\n');
        }
        let mut passing = marking(&self.limits);
        if unsaid >= raw.len() || (out.len() >= raw.len() && raw.len() <= HOLD) {
            passing.write(&raw, &mut self.sink);
            self.state = State::Pass(passing);
            return None;
        }
        self.state = State::Pass(passing);
        self.sink.write(out.as_bytes());
        report.lines_out = lines + u64::from(out.len() > unsaid);
        report.bytes_out = out.len() as u64;
        report.chars_out = out.chars().count() as u64;
        Some(report)
    }
}

/// Bytes that are given to the variants of a rule at once.
const PIECE: usize = 16 << 10;

/// For an output that no filter is for.
fn unfiltered(limits: &Limits) -> Box<Engine> {
    Box::new(Engine::new(&TextProgram::passing(), limits))
}

/// For an output that passes although there is a filter for it.
fn marking(limits: &Limits) -> Box<Engine> {
    Box::new(Engine::new(&TextProgram::marking(), limits))
}

/// What a filter of one's own made, with marks at lines that have the form of a notice and are of the raw output; and how many
/// those are. What the filter says of itself has none.
fn marked(raw: &str, result: String) -> (String, u64) {
    let is_one = |line: &&str| notice::looks_like_one(line.as_bytes(), true);
    let imitations: HashSet<&str> = raw.lines().filter(is_one).collect();
    if imitations.is_empty() {
        return (result, 0);
    }
    let mut count = 0;
    let mut out = String::with_capacity(result.len());
    for line in result.split_inclusive('\n') {
        if imitations.contains(line.lines().next().unwrap_or_default()) {
            out.push_str(notice::MARK);
            count += 1;
        }
        out.push_str(line);
    }
    (out, count)
}

fn variants(rule: &Rule, limits: &Limits) -> Option<Vec<Variant>> {
    let programs = rule.programs()?;
    let variant = |(exit, program): &(Exit, TextProgram)| Variant {
        exit: *exit,
        engine: Engine::new(program, limits),
        out: Vec::new(),
    };
    Some(programs.iter().map(variant).collect())
}

impl<S> fmt::Debug for CommandFilter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandFilter").field("filter", &self.filter).finish_non_exhaustive()
    }
}
