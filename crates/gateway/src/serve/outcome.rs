//! Outcomes of responses, as the metrics name them.

use tamis_mcp::gateway_yaml::{Action, RouteRule};

/// The route of responses in logs and metrics that the key `default` decides about.
pub(super) const DEFAULT: &str = "default";

/// Outcomes of responses in the metrics. Others are kinds of errors.
pub(super) const FILTERED: &str = "filtered";
pub(super) const PASSED: &str = "passed";
pub(super) const RECALLED: &str = "recalled";
pub(super) const REFUSED: &str = "refused";
pub(super) const RELAYED: &str = "relayed";

/// Returns the outcome of responses that are not filtered.
pub(super) fn outcome_of(action: Action) -> &'static str {
    match action {
        Action::Pass => PASSED,
        Action::Refuse(_) => REFUSED,
    }
}

/// Returns the outcome that a route is for.
pub(super) fn expected(rule: &RouteRule) -> &'static str {
    match rule {
        RouteRule::Act(action) => outcome_of(*action),
        RouteRule::Filter(_) => FILTERED,
        RouteRule::Mcp(_) => RELAYED,
        RouteRule::Recall => RECALLED,
    }
}
