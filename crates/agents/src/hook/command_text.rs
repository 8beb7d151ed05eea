//! Filters the complete output of a command: by the filter of the command, then by the limit of the profile.
//!
//! The full output is recorded before it is filtered. If it cannot be recorded, it is not filtered.

use std::io::Write as _;

use tamis::Limits;
use tamis::command::{CommandLine, OutputFilterRegistry, OutputRecorder as _};
#[cfg(unix)]
use tamis_gateway::store::StoreRecorder;

use super::settings::HookSettings;

/// The output of a command, as an agent got it.
#[derive(Clone, Copy, Debug)]
pub struct CommandText<'a> {
    /// The command line, as the model wrote it.
    pub command: &'a str,
    /// What it printed.
    pub output: &'a str,
    /// Its exit code, if known; that of a shell if a signal killed it.
    pub exit_code: Option<i32>,
    /// The most tokens that the agent takes from a hook.
    pub most_tokens: u64,
}

/// A filtered output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilteredText {
    /// The output, with a last line that says what was left out and how to get it.
    pub text: String,
    /// The name of the filter, if there is one for the command.
    pub filter: Option<String>,
}

impl CommandText<'_> {
    /// Filters the output. `None`: it passes as it came.
    #[cfg(unix)]
    #[must_use]
    pub fn filter(&self, settings: &HookSettings) -> Option<FilteredText> {
        let registry = OutputFilterRegistry::builtin();
        let line = CommandLine::parse(self.command);
        let cap = settings.max_tokens().map(|tokens| tokens.min(self.most_tokens));
        let is_long = cap.is_some_and(|tokens| self.output.len() as u64 > tokens * 4);
        if registry.filter_for(&line).is_none() && !is_long {
            return None;
        }
        let name: String = self.command.chars().take(LONGEST_NAME).collect();
        let recorder = StoreRecorder::new(settings.store(), name);
        let recorder = recorder.with_fallback(settings.temporary_folder());
        let mut record = recorder.begin().ok()?;
        record.write_all(self.output.as_bytes()).ok()?;
        if record.left_out() > 0 {
            return None;
        }
        let mut filter = registry.start(&line, &Limits::new(), Vec::new());
        filter.write(self.output.as_bytes()).ok()?;
        filter.set_exit_code(self.exit_code);
        filter.set_full_output(record.place().to_string());
        let report = filter.end().ok()?;
        if report.cut {
            record.keep().ok()?;
        }
        let text = String::from_utf8(filter.into_sink()).ok()?;
        (text != self.output).then_some(FilteredText { text, filter: report.filter })
    }

    /// Commands are filtered only on Unix.
    #[cfg(not(unix))]
    #[must_use]
    pub fn filter(&self, _settings: &HookSettings) -> Option<FilteredText> {
        None
    }
}

/// The most characters of a command that name its record.
const LONGEST_NAME: usize = 200;
