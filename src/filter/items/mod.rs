//! The stage for the rules on items: payload root, max_items, select, exclude, drops (seed: kimbap; SPEC §5).
//!
//! One role an inspected container says what its members mean:
//!
//! ```text
//! Way ─▶ Way ─▶ Items ─▶ Select ─▶ Select          emits the selected values of an item
//!                  │        └────▶ Gather ─▶ …      emits what a wildcard finds, as one array
//!                  └─────▶ Emit ─▶ Emit             emits a value without what is excluded or dropped
//! Replay ─▶ Select | Gather | Emit                  a held value that more than one output needs, once for each
//! ```
//!
//! Until the first selected value is found, output waits in the gate: a total miss throws it away and goes back to the
//! checkpoint that the machine made. After that nothing waits but shared values.

mod emit;
mod gate;
mod handler;
mod seen;
mod select;
mod way;

use std::sync::Arc;

use smallvec::SmallVec;

use gate::Gate;
use seen::Seen;

use super::length::{self, Length};
use super::program::{Compiled, ItemRules, RootRule, Selection};
use super::root::Payload;
use super::stage::{Engine, Stage};
use crate::error::{ErrorKind, Raise};
use crate::json::key::RawKey;
use crate::json::writer::JsonWriter;
use crate::json::{Halt, Interest, ValueKind, ValueSlot};
use crate::limits::Limits;
use crate::nearest::ComparisonBudget;
use crate::path::Path;
use crate::path::trie::{Cursor, NodeId};
use crate::scan::Scanner;
use crate::sink::Sink;
use crate::spec::DuplicateKeys;
use crate::test_work::{WorkKind, count, words};

/// Missed paths that a message names, and that a correction is looked for.
pub(super) const SHOWN: usize = 5;

/// What the members of an open container mean.
#[derive(Clone, Debug)]
enum Role {
    /// On the way to the payload: which step of the root path its child takes, and whether it was met.
    Way { step: usize, members: u64, met: bool, object: bool },
    /// The payload, an array.
    Items,
    /// Inside an item, at a node of the select trie; `left` children have not come.
    /// `names`: those of its members are kept.
    Select { node: NodeId, serial: u64, left: u32, item: bool, names: bool },
    /// Inside what a wildcard of a source reaches; children are matched with the source's token of this number.
    Gather { source: u32, token: usize, met: bool, outer: bool },
    /// Inside an emitted value; the cursor is in the exclude trie. `item`: it is an array in the place of an item, whose
    /// elements are excluded from like items.
    Emit { cursor: Cursor, object: bool, item: bool },
    /// A held value is read again.
    Replay(Task),
}

#[derive(Clone, Copy, Debug)]
enum Task {
    /// For a source that begins with the value, at this token of its path.
    Source { source: u32, token: usize },
    /// For the sources inside it.
    Inside(NodeId),
}

/// Where the payload is, once that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    Document,
    RawText,
    Member(u64),
    First,
    At(Path),
}

/// How the wait for the first hit ended, when the input must be read again from the checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// There was one.
    Hit,
    /// There was none: the payload passes unselected.
    Miss,
}

#[derive(Clone, Debug)]
pub(super) struct Items {
    program: Arc<Compiled>,
    state: State,
}

#[derive(Clone, Debug)]
struct State {
    target: Target,
    roles: SmallVec<[Role; 8]>,
    writer: JsonWriter,
    gate: Gate,
    /// Offset of the value from which on input is held.
    waiting: Option<u64>,
    /// How many bytes behind it may be.
    patience: u64,
    verdict: Option<Verdict>,
    snapshot: Option<Snapshot>,
    /// By source: found in some item.
    found: Vec<bool>,
    /// An object was among the items.
    objects: bool,
    /// Names of members, if they are wanted.
    seen: Option<Box<Seen>>,
    payload_met: bool,
    /// The payload is an object: what passes beside a selection does so from it.
    single: bool,
    /// By node of the select trie: the container in which it was met last.
    met: Vec<u64>,
    /// Containers of all documents so far.
    serial: u64,
    capture: Option<Capture>,
    /// Bytes of held values that are being read again.
    captured: u64,
    /// A held value is read again; its end was at this offset.
    replaying: Option<u64>,
    /// Elements that the open gathering has emitted.
    gathered: u64,
    /// The payload's name, against which later members are duplicates.
    payload_name: Option<Vec<u8>>,
    scratch: Vec<u8>,
    counts: Counts,
    /// Who else wants to know how long the payload is.
    length: Option<Length>,
    limits: Limits,
    scanner: Scanner,
    replays: Replays,
}

/// The state at the checkpoint.
#[derive(Clone, Debug)]
enum Snapshot {
    /// That of a run that begins.
    Beginning,
    State(Box<State>),
}

/// What the report wants to know.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) seen: Option<u64>,
    pub(super) kept: u64,
    pub(super) stopped: bool,
    pub(super) duplicates: u64,
    pub(super) root: Option<String>,
    pub(super) error: Option<String>,
    pub(super) captured_peak: u64,
}

/// A value that is held because more than one output needs it.
#[derive(Clone, Debug)]
struct Capture {
    node: NodeId,
    item: bool,
    bytes: Vec<u8>,
    over: bool,
}

/// Engines for held values, one for each that is inside another. Not part of what a checkpoint remembers.
#[derive(Debug, Default)]
struct Replays(Vec<Engine>);

impl Clone for Replays {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// What does not change while one event is handled.
struct Cx<'a> {
    rules: &'a ItemRules,
    sink: &'a mut dyn Sink,
    offset: u64,
}

impl Items {
    /// `patience`: bytes that may be read between the checkpoint and the first hit.
    pub(super) fn new(
        program: &Arc<Compiled>,
        payload: Option<Payload>,
        patience: u64,
        limits: &Limits,
        scanner: Scanner,
        length: Option<Length>,
    ) -> Self {
        let target = target(&program.items, payload);
        let select = program.items.select.as_ref();
        let (sources, nodes) =
            select.map_or((0, 0), |select| (select.sources.len(), select.nodes.len()));
        let state = State {
            target,
            roles: SmallVec::new(),
            writer: JsonWriter::default(),
            gate: Gate::default(),
            waiting: None,
            patience,
            verdict: None,
            snapshot: None,
            found: vec![false; sources],
            objects: false,
            seen: None,
            payload_met: false,
            single: false,
            met: vec![0; nodes],
            serial: 0,
            capture: None,
            captured: 0,
            replaying: None,
            gathered: 0,
            payload_name: None,
            scratch: Vec::new(),
            counts: Counts::default(),
            length,
            limits: limits.clone(),
            scanner,
            replays: Replays::default(),
        };
        Self { program: program.clone(), state }
    }

    /// Keeps names, for those that were probably meant.
    pub(super) fn suggest(mut self, yes: bool) -> Self {
        self.state.seen = (yes && self.program.items.select.is_some()).then(Box::default);
        self
    }

    /// Begins a new document; what was allocated is used again.
    pub(super) fn restart(&mut self, payload: Option<Payload>, patience: u64) {
        self.state.target = target(&self.program.items, payload);
        self.state.patience = patience;
        self.state.verdict = None;
        self.state.reset();
    }

    /// Input must be held from this offset on.
    pub(super) fn waiting(&self) -> Option<u64> {
        self.state.waiting
    }

    /// Goes back to the checkpoint, now knowing how the wait ended.
    pub(super) fn rewind(&mut self) {
        let verdict = self.state.verdict;
        let error = self.state.counts.error.take();
        let replays = std::mem::take(&mut self.state.replays);
        let seen = self.state.seen.take();
        match self.state.snapshot.take() {
            None => {}
            Some(Snapshot::Beginning) => self.state.reset(),
            Some(Snapshot::State(state)) => self.state = *state,
        }
        self.state.verdict = verdict;
        self.state.counts.error = error;
        self.state.replays = replays;
        self.state.seen = seen;
    }

    /// Whether the array in the place of the document missed as well, so that the document is the payload after all.
    pub(super) fn gave_up_array(&self) -> bool {
        self.program.items.root == RootRule::DocumentOrArray
            && self.state.verdict == Some(Verdict::Miss)
    }

    /// Closes what is open, after the run was stopped.
    pub(super) fn close_all(&mut self, sink: &mut dyn Sink) {
        while let Some(role) = self.state.roles.pop() {
            match role {
                Role::Way { object: true, .. } => _ = self.state.writer.close(sink, b'}'),
                Role::Way { .. } => _ = self.state.writer.close(sink, b']'),
                Role::Items => {
                    self.state.tell_length();
                    self.state.writer.close(sink, b']');
                }
                _ => {}
            }
        }
        self.state.writer.flush(sink);
    }

    /// Steps of the machines that read held values again.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        self.state.replays.0.iter().map(Engine::steps).sum()
    }

    pub(super) fn counts(&self) -> &Counts {
        &self.state.counts
    }

    /// Whether the document turned out to be plain text in a member `raw`, so that select does not apply.
    pub(super) fn is_raw_text(&self) -> bool {
        self.state.target == Target::RawText
    }

    /// Bytes that may be read between the checkpoint and the first hit.
    pub(super) fn set_patience(&mut self, bytes: u64) {
        self.state.patience = bytes;
    }

    /// Why the payload passed unselected, if it did.
    pub(super) fn miss(&self) -> Option<String> {
        self.state.counts.error.clone()
    }

    /// Whether it is known which selected paths the items have, some of them at least.
    pub(super) fn is_judged(&self) -> bool {
        self.program.items.select.is_some()
            && self.state.objects
            && self.state.counts.error.is_none()
    }

    /// The path that was probably meant by a selected one that was not found.
    pub(super) fn meant(&self, path: &str, pairs: &mut ComparisonBudget) -> Option<String> {
        let (select, seen) = (self.program.items.select.as_ref()?, self.state.seen.as_ref()?);
        let mut sources = select.sources.iter().inspect(|_| count(WorkKind::Names, 1));
        seen.meant(select, sources.find(|source| source.text == path)?, pairs)
    }

    /// Selected paths that no item had.
    pub(super) fn partial_miss(&self) -> Vec<String> {
        let Some(select) = &self.program.items.select else { return Vec::new() };
        if !self.is_judged() {
            return Vec::new();
        }
        let sources = select.sources.iter().zip(&self.state.found);
        let missed = sources.filter(|(source, found)| !**found && !source.passing);
        missed.map(|(source, _)| source.text.clone()).collect()
    }
}

impl Stage for Items {
    fn flush(&mut self, sink: &mut dyn Sink) {
        let (writer, sink) = self.state.out(sink);
        writer.flush(sink);
    }
}

impl Capture {
    fn push(&mut self, bytes: &[u8], limit: u64) {
        if self.over || (self.bytes.len() + bytes.len()) as u64 > limit {
            self.over = true;
            self.bytes = Vec::new();
        } else {
            count(WorkKind::Hold, words(bytes.len()));
            self.bytes.extend_from_slice(bytes);
        }
    }
}

/// Where the payload is, as far as it is known before the document begins.
fn target(rules: &ItemRules, payload: Option<Payload>) -> Target {
    match (payload, &rules.root) {
        (Some(Payload::Member(number)), _) => Target::Member(number),
        (Some(Payload::RawText), _) => Target::RawText,
        (None, RootRule::First) => Target::First,
        (None, RootRule::At(path)) => Target::At(path.clone()),
        _ => Target::Document,
    }
}

impl State {
    /// As it was before the document began. What is known of the document from elsewhere stays.
    fn reset(&mut self) {
        self.roles.clear();
        self.writer.reset();
        self.gate = Gate::default();
        self.waiting = None;
        self.snapshot = None;
        self.found.fill(false);
        self.objects = false;
        // Names that were seen stay: those of the first document's are enough.
        self.payload_met = false;
        self.single = false;
        // `met` stays: no container has the number of an earlier one, and a program may have more nodes than a document bytes.
        self.capture = None;
        self.captured = 0;
        self.replaying = None;
        self.gathered = 0;
        self.payload_name = None;
        self.counts = Counts::default();
    }

    /// Where output goes now.
    #[inline]
    fn out<'a>(&'a mut self, sink: &'a mut dyn Sink) -> (&'a mut JsonWriter, &'a mut dyn Sink) {
        let sink: &mut dyn Sink = if self.gate.shut { &mut self.gate } else { sink };
        (&mut self.writer, sink)
    }

    #[inline]
    fn value(
        &mut self,
        cx: &mut Cx<'_>,
        slot: ValueSlot<'_>,
        kind: ValueKind,
    ) -> Result<Interest, Halt> {
        match self.roles.last() {
            Some(Role::Select { .. }) => self.in_select(cx, slot, kind),
            Some(Role::Emit { .. }) => self.in_emit(cx, slot, kind),
            Some(Role::Items) => self.element(cx, slot, kind),
            Some(Role::Gather { .. }) => self.in_gather(cx, slot, kind),
            Some(Role::Way { .. }) => self.on_the_way(cx, slot, kind),
            Some(Role::Replay(task)) => match *task {
                Task::Source { source, token } => self.source(cx, source, token, slot, kind),
                Task::Inside(node) => self.inside(cx, node, kind),
            },
            None => self.document(cx, slot, kind),
        }
    }

    fn close(&mut self, cx: &mut Cx<'_>) -> Result<(), Halt> {
        let role = self.roles.pop();
        let bracket = match role {
            Some(Role::Way { object, .. }) => {
                if self.roles.is_empty() && !self.payload_met {
                    self.no_payload(cx)?;
                }
                if object { b'}' } else { b']' }
            }
            Some(Role::Items) => {
                self.considered(cx)?;
                self.tell_length();
                b']'
            }
            Some(Role::Select { item: true, .. }) => {
                self.item_ends(cx)?;
                b'}'
            }
            Some(Role::Emit { object: true, .. }) => b'}',
            Some(Role::Gather { outer: true, .. } | Role::Emit { .. }) => b']',
            _ => return Ok(()),
        };
        let (writer, sink) = self.out(cx.sink);
        writer.close(sink, bracket);
        Ok(())
    }

    /// The payload ends: its length is known.
    fn tell_length(&self) {
        if let Some(length) = &self.length {
            let Counts { seen, kept, stopped: more, .. } = self.counts;
            length.set(length::Items { seen: seen.unwrap_or(kept), kept, more });
        }
    }

    /// A member whose name came before, and which is not wanted twice.
    fn duplicate(&mut self, cx: &Cx<'_>) -> Result<Interest, Halt> {
        if cx.rules.duplicates == DuplicateKeys::Reject {
            let message = "this key comes twice, which `duplicate_keys: reject` refuses";
            return Err(Raise::new(ErrorKind::Duplicate, message).into());
        }
        self.counts.duplicates += 1;
        Ok(Interest::Skip)
    }

    /// An element of the payload.
    #[inline]
    fn element(
        &mut self,
        cx: &mut Cx<'_>,
        slot: ValueSlot<'_>,
        kind: ValueKind,
    ) -> Result<Interest, Halt> {
        let ValueSlot::Element(index) = slot else { return Ok(Interest::Skip) };
        self.counts.seen = Some(index + 1);
        if index < self.max_items(cx.rules) {
            self.counts.kept += 1;
            return self.item(cx, slot, kind);
        }
        if index == self.max_items(cx.rules) {
            self.considered(cx)?;
        }
        if cx.rules.stop_early {
            self.counts.stopped = true;
            return Ok(Interest::Stop);
        }
        Ok(Interest::Skip)
    }

    fn max_items(&self, rules: &ItemRules) -> u64 {
        // After a total miss everything passes at full length.
        if self.verdict == Some(Verdict::Miss) { u64::MAX } else { rules.max_items }
    }

    /// The selection, unless it does not apply to this document.
    fn selection<'a>(&self, rules: &'a ItemRules) -> Option<&'a Selection> {
        if self.verdict == Some(Verdict::Miss) || self.target == Target::RawText {
            return None;
        }
        rules.select.as_ref()
    }

    /// An item: an element of the payload, or the payload if it is an object.
    #[inline]
    fn item(
        &mut self,
        cx: &mut Cx<'_>,
        slot: ValueSlot<'_>,
        kind: ValueKind,
    ) -> Result<Interest, Halt> {
        let selection = match self.selection(cx.rules) {
            Some(selection) if kind == ValueKind::Object => selection,
            Some(_) if cx.rules.closed => {
                let message =
                    "this element is not an object, so that nothing can be selected from it";
                return Err(self.closed_miss(cx, message.to_owned()));
            }
            // Of an array each element is treated like an item.
            _ => {
                let start = cx.rules.exclude.start();
                return Ok(self.unselected(cx, slot, kind, start));
            }
        };
        self.objects = true;
        self.open(cx, slot, kind);
        if selection.node(0).shared {
            self.capture(0, true);
            return Ok(Interest::Copy);
        }
        self.enter_select(selection, 0, true, true);
        Ok(Interest::Inspect)
    }

    /// An item that was selected from has ended.
    fn item_ends(&mut self, cx: &mut Cx<'_>) -> Result<(), Halt> {
        if !matches!(self.roles.last(), Some(Role::Items)) {
            self.considered(cx)?;
        }
        Ok(())
    }
}

/// What stands in front of a value that is emitted.
#[derive(Clone, Copy)]
enum Label<'a> {
    /// Nothing: an element, or the document.
    None,
    /// The member's key as the input spells it.
    Spelled(RawKey<'a>),
    /// A key of the spec, as JSON.
    Given(&'a [u8]),
}

impl<'a> From<ValueSlot<'a>> for Label<'a> {
    fn from(slot: ValueSlot<'a>) -> Self {
        match slot {
            ValueSlot::Member(key) => Self::Spelled(key),
            ValueSlot::Top | ValueSlot::Element(_) => Self::None,
        }
    }
}
