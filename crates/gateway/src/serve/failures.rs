//! The log of responses that were refused, cut off, or passed although their filter did not apply: a line of JSON each.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use http::{StatusCode, request};
use serde::Serialize;
use tamis::{Error, Report, Spec};

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
struct ResponseLine {
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
    fn write(self: &Arc<Self>, line: &ResponseLine) {
        let mut period = self.period();
        if period.begun.elapsed() >= PERIOD && period.left_out == 0 {
            *period = Period { begun: Instant::now(), lines: 0, left_out: 0 };
        }
        if period.lines < LINES {
            period.lines += 1;
            drop(period);
            return self.observer.line(line);
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

/// The most characters of a path, a reason or another text.
const LONGEST: usize = 1000;

/// Returns a text of a client or a server without characters that reorder text or that a terminal acts on, and not longer than
/// [`LONGEST`].
fn shown(text: &str) -> String {
    let is_hidden = |char: char| {
        char.is_control()
            || matches!(char, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let mut chars = text.chars().map(|char| if is_hidden(char) { '\u{fffd}' } else { char });
    let mut shown: String = chars.by_ref().take(LONGEST).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

/// Returns a JSON Pointer in which names are `*` that a filter for safety does not name itself.
fn named_path(path: &str, spec: &Spec) -> String {
    if !spec.removes_for_safety() {
        return path.to_owned();
    }
    let redacted = spec.redact.iter().flat_map(|redact| &redact.paths);
    let rules = spec.exclude.iter().chain(spec.retain.iter().flatten()).chain(redacted);
    let words: HashSet<&str> =
        rules.flat_map(|rule| rule.split(['.', '[', ']', '/', '"', '{', '}', ','])).collect();
    // A longer number may be a member that is named by a card.
    let is_index = |name: &str| name.len() <= 6 && name.bytes().all(|it| it.is_ascii_digit());
    let is_known = |name: &str| words.contains(name) || is_index(name);
    let names = path.split('/').map(|name| if is_known(name) { name } else { "*" });
    names.collect::<Vec<_>>().join("/")
}

fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

/// The line of one response: everything that handles it adds what it knows, and the end of the exchange writes it if the
/// response failed.
#[derive(Clone)]
pub(crate) struct ResponseLog {
    log: Arc<FailureLog>,
    line: Arc<Mutex<ResponseLine>>,
}

impl fmt::Debug for ResponseLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseLog").field("line", &self.line).finish_non_exhaustive()
    }
}

impl ResponseLog {
    pub(crate) fn new(log: Arc<FailureLog>) -> Self {
        Self { log, line: Arc::default() }
    }

    /// Adds the request.
    pub(crate) fn asked(&self, asked: &request::Parts) {
        let mut line = self.line();
        line.method = Some(shown(asked.method.as_str()));
        line.path = Some(shown(asked.uri.path()));
    }

    /// Adds the method of a message of MCP.
    pub(crate) fn message(&self, method: &str) {
        self.line().method = Some(shown(method));
    }

    /// Adds the name of the route.
    pub(crate) fn route(&self, name: &str) {
        self.line().route = Some(name.to_owned());
    }

    /// Adds the name of the filter, and the coding of the server's response.
    pub(crate) fn filter(&self, name: Option<&str>, coding: Option<&str>) {
        let mut line = self.line();
        line.filter = name.map(str::to_owned);
        line.coding = coding.map(shown);
    }

    /// Adds the status that the client gets.
    pub(crate) fn status(&self, status: StatusCode) {
        self.line().status = Some(status.as_u16());
    }

    /// Notes that the client gets a refusal.
    pub(crate) fn refused(&self, reason: Option<&str>) {
        let mut line = self.line();
        line.outcome = Some("refused");
        line.reason = reason.map(shown).or(line.reason.take());
    }

    /// Notes that the filter failed. The client gets a refusal, unless the response is [cut off](Self::cut_off).
    /// `spec` is that of the filter: where it removes values, names inside of them are data, so that only those are logged which
    /// its rules have.
    pub(crate) fn failed(&self, error: &Error, spec: &Spec) {
        let mut line = self.line();
        line.outcome = Some("refused");
        line.kind = Some(error.kind().as_str());
        // The errors of these rules quote names.
        let quotes = !spec.json_strings.is_empty() || spec.patches.is_some();
        line.reason =
            Some(shown(error.message())).filter(|_| !quotes || !spec.removes_for_safety());
        line.byte = error.offset();
        line.json_path =
            Some(shown(&named_path(error.path(), spec))).filter(|path| !path.is_empty());
    }

    /// Notes a response that passed because the rules did not apply.
    pub(crate) fn passed(&self, report: &Report) {
        if let Some(reason) = report.fallback.as_ref().filter(|_| !report.applied) {
            let mut line = self.line();
            line.outcome = Some("passed");
            line.reason = Some(shown(reason));
        }
    }

    /// Notes that the client did not get the whole response.
    pub(crate) fn cut_off(&self, reason: &str) {
        let mut line = self.line();
        line.outcome = Some("cut_off");
        line.reason.get_or_insert_with(|| shown(reason));
    }

    /// Writes the line of a response that failed.
    pub(crate) fn end(&self) {
        let mut line = self.line();
        if line.outcome.is_some() {
            line.time = now();
            self.log.write(&line);
            line.outcome = None;
        }
    }

    fn line(&self) -> MutexGuard<'_, ResponseLine> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
