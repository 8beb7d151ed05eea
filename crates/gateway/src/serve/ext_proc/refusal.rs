//! Responses to requests that are not sent to the server.

use bytes::Bytes;
use envoy_types::pb::envoy::service::ext_proc::v3::HttpHeaders;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};

use super::headers;

/// Returns the response in place of one whose request was not sent to us.
///
/// Envoy makes such responses itself, for example to a request that it cannot read. They have a status of an error. It
/// may also be a response of the server, if the gateway is set up without the headers of requests. So only the status
/// is kept.
pub(super) fn without_request(head: &HttpHeaders) -> Response<Bytes> {
    let status = headers::response(head).map(|response| response.status());
    let status = status.filter(|status| status.is_client_error() || status.is_server_error());
    let text = if status.is_some() {
        r#"{"error":"the gateway refused the request","kind":"refused"}"#
    } else {
        r#"{"error":"expected request headers (request_header_mode: SEND)","kind":"refused"}"#
    };
    json(status.unwrap_or(StatusCode::BAD_GATEWAY), text)
}

/// Returns the response to a request that is not sent to the server.
pub(super) fn of(status: StatusCode) -> Response<Bytes> {
    json(status, r#"{"error":"the request is refused","kind":"refused"}"#)
}

fn json(status: StatusCode, text: &'static str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from_static(text.as_bytes()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
