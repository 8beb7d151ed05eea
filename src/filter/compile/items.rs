//! Compiles the rules on items: the payload's root, `select`, `exclude`, `max_items` and the drops.
//!
//! Compilation depends on rules and paths, not on a document.

use std::collections::HashSet;

use tamis_json::error::Error;
use tamis_json::key;
use tamis_json::path::trie::{Cursor, NodeId, Trie};
use tamis_json::path::{Path, PathToken};
use tamis_json::policy::Action;
use tamis_json::regex_budget::RegexBudget;

use super::conditions::ItemConditions;
use super::projections::{Projections, ProjectionsBuilder};
use super::rule_paths::{one_place, read, read_selected, refuse_in, selected_steps, steps};
use crate::spec::{DuplicateKeys, Root, SelectPath as Written, Siblings, Spec};

/// The largest nesting of selected sources. Each level reads the value once more.
const MAX_OVERLAP: usize = 32;
/// Members of kimbap's responses that are kept with any selection from a single object (SPEC §5).
const ENVELOPE: [&str; 3] = ["_pagination", "_exit_code", "stderr"];

/// The compiled rules on items.
#[derive(Clone, Debug)]
pub(in crate::filter) struct ItemRules {
    /// No rule changes an item.
    pub(in crate::filter) idle: bool,
    pub(in crate::filter) root: RootRule,
    pub(in crate::filter) keep_siblings: bool,
    pub(in crate::filter) conditions: Option<ItemConditions>,
    /// `u64::MAX` means no limit.
    pub(in crate::filter) max_items: u64,
    pub(in crate::filter) stop_early: bool,
    pub(in crate::filter) select: Option<SelectRules>,
    pub(in crate::filter) exclude: Trie,
    pub(in crate::filter) drop_nulls: bool,
    pub(in crate::filter) drop_empty: bool,
    pub(in crate::filter) closed: bool,
    /// Whether misses are reported. In the response of a failed call nothing is a miss.
    pub(in crate::filter) judges: bool,
    /// Every document is an error: the response of a failed call, of which only selected values may be emitted.
    pub(in crate::filter) refuses: bool,
    pub(in crate::filter) duplicates: DuplicateKeys,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::filter) enum RootRule {
    Auto,
    First,
    Document,
    /// kimbap's `type: object` with a select: the document if it contains a selected value, otherwise the array that
    /// `Auto` would use.
    DocumentOrArray,
    At(Path),
}

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

/// One selected source.
#[derive(Clone, Debug)]
pub(in crate::filter) struct SelectSource {
    /// The path as written, for the report.
    pub(in crate::filter) text: String,
    /// The length of the text without its projection.
    pub(in crate::filter) path_len: usize,
    /// The output key is the last name of the path and has no escapes. A member whose key has the same length in the input
    /// is spelled the same.
    pub(in crate::filter) key_is_name: bool,
    pub(in crate::filter) path: Path,
    /// Kept with a payload that is a single object: neither a hit if found, nor a miss if not.
    pub(in crate::filter) passing: bool,
    /// The position of its value in the exclude trie.
    pub(in crate::filter) exclude: Cursor,
    /// The node of its projection. Then its leaves are found or missed, not the source itself.
    pub(in crate::filter) projection: Option<NodeId>,
    /// For a leaf of a projection: the node of the braces that it is in.
    pub(in crate::filter) braces: Option<NodeId>,
}

impl ItemRules {
    pub(in crate::filter) fn compile(
        spec: &Spec,
        allowance: &mut RegexBudget,
    ) -> Result<Self, Error> {
        let Spec {
            select,
            exclude,
            root,
            siblings,
            conditions,
            max_items,
            stop_early,
            drop_nulls,
            drop_empty,
            duplicate_keys,
            envelope,
            wrap,
            ..
        } = spec;
        let root = match root {
            Root::Auto => RootRule::Auto,
            Root::First => RootRule::First,
            Root::Object if *envelope && select.is_some() => RootRule::DocumentOrArray,
            Root::Object => RootRule::Document,
            Root::At(text) => {
                RootRule::At(one_place("root", "the payload", text, false, allowance)?)
            }
        };
        if *stop_early && *max_items == 0 {
            let message = "`stop_early` requires `max_items`".into();
            return refuse_in("stop_early", 0, false, message);
        }
        let exclude = excluded_trie(exclude, *envelope, allowance)?;
        let conditions = ItemConditions::compile(conditions, *envelope, allowance)?;
        let select = match select {
            None => None,
            Some(select) => Some(SelectRules::compile(&select.0, *envelope, &exclude, allowance)?),
        };
        let idle = !spec.has_item_rules() && !*wrap && !matches!(root, RootRule::At(_));
        Ok(Self {
            idle,
            root,
            keep_siblings: *siblings == Siblings::Keep,
            conditions,
            max_items: if *max_items == 0 { u64::MAX } else { *max_items },
            stop_early: *stop_early,
            select,
            exclude,
            drop_nulls: *drop_nulls,
            drop_empty: *drop_empty,
            closed: spec.is_closed(),
            judges: true,
            refuses: false,
            duplicates: *duplicate_keys,
        })
    }

    /// Returns whether the payload has to be located before the rules run.
    pub(in crate::filter) fn looks(&self) -> bool {
        matches!(self.root, RootRule::Auto | RootRule::DocumentOrArray)
    }

    /// Returns from where on the run may have to wait for the first hit, if at all.
    pub(in crate::filter) fn waits(&self) -> Option<WaitFrom> {
        let may_lack_root = matches!(self.root, RootRule::At(_) | RootRule::First);
        if self.judges && self.closed && (self.select.is_some() || may_lack_root) {
            Some(WaitFrom::Document)
        } else if self.select.is_some() && self.root == RootRule::DocumentOrArray {
            // If the array has no hit either, the document is the payload, and it missed.
            Some(WaitFrom::Document)
        } else if self.select.is_some() {
            Some(WaitFrom::Payload)
        } else {
            None
        }
    }
}

impl ItemRules {
    /// Returns rules that change nothing.
    pub(super) fn none() -> Self {
        Self {
            idle: true,
            root: RootRule::Document,
            keep_siblings: true,
            conditions: None,
            max_items: u64::MAX,
            stop_early: false,
            select: None,
            exclude: Trie::new([]),
            drop_nulls: false,
            drop_empty: false,
            closed: false,
            judges: false,
            refuses: false,
            duplicates: DuplicateKeys::First,
        }
    }

    /// Returns the rules that apply to the response of a failed call. `excluded`: the paths of `exclude`, also
    /// translated to the names of the source; `None` if these are too many, so that every document is an error.
    pub(super) fn failed(&self, excluded: Option<&[String]>, envelope: bool) -> Self {
        // Every rule is named: a new one does not compile until this says whether it applies to a failed call.
        let Self {
            idle: _,
            root,
            keep_siblings: _,
            conditions: _,
            max_items: _,
            stop_early: _,
            select,
            exclude,
            drop_nulls: _,
            drop_empty: _,
            closed,
            judges: _,
            refuses: _,
            duplicates,
        } = self;
        let exclude = match select {
            None => Some(exclude.clone()),
            Some(_) => excluded
                .and_then(|list| excluded_trie(list, envelope, &mut RegexBudget::new()).ok()),
        };
        let refuses = exclude.is_none() || (*closed && select.is_some());
        let exclude = exclude.unwrap_or_else(|| Trie::new([]));
        Self {
            idle: exclude.is_empty() && !refuses,
            root: match root {
                _ if refuses => RootRule::Document,
                RootRule::DocumentOrArray => RootRule::Document,
                root => root.clone(),
            },
            exclude,
            closed: *closed,
            refuses,
            duplicates: *duplicates,
            ..Self::none()
        }
    }
}

/// Compiles the paths of `exclude`.
fn excluded_trie(
    list: &[String],
    envelope: bool,
    allowance: &mut RegexBudget,
) -> Result<Trie, Error> {
    let mut trie = trie_of("exclude", list, envelope, allowance)?;
    trie.act_on_ends(Action::Skip);
    Ok(trie)
}

/// Compiles the paths of a rule that reads the item as it is written.
pub(super) fn trie_of(
    rule: &'static str,
    list: &[String],
    envelope: bool,
    allowance: &mut RegexBudget,
) -> Result<Trie, Error> {
    let mut paths = Vec::with_capacity(list.len());
    for (entry, text) in list.iter().enumerate() {
        paths.push(steps(read(text, envelope), rule, entry, text, allowance)?);
    }
    let mut trie = Trie::new(&paths);
    trie.sharpen(allowance);
    Ok(trie)
}

/// The place from which bytes wait for the first hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::filter) enum WaitFrom {
    Document,
    Payload,
}

impl SelectSource {
    /// Returns the projection as it is written, with a word before it for messages.
    pub(in crate::filter) fn braces_as_written(&self) -> String {
        let written = self.text.get(self.path_len..).unwrap_or_default().trim();
        if written.is_empty() { String::new() } else { format!(", of it {written}") }
    }

    /// Returns whether the source is exactly the value at `depth`: a member that a fast loop may take by its name.
    fn is_plain_at(&self, depth: usize) -> bool {
        // Every field is named: the machine does not write a source with a new property until it is considered here.
        let Self {
            text: _,
            path_len: _,
            key_is_name: _,
            path,
            passing: _,
            exclude,
            projection,
            braces: _,
        } = self;
        path.0.len() == depth && !exclude.is_hit() && projection.is_none()
    }
}

impl SelectRules {
    /// `envelope`: parse paths as kimbap does, and also keep the members of its envelope.
    fn compile(
        written: &[Written],
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
        let (mut names, mut keys) = (HashSet::new(), Vec::with_capacity(written.len()));
        for (entry, source) in written.iter().enumerate() {
            let Written { key, path: text } = source;
            let parsed = read_selected(text, envelope);
            let parsed = selected_steps(parsed, entry, text, allowance)?;
            let path = parsed.path.clone();
            let Some(name) = key.as_deref().or_else(|| path.last_name()) else {
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
            let last = path.0.last();
            let key_is_name =
                plain && matches!(last, Some(PathToken::Name(last)) if **last == *name);
            sources.push(SelectSource {
                text: text.clone(),
                path_len: parsed.path_len,
                key_is_name,
                path,
                passing: false,
                exclude: at_key,
                projection: None,
                braces: None,
            });
            keys.push(quoted);
            if !parsed.fields.is_empty() {
                projections.add(entry, text, &parsed, &mut leaves, allowance)?;
            }
        }
        for name in ENVELOPE {
            if envelope && names.insert(name.to_owned()) {
                sources.push(SelectSource {
                    text: name.to_owned(),
                    path_len: name.len(),
                    key_is_name: true,
                    path: Path(vec![PathToken::Name(name.into())]),
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
            shared: false,
            passing: false,
            members: 0,
            elements: 0,
            passing_members: 0,
        };
        self.nodes.get(id as usize).unwrap_or(&NONE)
    }
}
