//! The paths of a rule, as a list for programs and as a tree for people.
//!
//! A step with a single child is printed on the line of that child. This keeps the tree no longer than a few times
//! the paths themselves.

use std::fmt::Write as _;

use serde::{Serialize, Serializer};
use tamis_json::path::trie::{NodeId, Trie};
use tamis_json::path::{Path, PathToken};
use tamis_json::regex_budget::RegexBudget;

use crate::filter::compile::items::trie_of;
use crate::filter::compile::select::SelectRules;
use crate::spec::Spec;

/// The largest column in which marks are aligned.
const WIDEST: usize = 40;

/// The paths of a rule with what happens to each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PathList {
    leaves: Vec<PathEntry>,
    drawn: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct PathEntry {
    /// The path as written.
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    many: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    excluded: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<bool>,
}

impl Serialize for PathList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.leaves.serialize(serializer)
    }
}

impl PathList {
    /// Returns the paths of a rule with one effect: `retain` keeps, `exclude` removes.
    pub(super) fn plain(trie: &Trie, written: &[String], retain: bool) -> Self {
        let leaves = written
            .iter()
            .map(|path| PathEntry { path: path.clone(), ..PathEntry::default() })
            .collect();
        let (root, what) = if retain { ("document", "keep") } else { ("item", "remove") };
        let mark = |node| (!trie.ends(node).is_empty()).then(|| what.to_owned());
        Self { leaves, drawn: draw(trie, root, retain, mark) }
    }

    /// Returns the paths of `omit`. The rules on items have them in one trie with those of `exclude`.
    pub(super) fn omitted(spec: &Spec) -> Self {
        let trie = trie_of("omit", &spec.omit, spec.envelope, &mut RegexBudget::new());
        trie.map_or_else(|_| Self::default(), |trie| Self::plain(&trie, &spec.omit, false))
    }

    pub(super) fn selected(select: &SelectRules, spec: &Spec) -> Self {
        let written = spec.select.iter().flat_map(|select| &select.0);
        let leaves = select.sources.iter().zip(written).map(|(source, written)| PathEntry {
            path: source.text.clone(),
            key: written.output_key(),
            many: Some(source.path.0.contains(&PathToken::Any)),
            excluded: Some(source.exclude.is_hit()),
            held: Some(false),
        });
        let mut leaves: Vec<PathEntry> = leaves.collect();
        for node in select.nodes.iter().filter(|node| node.shared) {
            for source in &node.starts {
                if let Some(leaf) = leaves.get_mut(*source as usize) {
                    leaf.held = Some(true);
                }
            }
        }
        let mark = |node: NodeId| {
            let mut marks = Vec::new();
            for number in select.trie.ends(node) {
                let Some(source) = select.sources.get(*number as usize) else { continue };
                let key = String::from_utf8_lossy(select.key(*number));
                let many =
                    if source.path.0.contains(&PathToken::Any) { ", all in an array" } else { "" };
                let gone = match source.exclude.rule() {
                    None => "",
                    Some(path) if (path as usize) < spec.exclude.len() => ", removed by exclude",
                    Some(_) => ", left out by omit",
                };
                let single =
                    if source.passing { ", of a single object: neither hit nor miss" } else { "" };
                let braces = source.braces_as_written();
                marks.push(format!("as {key}{many}{braces}{gone}{single}"));
            }
            if select.node(node).shared {
                marks.push("held".to_owned());
            }
            (!marks.is_empty()).then(|| marks.join("; "))
        };
        Self { leaves, drawn: draw(&select.trie, "item", false, mark) }
    }

    /// Returns the number of paths.
    pub(super) fn len(&self) -> usize {
        self.leaves.len()
    }

    /// Returns the lines of the tree.
    pub(super) fn drawn(&self) -> impl Iterator<Item = &str> {
        self.drawn.lines()
    }
}

/// A line of the tree that is not drawn yet.
struct PendingNode {
    node: NodeId,
    /// The tokens after the parent line.
    steps: Path,
    depth: usize,
    last: bool,
}

fn draw(
    trie: &Trie,
    root: &str,
    pointers: bool,
    mark: impl Fn(NodeId) -> Option<String>,
) -> String {
    let mut lines = vec![(root.to_owned(), mark(0))];
    // By depth: whether the line is the last of its siblings.
    let mut ends: Vec<bool> = Vec::new();
    let mut todo = Vec::new();
    below(trie, 0, 0, &mut todo);
    while let Some(PendingNode { node, steps, depth, last }) = todo.pop() {
        ends.truncate(depth);
        let mut line = String::new();
        for end in &ends {
            line.push_str(if *end { "   " } else { "│  " });
        }
        ends.push(last);
        line.push_str(if last { "└─ " } else { "├─ " });
        let (mut at, mut steps) = (node, steps);
        let mut found = mark(at);
        while found.is_none()
            && let [(token, child)] = trie.children(at)
        {
            steps.0.push(token.clone());
            at = *child;
            found = mark(at);
        }
        let name = match steps.0.first() {
            _ if pointers => steps.to_pointer(),
            // Below a name, a wildcard is written as `[]`.
            Some(PathToken::Any) if depth > 0 => steps.to_string().replacen('*', "[]", 1),
            _ => steps.to_string(),
        };
        for char in name.chars() {
            if char.is_control() {
                _ = write!(line, "{}", char.escape_default());
            } else {
                line.push(char);
            }
        }
        lines.push((line, found));
        below(trie, at, depth + 1, &mut todo);
    }
    let width = |line: &str| line.chars().count();
    let marked = lines.iter().filter(|(_, mark)| mark.is_some());
    let column = marked.map(|(line, _)| width(line)).filter(|width| *width <= WIDEST).max();
    let column = column.unwrap_or(0);
    let mut drawn = String::new();
    for (line, mark) in &lines {
        drawn.push_str(line);
        if let Some(mark) = mark {
            let room = column.saturating_sub(width(line));
            _ = write!(drawn, "{:room$}  {mark}", "");
        }
        drawn.push('\n');
    }
    drawn
}

/// Pushes the children of `node` in reverse order.
fn below(trie: &Trie, node: NodeId, depth: usize, todo: &mut Vec<PendingNode>) {
    for (number, (token, child)) in trie.children(node).iter().rev().enumerate() {
        let steps = Path(vec![token.clone()]);
        todo.push(PendingNode { node: *child, steps, depth, last: number == 0 });
    }
}
