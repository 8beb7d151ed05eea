//! Clients and a server over streamable HTTP.
//!
//! ```text
//!   client ── POST, GET, DELETE ──▶ front ── the same request ──▶ upstream
//!          ◀── JSON, or events ────       ◀── JSON, or events ──
//! ```
//!
//! A request is handled by one future, which owns the request to the server and its response. If the client disconnects,
//! the future is dropped, and with it the connection to the server: for the modern protocol that is how a call is
//! cancelled. JSON is collected before any of it is sent; an event is sent as soon as it is complete.

pub(crate) mod body;
mod cors;
mod events;
pub(crate) mod front;
pub mod headers;
mod own;
mod proxied;
mod redirect;
mod response;
pub(crate) mod sessions;
mod socks;
pub mod upstream;

use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use tamis_manifest::StoreScope;
use tamis_mcp::spool::SpoolLimits;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::HandlerFactory;
use super::shutdown::Shutdown;
use crate::callers::CallerCheck;
use crate::observe::Observer;
pub use front::PATH;
use front::{Front, Relay};
use sessions::Sessions;
use upstream::Upstream;

/// Connections of clients at once. Further ones wait in the queue of the system.
const CONNECTIONS: usize = 8_192;

/// How long the headers of a request may take.
const HEADERS: Duration = Duration::from_secs(30);

/// How long open responses may take after a signal. Clients of a proxy on this machine give it two seconds.
const GRACE: Duration = Duration::from_secs(1);

/// A proxy for clients over HTTP.
pub struct HttpProxy {
    front: Front,
}

impl HttpProxy {
    /// Creates a proxy for a server. `limits` apply to each message.
    #[must_use]
    pub fn new(
        upstream: Upstream,
        handlers: HandlerFactory,
        callers: CallerCheck,
        limits: SpoolLimits,
        observer: Arc<Observer>,
    ) -> Self {
        let sessions = Sessions::new(handlers);
        let scope = StoreScope::default();
        let relay = Relay { sessions, limits, observer, scope };
        Self { front: Front { upstream, callers, relay } }
    }

    /// Sets who may read a stored result, where a client has no session. Default: callers with the same
    /// `Authorization` header.
    #[must_use]
    pub fn with_scope(mut self, scope: StoreScope) -> Self {
        self.front.relay.scope = scope;
        self
    }

    /// Accepts connections until a signal arrives. Returns the exit code.
    pub async fn serve(self, listener: TcpListener, mut shutdown: Shutdown) -> u8 {
        let front = Arc::new(self.front);
        let permits = Arc::new(Semaphore::new(CONNECTIONS));
        let open = GracefulShutdown::new();
        let code = loop {
            let accepted = async {
                let permit = Arc::clone(&permits).acquire_owned().await;
                (permit, listener.accept().await)
            };
            let (permit, stream) = tokio::select! {
                (permit, accepted) = accepted => match accepted {
                    Ok((stream, _)) => (permit, stream),
                    Err(_) => {
                        // Out of descriptors, for example: a connection has to end first.
                        sleep(Duration::from_millis(50)).await;
                        continue;
                    }
                },
                code = shutdown.requested() => break code,
            };
            // Events are short, and none should wait for the next.
            _ = stream.set_nodelay(true);
            let front = Arc::clone(&front);
            let service = service_fn(move |request| {
                let front = Arc::clone(&front);
                async move { Ok::<_, std::convert::Infallible>(front.handle(request).await) }
            });
            let mut builder = Builder::new(TokioExecutor::new());
            builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADERS);
            builder.http2().timer(TokioTimer::new());
            let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
            let connection = open.watch(connection);
            tokio::spawn(async move {
                // The client is gone, or did not speak HTTP.
                _ = connection.await;
                drop(permit);
            });
        };
        drop(listener);
        // Responses that are not complete by then are cut off, which clients notice.
        _ = timeout(GRACE, open.shutdown()).await;
        code
    }
}
