//! The log of responses that were refused, cut off, or passed although their filter did not apply: a line of JSON each.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use http::{StatusCode, request};
use serde::Serialize;
use tamis::{Error, Report};

use crate::observe::Observer;

/// The most lines in a [`PERIOD`]. Further responses are counted.
const LINES: u32 = 10;

const PERIOD: Duration = Duration::from_secs(1);

/// Writes the lines. Shared by all responses.
#[derive(Debug)]
pub(crate) struct FailureLog {
    observer: Arc<Observer>,
    period: Mutex<Period>,
}

/// The lines of the current period.
#[derive(Debug)]
struct Period {
    begun: Instant,
    lines: u32,
    left_out: u64,
}

/// The line for responses beyond [`LINES`].
#[derive(Serialize)]
struct LeftOut {
    time: String,
    outcome: &'static str,
    count: u64,
}

/// The line of a response, as far as it is known.
#[derive(Clone, Debug, Default, Serialize)]
struct Response {
    time: String,
    outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    /// Without the query, which may have data of a user.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The status that the client got.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    byte: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    json_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<String>,
    /// The `Content-Encoding` of the server's response.
    #[serde(skip_serializing_if = "Option::is_none")]
    coding: Option<String>,
}

impl FailureLog {
    pub(crate) fn new(observer: Arc<Observer>) -> Self {
        let period = Period { begun: Instant::now(), lines: 0, left_out: 0 };
        Self { observer, period: Mutex::new(period) }
    }

    /// Writes a line, or counts it for the line that is written at the end of the period.
    fn write(self: &Arc<Self>, response: &Response) {
        let mut period = self.period();
        if period.begun.elapsed() >= PERIOD && period.left_out == 0 {
            *period = Period { begun: Instant::now(), lines: 0, left_out: 0 };
        }
        if period.lines < LINES {
            period.lines += 1;
            drop(period);
            return self.observer.line(response);
        }
        period.left_out += 1;
        if period.left_out == 1 {
            let log = Arc::clone(self);
            tokio::spawn(async move {
                tokio::time::sleep(PERIOD).await;
                log.end_period();
            });
        }
    }

    fn end_period(&self) {
        let begun = Period { begun: Instant::now(), lines: 0, left_out: 0 };
        let count = std::mem::replace(&mut *self.period(), begun).left_out;
        self.observer.line(&LeftOut { time: now(), outcome: "not_logged", count });
    }

    fn period(&self) -> MutexGuard<'_, Period> {
        self.period.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

/// The story of a response: everything that handles it adds what it knows, and the end of the exchange writes it if the
/// response failed.
#[derive(Clone)]
pub(crate) struct Trail {
    log: Arc<FailureLog>,
    response: Arc<Mutex<Response>>,
}

impl fmt::Debug for Trail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trail").field("response", &self.response).finish_non_exhaustive()
    }
}

impl Trail {
    pub(crate) fn new(log: Arc<FailureLog>) -> Self {
        Self { log, response: Arc::default() }
    }

    /// Adds the request.
    pub(crate) fn asked(&self, asked: &request::Parts) {
        let mut response = self.response();
        response.method = Some(asked.method.as_str().to_owned());
        response.path = Some(asked.uri.path().to_owned());
    }

    /// Adds the method of a message of MCP.
    pub(crate) fn message(&self, method: &str) {
        self.response().method = Some(method.to_owned());
    }

    /// Adds the name of the route.
    pub(crate) fn route(&self, name: &str) {
        self.response().route = Some(name.to_owned());
    }

    /// Adds the name of the filter, and the coding of the server's response.
    pub(crate) fn filter(&self, name: Option<&str>, coding: Option<&str>) {
        let mut response = self.response();
        response.filter = name.map(str::to_owned);
        response.coding = coding.map(str::to_owned);
    }

    /// Adds the status that the client gets.
    pub(crate) fn status(&self, status: StatusCode) {
        self.response().status = Some(status.as_u16());
    }

    /// Notes that the client gets a refusal.
    pub(crate) fn refused(&self, reason: Option<&str>) {
        let mut response = self.response();
        response.outcome = Some("refused");
        response.reason = reason.map(str::to_owned);
    }

    /// Notes that the filter failed. The client gets a refusal, unless the response is [cut off](Self::cut_off).
    pub(crate) fn failed(&self, error: &Error) {
        let mut response = self.response();
        response.outcome = Some("refused");
        response.kind = Some(error.kind().as_str());
        response.reason = Some(error.message().to_owned());
        response.byte = error.offset();
        response.json_path = Some(error.path().to_owned()).filter(|path| !path.is_empty());
    }

    /// Notes a response that passed because the rules did not apply.
    pub(crate) fn passed(&self, report: &Report) {
        if let Some(reason) = report.fallback.as_ref().filter(|_| !report.applied) {
            let mut response = self.response();
            response.outcome = Some("passed");
            response.reason = Some(reason.clone());
        }
    }

    /// Notes that the client did not get the whole response.
    pub(crate) fn cut_off(&self, reason: &str) {
        let mut response = self.response();
        response.outcome = Some("cut_off");
        response.reason.get_or_insert_with(|| reason.to_owned());
    }

    /// Writes the line of a response that failed.
    pub(crate) fn end(&self) {
        let mut response = self.response();
        if response.outcome.is_some() {
            response.time = now();
            self.log.write(&response);
            response.outcome = None;
        }
    }

    fn response(&self) -> MutexGuard<'_, Response> {
        self.response.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
