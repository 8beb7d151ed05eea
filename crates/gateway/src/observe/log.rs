//! The log: one line of JSON for each call.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::mcp::CallRecord;

/// A line of the log, as it is written and read.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LogLine<'a> {
    /// When the result was handled, in UTC.
    #[serde(default)]
    pub(super) time: String,
    /// The name of the tool.
    pub(super) tool: std::borrow::Cow<'a, str>,
    /// Which kind of rule applied.
    #[serde(default)]
    pub(super) rule: std::borrow::Cow<'a, str>,
    pub(super) outcome: std::borrow::Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<std::borrow::Cow<'a, str>>,
    #[serde(default)]
    pub(super) bytes_in: u64,
    #[serde(default)]
    pub(super) bytes_out: u64,
    /// Estimated: bytes divided by four.
    #[serde(default)]
    pub(super) tokens_in: u64,
    #[serde(default)]
    pub(super) tokens_out: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) handle: Option<std::borrow::Cow<'a, str>>,
    /// How long the filter ran.
    #[serde(default)]
    pub(super) duration_ms: f64,
    /// From the request to the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) latency_ms: Option<f64>,
}

impl<'a> LogLine<'a> {
    fn of(record: &'a CallRecord) -> Self {
        let milliseconds = |duration: std::time::Duration| {
            // Three digits: microseconds.
            (duration.as_secs_f64() * 1e6).round() / 1e3
        };
        Self {
            time: humantime::format_rfc3339_millis(SystemTime::now()).to_string(),
            tool: record.tool.as_str().into(),
            rule: record.source.as_str().into(),
            outcome: record.outcome.as_str().into(),
            reason: record.reason.map(Into::into),
            bytes_in: record.bytes_in,
            bytes_out: record.bytes_out,
            tokens_in: record.tokens_in(),
            tokens_out: record.tokens_out(),
            handle: record.handle.as_deref().map(Into::into),
            duration_ms: milliseconds(record.duration),
            latency_ms: record.latency.map(milliseconds),
        }
    }
}

/// Writes the log. Several processes may write to the same file.
#[derive(Debug)]
pub struct CallLog {
    output: Output,
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
        Self { output: Output::StandardError, failed: AtomicBool::new(false) }
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
        Ok(Self { output: Output::File(file), failed: AtomicBool::new(false) })
    }

    /// Writes the line of a call. A failure is reported once and never ends a session.
    pub(super) fn write(&self, record: &CallRecord) {
        let written = serde_json::to_vec(&LogLine::of(record)).map_err(io::Error::other).and_then(
            |mut line| {
                line.push(b'\n');
                // One write per line, so that lines of several processes are not mixed.
                match &self.output {
                    Output::StandardError => io::stderr().lock().write_all(&line),
                    Output::File(file) => {
                        file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line)
                    }
                }
            },
        );
        if let Err(error) = written
            && !self.failed.swap(true, Ordering::Relaxed)
        {
            crate::transport::report(format_args!("cannot write the log: {error}"));
        }
    }
}
