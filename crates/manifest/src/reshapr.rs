//! reShapr's artifacts (seed 003; SPEC §9.3): `kind: ToolsFilters`, as documented, and `kind: ToolsOutputFilters`, as
//! shipped.
//!
//! | documented | shipped |
//! |---|---|
//! | `retain`, `patches` | `jsonRetain`, `jsonPatches`, `convertToToon` |
//!
//! An artifact is bound to a service, by name and version. A filter is one entry, or a list of branches with a `test`
//! each; if no branch applies, the response passes, as in reShapr. A failed `test` ends the sequence of `patches`; the
//! operations before it remain applied. A call cannot request the raw response. Empty lists and maps of rules are
//! refused, and so are unknown keys: an overlooked rule would let data pass.

use serde::Deserialize;

use super::building::{Building, Format};
use super::entry::Service;
use super::name::is_pattern;
use super::node::{Flaw, Key, Node, Value};
use tamis::Spec;
use tamis::spec::{Condition, Encode, OnTestFailure, PatchOp, WhenFallback};

pub(super) const FORMAT: Format = Format {
    name: "reshapr",
    signs: "`apiVersion:` and `kind: ToolsFilters`",
    recognises: |root| root.has("kind") || (root.has("apiVersion") && root.has("filters")),
    read,
};

const API_VERSION: &str = "reshapr.io/v1alpha1";
const KINDS: [&str; 2] = ["ToolsFilters", "ToolsOutputFilters"];
const KEYS: [&str; 4] = ["apiVersion", "kind", "service", "filters"];

/// An entry in the documented spelling.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "filter")]
struct Documented {
    test: Option<Condition>,
    retain: Option<Vec<String>>,
    patches: Option<Vec<PatchOp>>,
}

/// An entry in the shipped spelling.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "filter", rename_all = "camelCase")]
struct Shipped {
    test: Option<Condition>,
    json_retain: Option<Vec<String>>,
    json_patches: Option<Vec<PatchOp>>,
    convert_to_toon: Option<bool>,
}

/// The names of the rules of an entry.
#[derive(Clone, Copy)]
struct Spelling {
    retain: &'static str,
    patches: &'static str,
}

impl Spelling {
    fn new(shipped: bool) -> Self {
        if shipped {
            Self { retain: "jsonRetain", patches: "jsonPatches" }
        } else {
            Self { retain: "retain", patches: "patches" }
        }
    }
}

fn read(building: &mut Building<'_>, root: &Node) {
    for (key, _) in root.entries().unwrap_or_default() {
        if !KEYS.contains(&key.text.as_str()) {
            building.refuse_key(key.at.start, &key.text, &KEYS);
        }
    }
    word(building, root, "apiVersion", &[API_VERSION]);
    let kind = word(building, root, "kind", &KINDS);
    if let Some(service) = service(building, root) {
        building.bind(service);
    }
    let Some((key, filters)) = root.entry("filters") else {
        let message =
            "the key `filters` is missing; it maps names of tools to `retain` and `patches`";
        building.refuse(root.at.start, message);
        return;
    };
    let Some(filters) = filters.entries() else {
        let message =
            format!("`filters` must be a map from names of tools to rules, not {}", filters.what());
        building.refuse(key.at.start, message);
        return;
    };
    if filters.is_empty() {
        building.refuse(key.at.start, "`filters` is empty; it must have at least one tool");
        return;
    }
    let shipped = kind == Some(1);
    for (name, node) in filters {
        if is_pattern(&name.text) {
            let message =
                "names of tools are exact here; `*` and `?` are patterns only in tamis' own format";
            building.refuse_tool(&name.text, &Flaw::new(name.at.start, message));
            continue;
        }
        match spec(building, name, node, shipped) {
            Ok(spec) => {
                // In reShapr a caller cannot request the raw response, and a failed test ends the sequence.
                let spec = spec.allow_raw(false).on_test_failure(OnTestFailure::Stop);
                let spelling = Spelling::new(shipped);
                building.add(name.text.clone(), name.at.start, &spec, |rule| match rule {
                    "when" => Some((name, node)),
                    "retain" => node.entry(spelling.retain),
                    "patches" => node.entry(spelling.patches),
                    rule => node.entry(rule),
                });
            }
            Err(flaw) => building.refuse_tool(&name.text, &flaw),
        }
    }
}

/// Returns which of the allowed words a key has as its value, and records an error if it has none of them.
fn word(building: &mut Building<'_>, root: &Node, key: &str, words: &[&str]) -> Option<usize> {
    let one_of = words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or ");
    let Some((at, node)) = root.entry(key) else {
        building.refuse(root.at.start, format!("the key `{key}` is missing; it is {one_of}"));
        return None;
    };
    let found = words.iter().position(|word| node.as_text() == Some(word));
    if found.is_none() {
        let place = if node.at.is_empty() { at.at.start } else { node.at.start };
        let given = match node.as_text() {
            Some(text) => format!("`{}`", super::suggest::short(text)),
            None => node.what().to_owned(),
        };
        building.refuse(place, format!("`{key}` must be {one_of}, not {given}"));
    }
    found
}

/// Reads the service that the artifact is bound to.
fn service(building: &mut Building<'_>, root: &Node) -> Option<Service> {
    let Some((key, node)) = root.entry("service") else {
        let message =
            "the key `service` is missing; it has the `name` and the `version` of a service";
        building.refuse(root.at.start, message);
        return None;
    };
    let Some(entries) = node.entries() else {
        let message =
            format!("`service` must be a map with `name` and `version`, not {}", node.what());
        building.refuse(key.at.start, message);
        return None;
    };
    for (inner, _) in entries {
        if !["name", "version"].contains(&inner.text.as_str()) {
            building.refuse_key(inner.at.start, &inner.text, &["name", "version"]);
        }
    }
    let mut text = |name: &str| {
        let Some((inner, node)) = node.entry(name) else {
            building.refuse(key.at.start, format!("`service` is missing the key `{name}`"));
            return None;
        };
        // A version may be written as a number.
        match node.read::<String>(building.text.text) {
            Ok(text) if !text.trim().is_empty() => Some(text),
            _ => {
                let message = format!("`{name}` of the service must be a non-empty text");
                building.refuse(inner.at.start, message);
                None
            }
        }
    };
    let (name, version) = (text("name"), text("version"));
    Some(Service { name: name?, version: version? })
}

/// Reads an entry: rules, or a list of branches.
fn spec(building: &Building<'_>, name: &Key, node: &Node, shipped: bool) -> Result<Spec, Flaw> {
    let Value::List(branches) = &node.value else {
        let spec = rules(building, node, shipped)?;
        if spec.test.is_some() {
            let message = "a filter with a `test` must be a list of branches; begin each with `-`";
            return Err(Flaw::new(name.at.start, message));
        }
        return Ok(spec);
    };
    if branches.is_empty() {
        return Err(Flaw::new(
            name.at.start,
            "has no branches; each must have a `test` with `retain` or `patches`",
        ));
    }
    let mut spec = Spec::new().otherwise(WhenFallback::Pass);
    for node in branches {
        let branch = rules(building, node, shipped)?;
        let Some(test) = branch.test.clone() else {
            return Err(Flaw::new(
                node.at.start,
                "a branch requires a `test` with `path` and `value`",
            ));
        };
        spec = spec.when(test, branch);
    }
    Ok(spec)
}

/// Reads one entry, or one branch.
fn rules(building: &Building<'_>, node: &Node, shipped: bool) -> Result<Spec, Flaw> {
    let spelling = Spelling::new(shipped);
    let what = format!("`{}`, `{}`", spelling.retain, spelling.patches);
    if node.entries().is_none() {
        let message = format!("must be a map with {what} or both, not {}", node.what());
        return Err(Flaw::new(node.at.start, message));
    }
    let (Documented { test, retain, patches }, to_toon) = if shipped {
        let Shipped { test, json_retain, json_patches, convert_to_toon } =
            node.read(building.text.text)?;
        (Documented { test, retain: json_retain, patches: json_patches }, convert_to_toon)
    } else {
        (node.read(building.text.text)?, None)
    };
    if retain.is_none() && patches.is_none() && to_toon.is_none() {
        let message = format!("has no rules; it must have {what} or both");
        return Err(Flaw::new(node.at.start, message));
    }
    let Spelling { retain: retains, patches: operations } = spelling;
    for (key, empty) in [
        (retains, retain.as_ref().is_some_and(Vec::is_empty)),
        (operations, patches.as_ref().is_some_and(Vec::is_empty)),
    ] {
        if empty {
            let at = node.entry(key).map_or(node.at.start, |(key, _)| key.at.start);
            return Err(Flaw::new(
                at,
                format!("`{key}` is empty; it must have at least one entry"),
            ));
        }
    }
    let encode = if to_toon == Some(true) { Encode::Toon } else { Encode::Json };
    Ok(Spec { test, retain, patches, encode, ..Spec::new() })
}
