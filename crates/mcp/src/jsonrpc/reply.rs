//! Messages that are written here instead of by a peer.

use super::text;

/// The message is not valid JSON.
pub const PARSE_ERROR: i32 = -32700;
/// The request is not valid.
pub const INVALID_REQUEST: i32 = -32600;
/// The method is not known.
pub const METHOD_NOT_FOUND: i32 = -32601;
/// The parameters of a request are not valid.
pub const INVALID_PARAMS: i32 = -32602;
/// The proxy or its server failed.
pub const INTERNAL_ERROR: i32 = -32603;
/// Headers and body of an HTTP request differ (2026-07-28).
pub const HEADER_MISMATCH: i32 = -32020;

/// Returns an error response. `id` is the JSON text of the request's id, or `null` if it is unknown.
pub fn error(id: Option<&[u8]>, code: i32, message: &str) -> Vec<u8> {
    let mut tail = format!(",\"error\":{{\"code\":{code},\"message\":");
    text::quote(message, &mut tail);
    tail.push_str("}}");
    [br#"{"jsonrpc":"2.0","id":"#, id.unwrap_or(b"null"), tail.as_bytes()].concat()
}

/// Returns a response with the JSON text of a result.
pub fn result(id: &[u8], result: &str) -> Vec<u8> {
    [br#"{"jsonrpc":"2.0","id":"#, id, br#","result":"#, result.as_bytes(), b"}"].concat()
}

#[cfg(test)]
mod tests {
    use super::{INTERNAL_ERROR, error, result};

    #[test]
    fn replies_are_messages() {
        let shown = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        assert_eq!(
            shown(error(Some(b"\"a\""), INTERNAL_ERROR, "a \"b\"\n")),
            r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32603,"message":"a \"b\"\n"}}"#
        );
        assert!(shown(error(None, -1, "")).contains("\"id\":null"));
        assert_eq!(shown(result(b"1.0", "{}")), r#"{"jsonrpc":"2.0","id":1.0,"result":{}}"#);
    }
}
