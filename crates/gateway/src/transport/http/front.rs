//! One request of a client, from its headers to the end of its response.
//!
//! A [`Relay`] reads the request and filters the response; it does not send anything. A [`Front`] sends the request to the
//! server. A gateway such as Envoy sends it itself.

use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming};
use hyper::header::{ALLOW, AUTHORIZATION, HeaderValue, ORIGIN};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use tamis_manifest::StoreScope;
use tamis_mcp::jsonrpc::reply;
use tamis_mcp::spool::{Spool, SpoolLimits};
use tamis_mcp::{Action, DropReason, Exchange, Route};
use tamis_store::Scope;

use super::body::{ProxyBody, RequestBody, of_incoming};
use super::cors;
use super::headers::{METHOD, NAME, PROTOCOL_VERSION, SESSION_ID, is_encoded, text};
use super::own::{Refused, json, json_of, refused, rejection, status_only};
use super::sessions::{Sessions, SharedHandler};
use super::upstream::{SendError, Upstream, without_slash};
use crate::callers::{CallerCheck, RefusedCaller};
use crate::observe::{Direction, Observer};
use crate::report::report;
use crate::transport::jobs;
use crate::transport::lines::Collecting;

/// The path at which the proxy listens, in addition to that of the server's URL.
pub const PATH: &str = "/mcp";

/// The state that all requests share.
pub(super) struct Front {
    pub(super) upstream: Upstream,
    pub(super) callers: CallerCheck,
    pub(super) relay: Relay,
}

/// Reads requests and filters responses, whoever sends them.
pub(crate) struct Relay {
    pub(crate) sessions: Sessions,
    pub(crate) limits: SpoolLimits,
    pub(crate) observer: Arc<Observer>,
    pub(crate) scope: StoreScope,
}

/// A request that was read, and is about to be sent to the server.
pub(crate) struct ReadRequest {
    pub(crate) message: Spool,
    handler: SharedHandler,
    exchange: Exchange,
}

impl Front {
    /// Handles a request.
    pub(super) async fn handle(self: Arc<Self>, request: Request<Incoming>) -> Response<ProxyBody> {
        let (parts, body) = request.into_parts();
        let authority = parts.uri.authority().map(|authority| authority.as_str());
        if let Some(why) = self.callers.refuse(&parts.headers, authority) {
            self.relay.observer.dropped("refused_caller");
            let advice = if why == RefusedCaller::Origin { " (see --allow-origin)" } else { "" };
            return refused(StatusCode::FORBIDDEN, &format!("{}{advice}", why.as_str()));
        }
        let origin = parts.headers.get(ORIGIN).cloned();
        let mut response = match cors::preflight(&parts) {
            Some(response) => response,
            None => self.respond(parts, body).await.unwrap_or_else(|refused| refused),
        };
        if let Some(origin) = origin {
            cors::allow(response.headers_mut(), origin);
        }
        response
    }

    async fn respond(&self, parts: Parts, body: Incoming) -> Result<Response<ProxyBody>, Refused> {
        let path = parts.uri.path();
        if !self.upstream.has_path(path) && without_slash(path) != PATH {
            return Err(refused(StatusCode::NOT_FOUND, "the MCP endpoint is at /mcp"));
        }
        let mut read = self.relay.read(&parts, of_incoming(body)).await?;
        let message = std::mem::replace(&mut read.message, Spool::from_vec(Vec::new()));
        let sent = self.upstream.send(
            parts.method.clone(),
            parts.uri.query(),
            &parts.headers,
            RequestBody::of(message),
        );
        let response = match sent.await {
            Ok(response) => response.map(of_incoming),
            Err(error) => return Err(self.not_sent(&error, &read.handler, &read.exchange)),
        };
        Ok(self.relay.respond(&parts, response, read).await)
    }

    /// Responds to a request to which the server sends no response.
    fn not_sent(&self, error: &SendError, handler: &SharedHandler, exchange: &Exchange) -> Refused {
        let unreachable = error.is_connect();
        let failure = if unreachable { "unreachable" } else { "broken_connection" };
        self.relay.observer.failure(failure);
        let why = if unreachable {
            self.upstream.unreachable(error)
        } else {
            String::from("the upstream server closed the connection without a response")
        };
        // The request is not open any more.
        let owed = handler.lock().exchange_ended(exchange, &why);
        match (owed, exchange.request_id()) {
            // The tool did not run.
            (Some(_), Some(id)) if unreachable => {
                json(reply::error(Some(id), reply::INTERNAL_ERROR, &why))
            }
            (Some(response), _) => json(response),
            (None, _) => refused(StatusCode::BAD_GATEWAY, &why),
        }
    }
}

/// Returns the scope of a caller: the session, or else the callers with the same credentials. A header that the
/// configuration names counts in a session as well.
pub(crate) fn scope_of(headers: &HeaderMap, scope: &StoreScope) -> Scope {
    let session = values(headers, SESSION_ID.as_str());
    let session = session.as_deref();
    match scope {
        StoreScope::Header(name) => {
            let value = values(headers, name);
            match session {
                Some(id) => Scope::session_with(id, name, value.as_deref()),
                None => Scope::header(name, value.as_deref()),
            }
        }
        _ => match session {
            Some(id) => Scope::session(id),
            None => Scope::authorization(values(headers, AUTHORIZATION.as_str()).as_deref()),
        },
    }
}

/// Returns all values of a header: several are another scope than one of them.
fn values(headers: &HeaderMap, name: &str) -> Option<Vec<u8>> {
    let mut values = headers.get_all(name).iter().map(HeaderValue::as_bytes);
    let first = values.next()?.to_vec();
    Some(values.fold(first, |all, value| [&all, b"\n".as_slice(), value].concat()))
}

impl Relay {
    /// Reads a request.
    ///
    /// # Errors
    /// The response to the client, if nothing is to be sent to the server.
    pub(crate) async fn read(
        &self,
        parts: &Parts,
        body: ProxyBody,
    ) -> Result<ReadRequest, Refused> {
        let session = text(&parts.headers, &SESSION_ID);
        let mut exchange = Exchange::http()
            .with_scope(self.scope(&parts.headers))
            .with_session_id(session.is_some())
            .with_method_header(text(&parts.headers, &METHOD))
            .with_name_header(text(&parts.headers, &NAME))
            .with_version_header(text(&parts.headers, &PROTOCOL_VERSION));
        let handler = self.sessions.handler(session);
        let message = match parts.method {
            Method::POST => {
                self.read_request(&parts.headers, body, &handler, &mut exchange).await?
            }
            Method::GET | Method::DELETE | Method::OPTIONS => Spool::from_vec(Vec::new()),
            _ => {
                let mut response = refused(StatusCode::METHOD_NOT_ALLOWED, "unknown method");
                let methods = HeaderValue::from_static("GET, POST, DELETE, OPTIONS");
                response.headers_mut().insert(ALLOW, methods);
                return Err(response);
            }
        };
        Ok(ReadRequest { message, handler, exchange })
    }

    /// Filters the response to a request that was [read](Self::read).
    pub(crate) async fn respond(
        &self,
        parts: &Parts,
        response: Response<ProxyBody>,
        read: ReadRequest,
    ) -> Response<ProxyBody> {
        let session = text(&parts.headers, &SESSION_ID);
        self.note_session(parts, session, &response, &read);
        self.relay(response, read.handler, read.exchange).await
    }

    /// Returns who may read what is stored of the response.
    fn scope(&self, headers: &HeaderMap) -> Scope {
        scope_of(headers, &self.scope)
    }

    /// Reads the message of a POST, and returns what is to be sent to the server.
    async fn read_request(
        &self,
        headers: &HeaderMap,
        mut body: ProxyBody,
        handler: &SharedHandler,
        exchange: &mut Exchange,
    ) -> Result<Spool, Refused> {
        if is_encoded(headers) {
            return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body is compressed"));
        }
        let mut collecting = Collecting::Message(Spool::new(self.limits));
        while let Some(frame) = body.frame().await {
            match frame.map(Frame::into_data) {
                Ok(Ok(data)) => collecting.push(&data),
                // Trailers.
                Ok(Err(_)) => {}
                // The client is gone.
                Err(_) => return Err(refused(StatusCode::BAD_REQUEST, "the body is incomplete")),
            }
        }
        let message = match collecting {
            Collecting::Message(message) => message,
            Collecting::TooLong(scan) => {
                self.observer.too_long(Direction::FromClient);
                return Err(json(handler.lock().from_client_overflow(scan)));
            }
        };
        self.observer.message(Direction::FromClient, message.len());
        let route = handler.lock().from_client(&message, exchange);
        let route = match route {
            Route::Reject { status, body } => return Err(rejection(status, body)),
            route => route,
        };
        match jobs::follow(route, message, &self.observer).await {
            (Action::Original, message) | (Action::Send(message), _) => Ok(message),
            (Action::Answer(response), _) => {
                handler.lock().responded(exchange);
                Err(json_of(response))
            }
            (Action::Drop(reason), _) => Err(self.dropped(reason)),
        }
    }

    /// Accepts a message of the client that is not forwarded.
    fn dropped(&self, reason: DropReason) -> Refused {
        self.observer.dropped(reason.as_str());
        status_only(StatusCode::ACCEPTED)
    }

    /// Remembers a session that begins, and forgets one that ends.
    fn note_session(
        &self,
        parts: &Parts,
        session: Option<&str>,
        response: &Response<ProxyBody>,
        read: &ReadRequest,
    ) {
        let status = response.status();
        let begun = text(response.headers(), &SESSION_ID);
        if let Some(id) = begun.filter(|id| status.is_success() && session != Some(id)) {
            self.sessions.begin(id, &read.handler);
        }
        let ended = parts.method == Method::DELETE && status.is_success();
        if let Some(id) = session.filter(|_| ended || status == StatusCode::NOT_FOUND) {
            self.sessions.end(id);
            read.handler.lock().session_ended(&read.exchange);
        }
        self.observer.metrics().set_sessions(self.sessions.len());
        if status == StatusCode::UNAUTHORIZED {
            report(
                "the server asks for authorization (401); OAuth does not work through a proxy on another address, so pass a token with --header Authorization=@env:VAR",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use hyper::header::{HeaderName, HeaderValue};
    use tamis_manifest::StoreScope;

    use super::scope_of;

    fn headers(all: &[(&str, &str)]) -> HeaderMap {
        let header = |(name, value): &(&str, &str)| {
            (name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap())
        };
        all.iter().map(header).collect()
    }

    #[test]
    fn a_named_header_counts_in_a_session() {
        let scope = |all: &[(&str, &str)]| {
            scope_of(&headers(all), &StoreScope::Header("x-tenant".to_owned()))
        };
        let own = scope(&[("mcp-session-id", "1"), ("x-tenant", "a")]);
        assert_eq!(own, scope(&[("x-tenant", "a"), ("mcp-session-id", "1")]));
        for other in [
            &[("mcp-session-id", "1")][..],
            &[("mcp-session-id", "1"), ("x-tenant", "b")],
            &[("mcp-session-id", "2"), ("x-tenant", "a")],
            &[("mcp-session-id", "1"), ("x-tenant", "a"), ("x-tenant", "b")],
            &[("x-tenant", "a")],
        ] {
            assert_ne!(own, scope(other), "{other:?}");
        }
    }
}
