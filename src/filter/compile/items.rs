//! Compiles the rules on items: the payload's root, `select`, `exclude`, `max_items` and the drops.
//!
//! Knows rules and paths, no document.

use std::collections::HashSet;

use super::rule_paths::{one_place, read, refuse_in, steps};
use crate::error::Error;
use crate::json::key;
use crate::path::trie::{Cursor, NodeId, Trie};
use crate::path::{Path, PathToken};
use crate::regex_budget::RegexBudget;
use crate::spec::{DuplicateKeys, Root, SelectPath as Written, Siblings, Spec};

/// Selected sources inside one another: each level reads the value once more.
const MAX_OVERLAP: usize = 32;
/// Members of kimbap's responses that pass whatever is selected of a single object (SPEC §5).
const ENVELOPE: [&str; 3] = ["_pagination", "_exit_code", "stderr"];

/// The rules on items, ready to run.
#[derive(Clone, Debug)]
pub(in crate::filter) struct ItemRules {
    /// Nothing happens to any item.
    pub(in crate::filter) idle: bool,
    pub(in crate::filter) root: RootRule,
    pub(in crate::filter) keep_siblings: bool,
    /// `u64::MAX`: no limit.
    pub(in crate::filter) max_items: u64,
    pub(in crate::filter) stop_early: bool,
    pub(in crate::filter) select: Option<SelectRules>,
    pub(in crate::filter) exclude: Trie,
    pub(in crate::filter) drop_nulls: bool,
    pub(in crate::filter) drop_empty: bool,
    pub(in crate::filter) closed: bool,
    /// Whether a miss is one: in the response of a failed call nothing is.
    pub(in crate::filter) judges: bool,
    /// Every document is an error: the response of a failed call, where only what is selected may leave.
    pub(in crate::filter) refuses: bool,
    pub(in crate::filter) duplicates: DuplicateKeys,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::filter) enum RootRule {
    Auto,
    First,
    Document,
    /// kimbap's `type: object` beside a select: the document if it has anything that is selected, else the array that `Auto`
    /// takes.
    DocumentOrArray,
    At(Path),
}

/// The selected sources as a trie over an item.
#[derive(Clone, Debug)]
pub(in crate::filter) struct SelectRules {
    pub(in crate::filter) trie: Trie,
    /// By node of the trie.
    pub(in crate::filter) nodes: Vec<SelectNode>,
    pub(in crate::filter) sources: Vec<SelectSource>,
}

/// What is to be done with the value at a node.
#[derive(Clone, Debug, Default)]
pub(in crate::filter) struct SelectNode {
    /// Sources whose output begins with this value: it is one, or holds the first wildcard's container.
    pub(in crate::filter) starts: Vec<u32>,
    /// Tokens from the item to here.
    pub(in crate::filter) depth: usize,
    /// The source that is this value, if that is all that is to be known of it.
    pub(in crate::filter) plain: Option<u32>,
    /// More than one output needs this value: it is held and read once for each.
    pub(in crate::filter) shared: bool,
    /// Only what passes with a payload that is a single object is here or below.
    pub(in crate::filter) passing: bool,
    /// Children that an object can have, that an array can have.
    pub(in crate::filter) members: u32,
    pub(in crate::filter) elements: u32,
    /// Of those members the passing ones.
    pub(in crate::filter) passing_members: u32,
}

/// One selected source.
#[derive(Clone, Debug)]
pub(in crate::filter) struct SelectSource {
    /// As it was written, for the report.
    pub(in crate::filter) text: String,
    /// The output key, as JSON.
    pub(in crate::filter) key: Vec<u8>,
    /// It is the last name of the path, without escapes: a member that is spelled with as many bytes is spelled alike.
    pub(in crate::filter) key_is_name: bool,
    pub(in crate::filter) path: Path,
    /// It passes with what is selected of a payload that is a single object: it is no hit, and missing it is no miss.
    pub(in crate::filter) passing: bool,
    /// Where in the exclude trie its value is.
    pub(in crate::filter) exclude: Cursor,
}

impl ItemRules {
    pub(in crate::filter) fn compile(
        spec: &Spec,
        allowance: &mut RegexBudget,
    ) -> Result<Self, Error> {
        // Every field is named: a new rule does not compile until it is part of `idle`, or does not apply to items.
        let Spec {
            extract: _,
            select,
            exclude,
            retain: _,
            patches: _,
            lenient_remove: _,
            on_test_failure: _,
            test: _,
            when: _,
            otherwise: _,
            root,
            siblings,
            max_items,
            stop_early,
            drop_nulls,
            drop_empty,
            text_filter: _,
            budget: _,
            min_items: _,
            omitted: _,
            on_over: _,
            compact: _,
            content: _,
            on_error: _,
            validation: _,
            whitespace: _,
            duplicate_keys,
            allow_raw: _,
            envelope,
            foreign: _,
            wrap,
            pass: _,
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
            let message = "stop_early needs max_items: there is no item to stop at".into();
            return refuse_in("stop_early", 0, false, message);
        }
        let mut excluded = Vec::with_capacity(exclude.len());
        for (entry, text) in exclude.iter().enumerate() {
            let path = read(text, *envelope);
            excluded.push(steps(path, "exclude", entry, text, allowance)?);
        }
        let mut exclude = Trie::new(&excluded);
        exclude.sharpen(allowance);
        let select = match select {
            None => None,
            Some(select) => Some(SelectRules::compile(&select.0, *envelope, &exclude, allowance)?),
        };
        let idle = select.is_none()
            && exclude.is_empty()
            && *max_items == 0
            && !*drop_nulls
            && !*drop_empty
            && *siblings == Siblings::Keep
            && !*wrap
            && !matches!(root, RootRule::At(_));
        Ok(Self {
            idle,
            root,
            keep_siblings: *siblings == Siblings::Keep,
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

    /// Whether the document is looked through for its payload before the rules run.
    pub(in crate::filter) fn looks(&self) -> bool {
        matches!(self.root, RootRule::Auto | RootRule::DocumentOrArray)
    }

    /// Whether something may have to wait for the first hit, and whether from the document's first byte on.
    pub(in crate::filter) fn waits(&self) -> Option<WaitFrom> {
        let may_lack_root = matches!(self.root, RootRule::At(_) | RootRule::First);
        if self.judges && self.closed && (self.select.is_some() || may_lack_root) {
            Some(WaitFrom::Document)
        } else if self.select.is_some() && self.root == RootRule::DocumentOrArray {
            // If the array misses too, it was the document that did.
            Some(WaitFrom::Document)
        } else if self.select.is_some() {
            Some(WaitFrom::Payload)
        } else {
            None
        }
    }
}

/// Where the bytes begin that wait for the first hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::filter) enum WaitFrom {
    Document,
    Payload,
}

impl SelectSource {
    /// Returns whether the source is the value at `depth`, and only that: a member that a fast loop may take by its name.
    fn is_plain_at(&self, depth: usize) -> bool {
        // Every field is named: a source with a new property is not taken by the loop until it is considered here.
        let Self { text: _, key: _, key_is_name: _, path, passing: _, exclude } = self;
        path.0.len() == depth && !exclude.is_hit()
    }
}

impl SelectRules {
    /// `envelope`: paths are read as kimbap reads them, and the members of its envelope pass as well.
    fn compile(
        written: &[Written],
        envelope: bool,
        exclude: &Trie,
        allowance: &mut RegexBudget,
    ) -> Result<Self, Error> {
        if written.is_empty() {
            let message = "select names no path; leave it out to keep everything".into();
            return refuse_in("select", 0, false, message);
        }
        let mut sources = Vec::with_capacity(written.len());
        let mut keys = HashSet::new();
        for (entry, source) in written.iter().enumerate() {
            let Written { key, path: text } = source;
            let path = steps(read(text, envelope), "select", entry, text, allowance)?;
            let Some(name) = key.as_deref().or_else(|| path.last_name()) else {
                let message = format!(
                    "select: {text} has no name for the output; give it one: key={text}, in a file `key: \"{text}\"`"
                );
                return refuse_in("select", entry, false, message);
            };
            if name.is_empty() && key.is_some() {
                let message = format!("select: the output key of {text} is empty");
                return refuse_in("select", entry, true, message);
            }
            if !keys.insert(name.to_owned()) {
                let message = format!(
                    "select: the output key {name:?} comes twice; give the second another: other={text}, in a file `other: \"{text}\"`"
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
                key: quoted,
                key_is_name,
                path,
                passing: false,
                exclude: at_key,
            });
        }
        for name in ENVELOPE {
            if envelope && keys.insert(name.to_owned()) {
                sources.push(SelectSource {
                    text: name.to_owned(),
                    key: key::quote(name),
                    key_is_name: true,
                    path: Path(vec![PathToken::Name(name.into())]),
                    passing: true,
                    exclude: exclude.start().member(exclude, Some(name.as_bytes())),
                });
            }
        }
        let mut trie = Trie::new(sources.iter().map(|source| &source.path));
        trie.sharpen(allowance);
        let mut nodes = vec![SelectNode::default(); trie.len()];
        let mut through = vec![0u32; trie.len()];
        for (number, source) in sources.iter().enumerate() {
            // Down to where the source's output begins: its end, or its first wildcard.
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
            // An output that begins with the item itself is one inside it: the item is an output of its own.
            let others = usize::from(*through > 0 || id == 0);
            node.shared = !node.starts.is_empty() && node.starts.len() + others > 1;
            if let ([start], false) = (node.starts.as_slice(), node.shared)
                && let Some(source) = sources.get(*start as usize)
                && source.is_plain_at(node.depth)
            {
                node.plain = Some(*start);
            }
            for (token, _) in trie.children(id as NodeId) {
                node.members += u32::from(*token != PathToken::Any);
                node.elements += u32::from(token.index().is_some());
            }
            // A name of its own: no path leads through it.
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
        let selection = Self { trie, nodes, sources };
        selection.check_overlap()?;
        Ok(selection)
    }

    /// Refuses sources that are inside one another too often.
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

    pub(in crate::filter) fn node(&self, id: NodeId) -> &SelectNode {
        static NONE: SelectNode = SelectNode {
            starts: Vec::new(),
            depth: 0,
            plain: None,
            shared: false,
            passing: false,
            members: 0,
            elements: 0,
            passing_members: 0,
        };
        self.nodes.get(id as usize).unwrap_or(&NONE)
    }
}
