//! `AfterTool` of Gemini CLI: the output of a command, or the result of an MCP tool.
//!
//! Gemini CLI has no field for a replacement. A hook that denies gives a reason, which becomes the result of the tool,
//! labelled as an error; so the reason begins with how the call ended.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tamis_mcp::tool_result::ToolName;
use tamis_store::calls::{ShownBy, TextSize};

use super::command_text::CommandText;
use super::event::written;
use super::limits::MOST_TOKENS;
use super::mcp_result::{self, McpResult, NewResult};
use super::settings::HookSettings;

/// Gemini CLI marks what came from outside by these lines.
const OPEN: &str = "<untrusted_context>\n";
const CLOSE: &str = "\n</untrusted_context>";

#[derive(Debug, Deserialize)]
struct AfterTool<'a> {
    hook_event_name: String,
    tool_name: String,
    #[serde(borrow, default)]
    tool_input: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_response: &'a RawValue,
    #[serde(borrow, default)]
    mcp_context: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct ShellInput {
    command: String,
}

#[derive(Debug, Deserialize)]
struct ToolResponse<'a> {
    #[serde(borrow, rename = "llmContent")]
    content: &'a RawValue,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct McpContext {
    server_name: String,
    tool_name: String,
}

/// A part of the content. Parts without text are images and other data.
#[derive(Debug, Deserialize)]
struct Part {
    text: Option<String>,
}

#[derive(Debug, Deserialize)]
struct McpContent {
    content: Vec<Part>,
}

#[derive(Debug, Serialize)]
struct Denial {
    decision: &'static str,
    reason: String,
}

/// Returns the response to an event. `None`: nothing is printed.
pub(super) fn response(event: Option<&[u8]>, settings: &HookSettings) -> Option<Vec<u8>> {
    let parsed = event.and_then(|event| serde_json::from_slice::<AfterTool<'_>>(event).ok());
    let Some(event) = parsed else { return unreadable(settings) };
    if event.hook_event_name != "AfterTool" {
        return None;
    }
    let reason = if event.tool_name == "run_shell_command" {
        shell(&event, settings)?
    } else if event.mcp_context.is_some() || event.tool_name.starts_with("mcp_") {
        mcp(&event, settings)?
    } else {
        return None;
    };
    written(&Denial { decision: "deny", reason })
}

/// Withholds what cannot be read, if a rule may remove for safety.
fn unreadable(settings: &HookSettings) -> Option<Vec<u8>> {
    if !settings.may_remove_for_safety() {
        return None;
    }
    let reason = mcp_result::notice(mcp_result::UNREADABLE);
    written(&Denial { decision: "deny", reason })
}

/// The text of a command, and how it ended.
#[derive(Debug, PartialEq, Eq)]
struct ShellText<'a> {
    output: &'a str,
    /// The lines after the output: `Exit Code: 3`.
    trailer: &'a str,
    exit_code: Option<i32>,
}

impl<'a> ShellText<'a> {
    /// Reads `Output: TEXT`, followed by lines about the end of the command.
    fn read(content: &'a str) -> Option<Self> {
        let inner = content.strip_prefix(OPEN)?.strip_suffix(CLOSE)?;
        let text = inner.strip_prefix("Output: ")?;
        let mut end = text.len();
        let mut exit_code = Some(0);
        let mut has_trailer = false;
        while let Some(before) = text.get(..end) {
            let start = before.rfind('\n').map_or(0, |at| at + 1);
            let line = before.get(start..)?;
            let Some((name, value)) = line.split_once(": ") else { break };
            if start == 0 {
                // A line of the output itself.
                break;
            }
            match name {
                "Exit Code" => exit_code = value.trim().parse().ok(),
                "Signal" => exit_code = value.trim().parse::<i32>().ok().map(|code| 128 + code),
                "Process Group PGID" | "Background PIDs" | "Error" => {}
                _ => break,
            }
            has_trailer = true;
            end = start - 1;
        }
        // Without any of these lines the form is another one.
        if !has_trailer {
            return None;
        }
        let (output, trailer) = text.split_at_checked(end)?;
        Some(Self { output, trailer, exit_code })
    }
}

fn shell(event: &AfterTool<'_>, settings: &HookSettings) -> Option<String> {
    let input: ShellInput = serde_json::from_str(event.tool_input?.get()).ok()?;
    let response: ToolResponse<'_> = serde_json::from_str(event.tool_response.get()).ok()?;
    let content: String = serde_json::from_str(response.content.get()).ok()?;
    let text = ShellText::read(&content)?;
    let command = CommandText {
        command: &input.command,
        output: text.output,
        exit_code: text.exit_code,
        most_tokens: MOST_TOKENS,
        counts_bytes: false,
        agent: ShownBy::Gemini,
    };
    let shown = ShownBy::Gemini.of_command(TextSize::of(&content), false);
    let filtered = command.filter(settings);
    let body = filtered.as_ref().map(|filtered| filtered.text.trim_end_matches('\n'));
    let must_replace = filtered.as_ref().is_some_and(|filtered| filtered.must_replace);
    let is_used = |body: &str| must_replace || is_worthwhile(text.output.len(), body.len());
    let (Some(body), Some(filtered)) = (body.filter(|body| is_used(body)), &filtered) else {
        settings.log(&command.unchanged(shown));
        return None;
    };
    let end = match text.exit_code {
        Some(0) => "the command succeeded (exit code 0)".to_owned(),
        Some(code) => format!("the command failed (exit code {code})"),
        None => "it is not known how the command ended".to_owned(),
    };
    let reason = format!(
        "[tamis: {end}; this is its filtered output]\n{OPEN}Output: {body}{}{CLOSE}",
        text.trailer
    );
    let sizes = [shown, reason.len() as u64];
    settings.log(&filtered.call.clone().with_shown(Some(ShownBy::Gemini), sizes));
    Some(reason)
}

/// Returns whether a replacement saves so much that the label as an error is worth it.
#[must_use]
pub fn is_worthwhile(before: usize, after: usize) -> bool {
    let saved = before.saturating_sub(after);
    saved >= 400 && saved >= before / 5
}

fn names(event: &AfterTool<'_>) -> Vec<ToolName> {
    let context = event.mcp_context.and_then(|raw| serde_json::from_str(raw.get()).ok());
    if let Some(McpContext { server_name, tool_name }) = context {
        return vec![ToolName::of_server(&server_name, &tool_name)];
    }
    ToolName::of_joined(event.tool_name.trim_start_matches("mcp_"), "_")
}

fn mcp(event: &AfterTool<'_>, settings: &HookSettings) -> Option<String> {
    let names = names(event);
    let response: Option<ToolResponse<'_>> = serde_json::from_str(event.tool_response.get()).ok();
    let is_error = response.as_ref().is_some_and(|response| response.error.is_some());
    let texts = response.and_then(|response| texts(response.content.get()));
    // A form that is not known is filtered like an unreadable result.
    let (texts, has_others) = texts.unwrap_or_default();
    let blocks = texts.iter().map(|text| {
        let text = serde_json::Value::from(unwrapped(text));
        format!(r#"{{"type":"text","text":{text}}}"#)
    });
    let result =
        format!(r#"{{"content":[{}],"isError":{is_error}}}"#, blocks.collect::<Vec<_>>().join(","));
    let (new, is_safety) = match mcp_result::filter(settings, &names, result.as_bytes()) {
        McpResult::Unchanged => return None,
        // The reason is text, so data in addition to the text would be lost.
        McpResult::Saved(new) if has_others && new.call.invisible == 0 => return None,
        McpResult::Saved(new) => (new, false),
        McpResult::Protected(new) => (new, true),
    };
    let NewResult { bytes, call } = new;
    let filtered: McpContent = serde_json::from_slice(&bytes).ok()?;
    let mut parts: Vec<String> = Vec::new();
    for part in filtered.content.into_iter().filter_map(|part| part.text) {
        parts.push(match part.starts_with("[tamis: ") {
            true => part,
            false => format!("{OPEN}{part}{CLOSE}"),
        });
    }
    let before: usize = texts.iter().map(|text| unwrapped(text).len()).sum();
    let after: usize = parts.iter().map(String::len).sum();
    let must_replace = is_safety || call.invisible > 0;
    if !must_replace && !is_worthwhile(before, after) {
        return None;
    }
    let end = if is_error { "the call failed" } else { "the call succeeded" };
    let left_out = if has_others { "; images and other data are left out" } else { "" };
    let first = format!("[tamis: {end}; this is its filtered result{left_out}]");
    let reason = std::iter::once(first).chain(parts).collect::<Vec<_>>().join("\n");
    let shown = texts.iter().map(|text| ShownBy::Gemini.of_mcp_result(TextSize::of(text))).sum();
    settings.log(&call.with_shown(Some(ShownBy::Gemini), [shown, reason.len() as u64]));
    Some(reason)
}

/// Returns the texts of a content, and whether it has other parts.
fn texts(content: &str) -> Option<(Vec<String>, bool)> {
    if let Ok(text) = serde_json::from_str::<String>(content) {
        return Some((vec![text], false));
    }
    let parts: Vec<Part> = serde_json::from_str(content).ok()?;
    let count = parts.len();
    let texts: Vec<String> = parts.into_iter().filter_map(|part| part.text).collect();
    let has_others = texts.len() < count;
    Some((texts, has_others))
}

/// Returns a text without the lines that mark it as foreign.
fn unwrapped(text: &str) -> &str {
    text.strip_prefix(OPEN).and_then(|text| text.strip_suffix(CLOSE)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::ShellText;

    #[test]
    fn the_end_of_a_command_is_read_from_the_last_lines() {
        for (inner, output, exit_code) in [
            ("Output: a\nb\nProcess Group PGID: 7", "a\nb", Some(0)),
            ("Output: a\nExit Code: 3\nProcess Group PGID: 7", "a", Some(3)),
            ("Output: Exit Code: 3\nProcess Group PGID: 7", "Exit Code: 3", Some(0)),
            ("Output: (empty)\nSignal: 9\nProcess Group PGID: 7", "(empty)", Some(137)),
        ] {
            let content = format!("<untrusted_context>\n{inner}\n</untrusted_context>");
            let text = ShellText::read(&content).unwrap();
            assert_eq!((text.output, text.exit_code), (output, exit_code), "{inner}");
        }
        for content in [
            "Output: a\nProcess Group PGID: 7",
            "<untrusted_context>\nOutput: a\n</untrusted_context>",
            "<untrusted_context>\nCommand moved to background (PID: 1).\n</untrusted_context>",
        ] {
            assert_eq!(ShellText::read(content), None, "{content}");
        }
    }
}
