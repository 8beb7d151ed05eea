//! The address at which Prometheus reads the metrics.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::Observer;

/// Connections at once. Further ones wait.
const CONNECTIONS: usize = 16;

/// The format, which Prometheus and its relatives read.
const FORMAT: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

/// Serves `GET /metrics` until the task is dropped.
pub async fn serve(listener: TcpListener, observer: Arc<Observer>) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, for example: a connection has to end first.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let observer = Arc::clone(&observer);
        tokio::spawn(async move {
            let service =
                service_fn(move |request| std::future::ready(respond(&request, &observer)));
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(Duration::from_secs(30))
                .serve_connection(TokioIo::new(stream), service);
            // The client is gone, or did not speak HTTP.
            _ = connection.await;
            drop(permit);
        });
    }
}

fn respond(
    request: &Request<Incoming>,
    observer: &Observer,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::default();
    if request.method() != Method::GET || request.uri().path() != "/metrics" {
        *response.status_mut() = StatusCode::NOT_FOUND;
        return Ok(response);
    }
    response.headers_mut().insert(CONTENT_TYPE, FORMAT);
    *response.body_mut() = Full::from(observer.metrics().text());
    Ok(response)
}
