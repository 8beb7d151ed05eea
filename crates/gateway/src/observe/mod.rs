//! Figures about the calls of the proxy: a log and metrics.
//!
//! They contain names of tools, sizes, durations and counts of replaced credentials by kind, and never data of a message.

pub mod endpoint;
pub mod log;
pub mod metrics;
#[cfg(target_os = "linux")]
mod process;

use std::sync::atomic::{AtomicBool, Ordering};

use log::CallLog;
pub use metrics::Direction;
use metrics::Metrics;
use tamis_mcp::record::{CallOutcome, CallRecord};

/// Receives everything that is counted. Shared by all connections of a process.
#[derive(Debug, Default)]
pub struct Observer {
    log: Option<CallLog>,
    metrics: Metrics,
    is_stopping: AtomicBool,
}

impl Observer {
    /// Creates an observer that counts, and writes to `log`.
    #[must_use]
    pub fn new(log: Option<CallLog>) -> Self {
        Self { log, ..Self::default() }
    }

    /// Reports from now on that the process ends, and should get no further work.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Returns whether the process ends.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Returns the metrics.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Records calls whose results were handled.
    pub fn record_all<'a>(&self, records: impl IntoIterator<Item = &'a CallRecord>) {
        for record in records {
            if !matches!(record.outcome, CallOutcome::Listed | CallOutcome::Inserted) {
                self.metrics.record(record);
            }
            if let Some(log) = &self.log {
                log.write(record);
            }
        }
    }

    /// Adds a line to the log.
    #[cfg(feature = "serve")]
    pub(crate) fn line(&self, line: &impl serde::Serialize) {
        if let Some(log) = &self.log {
            log.write_line(line);
        }
    }

    /// Counts a message.
    pub fn message(&self, direction: Direction, bytes: u64) {
        self.metrics.message(direction, bytes);
    }

    /// Counts a message beyond the limits.
    pub fn too_long(&self, direction: Direction) {
        self.metrics.message(direction, 0);
        self.metrics.failure("too_long");
    }

    /// Counts a message that was not forwarded.
    pub fn dropped(&self, reason: &'static str) {
        self.metrics.dropped(reason);
    }

    /// Counts a failure of the connection to the server.
    pub fn failure(&self, reason: &'static str) {
        self.metrics.failure(reason);
    }
}
