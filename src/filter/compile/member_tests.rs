//! Compiles `where` with a select so that the machine tests the members of an item while it selects them.
//!
//! This works if every condition names a member of the item itself. The names of the conditions then join those of the
//! select in one table: a name that is also selected has the node of the select, the others have numbers after the nodes.
//!
//! Example: `select: id, name` and conditions on `state` and `id`. With the nodes 1 (`id`) and 2 (`name`):
//!
//! ```text
//! id → 1, tested and selected      name → 2, selected      state → 3, tested
//! ```

use tamis_json::path::PathToken;
use tamis_json::path::names::NameTable;
use tamis_json::path::trie::NodeId;

use super::conditions::ItemConditions;
use super::select::SelectRules;

/// The conditions on members of an item, among the names of a select.
#[derive(Clone, Debug)]
pub(in crate::filter) struct MemberTests {
    /// The names of both.
    pub(in crate::filter) names: NameTable,
    /// By entry of `names`: the node of the name in the trie of the conditions, if it is tested.
    nodes: Vec<Option<NodeId>>,
    /// The number of names that are only tested.
    pub(in crate::filter) only_tested: u32,
}

impl MemberTests {
    /// `None` if a condition has a longer path.
    pub(super) fn compile(conditions: &ItemConditions, select: &SelectRules) -> Option<Self> {
        let tested = conditions.trie.children(0);
        let is_flat = |(_, node): &(PathToken, NodeId)| conditions.trie.children(*node).is_empty();
        if !conditions.names_only
            || !conditions.trie.ends(0).is_empty()
            || !tested.iter().all(is_flat)
        {
            return None;
        }
        let name_of = |token: &PathToken| match token {
            PathToken::Name(name) => Some(name.clone()),
            PathToken::Any => None,
        };
        let selected = select.trie.children(0).iter();
        let mut names: Vec<_> =
            selected.filter_map(|(token, node)| Some((name_of(token)?, *node))).collect();
        let mut nodes = vec![None; select.nodes.len()];
        for (token, node) in tested {
            let name = name_of(token)?;
            match select.trie.member(0, name.as_bytes()) {
                Some(entry) => *nodes.get_mut(entry as usize)? = Some(*node),
                None => {
                    names.push((name, nodes.len() as NodeId));
                    nodes.push(Some(*node));
                }
            }
        }
        let only_tested = (nodes.len() - select.nodes.len()) as u32;
        let mut names = NameTable::new(names);
        names.sharpen();
        Some(Self { names, nodes, only_tested })
    }

    /// Returns the node of an entry in the trie of the conditions, if its name is tested.
    pub(in crate::filter) fn node(&self, entry: NodeId) -> Option<NodeId> {
        self.nodes.get(entry as usize).copied().flatten()
    }
}
