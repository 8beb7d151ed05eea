//! Headers: which are forwarded, and which are added.

use std::ffi::OsString;
use std::fmt;

use hyper::HeaderMap;
use hyper::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, ETAG, EXPECT, HOST, HeaderName,
    HeaderValue, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
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

/// Returns whether the body is compressed. The server was asked not to do that.
pub(super) fn is_encoded(headers: &HeaderMap) -> bool {
    text(headers, &CONTENT_ENCODING).is_some_and(|coding| !coding.eq_ignore_ascii_case("identity"))
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use hyper::header::HeaderName;

    use super::{InjectedHeader, for_server};

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
