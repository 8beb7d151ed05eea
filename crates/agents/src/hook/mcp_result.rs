//! Filters the result of an MCP tool by the rules of the user's `tamis.yaml`.

use tamis_gateway::tool_result::{ResultFilter, ToolName};

use super::settings::HookSettings;

/// What becomes of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum McpResult {
    /// It passes as it came.
    Unchanged,
    /// This JSON text replaces it. A filter that only saves made it.
    Saved(Vec<u8>),
    /// This JSON text replaces it. The filter removes for safety.
    Protected(Vec<u8>),
}

/// Filters a result: the JSON text of an object with `content`.
pub(super) fn filter(settings: &HookSettings, names: &[ToolName], result: &[u8]) -> McpResult {
    let Some(config) = settings.config.clone() else {
        return if settings.may_remove_for_safety() {
            McpResult::Protected(withheld("the file tamis.yaml is not valid"))
        } else {
            McpResult::Unchanged
        };
    };
    let Ok(filter) = ResultFilter::new(config, names, settings.store()) else {
        return if settings.may_remove_for_safety() {
            McpResult::Protected(withheld("the rules of tamis.yaml cannot be used"))
        } else {
            McpResult::Unchanged
        };
    };
    let filtered = filter.run(result);
    match filtered.bytes {
        None => McpResult::Unchanged,
        Some(bytes) if filter.removes_for_safety() || filtered.is_withheld() => {
            McpResult::Protected(bytes)
        }
        Some(bytes) => McpResult::Saved(bytes),
    }
}

/// Returns the sentence that replaces an output which must not pass.
pub(super) fn notice(reason: &str) -> String {
    format!(
        "[tamis: the tool did run, but its output is withheld: {reason}. Calling it again repeats what it did.]"
    )
}

/// Returns a result that says that the output is withheld.
pub(super) fn withheld(reason: &str) -> Vec<u8> {
    let text = serde_json::Value::from(notice(reason));
    format!(r#"{{"content":[{{"type":"text","text":{text}}}],"isError":true}}"#).into_bytes()
}

/// The reason if an event cannot be read, so that it is not known which rules apply.
pub(super) const UNREADABLE: &str =
    "the event of the agent cannot be read, and some rules of tamis.yaml remove for safety";
