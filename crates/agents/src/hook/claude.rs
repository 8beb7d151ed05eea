//! `PostToolUse` of Claude Code: results of its own tools Grep, Glob and WebFetch, and outputs of Bash.
//!
//! Claude Code checks that a replacement has the shape of the tool's result, and shows the original otherwise. The
//! hook replaces the text that it shows: `content` of Grep with lines or counts, `filenames` of Grep and Glob, and `result` of
//! WebFetch, which is the page itself for Markdown of hosts that Claude Code knows, and else what a model made of it. Seen in version
//! 2.1.332. Results of Read, and of tools that edit, are never changed: the agent compares them with files.
//!
//! Shorter results are only cleaned of invisible characters and imitated notices.
//!
//! Claude Code shows a preview of 2 KB of a result of Grep or Glob with more than 20,000 characters, and of WebFetch with more than
//! 50,000. Such a result is cut to the same size.
//!
//! An installation filters commands by the shell prefix, which also sees those that fail, and starts this hook for the other
//! tools only. A plugin cannot set the prefix, so its hook handles the outputs of Bash, too: those of commands that succeeded.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tamis_manifest::NativeTools;
use tamis_store::calls::{OutputKind, ShownBy, TextSize};

use super::command_text::{CommandText, FilteredText};
use super::event::{read_text, written};
use super::limits::MOST_TOKENS;
use super::settings::HookSettings;

/// Results with fewer tokens pass unchanged, unless `native` is set.
const NATIVE_TOKENS: u64 = 4_000;

#[derive(Debug, Deserialize)]
struct PostToolUse {
    hook_event_name: String,
    tool_name: String,
    #[serde(default)]
    permission_mode: String,
    #[serde(default)]
    tool_input: Map<String, Value>,
    tool_response: Map<String, Value>,
}

/// Returns the response to an event. `None`: nothing is printed, and the result is unchanged.
pub(super) fn response(event: &[u8], settings: &HookSettings) -> Option<Vec<u8>> {
    let event: PostToolUse = serde_json::from_slice(event).ok()?;
    if event.hook_event_name != "PostToolUse" || event.permission_mode == "plan" {
        return None;
    }
    let most_tokens = match settings.native() {
        Some(NativeTools::Tokens(tokens)) => tokens,
        Some(_) => return None,
        None => NATIVE_TOKENS,
    };
    if event.tool_name == "Bash" {
        return shell(event, settings);
    }
    let part = ShownText::of(&event)?;
    let before = ShownBy::ClaudeCode.of(part.kind, TextSize::of(&part.text));
    let is_preview = before < part.text.len() as u64;
    let is_short = part.text.len() as u64 <= most_tokens.saturating_mul(4);
    let command = CommandText {
        command: &part.command,
        output: &part.text,
        exit_code: Some(0),
        most_tokens: if is_preview { most_tokens.min(PREVIEW_TOKENS) } else { most_tokens },
        counts_bytes: true,
        agent: ShownBy::ClaudeCode,
    };
    let is_filtered = !is_short && settings.shortens_commands();
    let filtered = if is_filtered { command.filter(settings) } else { None };
    let is_used =
        |filtered: &FilteredText| filtered.must_replace || (filtered.text.len() as u64) < before;
    let cleaned = || command.clean(settings).filter(|_| !is_preview);
    let (filtered, ends) = match filtered.filter(is_used) {
        Some(filtered) => (filtered, "\n"),
        None => (cleaned()?, ""),
    };
    let after = filtered.text.len() as u64;
    let call = filtered.call.with_tool(event.tool_name.clone());
    settings.log(&call.with_shown(Some(ShownBy::ClaudeCode), [before, after]));
    let mut result = event.tool_response;
    let text = filtered.text.strip_suffix(ends).unwrap_or(&filtered.text);
    let value = match part.member {
        "filenames" => text.lines().collect(),
        _ => json!(text),
    };
    result.insert(part.member.to_owned(), value);
    written(&json!({
        "hookSpecificOutput": { "hookEventName": "PostToolUse", "updatedToolOutput": result }
    }))
}

/// The most tokens of an output of which Claude Code would have shown a preview.
const PREVIEW_TOKENS: u64 = 500;

/// Filters the output of a command that succeeded.
fn shell(event: PostToolUse, settings: &HookSettings) -> Option<Vec<u8>> {
    const FILE: &str = "persistedOutputPath";
    let mut result = event.tool_response;
    let is_true = |name: &str| result.get(name).and_then(Value::as_bool).unwrap_or(false);
    if result.contains_key("backgroundTaskId") || is_true("isImage") || is_true("interrupted") {
        return None;
    }
    let shown = result.get("stdout")?.as_str()?;
    // The shell prefix has filtered it.
    if shown.contains("[tamis") {
        return None;
    }
    let whole = match result.get(FILE).and_then(Value::as_str) {
        Some(path) => read_text(Path::new(path))?,
        None => shown.to_owned(),
    };
    let before = ShownBy::ClaudeCode.of_command(TextSize::of(&whole), false);
    let is_preview = before < whole.len() as u64;
    let command = CommandText {
        command: event.tool_input.get("command")?.as_str()?,
        output: &whole,
        exit_code: Some(0),
        most_tokens: if is_preview { PREVIEW_TOKENS } else { MOST_TOKENS },
        counts_bytes: is_preview,
        agent: ShownBy::ClaudeCode,
    };
    let filtered = command.filter(settings)?;
    let after = filtered.text.len() as u64;
    if after >= before && !filtered.must_replace {
        return None;
    }
    settings.log(&filtered.call.with_shown(Some(ShownBy::ClaudeCode), [before, after]));
    result.insert("stdout".to_owned(), json!(filtered.text.trim_end_matches('\n')));
    // With these, Claude Code would show a preview again.
    for name in [FILE, "persistedOutputSize"] {
        result.remove(name);
    }
    written(&json!({
        "hookSpecificOutput": { "hookEventName": "PostToolUse", "updatedToolOutput": result }
    }))
}

/// The text of a result that Claude Code shows.
struct ShownText {
    /// The member that has it.
    member: &'static str,
    kind: OutputKind,
    text: String,
    /// A command that prints lines of this kind, whose filter applies.
    command: String,
}

impl ShownText {
    fn of(event: &PostToolUse) -> Option<Self> {
        let member = |name: &str| event.tool_response.get(name);
        let mode = member("mode").and_then(Value::as_str);
        let names = || -> Option<String> {
            let names = member("filenames")?.as_array()?;
            let names: Option<Vec<&str>> = names.iter().map(Value::as_str).collect();
            Some(names?.join("\n"))
        };
        let content = || Some(member("content")?.as_str()?.to_owned());
        let numbers = event.tool_input.get("-n").and_then(Value::as_bool).unwrap_or(true);
        let (shown, text, command) = match (event.tool_name.as_str(), mode) {
            ("Grep", Some("content")) => {
                ("content", content()?, if numbers { "grep -rn x ." } else { "grep -r x ." })
            }
            ("Grep", Some("count")) => ("content", content()?, "grep -rc x ."),
            ("Grep", Some("files_with_matches")) => ("filenames", names()?, "find ."),
            ("Glob", _) => ("filenames", names()?, "find ."),
            ("WebFetch", _) => ("result", member("result")?.as_str()?.to_owned(), "WebFetch"),
            _ => return None,
        };
        let kind = if shown == "result" { OutputKind::WebPage } else { OutputKind::Search };
        Some(Self { member: shown, kind, text, command: command.to_owned() })
    }
}
