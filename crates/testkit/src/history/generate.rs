//! Random histories of every shape, in random spellings, as a request or bare.

use serde_json::{Value, json};
use tamis_chat::PruneSpec;

use super::drivers::NOW;
use super::model::Rules;
use crate::prng::Choices;

const TOOLS: [&str; 6] = ["read", "skill", "grep", "memory", "a\"b", "é"];
const TEXTS: [&str; 10] = [
    "",
    "x",
    "500 lines\nof \"text\" \\ ",
    "é中\u{1f600}\u{1f600}\u{1f600}",
    "<tool-output-compacted />",
    "gone: 12",
    "a longer text, of which something may stay at both of its ends",
    "\t\t\t\u{1}",
    "[read c1 7]",
    "{\"json\": [1, 2]}",
];

pub fn rules(prng: &mut impl Choices) -> Rules {
    let protected = [&["skill"][..], &[], &["skill", "memory"], &["read", ""]];
    let placeholders =
        ["<tool-output-compacted />", "gone: {bytes}", "[{tool} {id} {tokens}]", "…", ""];
    let partial = prng.one_in(3);
    Rules {
        keep_turns: prng.below(4),
        protected: prng.pick(&protected).iter().map(|name| (*name).to_owned()).collect(),
        placeholder: prng.pick(&placeholders).to_owned(),
        protect_tokens: threshold(prng),
        minimum_tokens: threshold(prng),
        stop_at_summary: prng.one_in(2),
        keep_head: if partial { prng.below(6) } else { 0 },
        keep_tail: if partial { prng.below(6) } else { 0 },
        only_shorter: prng.one_in(4),
        now: NOW,
    }
}

fn threshold(prng: &mut impl Choices) -> usize {
    if prng.one_in(3) { prng.below(40) } else { 0 }
}

/// The rules, in their declared form.
pub fn prune_of(rules: &Rules) -> PruneSpec {
    PruneSpec::new()
        .keep_turns(rules.keep_turns as u64)
        .protected(&rules.protected)
        .placeholder(&rules.placeholder)
        .protect_tokens(rules.protect_tokens as u64)
        .minimum_tokens(rules.minimum_tokens as u64)
        .stop_at_summary(rules.stop_at_summary)
        .keep_head(rules.keep_head as u64)
        .keep_tail(rules.keep_tail as u64)
        .only_shorter(rules.only_shorter)
        .now(rules.now)
}

struct Source<'a, C> {
    prng: &'a mut C,
    ids: usize,
}

/// A history, as text.
pub fn history(prng: &mut impl Choices) -> String {
    let mut source = Source { prng, ids: 0 };
    let mut messages = Vec::new();
    for _ in 0..source.prng.below(12) {
        source.messages(&mut messages);
    }
    let history = Value::Array(messages);
    let history = match source.prng.below(4) {
        0 => json!({"model": "m", "messages": history, "stream": [true]}),
        1 => json!({"input": history}),
        2 => json!({"contents": history, "x": {"role": "user"}}),
        _ => history,
    };
    let mut text = String::new();
    let white = prng.below(3);
    spell(&history, prng, white, &mut text);
    text
}

impl<C: Choices> Source<'_, C> {
    fn text(&mut self) -> String {
        self.prng.pick(&TEXTS).to_owned()
    }

    fn tool(&mut self) -> &'static str {
        self.prng.pick(&TOOLS)
    }

    fn id(&mut self) -> String {
        if self.prng.one_in(3) {
            self.ids += 1;
        }
        format!("c{}", self.ids % 5)
    }

    fn list(&mut self, kind: &str) -> Value {
        let count = self.prng.below(3);
        let piece = |source: &mut Self| match source.prng.below(4) {
            0 => json!({"type": "image", "data": "AA=="}),
            _ => json!({"type": kind, "text": source.text()}),
        };
        Value::Array((0..count).map(|_| piece(self)).collect())
    }

    fn output(&mut self, kind: &str) -> Value {
        match self.prng.below(6) {
            0 => self.list(kind),
            1 => self
                .prng
                .pick(&[json!(1.5), json!(null), json!(true)][..].iter().collect::<Vec<_>>())
                .clone(),
            _ => Value::String(self.text()),
        }
    }

    fn time(&mut self) -> Option<Value> {
        match self.prng.below(4) {
            0 => None,
            1 => Some(json!({})),
            2 => Some(json!({"start": 1})),
            _ => Some(json!({"start": 1, "compacted": 5})),
        }
    }

    fn messages(&mut self, into: &mut Vec<Value>) {
        let (id, tool) = (self.id(), self.tool());
        let text = self.text();
        match self.prng.below(17) {
            0 | 1 => into.push(json!({"role": "user", "content": text})),
            2 => into.push(json!({"role": "user", "parts": [{"text": text}]})),
            3 => into.push(json!({"info": {"role": "user"}, "parts": []})),
            4 => into.push(
                json!({"role": "assistant", "content": text, "summary": self.prng.one_in(2)}),
            ),
            5 => {
                // The seed's.
                let mut message = json!({"role": "tool", "content": self.output("text")});
                if !self.prng.one_in(4) {
                    message["metadata"] = json!({});
                    if self.prng.one_in(2) {
                        message["metadata"]["toolName"] = tool.into();
                    }
                    if let Some(time) = self.time() {
                        message["metadata"]["time"] = time;
                    }
                }
                into.push(message);
            }
            6 | 7 => {
                if !self.prng.one_in(4) {
                    into.push(json!({"role": "assistant", "content": null, "tool_calls": [
                        {"id": id, "type": "function", "function": {"name": tool, "arguments": "{}"}}]}));
                }
                let output = self.output("text");
                into.push(json!({"role": "tool", "tool_call_id": id, "content": output}));
            }
            8 | 9 => {
                if !self.prng.one_in(4) {
                    into.push(json!({"type": "function_call", "call_id": id, "name": tool}));
                }
                let output = self.output("input_text");
                into.push(json!({"type": "function_call_output", "call_id": id, "output": output}));
            }
            10 | 11 => {
                if !self.prng.one_in(4) {
                    into.push(json!({"role": "assistant", "content": [{"type": "text", "text": text},
                        {"type": "tool_use", "id": id, "name": tool, "input": {"type": "tool_result"}}]}));
                }
                let mut blocks = vec![
                    json!({"type": "tool_result", "tool_use_id": id, "content": self.output("text")}),
                ];
                if self.prng.one_in(3) {
                    blocks.push(json!({"type": "text", "text": text}));
                }
                if self.prng.one_in(3) {
                    let output = self.output("text");
                    blocks.push(
                        json!({"type": "tool_result", "tool_use_id": "c0", "content": output}),
                    );
                }
                into.push(json!({"role": "user", "content": blocks}));
            }
            12 => {
                let mut state = json!({"status": "completed", "output": text});
                if let Some(time) = self.time() {
                    state["time"] = time;
                }
                if self.prng.one_in(3) {
                    let files = [json!([]), json!([{"type": "file", "url": "data:AA=="}])];
                    state["attachments"] = self.prng.pick(&files.each_ref()).clone();
                }
                let summary = self.prng.one_in(8);
                into.push(json!({"info": {"role": "assistant", "summary": summary}, "parts": [
                    {"type": "step"}, {"type": "tool", "tool": tool, "callID": id, "state": state}]}));
            }
            13 | 14 => {
                // The AI SDK's.
                if self.prng.one_in(2) {
                    into.push(json!({"role": "assistant", "content": [
                        {"type": "tool-call", "toolCallId": id, "toolName": tool, "input": {}}]}));
                }
                let mut part = json!({"type": "tool-result", "toolCallId": id});
                if !self.prng.one_in(4) {
                    part["toolName"] = self.tool().into();
                }
                let output = self.output("text");
                match self.prng.below(6) {
                    0 => part["result"] = output,
                    1 => part["result"] = json!({"rows": [text]}),
                    2 => part["output"] = json!({"type": "json", "value": output}),
                    3 => {
                        part["output"] = json!({"type": "content", "value": self.list("text")});
                    }
                    4 => part["output"] = json!({"type": "error-text", "value": text}),
                    _ => part["output"] = json!({"type": "text", "value": text}),
                }
                let mut parts = vec![part];
                if self.prng.one_in(4) {
                    parts.push(json!({"type": "text", "text": text}));
                }
                let role = if self.prng.one_in(5) { "assistant" } else { "tool" };
                into.push(json!({"role": role, "content": parts}));
            }
            15 => {
                let response = match self.prng.below(4) {
                    0 => json!({}),
                    1 => json!({"result": text, "n": 1}),
                    2 => json!({"n": 1}),
                    _ => json!({"output": text}),
                };
                let mut parts =
                    vec![json!({"functionResponse": {"name": tool, "response": response}})];
                if self.prng.one_in(3) {
                    parts.push(json!({"text": text}));
                }
                into.push(json!({"role": "user", "parts": parts}));
            }
            _ => into.push(
                self.prng.pick(&[&json!({}), &json!(7), &json!({"role": 1}), &json!([])]).clone(),
            ),
        }
    }
}

fn space(prng: &mut impl Choices, white: usize, into: &mut String) {
    for _ in 0..if white == 0 { 0 } else { prng.below(2 * white) } {
        into.push(prng.pick(&[' ', '\n', '\t', '\r']));
    }
}

/// Writes a value with random white space, order of members, and escapes.
fn spell(value: &Value, prng: &mut impl Choices, white: usize, into: &mut String) {
    space(prng, white, into);
    match value {
        Value::Object(members) => {
            into.push('{');
            let mut members: Vec<_> = members.iter().collect();
            let turn = prng.below(members.len());
            members.rotate_left(turn);
            for (number, (name, value)) in members.into_iter().enumerate() {
                if number > 0 {
                    into.push(',');
                }
                space(prng, white, into);
                string(name, prng, into);
                space(prng, white, into);
                into.push(':');
                spell(value, prng, white, into);
            }
            space(prng, white, into);
            into.push('}');
        }
        Value::Array(elements) => {
            into.push('[');
            for (number, value) in elements.iter().enumerate() {
                if number > 0 {
                    into.push(',');
                }
                spell(value, prng, white, into);
            }
            space(prng, white, into);
            into.push(']');
        }
        Value::String(text) => string(text, prng, into),
        other => *into += &other.to_string(),
    }
    space(prng, white, into);
}

fn string(text: &str, prng: &mut impl Choices, into: &mut String) {
    into.push('"');
    for char in text.chars() {
        if prng.one_in(12) {
            let mut units = [0; 2];
            for unit in char.encode_utf16(&mut units) {
                *into += &format!("\\u{unit:04X}");
            }
        } else {
            let quoted = serde_json::to_string(&char).unwrap();
            *into += &quoted[1..quoted.len() - 1];
        }
    }
    into.push('"');
}
