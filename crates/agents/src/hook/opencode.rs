//! `tool.execute.after` of opencode, which our plugin hands on, and the text of the plugin.
//!
//! | tool | the plugin sends | it gets, and puts in place |
//! |---|---|---|
//! | `bash` | `{"tool", "args", "output", "metadata"}` | `{"output"}` |
//! | of an MCP server | `{"tool", "args", "content", "structuredContent"}` | `{"content", "structuredContent"}` |

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tamis_mcp::config::ConfigFiles;
use tamis_mcp::tool_result::ToolName;
use tamis_store::calls::{ShownBy, TextSize};

use super::command_text::{CommandText, FilteredText};
use super::event::{read_text, written};
use super::limits::MOST_TOKENS;
use super::mcp_result::{self, McpResult, NewResult};
use super::settings::HookSettings;

/// The names of the tool that runs commands.
const SHELL_TOOLS: [&str; 2] = ["bash", "shell"];

/// opencode ends the output of a command that it stopped with this part.
const SHELL_METADATA: &str = "\n\n<shell_metadata>";

#[derive(Debug, Deserialize)]
struct AfterTool<'a> {
    tool: String,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
    #[serde(borrow, default)]
    output: Option<&'a RawValue>,
    #[serde(borrow, default)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct ShellArgs {
    command: String,
}

#[derive(Debug, Default, Deserialize)]
struct ShellMetadata {
    #[serde(default)]
    exit: Option<i32>,
    #[serde(default, rename = "outputPath")]
    output_path: Option<String>,
}

#[derive(Debug, Serialize)]
struct OutputAnswer {
    output: String,
}

#[derive(Debug, Deserialize, Serialize)]
struct ContentAnswer<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
    #[serde(
        borrow,
        default,
        rename = "structuredContent",
        skip_serializing_if = "Option::is_none"
    )]
    structured: Option<&'a RawValue>,
}

/// Returns the response to an event. `None`: nothing is printed.
pub(super) fn response(event: Option<&[u8]>, settings: &HookSettings) -> Option<Vec<u8>> {
    let parsed = event.and_then(|event| serde_json::from_slice::<AfterTool<'_>>(event).ok());
    let Some(event) = parsed else {
        // The form of the tool's output is not known, so both forms are given.
        if !settings.may_remove_for_safety() {
            return None;
        }
        let text = serde_json::Value::from(mcp_result::notice(mcp_result::UNREADABLE));
        let answer = format!(r#"{{"output":{text},"content":[{{"type":"text","text":{text}}}]}}"#);
        return Some(format!("{answer}\n").into_bytes());
    };
    if event.content.is_some() || event.structured.is_some() {
        return mcp(&event, settings);
    }
    if SHELL_TOOLS.contains(&event.tool.as_str()) {
        return written(&OutputAnswer { output: shell(&event, settings)? });
    }
    None
}

fn shell(event: &AfterTool<'_>, settings: &HookSettings) -> Option<String> {
    let args: ShellArgs = serde_json::from_str(event.args?.get()).ok()?;
    let shown: String = serde_json::from_str(event.output?.get()).ok()?;
    let metadata = event.metadata.and_then(|raw| serde_json::from_str(raw.get()).ok());
    let metadata: ShellMetadata = metadata.unwrap_or_default();
    // Long outputs were cut before, and are in a file.
    let full = metadata.output_path.as_deref().map(|path| read_text(Path::new(path)));
    let whole = match full {
        Some(full) => full?,
        None => shown.clone(),
    };
    let (output, rest) = parts(&whole)?;
    let command = CommandText {
        command: &args.command,
        output,
        exit_code: metadata.exit,
        most_tokens: MOST_TOKENS,
        counts_bytes: false,
        agent: ShownBy::Opencode,
    };
    let before = shown.len() as u64;
    let with_end = |filtered: FilteredText, rest: &str| -> FilteredText {
        let mut text = filtered.text;
        // The text that opencode shows to the model has no exit code, and the lines that had it may be gone.
        if let Some(code) = metadata.exit.filter(|code| *code != 0) {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&format!("[tamis: the command failed (exit code {code})]\n"));
        }
        text.push_str(rest);
        FilteredText { text, ..filtered }
    };
    let is_cut = metadata.output_path.is_some();
    let filtered = command.filter(settings).map(|filtered| with_end(filtered, rest));
    // The part that opencode cut is fetched only if the result is not longer.
    let is_used = |filtered: &FilteredText| {
        filtered.text.len() < shown.len() || filtered.must_replace && !is_cut
    };
    let of_shown = || {
        let (output, rest) = parts(&shown).filter(|_| is_cut)?;
        let cleaned = CommandText { output, ..command }.clean(settings)?;
        Some(with_end(cleaned, rest))
    };
    let Some(FilteredText { text, call, .. }) = filtered.filter(is_used).or_else(of_shown) else {
        settings.log(&command.unchanged(before));
        return None;
    };
    settings.log(&call.with_shown(Some(ShownBy::Opencode), [before, text.len() as u64]));
    Some(text)
}

/// Returns an output and the part that opencode ends it with.
fn parts(whole: &str) -> Option<(&str, &str)> {
    match whole.rfind(SHELL_METADATA) {
        Some(at) => whole.split_at_checked(at),
        None => Some((whole, "")),
    }
}

fn mcp(event: &AfterTool<'_>, settings: &HookSettings) -> Option<Vec<u8>> {
    let names = ToolName::of_joined(&event.tool, "_");
    let content = event.content.map_or("[]", RawValue::get);
    let structured = event.structured.map_or_else(String::new, |structured| {
        format!(r#","structuredContent":{}"#, structured.get())
    });
    let result = format!(r#"{{"content":{content}{structured}}}"#);
    let NewResult { bytes, call } = match mcp_result::filter(settings, &names, result.as_bytes()) {
        McpResult::Unchanged => return None,
        McpResult::Saved(new) | McpResult::Protected(new) => new,
    };
    let sizes = [result.as_bytes(), &bytes].map(|result| shown_text(result).unwrap_or_default());
    let shown = sizes.map(|size| ShownBy::Opencode.of_mcp_result(size));
    settings.log(&call.with_shown(Some(ShownBy::Opencode), shown));
    written(&serde_json::from_slice::<ContentAnswer<'_>>(&bytes).ok()?)
}

/// Returns the size of the text of a result, which is what opencode shows of it.
fn shown_text(result: &[u8]) -> Option<TextSize> {
    #[derive(Deserialize)]
    struct Block {
        text: Option<String>,
    }
    #[derive(Deserialize)]
    struct WithContent {
        content: Vec<Block>,
    }
    let result: WithContent = serde_json::from_slice(result).ok()?;
    let sizes = result.content.iter().filter_map(|block| Some(TextSize::of(block.text.as_ref()?)));
    Some(sizes.fold(TextSize::default(), |all, one| TextSize {
        bytes: all.bytes + one.bytes,
        chars: all.chars + one.chars,
    }))
}

/// Returns the text of the plugin, a JavaScript module. `files` is the configuration that the hook reads, `program` the
/// file that it starts.
///
/// The plugin never throws, waits for `tamis` for ten seconds at most, and leaves the output unchanged if there is no
/// response.
#[must_use]
pub fn plugin(files: ConfigFiles, program: &Path) -> String {
    let config = if files == ConfigFiles::User { "user" } else { "project" };
    let program = serde_json::Value::from(program.to_string_lossy());
    include_str!("opencode_plugin.js")
        .replace("@CONFIG@", config)
        .replace("@PROGRAM@", &program.to_string())
}
