//! Reads a stored value for an argument, and changes it.
//!
//! Only a value that is exactly what a tool returned is used: a text that lacks what a rule removed must not be written back.

use memchr::memmem;
use tamis::spec::{OnError, PatchOp, Root};
use tamis::{CallOptions, Limits, Program, Spec, filter_slice};
use tamis_store::{EntryKind, EntryMeta, EntryShape, Scope, Store};

use super::references::{TextEdit, WrittenReference};
use crate::jsonrpc::text;

/// The most bytes of a value, and of all values of a call.
pub(super) const MOST_BYTES: usize = 4 << 20;

/// The longest patch.
const LONGEST_PATCH: usize = 1 << 20;

/// The most operations of a patch, and the most edits.
const MOST_CHANGES: usize = 1000;

/// The most bytes that the operations of a patch may hold. An operation `copy` can double a value.
const MOST_HELD: u64 = 64 << 20;

/// Why the text of a value is not known.
pub(super) const RESPELLED: &str = "a rule has changed the white space of the result, so that its text is not what the tool returned; an argument \
     that takes the JSON gets the value";

/// A value for an argument: as JSON, as text, or as either.
#[derive(Debug)]
pub(super) struct StoredArgument {
    /// The JSON value. `None` if it is a text.
    json: Option<Vec<u8>>,
    /// `None` for JSON whose spelling is not what the tool returned.
    text: Option<String>,
}

impl StoredArgument {
    /// Returns the bytes of the value.
    pub(super) fn len(&self) -> usize {
        let text = || self.text.as_ref().map_or(0, String::len);
        self.json.as_ref().map_or_else(text, Vec::len)
    }

    /// Returns whether it can only be JSON, because its text is not what the tool returned.
    pub(super) fn is_respelled(&self) -> bool {
        self.text.is_none()
    }

    /// Returns the JSON texts that the argument may be, the preferred one first: the value, and a string with its text.
    pub(super) fn into_forms(self) -> Vec<Vec<u8>> {
        let text = self.text.map(|text| text::quoted(&text).into_bytes());
        let json = self.json.filter(|json| json.trim_ascii().first() != Some(&b'"'));
        json.map(on_one_line).into_iter().chain(text).collect()
    }
}

/// Replaces line breaks by spaces. In JSON they are only between tokens; they would end the message that the value is sent in.
fn on_one_line(mut json: Vec<u8>) -> Vec<u8> {
    for byte in &mut json {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    json
}

/// Reads a value and changes it. `origin`: the server that the call is for; `allowed`: other servers whose values it may get.
pub(super) fn load(
    store: &Store,
    scope: &Scope,
    written: &WrittenReference,
    origin: &str,
    allowed: &[String],
) -> Result<StoredArgument, String> {
    let WrittenReference { handle, pointer, patch, edits } = written;
    let say = |error: tamis_store::ReadError| text::short(&error.to_string(), 300);
    let (meta, _) = store.describe(scope, handle).map_err(say)?;
    let is_own = meta.origin() == Some(origin);
    let is_allowed = || meta.server().is_some_and(|server| allowed.iter().any(|it| it == server));
    if meta.is_command() || meta.origin().is_none() || !(is_own || is_allowed()) {
        return Err("the result is not one of this server".to_owned());
    }
    if meta.is_altered() {
        return Err(
            "a part of the result was removed or replaced, so that it is not what the tool returned".to_owned(),
        );
    }
    let pointer = pointer.as_deref().filter(|pointer| !pointer.is_empty());
    names_one_block(&meta, pointer)?;
    let stored = store.value(scope, handle, pointer, MOST_BYTES).map_err(say)?;
    let value = match stored.meta.kind() {
        EntryKind::Json => of_json(stored.bytes, &meta, pointer)?,
        EntryKind::Text => StoredArgument { json: None, text: Some(utf8(stored.bytes)?) },
    };
    match (patch, edits) {
        (Some(_), Some(_)) => Err("expected `patch` or `edits`, not both".to_owned()),
        (Some(patch), None) => {
            let json = value.json.ok_or("a patch needs a JSON value; use `edits` for a text")?;
            let json = patched(&json, patch.get())?;
            let text = Some(text_of(&json)?);
            Ok(StoredArgument { json: Some(json), text })
        }
        (None, Some(edits)) => {
            let text = value.text.ok_or(RESPELLED)?;
            Ok(StoredArgument { json: None, text: Some(edited(text, edits)?) })
        }
        (None, None) => Ok(value),
    }
}

/// Checks that a value of a result with several blocks is in one of them: nobody has seen the object in which they are stored.
fn names_one_block(meta: &EntryMeta, pointer: Option<&str>) -> Result<(), String> {
    let EntryShape::Blocks { count, has_structured } = meta.shape() else { return Ok(()) };
    let pointer = pointer.unwrap_or_default();
    let is_in_block = pointer.strip_prefix("/blocks/").is_some_and(|rest| !rest.is_empty());
    let rest = pointer.strip_prefix("/structuredContent").filter(|_| has_structured);
    if is_in_block || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
        return Ok(());
    }
    let blocks = match count.saturating_sub(1) {
        0 => "/blocks/0".to_owned(),
        last => format!("/blocks/0 to /blocks/{last}"),
    };
    let or = if has_structured { " or /structuredContent" } else { "" };
    Err(format!("the result has several blocks; expected a `pointer` to one of them: {blocks}{or}"))
}

fn utf8(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|_error| "the text is not valid UTF-8".to_owned())
}

/// Returns a JSON value of an entry with its text.
fn of_json(
    json: Vec<u8>,
    meta: &EntryMeta,
    pointer: Option<&str>,
) -> Result<StoredArgument, String> {
    let is_block = || {
        let index = pointer.and_then(|pointer| pointer.strip_prefix("/blocks/"));
        index.is_some_and(|index| !index.contains('/'))
    };
    if matches!(meta.shape(), EntryShape::Blocks { .. }) && json == b"null" && is_block() {
        return Err("the block has no text".to_owned());
    }
    let wrapped = || {
        let members: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(&json).ok()?;
        match members.into_iter().next() {
            Some((_, serde_json::Value::String(text))) => Some(text),
            _ => None,
        }
    };
    let is_container = matches!(json.trim_ascii().first(), Some(b'{' | b'['));
    let text = match meta.shape() {
        EntryShape::WrapsText if pointer.is_none() => {
            Some(wrapped().ok_or("the text of the result cannot be read")?)
        }
        _ if is_container && meta.is_respelled() => None,
        _ => Some(text_of(&json)?),
    };
    Ok(StoredArgument { json: Some(json), text })
}

/// Returns the text of a JSON value: the characters of a string, and otherwise its JSON text.
fn text_of(json: &[u8]) -> Result<String, String> {
    let trimmed = json.trim_ascii();
    match trimmed.first() {
        Some(b'"') => Ok(text::decode(trimmed).ok_or("the text has half of a character")?),
        _ => utf8(json.to_vec()),
    }
}

/// Applies a JSON Patch.
fn patched(json: &[u8], patch: &str) -> Result<Vec<u8>, String> {
    if patch.len() > LONGEST_PATCH {
        return Err("the patch is too long".to_owned());
    }
    let failed = |error: &tamis::Error| format!("the patch: {}", text::short(error.message(), 200));
    let operations = PatchOp::parse_patch(patch).map_err(|error| failed(&error))?;
    if operations.len() > MOST_CHANGES {
        return Err(format!("the patch has more than {MOST_CHANGES} operations"));
    }
    let spec = Spec::new().on_error(OnError::Closed).root(Root::Object);
    let spec = operations.into_iter().fold(spec, Spec::patch);
    let program = Program::compile(&spec).map_err(|error| failed(&error))?;
    let options = CallOptions::new().with_limits(Limits::new().with_held(MOST_HELD));
    let (output, _) =
        filter_slice(program.with_options(&options), json).map_err(|error| failed(&error.error))?;
    if output.len() > MOST_BYTES {
        return Err(format!("the patched value has more than {} MiB", MOST_BYTES >> 20));
    }
    Ok(output)
}

/// Applies edits, each to the text as the earlier ones left it.
fn edited(mut text: String, edits: &[TextEdit]) -> Result<String, String> {
    if edits.len() > MOST_CHANGES {
        return Err(format!("there are more than {MOST_CHANGES} edits"));
    }
    for (number, TextEdit { old, new }) in edits.iter().enumerate() {
        let number = number + 1;
        let at = match (old.is_empty(), memmem::find(text.as_bytes(), old.as_bytes())) {
            (false, Some(at)) => at,
            (true, _) => return Err(format!("edit {number}: `old` is empty")),
            (_, None) => return Err(format!("edit {number}: `old` does not occur")),
        };
        let rest = text.as_bytes().get(at + 1..).unwrap_or_default();
        if memmem::find(rest, old.as_bytes()).is_some() {
            return Err(format!("edit {number}: `old` occurs more than once"));
        }
        text.replace_range(at..at + old.len(), new);
        if text.len() > MOST_BYTES {
            return Err(format!("the edited text has more than {} MiB", MOST_BYTES >> 20));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use tamis_store::{EntryMeta, EntryShape};

    use super::{TextEdit, edited, of_json, patched};

    #[test]
    fn each_edit_is_unique() {
        let edit = |old: &str, new: &str| TextEdit { old: old.into(), new: new.into() };
        let text = || "a é b é".to_owned();
        let done = edited(text(), &[edit("a é", "é"), edit("b", ""), edit("é  é", "é")]).unwrap();
        assert_eq!(done, "é");
        for (edits, why) in [
            (vec![edit("é", "x")], "edit 1: `old` occurs more than once"),
            (vec![edit("a", "x"), edit("a", "x")], "edit 2: `old` does not occur"),
            (vec![edit("", "x")], "edit 1: `old` is empty"),
        ] {
            assert_eq!(edited(text(), &edits).unwrap_err(), why);
        }
        // Overlapping occurrences are two.
        assert!(edited("aaa".to_owned(), &[edit("aa", "b")]).is_err());
    }

    #[test]
    fn patches_keep_the_spelling_of_values() {
        let json = br#"{"n":1.10,"list":[12345678901234567890,{"a":"x"}]}"#;
        let patch = r#"[{"op":"test","path":"/n","value":1.1},{"op":"replace","path":"/list/1/a","value":"y"},{"op":"add","path":"/list/-","value":2.50}]"#;
        let output = patched(json, patch).unwrap();
        assert_eq!(
            String::from_utf8(output).unwrap(),
            r#"{"n":1.10,"list":[12345678901234567890,{"a":"y"},2.50]}"#
        );
        for (patch, why) in [
            (r#"[{"op":"remove","path":"/z"}]"#, "/z"),
            (r#"[{"op":"test","path":"/n","value":2}]"#, "test failed"),
            (r#"[{"op":"move","from":"/list","path":"/list/1/b"}]"#, "patch"),
            (r#"{"op":"remove"}"#, "array of operations"),
        ] {
            let error = patched(json, patch).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn copies_of_copies_end() {
        let text = "x".repeat(1 << 20);
        let json = format!("{{\"a\":[\"{text}\"]}}");
        let copy = r#"{"op":"copy","from":"/a","path":"/a/0"}"#;
        let patch = format!("[{}]", [copy; 40].join(","));
        assert!(patched(json.as_bytes(), &patch).is_err());
        // An object in itself.
        let patch = format!("[{}]", [r#"{"op":"copy","from":"","path":"/b"}"#; 40].join(","));
        assert!(patched(json.as_bytes(), &patch).is_err());
    }

    #[test]
    fn the_text_of_json_is_what_the_tool_returned() {
        let (plain, wraps) = (EntryMeta::json("t"), EntryShape::WrapsText);
        let content = r#"{"content":"a\nb"}"#;
        for (json, meta, pointer, expected) in [
            (content, plain.clone(), None, Some(content)),
            (content, plain.clone().with_shape(wraps), None, Some("a\nb")),
            (content, plain.clone().with_respelled(true).with_shape(wraps), None, Some("a\nb")),
            (content, plain.clone().with_shape(wraps), Some("/a"), Some(content)),
            (content, plain.clone().with_respelled(true), None, None),
            (r#""a\u0041""#, plain.clone().with_respelled(true), Some("/a"), Some("aA")),
            ("[1,\n 2]\n", plain, None, Some("[1,\n 2]\n")),
        ] {
            let value = of_json(json.into(), &meta, pointer).unwrap();
            assert_eq!(value.text.as_deref(), expected, "{json} {meta:?}");
        }
    }
}
