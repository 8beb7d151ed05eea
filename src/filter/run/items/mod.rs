//! The stage for the rules on items: payload root, max_items, select, exclude, omit, drops (seed: kimbap; SPEC §5).
//!
//! Each open container that is inspected has a role, which defines what its members mean:
//!
//! ```text
//! OnPath ─▶ Items ─▶ Select ─▶ Select              emits the selected values of an item
//!    │        │        └────▶ Gather ─▶ …          emits the matches of a wildcard as one array
//!    │        └─────▶ Emit ─▶ Emit                 emits a value without its excluded and dropped parts
//!    └─▶ OnPath ─▶ …
//! Replay ─▶ Select | Gather | Emit                  reads a held value once for each output that needs it
//! ```
//!
//! Before the stage selects, it must be known whether there is a hit at all. [`first_hit`] finds that out. After that
//! only shared values are held.
//!
//! | file | question |
//! |---|---|
//! | `root.rs` | is this value on the path to the payload, is it the payload, or is it a sibling? |
//! | `mod.rs` | is this element an item, and does it count? |
//! | `select.rs` | which outputs does a value of an item have? |
//! | `project.rs` | which members of a value does a projection keep? |
//! | `emit.rs` | is a value written as a whole, in part, or not at all? |
//! | `policy.rs` | which members may the machine handle without asking? |
//! | `entered.rs` | how is an item entered and left, and does that need events? |
//! | `tester.rs` | what must be read before it is known whether `where` keeps this item? |
//! | `verdicts.rs` | does `where` keep it? |
//! | `member_tester.rs` | does `where` keep an item whose members are selected at the same time? |
//! | `sighting.rs` | do the items have a source? |
//! | `first_hit.rs` | does the select apply to this document? |
//!
//! **One document.** With `select: id, user, name=user.name` and `[{"id":1,"user":{"name":"Ada"}}]` the calls are:
//!
//! ```text
//! value([)     on the document: writes `[`, role Items         value(user)  held, because two outputs need it
//! value({)     an item: writes `{`, role Select                copied(})    read twice: `"user":{…}`, `"name":"Ada"`
//! value(id)    copied: `"id":1`                                close(}), close(])  write the brackets
//! ```

mod captured;
mod counts;
mod emit;
mod entered;
mod field_marks;
pub(super) mod first_hit;
mod handler;
mod kept;
mod label;
mod member_tester;
mod members;
mod policy;
mod project;
mod root;
mod seen_names;
mod select;
mod sighting;
mod tested;
mod tester;
mod verdicts;

use std::sync::Arc;

use smallvec::SmallVec;

use captured::{CapturedValue, ReplayMachines, ReplayTask};
use counts::ItemCounts;
use field_marks::FieldMarks;
use first_hit::HitSearch;
use seen_names::SeenNames;
use sighting::Sighting;
use tamis_json::error::{ErrorKind, Raise};
use tamis_json::limits::Limits;
use tamis_json::path::Path;
use tamis_json::path::trie::{Cursor, NodeId};
use tamis_json::policy::{Action, WantedNames};
use tamis_json::scan::Scanner;
use tamis_json::sink::Sink;
use tamis_json::writer::JsonWriter;
use tamis_json::{Interest, ValueKind, ValueSlot};
use tester::{AwaitedItem, ItemTester};

use super::output::omission::MarkNames;
use super::payload_length::{PayloadItems, PayloadLength};
use super::root::Payload;
use crate::filter::compile::items::ItemRules;
use crate::filter::compile::program::CompiledProgram;
use crate::filter::compile::select::SelectRules;
use crate::spec::DuplicateKeys;

/// The number of missed paths that are named in a message and corrected.
pub(super) const SHOWN: usize = 5;

/// The role of an open container: what its members mean.
#[derive(Clone, Debug)]
enum ContainerRole {
    /// On the path to the payload. `step`: number of the root path's token that its child takes; `members`: children
    /// seen so far; `met`: the child on the path was seen.
    OnPath { step: usize, members: u64, met: bool, object: bool },
    /// The payload, an array.
    Items,
    /// Inside an item, at a node of the select trie. `wanted`: children that were not seen yet, by [`ItemsState::met`].
    /// `item`: it is the item itself. `names`: its members' names are kept for suggestions.
    Select { node: NodeId, wanted: WantedNames, item: bool, names: bool },
    /// Inside a value on a wildcard's path. Children are compared with token number `token` of the source. `met`: a
    /// child of that name was seen. `outer`: the container of the first wildcard, whose end closes the output array.
    /// `each`: an array where an object was expected, so the token applies to each element.
    Gather { source: u32, token: usize, met: bool, outer: bool, each: bool },
    /// Inside an object that a projection keeps in part, at a node of the trie of projections and at `cursor` of the
    /// exclude trie. The rest is as for `Select`.
    Project { node: NodeId, wanted: WantedNames, names: bool, cursor: Cursor, wrapped: bool },
    /// Inside a container of a field with `[]`, of which `level` have begun. `index`: the elements written. `outer`:
    /// the container of the first level, whose end closes the output array.
    ProjectLevel { node: NodeId, level: usize, index: u64, cursor: Cursor, outer: bool },
    /// Inside an emitted value, at `cursor` of the exclude trie. `item`: an array in place of an item, whose elements
    /// are treated like items.
    /// `wrapped`: an object in place of an array, in brackets of its own.
    Emit { cursor: Cursor, object: bool, item: bool, wrapped: bool },
    /// The payload, an object whose members are counted. `cursor`: its place in the exclude trie.
    Members { cursor: Cursor },
    /// A held value is read again for this task.
    Replay(ReplayTask),
}

/// The location of the payload, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PayloadTarget {
    /// The document itself.
    Document,
    /// The document, an object with plain text in `raw`. No select applies.
    RawText,
    /// The member with this index in the document's object.
    Member(u64),
    /// The document, if it is an array, or else its first member that is an array.
    First,
    /// The value at this path, of whatever kind.
    At(Arc<Path>),
}

/// The stage. A clone of it is the probe for the first hit.
#[derive(Clone, Debug)]
pub(super) struct ItemsStage {
    program: Arc<CompiledProgram>,
    state: ItemsState,
}

/// The state of the stage in a document.
#[derive(Clone, Debug)]
struct ItemsState {
    /// Set for each document. After a miss of `DocumentOrArray` it becomes `Document`.
    target: PayloadTarget,
    /// The roles of the open containers that the machine inspects, outer ones first.
    roles: SmallVec<[ContainerRole; 8]>,
    writer: JsonWriter,
    /// Whether the select applies to this document.
    search: HitSearch,
    /// By source: what the items had of it.
    found: Vec<Sighting>,
    /// By node of the select trie: what the machine may do with a member of that name. The names that are only tested
    /// follow, whose members are dropped.
    actions: Vec<Action>,
    /// The number of nodes.
    nodes: usize,
    /// There was an object among the items.
    objects: bool,
    /// The names of members, if corrections are suggested. The probe shares them with the stage until it adds one.
    seen: Option<Arc<SeenNames>>,
    /// The payload has begun.
    payload_met: bool,
    /// The payload is a single object, so members of the envelope are kept.
    single: bool,
    /// By node of the select trie: the serial number of the container in which it was last seen.
    met: Vec<u64>,
    fields: FieldMarks,
    /// The number of containers entered, over all documents.
    serial: u64,
    /// The names that were not seen yet of an item that the machine handles without events.
    item_wanted: WantedNames,
    /// The value that is being held. While it is there, the bytes of the machine are not written.
    capture: Option<CapturedValue>,
    /// Bytes of the held values that are being read again.
    captured: u64,
    /// The offset of the end of a held value that is being read again.
    replaying: Option<u64>,
    /// Elements emitted for the current wildcard.
    gathered: u64,
    /// The payload's name. Later members of this name are duplicates.
    payload_name: Option<Vec<u8>>,
    /// A mark says how many members `max_items` left out of an object. `None`: none does. Otherwise the names that it may
    /// not have.
    member_marks: Option<MarkNames>,
    /// Only `factor` reads the payload. So duplicates of it are kept, and it may be absent.
    is_for_factor: bool,
    /// Buffer for a key with its quotes.
    scratch: Vec<u8>,
    counts: ItemCounts,
    /// Shares the length of the payload with the output stages.
    length: Option<PayloadLength>,
    limits: Limits,
    scanner: Scanner,
    /// Machines for held values, reused.
    replays: ReplayMachines,
    /// Decides which items `where` keeps. `None` without conditions.
    tester: Option<Box<ItemTester>>,
    /// The offset of the byte that decided the last tested item.
    tested_at: u64,
    /// The document is one of many, which `where` may drop.
    is_record: bool,
}

/// The context of one event.
struct Cx<'a> {
    rules: &'a ItemRules,
    sink: &'a mut dyn Sink,
    /// The byte in the document that decides the event.
    offset: u64,
}

impl ItemsStage {
    pub(super) fn new(
        program: &Arc<CompiledProgram>,
        payload: Option<Payload>,
        limits: &Limits,
        scanner: Scanner,
        length: Option<PayloadLength>,
    ) -> Self {
        let target = PayloadTarget::before(&program.items, payload);
        let select = program.items.select.as_ref();
        let (sources, nodes, fields) = select.map_or((0, 0, 0), |select| {
            (select.sources.len(), select.nodes.len(), select.projections.len())
        });
        let only_tested = program.items.member_tests.as_ref().map_or(0, |tests| tests.only_tested);
        let mut actions = vec![Action::Ask; nodes];
        actions.resize(nodes + only_tested as usize, Action::Skip);
        let state = ItemsState {
            target,
            roles: SmallVec::new(),
            writer: JsonWriter::default(),
            search: HitSearch::Open,
            found: vec![Sighting::None; sources],
            met: vec![0; actions.len()],
            actions,
            nodes,
            objects: false,
            seen: None,
            payload_met: false,
            single: false,
            fields: FieldMarks::new(fields),
            serial: 0,
            item_wanted: WantedNames::default(),
            capture: None,
            captured: 0,
            replaying: None,
            gathered: 0,
            payload_name: None,
            member_marks: None,
            is_for_factor: false,
            scratch: Vec::new(),
            counts: ItemCounts::default(),
            length,
            limits: limits.clone(),
            scanner,
            replays: ReplayMachines::default(),
            tester: ItemTester::new(program, limits, scanner),
            tested_at: 0,
            is_record: false,
        };
        Self { program: program.clone(), state }
    }

    /// Sets whether names are kept to suggest corrections.
    pub(super) fn suggest(mut self, yes: bool) -> Self {
        self.state.seen = (yes && self.program.items.select.is_some()).then(Arc::default);
        self
    }

    /// Starts a new document, reusing allocations.
    pub(super) fn restart(&mut self, payload: Option<Payload>) {
        self.state.target = PayloadTarget::before(&self.program.items, payload);
        self.state.reset();
    }

    /// Closes all open containers after the run was stopped. The bracket of an item needs no entry here: `stop_early`
    /// stops between items.
    pub(super) fn close_all(&mut self, sink: &mut dyn Sink) {
        while let Some(role) = self.state.roles.pop() {
            match role {
                ContainerRole::OnPath { object: true, .. } => {
                    _ = self.state.writer.close(sink, b'}')
                }
                ContainerRole::Members { .. } => {
                    self.state.mark_members(sink);
                    _ = self.state.writer.close(sink, b'}')
                }
                ContainerRole::OnPath { .. } => _ = self.state.writer.close(sink, b']'),
                ContainerRole::Items => {
                    self.state.publish_length();
                    self.state.writer.close(sink, b']');
                }
                _ => {}
            }
        }
        self.state.writer.flush(sink);
    }

    /// Returns the steps of the machines that read held values.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        self.state.replays.steps()
    }

    pub(super) fn counts(&self) -> &ItemCounts {
        &self.state.counts
    }

    /// Returns whether the document is plain text in a member `raw`, to which select does not apply.
    pub(super) fn is_raw_text(&self) -> bool {
        self.state.target == PayloadTarget::RawText
    }

    /// Returns why the payload passed unselected, if it did.
    pub(super) fn miss(&self) -> Option<String> {
        self.state.counts.error.clone()
    }
}

impl ItemsState {
    /// Resets the state to the start of a document. The target is kept.
    fn reset(&mut self) {
        self.roles.clear();
        self.writer.reset();
        self.search = HitSearch::Open;
        self.found.fill(Sighting::None);
        let nodes = self.nodes;
        self.actions.iter_mut().take(nodes).for_each(|action| *action = Action::Ask);
        self.fields.reset();
        self.objects = false;
        // Names of an earlier document are kept: those of the first one are enough.
        self.payload_met = false;
        self.single = false;
        // `met` is kept: serial numbers are never reused, and clearing it could cost more than reading a small
        // document.
        self.capture = None;
        self.captured = 0;
        self.replaying = None;
        self.gathered = 0;
        self.payload_name = None;
        self.member_marks = self.member_marks.map(|_| MarkNames::default());
        self.counts = ItemCounts::default();
        if let Some(tester) = &mut self.tester {
            tester.restart();
        }
        self.tested_at = 0;
    }

    /// Takes over the state of another run of the same program before its first item. Allocations are reused.
    fn copy_from(&mut self, from: &Self) {
        // Every field is named: a new one does not compile until it is considered here.
        let Self {
            target,
            roles,
            writer: _,
            search,
            found,
            actions,
            nodes: _,
            fields,
            objects,
            seen,
            payload_met,
            single,
            // These two belong together.
            met: _,
            serial: _,
            item_wanted: _,
            capture,
            captured,
            replaying,
            gathered,
            payload_name,
            member_marks,
            scratch: _,
            counts,
            length: _,
            limits: _,
            scanner: _,
            replays: _,
            tester: _,
            tested_at: _,
            is_record: _,
            is_for_factor: _,
        } = from;
        // The payload has not begun.
        if let Some(tester) = &mut self.tester {
            tester.restart();
        }
        self.tested_at = 0;
        self.target.clone_from(target);
        self.roles.clone_from(roles);
        self.writer.reset();
        self.search = *search;
        self.found.clone_from(found);
        self.actions.clone_from(actions);
        self.fields.copy_from(fields);
        self.seen.clone_from(seen);
        (self.objects, self.payload_met, self.single) = (*objects, *payload_met, *single);
        self.capture.clone_from(capture);
        (self.captured, self.replaying, self.gathered) = (*captured, *replaying, *gathered);
        self.payload_name.clone_from(payload_name);
        self.member_marks = *member_marks;
        self.counts.clone_from(counts);
    }

    /// Returns the interest in a value, by the role of its container.
    #[inline]
    fn value(
        &mut self,
        cx: &mut Cx<'_>,
        slot: ValueSlot<'_>,
        kind: ValueKind,
    ) -> Result<Interest, Raise> {
        match self.roles.last() {
            Some(ContainerRole::Select { .. }) => self.in_select(cx, slot, kind),
            Some(ContainerRole::Emit { .. }) => self.in_emit(cx, slot, kind),
            Some(ContainerRole::Items) => self.element(cx, slot, kind),
            Some(ContainerRole::Members { .. }) => self.in_members(cx, slot, kind),
            Some(ContainerRole::Gather { .. }) => self.in_gather(cx, slot, kind),
            Some(ContainerRole::Project { .. }) => self.in_project(cx, slot, kind),
            Some(ContainerRole::ProjectLevel { .. }) => self.in_level(cx, kind),
            Some(ContainerRole::OnPath { .. }) => self.on_the_way(cx, slot, kind),
            Some(ContainerRole::Replay(task)) => match *task {
                ReplayTask::Source { source, token } => self.source(cx, source, token, slot, kind),
                ReplayTask::Inside(node) => self.enter_inside(cx, node, kind),
                ReplayTask::Kept { source, token } => {
                    Ok(self.keep(cx, source, token, Some(slot), kind).unwrap_or(Interest::Skip))
                }
            },
            None => self.document(cx, slot, kind),
        }
    }

    /// Ends the innermost container, and writes its bracket if it was opened in the output.
    fn close(&mut self, cx: &mut Cx<'_>) -> Result<(), Raise> {
        let role = self.roles.pop();
        role.iter().for_each(|role| self.end_gather(cx.rules, role));
        let wrapped = matches!(
            role,
            Some(
                ContainerRole::Emit { wrapped: true, .. }
                    | ContainerRole::Project { wrapped: true, .. }
            )
        );
        let bracket = match role {
            Some(ContainerRole::OnPath { object, .. }) => {
                if self.roles.is_empty() && !self.payload_met {
                    self.no_payload(cx)?;
                }
                if object { b'}' } else { b']' }
            }
            // All items were seen, so a probe without a hit decides here.
            Some(ContainerRole::Items) => {
                self.considered(cx)?;
                self.publish_length();
                b']'
            }
            Some(ContainerRole::Members { .. }) => {
                self.mark_members(cx.sink);
                b'}'
            }
            Some(ContainerRole::Select { item: true, .. }) => {
                self.item_ends(cx)?;
                b'}'
            }
            // Nothing was written of an excluded object, but of the array that was opened for it.
            Some(ContainerRole::Project { cursor, wrapped, .. }) if cursor.is_hit() => {
                if wrapped {
                    self.writer.close(cx.sink, b']');
                }
                return Ok(());
            }
            Some(ContainerRole::Emit { object: true, .. } | ContainerRole::Project { .. }) => b'}',
            Some(
                ContainerRole::Gather { outer: true, .. }
                | ContainerRole::ProjectLevel { outer: true, .. }
                | ContainerRole::Emit { .. },
            ) => b']',
            Some(ContainerRole::ProjectLevel { index, .. }) => {
                self.end_level(index);
                return Ok(());
            }
            _ => return Ok(()),
        };
        self.writer.close(cx.sink, bracket);
        if wrapped {
            self.writer.close(cx.sink, b']');
        }
        Ok(())
    }

    /// Publishes the length of the payload at its end.
    fn publish_length(&self) {
        if let Some(length) = &self.length {
            let ItemCounts { seen, kept, stopped: more, .. } = self.counts;
            length.set(PayloadItems { seen: seen.unwrap_or(kept), kept, more });
        }
    }

    /// Handles a duplicate of a member of which only the first is used.
    fn duplicate(&mut self, cx: &Cx<'_>) -> Result<Interest, Raise> {
        if cx.rules.duplicates == DuplicateKeys::Reject {
            let message = "duplicate key (`duplicate_keys: reject`)";
            return Err(Raise::new(ErrorKind::Duplicate, message));
        }
        self.counts.duplicates += 1;
        Ok(Interest::Skip)
    }

    /// Handles an element of the payload.
    #[inline]
    fn element(
        &mut self,
        cx: &mut Cx<'_>,
        slot: ValueSlot<'_>,
        kind: ValueKind,
    ) -> Result<Interest, Raise> {
        let ValueSlot::Element(index) = slot else { return Ok(Interest::Skip) };
        // Items that `where` drops do not count.
        let index = index - self.counts.dropped;
        let is_end = cx.rules.stop_early && index == self.max_items(cx.rules);
        if kind == ValueKind::Object
            && !is_end
            && let Some(interest) = self.tested(cx, AwaitedItem::Element)?
        {
            return Ok(interest);
        }
        // The items after `max_items` are counted, but skipped.
        self.counts.seen = Some(index + 1);
        if index < self.max_items(cx.rules) {
            self.counts.kept += 1;
            return self.item(cx, slot, kind);
        }
        // Only the items that are kept count for the first hit.
        if index == self.max_items(cx.rules) {
            self.considered(cx)?;
            if self.has_decided() {
                return Ok(Interest::Stop);
            }
        }
        if cx.rules.stop_early {
            self.counts.stopped = true;
            return Ok(Interest::Stop);
        }
        Ok(Interest::Skip)
    }

    /// Returns the number of items that are kept, and that count for the first hit.
    fn max_items(&self, rules: &ItemRules) -> u64 {
        // After a total miss there is no limit.
        if self.has_missed() { u64::MAX } else { rules.max_items }
    }

    /// Returns which values the rules drop by their kind: null, and what is empty. After a total miss none are.
    #[inline]
    fn drops(&self, rules: &ItemRules) -> (bool, bool) {
        let applies = !self.has_missed();
        (rules.drop_nulls && applies, rules.drop_empty && applies)
    }

    /// Returns the selection, unless it does not apply to this document.
    fn selection<'a>(&self, rules: &'a ItemRules) -> Option<&'a SelectRules> {
        if self.has_missed() || self.target == PayloadTarget::RawText {
            return None;
        }
        rules.select.as_ref()
    }
}
