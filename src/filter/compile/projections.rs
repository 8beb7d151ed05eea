//! Compiles the projections of a select: the members that are kept of the objects at the end of a source's path.
//!
//! The fields of all projections are one trie, separate from that of the paths, because they are looked up only where a path
//! ends. A path of this trie begins with the number of its source. A field without braces is a *leaf*: it counts as a
//! selected path of its own when misses are reported.

use std::ops::Range;

use tamis_json::error::Error;
use tamis_json::key;
use tamis_json::path::projection::{ProjectedField, SelectedPath};
use tamis_json::path::trie::{Cursor, NodeId, Trie};
use tamis_json::path::{Path, PathToken};
use tamis_json::policy::Action;
use tamis_json::regex_budget::RegexBudget;

use super::rule_paths::{MAX_RULES, refuse_in, steps};
use super::select_source::SelectSource;

/// The largest length of all leaves as paths, in bytes. Each is reported if no item has it.
const MAX_TEXT: usize = 16 << 20;

/// The compiled projections of a select.
#[derive(Clone, Debug)]
pub(in crate::filter) struct Projections {
    pub(in crate::filter) trie: Trie,
    /// Indexed by node of the trie.
    nodes: Vec<ProjectionNode>,
    /// By node of the trie: the output key as JSON.
    pub(in crate::filter) keys: Vec<Vec<u8>>,
}

/// The braces of a source, or a field.
#[derive(Clone, Debug, Default)]
pub(in crate::filter) struct ProjectionNode {
    /// The output key, which paths of `exclude` name.
    pub(in crate::filter) key: Box<str>,
    /// The output key is the name and has no escapes.
    pub(in crate::filter) key_is_name: bool,
    /// How many levels of containers are between the member and what is kept.
    pub(in crate::filter) levels: usize,
    /// A value of another kind is kept.
    pub(in crate::filter) keeps_kinds: bool,
    /// Braces follow: objects are kept, with the children of this node as their members.
    pub(in crate::filter) is_object: bool,
    /// The number of fields in the braces.
    pub(in crate::filter) members: u32,
    /// The numbers of the leaves below among the sources, or of this leaf.
    pub(in crate::filter) leaves: Range<usize>,
    /// The action of the machine for a scalar once this leaf was found, if no path of `exclude` applies.
    pub(in crate::filter) action: Action,
}

/// Collects the fields of the projections of a select.
#[derive(Debug, Default)]
pub(super) struct ProjectionsBuilder {
    /// The path of each field in the trie.
    paths: Vec<Path>,
    /// The fields with their place among `paths`.
    nodes: Vec<ProjectionNode>,
    text: usize,
}

impl ProjectionsBuilder {
    /// Adds the projection of a source, and its leaves to `leaves`. The number of the source is that of its `entry`.
    pub(super) fn add(
        &mut self,
        entry: usize,
        text: &str,
        parsed: &SelectedPath,
        keeps_kinds: bool,
        leaves: &mut Vec<SelectSource>,
        allowance: &mut RegexBudget,
    ) -> Result<(), Error> {
        let root = PathToken::Name(entry.to_string().into());
        let top = self.paths.len();
        self.paths.push(Path(vec![root]));
        self.nodes.push(ProjectionNode {
            is_object: true,
            keeps_kinds,
            leaves: leaves.len()..leaves.len(),
            ..ProjectionNode::default()
        });
        // The path of each field in the document.
        let mut documents: Vec<Path> = Vec::new();
        for field in &parsed.fields {
            let ProjectedField { parent, name, key, levels, is_object } = field;
            let at = parent.map_or(top, |parent| top + 1 + parent);
            let outer = parent.and_then(|parent| documents.get(parent)).unwrap_or(&parsed.path);
            let mut document = outer.clone();
            document.0.push(PathToken::Name(name.clone()));
            document.0.extend(std::iter::repeat_n(PathToken::Any, *levels));
            let document = steps(Ok(document), "select", entry, text, allowance)?;
            let leaf = document.to_string();
            self.text += leaf.len();
            if self.text > MAX_TEXT {
                let limit = MAX_TEXT >> 20;
                let message = format!("select: the fields of projections exceed {limit} MiB");
                return refuse_in("select", entry, false, message);
            }
            if self.nodes.len() > MAX_RULES {
                let message = format!("select: more than {MAX_RULES} fields of projections");
                return refuse_in("select", entry, false, message);
            }
            let mut path = self.paths.get(at).cloned().unwrap_or_default();
            path.0.push(PathToken::Name(name.clone()));
            if let Some(outer) = self.nodes.get_mut(at) {
                outer.members += 1;
            }
            let quoted = key::quote(key);
            self.nodes.push(ProjectionNode {
                key: key.clone(),
                key_is_name: key == name && quoted.len() == key.len() + 2,
                levels: *levels,
                is_object: *is_object,
                keeps_kinds,
                members: 0,
                leaves: leaves.len()..leaves.len() + usize::from(!is_object),
                action: Action::Ask,
            });
            if !is_object {
                leaves.push(SelectSource {
                    path_len: leaf.len(),
                    text: leaf,
                    key_is_name: false,
                    path: document.clone(),
                    keeps_kinds: None,
                    passing: false,
                    exclude: Cursor::default(),
                    projection: None,
                    braces: None,
                });
            }
            self.paths.push(path);
            documents.push(document);
        }
        // Fields come before those in their braces, so the ends are known from the last one to the first.
        for (position, field) in parsed.fields.iter().enumerate().rev() {
            let end = self.nodes.get(top + 1 + position).map_or(0, |node| node.leaves.end);
            let outer = field.parent.map_or(top, |parent| top + 1 + parent);
            if let Some(outer) = self.nodes.get_mut(outer) {
                outer.leaves.end = outer.leaves.end.max(end);
            }
        }
        Ok(())
    }

    /// Builds the trie. `first`: the number of the first leaf among the sources.
    pub(super) fn build(
        self,
        first: usize,
        leaves: &mut [SelectSource],
        allowance: &mut RegexBudget,
    ) -> Projections {
        let mut trie = Trie::new(&self.paths);
        trie.sharpen(allowance);
        let mut nodes = vec![ProjectionNode::default(); trie.len()];
        let mut keys = vec![Vec::new(); trie.len()];
        for (path, mut node) in self.paths.iter().zip(self.nodes) {
            let (mut braces, mut at): (NodeId, NodeId) = (0, 0);
            for token in &path.0 {
                let PathToken::Name(name) = token else { continue };
                braces = at;
                at = trie.member(at, name.as_bytes()).unwrap_or_default();
            }
            if let (false, Some(leaf)) = (node.is_object, leaves.get_mut(node.leaves.start)) {
                leaf.braces = Some(braces);
            }
            node.leaves = first + node.leaves.start..first + node.leaves.end;
            if !node.is_object && node.levels == 0 {
                node.action = if node.key_is_name { Action::Keep } else { Action::Rename(at) };
            }
            let at = at as usize;
            if let (Some(place), Some(key)) = (nodes.get_mut(at), keys.get_mut(at)) {
                *key = key::quote(&node.key);
                *place = node;
            }
        }
        Projections { trie, nodes, keys }
    }
}

impl Projections {
    /// Returns the node of the projection of a source.
    pub(super) fn of_source(&self, number: usize) -> Option<NodeId> {
        self.trie.member(0, number.to_string().as_bytes())
    }

    pub(in crate::filter) fn node(&self, id: NodeId) -> Option<&ProjectionNode> {
        self.nodes.get(id as usize)
    }

    /// Returns the number of nodes.
    pub(in crate::filter) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the output key of a field as JSON.
    pub(in crate::filter) fn key(&self, node: NodeId) -> &[u8] {
        self.keys.get(node as usize).map_or(b"\"\"", Vec::as_slice)
    }
}
