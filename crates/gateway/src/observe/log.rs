//! The log: one line of JSON for each call, and for each response of a gateway that failed.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use tamis_mcp::record::{CallOutcome, CallRecord};
use tamis_store::calls::{CallLine, OutputKind, ShownBy, UserLog};

/// Returns the line of a call.
fn line(record: &CallRecord) -> CallLine<'_> {
    let sizes = [record.bytes_in, record.bytes_out];
    let line = CallLine::new(&record.tool, record.source.as_str(), sizes);
    if record.outcome == CallOutcome::Listed {
        return line.with_listed(record.listed.iter().map(|(tool, bytes)| (tool.as_str(), *bytes)));
    }
    let agent = record.client.as_deref().and_then(ShownBy::of_client);
    let line = match (agent, record.shown) {
        (Some(agent), Some(sizes)) => {
            // A script prints its result, which the agent shows like the output of a command.
            let kind = match record.in_script {
                true => OutputKind::Command,
                false => OutputKind::McpResult,
            };
            line.with_shown(Some(agent), sizes.map(|size| agent.of(kind, size)))
        }
        _ => line,
    };
    line.with_outcome(record.outcome.as_str(), record.reason)
        .with_handle(record.handle.as_deref())
        .with_times(record.duration, record.latency)
        .with_invisible(record.invisible)
        .with_redacted(&record.redacted)
}

/// Writes the log. Several processes may write to the same file.
#[derive(Debug)]
pub struct CallLog {
    output: Output,
    /// The log of the user, which gets the same lines.
    user: Option<UserLog>,
    /// Whether a failure was reported, which happens once.
    failed: AtomicBool,
}

#[derive(Debug)]
enum Output {
    StandardError,
    File(Mutex<File>),
}

impl CallLog {
    /// Creates a log on standard error.
    #[must_use]
    pub fn on_standard_error() -> Self {
        Self { output: Output::StandardError, user: None, failed: AtomicBool::new(false) }
    }

    /// Opens a file and appends to it. A new file is readable only by its owner.
    ///
    /// # Errors
    /// The error of the system, if the file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = Mutex::new(options.open(path)?);
        Ok(Self { output: Output::File(file), user: None, failed: AtomicBool::new(false) })
    }

    /// Also appends to the log of the user, which `tamis savings` sums.
    #[must_use]
    pub fn with_user_log(mut self, log: Option<UserLog>) -> Self {
        self.user = log;
        self
    }

    /// Writes the line of a call.
    pub(super) fn write(&self, record: &CallRecord) {
        let line = line(record);
        // No call fails for this log, and it has no figures for people who read standard error.
        _ = self.user.as_ref().map(|log| log.append(&line));
        if record.outcome == CallOutcome::Listed && matches!(self.output, Output::StandardError) {
            return;
        }
        self.write_line(&line);
    }

    /// Writes a line. A failure is reported once and never ends a session.
    pub(super) fn write_line(&self, line: &impl Serialize) {
        let written = serde_json::to_vec(line).map_err(io::Error::other).and_then(|mut line| {
            line.push(b'\n');
            // One write per line, so that lines of several processes are not mixed.
            match &self.output {
                Output::StandardError => io::stderr().lock().write_all(&line),
                Output::File(file) => {
                    file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line)
                }
            }
        });
        if let Err(error) = written
            && !self.failed.swap(true, Ordering::Relaxed)
        {
            crate::report::report(format_args!("cannot write the log: {error}"));
        }
    }
}
