//! Writes the kept members as sources of `select`: paths, and projections where several members of one object are kept.

use std::collections::{HashMap, HashSet};

use super::names::{NAMES_OF_PEOPLE, Words, is_wrapper};
use super::rank::MAX_DEPTH;
use super::sample::{PathNode, Samples};

/// One line of `select`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// The key in the output.
    pub(super) key: String,
    pub(super) path: String,
    /// The nodes of the members.
    pub(super) members: Vec<usize>,
}

/// The wrappers inside each other whose members become members of the item.
const MAX_WRAPPERS: usize = 4;

/// Writes the sources of an item.
pub(super) fn sources(samples: &Samples, item: usize, kept: &HashSet<usize>) -> Vec<Source> {
    let mut counts: HashMap<usize, usize> = HashMap::new();
    for node in kept {
        let mut around = Some(*node);
        while let Some(index) = around {
            *counts.entry(index).or_default() += 1;
            around = samples.node(index).and_then(|node| node.parent);
        }
    }
    let mut writer =
        SourceWriter { samples, kept, counts, sources: Vec::new(), keys: HashSet::new() };
    writer.object(item, "", 0);
    writer.sources
}

struct SourceWriter<'a> {
    samples: &'a Samples,
    kept: &'a HashSet<usize>,
    /// The kept members at and below each node.
    counts: HashMap<usize, usize>,
    sources: Vec<Source>,
    keys: HashSet<String>,
}

impl<'a> SourceWriter<'a> {
    fn count(&self, node: usize) -> usize {
        self.counts.get(&node).copied().unwrap_or(0)
    }

    /// Writes a source for each kept member of an object. Recursion is bounded by `MAX_WRAPPERS`.
    fn object(&mut self, index: usize, prefix: &str, wrappers: usize) {
        let samples = self.samples;
        let Some(object) = samples.node(index) else { return };
        for child in &object.children {
            let (Some(node), count) = (samples.node(*child), self.count(*child)) else { continue };
            let Some(name) = node.name.as_deref().filter(|_| count > 0) else { continue };
            let path = join(prefix, name);
            if self.is_whole(*child) {
                self.push(prefix, name, path, *child);
            } else if count == 1 {
                let (path, last) = self.only(*child, path);
                match last.filter(|last| !stands_for(last)) {
                    Some(last) => self.push(prefix, &format!("{name}_{last}"), path, *child),
                    None => self.push(prefix, name, path, *child),
                }
            } else if node.is_object()
                && wrappers < MAX_WRAPPERS
                && (is_wrapper(name) || self.is_most(node, object))
            {
                self.object(*child, &path, wrappers + 1);
            } else {
                let projection = self.projection(*child, 0);
                self.push(prefix, name, path + &projection, *child);
            }
        }
    }

    /// Whether most kept members of an object are in this one.
    fn is_most(&self, node: &PathNode, object: &PathNode) -> bool {
        node.bytes * 20 > object.bytes * 7
    }

    /// Whether a value is kept with everything in it: a scalar, or an array of scalars.
    fn is_whole(&self, mut index: usize) -> bool {
        while !self.kept.contains(&index) {
            match self.samples.node(index).map(|node| (node.elements(), node.children.len())) {
                Some((Some(elements), 1)) => index = elements,
                _ => return false,
            }
        }
        true
    }

    /// Returns the path to the only kept member below a node, and its name.
    fn only(&self, mut index: usize, mut path: String) -> (String, Option<&'a str>) {
        let mut last = None;
        while let Some(node) = self.samples.node(index) {
            let Some(child) = node.children.iter().find(|child| self.count(**child) > 0) else {
                break;
            };
            match self.samples.node(*child).and_then(|child| child.name.as_deref()) {
                Some(name) => {
                    path = join(&path, name);
                    last = Some(name);
                }
                None => path.push_str("[]"),
            }
            index = *child;
        }
        (path, last)
    }

    /// Returns `{…}` with the kept members of an object, or `[]{…}` for those of the elements of an array. Recursion is
    /// bounded by `MAX_DEPTH`.
    fn projection(&self, mut index: usize, depth: usize) -> String {
        let mut text = String::new();
        while let Some(elements) =
            self.samples.node(index).filter(|node| !node.is_object()).and_then(PathNode::elements)
        {
            text.push_str("[]");
            index = elements;
        }
        let Some(object) = self.samples.node(index).filter(|_| depth <= MAX_DEPTH) else {
            return text;
        };
        text.push('{');
        let mut is_first = true;
        for child in &object.children {
            let Some(name) = self.samples.node(*child).and_then(|node| node.name.as_deref()) else {
                continue;
            };
            if self.count(*child) == 0 {
                continue;
            }
            if !is_first {
                text.push(',');
            }
            is_first = false;
            text.push_str(&step(name));
            if !self.is_whole(*child) {
                text.push_str(&self.projection(*child, depth + 1));
            }
        }
        text.push('}');
        text
    }

    fn push(&mut self, prefix: &str, name: &str, path: String, node: usize) {
        let mut key = name.to_owned();
        if self.keys.contains(&key) {
            let last = prefix
                .rsplit(['.', '[', ']', '"'])
                .find(|part| !part.is_empty())
                .unwrap_or("other");
            key = format!("{last}_{name}");
        }
        let base = key.clone();
        for number in 2.. {
            if !self.keys.contains(&key) {
                break;
            }
            key = format!("{base}_{number}");
        }
        self.keys.insert(key.clone());
        let mut members = Vec::new();
        let mut open = vec![node];
        while let Some(index) = open.pop() {
            if self.kept.contains(&index) {
                members.push(index);
            }
            if let Some(node) = self.samples.node(index) {
                open.extend(node.children.iter().rev().filter(|child| self.count(**child) > 0));
            }
        }
        self.sources.push(Source { key, path, members });
    }
}

/// Whether the member of this name says what the object around it is: `milestone.title`, `owner.login`.
fn stands_for(name: &str) -> bool {
    let words = Words::new(name);
    NAMES_OF_PEOPLE.contains(&name)
        || ["id", "key", "label", "name", "slug", "text", "title", "value"].contains(&words.last())
}

/// Appends a name to a path.
pub(super) fn join(prefix: &str, name: &str) -> String {
    let step = step(name);
    match prefix {
        "" => step,
        prefix if step.starts_with('[') => format!("{prefix}{step}"),
        prefix => format!("{prefix}.{step}"),
    }
}

/// Writes a name as a step of a path: plain where that is possible, else in brackets and quotes.
fn step(name: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '@');
    if !name.is_empty() && name.chars().all(is_plain) && !name.starts_with('-') {
        return name.to_owned();
    }
    let mut quoted = String::from("[\"");
    for char in name.chars() {
        if matches!(char, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(char);
    }
    quoted.push_str("\"]");
    quoted
}

/// Returns the path of a node from the item, for people: `owner.login`, `labels[].name`.
pub(super) fn path_from(samples: &Samples, item: usize, mut index: usize) -> String {
    let mut steps = Vec::new();
    while index != item {
        let Some(node) = samples.node(index) else { break };
        steps.push(node.name.as_deref());
        let Some(parent) = node.parent else { break };
        index = parent;
    }
    let mut path = String::new();
    for step in steps.into_iter().rev() {
        match step {
            Some(name) => path = join(&path, name),
            None => path.push_str("[]"),
        }
    }
    path
}

/// The paths that differ only in one name, from which the name is data.
const MANY: usize = 3;

/// A step of a path that is excluded.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Step<'a> {
    Element,
    Name(&'a str),
    AnyName,
}

/// Returns a path with any name at a step, if a name is there that is not the last one.
fn with_any_name<'a>(path: &[Step<'a>], at: usize) -> Option<Vec<Step<'a>>> {
    let mut path = path.to_vec();
    let (_, before) = path.split_last_mut()?;
    let step = before.get_mut(at).filter(|step| matches!(step, Step::Name(_)))?;
    *step = Step::AnyName;
    Some(path)
}

/// Writes paths, given as the nodes from the item, for `exclude`: names that are data become `*`, so that the rule holds for
/// other names, too.
pub(super) fn excluded(samples: &Samples, paths: &[&[usize]]) -> Vec<String> {
    let step = |node: &usize| match samples.node(*node).and_then(|node| node.name.as_deref()) {
        None => Step::Element,
        Some(name) => Step::Name(name),
    };
    let mut all: Vec<Vec<Step<'_>>> =
        paths.iter().map(|path| path.iter().map(step).collect()).collect();
    let deepest = all.iter().map(Vec::len).max().unwrap_or(0);
    // The last name is that of the credential.
    for at in 0..deepest.saturating_sub(1) {
        let mut counts: HashMap<Vec<Step<'_>>, usize> = HashMap::new();
        for path in all.iter().filter_map(|path| with_any_name(path, at)) {
            *counts.entry(path).or_default() += 1;
        }
        for path in &mut all {
            if let Some(any) = with_any_name(path, at)
                && counts.get(&any).is_some_and(|count| *count >= MANY)
            {
                *path = any;
            }
        }
    }
    let mut seen = HashSet::new();
    all.retain(|path| seen.insert(path.clone()));
    let written = |path: &Vec<Step<'_>>| {
        path.iter().fold(String::new(), |path, step| match step {
            Step::Element => path + "[]",
            Step::Name(name) => join(&path, name),
            Step::AnyName if path.is_empty() => "*".to_owned(),
            Step::AnyName => path + ".*",
        })
    };
    all.iter().map(written).collect()
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn names_in_paths() {
        let cases = [
            ("", "id", "id"),
            ("a", "id", "a.id"),
            ("a", "b.c", "a[\"b.c\"]"),
            ("", "", "[\"\"]"),
            ("a", "x\"\\", "a[\"x\\\"\\\\\"]"),
            ("", "$ref", "[\"$ref\"]"),
            ("", "-1", "[\"-1\"]"),
        ];
        for (prefix, name, path) in cases {
            assert_eq!(join(prefix, name), path);
        }
    }
}
