//! Responses of the proxy itself, instead of those of the server.

use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use tamis_mcp::spool::Spool;

use super::body::{ProxyBody, empty, full, of_spool};

/// A response of the proxy itself, instead of one of the server.
pub(crate) type Refused = Response<ProxyBody>;

/// Returns a response with a JSON-RPC message. The status is 200 also for errors: legacy clients end the session at others.
pub(super) fn json(message: Vec<u8>) -> Response<ProxyBody> {
    json_of(Spool::from_vec(message))
}

pub(super) fn json_of(message: Spool) -> Response<ProxyBody> {
    let mut response = Response::new(of_spool(message));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Returns a JSON-RPC error with a status that the protocol asks for.
pub(super) fn rejection(status: u16, body: Vec<u8>) -> Response<ProxyBody> {
    let mut response = json(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
    response
}

pub(super) fn status_only(status: StatusCode) -> Response<ProxyBody> {
    let mut response = Response::new(empty());
    *response.status_mut() = status;
    response
}

/// Returns a response without a message of the protocol.
pub(super) fn refused(status: StatusCode, why: &str) -> Refused {
    let why = tamis_mcp::jsonrpc::text::quoted(why);
    let text =
        format!(r#"{{"jsonrpc":"2.0","error":{{"code":-32000,"message":{why}}},"id":null}}"#);
    let mut response = Response::new(full(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
