//! The HTTP client for the server.

use std::error::Error as _;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{HeaderValue, LOCATION, PROXY_AUTHORIZATION};
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::body::{ProxyBody, RequestBody};
use super::headers::{InjectedHeader, for_server};
use super::proxied::{ForwardConnector, UnusableProxy, proxy_for};
use super::redirect;
use super::socks::SocksConnector;
use crate::report::report;

/// How long a connection may take to be made. There is no limit for a response: tools may take hours.
const CONNECT: Duration = Duration::from_secs(30);

/// How long an unused connection is kept.
const IDLE: Duration = Duration::from_secs(60);

/// The most redirects of one request.
const REDIRECTS: usize = 5;

const REFUSED_BY_PROXY: &str = "the proxy does not accept the credentials in its address";

/// A server over streamable HTTP.
#[derive(Clone)]
pub struct Upstream {
    client: UpstreamClient,
    uri: Uri,
    injected: Vec<InjectedHeader>,
    /// The failure that was reported last.
    reported: Arc<Mutex<String>>,
}

/// Certificates are loaded only if the URL needs them, since that takes time.
#[derive(Clone)]
enum UpstreamClient {
    Plain(Client<HttpConnector, ProxyBody>),
    Tls(Client<HttpsConnector<HttpConnector>, ProxyBody>),
    /// Through a proxy, which reads the requests. The value is its credential.
    Forwarded(Client<ForwardConnector, ProxyBody>, Option<HeaderValue>),
    /// Through an HTTP proxy, which passes the bytes of TLS on.
    Tunnelled(Client<HttpsConnector<Tunnel<HttpsConnector<HttpConnector>>>, ProxyBody>),
    /// Through a SOCKS proxy.
    Socks(Client<SocksConnector, ProxyBody>),
    /// Through a SOCKS proxy, which passes the bytes of TLS on.
    SocksTls(Client<HttpsConnector<SocksConnector>, ProxyBody>),
}

/// The reason why a URL cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum UpstreamError {
    /// The text is not an absolute URL with `http` or `https`.
    Url,
    /// The certificates of the system cannot be read.
    Certificates(io::Error),
    /// The environment names a proxy whose address is not valid, or of a kind that is not supported.
    Proxy,
}

impl fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url => f.write_str("expected a URL such as https://mcp.example.com/mcp"),
            Self::Certificates(error) => {
                write!(f, "cannot read the certificates of the system (SSL_CERT_FILE?): {error}")
            }
            Self::Proxy => f.write_str(
                "the proxy in the environment (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY) cannot be used: expected http://HOST:PORT or socks5://HOST:PORT (an @ in a password is %40); NO_PROXY names servers without one",
            ),
        }
    }
}

impl std::error::Error for UpstreamError {}

impl From<UnusableProxy> for UpstreamError {
    fn from(_: UnusableProxy) -> Self {
        Self::Proxy
    }
}

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
        let tls = || HttpsConnectorBuilder::new().with_native_roots();
        let tls = || tls().map_err(UpstreamError::Certificates);
        let proxy = proxy_for(&uri)?;
        let socks = proxy.as_ref().and_then(|it| SocksConnector::new(it, connector.clone()));
        let client = match (uri.scheme_str(), socks, proxy) {
            (Some("http"), Some(socks), _) => UpstreamClient::Socks(builder.build(socks)),
            (Some("https"), Some(socks), _) => {
                let tls = tls()?.https_only().enable_all_versions().wrap_connector(socks);
                UpstreamClient::SocksTls(builder.build(tls))
            }
            (Some("http"), None, None) => UpstreamClient::Plain(builder.build(connector)),
            (Some("http"), None, Some(proxy)) if proxy.uri().scheme_str() == Some("http") => {
                let connector = ForwardConnector { connector, proxy: proxy.uri().clone() };
                // Some proxies look for `Proxy-Authorization` with capital letters.
                builder.http1_title_case_headers(true);
                UpstreamClient::Forwarded(builder.build(connector), proxy.basic_auth().cloned())
            }
            (Some("https"), None, None) => {
                connector.enforce_http(false);
                let tls = tls()?.https_only().enable_all_versions().wrap_connector(connector);
                UpstreamClient::Tls(builder.build(tls))
            }
            (Some("https"), None, Some(proxy))
                if matches!(proxy.uri().scheme_str(), Some("http" | "https")) =>
            {
                connector.enforce_http(false);
                let to_proxy = tls()?.https_or_http().enable_http1().wrap_connector(connector);
                let mut tunnel = Tunnel::new(proxy.uri().clone(), to_proxy);
                if let Some(credential) = proxy.basic_auth() {
                    tunnel = tunnel.with_auth(credential.clone());
                }
                let tls = tls()?.https_only().enable_all_versions().wrap_connector(tunnel);
                UpstreamClient::Tunnelled(builder.build(tls))
            }
            (Some("http" | "https"), _, Some(_)) => return Err(UpstreamError::Proxy),
            _ => return Err(UpstreamError::Url),
        };
        Ok(Self { client, uri, injected, reported: Arc::default() })
    }

    /// Returns whether the path of a request is that of the URL, with or without a slash at its end.
    pub(crate) fn has_path(&self, path: &str) -> bool {
        without_slash(path) == without_slash(self.uri.path())
    }

    /// Returns whether the address looks like one of the SSE transport of 2024-11-05.
    pub(crate) fn is_like_sse(&self) -> bool {
        without_slash(self.uri.path()).ends_with("/sse")
    }

    /// Returns the reason why a request did not reach the server, and reports it if it is another one than last time.
    pub(crate) fn unreachable(&self, error: &SendError) -> String {
        let why = match error {
            SendError::Connection(error) => {
                let through = match &self.client {
                    UpstreamClient::Plain(_) | UpstreamClient::Tls(_) => "",
                    _ => " through the proxy in the environment",
                };
                let (server, why) = (self.shown(), cause(error));
                format!("the upstream server {server} cannot be reached{through}: {why}")
            }
            SendError::Proxy => {
                format!(
                    "the upstream server {} cannot be reached: {REFUSED_BY_PROXY}",
                    self.shown()
                )
            }
            SendError::Redirect(why) => format!("the upstream server sends a redirect {why}"),
        };
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if *reported != why {
            report(&why);
            reported.clone_from(&why);
        }
        why
    }

    /// Returns the URL without what may be a secret in it: a user with a password, and the query.
    fn shown(&self) -> String {
        let authority = self.uri.authority().map(|authority| authority.as_str());
        let host = authority.map(|text| text.rsplit('@').next().unwrap_or(text));
        let scheme = self.uri.scheme_str().unwrap_or_default();
        format!("{scheme}://{}{}", host.unwrap_or_default(), self.uri.path())
    }

    /// Sends a request. The headers of the client are forwarded as far as they are meant for the server. Redirects within
    /// the origin of the URL that keep the method are followed.
    ///
    /// # Errors
    /// The error of the connection, or a redirect that is not followed.
    pub(crate) async fn send(
        &self,
        method: Method,
        query: Option<&str>,
        headers: &HeaderMap,
        body: RequestBody,
    ) -> Result<Response<Incoming>, SendError> {
        let mut target = self.target(query);
        for _ in 0..=REDIRECTS {
            let mut request = Request::new(body.once());
            request.method_mut().clone_from(&method);
            request.uri_mut().clone_from(&target);
            *request.headers_mut() = for_server(headers, &self.injected);
            let sent = match &self.client {
                UpstreamClient::Plain(client) => client.request(request).await,
                UpstreamClient::Tls(client) => client.request(request).await,
                UpstreamClient::Forwarded(client, credential) => {
                    if let Some(credential) = credential {
                        request.headers_mut().insert(PROXY_AUTHORIZATION, credential.clone());
                    }
                    client.request(request).await
                }
                UpstreamClient::Tunnelled(client) => client.request(request).await,
                UpstreamClient::Socks(client) => client.request(request).await,
                UpstreamClient::SocksTls(client) => client.request(request).await,
            };
            let response = sent.map_err(SendError::Connection)?;
            let status = response.status();
            if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
                return Err(SendError::Proxy);
            }
            if !status.is_redirection() || status == StatusCode::NOT_MODIFIED {
                return Ok(response);
            }
            let location = response.headers().get(LOCATION).and_then(|it| it.to_str().ok());
            target = redirect::target(&target, status, location).map_err(SendError::Redirect)?;
        }
        Err(SendError::Redirect("again and again"))
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

/// Returns a path without the slash at its end.
pub(super) fn without_slash(path: &str) -> &str {
    path.strip_suffix('/').unwrap_or(path)
}

/// Why a request has no response.
#[derive(Debug)]
pub(crate) enum SendError {
    Connection(Error),
    /// A proxy wants credentials, or other ones.
    Proxy,
    /// The server redirects it, and the redirect is not followed. The text completes "a redirect".
    Redirect(&'static str),
}

impl SendError {
    /// Returns whether the server did not do what the request asks for.
    pub(crate) fn is_connect(&self) -> bool {
        match self {
            Self::Connection(error) => error.is_connect(),
            Self::Proxy | Self::Redirect(_) => true,
        }
    }
}

/// Describes the first cause of an error of a connection.
fn cause(error: &Error) -> String {
    let mut cause = error.source();
    let mut texts = Vec::new();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            match error.kind() {
                io::ErrorKind::ConnectionRefused => return String::from("connection refused"),
                io::ErrorKind::TimedOut => return String::from("connecting takes too long"),
                _ => {}
            }
        }
        texts.push(error.to_string());
        cause = error.source();
    }
    let last = texts.pop().unwrap_or_else(|| error.to_string());
    let any = |part: &str| texts.iter().chain([&last]).any(|text| text.contains(part));
    if any("dns error") {
        format!("its name cannot be resolved ({last})")
    } else if any("proxy authorization required") {
        REFUSED_BY_PROXY.to_owned()
    } else if any("tunnel error: unsuccessful") {
        String::from("the proxy does not connect to it")
    } else if any("certificate") {
        format!("its certificate is not accepted ({last}); SSL_CERT_FILE names other authorities")
    } else if any("corrupt message") {
        String::from("it does not speak TLS (http:// instead of https://?)")
    } else {
        last
    }
}

#[cfg(test)]
mod tests {
    use super::Upstream;

    #[test]
    fn the_url_is_shown_without_secrets() {
        for (url, shown) in [
            ("http://user:secret@mcp.example:8080/mcp?key=secret", "http://mcp.example:8080/mcp"),
            ("http://127.0.0.1/", "http://127.0.0.1/"),
        ] {
            assert_eq!(Upstream::new(url, Vec::new()).unwrap().shown(), shown);
        }
    }
}
