//! Transcripts of Claude Code: `~/.claude/projects/PROJECT/SESSION.jsonl`, one JSON object a line.
//!
//! Seen in transcripts that Claude Code 2.1.197 and 2.1.332 wrote against a scripted model:
//!
//! | line | what is read |
//! |---|---|
//! | `type: user`, `message.content` a string or blocks | texts; `tool_result` blocks: what the model received |
//! | … `toolUseResult` | `stdout` and `stderr` of a command (the first 30,000 characters), `persistedOutputPath`; the blocks of an MCP tool, whole |
//! | `type: assistant`, `message.content` blocks | `text`, `thinking`, `tool_use` |
//! | … `message.id`, `message.usage` | the tokens of the request. A response is several lines with the same id, each with the usage so far |
//! | `type: system`, `subtype: compact_boundary`; `isCompactSummary` | the history was summarised |
//! | others, such as `attachment` and `queue-operation` | nothing |
//!
//! A successful output over 30,000 bytes is kept in `SESSION/tool-results/`, and the model receives `<persisted-output>` with
//! 2,000 characters. Sessions that were resumed repeat lines of others; a line is counted once, by its `uuid`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tamis_agents::agent::Agent;

use super::event::{Call, Event, Events, Request, SessionStart, Skipped, ToolKind, ToolResult};
use super::seen::Seen;
use super::{files, strings};
use crate::cost::Usage;

/// The most calls that wait for their result.
const MOST_CALLS: usize = 10_000;

/// Begins a result that the agent keeps in a file.
const KEPT: &str = "<persisted-output>";

/// Reads the lines of one file.
pub(super) struct ClaudeReader<'a> {
    events: &'a mut dyn Events,
    seen: &'a mut Seen,
    skipped: &'a mut Skipped,
    calls: HashMap<String, Call>,
    /// The last request, and its usage.
    last: Option<(String, Usage)>,
    results: PathBuf,
    begun: bool,
}

impl<'a> ClaudeReader<'a> {
    pub(super) fn new(
        path: &Path,
        events: &'a mut dyn Events,
        seen: &'a mut Seen,
        skipped: &'a mut Skipped,
    ) -> Self {
        let results = path.with_extension("").join("tool-results");
        Self { events, seen, skipped, calls: HashMap::new(), last: None, results, begun: false }
    }

    pub(super) fn line(&mut self, line: &Value, place: u64) {
        self.events.at(place);
        // Lines before the first message have no version.
        if !self.begun && line.get("message").is_some() {
            self.begun = true;
            let version = strings::text(line, "version").to_owned();
            self.events.event(Event::Session(&SessionStart { agent: Agent::ClaudeCode, version }));
        }
        let uuid = line.get("uuid").and_then(Value::as_str);
        if uuid.is_some_and(|uuid| !self.seen.insert(uuid)) {
            self.skipped.repeated += 1;
            return;
        }
        let is_summary = line.get("isCompactSummary").and_then(Value::as_bool) == Some(true);
        if is_summary || strings::text(line, "subtype") == "compact_boundary" {
            self.events.event(Event::Compacted);
        }
        let Some(message) = line.get("message") else { return };
        match strings::text(line, "type") {
            "user" => self.user(message, line.get("toolUseResult")),
            "assistant" => self.assistant(message),
            _ => {}
        }
    }

    fn user(&mut self, message: &Value, detail: Option<&Value>) {
        match message.get("content") {
            Some(Value::String(text)) => self.events.event(Event::Other(text)),
            Some(Value::Array(blocks)) => {
                for block in blocks {
                    match strings::text(block, "type") {
                        "text" => self.events.event(Event::Other(strings::text(block, "text"))),
                        "tool_result" => self.result(block, detail),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn result(&mut self, block: &Value, detail: Option<&Value>) {
        let Some(call) = self.calls.remove(strings::text(block, "tool_use_id")) else {
            self.skipped.repeated += 1;
            return;
        };
        let received = block.get("content").and_then(strings::content).unwrap_or_default();
        let kind = match call.tool.as_str() {
            "Bash" => ToolKind::Shell,
            name if name.starts_with("mcp__") => ToolKind::Mcp,
            _ => ToolKind::Native,
        };
        let is_error = block.get("is_error").and_then(Value::as_bool) == Some(true);
        let is_kept = received.starts_with(KEPT);
        let (full, is_complete) = match is_kept {
            true => self.full(kind, &received, detail),
            // A failure has its first 30,000 characters, of which the middle is cut out.
            false => (None, !is_cut_failure(&received)),
        };
        let exit_code = match kind {
            ToolKind::Shell if is_error => received
                .strip_prefix("Exit code ")
                .and_then(|rest| rest.lines().next()?.trim().parse().ok()),
            ToolKind::Shell => Some(0),
            _ => None,
        };
        let result =
            ToolResult { call, received, full, is_complete, is_kept, is_error, exit_code, kind };
        self.events.event(Event::Result(&result));
    }

    /// Returns the output of a result that is kept in a file, and whether that is all of it.
    fn full(
        &self,
        kind: ToolKind,
        received: &str,
        detail: Option<&Value>,
    ) -> (Option<String>, bool) {
        if let Some(text) = detail.filter(|_| kind == ToolKind::Mcp).and_then(strings::content) {
            return (Some(text), true);
        }
        let named = received.split_once("saved to: ").and_then(|(_, rest)| rest.lines().next());
        if let Some((text, is_complete)) = named.and_then(|path| files::read(&self.results, path)) {
            return (Some(text), is_complete);
        }
        let stdout = detail.map(|detail| strings::text(detail, "stdout").to_owned());
        (stdout.filter(|text| !text.is_empty()), false)
    }

    fn assistant(&mut self, message: &Value) {
        for block in message.get("content").and_then(Value::as_array).into_iter().flatten() {
            match strings::text(block, "type") {
                "text" => self.events.event(Event::Model(strings::text(block, "text"))),
                "thinking" => self.events.event(Event::Model(strings::text(block, "thinking"))),
                "tool_use" => {
                    let input = block.get("input").unwrap_or(&Value::Null);
                    let call = strings::call(strings::text(block, "name"), input);
                    self.events.event(Event::Call(&call));
                    if self.calls.len() < MOST_CALLS {
                        self.calls.insert(strings::text(block, "id").to_owned(), call);
                    }
                }
                _ => {}
            }
        }
        let Some(usage) = message.get("usage").filter(|usage| usage.is_object()) else { return };
        let usage = Usage {
            input: strings::number(usage, "input_tokens"),
            cache_write: strings::number(usage, "cache_creation_input_tokens"),
            cache_read: strings::number(usage, "cache_read_input_tokens"),
            output: strings::number(usage, "output_tokens"),
        };
        let id = strings::text(message, "id");
        let before = self.last.take().filter(|(last, _)| last == id && !id.is_empty());
        let replaces = before.map(|(_, usage)| usage);
        self.last = Some((id.to_owned(), usage));
        // The agent's own messages, about errors of the API.
        if usage.is_zero() || replaces == Some(usage) {
            return;
        }
        let model = strings::text(message, "model").to_owned();
        self.events.event(Event::Request(&Request { model, usage, replaces }));
    }
}

/// Returns whether the middle of a failure was cut out: `... [20012 characters truncated] ...`.
fn is_cut_failure(received: &str) -> bool {
    received.starts_with("Exit code ") && received.contains(" characters truncated] ...")
}
