//! Traces for OpenTelemetry: the spans of responses go to a collector, as the variables `OTEL_*` of the environment say.
//!
//! See <https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/>. The exporter reads the rest of
//! them: headers, timeout, name of the service, sampler and batches.

use std::env::var;

use opentelemetry::global;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::{Failure, note};

/// The exporter of a process. When it is dropped, it sends the spans that wait.
pub(crate) struct Telemetry(SdkTracerProvider);

impl Telemetry {
    /// Starts the exporter if the environment names a collector. Has to be called within the runtime.
    pub(crate) fn start() -> Result<Option<Self>, Failure> {
        let endpoint = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
        let is_named = endpoint.iter().any(|name| var(name).is_ok_and(|value| !value.is_empty()));
        let is_off = var("OTEL_SDK_DISABLED").is_ok_and(|it| it.eq_ignore_ascii_case("true"))
            || var("OTEL_TRACES_EXPORTER").is_ok_and(|it| it == "none");
        if !is_named || is_off {
            return Ok(None);
        }
        let protocol = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
        let protocol = protocol.iter().find_map(|name| var(name).ok().map(|it| (name, it)));
        if let Some((name, _)) = protocol.filter(|(_, protocol)| protocol != "grpc") {
            return Err(Failure::usage(format!("{name}: only `grpc` is supported")));
        }
        let fail = |error| Failure::usage(format!("OTEL_EXPORTER_OTLP_ENDPOINT: {error}"));
        let exporter = SpanExporter::builder().with_tonic().build().map_err(fail)?;
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).build();
        global::set_text_map_propagator(TraceContextPropagator::new());
        let spans = tracing_opentelemetry::layer().with_tracer(provider.tracer("tamis"));
        let ours = Targets::new().with_target("tamis", tracing::Level::DEBUG);
        let layers = tracing_subscriber::registry().with(spans.with_filter(ours));
        layers.try_init().map_err(|error| Failure::run(error.to_string()))?;
        Ok(Some(Self(provider)))
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown() {
            note(format_args!("the last spans were not sent: {error}"));
        }
    }
}
