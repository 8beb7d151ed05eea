//! Responses of the server and the messages in them.

use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{HeaderMap, Method, Response, StatusCode};
use tamis_mcp::jsonrpc::reply;
use tamis_mcp::spool::{Spool, SpoolError};
use tamis_mcp::{Action, Exchange};
use tokio::time::sleep;

use super::Bridge;
use super::envelope::{ServerMessage, chosen_version};
use crate::observe::Direction;
use crate::report::report;
use crate::transport::http::body::RequestBody;
use crate::transport::http::headers::{SESSION_ID, text};
use crate::transport::jobs;
use crate::transport::lines::Collecting;
use crate::transport::sse::{EventData, SseEvent, SseFramer};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// How long to wait before a stream is resumed, unless the server says otherwise.
const RETRY: Duration = Duration::from_secs(1);

/// The longest such wait, also after repeated failures.
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// How often a stream is resumed without any event in between.
const ATTEMPTS: u32 = 5;

/// Where a stream can be resumed.
#[derive(Default)]
struct Place {
    last: Option<HeaderValue>,
    retry: Option<Duration>,
}

/// The request that a response belongs to.
struct Pending<'a> {
    /// As JSON.
    id: &'a str,
    method: &'a str,
    exchange: Exchange,
    responded: bool,
}

impl Bridge {
    /// Sends a request and delivers the messages of its response. The client gets a response in any case.
    pub(super) async fn request(
        &self,
        id: &str,
        method: &str,
        message: Spool,
        headers: HeaderMap,
        exchange: Exchange,
    ) {
        let mut pending = Pending { id, method, exchange, responded: false };
        let sent = self.upstream.send(Method::POST, None, &headers, RequestBody::of(message)).await;
        let why = match sent {
            Ok(response) => self.receive(response, &mut pending).await,
            Err(error) => {
                let unreachable = error.is_connect();
                self.observer.failure(if unreachable {
                    "unreachable"
                } else {
                    "broken_connection"
                });
                if unreachable {
                    // The tool did not run, so this is not the result of a tool.
                    self.handler.lock().exchange_ended(&pending.exchange, "");
                    let why = self.upstream.unreachable(&error);
                    return self.deliver(error_response(id, &why)).await;
                }
                String::from("the upstream server closed the connection without a response")
            }
        };
        if !pending.responded {
            let owed = self.handler.lock().exchange_ended(&pending.exchange, &why);
            let response = owed.map_or_else(|| error_response(id, &why), Spool::from_vec);
            self.deliver(response).await;
        }
    }

    /// Delivers the messages of a response. Returns the reason to report if the last of them is missing.
    async fn receive(&self, response: Response<Incoming>, pending: &mut Pending<'_>) -> String {
        let (parts, body) = response.into_parts();
        let status = parts.status;
        if pending.method == "initialize" && status.is_success() {
            self.state().id = parts.headers.get(SESSION_ID).cloned();
        }
        let kind = text(&parts.headers, &CONTENT_TYPE).unwrap_or_default();
        if kind.starts_with("text/event-stream") && status.is_success() {
            let mut place = Place::default();
            self.events(body, &mut place, Some(pending)).await;
            self.resume(&mut place, pending).await;
            return String::from("the upstream server ended the stream without a response");
        }
        if let Some(message) = self.collect(body, &pending.exchange, pending.id).await {
            // A message about another request, or about none, is not the response.
            if ServerMessage::of(&message).responds_to(pending.id) {
                self.message(message, Some(pending)).await;
            }
        } else {
            pending.responded = true;
        }
        match status {
            StatusCode::UNAUTHORIZED => String::from(
                "the upstream server asks for authorization (401); pass a token to tamis mcp with --header Authorization=@env:VAR",
            ),
            StatusCode::NOT_FOUND if self.state().id.is_some() => {
                String::from("the upstream server does not know the session any more (404)")
            }
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
                if self.upstream.is_like_sse() =>
            {
                String::from(
                    "the upstream server has no streamable HTTP there; its address looks like one of the SSE transport of \
                     2024-11-05, which is not supported",
                )
            }
            status if status.is_success() => String::from("the upstream response is not valid"),
            status => format!("the upstream server responded with status {}", status.as_u16()),
        }
    }

    /// Collects a body that is one message. `None` if it was too long, and another response was delivered.
    async fn collect(&self, mut body: Incoming, exchange: &Exchange, id: &str) -> Option<Spool> {
        let mut collecting = Collecting::Message(Spool::new(self.limits));
        while let Some(frame) = body.frame().await {
            match frame.map(Frame::into_data) {
                Ok(Ok(data)) => collecting.push(&data),
                Ok(Err(_)) => {}
                Err(_) => {
                    // The part that arrived may look complete.
                    self.observer.failure("broken_connection");
                    return Some(Spool::from_vec(Vec::new()));
                }
            }
        }
        match collecting {
            Collecting::Message(message) => Some(message),
            Collecting::TooLong(scan) => {
                self.observer.too_long(Direction::FromServer);
                let response = self.handler.lock().from_server_overflow(scan, exchange, false);
                let response = response.map(Spool::from_vec);
                let why = "the upstream response is too long";
                self.deliver(response.unwrap_or_else(|| error_response(id, why))).await;
                None
            }
        }
    }

    /// Resumes the stream of a legacy request until its response has arrived.
    async fn resume(&self, place: &mut Place, pending: &mut Pending<'_>) {
        let mut attempts = 0;
        while !pending.responded && attempts < ATTEMPTS {
            let Some(last) = place.last.clone() else { return };
            sleep(place.retry.unwrap_or(RETRY).min(LONGEST_RETRY)).await;
            attempts += 1;
            let Some(response) = self.get(Some(last)).await else { continue };
            if !response.status().is_success() {
                return;
            }
            if self.events(response.into_body(), place, Some(pending)).await {
                attempts = 0;
            }
        }
    }

    /// Receives the messages that the server of a legacy session begins, until the session ends.
    pub(super) async fn listening(&self) {
        let mut place = Place::default();
        let mut failures = 0;
        while failures < ATTEMPTS {
            match self.get(place.last.clone()).await {
                // 405: the server does not begin messages.
                Some(response) if !response.status().is_success() => return,
                Some(response) => {
                    if self.events(response.into_body(), &mut place, None).await {
                        failures = 0;
                    } else {
                        failures += 1;
                    }
                }
                None => failures += 1,
            }
            let wait = place.retry.unwrap_or(RETRY).saturating_mul(failures.max(1));
            sleep(wait.min(LONGEST_RETRY)).await;
        }
        report("the server does not send messages of its own any more");
    }

    async fn get(&self, last: Option<HeaderValue>) -> Option<Response<Incoming>> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        self.add_session(&mut headers);
        if let Some(last) = last {
            headers.insert(LAST_EVENT_ID, last);
        }
        self.upstream.send(Method::GET, None, &headers, RequestBody::nothing()).await.ok()
    }

    /// Delivers the messages of a stream. Returns whether there was an event.
    async fn events(
        &self,
        mut body: Incoming,
        place: &mut Place,
        mut pending: Option<&mut Pending<'_>>,
    ) -> bool {
        let mut framer = SseFramer::new(self.limits);
        let mut any = false;
        while let Some(Ok(frame)) = body.frame().await {
            let mut received: Bytes = frame.into_data().unwrap_or_default();
            while !received.is_empty() {
                let mut rest = &*received;
                let event = framer.next_event(&mut rest);
                let read = received.len() - rest.len();
                received.advance(read);
                let Some(event) = event else { break };
                any = true;
                if let Some(id) = event.id() {
                    place.last = HeaderValue::from_bytes(id).ok().filter(|id| !id.is_empty());
                }
                place.retry = event.retry().map(Duration::from_millis).or(place.retry);
                self.event(event, pending.as_deref_mut()).await;
            }
            if pending.as_ref().is_some_and(|pending| pending.responded) {
                break;
            }
        }
        any
    }

    async fn event(&self, mut event: SseEvent, pending: Option<&mut Pending<'_>>) {
        match event.data() {
            EventData::NotMessage => {}
            EventData::Message(_) => self.message(event.take_data(), pending).await,
            EventData::TooLong => {
                self.observer.too_long(Direction::FromServer);
                let Some((scan, _)) = event.into_scan() else { return };
                let listening = self.listening_exchange();
                let exchange = pending.as_ref().map_or(&listening, |pending| &pending.exchange);
                let response = self.handler.lock().from_server_overflow(scan, exchange, false);
                if let Some(response) = response {
                    let response = Spool::from_vec(response);
                    if let Some(pending) = pending {
                        pending.responded |= ServerMessage::of(&response).responds_to(pending.id);
                    }
                    self.deliver(response).await;
                }
            }
        }
    }

    /// Asks the handler about a message of the server, and delivers what the client gets.
    async fn message(&self, message: Spool, pending: Option<&mut Pending<'_>>) {
        self.observer.message(Direction::FromServer, message.len());
        let listening = self.listening_exchange();
        let mut response = false;
        if let Some(pending) = &pending {
            response = ServerMessage::of(&message).responds_to(pending.id);
            match pending.method {
                "initialize" if response => self.note_version(&message),
                "tools/list" if response => self.remember_tools(&message),
                _ => {}
            }
        }
        let exchange = pending.as_ref().map_or(&listening, |pending| &pending.exchange);
        let route = self.handler.lock().from_server(&message, exchange);
        let message = match jobs::follow(route, message, &self.observer).await {
            (Action::Original, message) | (Action::Send(message), _) => message,
            (Action::Answer(answer), _) => {
                if let Some(pending) = &pending {
                    response |= ServerMessage::of(&answer).responds_to(pending.id);
                }
                answer
            }
            (Action::Drop(reason), _) => return self.observer.dropped(reason.as_str()),
        };
        if let Some(pending) = pending {
            pending.responded |= response;
        }
        match on_one_line(message, self.limits) {
            Ok(line) => self.deliver(line).await,
            Err(error) => report(format_args!("dropped a message of the server: {error}")),
        }
    }

    /// Returns the description of the stream for messages that the server begins.
    fn listening_exchange(&self) -> Exchange {
        let exchange = Exchange::http().with_scope(self.scope.clone());
        exchange.with_session_id(true).with_event_stream(true)
    }

    fn note_version(&self, message: &Spool) {
        let version = chosen_version(message);
        self.state().version = version.and_then(|version| HeaderValue::try_from(version).ok());
    }
}

/// Replaces line ends by spaces. In JSON they are only between tokens; on standard output they would end the message.
fn on_one_line(message: Spool, limits: tamis_mcp::spool::SpoolLimits) -> Result<Spool, SpoolError> {
    let mut any = false;
    message.each_chunk(0..message.len(), |chunk| {
        any |= memchr::memchr2(b'\n', b'\r', chunk).is_some();
        Ok::<_, SpoolError>(())
    })?;
    if !any {
        return Ok(message);
    }
    let mut line = Spool::new(limits);
    message.each_chunk(0..message.len(), |chunk| {
        let plain: Vec<u8> = chunk
            .iter()
            .map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte })
            .collect();
        line.push(&plain)
    })?;
    Ok(line)
}

/// Returns the error response to a request. `id` is JSON.
fn error_response(id: &str, why: &str) -> Spool {
    Spool::from_vec(reply::error(Some(id.as_bytes()), reply::INTERNAL_ERROR, why))
}
