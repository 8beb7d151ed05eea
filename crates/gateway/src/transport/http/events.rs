//! An event stream on its way to the client, event by event.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use http_body_util::BodyExt;
use hyper::body::Frame;
use tamis_mcp::spool::SpoolLimits;
use tamis_mcp::{Action, DropReason, Exchange};

use super::body::{BodyError, ProxyBody, broken};
use super::sessions::SharedHandler;
use crate::observe::{Direction, Observer};
use crate::transport::jobs;
use crate::transport::sse::{EventData, SseEncoder, SseEvent, SseFramer};

/// Reads events of the server, asks the handler about each, and returns what the client gets.
///
/// The relay is a body that hyper pulls from: nothing is read while the client does not read, and a client that
/// disconnects drops the relay and the connection to the server with it.
pub(super) struct EventRelay {
    body: ProxyBody,
    framer: SseFramer,
    /// Bytes that were received and not framed.
    received: Bytes,
    /// Events that are being sent.
    sending: VecDeque<SseEncoder>,
    handler: SharedHandler,
    exchange: Exchange,
    observer: Arc<Observer>,
    /// Whether a rule removes for safety, so that only the fields of the protocol are forwarded.
    is_strict: bool,
    /// Whether an event had an id: the client can ask for the rest of the stream, so nothing is owed at its end.
    resumable: bool,
    ended: Ended,
}

/// Whether the server's stream has ended.
enum Ended {
    Not,
    Cleanly,
    /// The client's stream ends with an error too, once everything is sent.
    Broken(Option<BodyError>),
}

impl EventRelay {
    pub(super) fn new(
        body: ProxyBody,
        handler: SharedHandler,
        exchange: Exchange,
        limits: SpoolLimits,
        observer: Arc<Observer>,
    ) -> Self {
        let is_strict = handler.lock().may_remove_for_safety();
        Self {
            body,
            framer: SseFramer::new(limits),
            received: Bytes::new(),
            sending: VecDeque::new(),
            handler,
            exchange,
            observer,
            is_strict,
            resumable: false,
            ended: Ended::Not,
        }
    }

    /// Returns the next piece for the client. hyper writes each piece at once, so an event does not wait for the next.
    pub(super) async fn next_frame(&mut self) -> Option<Result<Frame<Bytes>, BodyError>> {
        loop {
            if let Some(encoder) = self.sending.front_mut() {
                match encoder.next_piece() {
                    Ok(Some(piece)) => return Some(Ok(Frame::data(Bytes::from(piece)))),
                    Ok(None) => {
                        self.sending.pop_front();
                    }
                    Err(error) => {
                        self.sending.clear();
                        self.ended = Ended::Broken(None);
                        return Some(Err(Box::new(error)));
                    }
                }
                continue;
            }
            match &mut self.ended {
                Ended::Not => self.receive().await,
                Ended::Cleanly => return None,
                Ended::Broken(error) => return error.take().map(Err),
            }
        }
    }

    /// Handles the next event, or reads the next bytes.
    async fn receive(&mut self) {
        let mut rest = &*self.received;
        let event = self.framer.next_event(&mut rest);
        let read = self.received.len() - rest.len();
        self.received.advance(read);
        if let Some(event) = event {
            return self.handle(event).await;
        }
        match self.body.frame().await {
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    self.received = data;
                }
            }
            Some(Err(error)) => {
                self.observer.failure("broken_connection");
                self.ended = Ended::Broken(Some(broken(error)));
                if self.respond_if_owed() {
                    self.ended = Ended::Cleanly;
                }
            }
            None => {
                self.ended = Ended::Cleanly;
                self.respond_if_owed();
            }
        }
    }

    /// Sends a response if the stream ended without one and cannot be resumed. Returns whether it did.
    fn respond_if_owed(&mut self) -> bool {
        if self.resumable {
            return false;
        }
        let why = "the upstream server ended the stream without a response";
        let owed = self.handler.lock().exchange_ended(&self.exchange, why);
        owed.map(|response| self.send(SseEvent::of_message(response))).is_some()
    }

    fn send(&mut self, event: SseEvent) {
        self.sending.push_back(event.encode());
    }

    async fn handle(&mut self, mut event: SseEvent) {
        self.resumable |= event.id().is_some();
        if self.is_strict {
            event = event.without_other_fields();
        }
        let route = match event.data() {
            EventData::NotMessage => return self.send(event),
            EventData::TooLong => return self.respond_to_long(event),
            EventData::Message(message) => {
                self.observer.message(Direction::FromServer, message.len());
                self.handler.lock().from_server(message, &self.exchange)
            }
        };
        let message = event.take_data();
        match jobs::follow(route, message, &self.observer).await {
            (Action::Original, message) => self.send(event.restore_data(message)),
            (Action::Send(rewritten) | Action::Answer(rewritten), _) => {
                self.send(event.with_data(rewritten));
            }
            (Action::Drop(reason), _) => self.drop_event(event, reason),
        }
    }

    /// Drops a message. The place in the stream is kept: the client resumes after it.
    fn drop_event(&mut self, event: SseEvent, reason: DropReason) {
        self.observer.dropped(reason.as_str());
        self.send(event.without_data());
    }

    /// Responds instead of a message beyond the limits. An event cannot be forwarded unfiltered then: clients refuse
    /// events of that size.
    fn respond_to_long(&mut self, event: SseEvent) {
        self.observer.too_long(Direction::FromServer);
        let Some((scan, rest)) = event.into_scan() else { return };
        self.send(rest);
        let response = self.handler.lock().from_server_overflow(scan, &self.exchange, false);
        if let Some(response) = response {
            self.send(SseEvent::of_message(response));
        }
    }
}
