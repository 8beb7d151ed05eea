//! Where the full output of a command is recorded: the interface between the runner and a folder or a store.
//!
//! This module does not depend on how a command is run.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A place for the full outputs of commands, such as an `OverflowFolder` (Unix).
///
/// Implement it to keep full outputs elsewhere, for example where a model can read parts of them.
///
/// ```
/// use std::io::{Result, Write};
/// use tamis_command::{CommandRunner, OutputFilterRegistry, OutputRecord, OutputRecorder, RecordPlace};
///
/// /// Counts full outputs and forgets them.
/// #[derive(Debug)]
/// struct Nowhere;
/// #[derive(Debug)]
/// struct Count(u64);
///
/// impl OutputRecorder for Nowhere {
///     fn begin(&self) -> Result<Box<dyn OutputRecord>> {
///         Ok(Box::new(Count(0)))
///     }
/// }
/// impl Write for Count {
///     fn write(&mut self, bytes: &[u8]) -> Result<usize> {
///         self.0 += bytes.len() as u64;
///         Ok(bytes.len())
///     }
///     fn flush(&mut self) -> Result<()> {
///         Ok(())
///     }
/// }
/// impl OutputRecord for Count {
///     fn place(&self) -> RecordPlace {
///         RecordPlace::Command("ask-me".into())
///     }
///     fn written(&self) -> u64 {
///         self.0
///     }
///     fn left_out(&self) -> u64 {
///         0
///     }
///     fn keep(self: Box<Self>) -> Result<()> {
///         Ok(())
///     }
/// }
///
/// let runner = CommandRunner::new(OutputFilterRegistry::builtin()).with_overflow(Nowhere);
/// ```
pub trait OutputRecorder: fmt::Debug + Send + Sync {
    /// Begins the record of one output.
    ///
    /// # Errors
    /// The output cannot be recorded. The runner then does not filter it.
    fn begin(&self) -> io::Result<Box<dyn OutputRecord>>;
}

/// The record of a command's full output, open for writing. Dropping it removes it, unless it is [kept](Self::keep).
///
/// Bytes over its limit are counted and dropped without an error. A write that fails may have recorded the beginning of
/// its bytes; nothing is written after it, but the record may be kept.
pub trait OutputRecord: Write + fmt::Debug {
    /// Returns where the record will be.
    fn place(&self) -> RecordPlace;

    /// Returns whether the place is a command that prints only some lines, if `--lines FIRST-LAST` is appended. Notices
    /// then name the lines that were left out.
    fn prints_lines(&self) -> bool {
        false
    }

    /// Returns the number of recorded bytes.
    fn written(&self) -> u64;

    /// Returns the number of dropped bytes, which were over the limit.
    fn left_out(&self) -> u64;

    /// Keeps the record, until the limits of its place remove it.
    ///
    /// # Errors
    /// The record cannot be completed, and is lost.
    fn keep(self: Box<Self>) -> io::Result<()>;
}

/// Where a full output is. Its [`Display`](fmt::Display) is what a notice says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordPlace {
    /// In this file.
    File(PathBuf),
    /// This command prints it.
    Command(String),
}

impl RecordPlace {
    /// Returns the path of the file, if it is one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Command(_) => None,
        }
    }
}

impl fmt::Display for RecordPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Command(command) => f.write_str(command),
        }
    }
}
