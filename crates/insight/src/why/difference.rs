//! The difference of the figures of two documents, by path.
//!
//! A path with fewer values than before stands for all paths below it: values were removed as a whole. So does one with
//! more values, which were added. A comma counts for the value that it was written for.

use super::PathEffect;
use crate::look::{DOCUMENT, PathId, PathTable};

/// The difference at one path.
#[derive(Clone, Copy, Debug, Default)]
struct Change {
    removed: u64,
    added: u64,
    tokens_before: u64,
    tokens_after: u64,
    /// The path that stands for this one: one above it, or itself.
    whole: Option<PathId>,
}

/// Returns the effects by path, with the most removed bytes first. `root`: the path of the document after the rule.
/// `depth`: the number of steps of the path of the document before it.
pub(super) fn difference(paths: &PathTable, root: PathId, depth: usize) -> Vec<PathEffect> {
    let nodes = paths.nodes();
    let parent_of =
        |path: PathId| nodes.get(path).map(|node| node.parent).filter(|_| path != DOCUMENT);
    // The containers around an extracted value were opened.
    let opened: Vec<PathId> =
        std::iter::successors(parent_of(root), |path| parent_of(*path)).collect();
    let mut changes = vec![Change::default(); nodes.len()];
    for (path, node) in nodes.iter().enumerate() {
        let (before, after) = (node.earlier, node.figures);
        let above = parent_of(path).and_then(|parent| changes.get(parent)?.whole);
        let is_whole = before.count != after.count && !opened.contains(&path);
        let whole = above.or(is_whole.then_some(path));
        if let Some(change) = changes.get_mut(path) {
            change.whole = whole;
        }
        if let Some(change) = changes.get_mut(whole.unwrap_or(path)) {
            change.removed += before.bytes.saturating_sub(after.bytes);
            change.added += after.bytes.saturating_sub(before.bytes);
            change.tokens_before += before.tokens;
            change.tokens_after += after.tokens;
        }
    }
    for (path, node) in nodes.iter().enumerate() {
        let (before, after) = (node.earlier.count, node.figures.count);
        let Some(parent) = parent_of(path) else { continue };
        let Ok([own, around]) = changes.get_disjoint_mut([path, parent]) else { continue };
        if own.whole == Some(path) {
            let removed = before.saturating_sub(after).min(around.removed);
            let added = after.saturating_sub(before).min(around.added);
            around.removed -= removed;
            around.added -= added;
            own.removed += removed;
            own.added += added;
        }
    }
    let effects = nodes.iter().zip(changes).enumerate().filter_map(|(path, (node, change))| {
        let Change { removed, added, tokens_before, tokens_after, whole } = change;
        (removed + added > 0).then(|| PathEffect {
            path: paths.text(path, depth),
            count: match whole {
                Some(_) => node.earlier.count.saturating_sub(node.figures.count),
                None => 0,
            },
            removed_bytes: removed,
            added_bytes: added,
            tokens: tokens_before.saturating_sub(tokens_after),
        })
    });
    let mut effects: Vec<PathEffect> = effects.collect();
    effects.sort_by(|one, other| {
        let bytes = other.removed_bytes.cmp(&one.removed_bytes);
        bytes.then_with(|| one.path.cmp(&other.path))
    });
    effects
}
