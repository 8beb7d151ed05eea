//! Spans and events of the server, for the crate `tracing`. Without the feature, nothing is recorded.
//!
//! The spans of responses are those of the tower layer, within the span of their exchange. With the feature `otel`, that span
//! continues the trace of the request (W3C Trace Context).

pub(super) use spans::{ExchangeSpan, event, route};

#[cfg(feature = "tracing")]
mod spans {
    use http::request;
    use tracing::{Instrument as _, Span};

    /// The target of spans and events.
    const TARGET: &str = "tamis::serve";

    /// The span of an exchange, whose route is known later.
    pub(crate) struct ExchangeSpan(Span);

    impl ExchangeSpan {
        /// Begins the span of a request.
        pub(crate) fn new(asked: &request::Parts) -> Self {
            let (method, route) = (asked.method.as_str(), tracing::field::Empty);
            let span = tracing::debug_span!(target: TARGET, "exchange", method, route);
            #[cfg(feature = "otel")]
            crate::serve::trace_context::follow(&span, &asked.headers);
            Self(span)
        }

        /// Runs the task of the exchange in the span.
        pub(crate) fn around<W: Future>(self, work: W) -> impl Future<Output = W::Output> {
            work.instrument(self.0)
        }
    }

    /// Records the route of the current exchange.
    pub(crate) fn route(name: &str) {
        Span::current().record("route", name);
    }

    /// Records an event of the whole server.
    pub(crate) fn event(name: &str) {
        tracing::info!(target: TARGET, event = name, "server");
    }
}

#[cfg(not(feature = "tracing"))]
mod spans {
    pub(crate) struct ExchangeSpan;

    impl ExchangeSpan {
        pub(crate) fn new(_: &http::request::Parts) -> Self {
            Self
        }

        pub(crate) fn around<W: Future>(self, work: W) -> W {
            work
        }
    }

    pub(crate) const fn route(_: &str) {}

    pub(crate) const fn event(_: &str) {}
}
