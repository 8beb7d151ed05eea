//! Many paths as one trie, and cursors that follow it along a document.
//!
//! There are two ways to follow it. [`Trie::member`] and [`Trie::element`] take one exact step (`select`, `root`). A
//! [`Cursor`] follows every path at once, and its names reach through arrays (`exclude`, `retain`): a name applied to
//! an array applies to each of its elements, recursively.

use std::collections::HashMap;

use smallvec::{SmallVec, smallvec};

use super::{Path, PathToken};
use crate::regex_budget::RegexBudget;
use crate::test_work::{WorkKind, count, words};

pub use super::names::{Action, NameTable, NodeId};

/// Number of nodes that [`Trie::sharpen`] handles. The set of each takes two kilobytes.
const SHARP: usize = 1000;

/// Paths that share their beginnings. All paths begin at node 0.
#[derive(Clone, Debug)]
pub struct Trie {
    nodes: Vec<TrieNode>,
    longest: usize,
    actions: Vec<Action>,
}

#[derive(Clone, Debug, Default)]
struct TrieNode {
    /// Every child by its token, in the order of insertion.
    children: Vec<(PathToken, NodeId)>,
    names: NameTable,
    /// The children whose names are indices, ascending.
    indices: Vec<(u64, NodeId)>,
    any: Option<NodeId>,
    /// The rules whose paths end here.
    ends: SmallVec<[u32; 2]>,
}

/// Whether a name is also an index.
fn is_index(name: &[u8]) -> bool {
    std::str::from_utf8(name).is_ok_and(|name| super::index(name).is_some())
}

impl Trie {
    /// Builds the trie of `paths`. The rule of a path is its position in the list.
    pub fn new<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Self {
        let paths = paths.into_iter();
        let least = paths.size_hint().0;
        let mut nodes = Vec::with_capacity(least + 1);
        nodes.push(TrieNode::default());
        let mut longest = 0;
        // Children by token while building: ten thousand siblings must not take quadratic work.
        let mut known = HashMap::<(NodeId, &PathToken), NodeId>::with_capacity(least);
        for (rule, path) in paths.enumerate() {
            let mut at: NodeId = 0;
            for token in &path.0 {
                longest = longest.max(token.len());
                count(WorkKind::Names, words(token.len()) + 1);
                let next = nodes.len() as NodeId;
                let child = *known.entry((at, token)).or_insert(next);
                if child == next {
                    nodes.push(TrieNode::default());
                    if let Some(node) = nodes.get_mut(at as usize) {
                        node.children.push((token.clone(), child));
                    }
                }
                at = child;
            }
            if let Some(node) = nodes.get_mut(at as usize) {
                node.ends.push(rule as u32);
            }
        }
        for node in &mut nodes {
            node.seal();
        }
        Self { nodes, longest, actions: Vec::new() }
    }

    /// Builds the trie that leads to `paths` but in which no path ends.
    pub fn ways<'a>(
        paths: impl IntoIterator<Item = &'a Path>,
        allowance: &mut RegexBudget,
    ) -> Self {
        let mut trie = Self::new(paths);
        for node in &mut trie.nodes {
            node.ends.clear();
        }
        trie.sharpen(allowance);
        trie
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Builds each [`KeySet`](super::names::KeySet), as long as the budget has tables left. For tries whose names are
    /// looked up in every member.
    pub fn sharpen(&mut self, allowance: &mut RegexBudget) {
        let inner = self.nodes.iter_mut().take(SHARP).filter(|node| !node.children.is_empty());
        for node in inner {
            if !allowance.take_table() {
                return;
            }
            node.names.sharpen();
        }
    }

    /// Returns the length in bytes of the longest name on any path.
    pub fn longest_name(&self) -> usize {
        self.longest
    }

    /// Whether no path ends in the trie.
    pub fn is_empty(&self) -> bool {
        self.nodes.iter().all(|node| node.ends.is_empty())
    }

    fn node(&self, id: NodeId) -> Option<&TrieNode> {
        self.nodes.get(id as usize)
    }

    /// Returns the tokens that lead on from a node, and where they lead.
    pub fn children(&self, id: NodeId) -> &[(PathToken, NodeId)] {
        self.node(id).map_or(&[], |node| &node.children)
    }

    /// Returns the numbers of the paths that end at a node.
    pub fn ends(&self, id: NodeId) -> &[u32] {
        self.node(id).map_or(&[], |node| &node.ends)
    }

    /// Returns by node what the machine may do with a member that leads there by its name. A node that is missing means
    /// [`Action::Ask`].
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Lets the machine treat members at which a path ends like this.
    pub fn act_on_ends(&mut self, end: Action) {
        self.act_on_each_end(|_| end);
    }

    /// Lets the machine treat members at which a path ends as `action` says for the number of the first such path.
    pub fn act_on_each_end(&mut self, action: impl Fn(u32) -> Action) {
        let mut actions = vec![Action::Ask; self.nodes.len()];
        for (token, child) in self.nodes.iter().flat_map(|node| &node.children) {
            // A name that begins with a digit may also be an index, which does not apply everywhere.
            if let (PathToken::Name(name), Some(end)) = (token, self.ends(*child).first())
                && !name.starts_with(|first: char| first.is_ascii_digit())
                && let Some(place) = actions.get_mut(*child as usize)
            {
                *place = action(*end);
            }
        }
        self.actions = actions;
    }

    /// Returns the child for a member called `name`; indices and wildcards do not count.
    #[inline]
    pub fn member(&self, id: NodeId, name: &[u8]) -> Option<NodeId> {
        self.node(id)?.names.get(name)
    }

    /// Returns the names of the children of a node.
    #[inline]
    pub fn names(&self, id: NodeId) -> Option<&NameTable> {
        Some(&self.node(id)?.names)
    }

    /// Returns the child for the element at `index`; wildcards do not count.
    pub fn element(&self, id: NodeId, index: u64) -> Option<NodeId> {
        let indices = &self.node(id)?.indices;
        // The steps of a binary search.
        count(WorkKind::Names, 1 + indices.len().checked_ilog2().unwrap_or(0) as usize);
        let at = indices.binary_search_by_key(&index, |(index, _)| *index).ok()?;
        indices.get(at).map(|(_, child)| *child)
    }

    /// Returns the child for every element or member, if a path has a wildcard here.
    pub fn any(&self, id: NodeId) -> Option<NodeId> {
        self.node(id)?.any
    }

    /// Whether a path continues with an element of an array.
    pub fn takes_elements(&self, id: NodeId) -> bool {
        self.node(id).is_some_and(|node| node.any.is_some() || !node.indices.is_empty())
    }

    /// Returns a cursor at the beginning of all paths.
    pub fn start(&self) -> Cursor {
        let mut cursor = Cursor::default();
        cursor.enter(self, 0);
        cursor
    }
}

impl TrieNode {
    /// Whether a child has a name that is not an index.
    fn has_names(&self) -> bool {
        self.children.len() > self.indices.len() + usize::from(self.any.is_some())
    }

    /// Whether all children have such names.
    fn has_only_names(&self) -> bool {
        self.has_names() && self.indices.is_empty() && self.any.is_none()
    }

    fn seal(&mut self) {
        let mut names = Vec::new();
        for (token, child) in &self.children {
            match token {
                PathToken::Any => self.any = Some(*child),
                PathToken::Name(name) => {
                    names.push((name.clone(), *child));
                    if let Some(index) = token.index() {
                        self.indices.push((index, *child));
                    }
                }
            }
        }
        self.indices.sort_unstable();
        self.names = NameTable::new(names);
    }
}

/// All nodes of a trie that one value of a document corresponds to.
///
/// Usually one; more if an index or a wildcard and a name both lead to the value. Empty if no path continues below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    places: SmallVec<[CursorPlace; 2]>,
    end: PathEnd,
}

/// Whether a path ends at a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PathEnd {
    #[default]
    None,
    /// The first path, in the order of the list, that ends at this value.
    Here(u32),
    /// A path ends at a value around this one.
    Around,
}

/// Up to this number, nodes are compared one by one.
const FEW: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CursorPlace {
    node: NodeId,
    /// Reached through an array: names still apply, but an index does not apply twice.
    names_only: bool,
}

impl Cursor {
    /// Returns the cursor of all values inside a value at which a path ends.
    pub fn inside_hit() -> Self {
        Self { end: PathEnd::Around, ..Self::default() }
    }

    /// Whether a path ends at this value or around it.
    #[inline]
    pub fn is_hit(&self) -> bool {
        self.end != PathEnd::None
    }

    /// Returns the number of the first path that ends at this value.
    #[inline]
    pub fn rule(&self) -> Option<u32> {
        match self.end {
            PathEnd::Here(path) => Some(path),
            PathEnd::None | PathEnd::Around => None,
        }
    }

    /// Whether no path continues below this value.
    #[inline]
    pub fn is_dead(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the cursor for a member called `name`. `None` stands for a name that no path can spell.
    #[inline]
    pub fn member(&self, trie: &Trie, name: Option<&[u8]>) -> Self {
        let mut next = Self::default();
        for place in &self.places {
            count(WorkKind::Names, 1);
            let Some(node) = trie.node(place.node) else { continue };
            if let Some(name) = name
                && let Some(child) = node.names.get(name)
                && (!place.names_only || !is_index(name))
            {
                next.enter(trie, child);
            }
            if let Some(child) = node.any
                && !place.names_only
            {
                next.enter(trie, child);
            }
        }
        next.tidy()
    }

    /// Returns the names of all members on a path, if a single table contains them.
    #[inline]
    pub fn names<'a>(&self, trie: &'a Trie) -> Option<&'a NameTable> {
        let [place] = self.places.as_slice() else { return None };
        let node = trie.node(place.node)?;
        node.any.is_none().then_some(&node.names)
    }

    /// Returns the cursor for the element at `index`.
    #[inline]
    pub fn element(&self, trie: &Trie, index: u64) -> Self {
        // The usual place: only names continue here. One that was reached through an array always has names.
        if let [CursorPlace { node: id, names_only }] = *self.places.as_slice()
            && let Some(node) = trie.node(id)
            && (names_only || node.has_only_names())
        {
            count(WorkKind::Names, 1);
            let place = CursorPlace { node: id, names_only: true };
            return Self { places: smallvec![place], end: PathEnd::None };
        }
        self.element_of_each(trie, index)
    }

    fn element_of_each(&self, trie: &Trie, index: u64) -> Self {
        let mut next = Self::default();
        for place in &self.places {
            count(WorkKind::Names, 1);
            let Some(node) = trie.node(place.node) else { continue };
            if !place.names_only {
                if let Some(child) = trie.element(place.node, index) {
                    next.enter(trie, child);
                }
                if let Some(child) = node.any {
                    next.enter(trie, child);
                }
            }
            if node.has_names() {
                next.add(CursorPlace { node: place.node, names_only: true });
            }
        }
        next.tidy()
    }

    /// Adds the beginning of all paths, in addition to the current nodes.
    pub fn begin(&mut self, trie: &Trie) {
        self.enter(trie, 0);
    }

    fn enter(&mut self, trie: &Trie, node: NodeId) {
        let end = trie.ends(node).first().copied();
        self.end = [self.rule(), end].into_iter().flatten().min().map_or(self.end, PathEnd::Here);
        if !trie.children(node).is_empty() {
            self.add(CursorPlace { node, names_only: false });
        }
    }

    fn add(&mut self, place: CursorPlace) {
        // A few are compared when they are added, many once at the end.
        count(WorkKind::Names, 1 + self.places.len().min(FEW));
        if self.places.len() >= FEW || !self.places.contains(&place) {
            self.places.push(place);
        }
    }

    /// Returns the cursor without duplicate nodes.
    #[inline]
    fn tidy(mut self) -> Self {
        if self.places.len() > FEW {
            count(WorkKind::Names, self.places.len() * self.places.len().ilog2() as usize);
            self.places.sort_unstable();
            self.places.dedup();
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::Trie;
    use crate::path::Path;

    fn trie(paths: &[&str]) -> Trie {
        let paths: Vec<_> = paths.iter().map(|path| Path::parse(path).unwrap()).collect();
        Trie::new(&paths)
    }

    #[test]
    fn names_reach_through_arrays() {
        let trie = trie(&["items.id", "items.tags.name"]);
        let items = trie.start().member(&trie, Some(b"items"));
        let nested = items.element(&trie, 3).element(&trie, 0);
        assert!(nested.member(&trie, Some(b"id")).is_hit());
        assert!(!nested.member(&trie, Some(b"name")).is_hit());
        assert!(nested.member(&trie, None).is_dead());
    }

    #[test]
    fn a_step_that_is_not_an_index_is_a_name() {
        for name in ["", "99999999999999999999", "01"] {
            let trie = trie(&[&format!("/a/{name}")]);
            let a = trie.start().member(&trie, Some(b"a"));
            assert!(a.element(&trie, 1).member(&trie, Some(name.as_bytes())).is_hit(), "{name:?}");
        }
    }

    #[test]
    fn many_places_are_each_there_once() {
        // Every way through twelve levels of a name or a wildcard ends at another node.
        let paths: Vec<String> = (0..1 << 10)
            .map(|ways| {
                let level = |level| if ways >> level & 1 == 0 { "a" } else { "*" };
                (0..10).map(level).collect::<Vec<_>>().join(".")
            })
            .collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let trie = trie(&paths);
        let mut cursor = trie.start();
        for depth in 1..10 {
            cursor = cursor.member(&trie, Some(b"a"));
            assert_eq!(cursor.places.len(), 1 << depth);
        }
        assert!(cursor.member(&trie, Some(b"b")).is_hit());
    }

    #[test]
    fn an_index_applies_to_one_array_only() {
        let trie = trie(&["a[0]", "a.b"]);
        let a = trie.start().member(&trie, Some(b"a"));
        assert!(a.element(&trie, 0).is_hit());
        assert!(!a.element(&trie, 1).is_hit());
        assert!(!a.element(&trie, 1).element(&trie, 0).is_hit());
        assert!(!a.element(&trie, 1).member(&trie, Some(b"0")).is_hit());
        assert!(a.element(&trie, 1).member(&trie, Some(b"b")).is_hit());
        assert!(a.member(&trie, Some(b"0")).is_hit());
    }

    #[test]
    fn a_wildcard_takes_elements_and_members() {
        let trie = trie(&["a[].x", "*.y"]);
        let a = trie.start().member(&trie, Some(b"a"));
        assert!(a.element(&trie, 7).member(&trie, Some(b"x")).is_hit());
        assert!(a.member(&trie, Some(b"k")).member(&trie, Some(b"x")).is_hit());
        assert!(a.member(&trie, Some(b"y")).is_hit());
        assert!(a.element(&trie, 1).member(&trie, Some(b"y")).is_hit());
    }
}
