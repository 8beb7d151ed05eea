//! Filters the result of an MCP tool by the rules of the user's `tamis.yaml`.

use std::collections::BTreeMap;

use tamis::text::InvisibleFilter;
use tamis_mcp::record::CallRecord;
use tamis_mcp::tool_result::{ResultFilter, ToolName};
use tamis_store::OmissionNotice;
use tamis_store::calls::CallLine;

use super::settings::HookSettings;

/// The outcome for a result.
#[derive(Clone, Debug)]
pub(super) enum McpResult {
    /// It is unchanged.
    Unchanged,
    /// This one replaces it. A filter that only saves made it.
    Saved(NewResult),
    /// This one replaces it. The filter removes for safety.
    Protected(NewResult),
}

/// A new result.
#[derive(Clone, Debug)]
pub(super) struct NewResult {
    /// Its JSON text.
    pub(super) bytes: Vec<u8>,
    /// The call, for the log of savings.
    pub(super) call: CallLine<'static>,
}

/// Filters a result: the JSON text of an object with `content`.
pub(super) fn filter(settings: &HookSettings, names: &[ToolName], result: &[u8]) -> McpResult {
    let tool = names.first().map_or("", |name| name.tool.as_str());
    let bytes_in = result.len() as u64;
    let unusable = |reason| {
        if !settings.may_remove_for_safety() {
            return McpResult::Unchanged;
        }
        let bytes = withheld(reason);
        let call = CallLine::new(tool, "manifest", [bytes_in, bytes.len() as u64]);
        let call = call.with_outcome("failed_closed", Some(reason)).into_owned();
        McpResult::Protected(NewResult { bytes, call })
    };
    let Some(config) = settings.config.clone() else {
        return unusable("the file tamis.yaml is not valid");
    };
    let Ok(filter) = ResultFilter::new(config, names, settings.store()) else {
        return unusable("the rules of tamis.yaml cannot be used");
    };
    if !filter.removes_for_safety() && is_shortened(result) {
        return cleaned(settings, tool, result);
    }
    let filtered = filter.run(result);
    let protects = filter.removes_for_safety() || filtered.is_withheld();
    let Some(bytes) = filtered.bytes else { return McpResult::Unchanged };
    let (rule, outcome, reason, handle) = match &filtered.record {
        None => ("", "filtered", None, None),
        Some(CallRecord { source, outcome, reason, handle, .. }) => {
            (source.as_str(), outcome.as_str(), *reason, handle.as_deref())
        }
    };
    let none = BTreeMap::new();
    let redacted = filtered.record.as_ref().map_or(&none, |record| &record.redacted);
    let call = CallLine::new(tool, rule, [bytes_in, bytes.len() as u64])
        .with_redacted(redacted)
        .with_outcome(outcome, reason)
        .with_handle(handle)
        .with_invisible(filtered.record.as_ref().map_or(0, |record| record.invisible))
        .into_owned();
    let new = NewResult { bytes, call };
    if protects { McpResult::Protected(new) } else { McpResult::Saved(new) }
}

/// Removes invisible characters from a result that is not filtered again.
fn cleaned(settings: &HookSettings, tool: &str, result: &[u8]) -> McpResult {
    let mut filter = InvisibleFilter::json();
    let bytes = settings.removes_invisible().then(|| filter.apply(result)).flatten();
    let Some(bytes) = bytes else { return McpResult::Unchanged };
    let call = CallLine::new(tool, "", [result.len() as u64, bytes.len() as u64])
        .with_outcome("filtered", None)
        .with_invisible(filter.report().total())
        .into_owned();
    McpResult::Saved(NewResult { bytes, call })
}

/// Returns whether a proxy has shortened the result: it names the tool that fetches the rest. A server that imitates it
/// only keeps its own result long.
fn is_shortened(result: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(result) else { return false };
    // Behind another proxy, the name of the tool has a number after it.
    text.split(OmissionNotice::TOOL).skip(1).any(|rest| {
        let rest = rest.trim_start_matches(|it: char| it == '_' || it.is_ascii_digit());
        rest.starts_with(r#"(handle=\"tm_"#)
    })
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
