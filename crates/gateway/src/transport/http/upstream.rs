//! The HTTP client for the server.

use std::fmt;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::{HeaderMap, Method, Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::body::ProxyBody;
use super::headers::{InjectedHeader, for_server};

/// How long a connection may take to be made. There is no limit for a response: tools may take hours.
const CONNECT: Duration = Duration::from_secs(30);

/// How long an unused connection is kept.
const IDLE: Duration = Duration::from_secs(60);

/// A server over streamable HTTP.
#[derive(Clone)]
pub struct Upstream {
    client: UpstreamClient,
    uri: Uri,
    injected: Vec<InjectedHeader>,
}

/// Certificates are loaded only if the URL needs them, since that takes time.
#[derive(Clone)]
enum UpstreamClient {
    Plain(Client<HttpConnector, ProxyBody>),
    Tls(Client<HttpsConnector<HttpConnector>, ProxyBody>),
}

/// The reason why a URL cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum UpstreamError {
    /// The text is not an absolute URL with `http` or `https`.
    Url,
    /// The certificates of the system cannot be read.
    Certificates(std::io::Error),
}

impl fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url => f.write_str("expected a URL such as https://mcp.example.com/mcp"),
            Self::Certificates(error) => {
                write!(f, "cannot read the certificates of the system (SSL_CERT_FILE?): {error}")
            }
        }
    }
}

impl std::error::Error for UpstreamError {}

/// Shows the URL without what may be a secret in it.
impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream").field("path", &self.uri.path()).finish_non_exhaustive()
    }
}

impl Upstream {
    /// Creates a client for a URL, which adds `injected` to each request.
    ///
    /// # Errors
    /// [`UpstreamError`] if the URL cannot be used.
    pub fn new(url: &str, injected: Vec<InjectedHeader>) -> Result<Self, UpstreamError> {
        let uri: Uri = url.parse().map_err(|_error| UpstreamError::Url)?;
        if uri.host().is_none_or(str::is_empty) {
            return Err(UpstreamError::Url);
        }
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT));
        let mut builder = Client::builder(TokioExecutor::new());
        builder.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE);
        let client = match uri.scheme_str() {
            Some("http") => UpstreamClient::Plain(builder.build(connector)),
            Some("https") => {
                connector.enforce_http(false);
                let tls = HttpsConnectorBuilder::new()
                    .with_native_roots()
                    .map_err(UpstreamError::Certificates)?;
                let tls = tls.https_only().enable_all_versions().wrap_connector(connector);
                UpstreamClient::Tls(builder.build(tls))
            }
            _ => return Err(UpstreamError::Url),
        };
        Ok(Self { client, uri, injected })
    }

    /// Returns the path of the URL.
    #[must_use]
    pub fn path(&self) -> &str {
        self.uri.path()
    }

    /// Sends a request. The headers of the client are forwarded as far as they are meant for the server.
    ///
    /// # Errors
    /// The error of the connection.
    pub(crate) async fn send(
        &self,
        method: Method,
        query: Option<&str>,
        headers: &HeaderMap,
        body: ProxyBody,
    ) -> Result<Response<Incoming>, Error> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = self.target(query);
        *request.headers_mut() = for_server(headers, &self.injected);
        match &self.client {
            UpstreamClient::Plain(client) => client.request(request).await,
            UpstreamClient::Tls(client) => client.request(request).await,
        }
    }

    /// Returns the URL with the query of a request after its own.
    fn target(&self, query: Option<&str>) -> Uri {
        let Some(query) = query.filter(|query| !query.is_empty()) else { return self.uri.clone() };
        let all = match self.uri.query() {
            Some(own) => format!("{}?{own}&{query}", self.uri.path()),
            None => format!("{}?{query}", self.uri.path()),
        };
        let mut parts = self.uri.clone().into_parts();
        parts.path_and_query = all.parse().ok();
        Uri::from_parts(parts).unwrap_or_else(|_| self.uri.clone())
    }
}
