//! Rules of a filter that let values through which the filter that it extends removes.
//!
//! A list or a word replaces that of the base, so a filter may drop a rule without naming it. An empty list, such as
//! `exclude: []`, is taken as intended.

use std::collections::HashSet;

use super::node::{Node, Value};
use super::suggest;

/// Rules with a list, each entry of which removes or checks something.
const LISTS: [&str; 4] = ["exclude", "json_strings", "patches", "when"];

/// Returns the places and the warnings for the rules that are weaker than those of the base. `combined`: the rules of
/// both.
pub(super) fn weakened_rules(base: &Node, own: &Node, combined: &Node) -> Vec<(usize, String)> {
    let mut warnings = Vec::new();
    let mut warn = |rule: &str, message: String| {
        if let Some((key, node)) = own.entry(rule)
            && !is_empty_list(node)
        {
            warnings.push((key.at.start, message));
        }
    };
    for rule in LISTS {
        let (Some(theirs), Some(ours)) = (base.get(rule), combined.get(rule)) else { continue };
        if let Some(lost) = missing(entries(theirs), entries(ours)) {
            let message = format!("`{rule}` replaces the list of the base, and {lost} is missing");
            warn(rule, message);
        }
    }
    if let (Some(theirs), Some(ours)) = (base.get("retain"), combined.get("retain"))
        && let Some(lost) = missing(entries(ours), entries(theirs))
    {
        warn("retain", format!("`retain` keeps {lost}, which the base does not keep"));
    }
    for lost in lost_redaction(base.get("redact"), own.get("redact"), combined.get("redact")) {
        warn("redact", format!("`redact` replaces that of the base, and {lost} is missing"));
    }
    if is_closed(base) && !is_closed(combined) {
        warn("on_error", "`on_error` is no longer `closed`, as in the base".to_owned());
    }
    for (rule, weaker) in
        [("otherwise", &["pass"][..]), ("lenient_remove", &["true"]), ("allow_raw", &["true"])]
    {
        let word = |node: &Node| node.get(rule).map(word_of);
        if let (theirs, Some(ours)) = (word(base), word(combined))
            && theirs.as_ref() != Some(&ours)
            && weaker.contains(&ours.as_str())
            && (theirs.is_some() || rule != "otherwise")
            && removes(base)
        {
            warn(rule, format!("`{rule}: {ours}` lets more through than the base"));
        }
    }
    warnings
}

/// Returns what the rule `redact` of the base replaces, and that of both does not.
fn lost_redaction(base: Option<&Node>, own: Option<&Node>, combined: Option<&Node>) -> Vec<String> {
    let (Some(base), Some(own), Some(combined)) = (base, own, combined) else { return Vec::new() };
    let mut lost = Vec::new();
    if has_secrets(base) && !has_secrets(combined) {
        lost.push("`secrets`".to_owned());
    }
    let paths = |node: &'_ Node| node.get("paths").map(|paths| entries(paths).to_vec());
    let is_intended = own.get("paths").is_some_and(is_empty_list);
    if !is_intended {
        let (theirs, ours) = (paths(base), paths(combined));
        lost.extend(missing(&theirs.unwrap_or_default(), &ours.unwrap_or_default()));
    }
    let patterns = |node: &Node| {
        let entries = node.get("patterns").and_then(Node::entries).unwrap_or_default();
        entries.iter().map(|(key, node)| (key.text.clone(), plain(node))).collect::<Vec<_>>()
    };
    let ours: HashSet<_> = patterns(combined).into_iter().collect();
    let changed = patterns(base).into_iter().find(|pattern| !ours.contains(pattern));
    lost.extend(changed.map(|(name, _)| format!("the pattern `{}`", suggest::short(&name))));
    lost
}

/// Whether the rule `redact` finds credentials.
fn has_secrets(redact: &Node) -> bool {
    redact.as_text() == Some("secrets")
        || redact.get("secrets").is_some_and(|node| {
            matches!(node.value, Value::Bool(true)) || node.as_text() == Some("aggressive")
        })
}

/// Whether a miss is an error.
fn is_closed(rules: &Node) -> bool {
    match rules.get("on_error").and_then(Node::as_text) {
        Some(word) => word == "closed",
        None => ["retain", "patches", "when"].iter().any(|rule| rules.has(rule)),
    }
}

/// Whether a rule removes for safety.
fn removes(rules: &Node) -> bool {
    is_closed(rules) || ["exclude", "redact"].iter().any(|rule| rules.has(rule))
}

/// Writes a scalar as a word.
fn word_of(node: &Node) -> String {
    match &node.value {
        Value::Bool(yes) => yes.to_string(),
        Value::Text(text) => text.clone(),
        _ => String::new(),
    }
}

fn is_empty_list(node: &Node) -> bool {
    node.items().is_some_and(<[Node]>::is_empty)
}

/// Returns the items of a list, or a value that stands for a list of one.
fn entries(node: &Node) -> &[Node] {
    node.items().unwrap_or(std::slice::from_ref(node))
}

/// Names the first value that the other list lacks.
fn missing(values: &[Node], others: &[Node]) -> Option<String> {
    let others: HashSet<String> = others.iter().map(plain).collect();
    let lost = values.iter().find(|value| !others.contains(&plain(value)))?;
    Some(match lost.as_text() {
        Some(text) => format!("`{}`", suggest::short(text)),
        None => "an entry".to_owned(),
    })
}

/// Writes a value without its places, for comparison.
fn plain(node: &Node) -> String {
    match &node.value {
        Value::List(list) => format!("{:?}", list.iter().map(plain).collect::<Vec<_>>()),
        Value::Map(entries) => {
            let entries = entries.iter().map(|(key, node)| (key.text.as_str(), plain(node)));
            format!("{:?}", entries.collect::<Vec<_>>())
        }
        other => format!("{other:?}"),
    }
}
