//! Specs whose rules use the machine's loops in every way.

use serde_json::{Map, Value as Json, json};

use super::Focus;
use crate::prng::Choices;

/// Generates a spec as JSON. Some cannot be compiled.
pub fn spec(choices: &mut impl Choices, focus: Focus) -> String {
    let mut spec = match choices.below(12) {
        0..=7 => rules(choices, focus),
        8 => when(choices, focus),
        9 => patches(choices, focus),
        10 => json!({ "retain": pointers(choices, focus) }),
        _ => json!({}),
    };
    let fields = spec.as_object_mut().expect("a spec is an object");
    settings(choices, focus, fields);
    spec.to_string()
}

/// Settings that apply to all rules.
fn settings(choices: &mut impl Choices, focus: Focus, fields: &mut Map<String, Json>) {
    if choices.one_in(3) {
        fields.insert("validation".into(), "structure".into());
    }
    if choices.one_in(8) {
        fields.insert("whitespace".into(), "keep".into());
    }
    if choices.one_in(12) {
        fields.insert("extract".into(), path(choices, focus).into());
    }
}

/// Rules on items.
fn rules(choices: &mut impl Choices, focus: Focus) -> Json {
    let mut fields = Map::new();
    let kind = choices.below(7);
    if matches!(kind, 0..=2) {
        let paths = paths(choices, focus, 6);
        let select = paths.into_iter().enumerate();
        let select = select.map(|(number, path)| {
            let path = if choices.one_in(4) { projection(choices, focus) } else { path };
            (format!("k{number}"), path.into())
        });
        fields.insert("select".into(), Json::Object(select.collect()));
    }
    if matches!(kind, 2..=4) {
        fields.insert("exclude".into(), paths(choices, focus, 5).into());
    }
    if choices.one_in(6) {
        let value = match choices.below(4) {
            0 => json!(null),
            1 => json!(0),
            2 => json!("x"),
            _ => json!(true),
        };
        fields.insert("where".into(), json!([{ "path": path(choices, focus), "equals": value }]));
    }
    if kind == 5 || choices.one_in(5) {
        fields.insert("drop_nulls".into(), true.into());
    }
    if kind == 6 || choices.one_in(5) {
        fields.insert("drop_empty".into(), true.into());
    }
    if choices.one_in(5) {
        fields.insert("max_items".into(), (1 + choices.below(4)).into());
        if choices.one_in(3) {
            fields.insert("stop_early".into(), true.into());
        }
    }
    if choices.one_in(5) {
        fields.insert("retain".into(), pointers(choices, focus).into());
    }
    let root =
        choices.pick(&["object", "object", "auto", "auto", "first", "items", "data", "a.items"]);
    fields.insert("root".into(), root.into());
    let optional = [
        ("siblings", ["drop", "keep"]),
        ("duplicate_keys", ["reject", "count"]),
        ("on_error", ["closed", "raw"]),
    ];
    for (name, values) in optional {
        if choices.one_in(4) {
            fields.insert(name.into(), choices.pick(&values).into());
        }
    }
    if choices.one_in(12) {
        fields.insert("budget".into(), json!({ "bytes": choices.pick(&[40, 10, 200, 2000]) }));
    }
    Json::Object(fields)
}

fn when(choices: &mut impl Choices, focus: Focus) -> Json {
    let branches: Vec<Json> = (0..1 + choices.below(3))
        .map(|_| {
            let mut branch = if choices.one_in(3) {
                json!({ "retain": pointers(choices, focus) })
            } else {
                rules(choices, focus)
            };
            let value = choices.pick(&["1", "null", "\"x\"", "true", "[]"]);
            let value: Json = value.parse().expect("a value is JSON");
            branch["test"] = json!({ "path": pointer(choices, focus), "value": value });
            branch
        })
        .collect();
    json!({ "when": branches, "otherwise": choices.pick(&["pass", "drop", "error"]) })
}

fn patches(choices: &mut impl Choices, focus: Focus) -> Json {
    let operations: Vec<Json> = (0..1 + choices.below(4))
        .map(|_| {
            let path = pointer(choices, focus);
            match choices.below(6) {
                0 | 1 => json!({ "op": "remove", "path": path }),
                2 | 3 => json!({ "op": "replace", "path": path, "value": [1, null] }),
                4 => json!({ "op": "add", "path": path, "value": "new" }),
                _ => json!({ "op": "move", "from": pointer(choices, focus), "path": path }),
            }
        })
        .collect();
    let on_error = choices.pick(&["raw", "closed"]);
    json!({ "patches": operations, "lenient_remove": choices.one_in(2), "on_error": on_error })
}

/// Up to `most` paths. Some sets lead into one member, and some of these are both names and indices.
fn paths(choices: &mut impl Choices, focus: Focus, most: usize) -> Vec<String> {
    let count = 1 + choices.below(most);
    if choices.one_in(3) {
        let begin = focus.name(choices);
        let mut end = || match choices.below(3) {
            0 => choices.pick(&["0", "1", "12"]),
            _ => focus.name(choices),
        };
        return (0..=count).map(|_| format!("/{begin}/{}", end())).collect();
    }
    if choices.one_in(2) {
        return (0..count.min(3)).map(|_| format!("/{}", focus.name(choices))).collect();
    }
    (0..count).map(|_| path(choices, focus)).collect()
}

/// A path in an item.
fn path(choices: &mut impl Choices, focus: Focus) -> String {
    let first = pointer(choices, focus);
    match choices.below(10) {
        0..=3 => first,
        4 => format!("/{}/*/{}", focus.name(choices), focus.name(choices)),
        5 => format!("/{}/{}", focus.name(choices), choices.below(3)),
        6 => format!("/*/{}", focus.name(choices)),
        _ => format!("/{}", focus.name(choices)),
    }
}

/// A dot path with a projection of one to four members.
fn projection(choices: &mut impl Choices, focus: Focus) -> String {
    let quoted =
        |name: String| format!("[\"{}\"]", name.replace('\\', "\\\\").replace('"', "\\\""));
    let mut names: Vec<String> =
        (0..1 + choices.below(4)).map(|_| quoted(focus.name(choices).to_string())).collect();
    names.sort();
    names.dedup();
    let levels = choices.pick(&["", "", "[]"]);
    format!("{}{levels}{{{}}}", quoted(focus.name(choices).to_string()), names.join(","))
}

/// A JSON Pointer of one to three steps.
fn pointer(choices: &mut impl Choices, focus: Focus) -> String {
    let steps = choices.pick(&[1, 1, 1, 2, 3]);
    (0..steps).map(|_| format!("/{}", focus.name(choices))).collect()
}

fn pointers(choices: &mut impl Choices, focus: Focus) -> Vec<String> {
    let wrapped = choices.one_in(3);
    let begin = if wrapped { choices.pick(&["/items", "/data"]) } else { "" };
    (0..1 + choices.below(5)).map(|_| format!("{begin}{}", pointer(choices, focus))).collect()
}
