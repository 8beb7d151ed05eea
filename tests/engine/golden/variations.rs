//! Results that are nearly those of a tool of the catalog: errors, empty lists, lists inside other members or lists, items
//! that lack half of their members, and items that have a scalar where the tool's have an object.
//!
//! A level that does not know such a result gives way to the next one, so that nothing is lost but what the rules name.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tamis::{Spec, filter_slice};
use tamis_manifest::{Level, Manifest};
use tamis_testkit::paths;

use super::{Scalars, files, of_profile, path_of};

/// Documents that no tool of the catalog returns for a call that succeeds, in the forms of several services.
fn errors() -> [Value; 8] {
    [
        json!({"message": "Bad credentials", "documentation_url": "https://host.example/rest", "status": "401"}),
        json!({"error": {"code": 404, "message": "Not found", "errors": [{"reason": "gone", "domain": "global"}]}}),
        json!({"errors": [{"message": "no such thing", "code": 7003, "path": ["viewer", "id"]}], "data": null}),
        json!({"errorMessages": ["The value 'X' does not exist for the field 'project'."], "errors": {"jql": "bad"}}),
        json!({"object": "error", "status": 404, "code": "object_not_found", "message": "Could not find it"}),
        json!({"ok": false, "error": "channel_not_found", "response_metadata": {"messages": ["why"]}}),
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "forbidden", "code": 403}),
        json!([{"error": "rate limited", "retry_after": 30}]),
    ]
}

/// Returns the members of an object at even or odd positions, in items only.
fn half(value: &Value, odd: usize) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| half_item(item, odd)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), half(value, odd))).collect()
        }
        scalar => scalar.clone(),
    }
}

fn half_item(item: &Value, odd: usize) -> Value {
    match item {
        Value::Object(members) => {
            let kept = members.iter().enumerate().filter(|(index, _)| index % 2 == odd);
            kept.map(|(_, (name, value))| (name.clone(), value.clone())).collect()
        }
        other => other.clone(),
    }
}

/// Returns a scalar that names an object, as newer servers return them.
fn named(value: &Value) -> Value {
    match value {
        Value::Object(members) => ["name", "login", "title", "value", "displayName", "id"]
            .iter()
            .filter_map(|name| members.get(*name))
            .chain(members.values())
            .find(|value| !value.is_object() && !value.is_array())
            .cloned()
            .unwrap_or(Value::Null),
        Value::Array(elements) => elements.iter().map(named).collect(),
        scalar => scalar.clone(),
    }
}

/// Writes items without objects inside.
fn flat(value: &Value) -> Value {
    match value {
        Value::Array(items) => items
            .iter()
            .map(|item| match item {
                Value::Object(members) => {
                    members.iter().map(|(name, value)| (name.clone(), named(value))).collect()
                }
                other => other.clone(),
            })
            .collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), flat(value))).collect()
        }
        scalar => scalar.clone(),
    }
}

/// Empties the longest list of a document.
fn emptied(value: &Value) -> Value {
    let mut emptied = value.clone();
    match &mut emptied {
        Value::Array(items) => items.clear(),
        Value::Object(members) => {
            let longest = members.values_mut().filter_map(Value::as_array_mut);
            if let Some(longest) = longest.max_by_key(|list| list.len()) {
                longest.clear();
            }
        }
        _ => {}
    }
    emptied
}

fn variations(response: &Value) -> Vec<(&'static str, Value)> {
    vec![
        ("as it is", response.clone()),
        ("in `data`", json!({"data": response})),
        ("in `result`", json!({"result": response, "count": 1})),
        ("in a list", json!([response])),
        ("lists of lists", json!([[response], [response]])),
        ("half", half(response, 0)),
        ("the other half", half(response, 1)),
        ("scalars", flat(response)),
        ("empty", emptied(response)),
    ]
}

/// Returns the scalars of a document, apart from nulls, each with the names on its path.
fn scalars(document: &Value) -> Vec<(Vec<&str>, &Value)> {
    let mut found = Vec::new();
    leaves(document, &mut Vec::new(), &mut found);
    found
}

fn leaves<'a>(
    value: &'a Value,
    path: &mut Vec<&'a str>,
    found: &mut Vec<(Vec<&'a str>, &'a Value)>,
) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                path.push(name);
                leaves(value, path, found);
                path.pop();
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| leaves(element, path, found)),
        Value::Null => {}
        scalar => found.push((path.clone(), scalar)),
    }
}

/// The last names of the paths that a filter leaves out.
fn omitted(spec: &Spec) -> BTreeSet<String> {
    let last = |path: &String| match path.strip_suffix("\"]") {
        Some(quoted) => quoted.rsplit('"').next().map(str::to_owned),
        None => path.rsplit(['.', '/']).next().map(str::to_owned),
    };
    spec.omit.iter().filter_map(last).collect()
}

fn run(spec: &Spec, document: &Value) -> Value {
    let text = document.to_string();
    let (output, _) = filter_slice(&of_profile(spec.clone()), text.as_bytes()).unwrap();
    serde_json::from_slice(&output).unwrap_or_else(|_| panic!("{text}"))
}

#[test]
fn errors_are_whole() {
    let catalog = Manifest::catalog().unwrap();
    for entry in catalog.names().map(|name| catalog.entry(name).unwrap()) {
        for level in [Level::Careful, Level::Tight] {
            let spec = entry.program_at(level).spec();
            for error in errors() {
                // A filter for lines sees a text.
                if spec.text_filter.is_some() {
                    continue;
                }
                let output = run(spec, &error);
                let shown = Scalars::of(output.to_string().as_bytes());
                for (path, value) in scalars(&error) {
                    let last = path.last().copied().unwrap_or_default();
                    assert!(shown.has(last, value), "{} {level:?}: {output}", entry.name());
                }
            }
        }
    }
}

#[test]
fn what_is_nearly_known_is_not_lost() {
    let catalog = Manifest::catalog().unwrap();
    let (mut runs, mut same) = (0, 0);
    for response in files().into_values().flat_map(|file| file.response) {
        let text = paths::text(&path_of(&response.file));
        let Ok(document) = serde_json::from_str::<Value>(&text) else { continue };
        let entry = catalog.entry(&response.tool).unwrap();
        for (name, varied) in variations(&document) {
            let profile = run(&Spec::new(), &varied);
            for level in [Level::Careful, Level::Tight] {
                let spec = entry.program_at(level).spec();
                if spec.text_filter.is_some() {
                    continue;
                }
                let output = run(spec, &varied);
                let about = || format!("{} {level:?}, {name}: {varied}", response.file);
                assert!(
                    scalars(&profile).is_empty() || !scalars(&output).is_empty(),
                    "{}",
                    about()
                );
                runs += 1;
                same += u32::from(output == profile);
                // The tight level selects, and conditions leave out items: nothing is promised for what they lose.
                let is_tight = level == Level::Tight && varied != json!([]);
                if is_tight || !spec.conditions.is_empty() {
                    continue;
                }
                let shown = Scalars::of(output.to_string().as_bytes());
                let left_out = omitted(spec);
                for (path, value) in scalars(&profile) {
                    let last = path.last().copied().unwrap_or_default();
                    let is_named = path.iter().any(|name| left_out.contains(*name));
                    assert!(is_named || shown.has(last, value), "{path:?} {value}\n{}", about());
                }
            }
        }
    }
    assert!(runs > 1_500 && same > 100, "{runs} {same}");
}
