//! Spans and events of the server, for the crate `tracing`. Without the feature, nothing is recorded.
//!
//! The spans of responses are those of the tower layer, within the span of their exchange.

#[cfg(feature = "tracing")]
use tracing::Instrument as _;

/// The target of spans and events.
#[cfg(feature = "tracing")]
const TARGET: &str = "tamis::serve";

/// Runs the task of an exchange in a span, whose route is known later.
#[cfg(feature = "tracing")]
pub(super) fn exchange<W: Future>(
    method: &str,
    work: W,
) -> impl Future<Output = W::Output> + use<W> {
    let route = tracing::field::Empty;
    work.instrument(tracing::debug_span!(target: TARGET, "exchange", method, route))
}

/// Records the route of the current exchange.
#[cfg(feature = "tracing")]
pub(super) fn route(name: &str) {
    tracing::Span::current().record("route", name);
}

/// Records an event of the whole server.
#[cfg(feature = "tracing")]
pub(super) fn event(name: &str) {
    tracing::info!(target: TARGET, event = name, "server");
}

#[cfg(not(feature = "tracing"))]
pub(super) fn exchange<W: Future>(_: &str, work: W) -> W {
    work
}

#[cfg(not(feature = "tracing"))]
pub(super) const fn route(_: &str) {}

#[cfg(not(feature = "tracing"))]
pub(super) const fn event(_: &str) {}
