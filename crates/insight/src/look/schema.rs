//! Describes documents by a JSON Schema (2020-12), from the tree of their paths.

use std::fmt::Write as _;

use tamis_json::key::quote;
use tamis_json::path::{Path, PathToken};

use super::tree::{LookKind, LookNode, LookTree};

impl LookTree {
    /// Returns a JSON Schema (2020-12, without `$schema`) that the documents fit. A member is required if every object has it.
    /// `None`: the tree is not one of JSON.
    ///
    /// ```
    /// use tamis_insight::look::{Look, LookOptions};
    ///
    /// let mut look = Look::new(&LookOptions::new());
    /// look.write(br#"[{"id": 1, "state": "open"}, {"id": 2, "state": null}, {"id": 3}]"#)?;
    /// look.end()?;
    /// assert_eq!(
    ///     look.into_tree().to_schema().as_deref(),
    ///     Some(concat!(
    ///         r#"{"type":"array","items":{"type":"object","properties":"#,
    ///         r#"{"state":{"type":["string","null"]},"id":{"type":"number"}},"required":["id"]}}"#,
    ///     ))
    /// );
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn to_schema(&self) -> Option<String> {
        let root = self.node(0).filter(|_| self.kind() == LookKind::Json)?;
        let mut schema = String::new();
        describe(root, &mut schema);
        Some(schema)
    }
}

/// Writes the schema of the values at a path. Paths have a bounded number of steps.
fn describe(node: LookNode<'_>, schema: &mut String) {
    let types = node.types();
    schema.push('{');
    match types.as_slice() {
        [] => {}
        [one] => _ = write!(schema, "\"type\":\"{one}\""),
        several => _ = write!(schema, "\"type\":[\"{}\"]", several.join("\",\"")),
    }
    let children: Vec<(Option<String>, LookNode<'_>)> =
        node.children().map(|child| (name(child), child)).collect();
    let named = || children.iter().filter_map(|(name, child)| Some((name.as_deref()?, *child)));
    for (number, (name, child)) in named().enumerate() {
        schema.push_str(if number == 0 { ",\"properties\":{" } else { "," });
        _ = write!(schema, "{}:", quoted(name));
        describe(child, schema);
    }
    if named().next().is_some() {
        schema.push('}');
    }
    let all_have = |child: LookNode<'_>| types == ["object"] && child.count() == node.count();
    let required = named().filter(|(_, child)| all_have(*child)).map(|(name, _)| quoted(name));
    let required: Vec<String> = required.collect();
    if !required.is_empty() {
        _ = write!(schema, ",\"required\":[{}]", required.join(","));
    }
    for (_, child) in children.iter().filter(|(name, _)| name.is_none()) {
        let keyword = if child.step() == "[]" { "items" } else { "additionalProperties" };
        _ = write!(schema, ",\"{keyword}\":");
        describe(*child, schema);
    }
    schema.push('}');
}

/// Returns a name as a JSON string. Escapes stand for characters that may be invisible or reorder a line.
fn quoted(name: &str) -> String {
    let mut text = String::new();
    for char in String::from_utf8(quote(name)).unwrap_or_default().chars() {
        if char.is_ascii() || char.is_alphanumeric() {
            text.push(char);
            continue;
        }
        for unit in char.encode_utf16(&mut [0; 2]) {
            _ = write!(text, "\\u{unit:04x}");
        }
    }
    text
}

/// Returns the name of a member. `None`: the elements of an array, or the members of a map.
fn name(node: LookNode<'_>) -> Option<String> {
    if matches!(node.step(), "[]" | "*") {
        return None;
    }
    match Path::parse(node.step()).ok()?.0.pop()? {
        PathToken::Name(name) => Some(name.into()),
        PathToken::Any => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::look::{Look, LookOptions};

    fn schema(documents: &[&str]) -> String {
        let mut look = Look::new(&LookOptions::new());
        for document in documents {
            look.write(document.as_bytes()).unwrap();
            look.end().unwrap();
        }
        look.into_tree().to_schema().unwrap()
    }

    #[test]
    fn names_are_those_of_members() {
        assert_eq!(
            schema(&[r#"{"a.b":"x","*":[],"[]":{},"\"q\"":true}"#]),
            concat!(
                r#"{"type":"object","properties":{"\"q\"":{"type":"boolean"},"a.b":{"type":"string"},"[]":{"type":"object"},"#,
                r#""*":{"type":"array"}},"required":["\"q\"","a.b","[]","*"]}"#,
            )
        );
    }

    #[test]
    fn documents_of_several_kinds_and_maps_have_a_schema() {
        assert_eq!(schema(&["1", "null"]), r#"{"type":["number","null"]}"#);
        assert_eq!(
            schema(&[r#"{"a":[1,"x"]}"#, "[]"]),
            concat!(
                r#"{"type":["object","array"],"properties":{"a":{"type":"array","#,
                r#""items":{"type":["string","number"]}}}}"#,
            )
        );
        let users: Vec<String> =
            (0..50).map(|id| format!("\"u{id}\":{{\"id\":{id},\"name\":\"x\"}}")).collect();
        assert_eq!(
            schema(&[&format!("{{{}}}", users.join(","))]),
            concat!(
                r#"{"type":"object","additionalProperties":{"type":"object","properties":"#,
                r#"{"name":{"type":"string"},"id":{"type":"number"}},"required":["name","id"]}}"#,
            )
        );
    }
}
