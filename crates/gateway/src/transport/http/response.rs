//! Filters one response of the server, on its way to the client.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use tamis_mcp::spool::Spool;
use tamis_mcp::{Action, DropReason, Exchange, OverflowScan, Route};

use super::body::{ProxyBody, broken, empty, of_frames, of_spool};
use super::events::EventRelay;
use super::front::Relay;
use super::headers::{ACCEL_BUFFERING, for_client, is_encoded, remove_checksums, text};
use super::own::{json, json_of, refused, rejection};
use super::sessions::SharedHandler;
use crate::observe::Direction;
use crate::transport::jobs;
use crate::transport::lines::scan_of;

/// A response to the client, without its body.
struct Reply {
    status: StatusCode,
    headers: HeaderMap,
}

impl Reply {
    fn with(self, body: ProxyBody) -> Response<ProxyBody> {
        let mut reply = Response::new(body);
        *reply.status_mut() = self.status;
        *reply.headers_mut() = self.headers;
        reply
    }
}

impl Relay {
    /// Forwards a response.
    pub(super) async fn relay(
        &self,
        response: Response<ProxyBody>,
        handler: SharedHandler,
        exchange: Exchange,
    ) -> Response<ProxyBody> {
        let (parts, body) = response.into_parts();
        let mut reply = Reply { status: parts.status, headers: for_client(&parts.headers) };
        if body.is_end_stream() && !reply.status.is_success() {
            return reply.with(empty());
        }
        let readable = !is_encoded(&reply.headers);
        if is_event_stream(&reply.headers) && readable {
            return self.relay_events(reply, body, handler, exchange);
        }
        let exchange = exchange.with_event_stream(false);
        let (message, exchange) = match self.collect(body, handler.clone(), exchange).await {
            Collected::Whole(message, exchange) => (message, exchange),
            Collected::Passing(body) => return reply.with(body),
            Collected::Instead(response) => return response,
        };
        if message.is_empty() {
            // The usual response to a notification; not one to a request.
            let owed = handler.lock().exchange_ended(&exchange, "the upstream response was empty");
            return owed.map_or_else(|| reply.with(empty()), json);
        }
        self.observer.message(Direction::FromServer, message.len());
        let route = if readable {
            handler.lock().from_server(&message, &exchange)
        } else {
            Route::Drop(DropReason::NotJson)
        };
        let route = match route {
            Route::Reject { status, body } => return rejection(status, body),
            route => route,
        };
        let (action, message) = jobs::follow(route, message, &self.observer).await;
        match action {
            Action::Original => reply.with(of_spool(message)),
            Action::Send(rewritten) => {
                remove_checksums(&mut reply.headers);
                reply.with(of_spool(rewritten))
            }
            Action::Answer(response) => json_of(response),
            Action::Drop(reason) => self.not_forwarded(reason, reply, message, &handler, &exchange),
        }
    }

    /// Forwards the events of a stream.
    fn relay_events(
        &self,
        mut reply: Reply,
        body: ProxyBody,
        handler: SharedHandler,
        exchange: Exchange,
    ) -> Response<ProxyBody> {
        reply.headers.insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
        reply.headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache"));
        let exchange = exchange.with_event_stream(true);
        let relay =
            EventRelay::new(body, handler, exchange, self.limits, Arc::clone(&self.observer));
        let frames = stream::unfold(relay, |mut relay| async {
            relay.next_frame().await.map(|frame| (frame, relay))
        });
        reply.with(of_frames(frames))
    }

    /// Returns what is sent instead of a message that is not forwarded.
    fn not_forwarded(
        &self,
        reason: DropReason,
        mut reply: Reply,
        message: Spool,
        handler: &SharedHandler,
        exchange: &Exchange,
    ) -> Response<ProxyBody> {
        self.observer.dropped(reason.as_str());
        let not_json = reason == DropReason::NotJson;
        if not_json && handler.lock().may_forward_unseen() {
            return reply.with(of_spool(message));
        }
        if not_json && !reply.status.is_success() {
            // The status matters to the client; the text may hold what a filter removes.
            remove_checksums(&mut reply.headers);
            return reply.with(empty());
        }
        let why = "the upstream response is not valid";
        match handler.lock().exchange_ended(exchange, why) {
            Some(response) => json(response),
            None => refused(StatusCode::BAD_GATEWAY, why),
        }
    }

    /// Collects a body that is one message.
    async fn collect(
        &self,
        mut body: ProxyBody,
        handler: SharedHandler,
        exchange: Exchange,
    ) -> Collected {
        let mut message = Spool::new(self.limits);
        let scan = loop {
            match body.frame().await {
                None => return Collected::Whole(message, exchange),
                Some(Err(_)) => return self.interrupted(&handler, &exchange),
                Some(Ok(frame)) => {
                    let Ok(data) = frame.into_data() else { continue };
                    if message.push(&data).is_err() {
                        let mut scan = scan_of(&message);
                        scan.write(&data);
                        if handler.lock().may_forward_unseen() {
                            self.observer.too_long(Direction::FromServer);
                            let rest = Unseen { body, handler, exchange, scan: Some(scan) };
                            return Collected::Passing(rest.after(message, data));
                        }
                        break scan;
                    }
                }
            }
        };
        self.observer.too_long(Direction::FromServer);
        drop(message);
        self.discard(body, scan, &handler, &exchange).await
    }

    /// Reads the rest of a message that is too long, and responds instead of it.
    async fn discard(
        &self,
        mut body: ProxyBody,
        mut scan: OverflowScan,
        handler: &SharedHandler,
        exchange: &Exchange,
    ) -> Collected {
        while let Some(frame) = body.frame().await {
            match frame.map(Frame::into_data) {
                Ok(Ok(data)) => scan.write(&data),
                Ok(Err(_)) => {}
                Err(_) => return self.interrupted(handler, exchange),
            }
        }
        let response = handler.lock().from_server_overflow(scan, exchange, false);
        Collected::Instead(response.map_or_else(
            || refused(StatusCode::BAD_GATEWAY, "the upstream response is too long"),
            json,
        ))
    }

    /// Responds instead of a message whose end did not arrive.
    fn interrupted(&self, handler: &SharedHandler, exchange: &Exchange) -> Collected {
        self.observer.failure("broken_connection");
        let why = "the upstream server closed the connection within its response";
        let owed = handler.lock().exchange_ended(exchange, why);
        Collected::Instead(owed.map_or_else(|| refused(StatusCode::BAD_GATEWAY, why), json))
    }
}

/// The body of a response.
enum Collected {
    /// A message within the limits.
    Whole(Spool, Exchange),
    /// A message beyond the limits that is forwarded unfiltered.
    Passing(ProxyBody),
    /// Another response, because of the limits or a failure.
    Instead(Response<ProxyBody>),
}

/// The rest of a message that is forwarded unfiltered, while its routing members are noted.
struct Unseen {
    body: ProxyBody,
    handler: SharedHandler,
    exchange: Exchange,
    scan: Option<OverflowScan>,
}

impl Unseen {
    /// Returns a body of what was collected, the bytes that did not fit, and the rest.
    fn after(self, collected: Spool, data: Bytes) -> ProxyBody {
        let begun = stream::unfold(Some((of_spool(collected), data)), |state| async {
            let (mut collected, data) = state?;
            match collected.frame().await {
                Some(frame) => Some((frame, Some((collected, data)))),
                None => Some((Ok(Frame::data(data)), None)),
            }
        });
        let rest = stream::unfold(self, |mut rest| async {
            rest.next_frame().await.map(|frame| (frame, rest))
        });
        of_frames(futures_util::StreamExt::chain(begun, rest))
    }

    async fn next_frame(&mut self) -> Option<Result<Frame<Bytes>, super::body::BodyError>> {
        match self.body.frame().await {
            None => {
                let scan = self.scan.take()?;
                // The message was forwarded: only the tables of the handler change.
                self.handler.lock().from_server_overflow(scan, &self.exchange, true);
                None
            }
            Some(Ok(frame)) => {
                if let (Some(data), Some(scan)) = (frame.data_ref(), &mut self.scan) {
                    scan.write(data);
                }
                Some(Ok(frame))
            }
            Some(Err(error)) => Some(Err(broken(error))),
        }
    }
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let essence = text(headers, &CONTENT_TYPE).and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("text/event-stream"))
}
