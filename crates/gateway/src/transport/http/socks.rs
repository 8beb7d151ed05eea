//! Connections to the server through a SOCKS proxy.
//!
//! `socks5h` and `socks4a` let the proxy resolve the name of the server; for `socks5` and `socks4` it is resolved here, as curl
//! does.

use std::error::Error;
use std::future::{Ready, ready};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV4, SocksV5};
use hyper_util::client::proxy::matcher::Intercept;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tower_service::Service;

/// The port of a proxy whose address has none.
const PORT: u16 = 1080;

/// How long a proxy may take to connect to the server.
const CONNECT: Duration = Duration::from_secs(60);

type ConnectError = Box<dyn Error + Send + Sync>;

/// Connects to the server through a SOCKS proxy.
#[derive(Clone)]
pub(super) struct SocksConnector {
    connector: HttpConnector,
    proxy: Uri,
    version: SocksVersion,
    /// Whether the proxy gets an address instead of the name of the server.
    resolves: bool,
}

#[derive(Clone)]
enum SocksVersion {
    Four,
    /// With a user and a password.
    Five(Option<(String, String)>),
}

impl SocksConnector {
    /// Creates a connector. `None`: it is another kind of proxy.
    pub(super) fn new(proxy: &Intercept, mut connector: HttpConnector) -> Option<Self> {
        connector.enforce_http(false);
        let scheme = proxy.uri().scheme_str()?;
        let version = match scheme {
            "socks4" | "socks4a" => SocksVersion::Four,
            "socks5" | "socks5h" => {
                let credentials = proxy.raw_auth();
                SocksVersion::Five(credentials.map(|(user, word)| (user.into(), word.into())))
            }
            _ => return None,
        };
        let resolves = matches!(scheme, "socks4" | "socks5");
        Some(Self { connector, proxy: with_port(proxy.uri(), PORT)?, version, resolves })
    }

    async fn connect(mut self, server: Uri) -> Result<TokioIo<TcpStream>, ConnectError> {
        let target = self.target(&server).await?;
        let stream = Connected(Some(self.connector.call(self.proxy.clone()).await?));
        match self.version {
            SocksVersion::Four => described(SocksV4::new(self.proxy, stream).call(target).await),
            SocksVersion::Five(None) => {
                described(SocksV5::new(self.proxy, stream).call(target).await)
            }
            SocksVersion::Five(Some((user, word))) => {
                let mut five = SocksV5::new(self.proxy, stream).with_auth(user, word);
                described(five.call(target).await)
            }
        }
    }

    /// Returns the address of the server for the proxy, which always has a port.
    async fn target(&self, server: &Uri) -> Result<Uri, ConnectError> {
        let port = if server.scheme_str() == Some("http") { 80 } else { 443 };
        let target = with_port(server, port).ok_or("the address of the server is not valid")?;
        if !self.resolves {
            return Ok(target);
        }
        let host = target.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let found = lookup_host((host, target.port_u16().unwrap_or(port))).await;
        let mut found = found.map_err(|error| format!("dns error: {error}"))?;
        let can_use = |address: &SocketAddr| match self.version {
            SocksVersion::Four => address.is_ipv4(),
            SocksVersion::Five(_) => true,
        };
        let address = found.find(can_use).ok_or("dns error: no address that SOCKS 4 can use")?;
        Ok(format!("http://{address}/").parse()?)
    }
}

impl Service<Uri> for SocksConnector {
    type Response = TokioIo<TcpStream>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<TcpStream>, ConnectError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        self.connector.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        let connecting = self.clone().connect(server);
        Box::pin(async move {
            let connected = timeout(CONNECT, connecting).await;
            connected.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()))
        })
    }
}

/// The connection to the proxy. The handshake takes it from a connector, whose errors it would not pass on.
struct Connected(Option<TokioIo<TcpStream>>);

impl Service<Uri> for Connected {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = Ready<io::Result<TokioIo<TcpStream>>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _proxy: Uri) -> Self::Future {
        ready(self.0.take().ok_or_else(|| io::ErrorKind::NotConnected.into()))
    }
}

/// Returns the result of a handshake, with its error as a description: it has no source.
fn described<T, E: Error>(result: Result<T, E>) -> Result<T, ConnectError> {
    result.map_err(|error| error.to_string().into())
}

/// Returns an address with a port, and without credentials.
fn with_port(address: &Uri, default: u16) -> Option<Uri> {
    let (host, port) = (address.host()?, address.port_u16().unwrap_or(default));
    let scheme = address.scheme_str()?;
    format!("{scheme}://{host}:{port}/").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::with_port;

    #[test]
    fn an_address_gets_the_port_of_its_kind() {
        for (address, with) in [
            ("socks5://proxy.example", "socks5://proxy.example:1080/"),
            ("socks5h://[::1]:9/", "socks5h://[::1]:9/"),
            ("http://user:secret@mcp.example/mcp?key=1", "http://mcp.example:1080/"),
        ] {
            assert_eq!(with_port(&address.parse().unwrap(), 1080).unwrap(), with);
        }
    }
}
