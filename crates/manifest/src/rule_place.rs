//! Finds the byte of a file that an error in a rule refers to.

use tamis_json::error::RulePlace;

use super::node::{Key, Node, Value};
use super::scalar::byte_inside;

/// Returns the byte of a file that the error of a spec refers to. `rules` is the map that the spec was read from.
pub fn error_at(text: &str, rules: &Node, error: &tamis::Error) -> Option<usize> {
    rule_at(text, error.rule()?, &|rule: &str| inside(rules, rule))
}

/// Returns the byte of a file that an error in a rule refers to. `rules` maps each rule to its node.
pub(super) fn rule_at<'n>(
    text: &str,
    place: &RulePlace,
    rules: &impl Fn(&str) -> Option<(&'n Key, &'n Node)>,
) -> Option<usize> {
    // A condition of `where` has its path and its pattern as members.
    let (name, member) = match place.rule {
        "matches" => ("where", "matches"),
        "patterns" => ("redact", "patterns"),
        "redact" => ("redact", "paths"),
        rule => (rule, "path"),
    };
    let (rule, node) = rules(name)?;
    let node = if name == "redact" { node.get(member).unwrap_or(node) } else { node };
    let inside = |node: &Node| match &node.value {
        Value::Text(said) => byte_inside(&node.at, text, said, place.at),
        _ => node.at.start,
    };
    Some(match &node.value {
        Value::Map(entries) => match entries.get(place.entry) {
            Some((key, _)) if place.is_key => key.at.start,
            Some((_, node)) => inside(node),
            None => rule.at.start,
        },
        Value::List(list) if name == "where" => {
            let entry = list.get(place.entry);
            let found =
                entry.and_then(|entry| entry.get(member).or_else(|| entry.get("not")?.get(member)));
            found.or(entry).map_or(rule.at.start, inside)
        }
        Value::List(list) => list.get(place.entry).map_or(rule.at.start, inside),
        Value::Text(_) => inside(node),
        _ => rule.at.start,
    })
}

/// Returns the node of a rule, if `rules` has one. The lists of a text filter and the templates of a compact are
/// inside their rule's node.
pub(super) fn inside<'n>(rules: &'n Node, rule: &str) -> Option<(&'n Key, &'n Node)> {
    match rule {
        "strip_lines_matching" | "keep_lines_matching" => rules.get("text_filter")?.entry(rule),
        "header" | "item" | "footer" => rules.get("compact")?.entry(rule),
        _ => rules.entry(rule),
    }
}
