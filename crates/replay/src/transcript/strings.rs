//! The texts in the JSON values of transcripts.

use serde_json::Value;

use super::event::Call;

/// The members of calls whose text is replaced in a file: those of Claude Code and Gemini CLI, of opencode, and of older editors.
const REPLACED: [&str; 3] = ["old_string", "oldString", "old_str"];

/// The members of calls that have a command line.
const COMMANDS: [&str; 2] = ["command", "cmd"];

/// The first line of a patch that Codex applies.
const PATCH: &str = "*** Begin Patch";

/// Creates a call from the JSON of its arguments.
pub(crate) fn call(tool: &str, arguments: &Value) -> Call {
    let mut call = Call { tool: tool.to_owned(), ..Call::default() };
    let mut waiting = vec![(None, arguments)];
    while let Some((name, value)) = waiting.pop() {
        match value {
            Value::String(text) => {
                let is_replaced = name.is_some_and(|name| REPLACED.contains(&name));
                if is_replaced {
                    push(&mut call.replaced, text);
                } else {
                    if text.contains(PATCH) {
                        patched(&mut call.replaced, text);
                    }
                    push(&mut call.text, text);
                }
                if call.command.is_none() && name.is_some_and(|name| COMMANDS.contains(&name)) {
                    call.command = Some(text.clone());
                }
            }
            Value::Number(number) => push(&mut call.text, &number.to_string()),
            Value::Array(items) => {
                // `["bash", "-lc", "make test"]`, as older versions of Codex call their shell.
                if name == Some("command") && call.command.is_none() {
                    let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
                    call.command = match words.as_slice() {
                        [_, "-lc" | "-c", script] => Some((*script).to_owned()),
                        _ => Some(words.join(" ")),
                    };
                }
                waiting.extend(items.iter().rev().map(|item| (name, item)));
            }
            Value::Object(members) => {
                let members = members.iter().rev();
                waiting.extend(members.map(|(name, value)| (Some(name.as_str()), value)));
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
    call
}

/// Creates a call whose argument is a text.
pub(crate) fn call_of_text(tool: &str, text: &str) -> Call {
    call(tool, &Value::String(text.to_owned()))
}

fn push(texts: &mut String, text: &str) {
    texts.push_str(text);
    texts.push('\n');
}

/// Adds the lines of a patch that must be in the file: those that it removes, and its context.
fn patched(replaced: &mut String, patch: &str) {
    for line in patch.lines() {
        if let Some(line) = line.strip_prefix([' ', '-']).filter(|line| !line.starts_with("--")) {
            push(replaced, line);
        }
    }
}

/// Returns the text of a content: a string, or a list of blocks that have one. Blocks of other kinds are left out.
pub(crate) fn content(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block.get("text").and_then(Value::as_str));
            Some(texts.collect::<Vec<_>>().join("\n"))
        }
        _ => None,
    }
}

/// Returns a whole number of a value.
pub(crate) fn number(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or(0)
}

/// Returns a string of a value.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
