//! Spans and events of filtered responses, for the crate `tracing`.
//!
//! A span lasts from the choice of a filter to the end of the body, so the span of the caller's request is its parent.
//! Neither has data of a response: paths in the messages of errors name fields, so only the kind of an error is recorded.

use http::{StatusCode, request, response};

use tamis_json::error::Error;

use crate::http::transform::{Outcome, Transform};

/// The target of spans and events.
const TARGET: &str = "tamis::http";

/// Adds a span to the filter of a response, with an event at its end.
pub(super) fn filtered(
    transform: Transform,
    asked: &request::Parts,
    head: &response::Parts,
) -> Transform {
    let span = tracing::debug_span!(
        target: TARGET,
        "filter_response",
        method = asked.method.as_str(),
        status = head.status.as_u16(),
    );
    transform.also_on_end(move |outcome, result| {
        let report = outcome.report();
        let read = report.map(|report| report.original_bytes);
        let written = report.map(|report| report.output_bytes.unwrap_or(report.result_bytes));
        match result {
            Ok(()) => {
                tracing::debug!(target: TARGET, parent: &span, read, written, "response filtered");
            }
            Err(error) => tracing::warn!(
                target: TARGET,
                parent: &span,
                read,
                written,
                kind = error.kind().as_str(),
                limit = error.limit(),
                "response not filtered",
            ),
        }
    })
}

/// Records that a response was refused by the choice.
pub(super) fn refused(asked: &request::Parts, status: StatusCode) {
    let (method, status) = (asked.method.as_str(), status.as_u16());
    tracing::debug!(target: TARGET, method, status, "response refused");
}

impl Transform {
    /// Calls `first` before the function of [`with_on_end`](Self::with_on_end).
    fn also_on_end(
        mut self,
        first: impl FnOnce(&Outcome, Result<(), &Error>) + Send + 'static,
    ) -> Self {
        let then = self.on_end.take();
        self.with_on_end(move |outcome, result| {
            first(outcome, result);
            if let Some(then) = then {
                then(outcome, result);
            }
        })
    }
}
