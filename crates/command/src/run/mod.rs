//! Runs a command and filters its output while it arrives. The full output is recorded in a file first.
//!
//! [`process`] starts the command and reads its output, or [`threaded_process`] on Windows. [`output_flow`] records, filters and writes it, [`recorder`] is the interface to the place of the full output,
//! [`overflow`] is such a place, a folder (Unix), and [`retention`] limits its files. The module does not depend on the command-line tool.
//!
//! Invariants: memory does not grow with the output. Output is filtered only after it was recorded, or else passed
//! through. A record is kept only if something was cut, or if the caller asked for it.

mod output_flow;
#[cfg(unix)]
mod overflow;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod record_name;
mod recorder;
mod report;
#[cfg(unix)]
mod retention;
#[cfg(test)]
#[cfg(unix)]
mod tests;
#[cfg(any(windows, test))]
#[cfg_attr(
    not(windows),
    allow(dead_code, unreachable_pub, reason = "only its tests run elsewhere")
)]
mod threaded_process;

use std::ffi::OsStr;
use std::io::{self, ErrorKind as IoKind, Read, Write};
#[cfg(unix)]
use std::os::unix::process::ExitStatusExt;
#[cfg(windows)]
use std::os::windows::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tamis_json::error::{Error, ErrorKind};
use tamis_json::limits::Limits;
use tamis_text::quoted::DiscardSink;

use super::cap::OutputCap;
use super::command_line::CommandLine;
use super::registry::OutputFilterRegistry;
use tamis::text::{InvisibleFilter, TextRedactor};
use tamis::tokens::TokenCounter;

#[cfg(unix)]
pub use overflow::{OverflowFile, OverflowFolder};
#[cfg(unix)]
pub use process::{CommandHandle, RunningCommand};
pub use recorder::{OutputRecord, OutputRecorder, RecordPlace};
pub use report::{RunReport, RunnerWarning};
#[cfg(windows)]
pub use threaded_process::{CommandHandle, RunningCommand};

use output_flow::{OutputFlow, SharedBuffer};

/// Bytes that are read at once: the capacity of a pipe.
const READ: usize = 64 << 10;

/// The status of a command whose end cannot be determined, as the system encodes it: exit code 1.
#[cfg(unix)]
const UNKNOWN_STATUS: i32 = 1 << 8;
#[cfg(windows)]
const UNKNOWN_STATUS: u32 = 1;

/// Runs commands and filters what they print.
///
/// Standard output and standard error are read as one stream, in the order in which they were written, while the
/// command runs. The output is recorded before it is filtered. If anything was cut, the record is kept and the output
/// names it. If the output cannot be recorded, nothing more is cut. Output that no filter applies to is passed through
/// and not recorded.
///
/// ```
/// use std::process::Command;
/// use tamis_command::{CommandRunner, OutputFilterRegistry};
///
/// let mut command = Command::new("sh");
/// command.args(["-c", "echo out; echo err >&2; exit 2"]);
/// let mut output = Vec::new();
/// let runner = CommandRunner::new(OutputFilterRegistry::builtin());
/// let report = runner.run(command, &mut output, |_| {}, |warning| eprintln!("{warning}"))?;
/// assert_eq!(output, b"out\nerr\n");
/// assert_eq!(report.status.code(), Some(2));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CommandRunner {
    registry: OutputFilterRegistry,
    limits: Limits,
    overflow: Option<Arc<dyn OutputRecorder>>,
    redacts: bool,
    cleans: bool,
    keep: bool,
    cap: OutputCap,
    query: String,
    linger: Duration,
    count_tokens: bool,
    release_after: Duration,
    line: Option<CommandLine>,
    hands_over: bool,
}

impl CommandRunner {
    /// The default of [`with_release_after`](Self::with_release_after).
    pub const RELEASE_AFTER: Duration = Duration::from_secs(1);

    /// Creates a runner with these filters. It records nothing until a place for it is set.
    #[must_use]
    pub fn new(registry: OutputFilterRegistry) -> Self {
        let linger = RunningCommand::LINGER;
        Self {
            registry,
            limits: Limits::new(),
            overflow: None,
            redacts: false,
            cleans: false,
            keep: false,
            cap: OutputCap::new(),
            query: String::new(),
            linger,
            release_after: Self::RELEASE_AFTER,
            count_tokens: false,
            line: None,
            hands_over: false,
        }
    }

    /// Sets whether the tokens of the unfiltered output are counted, for [`RunReport::tokens_in`]. It takes time, and
    /// memory for the vocabulary.
    ///
    /// ### Default
    /// `false`.
    #[must_use]
    pub fn with_token_count(mut self, count: bool) -> Self {
        self.count_tokens = count;
        self
    }

    /// Sets the limits of the filters.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Records full outputs here: in an `OverflowFolder` (Unix), or another place.
    #[must_use]
    pub fn with_overflow(mut self, place: impl OutputRecorder + 'static) -> Self {
        self.overflow = Some(Arc::new(place));
        self
    }

    /// Sets whether the record is kept even if nothing was cut.
    ///
    /// ### Default
    /// `false`.
    #[must_use]
    pub fn with_keep(mut self, keep: bool) -> Self {
        self.keep = keep;
        self
    }

    /// Sets limits for the output, filtered or not. If nothing is recorded because the place of the record fails, they do
    /// not apply, because the rest would be lost.
    ///
    /// ### Default
    /// No limits.
    #[must_use]
    pub fn with_cap(mut self, cap: OutputCap) -> Self {
        self.cap = cap;
        self
    }

    /// Sets words that the reader of the output looks for. See
    /// [`CommandFilter::with_query`](crate::CommandFilter::with_query).
    #[must_use]
    pub fn with_query(mut self, words: impl Into<String>) -> Self {
        self.query = words.into();
        self
    }

    /// Sets how long output may be silent after the command's end: see [`RunningCommand::with_linger`].
    #[must_use]
    pub fn with_linger(mut self, quiet: Duration) -> Self {
        self.linger = quiet;
        self
    }

    /// Sets whether credentials in the output are replaced ([`TextRedactor`]) before it is recorded and filtered.
    #[must_use]
    pub fn with_redact(mut self, yes: bool) -> Self {
        self.redacts = yes;
        self
    }

    /// Sets whether invisible characters are removed ([`InvisibleFilter`]) before the output is recorded and filtered.
    #[must_use]
    pub fn with_invisible_removed(mut self, yes: bool) -> Self {
        self.cleans = yes;
        self
    }

    /// Sets the command line that chooses the filter, if the command that is run is only a wrapper around it.
    ///
    /// ### Default
    /// The program and its arguments.
    #[must_use]
    pub fn with_command_line(mut self, line: CommandLine) -> Self {
        self.line = Some(line);
        self
    }

    /// Sets whether the pipe of the output is handed over in [`RunReport::rest`] if another process keeps it open after
    /// the command's end. Without it the pipe is closed, and a server that the command started ends when it next writes.
    ///
    /// ### Default
    /// `false`.
    #[must_use]
    pub fn with_rest(mut self, hand_over: bool) -> Self {
        self.hands_over = hand_over;
        self
    }

    /// Sets how long a command may be silent before the held output is released, including a line that has not ended:
    /// it may be a question. See [`CommandFilter::release`](crate::CommandFilter::release).
    ///
    /// ### Default
    /// [`RELEASE_AFTER`](Self::RELEASE_AFTER).
    #[must_use]
    pub fn with_release_after(mut self, silence: Duration) -> Self {
        self.release_after = silence;
        self
    }

    /// Runs a command to its end and writes its filtered output to `output`.
    ///
    /// `started` gets the handle that signals the command. `warn` is called when a warning occurs.
    ///
    /// # Errors
    /// The error of starting the command. Later errors are in [`RunReport::error`].
    pub fn run<W: Write>(
        &self,
        command: Command,
        output: W,
        started: impl FnOnce(CommandHandle),
        mut warn: impl FnMut(RunnerWarning),
    ) -> io::Result<RunReport> {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let typed = || CommandLine::from_args(words.map(OsStr::to_string_lossy));
        let line = self.line.clone().unwrap_or_else(typed);
        let mut running = RunningCommand::start(command)?.with_linger(self.linger);
        started(running.handle());
        let buffer = SharedBuffer::default();
        let counted =
            self.registry.clone().with_enabled(false).start(&line, &self.limits, DiscardSink);
        let mut flow = OutputFlow {
            filter: Some(
                self.registry
                    .start(&line, &self.limits, buffer.clone())
                    .with_query(&self.query)
                    .with_locale(&locale())
                    .with_cap(self.cap),
            ),
            counted,
            buffer,
            output,
            record: None,
            record_broke: false,
            invisible: self.cleans.then(InvisibleFilter::new),
            redactor: self.redacts.then(|| TextRedactor::with_limits(&self.limits)),
            keep: self.keep,
            report: RunReport::default(),
        };
        if self.cap.is_unlimited()
            && flow.filter.as_ref().is_none_or(|filter| filter.filter().is_none())
        {
            // Without a filter, holding the open line would only delay the output.
            flow.end_filter(None);
        }
        match self.overflow.as_ref().filter(|_| self.keep || flow.filter.is_some()) {
            None => {}
            Some(place) => match place.begin() {
                Ok(record) => flow.record = Some(record),
                Err(error) => {
                    flow.filter = None;
                    flow.report.record_failed = true;
                    warn(RunnerWarning::NoRecord(error));
                }
            },
        }
        let mut tokens = self.count_tokens.then(tamis_tokens::counter);
        let mut read = vec![0; READ];
        // Whether the filter may hold output that was not released.
        let mut holds = false;
        loop {
            // An error of `wait` is ignored here: `read` reports it.
            if holds && !running.wait(self.release_after).unwrap_or(true) {
                flow.release(&mut warn);
                holds = false;
                continue;
            }
            let count = match running.read(&mut read) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == IoKind::Interrupted => continue,
                Err(error) => {
                    flow.report.error = Some(Error::read(error));
                    break;
                }
            };
            if let Some(tokens) = &mut tokens {
                tokens.push(read.get(..count).unwrap_or_default());
            }
            let begun = Instant::now();
            flow.take(read.get(..count).unwrap_or_default(), &mut warn);
            flow.report.filter_time += begun.elapsed();
            holds = true;
            if flow.report.error.is_some() {
                running.close();
                break;
            }
        }
        {
            flow.report.tokens_in = tokens.map(TokenCounter::end);
        }
        if running.is_left_open() {
            flow.report.left_open = true;
            flow.report.rest = running.take_rest().filter(|_| self.hands_over);
            if flow.report.rest.is_none() {
                warn(RunnerWarning::LeftOpen);
            }
        }
        let status = running.finish().unwrap_or_else(|error| {
            let unknown = "cannot determine how the command ended";
            flow.report.error.get_or_insert(Error::io(ErrorKind::Read, unknown, error));
            ExitStatus::from_raw(UNKNOWN_STATUS)
        });
        let begun = Instant::now();
        let mut report = flow.end(status, &mut warn);
        report.filter_time += begun.elapsed();
        Ok(report)
    }
}

/// Returns the locale that decides the encoding of texts.
fn locale() -> String {
    let set = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
    ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default()
}
