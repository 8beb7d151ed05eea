//! Finds the payload of `root: auto` (seed: kimbap's DetectPayloadRoot; SPEC §5), and of kimbap's `type: object` with
//! a select.
//!
//! The probe reads the members of the document's object, skips their values, and writes nothing. With `auto` it stops
//! when an array `items` begins, with `type: object` at the first selected value. Otherwise the end of the object
//! decides:
//!
//! | members of the document's object | payload |
//! |---|---|
//! | an array `items`, `result`, `data`, or any array, in this order | the array |
//! | no array, but a string `raw` with only its companions | the document, as plain text |
//! | all others | the document |
//!
//! A document that is not an object is its own payload.
//!
//! | document | payload, counted from 0 | reason |
//! |---|---|---|
//! | `{"data":[1],"items":[2]}` | member 1 | `items` precedes all other names |
//! | `{"a":[1],"data":[2]}` | member 1 | `data` precedes arrays with other names |
//! | `{"items":"x","a":[1]}` | member 1 | only arrays count |
//! | `{"raw":"text","_exit_code":0}` | plain text | `_exit_code` is a companion of `raw` |
//! | `{"raw":"text","n":1}` | the document | `n` is not |

use std::sync::{Arc, LazyLock};

use smallvec::SmallVec;
use tamis_json::error::Raise;
use tamis_json::key::is_too_long_for;
use tamis_json::path::names::NameTable;
use tamis_json::path::trie::NodeId;
use tamis_json::policy::{Action, Policy};
use tamis_json::sink::Sink;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};

use super::lookahead::Probe;
use super::stage::{StageHandler, StageState};
use crate::filter::compile::items::RootRule;
use crate::filter::compile::program::CompiledProgram;
use crate::filter::compile::select::SelectRules;

/// The location of the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payload {
    /// The document itself.
    Document,
    /// The member with this index in the document's object.
    Member(u64),
    /// The document itself, an object with plain text in its member `raw`.
    RawText,
}

/// Members that may accompany `raw`.
const RAW_COMPANIONS: [&[u8]; 5] =
    [b"_exit_code", b"_text_filtered", b"_compact", b"_original_items", b"stderr"];

/// The names of arrays that precede others. Only the names matter here.
static ARRAYS: LazyLock<NameTable> = LazyLock::new(|| {
    let mut names = NameTable::new(["items", "result", "data"].map(|name| (name.into(), 0)).into());
    names.sharpen();
    names
});

/// The probe for the payload.
#[derive(Debug)]
pub(super) struct RootProbe {
    program: Arc<CompiledProgram>,
    /// The nodes of the select trie for the open containers, if a selected value makes the document the payload.
    open: SmallVec<[NodeId; 8]>,
    /// By node: whether it was seen. A node is one place of the document.
    met: Vec<bool>,
    /// The number of members of the document's object that were seen.
    members: u64,
    /// The indices of the arrays with these names, and of the first array. A later `items` replaces an earlier one.
    items: Option<u64>,
    result: Option<u64>,
    data: Option<u64>,
    first: Option<u64>,
    /// A string `raw` was seen.
    raw: bool,
    /// A member was seen that plain text does not have.
    not_raw: bool,
    /// The decision, and the offset of the byte that made it final.
    decided: Option<(Payload, u64)>,
}

impl RootProbe {
    pub(super) fn new(program: &Arc<CompiledProgram>) -> Self {
        let nodes = Self::selection(program).map_or(0, |selection| selection.nodes.len());
        Self {
            program: program.clone(),
            open: SmallVec::new(),
            met: vec![false; nodes],
            members: 0,
            items: None,
            result: None,
            data: None,
            first: None,
            raw: false,
            not_raw: false,
            decided: None,
        }
    }

    /// Returns the selection, if a selected value makes the document the payload.
    fn selection(program: &CompiledProgram) -> Option<&SelectRules> {
        let rules = &program.items;
        rules.select.as_ref().filter(|_| rules.root == RootRule::DocumentOrArray)
    }

    /// Returns the interest in a value, or `None` if it is selected. Enters only containers in which something may be
    /// selected. Counts as selected where a source ends, and at a container where the rest of a source begins with a
    /// wildcard. Each value costs one step in the trie.
    fn look(
        &mut self,
        selection: &SelectRules,
        slot: ValueSlot<'_>,
        kind: ValueKind,
    ) -> Option<Interest> {
        let node = match (slot, self.open.last()) {
            (ValueSlot::Top, _) => Some(0),
            (ValueSlot::Member(key), Some(at)) => {
                key.with_name(|name| selection.trie.member(*at, name?))
            }
            (ValueSlot::Element(index), Some(at)) => selection.trie.element(*at, index),
            _ => None,
        };
        let Some(node) = node else { return Some(Interest::Skip) };
        // Only the first member of a name counts.
        match self.met.get_mut(node as usize) {
            Some(met) if !*met => *met = true,
            _ => return Some(Interest::Skip),
        }
        let at = selection.node(node);
        let starts = at.starts.iter().filter_map(|start| selection.sources.get(*start as usize));
        // A wildcard needs a container.
        let mut found = starts
            .filter(|source| !source.passing)
            .map(|source| source.path.0.len() == at.depth || kind.is_container());
        if found.any(|found| found) {
            return None;
        }
        let below = if kind == ValueKind::Object { at.members } else { at.elements };
        if !kind.is_container() || (below == 0 && !matches!(slot, ValueSlot::Top)) {
            return Some(Interest::Skip);
        }
        self.open.push(node);
        Some(Interest::Inspect)
    }

    /// Returns the decision for an object that ends after the members seen so far.
    fn decision(&self) -> Payload {
        match self.items.or(self.result).or(self.data).or(self.first) {
            Some(member) => Payload::Member(member),
            None if self.raw && !self.not_raw && Self::selection(&self.program).is_none() => {
                Payload::RawText
            }
            None => Payload::Document,
        }
    }

    /// Records a member of the document's object. `name` is `None` if no path can match the key.
    fn member(&mut self, name: Option<&[u8]>, kind: ValueKind) {
        let number = self.members;
        self.members += 1;
        if kind == ValueKind::Array {
            self.first.get_or_insert(number);
            match name {
                Some(b"items") => self.items = Some(number),
                Some(b"result") => _ = self.result.get_or_insert(number),
                Some(b"data") => _ = self.data.get_or_insert(number),
                _ => {}
            }
        }
        let string = matches!(kind, ValueKind::String | ValueKind::EmptyString);
        match name {
            // Already known not to be raw text.
            _ if self.not_raw => {}
            Some(b"raw") if string && !self.raw => self.raw = true,
            Some(name) if RAW_COMPANIONS.contains(&name) => {}
            _ => self.not_raw = true,
        }
    }
}

impl Probe for RootProbe {
    type Decision = Payload;

    fn decided(&self) -> Option<(Payload, u64)> {
        self.decided
    }
}

impl StageState for RootProbe {
    const OWN_MACHINE: bool = true;

    fn flush(&mut self, _: &mut dyn Sink) {}
}

impl Handler for StageHandler<'_, RootProbe> {
    fn value(
        &mut self,
        slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Raise> {
        let probe = &mut *self.stage;
        let program = probe.program.clone();
        let selection = RootProbe::selection(&program);
        match slot {
            ValueSlot::Top if kind != ValueKind::Object => {
                probe.decided = Some((Payload::Document, offset));
                return Ok(Interest::Stop);
            }
            ValueSlot::Member(key) if probe.open.len() <= 1 => {
                key.with_name(|name| probe.member(name, kind));
            }
            _ => {}
        }
        // With a selection, an array `items` does not end the search: a selected value may come later.
        if let Some(selection) = selection {
            let interest = probe.look(selection, slot, kind);
            if interest.is_none() {
                probe.decided = Some((Payload::Document, offset));
            }
            return Ok(interest.unwrap_or(Interest::Stop));
        }
        // No other member has precedence over `items`.
        if let Some(items) = probe.items {
            probe.decided = Some((Payload::Member(items), offset));
            return Ok(Interest::Stop);
        }
        Ok(if let ValueSlot::Top = slot { Interest::Inspect } else { Interest::Skip })
    }

    fn close(&mut self, offset: u64) -> Result<(), Raise> {
        let probe = &mut *self.stage;
        // The document's object has ended, or one inside it that `look` has entered.
        probe.open.pop();
        if probe.open.is_empty() {
            probe.decided = Some((probe.decision(), offset));
        }
        Ok(())
    }

    fn raw(&mut self, _: &[u8]) {}

    /// Asks about members whose name or kind matters. Without a selection every name matters until it is known that the
    /// document is not plain text.
    fn policy(&mut self) -> Policy<'_> {
        let probe = &mut *self.stage;
        let selection = RootProbe::selection(&probe.program);
        // Arrays only matter among the members of the document.
        let is_outer = probe.open.len() <= 1;
        let (names, asks_containers) = match (selection, probe.open.last()) {
            (None, _) if probe.not_raw => (Some(&*ARRAYS), probe.first.is_none()),
            (Some(selection), Some(node)) => (selection.trie.names(*node), is_outer),
            _ => (None, false),
        };
        let Some(names) = names else { return Policy::ASK };
        let passed = is_outer.then_some(&mut probe.members);
        Policy { asks_containers, passed, ..Policy::ask_named(names, Action::Skip) }
    }

    fn takes_long_keys(&self, limit: usize) -> bool {
        let selection = RootProbe::selection(&self.stage.program);
        let selected = selection.map_or(0, |selection| selection.trie.longest_name());
        let longest = RAW_COMPANIONS.iter().map(|name| name.len()).max();
        is_too_long_for(limit, longest.unwrap_or(0).max(selected))
    }
}
