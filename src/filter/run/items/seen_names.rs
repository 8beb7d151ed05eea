//! Keeps the member names of the first item, to suggest corrections for paths that no item has.
//!
//! Names are only kept on request, and their number is bounded.
//!
//! Example: `select: /user/nmae` and the item `{"id":1,"user":{"name":"Ada"}}`. Two objects are on selected paths: the
//! item, with the names `id` and `user`, and the value of `user`, with the name `name`. [`SeenNames::correction`] follows
//! the path: `user` is known, `nmae` is not, and `name` is close to it. The result is `/user/name`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tamis_json::nearest::{ComparisonBudget, LONGEST, closest_within};
use tamis_json::path::trie::NodeId;
use tamis_json::path::{Path, PathToken};
use tamis_json::test_work::{WorkKind, count, words};

use crate::filter::compile::select::SelectRules;
use crate::filter::compile::select_source::SelectSource;

/// The largest number of names kept of one object, and of all objects.
const OF_ONE: usize = 64;
/// Each object also counts as one name in the sum.
const OF_ALL: usize = 512;

/// The names of the first object at each node of the select trie. They are shared until one of the sharers adds a name.
#[derive(Clone, Debug, Default)]
pub(super) struct SeenNames {
    /// By node of the select trie: the names in the order of the document.
    objects: HashMap<NodeId, Vec<Box<str>>>,
    /// The nodes at which an array was found.
    arrays: HashSet<NodeId>,
    /// Names, objects and arrays so far, at most `OF_ALL`.
    total: usize,
}

impl SeenNames {
    /// Returns whether the names of an object at a node are needed.
    pub(super) fn wants(&self, node: NodeId) -> bool {
        count(WorkKind::Names, 1);
        self.total < OF_ALL && !self.objects.contains_key(&node)
    }

    /// Starts an object at a node. Returns whether its names are needed.
    pub(super) fn begin(shared: &mut Arc<Self>, node: NodeId) -> bool {
        let wanted = shared.wants(node);
        if wanted {
            // An object without members counts as well.
            let Self { objects, total, .. } = Arc::make_mut(shared);
            *total += 1;
            objects.insert(node, Vec::new());
        }
        wanted
    }

    /// Remembers that the value at a node is an array.
    pub(super) fn array(shared: &mut Arc<Self>, node: NodeId) {
        count(WorkKind::Names, 1);
        if shared.total < OF_ALL && !shared.arrays.contains(&node) {
            let Self { arrays, total, .. } = Arc::make_mut(shared);
            *total += 1;
            arrays.insert(node);
        }
    }

    /// Adds a name of the innermost object at a node. `None` is a name that no path can spell. Returns whether more
    /// names are needed. A name that is longer than the longest word to compare is not kept. The first call after a
    /// copy of the stage copies all names, at most [`OF_ALL`] of them.
    pub(super) fn add(shared: &mut Arc<Self>, node: NodeId, name: Option<&[u8]>) -> bool {
        let Self { objects, total, .. } = Arc::make_mut(shared);
        let Some(names) = objects.get_mut(&node) else { return false };
        let name = name.filter(|name| name.len() <= LONGEST);
        if let Some(name) = name.and_then(|name| std::str::from_utf8(name).ok()) {
            count(WorkKind::Names, 1 + words(name.len()));
            names.push(name.into());
            *total += 1;
        }
        names.len() < OF_ONE && *total < OF_ALL
    }

    /// Returns the path of a source with its first mistake corrected: it begins with the path of the payload, it names a member
    /// of an array, or it has an unknown name. `root`: the payload, as a JSON Pointer. Returns `None` if the walk reaches a
    /// wildcard, an unknown index or an object whose names were not kept, if no name is similar, and if every name is
    /// known. Names are compared as far as `pairs` allows. The result has the syntax of the source: a pointer remains
    /// a pointer, except where a comma would end it.
    pub(super) fn correction(
        &self,
        select: &SelectRules,
        source: &SelectSource,
        root: Option<&str>,
        pairs: &mut ComparisonBudget,
    ) -> Option<String> {
        // In a list of paths a comma ends a pointer. Only a quoted name can contain one.
        let spelled = |corrected: &Path| {
            let pointer = source.text.trim_start().starts_with('/');
            let pointer = pointer.then(|| corrected.to_pointer());
            let typed = pointer.filter(|pointer| !pointer.contains(','));
            typed.unwrap_or_else(|| corrected.to_string())
        };
        if source.braces.is_none()
            && let Some(path) = root.and_then(|root| self.inside(root, &source.path))
        {
            return Some(spelled(&path));
        }
        // The names in braces are kept by the node of the braces.
        if let Some(names) = source.braces.and_then(|node| self.objects.get(&select.names_of(node)))
            && let Some(step) = source.path.0.iter().rposition(|token| *token != PathToken::Any)
            && let Some(PathToken::Name(name)) = source.path.0.get(step)
        {
            count(WorkKind::Names, 1 + names.len());
            if names.contains(name) {
                return None;
            }
            let near = closest_within(name, names.iter().map(|name| &**name), pairs)?;
            let mut corrected = source.path.clone();
            *corrected.0.get_mut(step)? = PathToken::Name(near.into());
            return Some(corrected.to_string());
        }
        let mut node: NodeId = 0;
        for (step, token) in source.path.0.iter().enumerate() {
            let PathToken::Name(name) = token else { return None };
            if self.arrays.contains(&node) && token.index().is_none() {
                let mut corrected = source.path.clone();
                corrected.0.insert(step, PathToken::Any);
                // A pointer has no `[]`.
                return Some(corrected.to_string());
            }
            let names = self.objects.get(&node)?;
            count(WorkKind::Names, 1 + names.len());
            if !names.contains(name) {
                // Any index is as similar as any other.
                if token.index().is_some() {
                    return None;
                }
                let near = closest_within(name, names.iter().map(|name| &**name), pairs)?;
                let mut corrected = source.path.clone();
                *corrected.0.get_mut(step)? = PathToken::Name(near.into());
                return Some(spelled(&corrected));
            }
            node = select.trie.member(node, name.as_bytes())?;
        }
        None
    }

    /// Returns a path without the path of the payload at its beginning, if it is then known in the items and was not before.
    fn inside(&self, root: &str, path: &Path) -> Option<Path> {
        let steps = root.matches('/').count();
        let (outer, inner) = path.0.split_at_checked(steps).filter(|_| steps > 0)?;
        let inner = inner.strip_prefix(&[PathToken::Any]).unwrap_or(inner);
        let (PathToken::Name(begin), PathToken::Name(name)) = (outer.first()?, inner.first()?)
        else {
            return None;
        };
        let names = self.objects.get(&0)?;
        count(WorkKind::Names, 1 + names.len());
        let is_root = Path(outer.into()).to_pointer() == root;
        (is_root && !names.contains(begin) && names.contains(name)).then(|| Path(inner.into()))
    }
}

#[cfg(test)]
mod tests;
