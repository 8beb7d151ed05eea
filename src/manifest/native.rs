//! tamis' own format: `version: 1`, and a spec for each name under `filters`.
//!
//! The keys of a spec are those that [`Spec`] deserializes; this file does not list them again.

use super::building::{Building, Format, NATIVE, inside};
use super::node::{Flaw, Node, Value};
use crate::spec::Spec;

pub(super) const FORMAT: Format = Format {
    name: NATIVE,
    signs: "`version: 1` and `filters:`",
    recognises: |root| {
        root.has("filters") || (root.has("version") && !root.has("actions") && !root.has("tools"))
    },
    read,
};

const KEYS: [&str; 2] = ["version", "filters"];

fn read(building: &mut Building<'_>, root: &Node) {
    for (key, _) in root.entries().unwrap_or_default() {
        if !KEYS.contains(&key.text.as_str()) {
            building.refuse_key(key.at.start, &key.text, &KEYS);
        }
    }
    match root.entry("version") {
        None => building.refuse(root.at.start, "the key `version` is missing; write `version: 1`"),
        Some((key, node)) => match node.read::<u64>(building.text.text) {
            Ok(1) => {}
            Ok(other) => building.refuse(
                node.at.start,
                format!("version {other} is not known; this tamis reads `version: 1`"),
            ),
            Err(_) => building.refuse(
                if node.at.is_empty() { key.at.start } else { node.at.start },
                format!("`version` must be the number 1, not {}", written(building, node)),
            ),
        },
    }
    let Some((key, filters)) = root.entry("filters") else {
        building
            .refuse(root.at.start, "the key `filters` is missing; it maps names of tools to rules");
        return;
    };
    let Some(filters) = filters.entries() else {
        let message =
            format!("`filters` must be a map from names of tools to rules, not {}", filters.what());
        building.refuse(key.at.start, message);
        return;
    };
    for (name, node) in filters {
        if node.entries().is_none() {
            let message = format!(
                "must be a map of rules, not {}; `{{}}` only validates and minifies",
                node.what()
            );
            building.refuse_tool(&name.text, &Flaw::new(name.at.start, message));
            continue;
        }
        match node.read::<Spec>(building.text.text) {
            Ok(spec) => {
                building.add(name.text.clone(), name.at.start, &spec, |rule| inside(node, rule));
            }
            Err(flaw) => building.refuse_tool(&name.text, &flaw),
        }
    }
}

/// Returns a short number as it is written, or else a description of the value.
fn written<'a>(building: &Building<'a>, node: &Node) -> &'a str {
    let number = matches!(node.value, Value::Number | Value::Signed(_));
    let text = building.text.text.get(node.at.clone()).filter(|text| number && text.len() < 20);
    text.unwrap_or(node.what())
}
