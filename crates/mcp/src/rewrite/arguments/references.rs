//! Finds the objects in arguments that stand for a stored value: `{"$tamis": "tm_…", "pointer": P, "patch": […]}`.
//!
//! One pass with a stack reads the arguments, which are valid JSON.

use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::jsonrpc::text::{self, end_of_string};

/// The first bytes of every handle.
pub(super) const HANDLE: &[u8] = b"tm_";

/// The name of the member that holds the handle.
pub(super) const NAME: &[u8] = b"\"$tamis\"";

/// The most values of a call.
const MOST: usize = 16;

/// The most open containers around a value.
const DEEPEST: usize = 100;

/// An object that stands for a stored value.
#[derive(Debug)]
pub(super) struct Reference {
    /// Its bytes in the arguments.
    pub(super) span: Range<usize>,
    /// Its place in the arguments, as a JSON Pointer.
    pub(super) pointer: String,
    pub(super) written: WrittenReference,
}

/// The members of the object.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenReference {
    #[serde(rename = "$tamis")]
    pub(super) handle: String,
    /// The value in the stored result. Without one, all of it.
    #[serde(default)]
    pub(super) pointer: Option<String>,
    /// Changes to a JSON value (RFC 6902).
    #[serde(default)]
    pub(super) patch: Option<Box<RawValue>>,
    /// Changes to a text.
    #[serde(default)]
    pub(super) edits: Option<Vec<TextEdit>>,
}

/// One change to a text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TextEdit {
    /// A part that occurs exactly once.
    pub(super) old: String,
    pub(super) new: String,
}

/// An open object or array.
#[derive(Debug)]
struct Open {
    is_object: bool,
    start: usize,
    /// The name of the member that is being read.
    name: Range<usize>,
    /// The position of the element that is being read.
    index: usize,
    after_colon: bool,
    is_reference: bool,
}

/// Returns the references in arguments. An error says why the call is refused.
pub(super) fn find(json: &[u8]) -> Result<Vec<Reference>, String> {
    let mut stack: Vec<Open> = Vec::new();
    let mut found: Vec<Reference> = Vec::new();
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        match byte {
            b'{' | b'[' => stack.push(Open {
                is_object: *byte == b'{',
                start: at,
                name: 0..0,
                index: 0,
                after_colon: false,
                is_reference: false,
            }),
            b'}' | b']' => {
                if let Some(closed) = stack.pop().filter(|closed| closed.is_reference) {
                    let span = closed.start..at + 1;
                    if found.iter().any(|inner| inner.span.start > span.start) {
                        return Err(NESTED.to_owned());
                    }
                    found.push(read(json, span, &stack)?);
                    if found.len() > MOST {
                        return Err(format!("there are more than {MOST} values by handle"));
                    }
                }
            }
            b'"' => {
                let end = end_of_string(json, at);
                if let Some(open) =
                    stack.last_mut().filter(|open| open.is_object && !open.after_colon)
                {
                    open.name = at..end;
                    if json.get(at..end) == Some(NAME) {
                        open.is_reference = true;
                        let around = stack.iter().filter(|open| open.is_reference).count();
                        if around > 1 {
                            return Err(NESTED.to_owned());
                        }
                    }
                }
                at = end;
                continue;
            }
            b':' => {
                if let Some(open) = stack.last_mut() {
                    open.after_colon = true;
                }
            }
            b',' => {
                if let Some(open) = stack.last_mut() {
                    open.after_colon = false;
                    open.index += 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    let places: std::collections::HashSet<&str> =
        found.iter().map(|it| it.pointer.as_str()).collect();
    if places.len() < found.len() {
        return Err("an argument occurs twice".to_owned());
    }
    Ok(found)
}

const NESTED: &str = "a value by handle cannot have another one inside";

/// Reads a reference in open containers.
fn read(json: &[u8], span: Range<usize>, around: &[Open]) -> Result<Reference, String> {
    if around.is_empty() {
        return Err("`$tamis` stands for one argument, not for all of them".to_owned());
    }
    let mut pointer = String::new();
    for open in around {
        pointer.push('/');
        if open.is_object {
            let name = text::decode(json.get(open.name.clone()).unwrap_or_default());
            let name = name.ok_or("the name of an argument cannot be read")?;
            pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
        } else {
            pointer.push_str(&open.index.to_string());
        }
    }
    if around.len() > DEEPEST {
        return Err("a value by handle is too deep in the arguments".to_owned());
    }
    let written = serde_json::from_slice(json.get(span.clone()).unwrap_or_default());
    let written: WrittenReference = written.map_err(|error| {
        let why = text::short(&error.to_string(), 200);
        format!(
            "{}: expected `$tamis`, `pointer`, and `patch` or `edits`: {why}",
            shown_place(&pointer)
        )
    })?;
    Ok(Reference { span, pointer, written })
}

/// Returns the place of an argument for a message.
pub(super) fn shown_place(pointer: &str) -> String {
    format!("the value at {}", text::short(pointer, 200))
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn references_are_found_with_their_places() {
        let json = r#"{"a":[0,{"$tamis":"tm_x","pointer":"/b"}],"a/~":{"b":{ "edits":[{"old":"\"","new":"{"}], "$tamis" : "tm_y"}},"$tamis2":"$tamis"}"#;
        let found = find(json.as_bytes()).unwrap();
        let places: Vec<_> =
            found.iter().map(|it| (it.pointer.as_str(), it.written.handle.as_str())).collect();
        assert_eq!(places, [("/a/1", "tm_x"), ("/a~1~0/b", "tm_y")]);
        assert!(json[found[0].span.clone()].starts_with(r#"{"$tamis":"tm_x""#));
        assert_eq!(found[1].written.edits.as_ref().unwrap()[0].new, "{");
    }

    #[test]
    fn other_forms_are_refused() {
        for (json, why) in [
            (r#"{"$tamis":"x"}"#, "not for all"),
            (r#"{"a":{"$tamis":"x","b":1}}"#, "unknown field"),
            (r#"{"a":{"$tamis":"x","$tamis":"y"}}"#, "duplicate field"),
            (r#"{"a":{"$tamis":1}}"#, "expected a string"),
            (r#"{"a":{"$tamis":"x","patch":[{"value":{"$tamis":"x"}}]}}"#, "another one inside"),
            (r#"{"a":{"patch":[{"value":{"$tamis":"x"}}],"$tamis":"x"}}"#, "another one inside"),
            (r#"{"a":{"$tamis":"x"},"a":{"$tamis":"y"}}"#, "occurs twice"),
        ] {
            let error = find(json.as_bytes()).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        let many = format!("[{}]", [r#"{"$tamis":"x"}"#; 17].join(","));
        assert!(find(many.as_bytes()).unwrap_err().contains("more than 16"));
    }
}
