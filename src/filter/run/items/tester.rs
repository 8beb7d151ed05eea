//! Decides which items `where` keeps, ahead of the stage.
//!
//! Before the machine asks the stage about an item, the tester looks ahead at the members that the conditions name. Most
//! items are in the window of the machine as a whole, so that this look decides ([`ItemTester::look_ahead`]). Before an
//! item that it does not decide, the stage stops:
//!
//! ```text
//! an item that the window cuts ──▶ the machine goes on with a window that begins at the item
//! any other                    ──▶ the tester reads the input ahead of the stage, with a machine of its own, until it has
//!                                  a verdict; it notes those of the next items that it has read, too
//! no verdict in the input      ──▶ the input from the item on is held until there is one
//! ```
//!
//! So the stage never reads an item that may still be dropped, and nothing that it counts, finds or refuses has to be
//! undone. The tester validates only the structure of what it skips. The stage finds the errors of the document, because
//! it reads every byte, too.

use std::collections::VecDeque;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};
use tamis_json::error::{Error, ErrorKind, Raise};
use tamis_json::key::is_too_long_for;
use tamis_json::limits::Limits;
use tamis_json::machine::{AheadEvent, Machine, MachineConfig, ObjectAhead};
use tamis_json::path::trie::NodeId;
use tamis_json::policy::{Action, Policy};
use tamis_json::scan::Scanner;
use tamis_json::sink::Sink;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};

use crate::filter::compile::conditions::{ItemConditions, Requirement};
use crate::filter::compile::program::CompiledProgram;
use crate::filter::run::stage::{DiscardSink, StageHandler, StageMachine, StageState};
use crate::spec::Validation;

/// Whether an item is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemVerdict {
    Keep,
    Drop,
    /// The decision needs more bytes than may be held.
    TooLarge,
}

/// An item whose verdict the stage needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AwaitedItem {
    /// An element of the payload.
    Element,
    /// The payload, which is an object.
    Payload,
}

/// Bytes that are read ahead at once. They are still in the cache when the machine of the stage reads them.
const AHEAD: usize = 64 << 10;

/// Reads the payload ahead of the stage. A copy of it, in the probe for the first hit, has read nothing.
#[derive(Debug)]
pub(super) struct ItemTester {
    engine: StageMachine,
    config: MachineConfig,
    state: TesterState,
    /// The error at which the tester has stopped to decide.
    failed: Option<Error>,
    /// Whether undecided items are dropped, because the document is invalid.
    gives_up: bool,
    /// Input that waits for a verdict.
    held: Vec<u8>,
    /// The item with which the machine has begun.
    item: AwaitedItem,
    /// The item before which the stage has stopped.
    pub(super) awaited: Option<AwaitedItem>,
}

/// The state of the tests in the payload.
#[derive(Debug)]
struct TesterState {
    program: Arc<CompiledProgram>,
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
    undecided: Option<u64>,
    /// By node: the number of the container in which it was seen last. The first of duplicate members decides.
    met: Vec<u64>,
    serial: u64,
    /// The scalar that is being read, and the nodes for its place.
    captured: Option<SmallVec<[NodeId; 2]>>,
    /// Its text so far.
    text: Vec<u8>,
    verdicts: VecDeque<(ItemVerdict, u64)>,
    /// The payload has ended.
    has_ended: bool,
    /// The payload is an object.
    is_object: bool,
    /// Maximum number of bytes of an item that wait for its verdict.
    limit: u64,
}

#[derive(Clone, Debug, Default)]
struct TestedContainer {
    /// The nodes for its place. A path with a wildcard and one without may lead to the same value.
    nodes: SmallVec<[NodeId; 2]>,
    serial: u64,
}

impl Clone for ItemTester {
    fn clone(&self) -> Self {
        let state = TesterState::new(&self.state.program, self.state.limit);
        Self::of(self.config.clone(), self.engine.scanner(), state)
    }
}

impl ItemTester {
    /// Returns the tester of a program, if it has conditions.
    pub(super) fn new(
        program: &Arc<CompiledProgram>,
        limits: &Limits,
        scanner: Scanner,
    ) -> Option<Box<Self>> {
        program.items.conditions.as_ref()?;
        let config = MachineConfig { structure: true, ..MachineConfig::new(limits) };
        Some(Box::new(Self::of(config, scanner, TesterState::new(program, limits.item()))))
    }

    fn of(config: MachineConfig, scanner: Scanner, state: TesterState) -> Self {
        Self {
            engine: StageMachine::new(config.clone(), scanner),
            config,
            state,
            failed: None,
            gives_up: false,
            held: Vec::new(),
            item: AwaitedItem::Element,
            awaited: None,
        }
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self) {
        self.state.restart();
        self.failed = None;
        self.gives_up = false;
        self.held.clear();
        self.awaited = None;
    }

    /// Returns the verdict for the next element that is an object, with the offset of the byte that made it certain.
    /// `None` if there is none yet.
    pub(super) fn next(&mut self) -> Option<(ItemVerdict, u64)> {
        let next = self.state.verdicts.pop_front();
        next.or_else(|| self.gives_up.then_some((ItemVerdict::Drop, 0)))
    }

    /// Returns the number of bytes that wait for a verdict.
    pub(super) fn waiting(&self) -> u64 {
        self.held.len() as u64
    }

    /// Whether the tester decides about most items by looking ahead.
    pub(super) fn looks_ahead(&self) -> bool {
        let conditions = self.state.program.items.conditions.as_ref();
        conditions.is_some_and(|conditions| conditions.names_only)
    }

    /// Decides about the item that the stage is asked about next, if its members in the window are enough for that.
    pub(super) fn look_ahead(&mut self, conditions: &ItemConditions, item: &mut ObjectAhead<'_>) {
        if conditions.names_only && self.state.verdicts.is_empty() && !self.gives_up {
            self.state.look_ahead(conditions, item);
        }
    }

    /// Reads ahead until there is a verdict for the item at `offset`, before which the stage has stopped. `input`: the
    /// document from there on.
    pub(super) fn read_from(&mut self, offset: u64, input: &[u8], item: AwaitedItem) {
        self.state.restart();
        self.engine.restart(self.config.clone());
        self.item = item;
        match item {
            AwaitedItem::Payload => self.engine.machine.skip_prefix(offset),
            AwaitedItem::Element => {
                self.engine.machine.skip_prefix(offset.saturating_sub(1));
                // The machine is then inside the payload.
                self.read(b"[");
            }
        }
        for piece in input.chunks(AHEAD) {
            self.read(piece);
            if self.has_verdict() {
                break;
            }
        }
    }

    /// Whether the stage can be fed: the next item has a verdict.
    pub(super) fn has_verdict(&self) -> bool {
        self.gives_up || !self.state.verdicts.is_empty()
    }

    /// Reads the next bytes of the document.
    fn read(&mut self, bytes: &[u8]) {
        if self.state.has_ended || self.failed.is_some() {
            return;
        }
        let fed = self.engine.feed(&mut self.state, bytes, &mut DiscardSink);
        if self.state.has_ended {
            // The bytes after the payload are not part of this machine's document.
            return;
        }
        match fed {
            Ok(_) => self.state.check_size(self.engine.machine.offset()),
            Err(error) => {
                // The open item may have become too large before the error, wherever the input was cut.
                self.state.check_size(error.offset().unwrap_or_default());
                // Whether an error after the decision counts depends on what the stage does with the item. The stage finds
                // it; a look ahead does not.
                if self.state.undecided.is_none() {
                    self.state.has_ended = true;
                    return;
                }
                // The stage finds an error of the document, too, if it validates all of it. A limit may only concern
                // the tests.
                let is_found = self.state.program.spec.validation == Validation::Full;
                self.gives_up = is_found && error.kind() != ErrorKind::Limit;
                self.failed = Some(error);
            }
        }
    }

    /// Reads input after the bytes that wait, and lets it wait as well. Returns all of it once there is a verdict.
    ///
    /// # Errors
    /// As for [`hold`](Self::hold).
    pub(super) fn read_waiting(
        &mut self,
        piece: &[u8],
        stage: &Machine,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.read(piece);
        self.hold(piece, stage)?;
        Ok(self.has_verdict().then(|| std::mem::take(&mut self.held)))
    }

    /// Takes back the memory of input that has waited and was read.
    pub(super) fn reuse(&mut self, mut input: Vec<u8>) {
        input.clear();
        self.held = input;
    }

    /// Holds input until there is a verdict. `stage`: the machine that has stopped before the item.
    ///
    /// # Errors
    /// There will never be a verdict.
    pub(super) fn hold(&mut self, input: &[u8], stage: &Machine) -> Result<(), Error> {
        if !self.has_verdict()
            && let Some(error) = self.failed.take()
        {
            // The first token of an element's path is its index, counted from where the tester has begun.
            let path = match (self.item, error.path().match_indices('/').nth(1)) {
                (AwaitedItem::Payload, _) => error.path(),
                (AwaitedItem::Element, Some((at, _))) => error.path().get(at..).unwrap_or_default(),
                (AwaitedItem::Element, None) => "",
            };
            let path = stage.next_pointer() + path;
            return Err(error.rephrased(path, None));
        }
        self.held.extend_from_slice(input);
        Ok(())
    }

    /// Ends the waiting, because the document has ended. Returns the input that the stage has not read.
    pub(super) fn give_up(&mut self) -> Vec<u8> {
        self.gives_up = true;
        std::mem::take(&mut self.held)
    }
}

impl TesterState {
    fn new(program: &Arc<CompiledProgram>, limit: u64) -> Self {
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

    fn restart(&mut self) {
        self.open.clear();
        self.undecided = None;
        self.captured = None;
        self.verdicts.clear();
        self.has_ended = false;
        self.is_object = false;
    }

    /// Decides about an item by its members in the window, if these are enough.
    fn look_ahead(&mut self, conditions: &ItemConditions, item: &mut ObjectAhead<'_>) {
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
        let is_too_large = offset.saturating_sub(start) > self.limit;
        let verdict = if is_too_large { ItemVerdict::TooLarge } else { verdict };
        self.verdicts.push_back((verdict, offset));
    }

    /// Gives up the open item if it is too large. `offset`: the end of what was read.
    fn check_size(&mut self, offset: u64) {
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
