//! The address at which Prometheus reads the metrics, and a load balancer whether the process is ready.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::Observer;
use crate::callers::CallerCheck;

/// Connections at once. Further ones wait.
const CONNECTIONS: usize = 64;

/// The format, which Prometheus and its relatives read.
const METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Serves `/metrics` and `/healthz` until the task is dropped.
pub async fn serve(listener: TcpListener, observer: Arc<Observer>) {
    let Ok(address) = listener.local_addr() else { return };
    let callers = Arc::new(CallerCheck::new(address, Vec::new()));
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, for example: a connection has to end first.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (observer, callers) = (Arc::clone(&observer), Arc::clone(&callers));
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                std::future::ready(Ok::<_, Infallible>(respond(&request, &callers, &observer)))
            });
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                // Idle connections would keep others out.
                .header_read_timeout(Duration::from_secs(5))
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service);
            // The client is gone, or did not speak HTTP.
            _ = connection.await;
            drop(permit);
        });
    }
}

/// Responds to a request. hyper leaves out the body in response to HEAD.
fn respond(
    request: &Request<Incoming>,
    callers: &CallerCheck,
    observer: &Observer,
) -> Response<Full<Bytes>> {
    let authority = request.uri().authority().map(|authority| authority.as_str());
    if let Some(why) = callers.refuse(request.headers(), authority) {
        return with(StatusCode::FORBIDDEN, TEXT, why.as_str());
    }
    let path = request.uri().path();
    if !["/metrics", "/healthz"].contains(&path) {
        return with(StatusCode::NOT_FOUND, TEXT, "metrics are at /metrics, health is at /healthz");
    }
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let mut refused = with(StatusCode::METHOD_NOT_ALLOWED, TEXT, "expected GET or HEAD");
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    match (path, observer.is_stopping()) {
        ("/metrics", _) => with(StatusCode::OK, METRICS, observer.metrics().text()),
        (_, true) => with(StatusCode::SERVICE_UNAVAILABLE, TEXT, "stopping"),
        (_, false) => with(StatusCode::OK, TEXT, "ok"),
    }
}

fn with(status: StatusCode, kind: HeaderValue, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
