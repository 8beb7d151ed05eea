//! Headers: which are forwarded, which are added, and which requests are refused for them.

use std::ffi::OsString;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use hyper::HeaderMap;
use hyper::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, ETAG, EXPECT, HOST, HeaderName,
    HeaderValue, ORIGIN, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};

/// The header of a legacy session.
pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// The version of the protocol that the client and the server have agreed on.
pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The method of a modern request.
pub(crate) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// The name of the tool, the prompt or the resource of a modern request.
pub(crate) const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Asks reverse proxies not to collect events.
pub(crate) const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
/// Checksums of a body, which do not hold for another.
const CHECKSUMS: [HeaderName; 5] = [
    ETAG,
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("digest"),
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("repr-digest"),
];

/// Headers of one connection, which are not forwarded.
fn is_of_connection(name: &HeaderName) -> bool {
    [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE].contains(name)
        || matches!(
            name.as_str(),
            "keep-alive" | "proxy-authenticate" | "proxy-authorization" | "proxy-connection"
        )
}

/// Copies the headers that are meant for the other end.
fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let mut copy = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        if !is_of_connection(name) && !named.contains(name) && *name != CONTENT_LENGTH {
            copy.append(name.clone(), value.clone());
        }
    }
    copy
}

/// Returns the headers of a request to the server. Its results must not be compressed: they are read here.
pub(crate) fn for_server(headers: &HeaderMap, injected: &[InjectedHeader]) -> HeaderMap {
    let mut copy = end_to_end(headers);
    copy.remove(HOST);
    copy.remove(EXPECT);
    copy.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    for header in injected {
        copy.insert(header.name.clone(), header.value.clone());
    }
    copy
}

/// Returns the headers of a response to the client. Without `Content-Length`, which follows from the body.
pub(crate) fn for_client(headers: &HeaderMap) -> HeaderMap {
    end_to_end(headers)
}

/// Removes the headers that do not hold for a changed body.
pub(crate) fn remove_checksums(headers: &mut HeaderMap) {
    for name in &CHECKSUMS {
        headers.remove(name);
    }
}

/// Returns a header as text, if it is there and is text.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// A header that is added to every request to the server, such as a token.
#[derive(Clone, Debug)]
pub struct InjectedHeader {
    name: HeaderName,
    value: HeaderValue,
}

/// The reason why a header cannot be added.
#[derive(Debug)]
#[non_exhaustive]
pub enum HeaderError {
    /// The text is not `NAME=@env:VAR`.
    Shape,
    /// The name is not a name of a header, or one that the proxy sets itself.
    Name(String),
    /// The environment variable is not set.
    Unset(String),
    /// The value of the environment variable has control characters in it.
    Value(String),
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape => f.write_str("expected NAME=@env:VAR, such as Authorization=@env:TOKEN"),
            Self::Name(name) => write!(f, "`{name}` is not a header that can be set"),
            Self::Unset(name) => write!(f, "the environment variable {name} is not set"),
            Self::Value(name) => {
                write!(f, "the environment variable {name} is not a valid value of a header")
            }
        }
    }
}

impl std::error::Error for HeaderError {}

impl InjectedHeader {
    /// Parses `NAME=@env:VAR`, with a function that returns the value of an environment variable.
    ///
    /// # Errors
    /// [`HeaderError`] if the text has another shape, or the variable is missing.
    pub fn parse(
        text: &str,
        variable: impl FnOnce(&str) -> Option<OsString>,
    ) -> Result<Self, HeaderError> {
        let (name, source) = text.split_once('=').ok_or(HeaderError::Shape)?;
        let source = source.strip_prefix("@env:").ok_or(HeaderError::Shape)?;
        let wrong = || HeaderError::Name(String::from(name));
        let parsed: HeaderName = name.trim().parse().map_err(|_error| wrong())?;
        if is_of_connection(&parsed) || [HOST, CONTENT_LENGTH, ACCEPT_ENCODING].contains(&parsed) {
            return Err(wrong());
        }
        let value = variable(source).ok_or_else(|| HeaderError::Unset(String::from(source)))?;
        let value = value.into_string().ok().and_then(|value| value.parse::<HeaderValue>().ok());
        let mut value = value.ok_or_else(|| HeaderError::Value(String::from(source)))?;
        value.set_sensitive(true);
        Ok(Self { name: parsed, value })
    }
}

/// Decides which callers may use the proxy, by `Host` and `Origin`.
///
/// A web page can send requests to this machine, and can give its own name the address of this machine to do so (DNS
/// rebinding). Both show in these headers, which a page cannot choose.
#[derive(Clone, Debug)]
pub struct CallerCheck {
    loopback: bool,
    origins: Vec<String>,
}

impl CallerCheck {
    /// Creates the check for a listener. `origins` are allowed in addition to those of this machine.
    #[must_use]
    pub fn new(listener: SocketAddr, origins: Vec<String>) -> Self {
        Self { loopback: listener.ip().is_loopback(), origins }
    }

    /// Returns the reason why a request is refused. `authority` is the target of the request, in HTTP/2.
    pub(crate) fn refuse(
        &self,
        headers: &HeaderMap,
        authority: Option<&str>,
    ) -> Option<&'static str> {
        let host = text(headers, &HOST).or(authority).unwrap_or_default();
        if self.loopback && !is_local(host) {
            return Some("the Host header does not name this machine");
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        let origin = origins.next()?;
        let allowed = origins.next().is_none()
            && origin.to_str().is_ok_and(|origin| self.allows(origin, host));
        (!allowed).then_some("web pages of this origin may not use the proxy (see --allow-origin)")
    }

    fn allows(&self, origin: &str, host: &str) -> bool {
        if self.origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin)) {
            return true;
        }
        let name = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        // On a public address, a page of the same host may use the proxy.
        name.is_some_and(|name| {
            is_local(name) || (!self.loopback && name.eq_ignore_ascii_case(host))
        })
    }
}

/// Returns whether a host, with or without a port, is this machine by its name.
fn is_local(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(address) => match address.split_once(']') {
            Some((address, port)) if port.is_empty() || port.starts_with(':') => address,
            _ => return false,
        },
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    let address = name.parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Returns whether the body is compressed. The server was asked not to do that.
pub(super) fn is_encoded(headers: &HeaderMap) -> bool {
    text(headers, &CONTENT_ENCODING).is_some_and(|coding| !coding.eq_ignore_ascii_case("identity"))
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use hyper::header::{HOST, HeaderName, ORIGIN};

    use super::{CallerCheck, InjectedHeader, for_server, is_local};

    #[test]
    fn callers_of_a_local_proxy_are_on_this_machine() {
        // Host, origin, whether the request is accepted.
        let cases = [
            ("127.0.0.1:8931", None, true),
            ("localhost", None, true),
            ("[::1]:8931", None, true),
            ("LOCALHOST:1", Some("http://localhost:6274"), true),
            ("127.0.0.1:8931", Some("https://127.0.0.1"), true),
            ("127.0.0.1:8931", Some("http://[::1]:5"), true),
            ("127.0.0.1:8931", Some("https://app.example"), true),
            ("127.0.0.1:8931", Some("HTTPS://APP.example"), true),
            ("127.0.0.1:8931", Some("https://app.example.evil"), false),
            ("127.0.0.1:8931", Some("http://evil.example"), false),
            ("127.0.0.1:8931", Some("http://localhost.evil.example"), false),
            ("127.0.0.1:8931", Some("http://localhost@evil.example"), false),
            ("127.0.0.1:8931", Some("null"), false),
            ("127.0.0.1:8931", Some(""), false),
            ("evil.example:8931", None, false),
            ("evil.example", Some("http://evil.example"), false),
            ("127.0.0.1.evil.example", None, false),
            ("", None, false),
        ];
        let origins = vec![String::from("https://app.example")];
        let check = CallerCheck::new("127.0.0.1:8931".parse().unwrap(), origins);
        for (host, origin, accepted) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            if let Some(origin) = origin {
                headers.insert(ORIGIN, origin.parse().unwrap());
            }
            assert_eq!(check.refuse(&headers, None).is_none(), accepted, "{host} {origin:?}");
        }
    }

    #[test]
    fn callers_of_a_public_proxy_are_pages_of_its_host() {
        let check = CallerCheck::new("0.0.0.0:80".parse().unwrap(), Vec::new());
        for (origin, accepted) in [("https://mcp.example", true), ("https://evil.example", false)] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, "mcp.example".parse().unwrap());
            assert!(check.refuse(&headers, None).is_none());
            headers.insert(ORIGIN, origin.parse().unwrap());
            assert_eq!(check.refuse(&headers, None).is_none(), accepted, "{origin}");
        }
    }

    #[test]
    fn local_names_are_exact() {
        for host in ["localhost", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:443"] {
            assert!(is_local(host), "{host}");
        }
        for host in ["localhost.", "0.0.0.0", "::1", "[::1", "[::1]x", "[::2]", "10.0.0.1", "a:1"] {
            assert!(!is_local(host), "{host}");
        }
    }

    #[test]
    fn headers_of_the_connection_are_not_forwarded() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "keep-alive, X-Hop"),
            ("x-hop", "1"),
            ("keep-alive", "timeout=5"),
            ("transfer-encoding", "chunked"),
            ("host", "localhost:1"),
            ("content-length", "7"),
            ("accept-encoding", "gzip"),
            ("authorization", "Bearer client"),
            ("accept", "text/event-stream"),
            ("x-other", "a"),
            ("x-other", "b"),
        ] {
            headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        let injected = InjectedHeader::parse("Authorization=@env:TOKEN", |name| {
            (name == "TOKEN").then(|| "Bearer server".into())
        });
        let sent = for_server(&headers, &[injected.unwrap()]);
        let mut sent: Vec<_> =
            sent.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        sent.sort_unstable();
        let expected = [
            ("accept", "text/event-stream"),
            ("accept-encoding", "identity"),
            ("authorization", "Bearer server"),
            ("x-other", "a"),
            ("x-other", "b"),
        ];
        assert_eq!(sent, expected);
    }

    #[test]
    fn values_of_headers_are_in_the_environment() {
        let cases = [
            ("Authorization", "expected NAME=@env:VAR, such as Authorization=@env:TOKEN"),
            ("Authorization=secret", "expected NAME=@env:VAR, such as Authorization=@env:TOKEN"),
            ("Bad Name=@env:A", "`Bad Name` is not a header that can be set"),
            ("Host=@env:A", "`Host` is not a header that can be set"),
            ("X-Token=@env:MISSING", "the environment variable MISSING is not set"),
            (
                "X-Token=@env:LINES",
                "the environment variable LINES is not a valid value of a header",
            ),
        ];
        for (text, message) in cases {
            let variable = |name: &str| match name {
                "A" => Some("a".into()),
                "LINES" => Some("a\nb".into()),
                _ => None,
            };
            let error = InjectedHeader::parse(text, variable).unwrap_err();
            assert_eq!(error.to_string(), message, "{text}");
        }
    }
}
