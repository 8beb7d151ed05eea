//! The proxy that the environment asks for: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, in capital or small letters,
//! with the meaning that curl gives them. HTTP proxies that read the requests are here, SOCKS proxies in `socks`.
//!
//! A server on this machine is never reached through a proxy.

use std::env;
use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

/// The environment names a proxy whose address cannot be used. The server must not be reached without it unnoticed.
#[derive(Debug)]
pub(super) struct UnusableProxy;

/// Returns the proxy of the environment for a server.
pub(super) fn proxy_for(server: &Uri) -> Result<Option<Intercept>, UnusableProxy> {
    if is_loopback(server.host().unwrap_or_default()) {
        return Ok(None);
    }
    let found = Matcher::from_env().intercept(server);
    if found.is_some() || !wants_proxy(server) {
        return Ok(found);
    }
    // The matcher ignores addresses that it does not understand.
    let no_proxy = value(["NO_PROXY", "no_proxy"]).unwrap_or_default();
    let any = Matcher::builder().all("http://proxy.invalid").no(no_proxy).build();
    if any.intercept(server).is_some() { Err(UnusableProxy) } else { Ok(None) }
}

/// Returns whether the environment names a proxy for a server, whatever `NO_PROXY` says.
fn wants_proxy(server: &Uri) -> bool {
    let own = match server.scheme_str() {
        Some("https") => ["HTTPS_PROXY", "https_proxy"],
        _ => ["HTTP_PROXY", "http_proxy"],
    };
    // A CGI script gets `HTTP_PROXY` from a header of its request.
    let is_script = env::var_os("REQUEST_METHOD").is_some();
    let is_set = |names| value(names).is_some_and(|value| !value.is_empty());
    !is_script && [own, ["ALL_PROXY", "all_proxy"]].into_iter().any(is_set)
}

/// Returns the value of the first variable that is set, as the matcher reads it.
fn value(names: [&str; 2]) -> Option<String> {
    names.into_iter().find_map(|name| env::var(name).ok())
}

/// Returns whether a host is this machine.
fn is_loopback(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let of_address = |address: IpAddr| address.to_canonical().is_loopback();
    host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(of_address)
}

/// Connects to a proxy, which gets the requests with the whole address of the server.
#[derive(Clone)]
pub(super) struct ForwardConnector {
    pub(super) connector: HttpConnector,
    pub(super) proxy: Uri,
}

impl Service<Uri> for ForwardConnector {
    type Response = ForwardStream;
    type Error = <HttpConnector as Service<Uri>>::Error;
    type Future = Pin<Box<dyn Future<Output = Result<ForwardStream, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, _server: Uri) -> Self::Future {
        let connecting = self.connector.call(self.proxy.clone());
        Box::pin(async move { connecting.await.map(ForwardStream) })
    }
}

/// A connection to a proxy.
pub(super) struct ForwardStream(TokioIo<TcpStream>);

impl ForwardStream {
    fn stream(self: Pin<&mut Self>) -> Pin<&mut TokioIo<TcpStream>> {
        Pin::new(&mut self.get_mut().0)
    }
}

impl Connection for ForwardStream {
    fn connected(&self) -> Connected {
        self.0.connected().proxy(true)
    }
}

impl Read for ForwardStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream().poll_read(context, buffer)
    }
}

impl Write for ForwardStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream().poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream().poll_write_vectored(context, pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn this_machine_is_known() {
        for host in [
            "localhost",
            "LocalHost.",
            "a.localhost",
            "127.0.0.1",
            "127.9.9.9",
            "[::1]",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["", "localhost.example", "mylocalhost", "10.0.0.1", "[::2]", "127.example"] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
