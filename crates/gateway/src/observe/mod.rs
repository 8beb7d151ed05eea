//! Figures about the calls of the proxy: a log and metrics.
//!
//! They contain names of tools, sizes, durations and counts of replaced credentials by kind, and never data of a message.

pub mod endpoint;
pub mod log;
pub mod metrics;

use log::CallLog;
pub use metrics::Direction;
use metrics::Metrics;
use tamis_mcp::record::{CallOutcome, CallRecord};

/// Receives everything that is counted. Shared by all connections of a process.
#[derive(Debug, Default)]
pub struct Observer {
    log: Option<CallLog>,
    metrics: Metrics,
}

impl Observer {
    /// Creates an observer that counts, and writes to `log`.
    #[must_use]
    pub fn new(log: Option<CallLog>) -> Self {
        Self { log, metrics: Metrics::default() }
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
