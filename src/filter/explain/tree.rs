//! The paths of a rule, as a list for programs and as a tree for people.
//!
//! A step that leads to one place only stands on the line of the next, so that what is drawn is no longer than a few
//! times the paths themselves.

use std::fmt::Write as _;

use serde::{Serialize, Serializer};

use crate::filter::program::Selection;
use crate::path::trie::{NodeId, Trie};
use crate::path::{Path, PathToken};
use crate::spec::Spec;

/// Marks stand in one column up to this width.
const WIDEST: usize = 40;

/// Paths, each with what happens there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Paths {
    leaves: Vec<Leaf>,
    drawn: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct Leaf {
    /// As it was written.
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

impl Serialize for Paths {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.leaves.serialize(serializer)
    }
}

impl Paths {
    /// Of a rule that does one thing with all its paths: `retain` keeps, `exclude` removes.
    pub(super) fn plain(trie: &Trie, written: &[String], retain: bool) -> Self {
        let leaves =
            written.iter().map(|path| Leaf { path: path.clone(), ..Leaf::default() }).collect();
        let (root, what) = if retain { ("document", "keep") } else { ("item", "remove") };
        let mark = |node| (!trie.ends(node).is_empty()).then(|| what.to_owned());
        Self { leaves, drawn: draw(trie, root, retain, mark) }
    }

    pub(super) fn selected(select: &Selection, spec: &Spec) -> Self {
        let written = spec.select.iter().flat_map(|select| &select.0);
        let leaves = select.sources.iter().zip(written).map(|(source, written)| Leaf {
            path: source.text.clone(),
            key: written.output_key(),
            many: Some(source.path.0.contains(&PathToken::Any)),
            excluded: Some(source.exclude.is_hit()),
            held: Some(false),
        });
        let mut leaves: Vec<Leaf> = leaves.collect();
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
                let key = String::from_utf8_lossy(&source.key);
                let many =
                    if source.path.0.contains(&PathToken::Any) { ", all in an array" } else { "" };
                let gone = if source.exclude.is_hit() { ", removed by exclude" } else { "" };
                let beside =
                    if source.passing { ", of a single object: neither hit nor miss" } else { "" };
                marks.push(format!("as {key}{many}{gone}{beside}"));
            }
            if select.node(node).shared {
                marks.push("held".to_owned());
            }
            (!marks.is_empty()).then(|| marks.join("; "))
        };
        Self { leaves, drawn: draw(&select.trie, "item", false, mark) }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.leaves.len()
    }

    /// The tree, a line for each place.
    pub(super) fn drawn(&self) -> impl Iterator<Item = &str> {
        self.drawn.lines()
    }
}

/// One line of a tree that waits to be drawn.
struct Next {
    node: NodeId,
    /// The tokens from the line above.
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
    // By depth: whether the line there is the last of its siblings.
    let mut ends: Vec<bool> = Vec::new();
    let mut todo = Vec::new();
    below(trie, 0, 0, &mut todo);
    while let Some(Next { node, steps, depth, last }) = todo.pop() {
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
            // Below a name a wildcard is not the beginning of a path.
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

/// Puts the places below `node` on the stack, the first on top.
fn below(trie: &Trie, node: NodeId, depth: usize, todo: &mut Vec<Next>) {
    for (number, (token, child)) in trie.children(node).iter().rev().enumerate() {
        let steps = Path(vec![token.clone()]);
        todo.push(Next { node: *child, steps, depth, last: number == 0 });
    }
}
