//! Reads a stored value for an argument, and changes it.
//!
//! Only a value that is exactly what a tool returned is used: a text that lacks what a rule removed must not be written back.

use memchr::memmem;
use tamis::spec::{OnError, PatchOp, Root};
use tamis::{CallOptions, Limits, Program, Spec, filter_slice};
use tamis_store::{EntryKind, Scope, Store};

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

/// A value for an argument: as JSON, as text, or as either.
#[derive(Debug)]
pub(super) struct StoredArgument {
    /// The JSON value. `None` if it is a text.
    json: Option<Vec<u8>>,
    text: String,
}

impl StoredArgument {
    /// Returns the bytes of the value.
    pub(super) fn len(&self) -> usize {
        self.json.as_ref().map_or(self.text.len(), Vec::len)
    }

    /// Returns the JSON texts that the argument may be, the preferred one first: the value, and a string with its text.
    pub(super) fn into_forms(self) -> Vec<Vec<u8>> {
        let text = text::quoted(&self.text).into_bytes();
        match self.json {
            Some(json) if json.first() != Some(&b'"') => vec![on_one_line(json), text],
            _ => vec![text],
        }
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
            "a rule has removed or replaced a part of the result, so that it is not what the tool returned".to_owned(),
        );
    }
    let stored = store.value(scope, handle, pointer.as_deref(), MOST_BYTES).map_err(say)?;
    let is_whole = pointer.as_deref().is_none_or(str::is_empty);
    let value = match stored.meta.kind() {
        EntryKind::Json => of_json(stored.bytes, is_whole)?,
        EntryKind::Text => StoredArgument { json: None, text: utf8(stored.bytes)? },
    };
    match (patch, edits) {
        (Some(_), Some(_)) => Err("expected `patch` or `edits`, not both".to_owned()),
        (Some(patch), None) => {
            let json = value.json.ok_or("a patch needs a JSON value; use `edits` for a text")?;
            of_json(patched(&json, patch.get())?, false)
        }
        (None, Some(edits)) => Ok(StoredArgument { json: None, text: edited(value.text, edits)? }),
        (None, None) => Ok(value),
    }
}

fn utf8(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|_error| "the text is not valid UTF-8".to_owned())
}

/// Returns a JSON value with its text: the characters of a string, and otherwise its JSON text. A result that only wraps a
/// text, such as `{"content": "…"}`, is shown to models as this text.
fn of_json(json: Vec<u8>, is_whole: bool) -> Result<StoredArgument, String> {
    let trimmed = json.trim_ascii();
    let only_member = || {
        let members: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(trimmed).ok()?;
        match (members.len(), members.into_iter().next()) {
            (1, Some((_, serde_json::Value::String(text)))) => Some(text),
            _ => None,
        }
    };
    let text = match trimmed.first() {
        Some(b'"') => text::decode(trimmed).ok_or("the text has half of a character")?,
        Some(b'{') if is_whole => match only_member() {
            Some(text) => text,
            None => utf8(json.clone())?,
        },
        _ => utf8(json.clone())?,
    };
    Ok(StoredArgument { json: Some(json), text })
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
    fn a_wrapped_text_is_a_text() {
        for (json, is_whole, expected) in [
            (r#"{"content":"a\nb"}"#, true, "a\nb"),
            (r#"{"content":"a"}"#, false, r#"{"content":"a"}"#),
            (r#"{"content":1}"#, true, r#"{"content":1}"#),
            (r#""a\u0041""#, false, "aA"),
            ("[1, 2]", true, "[1, 2]"),
        ] {
            assert_eq!(of_json(json.into(), is_whole).unwrap().text, expected);
        }
    }
}
