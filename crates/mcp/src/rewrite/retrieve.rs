//! The tool `tamis_retrieve`: reads from the store what was left out of a result.

use serde::Deserialize;
use serde_json::Value;
use tamis::Sink;
use tamis::json::StringEncoder;
use tamis_store::{ReadError, Window, WindowError};
use tamis_store::{Scope, Store, WindowReport};

use super::task::Context;
use crate::jsonrpc::find::Found;
use crate::jsonrpc::text;
use crate::policy::failure::Failure;
use crate::spool::Spool;

/// The longest arguments of a call.
const LONGEST_ARGUMENTS: usize = 64 << 10;

/// Returns the tool as it is listed. It is part of every request of a client, so it says only what a model needs: notices show
/// the form of a call.
pub(crate) fn definition(name: &str) -> String {
    const REST: &str = concat!(
        r#"","description":"Returns what a notice says was left out of a result.","#,
        r#""inputSchema":{"type":"object","properties":{"#,
        r#""handle":{"type":"string"},"#,
        r#""pointer":{"type":"string"},"#,
        r#""items":{"type":"string","description":"25-49"},"#,
        r#""select":{"type":"array","items":{"type":"string"}},"#,
        r#""lines":{"type":"string"},"#,
        r#""grep":{"type":"string","description":"regex"},"#,
        r#""context":{"type":"integer"},"#,
        r#""offset":{"type":"integer"},"#,
        r#""limit":{"type":"integer","description":"bytes"}},"#,
        r#""required":["handle"]},"#,
        r#""annotations":{"readOnlyHint":true}}"#,
    );
    format!(r#"{{"name":"{name}{REST}"#)
}

/// Returns the JSON text of the arguments of a call. `None`: they are too long.
pub(crate) fn arguments(message: &Spool, found: Option<&Found>) -> Option<Vec<u8>> {
    match found {
        None => Some(b"{}".to_vec()),
        Some(found) => message.to_vec(found.span.clone(), LONGEST_ARGUMENTS).ok(),
    }
}

/// The arguments of a call. Models write numbers as strings, and one name instead of a list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    handle: String,
    #[serde(default)]
    pointer: Option<String>,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    items: Option<Value>,
    #[serde(default)]
    select: Option<Value>,
    #[serde(default)]
    lines: Option<Value>,
    #[serde(default)]
    grep: Option<String>,
    #[serde(default)]
    context: Option<Value>,
    #[serde(default)]
    offset: Option<Value>,
    #[serde(default)]
    limit: Option<Value>,
}

/// Writes the response to a call of the tool.
pub(crate) fn answer(context: &Context, arguments: &[u8], out: &mut Spool) -> Result<(), Failure> {
    let start = out.len();
    head(context, out);
    let error = match read(context, arguments, out) {
        Ok(remark) => {
            if let Some(remark) = remark {
                StringEncoder::new(&mut *out).write(format!("\n[tamis: {remark}]").as_bytes());
            }
            Sink::write(out, b"\"}]}}");
            None
        }
        Err(error) => Some(error),
    };
    if let Some(error) = error {
        out.truncate(start);
        head(context, out);
        StringEncoder::new(&mut *out).write(error.as_bytes());
        Sink::write(out, b"\"}],\"isError\":true}}");
    }
    if out.error().is_some() { Err(Failure::TOO_COMPLEX) } else { Ok(()) }
}

/// Writes the response up to its text.
fn head(context: &Context, out: &mut Spool) {
    Sink::write(out, br#"{"jsonrpc":"2.0","id":"#);
    Sink::write(out, &context.raw_id);
    Sink::write(out, b",\"result\":{");
    if context.is_modern {
        Sink::write(out, b"\"resultType\":\"complete\",");
    }
    Sink::write(out, b"\"content\":[{\"type\":\"text\",\"text\":\"");
}

/// Writes the text, and returns the remark that follows it.
fn read(context: &Context, arguments: &[u8], out: &mut Spool) -> Result<Option<String>, String> {
    let arguments: Arguments = serde_json::from_slice(arguments).map_err(|error| {
        format!("the arguments are not valid: {}", text::short(&error.to_string(), 200))
    })?;
    let Some(store) = context.proxy.store() else {
        return Err("nothing is stored here".to_owned());
    };
    let window = window(&arguments)?;
    let mut encoder = Lossy::new(StringEncoder::new(&mut *out));
    let report = store.read(&context.scope, &arguments.handle, &window, &mut encoder);
    encoder.end();
    match report {
        Ok(report) => Ok(report.remark().map(|remark| remark.to_string())),
        Err(error @ (ReadError::Unknown | ReadError::Window(_))) => Err(error.to_string()),
        Err(_) => Err("the stored result cannot be read".to_owned()),
    }
}

/// The reason why a stored result cannot be read.
#[derive(Debug)]
pub enum PlainError {
    /// The arguments are not valid.
    Arguments(String),
    /// The handle is unknown, expired or somebody else's.
    Unknown(String),
    /// The store failed.
    Failed,
}

/// Reads a stored result outside of MCP: `arguments` are those of the tool, as a JSON object.
pub fn read_plain(
    store: &Store,
    scope: &Scope,
    arguments: Value,
    out: &mut Vec<u8>,
) -> Result<WindowReport, PlainError> {
    let arguments = serde_json::from_value::<Arguments>(arguments)
        .map_err(|error| PlainError::Arguments(text::short(&error.to_string(), 200)))?;
    let window = window(&arguments).map_err(PlainError::Arguments)?;
    store.read(scope, &arguments.handle, &window, out).map_err(|error| match error {
        ReadError::Unknown => PlainError::Unknown(error.to_string()),
        ReadError::Window(_) => PlainError::Arguments(error.to_string()),
        _ => PlainError::Failed,
    })
}

fn window(arguments: &Arguments) -> Result<Window, String> {
    let say = |error: WindowError| error.to_string();
    let mut window = Window::new();
    if let Some(pointer) = arguments.pointer.as_ref().or(arguments.path.as_ref()) {
        window = window.with_pointer(pointer).map_err(say)?;
    }
    if let Some(items) = word(arguments.items.as_ref(), "items")? {
        window = window.with_items(&items).map_err(say)?;
    }
    match &arguments.select {
        None | Some(Value::Null) => {}
        Some(Value::String(path)) => window = window.with_select(path).map_err(say)?,
        Some(Value::Array(paths)) => {
            for path in paths {
                let path = path.as_str().ok_or("select must be a list of paths")?;
                window = window.with_select(path).map_err(say)?;
            }
        }
        Some(Value::Object(paths)) => {
            for (key, path) in paths {
                let path = path.as_str().ok_or("select must be a map of paths")?;
                window = window.with_select_as(key, path).map_err(say)?;
            }
        }
        Some(_) => return Err("select must be a list of paths".to_owned()),
    }
    if let Some(lines) = word(arguments.lines.as_ref(), "lines")? {
        window = window.with_lines(&lines).map_err(say)?;
    }
    if let Some(grep) = &arguments.grep {
        window = window.with_grep(grep).map_err(say)?;
    }
    if let Some(context) = number(arguments.context.as_ref(), "context")? {
        let context = u32::try_from(context).unwrap_or(u32::MAX);
        window = window.with_context(context).map_err(say)?;
    }
    if let Some(offset) = number(arguments.offset.as_ref(), "offset")? {
        window = window.with_offset(offset);
    }
    if let Some(limit) = number(arguments.limit.as_ref(), "limit")? {
        if limit == 0 {
            return Err("limit must be at least 1".to_owned());
        }
        window = window.with_limit(Some(limit.min(MOST_BYTES)));
    }
    Ok(window)
}

/// The most bytes that one call returns. A client limits the size of a message, and escapes make a text longer.
const MOST_BYTES: u64 = 1 << 20;

/// Reads a word that may be a number.
fn word(value: Option<&Value>, name: &str) -> Result<Option<String>, String> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(word)) => Ok(Some(word.clone())),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(_) => Err(format!("{name} must be a range such as \"25-49\"")),
    }
}

/// Reads a number that may be written as a string.
fn number(value: Option<&Value>, name: &str) -> Result<Option<u64>, String> {
    let number = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(word)) => word.trim().parse().ok(),
        Some(Value::Number(number)) => number.as_u64(),
        Some(_) => None,
    };
    number.map(Some).ok_or_else(|| format!("{name} must be a whole number"))
}

/// Replaces what is not UTF-8, since a message has to be.
struct Lossy<S> {
    sink: S,
    /// The incomplete character at the end of what was written.
    open: Vec<u8>,
}

impl<S: Sink> Lossy<S> {
    fn new(sink: S) -> Self {
        Self { sink, open: Vec::new() }
    }

    fn end(&mut self) {
        if !self.open.is_empty() {
            self.open.clear();
            self.sink.write("\u{fffd}".as_bytes());
        }
    }
}

impl<S: Sink> Sink for Lossy<S> {
    fn write(&mut self, bytes: &[u8]) {
        let joined;
        let mut rest = bytes;
        if !self.open.is_empty() {
            joined = [&self.open, bytes].concat();
            self.open.clear();
            rest = &joined;
        }
        while !rest.is_empty() {
            let error = match std::str::from_utf8(rest) {
                Ok(_) => return self.sink.write(rest),
                Err(error) => error,
            };
            let (valid, other) = rest.split_at(error.valid_up_to());
            self.sink.write(valid);
            let Some(length) = error.error_len() else {
                self.open = other.to_vec();
                return;
            };
            self.sink.write("\u{fffd}".as_bytes());
            rest = other.get(length..).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use tamis::Sink;

    use super::{Lossy, definition};

    #[test]
    fn the_definition_is_a_tool() {
        let tool: serde_json::Value = serde_json::from_str(&definition("tamis_retrieve")).unwrap();
        assert_eq!(tool["name"], "tamis_retrieve");
        assert_eq!(tool["inputSchema"]["type"], "object");
        assert!(tool.get("outputSchema").is_none());
    }

    #[test]
    fn text_that_is_not_utf8_is_replaced() {
        for (text, expected) in [
            (&b"plain"[..], "plain"),
            ("é\u{20ac}\u{1F600}".as_bytes(), "é\u{20ac}\u{1F600}"),
            (b"a\xffb", "a\u{fffd}b"),
            (b"a\xe2\x82", "a\u{fffd}"),
            (b"\xe2\x82x", "\u{fffd}x"),
        ] {
            for chunk in 1..=text.len() {
                let mut out = Vec::new();
                let mut lossy = Lossy::new(&mut out);
                text.chunks(chunk).for_each(|chunk| lossy.write(chunk));
                lossy.end();
                assert_eq!(String::from_utf8(out).unwrap(), expected, "{chunk}");
            }
        }
    }
}
