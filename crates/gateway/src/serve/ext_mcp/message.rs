//! JSON-RPC messages around the parts that agentgateway sends, and the metadata of a call.

use std::collections::BTreeMap;

use prost_types::value::Kind;
use prost_types::{Struct, Value};
use serde_json::value::RawValue;
use tamis_manifest::StoreScope;
use tamis_store::Scope;

use super::pb;

/// The key of our metadata.
const KEY: &str = "tamis";

/// Parameters that a filter takes in addition to those of the tool.
const RESERVED: [&str; 2] = ["_output_mode", "_budget"];

/// The facts about a request that the response phase needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallMetadata {
    pub(super) method: String,
    /// The JSON of `params`, reduced to the name and our parameters.
    pub(super) params: String,
    /// Who may read what is stored of the response.
    pub(super) scope: Option<String>,
}

#[derive(serde::Deserialize)]
struct Params<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

impl CallMetadata {
    /// Returns the metadata of a request. `None` if its response is not filtered by name.
    pub(super) fn of_request(request: &pb::McpRequest, scope: &StoreScope) -> Option<Self> {
        if !matches!(request.method.as_str(), "tools/call" | "resources/read") {
            return None;
        }
        let params: Params<'_> = serde_json::from_slice(request.mcp_request.as_deref()?).ok()?;
        let mut parts = Vec::new();
        if let Some(name) = params.name {
            parts.push(format!(r#""name":{}"#, name.get()));
        }
        if let Some(uri) = params.uri {
            parts.push(format!(r#""uri":{}"#, uri.get()));
        }
        let arguments: BTreeMap<String, &RawValue> = params
            .arguments
            .and_then(|all| serde_json::from_str(all.get()).ok())
            .unwrap_or_default();
        let ours = RESERVED.iter().filter_map(|key| Some((key, arguments.get(*key)?)));
        let ours: Vec<String> =
            ours.map(|(key, value)| format!(r#""{key}":{}"#, value.get())).collect();
        if !ours.is_empty() {
            parts.push(format!(r#""arguments":{{{}}}"#, ours.join(",")));
        }
        let header = |name: &str| {
            let found = request.headers.iter().find(|header| header.key.eq_ignore_ascii_case(name));
            found.map(|header| header.value.as_slice())
        };
        let scope = match scope {
            StoreScope::Header(name) => Scope::header(name, header(name)),
            _ => Scope::authorization(header("authorization")),
        };
        Some(Self {
            method: request.method.clone(),
            params: format!("{{{}}}", parts.join(",")),
            scope: Some(scope.to_string()),
        })
    }

    /// Returns the metadata that came back. `None` if it is missing, or that of another method.
    pub(super) fn of_response(response: &pb::McpResponse) -> Option<Self> {
        let fields = &response.metadata_context.as_ref()?.fields;
        let Some(Kind::StructValue(ours)) = &fields.get(KEY)?.kind else { return None };
        let text = |key: &str| match &ours.fields.get(key)?.kind {
            Some(Kind::StringValue(text)) => Some(text.clone()),
            _ => None,
        };
        let call = Self { method: text("method")?, params: text("params")?, scope: text("scope") };
        (call.method == response.method).then_some(call)
    }

    /// Returns the metadata of a call whose tool is not known: the profile applies.
    pub(super) fn unknown(method: &str) -> Self {
        Self {
            method: method.to_owned(),
            params: r#"{"name":"","uri":"","taskId":""}"#.to_owned(),
            scope: None,
        }
    }

    pub(super) fn to_struct(&self) -> Struct {
        let text = |text: &str| Value { kind: Some(Kind::StringValue(text.to_owned())) };
        let mut fields = BTreeMap::from([
            (String::from("method"), text(&self.method)),
            (String::from("params"), text(&self.params)),
        ]);
        if let Some(scope) = &self.scope {
            fields.insert(String::from("scope"), text(scope));
        }
        let ours = Value { kind: Some(Kind::StructValue(Struct { fields })) };
        Struct { fields: BTreeMap::from([(String::from(KEY), ours)]) }
    }
}

/// Returns the request that the proxy would have seen.
pub(super) fn request(method: &str, params: &[u8]) -> Vec<u8> {
    let method = tamis_mcp::jsonrpc::text::quoted(method);
    let start = format!(r#"{{"jsonrpc":"2.0","id":1,"method":{method},"params":"#);
    [start.as_bytes(), params, b"}"].concat()
}

/// Returns the response that the proxy would have seen.
pub(super) fn response(result: &[u8]) -> Vec<u8> {
    [br#"{"jsonrpc":"2.0","id":1,"result":"#, result, b"}"].concat()
}

#[derive(serde::Deserialize)]
struct Parts<'a> {
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
}

/// Returns the JSON of `params` in a request.
pub(super) fn params_of(message: &[u8]) -> Option<Vec<u8>> {
    let parts: Parts<'_> = serde_json::from_slice(message).ok()?;
    Some(parts.params?.get().as_bytes().to_vec())
}

/// Returns the JSON of `result` in a response.
pub(super) fn result_of(message: &[u8]) -> Option<Vec<u8>> {
    let parts: Parts<'_> = serde_json::from_slice(message).ok()?;
    Some(parts.result?.get().as_bytes().to_vec())
}

/// Returns the message of an error response.
pub(super) fn error_of(message: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Response {
        error: Error,
    }
    #[derive(serde::Deserialize)]
    struct Error {
        message: String,
    }
    serde_json::from_slice::<Response>(message).ok().map(|response| response.error.message)
}
