//! Headers between the messages of the gateway and the types of HTTP.

use envoy_types::pb::envoy::config::core::v3::HeaderValueOption;
use envoy_types::pb::envoy::config::core::v3::header_value_option::HeaderAppendAction;
use envoy_types::pb::envoy::config::core::v3::{
    HeaderMap as WireHeaders, HeaderValue as WireValue,
};
use envoy_types::pb::envoy::service::ext_proc::v3::{HeaderMutation, HttpHeaders};
use http::header::VARY;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};

/// Headers that the gateway sets itself, or does not let us change.
fn is_of_gateway(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "connection"
            | "content-length"
            | "host"
            | "keep-alive"
            | "proxy-authenticate"
            | "proxy-authorization"
            | "proxy-connection"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
    ) || name.as_str().starts_with("x-envoy-")
}

/// Pseudo-headers and headers of a message. Names and values that HTTP does not allow are an error.
#[derive(Debug, Default)]
struct ReadHeaders {
    method: Option<Method>,
    path: Option<String>,
    status: Option<StatusCode>,
    headers: HeaderMap,
}

fn bytes(value: &WireValue) -> &[u8] {
    if value.raw_value.is_empty() { value.value.as_bytes() } else { &value.raw_value }
}

fn read(wire: Option<&WireHeaders>) -> Option<ReadHeaders> {
    let mut read = ReadHeaders::default();
    for header in &wire?.headers {
        let value = bytes(header);
        match header.key.as_str() {
            ":method" => read.method = Some(Method::from_bytes(value).ok()?),
            ":path" => read.path = Some(String::from_utf8(value.to_vec()).ok()?),
            ":status" => read.status = Some(StatusCode::from_bytes(value).ok()?),
            name if name.starts_with(':') => {}
            name => {
                let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
                read.headers.append(name, HeaderValue::from_bytes(value).ok()?);
            }
        }
    }
    Some(read)
}

/// Returns the request of a message, without its body. `None` if it has no method, or no path that is a URI: no route can
/// be chosen for it.
pub(super) fn request(message: &HttpHeaders) -> Option<Request<()>> {
    let ReadHeaders { method, path, headers, .. } = read(message.headers.as_ref())?;
    let mut request = Request::new(());
    *request.method_mut() = method?;
    *request.uri_mut() = path?.parse().ok()?;
    *request.headers_mut() = headers;
    Some(request)
}

/// Returns the response of a message, without its body. `None` if it has no status.
pub(super) fn response(message: &HttpHeaders) -> Option<Response<()>> {
    let ReadHeaders { status, headers, .. } = read(message.headers.as_ref())?;
    let mut response = Response::new(());
    *response.status_mut() = status?;
    *response.headers_mut() = headers;
    Some(response)
}

/// Returns the trailers of a message. Ones that cannot be read are left out.
pub(super) fn trailers(wire: Option<&WireHeaders>) -> HeaderMap {
    read(wire).map(|read| read.headers).unwrap_or_default()
}

/// Returns how headers have to be changed.
pub(super) fn mutation(old: &HeaderMap, new: &HeaderMap) -> HeaderMutation {
    let removed = old.keys().filter(|name| !new.contains_key(*name) && !is_of_gateway(name));
    let mut mutation = HeaderMutation {
        remove_headers: removed.map(|name| name.as_str().to_owned()).collect(),
        ..HeaderMutation::default()
    };
    for name in new.keys().filter(|name| !is_of_gateway(name)) {
        if old.get_all(name) == new.get_all(name) {
            continue;
        }
        for (at, value) in new.get_all(name).iter().enumerate() {
            let action = if at == 0 {
                HeaderAppendAction::OverwriteIfExistsOrAdd
            } else {
                HeaderAppendAction::AppendIfExistsOrAdd
            };
            mutation.set_headers.push(set(name.as_str(), value.as_bytes(), action));
        }
    }
    mutation
}

/// Names the request headers that the choice of a route depends on.
pub(super) fn vary(headers: &mut HeaderMap, names: &[HeaderName]) {
    for name in names {
        headers.append(VARY, HeaderValue::from(name.clone()));
    }
}

/// Adds a status to a mutation.
pub(super) fn set_status(mutation: &mut HeaderMutation, status: StatusCode) {
    let action = HeaderAppendAction::OverwriteIfExistsOrAdd;
    mutation.set_headers.push(set(":status", status.as_str().as_bytes(), action));
}

fn set(name: &str, value: &[u8], action: HeaderAppendAction) -> HeaderValueOption {
    let header =
        WireValue { key: name.to_owned(), raw_value: value.to_vec(), ..WireValue::default() };
    HeaderValueOption {
        header: Some(header),
        append_action: action.into(),
        ..HeaderValueOption::default()
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::mutation;

    #[test]
    fn only_changes_are_sent() {
        let map = |list: &[(&'static str, &'static str)]| {
            let mut map = HeaderMap::new();
            for (name, value) in list {
                map.append(*name, value.parse().unwrap());
            }
            map
        };
        let old =
            map(&[("a", "1"), ("b", "2"), ("c", "3"), ("content-length", "9"), ("x-envoy-y", "1")]);
        let new = map(&[("a", "1"), ("b", "4"), ("b", "5"), ("d", "6"), ("content-length", "2")]);
        let mutation = mutation(&old, &new);
        let set: Vec<_> = mutation
            .set_headers
            .iter()
            .map(|option| option.header.as_ref().map(|header| (&*header.key, &*header.raw_value)))
            .collect();
        assert_eq!(set, [Some(("b", &b"4"[..])), Some(("b", b"5")), Some(("d", b"6"))]);
        assert_eq!(mutation.remove_headers, ["c"]);
    }
}
