//! Filters the complete output of a command: by the filter of the command, then by the limit of the profile.
//!
//! The full output is recorded before it is filtered. If it cannot be recorded, it is not filtered.

#[cfg(unix)]
use std::io::Write as _;
use std::time::Instant;

#[cfg(unix)]
use tamis::Limits;
use tamis::text::InvisibleFilter;
use tamis_command::CommandLine;
#[cfg(unix)]
use tamis_command::{FullOutput, OutputCap, OutputRecorder as _};
use tamis_store::calls::{CallLine, ShownBy, TextSize};

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
    /// The agent that shows the output.
    pub agent: ShownBy,
}

/// A filtered output.
#[derive(Clone, Debug)]
pub struct FilteredText {
    /// The output, with a last line that says what was left out and how to get it.
    pub text: String,
    /// The call, for the log of savings. If it counts invisible characters, the original must not be shown even if it is
    /// shorter.
    pub call: CallLine<'static>,
}

impl CommandText<'_> {
    /// Filters the output. `None`: the output is unchanged.
    #[must_use]
    pub fn filter(&self, settings: &HookSettings) -> Option<FilteredText> {
        if settings.leaves_alone(self.command) {
            return None;
        }
        let begun = Instant::now();
        let mut invisible = InvisibleFilter::new();
        let cleaned = settings.removes_invisible().then(|| invisible.apply(self.output.as_bytes()));
        let cleaned = cleaned.flatten().and_then(|text| String::from_utf8(text).ok());
        let count = cleaned.as_ref().map_or(0, |_| invisible.report().total());
        let output = cleaned.as_deref().unwrap_or(self.output);
        let filtered = self.filter_visible(output, settings, begun);
        let Some(cleaned) = &cleaned else { return filtered };
        let filtered = filtered.unwrap_or_else(|| {
            let line = CommandLine::parse(self.command);
            let bytes = [self.output.len(), cleaned.len()].map(|bytes| bytes as u64);
            let call = CallLine::new(line.program_name().unwrap_or("sh"), "", bytes)
                .with_outcome("filtered", None)
                .with_times(begun.elapsed(), None)
                .with_exit_code(self.exit_code)
                .with_command_shown(Some(self.agent), [self.output, cleaned].map(TextSize::of));
            FilteredText { text: cleaned.clone(), call: call.into_owned() }
        });
        let call = filtered.call.with_invisible(count);
        Some(FilteredText { call, ..filtered })
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
        let is_long = cap.is_some_and(|tokens| output.len() as u64 > tokens * 4);
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
        let cap = OutputCap::new().with_max_tokens(cap.unwrap_or(0));
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
            .with_command_shown(Some(self.agent), [self.output, &text].map(TextSize::of));
        Some(FilteredText { text, call: call.into_owned() })
    }

    /// Returns nothing: a full output can only be recorded on Unix.
    #[cfg(not(unix))]
    fn filter_visible(&self, _: &str, _: &HookSettings, _: Instant) -> Option<FilteredText> {
        None
    }
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
