//! Redirects of the server.
//!
//! Servers that are mounted in a web framework often redirect `/mcp` to `/mcp/` (Starlette 1.x, FastAPI). A redirect within the
//! origin that keeps the method is followed. Any other would send the request, with its credentials, to a place that the user
//! has not named, or would give the client an address at which no filter applies.

use hyper::{StatusCode, Uri};

/// Returns the address to which a request is redirected. The reason for an error names neither an address nor data.
pub(super) fn target(
    from: &Uri,
    status: StatusCode,
    location: Option<&str>,
) -> Result<Uri, &'static str> {
    if !matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
        return Err("that changes the method, which is not followed");
    }
    let location = location.ok_or("without an address")?;
    let location = location.split('#').next().unwrap_or_default().trim();
    let path = match absolute(from, location)? {
        Some(to) => {
            if from.scheme_str() == Some("https") && to.scheme_str() != Some("https") {
                return Err("to an address without TLS, which is not followed");
            }
            let same_host = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
            let is_origin = to.scheme() == from.scheme()
                && to.host().zip(from.host()).is_some_and(|(to, from)| same_host(to, from))
                && port(&to) == port(from);
            if !is_origin {
                return Err(
                    "to another server, which is not followed; --upstream names the server",
                );
            }
            to.path_and_query().map_or("/", |it| it.as_str()).to_owned()
        }
        None => joined(from, location),
    };
    let mut parts = from.clone().into_parts();
    parts.path_and_query = Some(path.parse().map_err(|_error| INVALID)?);
    Uri::from_parts(parts).map_err(|_error| INVALID)
}

const INVALID: &str = "to an address that is not valid";

/// Returns an address that names a server. `None`: it is relative.
fn absolute(from: &Uri, location: &str) -> Result<Option<Uri>, &'static str> {
    if location.starts_with("//") {
        let scheme = from.scheme_str().unwrap_or("http");
        return format!("{scheme}:{location}").parse().map(Some).map_err(|_error| INVALID);
    }
    // A scheme ends before the first slash, question mark or hash.
    let name = location.split(['/', '?']).next().unwrap_or_default();
    if !name.contains(':') {
        return Ok(None);
    }
    let to: Uri = location.parse().map_err(|_error| INVALID)?;
    if to.host().is_none() || to.scheme().is_none() { Err(INVALID) } else { Ok(Some(to)) }
}

/// Returns the path and the query of a relative address (RFC 3986, section 5.2, without `.` and `..`, which servers resolve).
fn joined(from: &Uri, location: &str) -> String {
    let path = from.path();
    if location.starts_with('/') {
        location.to_owned()
    } else if location.is_empty() {
        from.path_and_query().map_or("/", |it| it.as_str()).to_owned()
    } else if location.starts_with('?') {
        format!("{path}{location}")
    } else {
        let folder = path.rfind('/').and_then(|end| path.get(..=end)).unwrap_or("/");
        format!("{folder}{location}")
    }
}

fn port(uri: &Uri) -> Option<u16> {
    let default = match uri.scheme_str() {
        Some("https") => Some(443),
        Some("http") => Some(80),
        _ => None,
    };
    uri.port_u16().or(default)
}

#[cfg(test)]
mod tests {
    use hyper::{StatusCode, Uri};

    use super::target;

    #[test]
    fn redirects_within_the_origin_are_followed() {
        let from = "http://user:secret@mcp.example:8000/mcp?key=1";
        for (location, to) in [
            ("/mcp/", Some("/mcp/")),
            ("http://mcp.example:8000/mcp/?key=1", Some("/mcp/?key=1")),
            ("HTTP://MCP.EXAMPLE:8000/other#part", Some("/other")),
            ("//mcp.example:8000/x", Some("/x")),
            ("mcp/", Some("/mcp/")),
            ("?a=b", Some("/mcp?a=b")),
            ("http://mcp.example:8000", Some("/")),
            ("http://mcp.example/mcp/", None),
            ("https://mcp.example:8000/mcp/", None),
            ("http://mcp.example.evil:8000/mcp/", None),
            ("http://mcp.example:8000@evil.example/mcp/", None),
            ("//evil.example/mcp", None),
            ("ftp://mcp.example:8000/mcp/", None),
            ("javascript:alert(1)", None),
            ("http:/mcp/", None),
        ] {
            let from: Uri = from.parse().unwrap();
            for status in [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT] {
                let found = target(&from, status, Some(location));
                let path = found.as_ref().ok().and_then(Uri::path_and_query);
                assert_eq!(path.map(|it| it.as_str()), to, "{location} {found:?}");
                if let Ok(found) = &found {
                    assert_eq!(found.authority(), from.authority(), "{location}");
                }
                if let Err(why) = found {
                    assert!(!why.contains("evil") && !why.contains("example"), "{why}");
                }
            }
            for status in [StatusCode::MOVED_PERMANENTLY, StatusCode::FOUND, StatusCode::SEE_OTHER]
            {
                assert!(target(&from, status, Some(location)).is_err(), "{location}");
            }
        }
    }

    #[test]
    fn tls_is_never_left() {
        let from: Uri = "https://mcp.example/mcp".parse().unwrap();
        let to = |location| target(&from, StatusCode::TEMPORARY_REDIRECT, Some(location));
        assert!(to("http://mcp.example/mcp/").unwrap_err().contains("without TLS"));
        assert_eq!(to("https://mcp.example:443/mcp/").unwrap().path(), "/mcp/");
        assert!(target(&from, StatusCode::TEMPORARY_REDIRECT, None).is_err());
    }
}
