//! AIOS's tool registry: `tools.NAME.filter` with `type`, `max_tokens`, `fields`, `extract` and `max_rows` (seed:
//! AIOS; SPEC §9.4).
//!
//! The payload is the document itself, and `fields` and `extract` are names, not paths. Other keys of the file and of
//! a tool belong to AIOS and are ignored; unknown keys of a `filter` whose type is known are errors. A tool that is
//! not in the file, has no filter, or has a filter of an unknown type gets its full response: the file lists savings,
//! not permissions.

use serde::Deserialize;
use tamis_json::path::{Path, PathToken};

use super::building::{Building, Format};
use super::node::{Flaw, Key, Node, Value};
use super::suggest;
use tamis::Spec;
use tamis::content::Content;
use tamis::spec::{Budget, Root};

pub(super) const FORMAT: Format = Format {
    name: "aios",
    signs: "`tools:` with `filter:`",
    recognises: |root| {
        root.get("tools").is_some_and(|tools| matches!(tools.value, Value::Map(_)))
            && !["filters", "actions", "kind"].iter().any(|key| root.has(key))
    },
    read,
};

/// The filter types, each with the keys that have an effect.
const TYPES: [(&str, &[&str]); 3] = [
    ("content", &["type", "max_tokens", "extract"]),
    ("schema", &["type", "max_tokens", "fields"]),
    ("field", &["type", "max_tokens", "fields", "max_rows"]),
];

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "filter")]
struct Filter {
    #[serde(rename = "type")]
    kind: String,
    max_tokens: Option<u64>,
    fields: Option<Vec<String>>,
    extract: Option<Vec<String>>,
    max_rows: Option<u64>,
}

fn read(building: &mut Building<'_>, root: &Node) {
    let Some((at, tools)) = root.entry("tools") else { return };
    building.others(at.at.start, &pass());
    for (name, tool) in tools.entries().unwrap_or_default() {
        let Some((key, filter)) = tool.entry("filter") else { continue };
        if matches!(filter.value, Value::Null) {
            continue;
        }
        if let Err(flaw) = add(building, name, key, filter) {
            building.refuse_tool(&name.text, &flaw);
        }
    }
}

fn add(building: &mut Building<'_>, name: &Key, key: &Key, filter: &Node) -> Result<(), Flaw> {
    if filter.entries().is_none() {
        let message = format!("`filter` must be a map, not {}", filter.what());
        return Err(Flaw::new(key.at.start, message));
    }
    let kind = filter.get("type").and_then(Node::as_text);
    let known = TYPES.iter().find(|(known, _)| kind == Some(known));
    let (place, text) = (name.at.start, building.text.text);
    let Some((kind, effective)) = known else {
        building.add(name.text.clone(), place, &pass(), |_| None);
        let at = filter.get("type").map_or(key.at.start, |node| node.at.start);
        let types = TYPES.map(|(name, _)| name);
        let what = match kind {
            Some(kind) => suggest::unknown("type", kind, &types),
            None => format!("`filter` has no `type`; expected one of {}", types.join(", ")),
        };
        building.warn(&name.text, at, &format!("{what}; the tool's full response passes"));
        return Ok(());
    };
    let read: Filter = filter.read(text)?;
    let tokens = read.max_tokens.unwrap_or(0);
    let spec = if *kind == "content" {
        let content = Content::new().max_tokens(tokens);
        let names = read.extract.iter().flatten();
        Spec::new().content(names.fold(content, |content, name| content.extract(literal(name))))
    } else {
        let spec = Spec::new().root(Root::Object).budget(Budget::Tokens(tokens));
        // One item is always kept, whatever its size, so that a result is never empty.
        let mut spec = if tokens > 0 { spec.min_items(1) } else { spec };
        let mut seen = std::collections::HashSet::new();
        for name in read.fields.iter().flatten().filter(|name| seen.insert(name.as_str())) {
            // A name that is a number is an index when it is read as a path, so it cannot name an output key.
            spec = match name.as_str() {
                "" => spec.select(literal(name)),
                _ => spec.select_as(name.as_str(), literal(name)),
            };
        }
        if *kind == "field" {
            spec = spec.max_items(read.max_rows.unwrap_or(0));
            spec.wrap = true;
        }
        spec
    };
    building.add(name.text.clone(), place, &spec, |rule| match rule {
        "select" => filter.entry("fields"),
        rule => filter.entry(rule),
    });
    if *kind != "content" && spec.select.is_none() {
        let message = "`fields` is empty, so all members are kept; list the fields to keep";
        building.warn(&name.text, key.at.start, message);
    }
    for rule in ["fields", "extract"] {
        let list = filter.get(rule).map(|node| &node.value);
        let Some(Value::List(names)) = list else { continue };
        for (node, text) in names.iter().filter_map(|node| Some((node, node.as_text()?))) {
            if text != text.trim_matches(' ') {
                let message =
                    format!("{rule}: a space at the end of a name is part of the name; remove it");
                building.warn(&name.text, node.at.start, &message);
            } else if let Ok((_, Some(doubt))) = Path::parse_foreign(text) {
                let message = format!("{rule}: {}", doubt.message);
                building.warn(&name.text, node.at.start, &message);
            }
        }
    }
    for (key, _) in filter.entries().unwrap_or_default() {
        if !effective.contains(&key.text.as_str()) {
            let message = format!("`{}` has no effect with `type: {kind}`; leave it out", key.text);
            building.warn(&name.text, key.at.start, &message);
        }
    }
    Ok(())
}

/// A spec that passes the full response.
fn pass() -> Spec {
    let mut spec = Spec::new();
    spec.pass = true;
    spec
}

/// The path of the member with this name.
fn literal(name: &str) -> String {
    Path(vec![PathToken::Name(name.into())]).to_string()
}
