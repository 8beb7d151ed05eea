//! `postToolUse` of Cursor: results of MCP tools. Cursor takes no replacement for its own tools.
//!
//! An empty standard output counts as a failure there, so "nothing" is an empty object.

use serde::Deserialize;
use serde_json::value::RawValue;
use tamis_mcp::tool_result::ToolName;

use super::mcp_result::{self, McpResult, NewResult};
use super::settings::HookSettings;

/// The response that changes nothing.
const NOTHING: &[u8] = b"{}\n";

/// Cursor puts this before the names of MCP tools.
const PREFIX: &str = "MCP:";

#[derive(Debug, Deserialize)]
struct PostToolUse<'a> {
    hook_event_name: Option<String>,
    tool_name: String,
    #[serde(borrow, default)]
    tool_output: Option<&'a RawValue>,
}

/// Returns the response to an event.
pub(super) fn response(event: Option<&[u8]>, settings: &HookSettings) -> Vec<u8> {
    let parsed = event.and_then(|event| serde_json::from_slice::<PostToolUse<'_>>(event).ok());
    let Some(event) = parsed else {
        if settings.may_remove_for_safety() {
            return changed(&mcp_result::withheld(mcp_result::UNREADABLE));
        }
        return NOTHING.to_vec();
    };
    let is_other = event.hook_event_name.is_some_and(|name| name != "postToolUse");
    let Some(name) = event.tool_name.strip_prefix(PREFIX).filter(|_| !is_other) else {
        return NOTHING.to_vec();
    };
    let Some(output) = event.tool_output else { return NOTHING.to_vec() };
    let (result, is_wrapped) = result(output.get());
    let names = ToolName::of_joined(name, ":");
    let NewResult { bytes, call } = match mcp_result::filter(settings, &names, result.as_bytes()) {
        McpResult::Unchanged => return NOTHING.to_vec(),
        McpResult::Saved(new) | McpResult::Protected(new) => new,
    };
    settings.log(&call);
    // A document that had no `content` is a text again.
    match text(&bytes).filter(|_| is_wrapped) {
        Some(text) => changed(text.as_bytes()),
        None => changed(&bytes),
    }
}

/// Returns the result as an object with `content`, and whether its text was put into one. Cursor sends the JSON text of
/// the result as a string.
fn result(output: &str) -> (String, bool) {
    let text = serde_json::from_str::<String>(output).unwrap_or_else(|_error| output.to_owned());
    #[derive(Deserialize)]
    struct WithContent<'a> {
        #[serde(borrow)]
        content: &'a RawValue,
    }
    let has_content = serde_json::from_str::<WithContent<'_>>(&text)
        .is_ok_and(|result| result.content.get().starts_with('['));
    if has_content {
        return (text, false);
    }
    let text = serde_json::Value::from(text);
    (format!(r#"{{"content":[{{"type":"text","text":{text}}}]}}"#), true)
}

/// Returns the texts of a result as one JSON string.
fn text(result: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Part {
        text: Option<String>,
    }
    #[derive(Deserialize)]
    struct Content {
        content: Vec<Part>,
    }
    let content: Content = serde_json::from_slice(result).ok()?;
    let texts: Vec<String> = content.content.into_iter().filter_map(|part| part.text).collect();
    Some(serde_json::Value::from(texts.join("\n")).to_string())
}

fn changed(output: &[u8]) -> Vec<u8> {
    [b"{\"updated_mcp_tool_output\":".as_slice(), output, b"}\n"].concat()
}
