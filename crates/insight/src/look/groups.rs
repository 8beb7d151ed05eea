//! A tree of groups with figures that somebody else counted.

use super::tree::{LookKind, LookTree, Part, TokenFigures};

/// A group: its steps from the root, and its figures without those of the groups below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LookGroup {
    /// The steps from the root.
    pub steps: Vec<String>,
    /// How many things are in the group.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their tokens.
    pub tokens: u64,
}

/// Returns a tree of groups. Groups between them that are missing are added.
///
/// ```
/// use tamis_insight::look::{LookGroup, look_groups};
///
/// let group = |steps: [&str; 2], bytes| LookGroup {
///     steps: steps.map(str::to_owned).into(),
///     count: 1,
///     bytes,
///     tokens: bytes / 4,
/// };
/// let tree = look_groups(&[group(["codex", "shell"], 400), group(["codex", "patch"], 40)]);
/// let paths: Vec<_> = tree.nodes().map(|node| (node.path(), node.tokens())).collect();
/// assert_eq!(paths, [
///     ("".into(), 110),
///     ("codex".into(), 110),
///     ("codex / shell".into(), 100),
///     ("codex / patch".into(), 10),
/// ]);
/// ```
#[must_use]
pub fn look_groups(groups: &[LookGroup]) -> LookTree {
    let mut parts = vec![Part { count: 1, ..Part::default() }];
    let mut places = std::collections::HashMap::new();
    for group in groups {
        let mut parent = 0;
        for depth in 1..=group.steps.len() {
            let path = group.steps.get(..depth).unwrap_or_default();
            parent = *places.entry(path.to_vec()).or_insert_with(|| {
                let step = path.last().cloned().unwrap_or_default();
                parts.push(Part { parent, step, ..Part::default() });
                parts.len() - 1
            });
        }
        if let Some(part) = parts.get_mut(parent) {
            part.count += group.count;
            part.bytes += group.bytes;
            part.tokens += group.tokens;
        }
    }
    LookTree::new(LookKind::Chat, TokenFigures::Counted, parts)
}
