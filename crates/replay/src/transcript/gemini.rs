//! Transcripts of Gemini CLI: `~/.gemini/tmp/PROJECT/chats/session-*.jsonl`; older versions wrote one JSON document, `.json`.
//!
//! Seen in transcripts that Gemini CLI 0.61.0 wrote against a scripted model:
//!
//! | line | what is read |
//! |---|---|
//! | `{"sessionId", "projectHash", "kind"}` | the session |
//! | `{"$set": {"messages": […]}}` | messages, those that were not read yet; later in a file they replace the history |
//! | `type: user`, `content` a string or parts | texts; a `functionResponse` repeats a result |
//! | `type: gemini` | `content`, `thoughts`, `tokens` and `model`; written again under the same `id` with `toolCalls` |
//! | … `toolCalls[]` | `name`, `args`, `status`, `result[].functionResponse.response` (what the model received), `resultDisplay` (the plain text, whole) |
//!
//! An output over 40,000 characters is shown as its first 8,000 and last 32,000 characters, with the path of a file in
//! `tool-outputs/session-ID/`. `tokens.input` has those of the cache, too.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tamis_agents::agent::Agent;

use super::event::{Event, Events, Request, SessionStart, ToolKind, ToolResult};
use super::{files, strings};
use crate::cost::Usage;

/// The most messages whose state is remembered.
const MOST_MESSAGES: usize = 100_000;

/// Begins a result that is kept in a file.
const KEPT: &str = "Output too large. Showing first ";

/// Reads the lines of one file.
pub(super) struct GeminiReader<'a> {
    events: &'a mut dyn Events,
    /// The messages that were read: their usage, and how many calls they had.
    messages: HashMap<String, (Usage, usize)>,
    outputs: PathBuf,
    begun: bool,
    has_messages: bool,
}

impl<'a> GeminiReader<'a> {
    pub(super) fn new(path: &Path, events: &'a mut dyn Events) -> Self {
        let project = path.parent().and_then(Path::parent).unwrap_or(path);
        let outputs = project.join("tool-outputs");
        Self { events, messages: HashMap::new(), outputs, begun: false, has_messages: false }
    }

    pub(super) fn line(&mut self, line: &Value, place: u64) {
        self.events.at(place);
        if let Some(id) = line.get("sessionId").and_then(Value::as_str).filter(|_| !self.begun) {
            self.begun = true;
            self.outputs.push(format!("session-{}", id.replace(['/', '\\'], "_")));
            let start = SessionStart { agent: Agent::Gemini, version: String::new() };
            self.events.event(Event::Session(&start));
        }
        if let Some(messages) = line.pointer("/$set/messages").and_then(Value::as_array) {
            if self.has_messages {
                self.events.event(Event::Compacted);
            }
            messages.iter().for_each(|message| self.message(message));
        }
        match line.get("messages").and_then(Value::as_array) {
            // A document of an older version.
            Some(messages) => {
                for (place, message) in (1..).zip(messages) {
                    self.events.at(place);
                    self.message(message);
                }
            }
            None => self.message(line),
        }
    }

    fn message(&mut self, message: &Value) {
        let Some(id) = message.get("id").and_then(Value::as_str) else { return };
        let before = self.messages.get(id).copied();
        self.has_messages = true;
        match strings::text(message, "type") {
            "user" if before.is_none() => {
                let text = message.get("content").and_then(strings::content).unwrap_or_default();
                self.events.event(Event::Other(&text));
                self.remember(id, Usage::default(), 0);
            }
            "gemini" => self.model(id, message, before),
            _ => {}
        }
    }

    fn remember(&mut self, id: &str, usage: Usage, calls: usize) {
        if self.messages.len() < MOST_MESSAGES {
            self.messages.insert(id.to_owned(), (usage, calls));
        }
    }

    fn model(&mut self, id: &str, message: &Value, before: Option<(Usage, usize)>) {
        if before.is_none() {
            for thought in message.get("thoughts").and_then(Value::as_array).into_iter().flatten() {
                self.events.event(Event::Model(strings::text(thought, "description")));
            }
            let text = message.get("content").and_then(strings::content).unwrap_or_default();
            self.events.event(Event::Model(&text));
        }
        let (old, calls_before) = before.unwrap_or_default();
        let usage = message.get("tokens").map(usage_of).unwrap_or_default();
        if !usage.is_zero() && usage != old {
            let replaces = Some(old).filter(|old| !old.is_zero());
            let model = strings::text(message, "model").to_owned();
            self.events.event(Event::Request(&Request { model, usage, replaces }));
        }
        let calls = message.get("toolCalls").and_then(Value::as_array);
        let calls = calls.map(Vec::as_slice).unwrap_or_default();
        // All calls of a response come before the results.
        let new: Vec<_> = calls
            .iter()
            .skip(calls_before)
            .map(|item| {
                let args = item.get("args").unwrap_or(&Value::Null);
                (strings::call(strings::text(item, "name"), args), item)
            })
            .collect();
        for (call, _) in &new {
            self.events.event(Event::Call(call));
        }
        for (call, item) in new {
            let kind = match call.tool.as_str() {
                "run_shell_command" => ToolKind::Shell,
                name if name.starts_with("mcp_") => ToolKind::Mcp,
                _ => ToolKind::Native,
            };
            let result = self.result(item, kind);
            self.events.event(Event::Result(&ToolResult { call, kind, ..result }));
        }
        self.remember(id, usage, calls.len().max(calls_before));
    }

    fn result(&self, item: &Value, kind: ToolKind) -> ToolResult {
        let responses = item.get("result").and_then(Value::as_array).into_iter().flatten();
        let response =
            responses.filter_map(|part| part.pointer("/functionResponse/response")).next();
        let member = |name| response.map(|value| strings::text(value, name)).unwrap_or_default();
        let is_error = strings::text(item, "status") == "error";
        let output = member("output");
        let received = if output.is_empty() { member("error") } else { output }.to_owned();
        let is_kept = received.starts_with(KEPT);
        let mut exit_code = (kind == ToolKind::Shell).then_some(0);
        for line in received.lines().rev().take(4) {
            if let Some(code) = line.strip_prefix("Exit Code: ") {
                exit_code = code.trim().parse().ok();
            }
        }
        let shown =
            item.get("resultDisplay").and_then(Value::as_str).filter(|text| !text.is_empty());
        let (full, is_complete) = match is_kept {
            false => (None, true),
            true => match shown {
                Some(text) => (Some(text.to_owned()), true),
                None => {
                    let named =
                        received.split_once("see: ").and_then(|(_, rest)| rest.lines().next());
                    let file = named.and_then(|path| files::read(&self.outputs, path));
                    file.map_or((None, false), |(text, is_complete)| (Some(text), is_complete))
                }
            },
        };
        ToolResult {
            received,
            full,
            is_complete,
            is_kept,
            is_error,
            exit_code,
            ..ToolResult::default()
        }
    }
}

fn usage_of(tokens: &Value) -> Usage {
    let cache_read = strings::number(tokens, "cached");
    Usage {
        input: strings::number(tokens, "input").saturating_sub(cache_read),
        cache_write: 0,
        cache_read,
        output: strings::number(tokens, "output") + strings::number(tokens, "thoughts"),
    }
}
