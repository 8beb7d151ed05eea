//! Compiles the rule `select`.

use std::collections::HashSet;

use tamis_json::error::Error;
use tamis_json::key;
use tamis_json::path::trie::{NodeId, Trie};
use tamis_json::path::{Path, PathToken};
use tamis_json::policy::Action;
use tamis_json::regex_budget::RegexBudget;

use super::projections::{Projections, ProjectionsBuilder};
use super::rule_paths::{read_selected, refuse_in, selected_steps};
use super::select_source::SelectSource;
use crate::spec::{OnKind, SelectPath as Written};

/// The largest nesting of selected sources. Each level reads the value once more.
const MAX_OVERLAP: usize = 32;
/// Members of kimbap's responses that are kept with any selection from a single object (SPEC §5).
const ENVELOPE: [&str; 3] = ["_pagination", "_exit_code", "stderr"];

/// The selected sources as a trie over an item.
#[derive(Clone, Debug)]
pub(in crate::filter) struct SelectRules {
    pub(in crate::filter) trie: Trie,
    /// Indexed by node of the trie.
    pub(in crate::filter) nodes: Vec<SelectNode>,
    /// The selected paths, then the leaves of their projections, which have no place in the trie.
    pub(in crate::filter) sources: Vec<SelectSource>,
    /// The output key of each source as JSON, except for the leaves of projections.
    pub(in crate::filter) keys: Vec<Vec<u8>>,
    pub(in crate::filter) projections: Projections,
}

/// The actions for the value at a node of the select trie.
#[derive(Clone, Debug, Default)]
pub(in crate::filter) struct SelectNode {
    /// Sources whose output begins with this value: the value itself, or the container of their first wildcard.
    pub(in crate::filter) starts: Vec<u32>,
    /// The number of tokens from the item to this node.
    pub(in crate::filter) depth: usize,
    /// The action of the machine for a scalar at this node once its source was found: write it, if it is exactly one
    /// source and no other output needs it.
    pub(in crate::filter) action: Action,
    /// Sources below this node that keep a value of another kind.
    pub(in crate::filter) kept: Vec<u32>,
    /// More than one output needs this value. It is held and read once for each.
    pub(in crate::filter) shared: bool,
    /// This node and those below it only have sources that are kept with a single object.
    pub(in crate::filter) passing: bool,
    /// Children that an object can have, and that an array can have.
    pub(in crate::filter) members: u32,
    pub(in crate::filter) elements: u32,
    /// How many of those members are kept only with a single object.
    pub(in crate::filter) passing_members: u32,
}

impl SelectRules {
    /// `envelope`: parse paths as kimbap does, and also keep the members of its envelope.
    pub(super) fn compile(
        written: &[Written],
        on_kind: OnKind,
        envelope: bool,
        exclude: &Trie,
        allowance: &mut RegexBudget,
    ) -> Result<Self, Error> {
        if written.is_empty() {
            let message = "`select` is empty; omit it to keep everything".into();
            return refuse_in("select", 0, false, message);
        }
        let (mut projections, mut leaves) = (ProjectionsBuilder::default(), Vec::new());
        let mut sources = Vec::with_capacity(written.len());
        let mut names = HashSet::with_capacity(written.len());
        let mut keys = Vec::with_capacity(written.len());
        for (entry, source) in written.iter().enumerate() {
            let Written { key, path: text, on_kind: own } = source;
            let parsed = read_selected(text, envelope);
            let parsed = selected_steps(parsed, entry, text, allowance)?;
            let keeps = own.unwrap_or(on_kind) == OnKind::Keep;
            let Some(name) = key.as_deref().or_else(|| parsed.path.last_name()) else {
                let message = format!(
                    "select: {text} has no output key; add one: key={text}, in a file `key: \"{text}\"`"
                );
                return refuse_in("select", entry, false, message);
            };
            if name.is_empty() && key.is_some() {
                let message = format!("select: the output key of {text} is empty");
                return refuse_in("select", entry, true, message);
            }
            if !names.insert(name.to_owned()) {
                let message = format!(
                    "select: the output key {name:?} is used twice; rename one: other={text}, in a file `other: \"{text}\"`"
                );
                return refuse_in("select", entry, key.is_some(), message);
            }
            let at_key = exclude.start().member(exclude, Some(name.as_bytes()));
            let quoted = key::quote(name);
            let plain = quoted.len() == name.len() + 2;
            let last = parsed.path.0.last();
            let key_is_name =
                plain && matches!(last, Some(PathToken::Name(last)) if **last == *name);
            if !parsed.fields.is_empty() {
                projections.add(entry, text, &parsed, keeps, &mut leaves, allowance)?;
            }
            sources.push(SelectSource {
                text: text.clone(),
                path_len: parsed.path_len,
                key_is_name,
                path: parsed.path,
                keeps_kinds: keeps.then_some(parsed.brackets),
                passing: false,
                exclude: at_key,
                projection: None,
                braces: None,
            });
            keys.push(quoted);
        }
        for name in ENVELOPE {
            if envelope && names.insert(name.to_owned()) {
                sources.push(SelectSource {
                    text: name.to_owned(),
                    path_len: name.len(),
                    key_is_name: true,
                    path: Path(vec![PathToken::Name(name.into())]),
                    keeps_kinds: None,
                    passing: true,
                    exclude: exclude.start().member(exclude, Some(name.as_bytes())),
                    projection: None,
                    braces: None,
                });
                keys.push(key::quote(name));
            }
        }
        let projections = projections.build(sources.len(), &mut leaves, allowance);
        for (number, source) in sources.iter_mut().enumerate() {
            source.projection = projections.of_source(number);
        }
        let mut trie = Trie::new(sources.iter().map(|source| &source.path));
        trie.sharpen(allowance);
        let mut nodes = vec![SelectNode::default(); trie.len()];
        let mut through = vec![0u32; trie.len()];
        for (number, source) in sources.iter().enumerate() {
            // Find the node where the source's output begins: its end, or its first wildcard.
            let mut node: NodeId = 0;
            let mut depth = 0;
            for token in &source.path.0 {
                let PathToken::Name(name) = token else { break };
                if source.keeps_kinds.is_some()
                    && node > 0
                    && let Some(node) = nodes.get_mut(node as usize)
                {
                    node.kept.push(number as u32);
                }
                if let Some(count) = through.get_mut(node as usize) {
                    *count += 1;
                }
                node = trie.member(node, name.as_bytes()).unwrap_or_default();
                depth += 1;
                if let Some(reached) = nodes.get_mut(node as usize) {
                    reached.depth = depth;
                }
            }
            if let Some(node) = nodes.get_mut(node as usize) {
                node.starts.push(number as u32);
            }
        }
        for (id, (node, through)) in nodes.iter_mut().zip(&through).enumerate() {
            // An output that begins with the item is inside another one, because the item is an output itself.
            let others = usize::from(*through > 0 || id == 0);
            node.shared = !node.starts.is_empty() && node.starts.len() + others > 1;
            if let ([start], false) = (node.starts.as_slice(), node.shared)
                && let Some(source) = sources.get(*start as usize)
                && source.is_plain_at(node.depth)
            {
                node.action = match source.key_is_name {
                    true => Action::Keep,
                    false => Action::Rename(*start),
                };
            }
            for (token, _) in trie.children(id as NodeId) {
                node.members += u32::from(*token != PathToken::Any);
                node.elements += u32::from(token.index().is_some());
            }
            // No other path leads through this node.
            let starts = node.starts.iter().filter_map(|start| sources.get(*start as usize));
            node.passing =
                *through == 0 && !node.starts.is_empty() && starts.clone().all(|it| it.passing);
        }
        let passing = trie.children(0).iter();
        let passing = passing
            .filter(|(_, child)| nodes.get(*child as usize).is_some_and(|node| node.passing));
        let passing = passing.count() as u32;
        if let Some(item) = nodes.first_mut() {
            item.passing_members = passing;
        }
        let mut selection = Self { trie, nodes, sources, keys, projections };
        selection.check_overlap()?;
        selection.sources.append(&mut leaves);
        Ok(selection)
    }

    /// Refuses sources that are nested too deeply in one another.
    fn check_overlap(&self) -> Result<(), Error> {
        for (entry, source) in self.sources.iter().enumerate() {
            let (mut node, mut shared) = (0, 0);
            for token in &source.path.0 {
                shared +=
                    usize::from(self.nodes.get(node as usize).is_some_and(|node| node.shared));
                let PathToken::Name(name) = token else { break };
                node = self.trie.member(node, name.as_bytes()).unwrap_or_default();
            }
            if shared > MAX_OVERLAP {
                let message = format!(
                    "select: {} is inside more than {MAX_OVERLAP} other selected values",
                    source.text
                );
                return refuse_in("select", entry, false, message);
            }
        }
        Ok(())
    }

    /// Returns the output key of a source as JSON.
    pub(in crate::filter) fn key(&self, source: u32) -> &[u8] {
        self.keys.get(source as usize).map_or(b"\"\"", Vec::as_slice)
    }

    /// Returns the number under which the names of an object are kept for suggestions that a projection keeps in part.
    pub(in crate::filter) fn names_of(&self, node: NodeId) -> NodeId {
        self.nodes.len() as NodeId + node
    }

    pub(in crate::filter) fn node(&self, id: NodeId) -> &SelectNode {
        static NONE: SelectNode = SelectNode {
            starts: Vec::new(),
            depth: 0,
            action: Action::Ask,
            kept: Vec::new(),
            shared: false,
            passing: false,
            members: 0,
            elements: 0,
            passing_members: 0,
        };
        self.nodes.get(id as usize).unwrap_or(&NONE)
    }
}
