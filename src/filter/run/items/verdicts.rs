//! Tests the items of a payload: takes their members, from a machine or from a look ahead, and notes a verdict for each.

use std::collections::VecDeque;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};
use tamis_json::error::Raise;
use tamis_json::key::is_too_long_for;
use tamis_json::machine::{AheadEvent, ObjectAhead};
use tamis_json::path::trie::NodeId;
use tamis_json::policy::{Action, Policy};
use tamis_json::sink::Sink;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};

use crate::filter::compile::conditions::{ItemConditions, Requirement};
use crate::filter::compile::program::CompiledProgram;
use crate::filter::run::stage::{StageHandler, StageState};

/// Whether an item is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemVerdict {
    Keep,
    Drop,
    /// The decision needs more bytes than may be held.
    TooLarge,
}

/// The state of the tests in the payload.
#[derive(Debug)]
pub(super) struct TesterState {
    pub(super) program: Arc<CompiledProgram>,
    /// The open containers, outer ones first: the payload, then the item, then containers on paths of conditions.
    open: SmallVec<[TestedContainer; 8]>,
    /// By requirement: the number of the last item in which it was known whether it holds.
    known: Vec<u64>,
    item_serial: u64,
    /// The number of requirements that are not known to hold in the open item.
    left: usize,
    /// The number of those that a value must meet.
    needed: usize,
    /// The offset of the open item, unless it is decided.
    pub(super) undecided: Option<u64>,
    /// By node: the number of the container in which it was seen last. The first of duplicate members decides.
    met: Vec<u64>,
    serial: u64,
    /// The scalar that is being read, and the nodes for its place.
    captured: Option<SmallVec<[NodeId; 2]>>,
    /// Its text so far.
    text: Vec<u8>,
    pub(super) verdicts: VecDeque<(ItemVerdict, u64)>,
    /// The payload has ended.
    pub(super) has_ended: bool,
    /// The payload is an object.
    is_object: bool,
    /// Maximum number of bytes of an item that wait for its verdict.
    pub(super) limit: u64,
}

#[derive(Clone, Debug, Default)]
struct TestedContainer {
    /// The nodes for its place. A path with a wildcard and one without may lead to the same value.
    nodes: SmallVec<[NodeId; 2]>,
    serial: u64,
}

impl TesterState {
    pub(super) fn new(program: &Arc<CompiledProgram>, limit: u64) -> Self {
        let conditions = program.items.conditions.as_ref();
        let nodes = conditions.map_or(0, |conditions| conditions.trie.len());
        let requirements = conditions.map_or(0, |conditions| conditions.requirements.len());
        Self {
            program: program.clone(),
            open: SmallVec::new(),
            known: vec![0; requirements],
            item_serial: 0,
            left: 0,
            needed: 0,
            undecided: None,
            met: vec![0; nodes],
            serial: 0,
            captured: None,
            text: Vec::new(),
            verdicts: VecDeque::new(),
            has_ended: false,
            is_object: false,
            limit,
        }
    }

    pub(super) fn restart(&mut self) {
        self.open.clear();
        self.undecided = None;
        self.captured = None;
        self.verdicts.clear();
        self.has_ended = false;
        self.is_object = false;
    }

    /// Decides about an item by its members in the window, if these are enough.
    pub(super) fn look_ahead(&mut self, conditions: &ItemConditions, item: &mut ObjectAhead<'_>) {
        self.restart();
        self.enter_item(conditions, item.offset());
        while let (Some(node), Some(_)) = (self.innermost(), self.undecided) {
            let Some(names) = conditions.trie.names(node) else { break };
            match item.next(names) {
                AheadEvent::Scalar(child, text, offset) => {
                    if self.meet(child) {
                        self.test(conditions, &[child], Some(text), offset);
                    }
                }
                AheadEvent::Object(child, offset) => {
                    let goes_on = self.meet(child) && {
                        self.test(conditions, &[child], None, offset);
                        !conditions.trie.children(child).is_empty()
                    };
                    if goes_on {
                        self.enter(smallvec![child]);
                    } else if !item.skip() {
                        break;
                    }
                }
                AheadEvent::Array(child, offset) => {
                    if self.meet(child) {
                        self.test(conditions, &[child], None, offset);
                    }
                }
                AheadEvent::Close(offset) => {
                    self.open.pop();
                    if self.open.is_empty() {
                        self.end_item(offset);
                    }
                }
                AheadEvent::Unknown => break,
            }
        }
        self.open.clear();
        self.undecided = None;
    }

    fn innermost(&self) -> Option<NodeId> {
        self.open.last()?.nodes.first().copied()
    }

    /// Notes that a value at a node was seen in the innermost container. Returns whether it is the first one.
    fn meet(&mut self, node: NodeId) -> bool {
        let Self { open, met, .. } = self;
        let (Some(top), Some(met)) = (open.last(), met.get_mut(node as usize)) else {
            return false;
        };
        std::mem::replace(met, top.serial) != top.serial
    }

    /// Notes the verdict of the open item.
    fn decide(&mut self, verdict: ItemVerdict, offset: u64) {
        let Some(start) = self.undecided.take() else { return };
        // An item is too large from the first byte over the limit on, wherever the input was cut.
        let end = start.saturating_add(self.limit);
        self.verdicts.push_back(match offset > end {
            true => (ItemVerdict::TooLarge, end.saturating_add(1)),
            false => (verdict, offset),
        });
    }

    /// Gives up the open item if it is too large. `offset`: the end of what was read.
    pub(super) fn check_size(&mut self, offset: u64) {
        if self.undecided.is_some_and(|start| offset.saturating_sub(start) > self.limit) {
            self.decide(ItemVerdict::TooLarge, offset);
        }
    }

    /// Notes the result of a requirement. The first one counts.
    fn set(&mut self, number: u32, requirement: &Requirement, holds: bool, offset: u64) {
        let Some(known) = self.known.get_mut(number as usize) else { return };
        if std::mem::replace(known, self.item_serial) == self.item_serial {
            return;
        }
        if !holds {
            return self.decide(ItemVerdict::Drop, offset);
        }
        self.left = self.left.saturating_sub(1);
        self.needed = self.needed.saturating_sub(usize::from(!requirement.is_negative));
        if self.left == 0 {
            self.decide(ItemVerdict::Keep, offset);
        }
    }

    /// Tests a value at some nodes. `text`: the text of a scalar, or `None` for a container.
    fn test(
        &mut self,
        conditions: &ItemConditions,
        nodes: &[NodeId],
        text: Option<&[u8]>,
        offset: u64,
    ) {
        for number in nodes.iter().flat_map(|node| conditions.trie.ends(*node)) {
            let Some(requirement) = conditions.requirements.get(*number as usize) else { continue };
            let holds = match text {
                Some(text) => requirement.test.holds(text),
                None => requirement.test.takes_containers(),
            };
            match (holds, requirement.is_negative) {
                (true, false) => self.set(*number, requirement, true, offset),
                (true, true) => self.set(*number, requirement, false, offset),
                // No other value can be at this place.
                (false, is_negative) if requirement.is_single => {
                    self.set(*number, requirement, is_negative, offset);
                }
                (false, _) => {}
            }
        }
    }

    /// Ends the open item: what was not found does not exist.
    fn end_item(&mut self, offset: u64) {
        let verdict = if self.needed == 0 { ItemVerdict::Keep } else { ItemVerdict::Drop };
        self.decide(verdict, offset);
    }

    /// Returns the nodes of a value in the innermost container.
    fn nodes(&mut self, slot: ValueSlot<'_>) -> SmallVec<[NodeId; 2]> {
        let mut nodes = SmallVec::new();
        let Self { program, open, met, .. } = self;
        let (Some(conditions), Some(top)) = (&program.items.conditions, open.last()) else {
            return nodes;
        };
        let trie = &conditions.trie;
        for parent in &top.nodes {
            let child = match slot {
                ValueSlot::Member(key) => match (key.entry(), top.nodes.len()) {
                    (Some(entry), 1) => Some(entry),
                    _ => key.with_name(|name| trie.member(*parent, name?)),
                },
                ValueSlot::Element(index) => trie.element(*parent, index),
                ValueSlot::Top => None,
            };
            if let Some(child) = child
                && let Some(met) = met.get_mut(child as usize)
                && *met != top.serial
            {
                *met = top.serial;
                nodes.push(child);
            }
            nodes.extend(trie.any(*parent));
        }
        nodes
    }

    fn enter(&mut self, nodes: SmallVec<[NodeId; 2]>) -> Interest {
        self.serial += 1;
        self.open.push(TestedContainer { nodes, serial: self.serial });
        Interest::Inspect
    }

    fn enter_item(&mut self, conditions: &ItemConditions, offset: u64) -> Interest {
        self.left = conditions.requirements.len();
        self.needed = conditions.needed;
        self.undecided = Some(offset);
        self.item_serial = self.serial + 1;
        self.enter(smallvec![0])
    }

    fn value(&mut self, slot: ValueSlot<'_>, kind: ValueKind, offset: u64) -> Interest {
        let program = self.program.clone();
        let Some(conditions) = &program.items.conditions else { return Interest::Skip };
        match self.open.len() {
            // A payload that is an object is its only item.
            0 if kind == ValueKind::Object => {
                self.is_object = true;
                self.open.push(TestedContainer::default());
                return self.enter_item(conditions, offset);
            }
            0 => return self.enter(SmallVec::new()),
            1 if kind != ValueKind::Object => return Interest::Skip,
            1 => return self.enter_item(conditions, offset),
            _ if self.undecided.is_none() => return Interest::SkipRest,
            _ => {}
        }
        let nodes = self.nodes(slot);
        let trie = &conditions.trie;
        if nodes.is_empty() {
            return Interest::Skip;
        }
        let is_tested = nodes.iter().any(|node| !trie.ends(*node).is_empty());
        if !kind.is_container() {
            if is_tested {
                self.captured = Some(nodes);
                self.text.clear();
                return Interest::Copy;
            }
            return Interest::Skip;
        }
        if is_tested {
            self.test(conditions, &nodes, None, offset);
        }
        // An array is not read if no path leads to its elements. A look ahead does not read it either.
        let goes_on = nodes.iter().any(|node| match kind {
            ValueKind::Array => trie.takes_elements(*node),
            _ => !trie.children(*node).is_empty(),
        });
        if goes_on && self.undecided.is_some() { self.enter(nodes) } else { Interest::Skip }
    }
}

impl StageState for TesterState {
    const OWN_MACHINE: bool = true;

    fn flush(&mut self, _: &mut dyn Sink) {}
}

impl Handler for StageHandler<'_, TesterState> {
    fn value(
        &mut self,
        slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Raise> {
        Ok(self.stage.value(slot, kind, offset))
    }

    fn policy(&mut self) -> Policy<'_> {
        let TesterState { program, open, undecided, .. } = &*self.stage;
        let Some(conditions) = &program.items.conditions else { return Policy::ASK };
        match open.as_slice() {
            [] | [_] => Policy::ASK,
            _ if undecided.is_none() => Policy::all(Action::SkipRest),
            [.., TestedContainer { nodes, .. }] => match nodes.as_slice() {
                [node] if conditions.trie.any(*node).is_none() => {
                    let names = conditions.trie.names(*node);
                    names.map_or(Policy::ASK, |names| Policy::ask_named(names, Action::Skip))
                }
                _ => Policy::ASK,
            },
        }
    }

    fn close(&mut self, offset: u64) -> Result<(), Raise> {
        let tests = &mut *self.stage;
        tests.open.pop();
        match tests.open.len() {
            0 => tests.has_ended = true,
            1 => {
                tests.end_item(offset);
                tests.has_ended = tests.is_object;
            }
            _ => {}
        }
        Ok(())
    }

    fn raw(&mut self, bytes: &[u8]) {
        let limit = self.stage.limit;
        let TesterState { captured: Some(_), text, .. } = &mut *self.stage else { return };
        // A longer value makes the item too large.
        if (text.len() + bytes.len()) as u64 <= limit {
            text.extend_from_slice(bytes);
        }
    }

    fn copied(&mut self, offset: u64) -> Result<(), Raise> {
        let tests = &mut *self.stage;
        let program = tests.program.clone();
        if let (Some(conditions), Some(nodes)) = (&program.items.conditions, tests.captured.take())
        {
            let text = std::mem::take(&mut tests.text);
            tests.test(conditions, &nodes, Some(&text), offset);
            tests.text = text;
        }
        Ok(())
    }

    fn takes_long_keys(&self, limit: usize) -> bool {
        let conditions = self.stage.program.items.conditions.as_ref();
        is_too_long_for(limit, conditions.map_or(0, |conditions| conditions.trie.longest_name()))
    }
}
