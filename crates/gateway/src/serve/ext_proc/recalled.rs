//! Stored results as responses to plain HTTP requests: `GET /PREFIX/HANDLE?items=25-49`.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use http::{Response, StatusCode, request};
use serde_json::{Map, Value};
use tamis_mcp::{PlainError, read_plain};
use tamis_store::EntryKind;

use crate::serve::table::Table;
use crate::transport::http::front::scope_of;

/// The header with a sentence about the rest of the result.
const REMARK: HeaderName = HeaderName::from_static("x-tamis-remark");

/// The sentence for handles that nobody has, or somebody else. It is the same as that of the tool.
const UNKNOWN: &str = "unknown or expired; call the tool again";

/// Reads a stored result. It is never an error: the client gets a status.
pub(super) async fn respond(table: &Table, asked: &request::Parts) -> Response<Bytes> {
    let Some(store) = table.store.clone() else { return text(StatusCode::NOT_FOUND, UNKNOWN) };
    let scope = scope_of(&asked.headers, table.config.store_settings().scope());
    let arguments = match arguments(asked) {
        Ok(arguments) => arguments,
        Err(why) => return text(StatusCode::BAD_REQUEST, &why),
    };
    let read = tokio::task::spawn_blocking(move || {
        let mut out = Vec::new();
        read_plain(&store, &scope, arguments, &mut out).map(|report| (out, report))
    });
    match read.await {
        Ok(Ok((out, report))) => {
            // A part of a JSON text is not one.
            let kind = match report.kind {
                EntryKind::Json if report.remark().is_none() => "application/json",
                _ => "text/plain; charset=utf-8",
            };
            let mut response = respond_with(StatusCode::OK, kind, out.into());
            if let Some(remark) = report.remark()
                && let Ok(remark) = HeaderValue::from_bytes(remark.as_bytes())
            {
                response.headers_mut().insert(REMARK, remark);
            }
            response
        }
        Ok(Err(PlainError::Arguments(why))) => text(StatusCode::BAD_REQUEST, &why),
        Ok(Err(PlainError::Unknown(why))) => text(StatusCode::NOT_FOUND, &why),
        Ok(Err(PlainError::Failed)) | Err(_) => {
            text(StatusCode::BAD_GATEWAY, "the stored result cannot be read")
        }
    }
}

/// Returns the arguments of the tool that a request has: the handle in its path, the rest in its query.
fn arguments(asked: &request::Parts) -> Result<Value, String> {
    let handle = asked.uri.path().rsplit('/').next().unwrap_or_default();
    let mut arguments = Map::new();
    for pair in asked.uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decoded(name)?, decoded(value)?);
        match (name.as_str(), arguments.get_mut(&name)) {
            ("select", Some(Value::Array(paths))) => paths.push(Value::String(value)),
            ("select", _) => _ = arguments.insert(name, Value::Array(vec![value.into()])),
            (_, Some(_)) => return Err(format!("`{name}` is there twice")),
            (_, None) => _ = arguments.insert(name, Value::String(value)),
        }
    }
    if arguments.insert("handle".to_owned(), handle.into()).is_some() {
        return Err("the handle belongs in the path".to_owned());
    }
    Ok(Value::Object(arguments))
}

/// Decodes a part of a query.
fn decoded(text: &str) -> Result<String, String> {
    let wrong = || "the query is not percent-encoded UTF-8".to_owned();
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes().iter();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || rest.next().and_then(|byte| char::from(*byte).to_digit(16));
                let (high, low) = (digit().ok_or_else(wrong)?, digit().ok_or_else(wrong)?);
                u8::try_from(high * 16 + low).map_err(|_error| wrong())?
            }
            byte => *byte,
        });
    }
    String::from_utf8(bytes).map_err(|_error| wrong())
}

fn text(status: StatusCode, message: &str) -> Response<Bytes> {
    let message = format!("{message}\n");
    respond_with(status, "text/plain; charset=utf-8", message.into())
}

fn respond_with(status: StatusCode, kind: &'static str, body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // The same handle is readable by one caller and not by another.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
