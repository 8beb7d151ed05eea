//! The trace of a request, as W3C Trace Context names it in headers.

use http::{HeaderMap, HeaderName};
use opentelemetry::global;
use opentelemetry::propagation::Extractor;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(HeaderName::as_str).collect()
    }
}

/// Makes a span part of the trace that the headers name, if they do.
pub(super) fn follow(span: &Span, headers: &HeaderMap) {
    let context = global::get_text_map_propagator(|known| known.extract(&Headers(headers)));
    // Without a subscriber for OpenTelemetry, there is nothing to set.
    _ = span.set_parent(context);
}
