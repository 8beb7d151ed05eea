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
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::rc::Rc;
use std::time::Duration;

use crate::error::Error;
use crate::sink::Sink;

pub use overflow::{OverflowFile, OverflowFolder};
pub use process::{CommandControls, RunningCommand};

/// Bytes that are read at once: what a pipe holds.
const READ: usize = 64 << 10;

/// Runs commands.
///
/// Both streams of a command are read as one, in the order in which they were written, while it runs. The output is recorded
/// before it is filtered: if something was cut the record stays, and the output says where. If it cannot be recorded
/// nothing is cut any more.
///
/// ```
/// use std::process::Command;
/// use tamis::CommandRunner;
///
/// let mut command = Command::new("sh");
/// command.args(["-c", "echo out; echo err >&2; exit 2"]);
/// let mut output = Vec::new();
/// let runner = CommandRunner::new();
/// let report = runner.run(command, &mut output, |_| {}, |notice| eprintln!("{notice}"))?;
/// assert_eq!(output, b"out\nerr\n");
/// assert_eq!(report.status.code(), Some(2));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CommandRunner {
    overflow: Option<OverflowFolder>,
    keep: bool,
    linger: Duration,
}

impl Default for CommandRunner {
    fn default() -> Self {
        Self::new()
    }
}

impl CommandRunner {
    /// A runner that records nothing.
    #[must_use]
    pub fn new() -> Self {
        Self { overflow: None, keep: false, linger: RunningCommand::LINGER }
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

    /// Runs a command to its end. `started` gets what signals it; `notice` what is to be known, when it is known.
    ///
    /// # Errors
    /// The command cannot be started. All that goes wrong later is in the report.
    pub fn run<W: Write>(
        &self,
        command: Command,
        output: W,
        started: impl FnOnce(CommandControls),
        notice: impl FnMut(Notice),
    ) -> io::Result<RunReport> {
        self.run_with(command, output, started, notice, Passed)
    }

    fn run_with<W: Write, F: Filtering>(
        &self,
        command: Command,
        output: W,
        started: impl FnOnce(CommandControls),
        mut notice: impl FnMut(Notice),
        start: impl FnOnce(Gathered) -> F,
    ) -> io::Result<RunReport> {
        let gathered = Gathered::default();
        let mut running = RunningCommand::start(command)?.linger(self.linger);
        started(running.controls());
        let mut flow = Flow {
            filter: None,
            gathered: gathered.clone(),
            output,
            record: None,
            broken: false,
            keep: self.keep,
            report: RunReport::default(),
        };
        match self.overflow.as_ref().map(OverflowFolder::create) {
            Some(Err(error)) => notice(Notice::NoRecord(error)),
            Some(Ok(record)) => {
                flow.record = Some(record);
                flow.filter = Some(start(gathered));
            }
            None => flow.filter = Some(start(gathered)),
        }
        let mut buffer = vec![0; READ];
        loop {
            let count = match running.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    flow.report.error = Some(Error::read(error));
                    break;
                }
            };
            flow.take(buffer.get(..count).unwrap_or_default(), &mut notice);
            if flow.report.error.is_some() {
                running.close();
                break;
            }
        }
        if running.is_left_open() {
            flow.report.left_open = true;
            notice(Notice::LeftOpen);
        }
        let status = running.finish()?;
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
    /// Bytes that the command wrote, as far as they were read.
    pub bytes_in: u64,
    /// Bytes that came out.
    pub bytes_out: u64,
    /// Whether the filter cut something.
    pub cut: bool,
    /// The record, if it was kept.
    pub record: Option<PathBuf>,
    /// Whether the record has all of the output.
    pub record_complete: bool,
    /// Something that the command started still had its output open when reading stopped.
    pub left_open: bool,
    /// The output could not be read or written; what followed is lost. With a closed pipe
    /// ([`BrokenPipe`](ErrorKind::BrokenPipe)) whoever reads has enough.
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

/// One run of a filter over an output.
trait Filtering {
    fn write(&mut self, bytes: &[u8]);

    /// The output is over, or the filter is: `exit_code` is that of a command that has ended, `full` says where the full
    /// output is. Says whether something was cut.
    fn end(self, exit_code: Option<i32>, full: Option<&str>) -> bool;
}

/// Output as it came.
struct Passed(Gathered);

impl Filtering for Passed {
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    fn end(self, _: Option<i32>, _: Option<&str>) -> bool {
        false
    }
}

/// An output on its way: recorded, filtered, written.
struct Flow<F, W> {
    /// `None`: what comes now passes as it is.
    filter: Option<F>,
    gathered: Gathered,
    output: W,
    record: Option<OverflowFile>,
    /// The record ends where it could not be written.
    broken: bool,
    keep: bool,
    report: RunReport,
}

impl<F: Filtering, W: Write> Flow<F, W> {
    fn take(&mut self, bytes: &[u8], notice: &mut impl FnMut(Notice)) {
        self.report.bytes_in += bytes.len() as u64;
        if let Some(record) = self.record.as_mut().filter(|_| !self.broken) {
            let was_full = record.left_out() > 0;
            if let Err(error) = record.write_all(bytes) {
                self.broken = true;
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
            None => self.gathered.write(bytes),
        }
        self.hand_on();
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
        self.report.cut = filter.end(exit_code, full.as_deref());
    }

    /// What passes from now on does not go on with a line that the filter has ended.
    fn end_line(&mut self) {
        let mut gathered = self.gathered.0.borrow_mut();
        if self.report.cut && gathered.last().is_some_and(|byte| *byte != b'\n') {
            gathered.push(b'\n');
        }
    }

    /// Writes what the filter made.
    fn hand_on(&mut self) {
        let mut gathered = self.gathered.0.borrow_mut();
        if !gathered.is_empty() && self.report.error.is_none() {
            let written = self.output.write_all(&gathered).and_then(|()| self.output.flush());
            match written {
                Ok(()) => self.report.bytes_out += gathered.len() as u64,
                Err(error) => self.report.error = Some(Error::write(error)),
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
        self.report.status = status;
        let lost = self.report.error.as_ref().and_then(Error::io_error);
        let lost = lost.is_some_and(|error| error.kind() != ErrorKind::BrokenPipe);
        if let Some(record) = self.record.take()
            && (self.keep || self.report.cut || lost)
        {
            self.report.record_complete = !self.broken && record.left_out() == 0;
            self.report.record = Some(record.keep());
        }
        self.report
    }
}
