//! Decides which items `where` keeps, ahead of the stage.
//!
//! The tester reads the payload with a machine of its own, a piece ahead of the machine of the stage, and notes a verdict
//! for each element that is an object. The stage takes the verdicts in order. Before an element without a verdict it
//! stops, and the input waits until there is one. So the stage never reads an item that may still be dropped, and nothing
//! that it counts, finds or refuses has to be undone.
//!
//! ```text
//! input ──▶ tester: keep, drop, keep, …          an item that is undecided at the end of the piece
//!   │                    │                                          │
//!   └──────────▶ stage ──┴──▶ keeps, skips, keeps ──▶ stops before it, and the rest of the piece is held
//! ```
//!
//! The tester validates only the structure of what it skips. The stage finds the errors of the document, because it reads
//! every byte, too.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};
use tamis_json::error::{Error, ErrorKind, Raise};
use tamis_json::key::is_too_long_for;
use tamis_json::limits::Limits;
use tamis_json::machine::MachineConfig;
use tamis_json::path::trie::NodeId;
use tamis_json::policy::{Action, Policy};
use tamis_json::scan::Scanner;
use tamis_json::sink::Sink;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};

use crate::filter::compile::conditions::ItemConditions;
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

/// Reads the payload ahead of the stage. A copy of it, in the probe for the first hit, has read nothing.
#[derive(Debug)]
pub(super) struct ItemTester {
    engine: StageMachine,
    config: MachineConfig,
    state: TesterState,
    has_begun: bool,
    /// The error at which the tester has stopped to decide.
    failed: Option<Error>,
    /// Whether undecided items are dropped, because the document is invalid.
    gives_up: bool,
    /// Input that waits for a verdict.
    held: Vec<u8>,
    /// Whether the stage has stopped before the payload or an item.
    pub(super) is_awaited: bool,
}

/// The state of the tests in the payload.
#[derive(Debug)]
struct TesterState {
    program: Arc<CompiledProgram>,
    /// The open containers, outer ones first: the payload, then the item, then containers on paths of conditions.
    open: SmallVec<[TestedContainer; 8]>,
    /// By requirement: whether it holds, once it is known in the open item.
    results: Vec<Option<bool>>,
    /// The number of requirements that are not known to hold.
    left: usize,
    /// The offset of the open item, unless it is decided.
    undecided: Option<u64>,
    /// By node: the number of the container in which it was seen last. The first of duplicate members decides.
    met: Vec<u64>,
    serial: u64,
    /// The scalar that is being read, and the nodes for its place.
    captured: Option<(SmallVec<[NodeId; 2]>, Vec<u8>)>,
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
            has_begun: false,
            failed: None,
            gives_up: false,
            held: Vec::new(),
            is_awaited: false,
        }
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self) {
        self.state.restart();
        self.has_begun = false;
        self.failed = None;
        self.gives_up = false;
        self.held.clear();
        self.is_awaited = false;
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

    /// Returns whether [`begin`](Self::begin) was called in this document.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Begins at the value before which the stage has stopped.
    pub(super) fn begin(&mut self, offset: u64) {
        self.engine.restart(self.config.clone());
        self.engine.machine.skip_prefix(offset);
        self.has_begun = true;
    }

    /// Reads the next bytes of the document.
    pub(super) fn read(&mut self, bytes: &[u8]) {
        if !self.has_begun || self.state.has_ended || self.failed.is_some() {
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
                // The stage finds an error of the document, too, if it validates all of it. A limit may only concern
                // the tests.
                let is_found = self.state.program.spec.validation == Validation::Full;
                self.gives_up = is_found && error.kind() != ErrorKind::Limit;
                self.failed = Some(error);
            }
        }
    }

    /// Returns the input that the stage has to read next: `piece`, after the input that has waited. `None` if it waits as
    /// well.
    ///
    /// # Errors
    /// There will never be a verdict.
    pub(super) fn next_input<'a>(
        &mut self,
        piece: &'a [u8],
    ) -> Result<Option<Cow<'a, [u8]>>, Error> {
        if self.held.is_empty() {
            return Ok(Some(Cow::Borrowed(piece)));
        }
        self.held.extend_from_slice(piece);
        if self.state.verdicts.is_empty() && !self.gives_up {
            self.check()?;
            return Ok(None);
        }
        Ok(Some(Cow::Owned(std::mem::take(&mut self.held))))
    }

    /// Holds input until there is a verdict.
    ///
    /// # Errors
    /// There will never be a verdict.
    pub(super) fn hold(&mut self, input: &[u8]) -> Result<(), Error> {
        self.check()?;
        self.held.extend_from_slice(input);
        Ok(())
    }

    fn check(&mut self) -> Result<(), Error> {
        match self.failed.take() {
            Some(error) if !self.gives_up => Err(error),
            failed => {
                self.failed = failed;
                Ok(())
            }
        }
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
            results: vec![None; requirements],
            left: 0,
            undecided: None,
            met: vec![0; nodes],
            serial: 0,
            captured: None,
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
    fn set(&mut self, requirement: u32, holds: bool, offset: u64) {
        let Some(result @ None) = self.results.get_mut(requirement as usize) else { return };
        *result = Some(holds);
        if !holds {
            return self.decide(ItemVerdict::Drop, offset);
        }
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.decide(ItemVerdict::Keep, offset);
        }
    }

    /// Tests a value at some nodes. `text`: the text of a scalar, or `None` for a container.
    fn test(&mut self, nodes: &[NodeId], text: Option<&[u8]>, offset: u64) {
        let program = self.program.clone();
        let Some(conditions) = &program.items.conditions else { return };
        for number in nodes.iter().flat_map(|node| conditions.trie.ends(*node)) {
            let Some(requirement) = conditions.requirements.get(*number as usize) else { continue };
            let holds = match text {
                Some(text) => requirement.test.holds(text),
                None => requirement.test.takes_containers(),
            };
            match (holds, requirement.is_negative) {
                (true, false) => self.set(*number, true, offset),
                (true, true) => self.set(*number, false, offset),
                // No other value can be at this place.
                (false, is_negative) if requirement.is_single => {
                    self.set(*number, is_negative, offset);
                }
                (false, _) => {}
            }
        }
    }

    /// Ends the open item: what was not found does not exist.
    fn end_item(&mut self, offset: u64) {
        let program = self.program.clone();
        let Some(ItemConditions { requirements, .. }) = &program.items.conditions else { return };
        for (number, requirement) in requirements.iter().enumerate() {
            if self.undecided.is_none() {
                return;
            }
            self.set(number as u32, requirement.is_negative, offset);
        }
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

    fn enter_item(&mut self, offset: u64) -> Interest {
        self.results.fill(None);
        self.left = self.results.len();
        self.undecided = Some(offset);
        self.enter(smallvec![0])
    }

    fn value(&mut self, slot: ValueSlot<'_>, kind: ValueKind, offset: u64) -> Interest {
        match self.open.len() {
            // A payload that is an object is its only item.
            0 if kind == ValueKind::Object => {
                self.is_object = true;
                self.open.push(TestedContainer::default());
                return self.enter_item(offset);
            }
            0 => return self.enter(SmallVec::new()),
            1 if kind != ValueKind::Object => return Interest::Skip,
            1 => return self.enter_item(offset),
            _ if self.undecided.is_none() => return Interest::SkipRest,
            _ => {}
        }
        let nodes = self.nodes(slot);
        let program = self.program.clone();
        let Some(ItemConditions { trie, .. }) = &program.items.conditions else {
            return Interest::Skip;
        };
        if nodes.is_empty() {
            return Interest::Skip;
        }
        let is_tested = nodes.iter().any(|node| !trie.ends(*node).is_empty());
        if !kind.is_container() {
            if is_tested {
                self.captured = Some((nodes, Vec::new()));
                return Interest::Copy;
            }
            return Interest::Skip;
        }
        if is_tested {
            self.test(&nodes, None, offset);
        }
        let goes_on = nodes.iter().any(|node| !trie.children(*node).is_empty());
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
        let Some((_, text)) = &mut self.stage.captured else { return };
        // A longer value makes the item too large.
        if (text.len() + bytes.len()) as u64 <= limit {
            text.extend_from_slice(bytes);
        }
    }

    fn copied(&mut self, offset: u64) -> Result<(), Raise> {
        let tests = &mut *self.stage;
        if let Some((nodes, text)) = tests.captured.take() {
            tests.test(&nodes, Some(&text), offset);
        }
        Ok(())
    }

    fn takes_long_keys(&self, limit: usize) -> bool {
        let conditions = self.stage.program.items.conditions.as_ref();
        is_too_long_for(limit, conditions.map_or(0, |conditions| conditions.trie.longest_name()))
    }
}
