//! Runs a command and filters its output while it arrives; the full output goes to a file first.
//!
//! Must not know the command line. [`process`] runs and reads, [`overflow`] keeps the full output, [`clean`] keeps that in
//! bounds. Invariants: memory does not grow with the output; what is filtered was recorded before, or passes as it is; a
//! file stays only where something was cut, or where that was asked for.

mod clean;
mod overflow;
mod process;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, ErrorKind as IoKind, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::rc::Rc;
use std::time::Duration;

use super::line::CommandLine;
use super::registry::OutputFilterRegistry;
use super::report::CommandReport;
use super::stream::CommandRun;
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::sink::Sink;
#[cfg(feature = "tokens")]
use crate::tokens::{TokenCount, TokenCounter};

pub use overflow::{OverflowFile, OverflowFolder};
pub use process::{CommandControls, RunningCommand};

/// Bytes that are read at once: what a pipe holds.
const READ: usize = 64 << 10;

/// How a command is said to have ended if nobody knows, as `wait` has it: with exit code 1.
const UNKNOWN: i32 = 1 << 8;

/// Runs commands, and filters what they print.
///
/// Both streams of a command are read as one, in the order in which they were written, while it runs. The output is recorded
/// before it is filtered: if something was cut the record stays, and the output says where. If it cannot be recorded
/// nothing is cut any more. What no filter is for passes as it comes, and is not recorded.
///
/// ```
/// use std::process::Command;
/// use tamis::{CommandRunner, OutputFilterRegistry};
///
/// let mut command = Command::new("sh");
/// command.args(["-c", "echo out; echo err >&2; exit 2"]);
/// let mut output = Vec::new();
/// let runner = CommandRunner::new(OutputFilterRegistry::builtin());
/// let report = runner.run(command, &mut output, |_| {}, |notice| eprintln!("{notice}"))?;
/// assert_eq!(output, b"out\nerr\n");
/// assert_eq!(report.status.code(), Some(2));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CommandRunner {
    registry: OutputFilterRegistry,
    limits: Limits,
    overflow: Option<OverflowFolder>,
    keep: bool,
    linger: Duration,
    #[cfg(feature = "tokens")]
    count_tokens: bool,
    patience: Duration,
}

impl CommandRunner {
    /// How long a command may be silent before what is held of its output leaves.
    pub const PATIENCE: Duration = Duration::from_secs(1);

    /// A runner with these filters, that records nothing.
    #[must_use]
    pub fn new(registry: OutputFilterRegistry) -> Self {
        let linger = RunningCommand::LINGER;
        Self {
            registry,
            limits: Limits::new(),
            overflow: None,
            keep: false,
            linger,
            patience: Self::PATIENCE,
            #[cfg(feature = "tokens")]
            count_tokens: false,
        }
    }

    /// Counts the tokens of the unfiltered output, which takes time and the vocabulary's memory:
    /// [`RunReport::tokens_in`].
    #[cfg(feature = "tokens")]
    #[must_use]
    pub fn count_tokens(mut self, yes: bool) -> Self {
        self.count_tokens = yes;
        self
    }

    /// Other limits for what a filter holds.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Records full outputs in this folder.
    #[must_use]
    pub fn overflow(mut self, folder: OverflowFolder) -> Self {
        self.overflow = Some(folder);
        self
    }

    /// Keeps the record even if nothing was cut.
    #[must_use]
    pub fn keep(mut self, keep: bool) -> Self {
        self.keep = keep;
        self
    }

    /// How long output may be quiet after the command's end: see [`RunningCommand::linger`].
    #[must_use]
    pub fn linger(mut self, quiet: Duration) -> Self {
        self.linger = quiet;
        self
    }

    /// How long a command may be silent before what is held of its output leaves, a line that has not ended too: it may be a
    /// question. See [`CommandRun::release`](crate::CommandRun::release).
    ///
    /// ### Default
    /// [`PATIENCE`](Self::PATIENCE).
    #[must_use]
    pub fn patience(mut self, silent: Duration) -> Self {
        self.patience = silent;
        self
    }

    /// Runs a command to its end. `started` gets what signals it; `notice` what is to be known, when it is known.
    ///
    /// # Errors
    /// The command cannot be started. All that goes wrong later is in the report.
    pub fn run<W: Write>(
        &self,
        command: Command,
        output: W,
        started: impl FnOnce(CommandControls),
        mut notice: impl FnMut(Notice),
    ) -> io::Result<RunReport> {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let line = CommandLine::from_args(words.map(OsStr::to_string_lossy));
        let mut running = RunningCommand::start(command)?.linger(self.linger);
        started(running.controls());
        let gathered = Gathered::default();
        let counted = self.registry.clone().with_enabled(false).start(&line, &self.limits, Nowhere);
        let mut flow = Flow {
            filter: Some(self.registry.start(&line, &self.limits, gathered.clone())),
            counted,
            gathered,
            output,
            record: None,
            broken: false,
            keep: self.keep,
            report: RunReport::default(),
        };
        if flow.filter.as_ref().is_none_or(|filter| filter.filter().is_none()) {
            // It would wait for the ends of lines, for nothing.
            flow.end_filter(None);
        }
        match self.overflow.as_ref().filter(|_| self.keep || flow.filter.is_some()) {
            None => {}
            Some(folder) => match folder.create() {
                Ok(record) => flow.record = Some(record),
                Err(error) => {
                    flow.filter = None;
                    flow.report.record_failed = true;
                    notice(Notice::NoRecord(error));
                }
            },
        }
        #[cfg(feature = "tokens")]
        let mut tokens = self.count_tokens.then(TokenCounter::new);
        let mut buffer = vec![0; READ];
        let mut waits = false;
        loop {
            // Reading tells of an error.
            if waits && !running.wait(self.patience).unwrap_or(true) {
                flow.release();
                waits = false;
                continue;
            }
            let count = match running.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == IoKind::Interrupted => continue,
                Err(error) => {
                    flow.report.error = Some(Error::read(error));
                    break;
                }
            };
            #[cfg(feature = "tokens")]
            if let Some(tokens) = &mut tokens {
                tokens.push(buffer.get(..count).unwrap_or_default());
            }
            flow.take(buffer.get(..count).unwrap_or_default(), &mut notice);
            waits = true;
            if flow.report.error.is_some() {
                running.close();
                break;
            }
        }
        #[cfg(feature = "tokens")]
        {
            flow.report.tokens_in = tokens.map(TokenCounter::end);
        }
        if running.is_left_open() {
            flow.report.left_open = true;
            notice(Notice::LeftOpen);
        }
        let status = running.finish().unwrap_or_else(|error| {
            let unknown = "it is not known how the command ended";
            flow.report.error.get_or_insert(Error::io(ErrorKind::Read, unknown, error));
            ExitStatus::from_raw(UNKNOWN)
        });
        Ok(flow.end(status))
    }
}

/// What is to be known about a run, in words.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice {
    /// The full output cannot be recorded: nothing is filtered.
    NoRecord(io::Error),
    /// The full output cannot be recorded any further: nothing more is filtered.
    RecordBroke(io::Error),
    /// The record has reached its limit, in bytes; it has the beginning of the output, and filtering goes on.
    RecordFull(u64),
    /// The command has ended, but something that it started holds its output open; that was not read to its end.
    LeftOpen,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRecord(error) => {
                write!(f, "the full output cannot be recorded, so nothing is filtered: {error}")
            }
            Self::RecordBroke(error) => write!(
                f,
                "the full output cannot be recorded any further, so the rest is not filtered: {error}"
            ),
            Self::RecordFull(bytes) => {
                write!(f, "only the first {bytes} bytes of the full output are recorded")
            }
            Self::LeftOpen => f.write_str(
                "the command has ended, but something it started still has its output open; what that writes from now \
                 on is lost",
            ),
        }
    }
}

/// What a run did.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct RunReport {
    /// How the command ended.
    pub status: ExitStatus,
    /// What the filter did: all of it, with [`bytes_in`](CommandReport::bytes_in) as far as the output was read. Of a command
    /// that was killed the exit code is that of a shell: 128 and the signal.
    pub output: CommandReport,
    /// Tokens of the unfiltered output, if they were [counted](CommandRunner::count_tokens).
    #[cfg(feature = "tokens")]
    pub tokens_in: Option<TokenCount>,
    /// The record, if it was kept.
    pub record: Option<PathBuf>,
    /// Whether the record has all of the output.
    pub record_complete: bool,
    /// Something was to be recorded and could not be, so that it was not filtered.
    pub record_failed: bool,
    /// Something that the command started still had its output open when reading stopped.
    pub left_open: bool,
    /// The output could not be read or written, and what followed is lost; or it is not known how the command ended. With a closed pipe
    /// ([`BrokenPipe`](IoKind::BrokenPipe)) whoever reads has enough.
    pub error: Option<Error>,
}

/// Where output waits between the filter and the writer: as much as one read makes.
#[derive(Clone, Debug, Default)]
struct Gathered(Rc<RefCell<Vec<u8>>>);

impl Sink for Gathered {
    fn write(&mut self, bytes: &[u8]) {
        self.0.borrow_mut().extend_from_slice(bytes);
    }
}

/// Where output goes that is counted and nothing else.
struct Nowhere;

impl Sink for Nowhere {
    fn write(&mut self, _: &[u8]) {}
}

/// An output on its way: recorded, filtered, written.
struct Flow<W> {
    /// `None`: what comes now passes as it is.
    filter: Option<CommandRun<Gathered>>,
    /// What passed as it is.
    counted: CommandRun<Nowhere>,
    gathered: Gathered,
    output: W,
    record: Option<OverflowFile>,
    /// The record ends where it could not be written.
    broken: bool,
    keep: bool,
    report: RunReport,
}

impl<W: Write> Flow<W> {
    fn take(&mut self, bytes: &[u8], notice: &mut impl FnMut(Notice)) {
        if let Some(record) = self.record.as_mut().filter(|_| !self.broken) {
            let was_full = record.left_out() > 0;
            if let Err(error) = record.write_all(bytes) {
                self.broken = true;
                self.report.record_failed = true;
                // Nothing more is cut that cannot be found again.
                self.end_filter(None);
                self.end_line();
                notice(Notice::RecordBroke(error));
            } else if !was_full && record.left_out() > 0 {
                notice(Notice::RecordFull(record.written()));
            }
        }
        match &mut self.filter {
            Some(filter) => filter.write(bytes),
            None => {
                self.counted.write(bytes);
                self.gathered.write(bytes);
            }
        }
        self.hand_on();
    }

    /// The command is silent: what is held leaves.
    fn release(&mut self) {
        if let Some(filter) = &mut self.filter {
            filter.release();
            self.hand_on();
        }
    }

    fn end_filter(&mut self, exit_code: Option<i32>) {
        let Some(filter) = self.filter.take() else { return };
        let full = self.record.as_ref().map(|record| {
            let path = record.path().display();
            if self.broken {
                format!("{path} (until it could not be written)")
            } else if record.left_out() > 0 {
                format!("{path} (its first {} bytes)", record.written())
            } else {
                path.to_string()
            }
        });
        self.report.output = filter.end(exit_code, full.as_deref()).1;
    }

    /// What passes from now on does not go on with a line that the filter has ended.
    fn end_line(&mut self) {
        let mut gathered = self.gathered.0.borrow_mut();
        if self.report.output.cut && gathered.last().is_some_and(|byte| *byte != b'\n') {
            gathered.push(b'\n');
        }
    }

    /// Writes what the filter made.
    fn hand_on(&mut self) {
        let mut gathered = self.gathered.0.borrow_mut();
        if !gathered.is_empty() && self.report.error.is_none() {
            let written = self.output.write_all(&gathered).and_then(|()| self.output.flush());
            if let Err(error) = written {
                self.report.error = Some(Error::write(error));
            }
        }
        gathered.clear();
        // A filter that held much has let it go.
        gathered.shrink_to(2 * READ);
    }

    fn end(mut self, status: ExitStatus) -> RunReport {
        // As a shell says it.
        let code = status.code().or_else(|| Some(128 + status.signal()?));
        self.end_filter(code);
        self.hand_on();
        let Self { mut report, counted, record, .. } = self;
        add(&mut report.output, &counted.end(code, None).1);
        report.status = status;
        report.output.exit_code = code;
        report.output.full_output = None;
        let lost = report.error.as_ref().and_then(Error::io_error);
        let lost = lost.is_some_and(|error| error.kind() != IoKind::BrokenPipe);
        if let Some(record) = record.filter(|_| self.keep || report.output.cut || lost) {
            report.record_complete = !self.broken && record.left_out() == 0;
            let path = record.keep();
            report.output.full_output = Some(path.display().to_string());
            report.record = Some(path);
        }
        report
    }
}

/// Counts what passed with what was filtered.
fn add(report: &mut CommandReport, passed: &CommandReport) {
    report.bytes_in += passed.bytes_in;
    report.bytes_out += passed.bytes_out;
    report.chars_in += passed.chars_in;
    report.chars_out += passed.chars_out;
    report.lines_in += passed.lines_in;
    report.lines_out += passed.lines_out;
}
