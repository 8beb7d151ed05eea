//! Counters and histograms in the format of Prometheus.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use tamis_mcp::record::{CallOutcome, CallRecord};

#[cfg(target_os = "linux")]
use super::process::ProcessFigures;

/// The prefix of the names of all metrics but those of the process.
const PREFIX: &str = "tamis";

/// How many names of tools become labels. A client may send any name, and each label takes memory for good.
const TOOLS: usize = 500;

/// The label of tools beyond [`TOOLS`].
const OTHER: &str = "other";

/// Upper bounds of the histograms, in seconds: from the filter of a small result to a slow tool.
const SECONDS: [f64; 16] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0,
    30.0, 120.0,
];

/// Where a message comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    FromClient,
    /// From the server to the client.
    FromServer,
}

impl Direction {
    fn label(self) -> Source {
        Source {
            from: match self {
                Self::FromClient => "client",
                Self::FromServer => "server",
            },
        }
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Source {
    from: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Call {
    tool: String,
    rule: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Stage {
    tool: String,
    stage: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ToolKind {
    tool: String,
    kind: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

/// The metrics of a process.
#[derive(Debug)]
pub struct Metrics {
    registry: Mutex<Registry>,
    calls_are_registered: Once,
    tools: Mutex<HashSet<String>>,
    calls: Family<Call, Counter>,
    bytes: Family<Stage, Counter>,
    tokens: Family<Stage, Counter>,
    redacted: Family<ToolKind, Counter>,
    failures: Family<Reason, Counter>,
    dropped: Family<Reason, Counter>,
    messages: Family<Source, Counter>,
    message_bytes: Family<Source, Counter>,
    latency: Histogram,
    filtering: Histogram,
    sessions: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let metrics = Self {
            registry: Mutex::default(),
            calls_are_registered: Once::new(),
            tools: Mutex::default(),
            calls: Family::default(),
            bytes: Family::default(),
            tokens: Family::default(),
            redacted: Family::default(),
            failures: Family::default(),
            dropped: Family::default(),
            messages: Family::default(),
            message_bytes: Family::default(),
            latency: Histogram::new(SECONDS),
            filtering: Histogram::new(SECONDS),
            sessions: Gauge::default(),
        };
        #[cfg(target_os = "linux")]
        metrics.registry().register_collector(Box::new(ProcessFigures));
        metrics.extend(|registry| {
            let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
            registry.register("build", "The version of this program", build);
        });
        metrics
    }
}

impl Metrics {
    /// Adds the metrics of MCP, once. A server for gateways has them only if it carries messages of MCP.
    pub fn register_calls(&self) {
        self.calls_are_registered.call_once(|| self.extend(|registry| self.add_calls(registry)));
    }

    fn add_calls(&self, registry: &mut Registry) {
        registry.register("calls", "Calls of tools whose results were handled", self.calls.clone());
        registry.register(
            "result_bytes",
            "Bytes of results before (in) and after (out) the filter",
            self.bytes.clone(),
        );
        registry.register(
            "result_tokens",
            "Estimated tokens of results before (in) and after (out) the filter",
            self.tokens.clone(),
        );
        registry.register(
            "redacted_values",
            "Credentials and other values that were replaced in results, by kind",
            self.redacted.clone(),
        );
        registry.register(
            "failures",
            "Filters, messages and connections that failed",
            self.failures.clone(),
        );
        registry.register(
            "dropped_messages",
            "Messages that were not forwarded",
            self.dropped.clone(),
        );
        registry.register("messages", "Messages of clients and servers", self.messages.clone());
        registry.register(
            "message_bytes",
            "Bytes of the messages of clients and servers",
            self.message_bytes.clone(),
        );
        registry.register_with_unit(
            "call_latency",
            "Time from the request to the response of a call",
            Unit::Seconds,
            self.latency.clone(),
        );
        registry.register_with_unit(
            "filter_duration",
            "Time that the filter of a result took",
            Unit::Seconds,
            self.filtering.clone(),
        );
        registry.register(
            "sessions",
            "Sessions over HTTP that are remembered",
            self.sessions.clone(),
        );
    }

    /// Counts a call.
    pub(super) fn record(&self, record: &CallRecord) {
        let tool = self.label(&record.tool);
        let stage = |stage| Stage { tool: tool.clone(), stage };
        self.bytes.get_or_create(&stage("in")).inc_by(record.bytes_in);
        self.bytes.get_or_create(&stage("out")).inc_by(record.bytes_out);
        self.tokens.get_or_create(&stage("in")).inc_by(record.tokens_in());
        self.tokens.get_or_create(&stage("out")).inc_by(record.tokens_out());
        // The kinds are built-in ones and patterns of the user, so their number is bounded.
        for (kind, count) in &record.redacted {
            let labels = ToolKind { tool: tool.clone(), kind: kind.clone() };
            self.redacted.get_or_create(&labels).inc_by(*count);
        }
        let outcome = record.outcome.as_str();
        self.calls.get_or_create(&Call { tool, rule: record.source.as_str(), outcome }).inc();
        if matches!(record.outcome, CallOutcome::FailedOpen | CallOutcome::FailedClosed) {
            self.failure(record.outcome.as_str());
        }
        self.filtering.observe(record.duration.as_secs_f64());
        if let Some(latency) = record.latency {
            self.latency.observe(latency.as_secs_f64());
        }
    }

    /// Returns the label of a tool.
    fn label(&self, tool: &str) -> String {
        let mut tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        if tools.contains(tool) {
            return String::from(tool);
        }
        if tools.len() >= TOOLS {
            return String::from(OTHER);
        }
        tools.insert(String::from(tool));
        String::from(tool)
    }

    pub(super) fn failure(&self, reason: &'static str) {
        self.failures.get_or_create(&Reason { reason }).inc();
    }

    pub(super) fn dropped(&self, reason: &'static str) {
        self.dropped.get_or_create(&Reason { reason }).inc();
    }

    pub(super) fn message(&self, direction: Direction, bytes: u64) {
        let label = direction.label();
        self.messages.get_or_create(&label).inc();
        self.message_bytes.get_or_create(&label).inc_by(bytes);
    }

    /// Sets the number of sessions over HTTP.
    pub fn set_sessions(&self, count: usize) {
        self.sessions.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Returns all metrics in the text format.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        _ = encode(&mut text, &self.registry());
        text
    }

    /// Adds further metrics.
    pub fn extend(&self, add: impl FnOnce(&mut Registry)) {
        add(self.registry().sub_registry_with_prefix(PREFIX));
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
