//! Runs a command and filters its output while it arrives. The full output is recorded in a file first.
//!
//! [`process`] starts the command and reads its output, [`recorder`] is the interface to the place of the full output,
//! [`overflow`] is such a place, a folder, and [`retention`] limits its files. The module does not depend on the command-line tool.
//!
//! Invariants: memory does not grow with the output. Output is filtered only after it was recorded, or else passed
//! through. A record is kept only if something was cut, or if the caller asked for it.

mod overflow;
mod process;
mod record_name;
mod recorder;
mod retention;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, ErrorKind as IoKind, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tamis_json::error::{Error, ErrorKind};
use tamis_json::limits::Limits;
use tamis_json::sink::Sink;
use tamis_text::quoted::DiscardSink;

use super::cap::OutputCap;
use super::command_filter::CommandFilter;
use super::command_line::CommandLine;
use super::full_output::FullOutput;
use super::registry::OutputFilterRegistry;
use super::report::CommandReport;
use tamis::text::{InvisibleFilter, TextRedactor};
use tamis::tokens::{TokenCount, TokenCounter};

pub use overflow::{OverflowFile, OverflowFolder};
pub use process::{CommandHandle, RunningCommand};
pub use recorder::{OutputRecord, OutputRecorder, RecordPlace};

/// Bytes that are read at once: the capacity of a pipe.
const READ: usize = 64 << 10;

/// The status of a command whose end cannot be determined, as `wait` encodes it: exit code 1.
const UNKNOWN_STATUS: i32 = 1 << 8;

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

    /// Records full outputs here: in an [`OverflowFolder`], or another place.
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

/// Something that went wrong during a run without ending it. Its [`Display`](fmt::Display) is one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunnerWarning {
    /// The full output cannot be recorded, so it is not filtered.
    NoRecord(io::Error),
    /// Recording the full output failed, so the rest is not filtered.
    RecordBroke(io::Error),
    /// The record was complete but could not be kept. Output that was cut is lost.
    RecordLost(io::Error),
    /// The record has reached its limit, given in bytes. It has the beginning of the output; filtering continues.
    RecordFull(u64),
    /// The command has ended, but a process that it started keeps the output open. The rest was not read.
    LeftOpen,
}

impl fmt::Display for RunnerWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRecord(error) => {
                write!(f, "cannot record the full output, so it is not filtered: {error}")
            }
            Self::RecordBroke(error) => {
                write!(f, "recording the full output failed, so the rest is not filtered: {error}")
            }
            Self::RecordLost(error) => {
                write!(f, "the full output could not be kept: {error}")
            }
            Self::RecordFull(bytes) => {
                write!(f, "only the first {bytes} bytes of the full output are recorded")
            }
            Self::LeftOpen => f.write_str(
                "the command has ended, but a process it started keeps the output open; further output is lost",
            ),
        }
    }
}

/// The result of a run.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct RunReport {
    /// How the command ended.
    pub status: ExitStatus,
    /// Report of the filter on the whole output, as far as it was read. For a command that was killed, the exit code
    /// is that of a shell: 128 plus the number of the signal.
    pub output: CommandReport,
    /// Tokens of the unfiltered output, if they were [counted](CommandRunner::with_token_count).
    pub tokens_in: Option<TokenCount>,
    /// Time that recording, filtering and writing the output took.
    pub filter_time: Duration,
    /// Number of invisible characters that were removed or made visible.
    pub invisible: u64,
    /// Place of the record, if it was kept.
    pub record: Option<RecordPlace>,
    /// Whether the record contains the whole output.
    pub record_complete: bool,
    /// Whether recording failed, so that output was not filtered.
    pub record_failed: bool,
    /// Whether another process still had the output open when reading stopped.
    pub left_open: bool,
    /// The pipe that it has open, if it was [asked for](CommandRunner::with_rest).
    pub rest: Option<io::PipeReader>,
    /// An error of reading or writing the output, after which output was lost, or of waiting for the command. A closed
    /// pipe ([`BrokenPipe`](IoKind::BrokenPipe)) means that the reader of the output has stopped.
    pub error: Option<Error>,
}

/// The filtered output of one read, shared by the filter, which appends to it, and [`OutputFlow`], which writes it out.
#[derive(Clone, Debug, Default)]
struct SharedBuffer(Rc<RefCell<Vec<u8>>>);

impl Sink for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) {
        self.0.borrow_mut().extend_from_slice(bytes);
    }
}

/// The path of the output: recorded, then filtered, then written.
struct OutputFlow<W> {
    /// `None` if the output is passed through from now on.
    filter: Option<CommandFilter<SharedBuffer>>,
    /// Counts the output that is passed through.
    counted: CommandFilter<DiscardSink>,
    buffer: SharedBuffer,
    output: W,
    record: Option<Box<dyn OutputRecord>>,
    /// Whether writing the record failed. The record is kept as far as it was written.
    record_broke: bool,
    /// Removes invisible characters before anything else.
    invisible: Option<InvisibleFilter>,
    /// Replaces credentials.
    redactor: Option<TextRedactor>,
    keep: bool,
    report: RunReport,
}

impl<W: Write> OutputFlow<W> {
    fn take(&mut self, bytes: &[u8], warn: &mut impl FnMut(RunnerWarning)) {
        let Some(invisible) = &mut self.invisible else { return self.take_visible(bytes, warn) };
        let mut visible = Vec::new();
        invisible.write(bytes, &mut visible);
        self.take_visible(&visible, warn);
    }

    /// Ends the line in which invisible characters are looked for.
    fn end_visible(&mut self, warn: &mut impl FnMut(RunnerWarning)) {
        if let Some(invisible) = &mut self.invisible {
            let mut visible = Vec::new();
            invisible.end(&mut visible);
            self.take_visible(&visible, warn);
        }
    }

    /// Reads output without invisible characters.
    fn take_visible(&mut self, bytes: &[u8], warn: &mut impl FnMut(RunnerWarning)) {
        let Some(redactor) = &mut self.redactor else { return self.take_safe(bytes, warn) };
        let mut safe = Vec::new();
        redactor.write(bytes, &mut safe);
        self.take_safe(&safe, warn);
    }

    /// Reads output without credentials.
    fn take_safe(&mut self, bytes: &[u8], warn: &mut impl FnMut(RunnerWarning)) {
        if let Some(record) = self.record.as_mut().filter(|_| !self.record_broke) {
            let was_full = record.left_out() > 0;
            if let Err(error) = record.write_all(bytes) {
                self.record_broke = true;
                self.report.record_failed = true;
                // Only recorded output may be cut, so nothing more is cut.
                self.end_filter(None);
                self.end_line();
                warn(RunnerWarning::RecordBroke(error));
            } else if !was_full && record.left_out() > 0 {
                warn(RunnerWarning::RecordFull(record.written()));
            }
        }
        match &mut self.filter {
            // Fails only after the end, and a filter that has ended is taken out.
            Some(filter) => _ = filter.write(bytes),
            None => {
                _ = self.counted.write(bytes);
                self.buffer.write(bytes);
            }
        }
        self.write_out();
    }

    /// Releases held output: the command is silent.
    fn release(&mut self, warn: &mut impl FnMut(RunnerWarning)) {
        self.end_visible(warn);
        if let Some(redactor) = &mut self.redactor {
            let mut safe = Vec::new();
            redactor.release(&mut safe);
            self.take_safe(&safe, warn);
        }
        if let Some(filter) = &mut self.filter {
            filter.release();
            self.write_out();
        }
    }

    /// Ends the filter; later output is passed through.
    fn end_filter(&mut self, exit_code: Option<i32>) {
        let Some(mut filter) = self.filter.take() else { return };
        let full = self.record.as_ref().map(|record| {
            let place = record.place();
            if self.record_broke {
                FullOutput::new(format!("{place} (until it could not be written)"))
            } else if record.left_out() > 0 {
                FullOutput::new(format!("{place} (its first {} bytes)", record.written()))
            } else if record.prints_lines() {
                FullOutput::command(place.to_string())
            } else {
                FullOutput::new(place.to_string())
            }
        });
        filter.set_exit_code(exit_code);
        if let Some(full) = full {
            filter.set_full_output(full);
        }
        self.report.output = filter.end().unwrap_or_default();
    }

    /// Ends the open line, so that passed-through output does not continue a line that the filter has cut.
    fn end_line(&mut self) {
        let mut buffer = self.buffer.0.borrow_mut();
        if self.report.output.cut && buffer.last().is_some_and(|byte| *byte != b'\n') {
            buffer.push(b'\n');
        }
    }

    /// Writes the buffer to the output.
    fn write_out(&mut self) {
        let mut buffer = self.buffer.0.borrow_mut();
        if !buffer.is_empty() && self.report.error.is_none() {
            let written = self.output.write_all(&buffer).and_then(|()| self.output.flush());
            if let Err(error) = written {
                self.report.error = Some(Error::write(error));
            }
        }
        buffer.clear();
        // A filter may have written much at once.
        buffer.shrink_to(2 * READ);
    }

    fn end(mut self, status: ExitStatus, warn: &mut impl FnMut(RunnerWarning)) -> RunReport {
        // The exit code of a shell for a killed command.
        let code = status.code().or_else(|| Some(128 + status.signal()?));
        self.end_visible(warn);
        let mut redaction = None;
        if let Some(mut redactor) = self.redactor.take() {
            let mut safe = Vec::new();
            let redacted = redactor.end(&mut safe);
            redaction = Some((*redactor.text_report(), redacted));
            self.take_safe(&safe, warn);
        }
        self.end_filter(code);
        self.write_out();
        let Self { mut report, mut counted, record, invisible, .. } = self;
        add_passed(&mut report.output, &counted.end().unwrap_or_default());
        if let Some((read, redacted)) = redaction {
            report.output.add_redaction(&read, redacted);
        }
        report.status = status;
        report.invisible = invisible.map_or(0, |filter| filter.report().total());
        report.output.exit_code = code;
        report.output.full_output = None;
        let lost = report.error.as_ref().and_then(Error::io_error);
        let lost = lost.is_some_and(|error| error.kind() != IoKind::BrokenPipe);
        if let Some(record) = record.filter(|_| self.keep || report.output.cut || lost) {
            let complete = !self.record_broke && record.left_out() == 0;
            let place = record.place();
            match record.keep() {
                Ok(()) => {
                    report.record_complete = complete;
                    report.output.full_output = Some(place.to_string());
                    report.record = Some(place);
                }
                Err(error) => {
                    report.record_failed = true;
                    warn(RunnerWarning::RecordLost(error));
                }
            }
        }
        report
    }
}

/// Returns the locale that decides the encoding of texts.
fn locale() -> String {
    let set = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
    ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default()
}

/// Adds the sizes of passed-through output to those of filtered output.
fn add_passed(report: &mut CommandReport, passed: &CommandReport) {
    report.bytes_in += passed.bytes_in;
    report.bytes_out += passed.bytes_out;
    report.chars_in += passed.chars_in;
    report.chars_out += passed.chars_out;
    report.lines_in += passed.lines_in;
    report.lines_out += passed.lines_out;
}
