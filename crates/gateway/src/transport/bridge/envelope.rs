//! The members of a message that become headers of its request, or that say which request it responds to.
//!
//! Messages are only read here. Their bytes are forwarded, after the handler has seen them.

use std::collections::HashMap;
use std::io::{self, Read};

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::value::RawValue;

use tamis_mcp::spool::Spool;

/// Longest value that becomes a header. Servers refuse longer headers.
const HEADER: usize = 4_096;

/// A message of the client.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ClientMessage {
    id: Option<Box<RawValue>>,
    pub(super) method: Option<String>,
    params: Option<Params>,
}

#[derive(Debug, Default, Deserialize)]
struct Params {
    name: Option<String>,
    uri: Option<String>,
    #[serde(rename = "requestId")]
    request_id: Option<Box<RawValue>>,
    #[serde(rename = "_meta")]
    meta: Option<Meta>,
}

#[derive(Debug, Default, Deserialize)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<String>,
}

impl ClientMessage {
    /// Reads the members of a message. They are missing if the message is not a JSON object of the usual shape.
    pub(super) fn of(message: &Spool) -> Self {
        parse(message).unwrap_or_default()
    }

    /// Returns the id of a request, as JSON.
    pub(super) fn request_id(&self) -> Option<&str> {
        self.method.as_ref().and(self.id.as_deref()).map(RawValue::get)
    }

    /// Returns the version of a modern message.
    pub(super) fn modern_version(&self) -> Option<&str> {
        let meta = self.params.as_ref().and_then(|params| params.meta.as_ref());
        meta.and_then(|meta| meta.version.as_deref())
    }

    /// Returns the name that a modern request has in its `Mcp-Name` header.
    pub(super) fn name(&self) -> Option<&str> {
        let params = self.params.as_ref()?;
        match self.method.as_deref()? {
            "tools/call" | "prompts/get" => params.name.as_deref(),
            "resources/read" => params.uri.as_deref(),
            _ => None,
        }
    }

    /// Returns the id of the request that the message cancels, as JSON.
    pub(super) fn cancelled(&self) -> Option<&str> {
        if self.method.as_deref() != Some("notifications/cancelled") {
            return None;
        }
        self.params.as_ref()?.request_id.as_deref().map(RawValue::get)
    }
}

/// A message of the server.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ServerMessage {
    id: Option<Box<RawValue>>,
    method: Option<IgnoredAny>,
}

impl ServerMessage {
    pub(super) fn of(message: &Spool) -> Self {
        parse(message).unwrap_or_default()
    }

    /// Returns whether the message is the response to a request.
    pub(super) fn responds_to(&self, request: &str) -> bool {
        self.method.is_none() && self.id.as_deref().is_some_and(|id| id.get() == request)
    }
}

#[derive(Deserialize)]
struct Initialized {
    result: InitializeResult,
}

#[derive(Deserialize)]
struct InitializeResult {
    #[serde(rename = "protocolVersion")]
    version: String,
}

/// Returns the version that the server chose in its response to `initialize`.
pub(super) fn chosen_version(message: &Spool) -> Option<String> {
    parse::<Initialized>(message).map(|message| message.result.version)
}

/// The headers that a tool wants for its arguments: the name of each argument and of its header.
pub(super) type ParameterHeaders = Vec<(String, String)>;

#[derive(Deserialize)]
struct Listed {
    result: ListResult,
}

#[derive(Deserialize)]
struct ListResult {
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
    #[serde(rename = "inputSchema")]
    schema: Schema,
}

#[derive(Deserialize)]
struct Schema {
    #[serde(default)]
    properties: HashMap<String, Property>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Property {
    WithHeader {
        #[serde(rename = "x-mcp-header")]
        header: String,
    },
    Other(IgnoredAny),
}

/// Returns the tools of a list that want headers.
pub(super) fn tools_with_headers(message: &Spool) -> Vec<(String, ParameterHeaders)> {
    let tools = parse::<Listed>(message).map(|listed| listed.result.tools).unwrap_or_default();
    let tools = tools.into_iter().map(|tool| {
        let properties = tool.schema.properties.into_iter();
        let headers = properties.filter_map(|(name, property)| match property {
            Property::WithHeader { header } => Some((name, header)),
            Property::Other(_) => None,
        });
        (tool.name, headers.collect::<ParameterHeaders>())
    });
    tools.filter(|(_, headers)| !headers.is_empty()).collect()
}

#[derive(Deserialize)]
struct Call {
    params: CallParams,
}

#[derive(Deserialize)]
struct CallParams {
    #[serde(default)]
    arguments: HashMap<String, Box<RawValue>>,
}

/// Returns the values of the headers for the arguments of a call: header and value.
pub(super) fn parameter_values(
    message: &Spool,
    wanted: &ParameterHeaders,
) -> Vec<(String, String)> {
    let Some(call) = parse::<Call>(message) else { return Vec::new() };
    let values = wanted.iter().filter_map(|(argument, header)| {
        let raw = call.params.arguments.get(argument)?.get();
        let text = match raw.as_bytes().first()? {
            b'"' => serde_json::from_str::<String>(raw).ok()?,
            b'{' | b'[' | b'n' => return None,
            _ => String::from(raw),
        };
        Some((format!("mcp-param-{header}"), text))
    });
    values.collect()
}

/// Returns a text as the value of a header: as it is if it is plain, else in base64. `None` if it is too long.
pub(super) fn header_text(text: &str) -> Option<String> {
    let plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    match text.len() {
        HEADER.. => None,
        _ if plain => Some(String::from(text)),
        _ => Some(format!("=?base64?{}?=", base64(text.as_bytes()))),
    }
}

/// Encodes bytes in base64 with padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = DIGITS.get((bits >> (18 - 6 * place)) as usize & 63);
            let digit = digit.filter(|_| place <= group.len());
            text.push(digit.map_or('=', |digit| char::from(*digit)));
        }
    }
    text
}

/// Parses a message. Members that are not asked for are skipped, so a long message takes little memory.
fn parse<T: DeserializeOwned>(message: &Spool) -> Option<T> {
    match message.as_slice() {
        Some(bytes) => serde_json::from_slice(bytes).ok(),
        None => serde_json::from_reader(io::BufReader::new(SpoolReader { message, at: 0 })).ok(),
    }
}

/// Reads a message that is in a file.
struct SpoolReader<'a> {
    message: &'a Spool,
    at: u64,
}

impl Read for SpoolReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let until = self.message.len().min(self.at + into.len() as u64);
        let bytes = self.message.to_vec(self.at..until, into.len()).map_err(io::Error::other)?;
        let (filled, _) = into.split_at_mut(bytes.len().min(into.len()));
        filled.copy_from_slice(&bytes);
        self.at = until;
        Ok(bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::{ClientMessage, ServerMessage, header_text, parameter_values, tools_with_headers};
    use tamis_mcp::spool::{Spool, SpoolLimits};

    fn spool(text: &str) -> Spool {
        // On disk, to test that way of reading too.
        let mut spool = Spool::new(SpoolLimits { held: 3, spill: 1 << 20 });
        spool.push(text.as_bytes()).unwrap();
        spool
    }

    #[test]
    fn headers_are_plain_or_base64() {
        let cases = [
            ("search", Some("search")),
            ("", Some("")),
            ("a b", Some("a b")),
            (" a", Some("=?base64?IGE=?=")),
            ("é", Some("=?base64?w6k=?=")),
            ("a\nb", Some("=?base64?YQpi?=")),
            ("=?base64?YQ==?=", Some("=?base64?PT9iYXNlNjQ/WVE9PT89?=")),
        ];
        for (text, header) in cases {
            assert_eq!(header_text(text).as_deref(), header, "{text:?}");
        }
        assert_eq!(header_text(&"x".repeat(5_000)), None);
    }

    #[test]
    fn members_of_client_messages() {
        let version = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
        let message = format!(
            r#"{{"params":{{"name":"n","arguments":{{"x":[1]}},{version}}},"method":"tools/call","id":"7"}}"#
        );
        let call = ClientMessage::of(&spool(&message));
        assert_eq!(call.request_id(), Some("\"7\""));
        assert_eq!((call.name(), call.modern_version()), (Some("n"), Some("2026-07-28")));
        let cancel = r#"{"method":"notifications/cancelled","params":{"requestId":7}}"#;
        let cancel = ClientMessage::of(&spool(cancel));
        assert_eq!((cancel.cancelled(), cancel.request_id()), (Some("7"), None));
        let response = ClientMessage::of(&spool(r#"{"id":1,"result":{}}"#));
        assert_eq!((response.request_id(), response.name()), (None, None));
        for other in ["[]", "nonsense", "{\"id\":1,\"params\":[1],\"method\":\"x\"}", ""] {
            assert_eq!(ClientMessage::of(&spool(other)).method, None, "{other}");
        }
    }

    #[test]
    fn responses_are_recognised_wherever_the_id_is() {
        let response = ServerMessage::of(&spool(r#"{"result":{"id":2},"jsonrpc":"2.0","id":1}"#));
        assert!(response.responds_to("1") && !response.responds_to("2"));
        let request = ServerMessage::of(&spool(r#"{"id":1,"method":"ping"}"#));
        assert!(!request.responds_to("1"));
    }

    #[test]
    fn tools_may_want_headers_for_arguments() {
        let list = r#"{"result":{"tools":[
            {"name":"a","inputSchema":{"type":"object","properties":{
                "region":{"type":"string","x-mcp-header":"Region"},"any":true,"other":{"type":"string"}}}},
            {"name":"b","inputSchema":{"type":"object"}}]}}"#;
        let tools = tools_with_headers(&spool(list));
        let wanted = vec![(String::from("region"), String::from("Region"))];
        assert_eq!(tools, [(String::from("a"), wanted.clone())]);
        let call = |value: &str| {
            let call = format!(r#"{{"params":{{"name":"a","arguments":{{"region":{value}}}}}}}"#);
            parameter_values(&spool(&call), &wanted).pop().map(|(_, value)| value)
        };
        for (value, header) in [
            ("\"e\\u00fc\"", Some("eü")),
            ("5", Some("5")),
            ("true", Some("true")),
            ("null", None),
            ("{}", None),
        ] {
            assert_eq!(call(value).as_deref(), header, "{value}");
        }
    }
}
