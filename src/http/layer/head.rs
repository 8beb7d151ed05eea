//! Changes the headers of a filtered response.
//!
//! This module handles HTTP fields (RFC 9110, 9112, 9530), not bodies.

use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode};

use crate::http::body::DIGESTS;

/// Returns whether the connection switches to another protocol after the headers (RFC 9110 §9.3.6, §15.2.2).
pub(super) fn is_tunnel(asked: &Method, status: StatusCode) -> bool {
    (asked == Method::CONNECT && status.is_success()) || status == StatusCode::SWITCHING_PROTOCOLS
}

/// Returns whether a response has no body, whatever its headers say (RFC 9110 §6.4.1).
pub(super) fn has_no_body(asked: &Method, status: StatusCode) -> bool {
    asked == Method::HEAD
        || status.is_informational()
        || matches!(
            status,
            StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED
        )
}

/// Removes or changes fields that are true only of the unfiltered response.
pub(super) fn filtered(fields: &mut HeaderMap, media_type: Option<&'static str>) {
    for name in [
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
        header::CONTENT_ENCODING,
        header::ACCEPT_RANGES,
    ] {
        fields.remove(name);
    }
    for name in DIGESTS {
        fields.remove(name);
    }
    if let Some(media_type) = media_type {
        fields.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    }
    if let Some(tag) = fields.remove(header::ETAG)
        && let Some(weak) = weakened(&tag)
    {
        fields.insert(header::ETAG, weak);
    }
}

/// Returns the weak form of an entity tag, because the body is no longer the same byte for byte. `None` if it is not a
/// tag.
fn weakened(tag: &HeaderValue) -> Option<HeaderValue> {
    if tag.as_bytes().starts_with(b"W/\"") {
        return Some(tag.clone());
    }
    if !tag.as_bytes().starts_with(b"\"") {
        return None;
    }
    HeaderValue::from_bytes(&[b"W/", tag.as_bytes()].concat()).ok()
}

/// Sets the length if it is known before the headers are sent.
pub(super) fn set_length(fields: &mut HeaderMap, length: Option<u64>) {
    if let Some(length) = length {
        fields.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::{filtered, has_no_body, is_tunnel};

    fn fields(of: &[(&'static str, &'static str)]) -> HeaderMap {
        of.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn outdated_headers_are_removed() {
        let mut head = fields(&[
            ("content-length", "100"),
            ("transfer-encoding", "chunked"),
            ("content-encoding", "gzip"),
            ("accept-ranges", "bytes"),
            ("content-digest", "sha-256=:AA==:"),
            ("content-type", "application/json"),
            ("last-modified", "Sat, 21 Nov 2026 10:00:00 GMT"),
            ("etag", "\"v1\""),
        ]);
        filtered(&mut head, None);
        let left = fields(&[
            ("content-type", "application/json"),
            ("last-modified", "Sat, 21 Nov 2026 10:00:00 GMT"),
            ("etag", "W/\"v1\""),
        ]);
        assert_eq!(head, left);
    }

    #[test]
    fn tags_are_weak() {
        for (came, leaves) in [
            ("\"a\"", Some("W/\"a\"")),
            ("W/\"a\"", Some("W/\"a\"")),
            ("a", None),
            ("w/\"a\"", None),
        ] {
            let mut head = HeaderMap::new();
            head.insert("etag", came.parse().unwrap());
            filtered(&mut head, None);
            assert_eq!(head.get("etag").map(|tag| tag.to_str().unwrap()), leaves, "{came}");
        }
    }

    #[test]
    fn the_type_is_that_of_the_output() {
        let mut head = fields(&[("content-type", "text/html")]);
        filtered(&mut head, Some("text/markdown; charset=utf-8"));
        assert_eq!(head["content-type"], "text/markdown; charset=utf-8");
    }

    #[test]
    fn answers_without_a_body() {
        let none = |method: &str, status: u16| {
            has_no_body(&method.parse().unwrap(), status.try_into().unwrap())
        };
        assert!(none("HEAD", 200) && none("GET", 204) && none("GET", 205) && none("GET", 304));
        assert!(!none("GET", 200) && !none("GET", 404) && !none("CONNECT", 502));
    }

    #[test]
    fn tunnels() {
        let tunnel = |method: &str, status: u16| {
            is_tunnel(&method.parse().unwrap(), status.try_into().unwrap())
        };
        assert!(tunnel("GET", 101) && tunnel("CONNECT", 200));
        assert!(!tunnel("CONNECT", 502) && !tunnel("GET", 200) && !tunnel("GET", 103));
    }
}
