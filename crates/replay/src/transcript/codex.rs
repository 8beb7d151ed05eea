//! Transcripts of Codex CLI: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`, one JSON object a line with `type` and `payload`.
//!
//! Seen in transcripts that Codex 0.171.0 wrote against a scripted model, with direct calls and with scripts:
//!
//! | line | what is read |
//! |---|---|
//! | `session_meta` | `cli_version` |
//! | `turn_context` | `model` |
//! | `response_item`, `message` | the text, of the model or of others |
//! | `response_item`, `reasoning` | the summary |
//! | `function_call`, `custom_tool_call`, `local_shell_call` | the call; `arguments` is JSON in a string, `input` a text |
//! | `function_call_output`, `custom_tool_call_output` | what the model received: a string, or a list of `input_text` |
//! | `event_msg`, `item_completed`, `CommandExecution` | `aggregated_output`, the last 65,536 bytes of a command, and `exit_code` |
//! | `event_msg`, `item_completed`, `McpToolCall` | the result; one whose JSON has over 65,536 bytes is a text with that JSON, whose middle is cut out |
//! | `token_usage_record` | the tokens of the request; `input_tokens` has those of the cache, too |
//! | `event_msg`, `token_count` | the same in older versions, repeated if nothing changed |
//! | `compacted` | the history was summarised |
//!
//! An output over 10,000 tokens is cut in the middle (`…17224 tokens truncated…`), and no file keeps it.

use std::collections::HashMap;

use serde_json::Value;
use tamis_agents::agent::Agent;

use super::event::{Call, Event, Events, Request, SessionStart, Skipped, ToolKind, ToolResult};
use super::strings;
use crate::cost::Usage;

/// The most calls that wait for their result.
const MOST_CALLS: usize = 10_000;

/// The length in bytes from which `aggregated_output` may be cut.
const AGGREGATED: usize = 65_536;

/// In the middle of the JSON of a long result: `…68226 chars truncated…`.
const CUT_OUT: &str = " chars truncated…";

/// Tools that run a command and return its output.
const SHELLS: [&str; 4] = ["exec_command", "shell", "shell_command", "local_shell"];

/// Reads the lines of one file.
pub(super) struct CodexReader<'a> {
    events: &'a mut dyn Events,
    skipped: &'a mut Skipped,
    calls: HashMap<String, Call>,
    full: HashMap<String, Full>,
    model: String,
    has_records: bool,
    counted: Option<Usage>,
}

/// The contents of an event about a call, before the result arrives.
struct Full {
    text: Option<String>,
    exit_code: Option<i32>,
}

impl<'a> CodexReader<'a> {
    pub(super) fn new(events: &'a mut dyn Events, skipped: &'a mut Skipped) -> Self {
        Self {
            events,
            skipped,
            calls: HashMap::new(),
            full: HashMap::new(),
            model: String::new(),
            has_records: false,
            counted: None,
        }
    }

    pub(super) fn line(&mut self, line: &Value, place: u64) {
        self.events.at(place);
        let Some(payload) = line.get("payload") else { return };
        match strings::text(line, "type") {
            "session_meta" => {
                let version = strings::text(payload, "cli_version").to_owned();
                self.events.event(Event::Session(&SessionStart { agent: Agent::Codex, version }));
                let base = payload.pointer("/base_instructions/text").and_then(Value::as_str);
                self.events.event(Event::Other(base.unwrap_or_default()));
            }
            "turn_context" => self.model = strings::text(payload, "model").to_owned(),
            "response_item" => self.item(payload),
            "event_msg" => self.message(payload),
            "token_usage_record" => {
                self.has_records = true;
                if let Some(usage) = payload.get("usage") {
                    self.request(usage_of(usage));
                }
            }
            "compacted" => self.events.event(Event::Compacted),
            _ => {}
        }
    }

    fn request(&mut self, usage: Usage) {
        if !usage.is_zero() {
            let request = Request { model: self.model.clone(), usage, replaces: None };
            self.events.event(Event::Request(&request));
        }
    }

    fn item(&mut self, item: &Value) {
        match strings::text(item, "type") {
            "message" => {
                let is_model = strings::text(item, "role") == "assistant";
                let text = item.get("content").and_then(strings::content).unwrap_or_default();
                self.events.event(if is_model { Event::Model(&text) } else { Event::Other(&text) });
            }
            "reasoning" => {
                let text = item.get("summary").and_then(strings::content).unwrap_or_default();
                self.events.event(Event::Model(&text));
            }
            "function_call" => {
                let arguments = strings::text(item, "arguments");
                let value = serde_json::from_str(arguments);
                let value = value.unwrap_or_else(|_| Value::String(arguments.to_owned()));
                let name = strings::text(item, "name");
                let space = strings::text(item, "namespace");
                let name =
                    if space.is_empty() { name.to_owned() } else { format!("{space}__{name}") };
                self.call(item, strings::call(&name, &value));
            }
            "custom_tool_call" => {
                let input = strings::text(item, "input");
                self.call(item, strings::call_of_text(strings::text(item, "name"), input));
            }
            "local_shell_call" => {
                let action = item.get("action").unwrap_or(&Value::Null);
                self.call(item, strings::call("local_shell", action));
            }
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                self.result(item);
            }
            _ => {}
        }
    }

    fn call(&mut self, item: &Value, call: Call) {
        self.events.event(Event::Call(&call));
        if self.calls.len() < MOST_CALLS {
            self.calls.insert(strings::text(item, "call_id").to_owned(), call);
        }
    }

    fn result(&mut self, item: &Value) {
        let id = strings::text(item, "call_id");
        let Some(call) = self.calls.remove(id) else {
            self.skipped.repeated += 1;
            return;
        };
        let full = self.full.remove(id);
        // Older versions: an object with the text.
        let output = item.get("output");
        let received = output.and_then(strings::content);
        let received = received
            .or_else(|| Some(strings::text(output?, "content").to_owned()))
            .unwrap_or_default();
        let kind = match call.tool.as_str() {
            name if SHELLS.contains(&name) => ToolKind::Shell,
            name if name.starts_with("mcp__") => ToolKind::Mcp,
            _ => ToolKind::Native,
        };
        let is_cut = received.contains(" tokens truncated…");
        let exit_code = full.as_ref().and_then(|full| full.exit_code);
        let exit_code = exit_code.or_else(|| exit_code_of(&received));
        let text = full.and_then(|full| full.text).filter(|_| is_cut);
        // The received text has lines around the output.
        let is_complete = !is_cut || text.as_ref().is_some_and(|text| text.len() < AGGREGATED);
        let result = ToolResult {
            call,
            received,
            full: text,
            is_complete,
            is_kept: false,
            is_error: exit_code.is_some_and(|code| code != 0),
            exit_code,
            kind,
        };
        self.events.event(Event::Result(&result));
    }

    fn message(&mut self, message: &Value) {
        match strings::text(message, "type") {
            "token_count" if !self.has_records => {
                let info = message.get("info").unwrap_or(&Value::Null);
                let total = info.get("total_token_usage").map(usage_of);
                if total.is_some() && total != self.counted {
                    self.counted = total;
                    self.request(info.get("last_token_usage").map(usage_of).unwrap_or_default());
                }
            }
            "item_completed" => {
                let Some(item) = message.get("item") else { return };
                let id = strings::text(item, "id").to_owned();
                let full = match strings::text(item, "type") {
                    "CommandExecution" => Full {
                        text: Some(strings::text(item, "aggregated_output").to_owned()),
                        exit_code: item
                            .get("exit_code")
                            .and_then(Value::as_i64)
                            .and_then(|code| i32::try_from(code).ok()),
                    },
                    "McpToolCall" => {
                        let result = item.get("result").unwrap_or(&Value::Null);
                        // Codex shows the structured result instead of the text.
                        let structured = result.get("structuredContent").filter(|v| !v.is_null());
                        let text = structured.map(Value::to_string);
                        let text =
                            text.or_else(|| result.get("content").and_then(strings::content));
                        let is_cut = |text: &str| {
                            text.starts_with("{\"content\":[") && text.contains(CUT_OUT)
                        };
                        Full { text: text.filter(|text| !is_cut(text)), exit_code: None }
                    }
                    _ => return,
                };
                if self.calls.contains_key(&id) {
                    self.full.insert(id, full);
                }
            }
            "context_compacted" => self.events.event(Event::Compacted),
            _ => {}
        }
    }
}

/// Reads the usage of a request. The input has the tokens of the cache, and the output those of the reasoning.
fn usage_of(usage: &Value) -> Usage {
    let cache_read = strings::number(usage, "cached_input_tokens");
    let cache_write = strings::number(usage, "cache_write_input_tokens");
    let input = strings::number(usage, "input_tokens").saturating_sub(cache_read + cache_write);
    Usage { input, cache_write, cache_read, output: strings::number(usage, "output_tokens") }
}

/// Reads `Process exited with code 3` in the lines before the output.
fn exit_code_of(received: &str) -> Option<i32> {
    let head = received.lines().take_while(|line| *line != "Output:").take(8);
    head.filter_map(|line| {
        line.strip_prefix("Process exited with code ").or(line.strip_prefix("Exit code: "))
    })
    .find_map(|code| code.trim().parse().ok())
}
