//! The result of a run, and what went wrong during it.

use std::fmt;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tamis_json::error::Error;

use super::recorder::RecordPlace;
use crate::report::CommandReport;
use tamis::tokens::TokenCount;

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
    /// Tokens of the unfiltered output, if they were [counted](super::CommandRunner::with_token_count).
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
    /// The pipe that it has open, if it was [asked for](super::CommandRunner::with_rest).
    pub rest: Option<io::PipeReader>,
    /// An error of reading or writing the output, after which output was lost, or of waiting for the command. A closed
    /// pipe ([`BrokenPipe`](io::ErrorKind::BrokenPipe)) means that the reader of the output has stopped.
    pub error: Option<Error>,
}
