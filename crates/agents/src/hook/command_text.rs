//! Filters the complete output of a command: by the filter of the command, then by the limit of the profile.
//!
//! The full output is recorded before it is filtered. If it cannot be recorded, it is not filtered.

use std::borrow::Cow;
#[cfg(unix)]
use std::io::Write as _;
use std::time::Instant;

#[cfg(unix)]
use tamis::Limits;
use tamis::text::{InvisibleFilter, mark_notices};
use tamis_command::CommandLine;
#[cfg(unix)]
use tamis_command::{FullOutput, OutputCap, OutputRecorder as _};
use tamis_store::calls::{CallLine, ShownBy, TextSize};
#[cfg(unix)]
use tamis_store::calls::{OutputKind, ShownWhole};

#[cfg(unix)]
use super::limits;
use super::settings::HookSettings;
#[cfg(unix)]
use crate::recorder::StoreRecorder;

/// The output of a command, as an agent got it.
#[derive(Clone, Copy, Debug)]
pub struct CommandText<'a> {
    /// The command line, as the model wrote it.
    pub command: &'a str,
    /// Its output.
    pub output: &'a str,
    /// Its exit code, if known; that of a shell if a signal killed it.
    pub exit_code: Option<i32>,
    /// The most tokens that the agent takes from a hook.
    pub most_tokens: u64,
    /// Whether the limit is one of four bytes for each token, not of estimated tokens.
    pub counts_bytes: bool,
    /// The agent that shows the output.
    pub agent: ShownBy,
}

/// A filtered output.
#[derive(Clone, Debug)]
pub struct FilteredText {
    /// The output, with a last line that says what was left out and how to get it.
    pub text: String,
    /// The call, for the log of savings.
    pub call: CallLine<'static>,
    /// Whether the original must not be shown even if it is shorter: it has invisible characters, or imitates a notice.
    pub must_replace: bool,
}

impl CommandText<'_> {
    /// Filters the output. `None`: the output is unchanged.
    #[must_use]
    pub fn filter(&self, settings: &HookSettings) -> Option<FilteredText> {
        if settings.leaves_alone(self.command) {
            return None;
        }
        let begun = Instant::now();
        let (cleaned, count) = self.visible(settings);
        let output = cleaned.as_deref().unwrap_or(self.output);
        if let Some(filtered) = self.filter_visible(output, settings, begun) {
            let call = filtered.call.with_invisible(count);
            return Some(FilteredText { call, must_replace: count > 0, ..filtered });
        }
        // The agent shows a part of a longer output.
        let size = TextSize::of(output);
        let is_whole = self.agent.of_command(size, self.has_failed()) == size.bytes
            && self.agent.most_lines().is_none_or(|most| output.lines().count() as u64 <= most);
        self.made_safe(settings, cleaned.as_deref(), count, is_whole, begun)
    }

    /// Removes invisible characters, and marks imitated notices. `None`: the output has neither.
    ///
    /// The agent must show the whole output.
    #[must_use]
    pub fn clean(&self, settings: &HookSettings) -> Option<FilteredText> {
        if settings.leaves_alone(self.command) {
            return None;
        }
        let begun = Instant::now();
        let (cleaned, count) = self.visible(settings);
        self.made_safe(settings, cleaned.as_deref(), count, true, begun)
    }

    /// Returns the output without invisible characters, if there are any, and their number.
    fn visible(&self, settings: &HookSettings) -> (Option<String>, u64) {
        let mut invisible = InvisibleFilter::new();
        let cleaned = settings.removes_invisible().then(|| invisible.apply(self.output.as_bytes()));
        let cleaned = cleaned.flatten().and_then(|text| String::from_utf8(text).ok());
        let count = cleaned.as_ref().map_or(0, |_| invisible.report().total());
        (cleaned, count)
    }

    /// Marks imitated notices in an output that is shown whole. `cleaned` is the output without its invisible characters.
    fn made_safe(
        &self,
        settings: &HookSettings,
        cleaned: Option<&str>,
        count: u64,
        is_whole: bool,
        begun: Instant,
    ) -> Option<FilteredText> {
        let marked = if is_whole { marked(cleaned.unwrap_or(self.output)) } else { None };
        let marked = marked.filter(|_| !self.is_of_tamis() && settings.command_filters().is_some());
        let text = match (marked, cleaned) {
            (Some(marked), _) => marked,
            (_, Some(cleaned)) => cleaned.to_owned(),
            (_, None) => return None,
        };
        let line = CommandLine::parse(self.command);
        let bytes = [self.output.len(), text.len()].map(|bytes| bytes as u64);
        let call = CallLine::new(line.program_name().unwrap_or("sh"), "", bytes)
            .with_outcome("filtered", None)
            .with_times(begun.elapsed(), None)
            .with_exit_code(self.exit_code)
            .with_invisible(count)
            .with_command_shown(
                Some(self.agent),
                self.has_failed(),
                [self.output, &text].map(TextSize::of),
            );
        Some(FilteredText { call: call.into_owned(), text, must_replace: true })
    }

    /// Whether tamis itself prints the output, with its own notices.
    fn is_of_tamis(&self) -> bool {
        CommandLine::parse(self.command).program_name() == Some("tamis")
            || reads_again(self.command)
    }

    /// Returns the bytes of an output that the agent shows whole, if the limit is that of the agent, and not a lower one.
    #[cfg(unix)]
    fn whole_bytes(&self, most_tokens: u64) -> u64 {
        if most_tokens < limits::MOST_TOKENS || self.most_tokens < limits::MOST_TOKENS {
            return 0;
        }
        let kind = match self.has_failed() {
            true => OutputKind::FailedCommand,
            false => OutputKind::Command,
        };
        match self.agent.shown_whole_here(kind) {
            // The agent counts what it writes around an output, too.
            ShownWhole::Bytes(most) | ShownWhole::Chars(most) => most.saturating_sub(AROUND),
            _ => 0,
        }
    }

    /// Whether the agent takes the command for one that failed.
    fn has_failed(&self) -> bool {
        self.exit_code.is_some_and(|code| code != 0)
    }

    /// Returns the call of an output that is unchanged, for the log. `shown` are the bytes that the agent shows.
    #[must_use]
    pub fn unchanged(&self, shown: u64) -> CallLine<'static> {
        let line = CommandLine::parse(self.command);
        let bytes = self.output.len() as u64;
        let mut call = CallLine::new(line.program_name().unwrap_or("sh"), "", [bytes; 2])
            .with_exit_code(self.exit_code)
            .with_shown(Some(self.agent), [shown; 2]);
        if reads_again(self.command) {
            call = call.with_outcome("retrieved", None);
        }
        call.into_owned()
    }

    /// Filters an output without invisible characters.
    #[cfg(unix)]
    fn filter_visible(
        &self,
        output: &str,
        settings: &HookSettings,
        begun: Instant,
    ) -> Option<FilteredText> {
        let registry = settings.command_filters()?;
        let line = CommandLine::parse(self.command);
        let cap = settings.max_tokens().map(|tokens| tokens.min(self.most_tokens));
        let whole = settings.max_tokens().map_or(0, |tokens| self.whole_bytes(tokens));
        let size = output.len() as u64;
        let is_long = cap.is_some_and(|tokens| size > whole.max(tokens * 4));
        if registry.filter_for(&line).is_none() && !is_long {
            return None;
        }
        let name: String = self.command.chars().take(LONGEST_NAME).collect();
        let recorder = match self.agent {
            ShownBy::ClaudeCode => {
                settings.recorder(name).with_session_files(settings.session_files())
            }
            _ => settings.recorder(name),
        };
        let mut record = recorder.begin().ok()?;
        record.write_all(output.as_bytes()).ok()?;
        if record.left_out() > 0 {
            return None;
        }
        let most = if self.counts_bytes { cap.unwrap_or(0).saturating_mul(4) } else { 0 };
        let cap = OutputCap::new()
            .with_max_tokens(cap.unwrap_or(0))
            .with_max_bytes(most)
            .with_whole(whole, whole);
        let mut filter = registry.start(&line, &Limits::new(), Vec::new()).with_cap(cap);
        filter.write(output.as_bytes()).ok()?;
        filter.set_exit_code(self.exit_code);
        let place = record.place();
        let full_output = match record.prints_lines() {
            true => FullOutput::command(place.to_string()),
            false => FullOutput::new(place.to_string()),
        };
        filter.set_full_output(full_output);
        let report = filter.end().ok()?;
        if report.cut {
            record.keep().ok()?;
        }
        let text = String::from_utf8(filter.into_sink()).ok()?;
        if text == output {
            return None;
        }
        let bytes = [self.output.len(), text.len()].map(|bytes| bytes as u64);
        let program = line.program_name().unwrap_or("sh").to_owned();
        let rule = report.filter.unwrap_or_default();
        let call = CallLine::new(&program, &rule, bytes)
            .with_handle(StoreRecorder::handle(&place).filter(|_| report.cut))
            .with_redacted(&report.redacted)
            .with_times(begun.elapsed(), None)
            .with_exit_code(self.exit_code)
            .with_command_shown(
                Some(self.agent),
                self.has_failed(),
                [self.output, &text].map(TextSize::of),
            );
        Some(FilteredText { text, call: call.into_owned(), must_replace: false })
    }

    /// Returns nothing: a full output can only be recorded on Unix.
    #[cfg(not(unix))]
    fn filter_visible(&self, _: &str, _: &HookSettings, _: Instant) -> Option<FilteredText> {
        None
    }
}

/// Returns the text with marks where a line imitates a notice of tamis. `None`: no line does.
fn marked(text: &str) -> Option<String> {
    let mut is_changed = false;
    let lines = text.split_inclusive('\n').map(|line| {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let marked = mark_notices(line.as_bytes());
        is_changed |= matches!(marked, Cow::Owned(_));
        String::from_utf8_lossy(&marked).into_owned() + end
    });
    let marked: String = lines.collect();
    is_changed.then_some(marked)
}

/// Returns whether a command line reads a full output again: its output would not have been shown without tamis.
///
/// ```
/// use tamis_agents::hook::command_text::reads_again;
///
/// assert!(reads_again("/usr/bin/tamis recall tm_x --lines 3 | head"));
/// assert!(reads_again("cd x && tamis run --last"));
/// assert!(!reads_again("tamis run -- cargo test --last"));
/// ```
#[must_use]
pub fn reads_again(typed: &str) -> bool {
    let mut words = typed.split_ascii_whitespace().peekable();
    while let Some(word) = words.next() {
        if word.trim_matches(['\'', '"']).rsplit('/').next() != Some("tamis") {
            continue;
        }
        match words.peek() {
            Some(&"recall") => return true,
            Some(&"run") => {
                let mut flags = words.by_ref().skip(1).take_while(|word| word.starts_with('-'));
                if flags.any(|flag| flag == "--last") {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// The most characters of a command that name its record.
#[cfg(unix)]
const LONGEST_NAME: usize = 200;

/// The most bytes that an agent writes around an output.
#[cfg(unix)]
const AROUND: u64 = 500;
