//! Counters of the routes, in the format of Prometheus.

use std::collections::BTreeMap;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use tamis::http::HeldPool;

/// Upper bounds of the histogram, in seconds.
const SECONDS: [f64; 12] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 10.0, 60.0];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RouteOutcome {
    route: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RouteStage {
    route: String,
    stage: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RouteKind {
    route: String,
    kind: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Event {
    event: &'static str,
}

/// The metrics of routes. Names of routes are those of the configuration, so their number is bounded.
#[derive(Debug)]
pub(crate) struct RouteMetrics {
    responses: Family<RouteOutcome, Counter>,
    bytes: Family<RouteStage, Counter>,
    redacted: Family<RouteKind, Counter>,
    open: Gauge,
    streams: Gauge,
    duration: Histogram,
    events: Family<Event, Counter>,
}

impl RouteMetrics {
    pub(crate) fn new() -> Self {
        Self {
            responses: Family::default(),
            bytes: Family::default(),
            redacted: Family::default(),
            open: Gauge::default(),
            streams: Gauge::default(),
            duration: Histogram::new(SECONDS),
            events: Family::default(),
        }
    }

    /// Adds the metrics to a registry.
    pub(crate) fn register(&self, registry: &mut Registry, pool: &HeldPool) {
        registry.register_collector(Box::new(HeldBytes(pool.clone())));
        registry.register("responses", "Responses by route", self.responses.clone());
        registry.register(
            "response_bytes",
            "Bytes of responses before (in) and after (out) the filter",
            self.bytes.clone(),
        );
        registry.register(
            "response_redacted_values",
            "Credentials and other values that were replaced in responses, by kind",
            self.redacted.clone(),
        );
        registry.register("open_responses", "Responses that are being filtered", self.open.clone());
        registry.register("streams", "Open streams of gateways", self.streams.clone());
        registry.register_with_unit(
            "response_duration",
            "Time from the headers of a response to its end",
            Unit::Seconds,
            self.duration.clone(),
        );
        registry.register("serve_events", "Reloads, refusals and failures", self.events.clone());
    }

    /// Counts a response that begins.
    pub(crate) fn begin(&self) {
        self.open.inc();
    }

    /// Counts a response that has ended.
    pub(crate) fn end(&self, route: &str, outcome: &'static str, sizes: [u64; 2], took: Duration) {
        self.open.dec();
        let route = route.to_owned();
        let [read, sent] = sizes;
        let stage = |stage| RouteStage { route: route.clone(), stage };
        self.bytes.get_or_create(&stage("in")).inc_by(read);
        self.bytes.get_or_create(&stage("out")).inc_by(sent);
        self.responses.get_or_create(&RouteOutcome { route: route.clone(), outcome }).inc();
        self.duration.observe(took.as_secs_f64());
    }

    /// Counts the values that were replaced in a response. The kinds are built-in ones and patterns of the configuration. As in
    /// the metrics of the proxy, values at the paths of a rule do not count: the rule names them.
    pub(crate) fn redacted(&self, route: &str, kinds: &BTreeMap<String, u64>) {
        for (kind, count) in kinds.iter().filter(|(kind, _)| *kind != "path") {
            let labels = RouteKind { route: route.to_owned(), kind: kind.clone() };
            self.redacted.get_or_create(&labels).inc_by(*count);
        }
    }

    /// Adds the series of an outcome before the first response.
    pub(crate) fn known(&self, route: &str, outcome: &'static str) {
        _ = self.responses.get_or_create(&RouteOutcome { route: route.to_owned(), outcome });
    }

    /// Counts a response that is not filtered.
    pub(crate) fn decided(&self, route: &str, outcome: &'static str) {
        self.responses.get_or_create(&RouteOutcome { route: route.to_owned(), outcome }).inc();
    }

    /// Counts an event of the server.
    pub(crate) fn event(&self, event: &'static str) {
        super::trace::event(event);
        self.events.get_or_create(&Event { event }).inc();
    }

    /// Counts a stream while the returned value lives.
    pub(crate) fn stream(&self) -> OpenStream {
        self.streams.inc();
        OpenStream(self.streams.clone())
    }
}

/// Reports the bytes that all responses hold, when they are asked for.
#[derive(Debug)]
struct HeldBytes(HeldPool);

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Place {
    place: &'static str,
}

impl Collector for HeldBytes {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let help = "Bytes that responses hold until they are decided, in memory and in files";
        let mut metric = encoder.encode_descriptor("held_bytes", help, None, MetricType::Gauge)?;
        for (place, bytes) in [("memory", self.0.in_memory()), ("disk", self.0.on_disk())] {
            let labels = Place { place };
            let gauge = ConstGauge::new(i64::try_from(bytes).unwrap_or(i64::MAX));
            gauge.encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

/// An open stream.
#[derive(Debug)]
pub(crate) struct OpenStream(Gauge);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.dec();
    }
}
