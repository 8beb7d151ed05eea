//! The model of pruning. It works on the whole text, parses it again for each question, and has all places available.
//!
//! It shares no code with the library, and does not handle duplicate members.

use std::collections::{BTreeMap, HashMap};

use serde_json::value::RawValue;

/// The rules.
#[derive(Clone, Debug)]
pub struct Rules {
    pub keep_turns: usize,
    pub protected: Vec<String>,
    pub placeholder: String,
    pub protect_tokens: usize,
    pub minimum_tokens: usize,
    pub stop_at_summary: bool,
    pub keep_head: usize,
    pub keep_tail: usize,
    pub only_shorter: bool,
    pub now: u64,
}

/// A place in the text, and its replacement.
type Edit = (usize, usize, String);

struct Found {
    message: usize,
    tokens: usize,
    edits: Vec<Edit>,
}

#[derive(Clone, Copy)]
struct Raw<'a>(&'a RawValue);

impl<'a> Raw<'a> {
    fn members(self) -> BTreeMap<String, Raw<'a>> {
        let members: Option<BTreeMap<String, &RawValue>> = serde_json::from_str(self.0.get()).ok();
        members.unwrap_or_default().into_iter().map(|(name, raw)| (name, Raw(raw))).collect()
    }

    fn elements(self) -> Vec<Raw<'a>> {
        let elements: Option<Vec<&RawValue>> = serde_json::from_str(self.0.get()).ok();
        elements.unwrap_or_default().into_iter().map(Raw).collect()
    }

    fn text(self) -> Option<String> {
        serde_json::from_str(self.0.get()).ok()
    }

    fn is(self, text: &str) -> bool {
        self.text().is_some_and(|own| own == text)
    }

    fn begins_with(self, bracket: char) -> bool {
        self.0.get().starts_with(bracket)
    }

    fn at(self, document: &str) -> (usize, usize) {
        let from = self.0.get().as_ptr() as usize - document.as_ptr() as usize;
        (from, from + self.0.get().len())
    }
}

struct Pass<'a> {
    document: &'a str,
    rules: &'a Rules,
    calls: HashMap<String, String>,
    results: Vec<Found>,
}

impl<'a> Pass<'a> {
    fn text(&self, members: &BTreeMap<String, Raw<'a>>, name: &str) -> Option<String> {
        members.get(name).and_then(|raw| raw.text())
    }

    fn call(&mut self, id: Option<String>, name: Option<String>) {
        if let (Some(id), Some(name)) = (id, name) {
            self.calls.insert(id, name);
        }
    }

    /// The tool of a result. Only the first result of a call counts, or all of them if the tool is protected.
    fn tool(&mut self, id: Option<&String>, other: Option<String>) -> String {
        let Some((id, called)) = id.and_then(|id| Some((id, self.calls.get(id)?.clone()))) else {
            return other.unwrap_or_default();
        };
        if !self.rules.protected.contains(&called) {
            self.calls.remove(id);
        }
        called
    }

    /// A result. `list` and `object` are the text around a placeholder in a list, or in Gemini's object.
    fn result(
        &mut self,
        message: usize,
        value: Option<&Raw<'a>>,
        (tool, id): (String, Option<String>),
        list: &str,
        mark: impl IntoIterator<Item = Edit>,
    ) {
        let Some(value) = value.copied() else { return };
        if self.rules.protected.contains(&tool) {
            return;
        }
        let partial = self.rules.keep_head + self.rules.keep_tail > 0;
        let only = if value.begins_with('[') && !list.is_empty() {
            let elements = value.elements();
            match elements.as_slice() {
                [one] => one.members().get("text").copied(),
                _ => None,
            }
        } else if value.begins_with('{') && list.contains("value") {
            let members = value.members();
            let is_text = ["text", "error-text"].iter().any(|kind| members["type"].is(kind));
            members.get("value").copied().filter(|_| is_text)
        } else if value.begins_with('{') && list.starts_with('{') {
            let members: Vec<_> = value.members().into_values().collect();
            match members.as_slice() {
                [one] => Some(*one),
                _ => None,
            }
        } else {
            Some(value)
        };
        let text = only.filter(|only| only.begins_with('"'));
        let id = id.unwrap_or_default();
        let (mut from, mut to) = value.at(self.document);
        let mut around = ("\"", "\"");
        if value.begins_with('"') {
            around = ("", "");
        } else if (value.begins_with('[') && !list.is_empty()) || list.starts_with('{') {
            around = list.split_once('|').unwrap();
        }
        if let Some(text) = text {
            let spelled = spelled(text.0.get());
            let chars = spelled.len();
            let (head, tail) = (self.rules.keep_head, self.rules.keep_tail);
            let middle: &[&str] =
                if head + tail < chars { &spelled[head..chars - tail] } else { &[] };
            let decoded = |chars: &[&str]| -> String {
                serde_json::from_str(&format!("\"{}\"", chars.concat())).unwrap()
            };
            if self.is_placeholder(&decoded(&spelled), &tool, &id)
                || (partial && self.is_placeholder(&decoded(middle), &tool, &id))
            {
                return;
            }
            if !value.begins_with('{') || partial || list.contains("value") {
                around = ("", "");
                from = text.at(self.document).0 + 1;
                from += spelled.iter().take(head).map(|char| char.len()).sum::<usize>();
                to = from + middle.iter().map(|char| char.len()).sum::<usize>();
            }
        }
        let bytes = to - from;
        let tokens = bytes.div_ceil(4);
        let placeholder = quoted(&render(&self.rules.placeholder, &tool, &id, bytes, tokens));
        if around == ("", "") && partial && placeholder.len() >= bytes {
            return;
        }
        let mut edits = vec![(from, to, format!("{}{placeholder}{}", around.0, around.1))];
        if self.rules.only_shorter && edits[0].2.len() >= bytes {
            return;
        }
        edits.extend(mark);
        self.results.push(Found { message, tokens, edits });
    }

    fn is_placeholder(&self, text: &str, tool: &str, id: &str) -> bool {
        // An earlier placeholder may have any number in place of those of the template.
        let numbers = regex::escape(&render(&self.rules.placeholder, tool, id, 0, 0));
        let template = regex::escape(&self.rules.placeholder);
        let pattern = template
            .replace(r"\{tool\}", &regex::escape(tool))
            .replace(r"\{id\}", &regex::escape(id))
            .replace(r"\{bytes\}", "[0-9]+")
            .replace(r"\{tokens\}", "[0-9]+");
        let pattern = if pattern == template { numbers } else { pattern };
        text == "<tool-output-compacted />"
            || regex::Regex::new(&format!("(?s)^{pattern}$")).unwrap().is_match(text)
    }

    /// The change that marks a result, or `None` if it is marked.
    fn mark(&self, message: Raw<'a>, holder: Option<Raw<'a>>) -> Option<Option<Edit>> {
        let now = self.rules.now;
        let add = |to: Raw<'a>, text: String| {
            let at = to.at(self.document).1 - 1;
            let at = self.document[..at].trim_end_matches([' ', '\n', '\t', '\r']).len();
            let comma = if to.members().is_empty() { "" } else { "," };
            Some((at, at, format!("{comma}{text}")))
        };
        let Some(holder) = holder else {
            let text = format!(r#""metadata":{{"time":{{"compacted":{now}}}}}"#);
            return Some(add(message, text));
        };
        match holder.members().get("time") {
            None => Some(add(holder, format!(r#""time":{{"compacted":{now}}}"#))),
            Some(time) if time.members().contains_key("compacted") => None,
            Some(time) => Some(add(*time, format!(r#""compacted":{now}"#))),
        }
    }
}

/// The characters of a JSON string as they are written.
fn spelled(string: &str) -> Vec<&str> {
    let one =
        r#"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]"#;
    let inside = &string[1..string.len() - 1];
    regex::Regex::new(&format!("(?s){one}"))
        .unwrap()
        .find_iter(inside)
        .map(|one| one.as_str())
        .collect()
}

fn render(template: &str, tool: &str, id: &str, bytes: usize, tokens: usize) -> String {
    template
        .replace("{tool}", tool)
        .replace("{id}", id)
        .replace("{bytes}", &bytes.to_string())
        .replace("{tokens}", &tokens.to_string())
}

/// The inside of a string.
fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            '\0'..' ' => quoted += &format!("\\u{:04x}", char as u32),
            _ => quoted.push(char),
        }
    }
    quoted
}

/// Prunes a history.
pub fn prune(document: &str, rules: &Rules) -> String {
    let top: &RawValue = serde_json::from_str(document).unwrap();
    let members = Raw(top).members();
    let named = ["messages", "input", "contents"].iter().find_map(|name| members.get(*name));
    let messages = if Raw(top).begins_with('[') { Raw(top) } else { *named.unwrap() }.elements();
    let mut pass = Pass { document, rules, calls: HashMap::new(), results: Vec::new() };
    let mut turns = Vec::new();
    let mut summaries = Vec::new();
    for (number, message) in messages.into_iter().enumerate() {
        let own = message.members();
        let info = own.get("info").map(|info| info.members()).unwrap_or_default();
        let role = pass.text(&own, "role").or_else(|| pass.text(&info, "role"));
        let is_true = |raw: &Raw<'_>| raw.0.get() == "true";
        let summary =
            own.get("summary").is_some_and(is_true) || info.get("summary").is_some_and(is_true);
        if summary && role.as_deref() == Some("assistant") {
            summaries.push(number);
        }
        let (mut words, mut silent, mut inside) = (0, 0, false);
        for call in own.get("tool_calls").map(|calls| calls.elements()).unwrap_or_default() {
            let call = call.members();
            let function = call["function"].members();
            pass.call(pass.text(&call, "id"), pass.text(&function, "name"));
        }
        let content = own.get("content");
        for block in content.map(|content| content.elements()).unwrap_or_default() {
            let members = block.members();
            let is = |kind: &str| members.get("type").is_some_and(|own| own.is(kind));
            words += usize::from(!is("tool_result"));
            if is("tool_use") {
                pass.call(pass.text(&members, "id"), pass.text(&members, "name"));
            } else if is("tool_result") {
                silent += 1;
                let id = pass.text(&members, "tool_use_id");
                let tool = pass.tool(id.as_ref(), None);
                let list = r#"[{"type":"text","text":"|"}]"#;
                pass.result(number, members.get("content"), (tool, id), list, None);
            } else if is("tool-call") {
                pass.call(pass.text(&members, "toolCallId"), pass.text(&members, "toolName"));
            } else if is("tool-result") {
                inside = true;
                let id = pass.text(&members, "toolCallId");
                let called = pass.tool(id.as_ref(), None);
                let tool = pass.text(&members, "toolName").unwrap_or(called);
                if role.as_deref() == Some("tool") {
                    let list = r#"{"type":"text","value":"|"}"#;
                    let output = members.get("output").or(members.get("result"));
                    let list = if members.contains_key("output") { list } else { "" };
                    pass.result(number, output, (tool, id), list, None);
                }
            }
        }
        for part in own.get("parts").map(|parts| parts.elements()).unwrap_or_default() {
            let members = part.members();
            let response = members.get("functionResponse").copied();
            words += usize::from(response.is_none());
            silent += usize::from(response.is_some());
            if let Some(response) = response {
                let members = response.members();
                let tool = pass.text(&members, "name").unwrap_or_default();
                let id = pass.text(&members, "id");
                let list = r#"{"output":"|"}"#;
                pass.result(number, members.get("response"), (tool, id), list, None);
            } else if members.get("type").is_some_and(|own| own.is("tool")) {
                let state = members["state"];
                let tool = pass.text(&members, "tool").unwrap_or_default();
                let id = pass.text(&members, "callID");
                if let Some(mark) = pass.mark(part, Some(state)) {
                    let output = state.members().get("output").copied();
                    let files = state.members().get("attachments").copied();
                    let files = files.filter(|files| !files.elements().is_empty());
                    let files = files.map(|files| files.at(document));
                    let more = files.map(|(from, to)| (from, to, "[]".to_owned()));
                    let more = mark.into_iter().chain(more);
                    pass.result(number, output.as_ref(), (tool, id), "", more);
                }
            }
        }
        let user = match &role {
            Some(role) => role == "user",
            None => own.contains_key("parts") && info.is_empty(),
        };
        if user && (words > 0 || silent == 0) {
            turns.push(number);
        }
        let kind = pass.text(&own, "type").unwrap_or_default();
        let name = pass.text(&own, "name").or_else(|| pass.text(&own, "tool_name"));
        if kind == "function_call" {
            pass.call(pass.text(&own, "call_id"), name);
        } else if kind == "function_call_output" {
            let id = pass.text(&own, "call_id");
            let tool = pass.tool(id.as_ref(), name);
            let list = r#"[{"type":"input_text","text":"|"}]"#;
            pass.result(number, own.get("output"), (tool, id), list, None);
        } else if role.as_deref() == Some("tool") && !inside {
            let id = pass.text(&own, "tool_call_id");
            let metadata = own.get("metadata").copied();
            let named = metadata.and_then(|metadata| pass.text(&metadata.members(), "toolName"));
            let tool = match named {
                Some(named) => named,
                None => pass.tool(id.as_ref(), name.clone()),
            };
            let marks = metadata.is_some() || (id.is_none() && name.is_none());
            let mark = if marks { pass.mark(message, metadata) } else { Some(None) };
            if let Some(mark) = mark {
                let list = r#"[{"type":"text","text":"|"}]"#;
                pass.result(number, content, (tool, id), list, mark);
            }
        }
    }
    let Some(boundary) = turns.len().checked_sub(rules.keep_turns) else { return document.into() };
    let boundary = turns.get(boundary).copied().unwrap_or(usize::MAX);
    let last = summaries.into_iter().rfind(|summary| *summary < boundary);
    let first = last.filter(|_| rules.stop_at_summary).map_or(0, |last| last + 1);
    let mut gone: Vec<Found> = pass
        .results
        .into_iter()
        .filter(|result| (first..boundary).contains(&result.message))
        .collect();
    let mut newest = 0;
    for (number, result) in gone.iter().enumerate().rev() {
        newest += result.tokens;
        if rules.protect_tokens > 0 && newest > rules.protect_tokens {
            gone.truncate(number + 1);
            break;
        } else if rules.protect_tokens > 0 && number == 0 {
            gone.clear();
            break;
        }
    }
    let tokens = gone.iter().map(|result| result.tokens).sum::<usize>();
    if rules.minimum_tokens > 0 && tokens <= rules.minimum_tokens {
        return document.into();
    }
    let mut edits: Vec<Edit> = gone.into_iter().flat_map(|result| result.edits).collect();
    edits.sort_by_key(|(from, ..)| *from);
    let mut pruned = String::new();
    let mut at = 0;
    for (from, to, text) in edits {
        pruned += &document[at..from];
        pruned += &text;
        at = to;
    }
    pruned + &document[at..]
}
