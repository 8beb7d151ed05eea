//! Cross-origin resource sharing: without these headers, a browser does not show a page of an allowed origin what the proxy
//! responds (Fetch standard, section "CORS protocol").
//!
//! The proxy decides which pages may use it, so its headers take the place of those of the server.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, HeaderValue, ORIGIN, VARY,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Response, StatusCode};

use super::body::ProxyBody;
use super::own::status_only;

/// The headers that a client needs besides those that every page may read: the session, and where a token is to be had.
const EXPOSED: HeaderValue = HeaderValue::from_static("mcp-session-id, www-authenticate");
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");
/// How long browsers remember the response to a preflight, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// Returns the response to a preflight request: the question of a browser whether a page may send a request. It does not
/// reach the server.
pub(super) fn preflight(parts: &Parts) -> Option<Response<ProxyBody>> {
    let asks = parts.method == Method::OPTIONS
        && parts.headers.contains_key(ORIGIN)
        && parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    if !asks {
        return None;
    }
    let mut response = status_only(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    // Which headers a server needs is only known to its clients.
    if let Some(asked) = parts.headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
    }
    Some(response)
}

/// Lets pages of an allowed origin read a response, but without the cookies of the browser.
pub(super) fn allow(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.remove(ACCESS_CONTROL_ALLOW_CREDENTIALS);
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    headers.append(VARY, HeaderValue::from_static("origin"));
}
