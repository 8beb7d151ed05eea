//! Spans and events of the server, for the crate `tracing`. Without the feature, nothing is recorded.
//!
//! The spans of responses are those of the tower layer, within the span of their exchange.

pub(super) use spans::{event, exchange, route};

#[cfg(feature = "tracing")]
mod spans {
    use tracing::Instrument as _;

    /// The target of spans and events.
    const TARGET: &str = "tamis::serve";

    /// Runs the task of an exchange in a span, whose route is known later.
    pub(crate) fn exchange<W: Future>(
        method: &str,
        work: W,
    ) -> impl Future<Output = W::Output> + use<W> {
        let route = tracing::field::Empty;
        work.instrument(tracing::debug_span!(target: TARGET, "exchange", method, route))
    }

    /// Records the route of the current exchange.
    pub(crate) fn route(name: &str) {
        tracing::Span::current().record("route", name);
    }

    /// Records an event of the whole server.
    pub(crate) fn event(name: &str) {
        tracing::info!(target: TARGET, event = name, "server");
    }
}

#[cfg(not(feature = "tracing"))]
mod spans {
    pub(crate) fn exchange<W: Future>(_: &str, work: W) -> W {
        work
    }

    pub(crate) const fn route(_: &str) {}

    pub(crate) const fn event(_: &str) {}
}
