//! Chooses the route of a response, and its filter.

use std::sync::Arc;
use std::time::Instant;

use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, StatusCode, request, response};
use tamis::http::{Choice, Outcome, RedactedTextReport, Transform};
use tamis::text::{TextRedactor, TextReport};
use tamis::{CallOptions, Program};
use tamis_mcp::gateway_yaml::{Action, HttpFilter, RequestPath, Route, RouteRule, essence};

use super::failures::ResponseLog;
use super::metrics::RouteMetrics;
use super::outcome::{DEFAULT, FILTERED, PASSED, RECALLED, REFUSED, RELAYED, outcome_of};
use super::table::Table;
use super::trace;

/// The decision about a response before it arrives.
#[derive(Debug)]
pub(super) enum Plan {
    /// Every response passes.
    Pass,
    /// Nothing is sent to the server.
    Refuse(StatusCode),
    /// The messages are those of MCP, with the rules of this route.
    Mcp(usize),
    /// Nothing is sent to the server: the response is a stored result.
    Recall,
    /// The response decides between these routes.
    Ask(Vec<usize>),
}

impl Table {
    /// Chooses what can be chosen by a request only.
    ///
    /// The line of a refusal and the count of what is decided here are made here as well.
    pub(super) fn plan(&self, asked: &request::Parts, log: &ResponseLog) -> Plan {
        let path = RequestPath::new(asked.uri.path());
        let Some(found) = self.config.candidates(&asked.method, &path, &asked.headers) else {
            self.metrics.decided(DEFAULT, REFUSED);
            log.refused(Some("the path can be read in several ways"));
            return Plan::Refuse(StatusCode::BAD_REQUEST);
        };
        let routes = self.config.routes();
        let first = found.first().and_then(|at| Some((*at, routes.get(*at)?)));
        let name = first.map_or(DEFAULT, |(_, route)| route.name());
        let decided = match first {
            None => self.config.default_action(),
            Some((_, route)) if route.when().ask_response() => return Plan::Ask(found),
            Some((at, route)) => match route.rule() {
                RouteRule::Act(action) => *action,
                RouteRule::Filter(_) => return Plan::Ask(found),
                RouteRule::Mcp(_) => {
                    self.metrics.decided(name, RELAYED);
                    log.route(name);
                    return Plan::Mcp(at);
                }
                RouteRule::Recall => {
                    self.metrics.decided(name, RECALLED);
                    return Plan::Recall;
                }
            },
        };
        self.metrics.decided(name, outcome_of(decided));
        match decided {
            Action::Pass => Plan::Pass,
            Action::Refuse(status) => {
                log.route(name);
                log.refused(None);
                Plan::Refuse(status_of(status))
            }
        }
    }

    /// Chooses the filter of a response among the routes of a [`Plan::Ask`].
    pub(super) fn choose(
        &self,
        found: &[usize],
        head: &response::Parts,
        log: &ResponseLog,
    ) -> Choice {
        let routes = found.iter().filter_map(|at| self.config.routes().get(*at));
        let status = head.status.as_u16();
        let mut held = routes.filter(|route| route.when().match_response(status, &head.headers));
        let route = held.next();
        let name = route.map_or(DEFAULT, Route::name);
        trace::route(name);
        log.route(name);
        let decided = match route {
            None => acted(self.config.default_action()),
            Some(route) => self.choose_for(route, head, log),
        };
        match &decided {
            Choice::Pass => self.metrics.decided(name, PASSED),
            Choice::Refuse(_) => {
                self.metrics.decided(name, REFUSED);
                log.refused(None);
            }
            _ => {}
        }
        decided
    }

    /// Chooses the filter of a response of a route.
    fn choose_for(&self, route: &Route, head: &response::Parts, log: &ResponseLog) -> Choice {
        let filter = match route.rule() {
            RouteRule::Act(action) => return acted(*action),
            // Its request was not read.
            RouteRule::Mcp(_) | RouteRule::Recall => {
                return Choice::Refuse(StatusCode::BAD_GATEWAY);
            }
            RouteRule::Filter(filter) => filter,
        };
        let coding = head.headers.get(CONTENT_ENCODING).and_then(|coding| coding.to_str().ok());
        log.filter(filter.name.as_deref(), coding);
        let transform = match transform(filter, &self.options, &head.headers) {
            Some(transform) => transform,
            None if !has_body(head) => Transform::json(filter.program.with_options(&self.options)),
            None => {
                if let Action::Refuse(_) = filter.on_unknown {
                    log.refused(Some("the filter does not read bodies of this type"));
                }
                return acted(filter.on_unknown);
            }
        };
        Choice::Filter(counted(transform, &filter.program, route.name(), &self.metrics, log))
    }
}

/// Returns whether the headers announce a body. Without one, its type does not matter.
fn has_body(head: &response::Parts) -> bool {
    let length = head.headers.get(http::header::CONTENT_LENGTH);
    let is_empty = length.is_some_and(|length| length.as_bytes() == b"0");
    !is_empty
        && !matches!(
            head.status,
            StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED
        )
}

fn acted(action: Action) -> Choice {
    match action {
        Action::Pass => Choice::Pass,
        Action::Refuse(status) => Choice::Refuse(status_of(status)),
    }
}

fn status_of(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::FORBIDDEN)
}

/// Returns the filter of a body by its type. `None` if the type is not known.
fn transform(filter: &HttpFilter, options: &CallOptions, headers: &HeaderMap) -> Option<Transform> {
    let media_type = essence(headers);
    let media_type = media_type.as_str();
    let call = || filter.program.with_options(options);
    if let Some(transform) = Transform::for_media_type(media_type, call()) {
        return Some(transform);
    }
    let rules = filter.text.as_ref().filter(|_| media_type.starts_with("text/"))?;
    let Some(redact) = &rules.redact else {
        return Some(Transform::text(&rules.lines, options.limits()));
    };
    // In another encoding, credentials would not be found.
    if !extends_ascii(headers) {
        return None;
    }
    let redactor = TextRedactor::with_program(redact, options.limits());
    Some(Transform::redacted_text(&rules.lines, redactor, options.limits()))
}

/// Returns whether the characters of ASCII are bytes in the encoding of a text.
fn extends_ascii(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut parameters = value.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    parameters.all(|(name, value)| {
        let value = value.trim().trim_matches('"').to_ascii_lowercase();
        let known = ["utf-8", "us-ascii"].contains(&value.as_str())
            || value.starts_with("iso-8859-")
            || value.starts_with("windows-125");
        !name.trim().eq_ignore_ascii_case("charset") || known
    })
}

/// Counts the response of a route.
fn counted(
    transform: Transform,
    program: &Program,
    route: &str,
    metrics: &Arc<RouteMetrics>,
    log: &ResponseLog,
) -> Transform {
    let (metrics, route, log) = (Arc::clone(metrics), route.to_owned(), log.clone());
    let program = program.clone();
    let begun = Instant::now();
    metrics.begin();
    transform.with_on_end(move |outcome, result| {
        let of_text = |report: &TextReport| [report.bytes_in, report.bytes_out];
        let sizes = match outcome {
            Outcome::Filter(report) => {
                log.passed(report);
                metrics.redacted(&route, &report.redacted);
                [report.original_bytes, report.output_bytes.unwrap_or(report.result_bytes)]
            }
            other => match other.downcast_ref::<RedactedTextReport>() {
                Some(report) => {
                    metrics.redacted(&route, &report.redacted);
                    of_text(&report.text)
                }
                None => other.downcast_ref().map_or([0, 0], of_text),
            },
        };
        if let Err(error) = result {
            log.failed(error, program.spec());
        }
        let kind = result.map_or_else(|error| error.kind().as_str(), |()| FILTERED);
        metrics.end(&route, kind, sizes, begun.elapsed());
    })
}
