//! An MCP server with the tool `tamis_retrieve`.
//!
//! agentgateway asks tamis about messages, but it lets tamis only refuse a call, not write its result. So tamis is also a
//! target of agentgateway, with one tool that reads what was left out of the results of the other targets. It keeps no
//! session: each request stands for itself, so that any replica can receive it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, ORIGIN};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tamis_mcp::jsonrpc::reply;
use tamis_mcp::spool::Spool;
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Sleep, sleep, timeout};

use super::ext_proc::CurrentTable;
use crate::transport::http::body::{BodyError, ProxyBody, broken, empty, full};
use crate::transport::http::front::Relay;

/// Connections at once. Further ones wait in the queue of the system.
const CONNECTIONS: usize = 1024;

/// How long the headers of a request may take, and the longest time in which a connection has to send its first request.
const HEADERS: Duration = Duration::from_secs(30);

/// The longest message that this file reads. The relay reads calls of the tool.
const LONGEST: usize = 64 << 10;

/// The versions of the protocol with sessions, the newest first.
const VERSIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

/// Accepts connections. Never ends.
pub(super) async fn serve(listener: TcpListener, table: CurrentTable) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let permit = Arc::clone(&permits).acquire_owned().await;
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, for example: a connection has to end first.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        _ = stream.set_nodelay(true);
        let table = Arc::clone(&table);
        let idle = table.read().unwrap_or_else(PoisonError::into_inner).config.idle();
        let asked = Arc::new(Notify::new());
        let has_asked = Arc::clone(&asked);
        let service = service_fn(move |request| {
            has_asked.notify_one();
            let table = Arc::clone(&*table.read().unwrap_or_else(PoisonError::into_inner));
            async move {
                Ok::<_, Infallible>(match table.recall() {
                    Some(relay) => handle(relay, request, table.config.idle()).await,
                    None => status(StatusCode::NOT_FOUND),
                })
            }
        });
        tokio::spawn(async move {
            let mut builder = Builder::new(TokioExecutor::new());
            builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADERS);
            builder.http2().timer(TokioTimer::new());
            let connection = builder.serve_connection(TokioIo::new(stream), service);
            let mut connection = std::pin::pin!(connection);
            let first = tokio::select! {
                // The client is gone, or did not speak HTTP.
                _ = &mut connection => false,
                // The timeout of headers begins only when the version of HTTP is known.
                asked = timeout(idle.min(HEADERS), asked.notified()) => asked.is_ok(),
            };
            if first {
                _ = connection.await;
            }
            drop(permit);
        });
    }
}

async fn handle(relay: &Relay, request: Request<Incoming>, limit: Duration) -> Response<ProxyBody> {
    let (parts, body) = request.into_parts();
    // A page in a browser on this machine is not a gateway.
    if parts.headers.contains_key(ORIGIN) {
        return status(StatusCode::FORBIDDEN);
    }
    if parts.method != Method::POST {
        return status(StatusCode::METHOD_NOT_ALLOWED);
    }
    let body = TimedBody { body, end: Box::pin(sleep(limit)) };
    respond(relay, &parts, body.boxed_unsync()).await
}

/// The body of a request, which fails if it takes too long. Messages are short, so the limit is for all of it: a client that
/// sends a byte now and then would keep its connection.
struct TimedBody {
    body: Incoming,
    end: Pin<Box<Sleep>>,
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(frame) => Poll::Ready(frame.map(|frame| frame.map_err(BodyError::from))),
            Poll::Pending => {
                std::task::ready!(self.end.as_mut().poll(cx));
                Poll::Ready(Some(Err(broken("the body took too long"))))
            }
        }
    }
}

async fn respond(relay: &Relay, parts: &Parts, body: ProxyBody) -> Response<ProxyBody> {
    let mut read = match relay.read(parts, body).await {
        Ok(read) => read,
        // A call of the tool, or a message that cannot be read.
        Err(answered) => return answered,
    };
    let message = std::mem::replace(&mut read.message, Spool::from_vec(Vec::new()));
    let response = match message.to_vec(0..message.len(), LONGEST) {
        Ok(message) => answer(&message),
        Err(_) => status(StatusCode::PAYLOAD_TOO_LARGE),
    };
    // The relay adds the tool to the list.
    relay.respond(parts, response, read).await
}

/// A message that is not a call of the tool.
#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: String,
    #[serde(default)]
    params: Value,
}

/// Returns the response of a server without tools.
fn answer(message: &[u8]) -> Response<ProxyBody> {
    let Ok(asked) = serde_json::from_slice::<Asked<'_>>(message) else {
        return status(StatusCode::BAD_REQUEST);
    };
    let Some(id) = asked.id else { return status(StatusCode::ACCEPTED) };
    let result = match asked.method.as_str() {
        "initialize" => {
            let wanted = asked.params.get("protocolVersion").and_then(Value::as_str);
            let version = VERSIONS.into_iter().find(|known| Some(*known) == wanted);
            let [newest, ..] = VERSIONS;
            serde_json::json!({
                "protocolVersion": version.unwrap_or(newest),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "tamis", "version": env!("CARGO_PKG_VERSION")},
            })
        }
        "ping" => serde_json::json!({}),
        "tools/list" => serde_json::json!({"tools": []}),
        _ => {
            let id = id.get().as_bytes();
            return json(reply::error(Some(id), reply::METHOD_NOT_FOUND, "method not found"));
        }
    };
    json(format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.get()).into_bytes())
}

fn json(message: Vec<u8>) -> Response<ProxyBody> {
    let mut response = Response::new(full(message));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn status(status: StatusCode) -> Response<ProxyBody> {
    let mut response = Response::new(empty());
    *response.status_mut() = status;
    response
}
