//! [`CommandFilter`]: one run over the output of one command.
//!
//! Rules filter line by line. If a rule depends on how the command ends, its variants run side by side and their
//! outputs are held, up to the limit `held`; beyond it the variant for a failure is chosen, because it keeps most. An
//! [`OutputFilter`] gets the whole output, up to the same limit; beyond it the output is passed through.
//!
//! ```text
//! Detecting ──text──▶ Rule                       a rule was found
//!     └──JSON, XML──▶ PassThrough
//! Custom ──too long, not UTF-8, ended──▶ PassThrough     an `OutputFilter` was found
//! Compound                                       a compound command: a filter for each part
//! Steps                                          a log of steps: a filter for each step, then that of the log
//! PassThrough                                    nothing was found
//! ```
//!
//! Invariants: output and report do not depend on the chunks. Filtering cannot fail.

mod states;

use std::fmt;
use std::sync::Arc;

use tamis_json::{Error, Limits, Sink};
use tamis_text::cut::{CutReport, Query};
use tamis_text::lines::ended;
use tamis_text::lines::pipeline::TextPipeline;
use tamis_text::notice;

use crate::cap::{CapHints, CapRun, CappedSink, OutputCap, hints};
use crate::compound::{self, CompoundPart, CompoundRun};
use crate::exit_variant::{ExitVariant, marking, unfiltered, variants};
use crate::full_output::FullOutput;
use crate::output_filter::OutputFilter;
use crate::output_reader::OutputReader;
use crate::report::{CommandReport, PassThroughReason, said};
use crate::rules::{CommandRule, ExitCondition};
use crate::step_run::{StepFilters, StepRun};
use tamis::text::TextReport;

/// The filter chosen for a command.
pub(super) enum FilterChoice {
    Rule(Arc<CommandRule>),
    Custom(Arc<dyn OutputFilter>),
    /// The parts of a compound command, whose outputs can be told apart.
    Compound(Vec<CompoundPart>),
    /// A rule for a log, and the filters for the commands of its steps.
    Steps(Arc<CommandRule>, Arc<dyn StepFilters>),
    None(PassThroughReason),
}

/// A run over the output of one command, created by
/// [`OutputFilterRegistry::start`](crate::OutputFilterRegistry::start).
///
/// Bytes are pushed in, in chunks cut anywhere, and filtered output is written to a [`Sink`]. The exit code is known
/// only at the end: call [`set_exit_code`](Self::set_exit_code) before [`end`](Self::end).
///
/// Bytes that are not UTF-8 are kept. A line over [`Limits::line`](tamis::Limits::with_line) is kept unless its
/// beginning proves that a pattern removes it. Output that begins like JSON or XML is passed through, whatever the
/// command: the filters are written for text.
///
/// Memory: that of a [`TextFilter`](tamis::text::TextFilter), and at most [`Limits::held`](tamis::Limits::with_held) bytes if
/// the filter depends on the exit code or needs the whole output.
///
/// If the raw output has at most 64 KiB, the result is never longer, except for the text that a rule declares for an
/// empty output. In longer outputs each operation is applied only where it shortens. If anything was cut, a last line
/// reports how much, and where the full output is; in outputs up to 64 KiB this line counts towards the length. If there is a
/// filter, output lines that look like this line are prefixed with a mark: `| [tamis …`.
pub struct CommandFilter<S> {
    state: CommandFilterState,
    /// The name of the filter, if there is one.
    filter: Option<String>,
    passed: Option<PassThroughReason>,
    writes_notice: bool,
    exit_code: Option<i32>,
    full_output: Option<FullOutput>,
    /// Reads the output before it is filtered.
    reader: OutputReader,
    ended: bool,
    limits: Limits,
    hints: CapHints,
    sink: CappedSink<S>,
}

enum CommandFilterState {
    /// The beginning of the output is held until its format is known.
    Detecting { head: Vec<u8>, variants: Vec<ExitVariant> },
    /// The variants of a rule: one that writes to the sink, or several whose outputs are held.
    Rule { variants: Vec<ExitVariant> },
    /// An `OutputFilter` will get the output, which is held.
    Custom { filter: Arc<dyn OutputFilter>, command: String, raw: Vec<u8> },
    /// Each part of a compound command has its own filter.
    Compound(Box<CompoundRun>),
    /// Each step of a log has its own filter.
    Steps(Box<StepRun>),
    /// The output is only counted, and marked if there was a filter for it.
    PassThrough(Box<TextPipeline>),
}

impl<S: Sink> CommandFilter<S> {
    pub(super) fn new(choice: FilterChoice, command: &str, limits: &Limits, sink: S) -> Self {
        let mut passed = None;
        let mut reader = OutputReader::default();
        let (state, filter) = match choice {
            FilterChoice::None(reason) => {
                passed = Some(reason);
                (CommandFilterState::PassThrough(unfiltered(limits)), None)
            }
            FilterChoice::Custom(filter) => {
                let name = Some(filter.name().to_owned());
                let command = command.to_owned();
                (CommandFilterState::Custom { filter, command, raw: Vec::new() }, name)
            }
            FilterChoice::Compound(parts) => {
                let name = Some(compound::name(&parts));
                let run = CompoundRun::new(parts, limits);
                (CommandFilterState::Compound(Box::new(run)), name)
            }
            FilterChoice::Steps(rule, filters) => {
                let name = Some(rule.name().to_owned());
                reader = OutputReader::new();
                (CommandFilterState::Steps(Box::new(StepRun::new(rule, filters, limits))), name)
            }
            FilterChoice::Rule(rule) => match variants(&rule, limits) {
                Some(variants) => {
                    reader = OutputReader::new();
                    if rule.reads_prefixes() {
                        let begins = Arc::clone(&rule);
                        let begins = move |line: &[u8]| begins.begins_with(line);
                        reader = reader.without_prefixes(Arc::new(begins));
                    }
                    let state = if rule.reads_machine_format() {
                        CommandFilterState::Rule { variants }
                    } else {
                        CommandFilterState::Detecting { head: Vec::new(), variants }
                    };
                    (state, Some(rule.name().to_owned()))
                }
                None => {
                    passed = Some(PassThroughReason::NoFilter);
                    (CommandFilterState::PassThrough(unfiltered(limits)), None)
                }
            },
        };
        Self {
            state,
            filter,
            passed,
            writes_notice: true,
            exit_code: None,
            full_output: None,
            reader,
            ended: false,
            limits: limits.clone(),
            hints: hints(command),
            sink: CappedSink { inner: sink, cap: None },
        }
    }

    /// Creates a filter that passes the output through, and marks lines that look like a notice.
    pub(super) fn marking(limits: &Limits, sink: S) -> Self {
        let choice = FilterChoice::None(PassThroughReason::NoFilter);
        let mut filter = Self::new(choice, "", limits, sink);
        filter.state = CommandFilterState::PassThrough(marking(limits));
        filter
    }

    /// Sets limits for the output, filtered or not. Call it before the first [`write`](Self::write).
    ///
    /// ```
    /// use tamis::Limits;
    /// use tamis_command::{CommandLine, FullOutput, OutputCap, OutputFilterRegistry};
    ///
    /// let registry = OutputFilterRegistry::builtin();
    /// let line = CommandLine::parse("seq 1000");
    /// let mut filter = registry.start(&line, &Limits::new(), Vec::new()).with_cap(OutputCap::new().with_max_lines(5));
    /// for number in 1..=1000 {
    ///     filter.write(format!("{number}\n").as_bytes())?;
    /// }
    /// filter.set_full_output(FullOutput::command("tamis recall tm_x"));
    /// let report = filter.end()?;
    /// assert_eq!(
    ///     String::from_utf8(filter.into_sink()).unwrap(),
    ///     "1\n... 997 lines left out\n999\n1000\n\
    ///      [tamis: 997 of 1000 lines left out; full output: tamis recall tm_x --lines 2-998]\n"
    /// );
    /// assert_eq!(report.lines_capped, 997);
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn with_cap(mut self, cap: OutputCap) -> Self {
        if cap.is_unlimited() {
            return self;
        }
        if matches!(self.state, CommandFilterState::PassThrough(_)) {
            self.state = CommandFilterState::PassThrough(marking(&self.limits));
        }
        self.sink.cap = Some(Box::new(CapRun::new(&cap, self.hints.clone(), &self.limits, false)));
        self
    }

    /// Sets the locale of the command: the value of `LC_ALL`, `LC_CTYPE` or `LANG`, such as `ja_JP.SJIS`. Call it before the
    /// first [`write`](Self::write).
    ///
    /// If the locale names an encoding other than UTF-8, output that is not valid UTF-8 is decoded from this encoding. Without a
    /// locale, only UTF-16 is decoded, and bytes in other encodings are kept as they are. Output of a command without a filter is
    /// not decoded.
    ///
    /// ### Default
    /// No locale.
    #[must_use]
    pub fn with_locale(mut self, locale: &str) -> Self {
        if matches!(self.state, CommandFilterState::Detecting { .. } | CommandFilterState::Steps(_))
        {
            self.reader.set_locale(locale);
        }
        self
    }

    /// Sets whether a last line of the output reports what was cut.
    ///
    /// ### Default
    /// `true`.
    #[must_use]
    pub fn with_notice(mut self, notice: bool) -> Self {
        self.writes_notice = notice;
        self
    }

    /// Adds words that the reader of the output looks for: if the output is cut, passages that have them are kept first. The
    /// words of the command are among them in any case. Call it before [`with_cap`](Self::with_cap).
    #[must_use]
    pub fn with_query(mut self, words: &str) -> Self {
        self.hints.query = self.hints.query.and(&Query::of(words));
        self
    }

    /// Returns the name of the filter, if there is one.
    #[must_use]
    pub fn filter(&self) -> Option<&str> {
        self.filter.as_deref()
    }

    /// Sets the exit code, or `None` if it is not known, which is the default. Call it before [`end`](Self::end).
    ///
    /// A rule may filter the output of a failed command differently. Without an exit code the operations that the rule
    /// declares for any end apply.
    pub fn set_exit_code(&mut self, code: Option<i32>) {
        self.exit_code = code;
    }

    /// Sets where the full output can be read, for the line that reports what was cut. Call it before
    /// [`end`](Self::end).
    pub fn set_full_output(&mut self, place: impl Into<FullOutput>) {
        self.full_output = Some(place.into());
    }

    /// Whether an [`OutputFilter`] gets the whole output. Its running time is unbounded.
    #[cfg(feature = "tokio")]
    pub(crate) fn is_custom(&self) -> bool {
        matches!(self.state, CommandFilterState::Custom { .. })
    }

    /// Returns the sink.
    pub fn sink(&self) -> &S {
        &self.sink.inner
    }

    /// Returns the sink, to write to it or flush it between chunks.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink.inner
    }

    /// Consumes the filter and returns the sink.
    pub fn into_sink(self) -> S {
        self.sink.inner
    }

    /// Filters the next bytes of the output.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`](tamis::ErrorKind::Failed) after [`end`](Self::end). No output is an error.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.ended {
            return Err(ended());
        }
        self.read(|reader, next| reader.write(bytes, next));
        Ok(())
    }

    /// Calls the reader. The text that it passes on is filtered.
    fn read(&mut self, act: impl FnOnce(&mut OutputReader, &mut dyn FnMut(&[u8]))) {
        let mut reader = std::mem::take(&mut self.reader);
        act(&mut reader, &mut |text| self.push(text));
        self.reader = reader;
    }

    /// Writes everything that is held and may be written, including the beginning of the open line.
    ///
    /// Call it if somebody waits for the output and none has arrived for a second or so: the open line may be a
    /// question. From then on a short output is no longer compared with the raw one. A rule that depends on how the
    /// command ends is applied as for a failed command. An [`OutputFilter`](crate::OutputFilter) still gets the whole
    /// output, and nothing is written before the end.
    ///
    /// ```
    /// use tamis::Limits;
    /// use tamis_command::{CommandLine, OutputFilterRegistry};
    ///
    /// let registry = OutputFilterRegistry::builtin();
    /// let mut filter = registry.start(&CommandLine::parse("cargo install x"), &Limits::new(), Vec::new());
    /// filter.write(b"    Updating crates.io index\nOverwrite it? [y/N] ")?;
    /// assert_eq!(filter.sink(), b"");
    /// filter.release();
    /// assert_eq!(filter.sink(), b"Overwrite it? [y/N] ");
    /// # Ok::<(), tamis::Error>(())
    /// ```
    pub fn release(&mut self) {
        if self.ended {
            return;
        }
        self.read(OutputReader::release);
        match &mut self.state {
            CommandFilterState::Detecting { head, .. } => {
                if head.iter().all(u8::is_ascii_whitespace) {
                    return;
                }
                // The held beginning may still become JSON or XML, so it must not be filtered as text.
                self.detected(true);
            }
            CommandFilterState::Rule { variants } if variants.len() > 1 => self.choose_failed(),
            CommandFilterState::Rule { .. }
            | CommandFilterState::Custom { .. }
            | CommandFilterState::Compound(_)
            | CommandFilterState::Steps(_)
            | CommandFilterState::PassThrough(_) => {}
        }
        match &mut self.state {
            CommandFilterState::Rule { variants } => {
                if let [ExitVariant { pipeline, .. }] = variants.as_mut_slice() {
                    pipeline.release(&mut self.sink);
                }
            }
            CommandFilterState::Compound(run) => run.release(&mut self.sink),
            CommandFilterState::Steps(run) => run.release(&mut self.sink),
            CommandFilterState::PassThrough(pipeline) => pipeline.release(&mut self.sink),
            CommandFilterState::Detecting { .. } | CommandFilterState::Custom { .. } => {}
        }
        let CappedSink { inner, cap } = &mut self.sink;
        if let Some(cap) = cap {
            cap.release(inner);
        }
    }

    /// Ends the output: writes what is held, then the line that reports what was cut, and returns the report.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`](tamis::ErrorKind::Failed) if the filter has ended before.
    pub fn end(&mut self) -> Result<CommandReport, Error> {
        if std::mem::replace(&mut self.ended, true) {
            return Err(ended());
        }
        self.read(OutputReader::end);
        if matches!(self.state, CommandFilterState::Detecting { .. }) {
            self.detected(false);
        }
        let by_custom = self.run_custom();
        let Self { filter, writes_notice, exit_code, full_output, reader, .. } = self;
        let name = filter.as_deref().unwrap_or_default();
        let full = full_output.as_ref().map(FullOutput::as_str);
        let notice = |text: &TextReport| {
            said(&reader.report(*text))
                .filter(|_| *writes_notice)
                .map(|said| notice::cut(name, &said, full))
        };
        let text = match &mut self.state {
            CommandFilterState::Rule { variants } => {
                let chosen =
                    variants.iter().position(|variant| variant.exit.is(*exit_code)).or_else(|| {
                        variants.iter().position(|variant| variant.exit == ExitCondition::Any)
                    });
                match variants.get_mut(chosen.unwrap_or(0)) {
                    Some(ExitVariant { pipeline, out, .. }) => {
                        self.sink.write(out);
                        pipeline.end(&mut self.sink);
                        pipeline.settle_with(&mut self.sink, notice)
                    }
                    None => TextReport::default(),
                }
            }
            CommandFilterState::Compound(run) => {
                let notice = |report: &CommandReport| notice(&report.text());
                run.end(*exit_code, &mut self.sink, notice).text()
            }
            CommandFilterState::Steps(run) => {
                let rule = run.rule();
                let notice = |report: &CommandReport| notice(&report.text());
                let report = run.end(*exit_code, &mut self.sink, notice).or_else(|raw| {
                    let choice = FilterChoice::Rule(rule);
                    let mut whole = CommandFilter::new(choice, "", &self.limits, Vec::new())
                        .with_notice(*writes_notice);
                    whole.exit_code = *exit_code;
                    whole.full_output.clone_from(full_output);
                    whole.write(&raw)?;
                    let report = whole.end();
                    self.sink.write(whole.sink());
                    report
                });
                report.unwrap_or_default().text()
            }
            CommandFilterState::PassThrough(pipeline) => {
                pipeline.end(&mut self.sink);
                let passed = pipeline.settle(&mut self.sink);
                by_custom.unwrap_or(passed)
            }
            CommandFilterState::Detecting { .. } | CommandFilterState::Custom { .. } => {
                TextReport::default()
            }
        };
        let text = self.reader.report(text);
        let mut report = CommandReport {
            filter: self.filter.clone(),
            passed: self.passed,
            exit_code: self.exit_code,
            full_output: self.full_output.as_ref().map(|full| full.as_str().to_owned()),
            ..CommandReport::of(&text)
        };
        self.end_cap(&text, &mut report);
        Ok(report)
    }

    /// Returns which lines the cap kept, and why, after [`end`](Self::end). `None`: nothing was left out by it.
    #[must_use]
    pub fn cut(&self) -> Option<&CutReport> {
        self.sink.cap.as_ref().and_then(|cap| cap.cut())
    }

    /// Ends the cap, if there is one, and adds what it left out to the report.
    fn end_cap(&mut self, text: &TextReport, report: &mut CommandReport) {
        let CappedSink { inner, cap } = &mut self.sink;
        let Some(cap) = cap else { return };
        let filter = self.filter.as_deref().unwrap_or_default();
        let by_filter = said(text);
        let full = self.full_output.as_ref();
        let filter_note = by_filter
            .as_ref()
            .filter(|_| self.writes_notice)
            .map(|said| notice::cut(filter, said, full.map(FullOutput::as_str)));
        // The lines of the output are those of the full output, so their numbers are known.
        let has_numbers = by_filter.is_none() && text.lines_in == text.lines_out && !text.was_empty;
        let is_unchanged = !text.changed;
        let writes_notice = self.writes_notice;
        let has_failed = cap.is_failure(self.exit_code);
        let capped = cap.end(has_failed, filter_note.as_deref(), inner, |capped| {
            if !writes_notice {
                return None;
            }
            let said = match &by_filter {
                None => capped.said(),
                Some(by_filter) => format!("{by_filter}, then {}", capped.said()),
            };
            let full = full.map(|full| match has_numbers {
                true => full.with_lines_of(capped, is_unchanged),
                false => full.as_str().to_owned(),
            });
            Some(notice::cut(filter, &said, full.as_deref()))
        });
        if capped.is_cut() {
            (report.changed, report.cut) = (true, true);
            report.lines_capped = capped.lines_left_out.max(1);
            (report.bytes_out, report.chars_out, report.lines_out) = cap.written();
        }
    }
}

impl<S> fmt::Debug for CommandFilter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandFilter").field("filter", &self.filter).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tamis_json::error::ErrorKind;
    use tamis_json::limits::Limits;

    use crate::{CommandLine, FullOutput, OutputCap, OutputFilterRegistry, PassThroughReason};

    #[test]
    fn bytes_are_named_only_if_they_are_those_of_the_full_output() {
        let registry = OutputFilterRegistry::builtin();
        for (start, named) in [("a\n", true), ("[tamis: x]\n", false), ("\x1b[1ma\x1b[0m\n", true)]
        {
            let text = format!("{start}{}", "word ".repeat(4000));
            let command = CommandLine::parse("unknown");
            let mut filter = registry
                .start(&command, &Limits::new(), Vec::new())
                .with_cap(OutputCap::new().with_max_bytes(1000));
            filter.set_full_output(FullOutput::command("tamis recall tm_x"));
            filter.write(text.as_bytes()).unwrap();
            filter.end().unwrap();
            let shown = String::from_utf8(filter.into_sink()).unwrap();
            assert!(shown.contains("tamis recall tm_x"), "{shown}");
            assert_eq!(shown.contains(" --offset "), named, "{shown}");
        }
    }

    #[test]
    fn a_filter_that_has_ended_refuses_further_output() {
        let registry = OutputFilterRegistry::builtin();
        let mut filter = registry.start(&CommandLine::parse("unknown"), &Limits::new(), Vec::new());
        filter.write(b"a\n").unwrap();
        filter.set_exit_code(Some(3));
        filter.set_full_output("full.log");
        let report = filter.end().unwrap();
        assert_eq!(report.passed, Some(PassThroughReason::NoFilter));
        assert_eq!((report.exit_code, report.full_output.as_deref()), (Some(3), Some("full.log")));
        assert_eq!(filter.write(b"b\n").unwrap_err().kind(), ErrorKind::Failed);
        assert_eq!(filter.end().unwrap_err().kind(), ErrorKind::Failed);
        filter.release();
        assert_eq!(filter.into_sink(), b"a\n");
    }
}
