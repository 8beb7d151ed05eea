//! tamis' own format: `version: 1`, and a spec for each name under `filters`.
//!
//! The keys of a spec are those that [`Spec`] deserializes; this file does not list them again. The keys that only a
//! gateway reads are those of [`WrittenSettings`], [`ServerSettings`] and [`Delivery`]. `extends` and `aliases` are read in [`inherit`].

use std::collections::HashSet;

use super::building::{Building, Format, NATIVE};
use super::delivery::{Delivery, split};
use super::inherit::{self, CompleteFilter, REPLACED, TIGHT, combined};
use super::node::{Flaw, Key, Node, Value};
use super::renamed::output_places;
use super::rule_place::inside;
use super::server::ServerSettings;
use super::settings::WrittenSettings;
use super::suggest;

use tamis::Spec;
use tamis::spec::Redact;

pub(super) const FORMAT: Format = Format {
    name: NATIVE,
    signs: "`version: 1` and `filters:`",
    recognises: |root| {
        root.has("filters") || (root.has("version") && !root.has("actions") && !root.has("tools"))
    },
    read,
};

fn read(building: &mut Building<'_>, root: &Node) {
    let own = [&["version", "filters"], WrittenSettings::KEYS.as_slice()].concat();
    let known = [own.as_slice(), &ServerSettings::KEYS].concat();
    for (key, _) in root.entries().unwrap_or_default() {
        if !known.contains(&key.text.as_str()) {
            building.refuse_key(key.at.start, &key.text, &known);
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
    let (settings, _) = split(root, &WrittenSettings::KEYS);
    match settings.read::<WrittenSettings>(building.text.text) {
        Ok(written) => {
            let text = building.text;
            let place =
                |name: &str| Some(text.problem(root.entry(name)?.0.at.start, String::new()));
            building.settings = written.at(place);
        }
        Err(flaw) => building.refuse(flaw.at.unwrap_or(root.at.start), flaw.message()),
    }
    read_server_settings(building, root);
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
    let mut wrong = HashSet::new();
    for CompleteFilter { name, rules: node, aliases, number, base, weakened } in
        inherit::complete(building, filters)
    {
        // A mistake of a base is reported once.
        if base.is_some_and(|base| wrong.contains(&base)) {
            wrong.insert(number);
            continue;
        }
        let before = building.problem_count();
        let (delivery, rules) = split(&node, &Delivery::KEYS);
        let (_, rules) = split(&rules, &[TIGHT]);
        let text = building.text.text;
        match (rules.read::<Spec>(text), delivery.read::<Delivery>(text)) {
            (Ok(spec), Ok(delivery)) => {
                building.add(name.text.clone(), name.at.start, &spec, |rule| inside(&node, rule));
                if let Some((key, tight)) = node.entry(TIGHT) {
                    read_tight(building, &name.text, (key, tight), &rules, &spec);
                }
                building.deliver(&name.text, delivery);
                building.call(&name.text, aliases);
                for (at, message) in weakened {
                    building.warn(&name.text, at, &message);
                }
            }
            (spec, delivery) => {
                for flaw in [spec.err(), delivery.err()].into_iter().flatten() {
                    building.refuse_tool(&name.text, &with_hint(flaw));
                }
            }
        }
        if building.problem_count() > before {
            wrong.insert(number);
        }
    }
    building.sort();
}

/// Reads the keys for all MCP servers.
fn read_server_settings(building: &mut Building<'_>, root: &Node) {
    let (settings, _) = split(root, &ServerSettings::KEYS);
    let text = building.text;
    match settings.read::<ServerSettings>(text.text) {
        Ok(settings) => {
            let place = |key: &&'static str| {
                let (node, _) = root.entry(key)?;
                Some((*key, text.problem(node.at.start, String::new())))
            };
            building.settings.server_places =
                ServerSettings::KEYS.iter().filter_map(place).collect();
            building.settings.for_servers = settings;
        }
        Err(flaw) => building.refuse(flaw.at.unwrap_or(root.at.start), flaw.message()),
    }
}

/// Reads the tight level of a filter: its own rules take the place of the careful rules on items.
fn read_tight(
    building: &mut Building<'_>,
    name: &str,
    (key, tight): (&Key, &Node),
    rules: &Node,
    careful: &Spec,
) {
    let at = |key: &Key, node: &Node| if node.at.is_empty() { key.at.start } else { node.at.start };
    let Some(entries) = tight.entries() else {
        let message = format!("`{TIGHT}` must be a map of rules, not {}", tight.what());
        building.refuse_tool(name, &Flaw::new(at(key, tight), message));
        return;
    };
    let text = building.text.text;
    let alone = tight.read::<Spec>(text).unwrap_or_default();
    let (protecting, _) = alone.effects();
    // Other rules could move what the filter removes out of its reach.
    let removes = careful.removes_for_safety();
    let both = entries.iter().map(|(key, _)| key).find(|key| {
        let rule = key.text.as_str();
        let is_free = REPLACED.contains(&rule) || ["requires", "text_filter"].contains(&rule);
        !is_free && (removes || protecting.contains(&rule))
    });
    if let Some(rule) = both {
        let message = format!("`{}` holds at both levels; write it before `{TIGHT}`", rule.text);
        building.refuse_tool(name, &Flaw::new(rule.at.start, message));
        return;
    }
    let (_, kept) = split(rules, &REPLACED);
    let rules = combined(&kept, tight, false);
    match rules.read::<Spec>(text) {
        Ok(spec) => {
            let spec = if removes { protected(spec, careful) } else { spec };
            building.tighten(name, key.at.start, &spec, |rule| inside(&rules, rule));
        }
        Err(flaw) => building.refuse_tool(name, &with_hint(flaw)),
    }
}

/// Returns a tight level that keeps what the careful one protects: it needs the same shape, and removes the values under the
/// names that it writes.
fn protected(mut spec: Spec, careful: &Spec) -> Spec {
    let missing = |path: &&String| !spec.requires.contains(path);
    let requires: Vec<String> = careful.requires.iter().filter(missing).cloned().collect();
    spec.requires.extend(requires);
    for path in &careful.exclude {
        let places = output_places(&spec, path);
        spec.exclude.extend(places);
    }
    for path in careful.redact.iter().flat_map(|redact| &redact.paths) {
        let places = output_places(&spec, path);
        spec = places
            .into_iter()
            .fold(spec, |spec, place| spec.redact_also(&Redact::new().path(place)));
    }
    spec
}

/// Suggests a key of [`Delivery`] for an unknown key, if one is closer than the rules.
fn with_hint(flaw: Flaw) -> Flaw {
    let keys: Vec<&str> = Delivery::KEYS.into_iter().chain(inherit::KEYS).chain([TIGHT]).collect();
    // A key that is spelled right is in a branch, where it is not allowed.
    let close =
        |key: &str| suggest::closest(key, keys.iter().copied()).filter(|_| !keys.contains(&key));
    match flaw.unknown_key() {
        Some((at, key)) if close(key).is_some() => {
            Flaw::new(at, suggest::unknown("key", key, &keys))
        }
        _ => flaw,
    }
}

/// Returns a short number as it is written, or else a description of the value.
fn written<'a>(building: &Building<'a>, node: &Node) -> &'a str {
    let number = matches!(node.value, Value::Number | Value::Signed(_));
    let text = building.text.text.get(node.at.clone()).filter(|text| number && text.len() < 20);
    text.unwrap_or(node.what())
}
