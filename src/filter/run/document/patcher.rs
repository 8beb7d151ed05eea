//! The stage on a document that is patched while it streams: applies the [`StreamingEdits`] to the values that
//! `retain` keeps.
//!
//! The edits are a tree of the paths of all operations. Each value of the document has at most one node in it, and the
//! node says what happens to the value ([`ValueEdit`]) and which values must exist for the operations to succeed.
//!
//! | kept by `retain`? | node keeps it | node removes it | node sets it |
//! |---|---|---|---|
//! | as a whole | copied; inspected if an operation is below it | not written | rewritten once |
//! | partly | opened deferred | not written | rewritten once, when it is entered |
//! | no | dropped | dropped | dropped |
//!
//! A container that is not kept as a whole exists in the output only if something in it is kept. It is *entered* at
//! the first kept value, and only then counts for the edits. Nothing is written inside a value that is removed or
//! rewritten (it is *silent*). It is only read for the values that an operation requires.
//!
//! Output is held in [`HeldOutput`] until all required values were found. If some are missing at the end, the first
//! operation that requires one fails.
//!
//! Example with `replace /a/b` by `9` and `add /a/c` with `true`. They require a value at `/a/b` and an object at `/a`:
//!
//! ```text
//! input        node      missing  written
//! {            the root        2  {
//! "a":{        /a              1  "a":{
//! "b":1        /a/b            0  "b":9          certain: the held output is released
//! "d":2        none            0  ,"d":2
//! }            /a              0  ,"c":true}     `c` did not occur, so it is added at the end
//! }            the root        0  }
//! ```

use std::sync::Arc;

use smallvec::SmallVec;
use tamis_json::error::{ErrorKind, Raise};
use tamis_json::key::is_too_long_for;
use tamis_json::path::trie::{Cursor, NodeId};
use tamis_json::policy::{Action, Output, Policy};
use tamis_json::sink::Sink;
use tamis_json::tree::patch::{NO_INDEX, NO_PARENT, nothing_at};
use tamis_json::writer::JsonWriter;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};

use super::held_output::HeldOutput;
use super::scope::{DocumentScope, Retention};
use crate::filter::compile::edits::{NodeEdit, StreamingEdits, ValueEdit};
use crate::filter::compile::patches::Patches;
use crate::filter::compile::program::CompiledProgram;
use crate::filter::run::lookahead::Probe;
use crate::filter::run::stage::{StageHandler, StageState};

/// The handler that applies edits to a stream. Also the probe that finds out whether they can be applied.
#[derive(Debug)]
pub(super) struct StreamPatcher {
    /// Decides about `extract` and `retain`, before any edit.
    scope: DocumentScope,
    /// The compiled operations. They have edits: a sequence that needs a tree is not patched here.
    patches: Arc<Patches>,
    /// The progress at each node, indexed by node of the edits.
    met: Vec<NodeProgress>,
    /// The number of checks that are still open. A check is a value that an operation requires; it only decreases.
    missing: usize,
    /// The offset of the value that satisfied the last check. `None` while checks are open, or without checks.
    certain_at: Option<u64>,
    /// The open containers that are inspected, outermost first. Copied and skipped ones are not among them.
    open: SmallVec<[PatchedContainer; 16]>,
    /// The number of open containers that were entered. The entered ones are the outer ones.
    entered: usize,
    /// Writes to `output.through(sink)`, never to the sink directly.
    writer: JsonWriter,
    pub(super) output: HeldOutput,
}

/// The values seen so far at a node.
#[derive(Clone, Copy, Debug, Default)]
struct NodeProgress {
    /// A value was seen at any place of this path, also in a duplicate of a container around it.
    there: bool,
    /// The kind of the first value at the first place: each container on its path is the first of its name as well.
    /// `add` creates a member only in that place.
    first: Option<ValueShape>,
    /// The new value was written in place of one of the document.
    written: bool,
}

/// The kind of a value, as far as an operation can depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueShape {
    Object,
    Array,
    Scalar,
}

/// An open container that is inspected.
#[derive(Debug)]
struct PatchedContainer {
    /// The position in the pointers of `retain`. `None`: the container is kept as a whole.
    cursor: Option<Cursor>,
    /// Its node in the edits, if the path of an operation ends here or leads through it.
    node: Option<NodeId>,
    /// An object. Otherwise an array.
    object: bool,
    /// The number of kept elements so far, which is the index of the next one.
    kept: u64,
    /// It is the first value at its place, and so are the containers around it.
    first: bool,
    /// Nothing in it is written.
    silent: bool,
    /// Its key as spelled, if it is rewritten once it is entered.
    key: Vec<u8>,
}

impl ValueShape {
    fn of(kind: ValueKind) -> Self {
        match kind {
            ValueKind::Object => Self::Object,
            ValueKind::Array => Self::Array,
            _ => Self::Scalar,
        }
    }
}

impl StreamPatcher {
    /// Creates the handler for the first document. `output`: holds the output until no operation can fail.
    pub(super) fn new(
        program: &Arc<CompiledProgram>,
        patches: &Arc<Patches>,
        output: HeldOutput,
    ) -> Self {
        // `restart` sets the fields that depend on the edits.
        let mut edited = Self {
            scope: DocumentScope::new(program, true),
            patches: patches.clone(),
            met: Vec::new(),
            missing: 0,
            certain_at: None,
            open: SmallVec::new(),
            entered: 0,
            writer: JsonWriter::default(),
            output,
        };
        edited.restart();
        edited
    }

    /// Begins a new document. The owner restarts `output`, because it decides what is held.
    pub(super) fn restart(&mut self) {
        self.scope.restart();
        self.open.clear();
        self.entered = 0;
        self.writer.reset();
        self.met.clear();
        let (nodes, checks) =
            self.patches.edits().map_or((0, 0), |edits| (edits.nodes.len(), edits.checks));
        self.met.resize(nodes, NodeProgress::default());
        self.missing = checks;
        self.certain_at = None;
    }

    /// Returns the operation that fails because the complete document lacks a value, and the error.
    ///
    /// Several required values may be missing. The operation that comes first in the sequence is reported, as if the
    /// operations had run one by one. Visits all nodes.
    pub(super) fn failure(&self) -> Option<(usize, Raise)> {
        let edits = self.patches.edits().filter(|_| self.missing > 0)?;
        let failing = edits.nodes.iter().zip(&self.met).filter_map(|(effect, met)| {
            // Each node may have two checks: a value at any place, and an object at the first one.
            let needed = effect.needed.filter(|_| !met.there);
            let object = effect.object.filter(|_| met.first != Some(ValueShape::Object));
            let first = [needed, object].into_iter().flatten().min()?;
            Some((first, effect, met))
        });
        let (operation, effect, met) = failing.min_by_key(|(operation, ..)| *operation)?;
        // A value of another kind, or no value.
        let raise = match met.first {
            Some(ValueShape::Array) => Raise::new(ErrorKind::Patch, NO_INDEX),
            Some(_) => Raise::new(ErrorKind::Patch, NO_PARENT),
            None => nothing_at(edits.path(effect), self.depth_of(edits, effect)),
        };
        Some((operation, raise))
    }

    /// Returns how many steps of the path to an edit exist in the document, so that the error can name the step that
    /// does not.
    fn depth_of(&self, edits: &StreamingEdits, effect: &NodeEdit) -> usize {
        let mut node = 0;
        edits
            .path(effect)
            .iter()
            .take_while(|token| {
                let child = match token {
                    tamis_json::path::PathToken::Name(name) => {
                        edits.trie.member(node, name.as_bytes())
                    }
                    tamis_json::path::PathToken::Any => None,
                };
                node = child.unwrap_or_default();
                child
                    .and_then(|node| self.met.get(node as usize))
                    .is_some_and(|met| met.first.is_some())
            })
            .count()
    }

    /// Returns the number of operations with an effect, and of removals without one. Only valid for a complete document
    /// on which no operation failed.
    pub(super) fn applied(&self) -> (u64, u64) {
        let Some(edits) = self.patches.edits() else { return (0, 0) };
        // A node is lenient if a removal without a value is allowed there.
        let missed = edits.nodes.iter().zip(&self.met);
        let missed = missed.filter(|(effect, met)| effect.lenient && !met.there).count() as u64;
        let idle = edits.idle + missed;
        (edits.operations - idle, idle)
    }
}

/// Decides that no operation can fail. At the end of a document without a decision one has failed.
impl Probe for StreamPatcher {
    type Decision = ();

    // Set by `meet` for the last required value.
    fn decided(&self) -> Option<((), u64)> {
        self.certain_at.map(|at| ((), at))
    }
}

impl StageState for StreamPatcher {
    const OWN_MACHINE: bool = true;

    fn flush(&mut self, sink: &mut dyn Sink) {
        self.writer.flush(self.output.through(sink));
    }
}

/// A value and its position.
#[derive(Clone, Copy)]
struct ValueContext {
    /// Its node in the edits, if there is one.
    node: Option<NodeId>,
    /// Its kind, and the offset of the byte that decides it.
    kind: ValueKind,
    offset: u64,
    /// The container around it is not written.
    silent: bool,
}

impl StageHandler<'_, StreamPatcher> {
    /// Records a value at a node. Returns whether it is the first value at the first place.
    ///
    /// Called once for each kept value and each entered container with a node. `in_first`: the container around it is
    /// itself the first at the first place. Releases the held output if this was the last required value.
    fn meet(&mut self, node: NodeId, is: ValueShape, in_first: bool, offset: u64) -> bool {
        let edited = &mut *self.stage;
        let Some(met) = edited.met.get_mut(node as usize) else { return false };
        let first = in_first && met.first.is_none();
        let was_there = std::mem::replace(&mut met.there, true);
        if first {
            met.first = Some(is);
        }
        let Some(effect) = edited.patches.edits().and_then(|edits| edits.nodes.get(node as usize))
        else {
            return first;
        };
        let before = edited.missing;
        // Duplicates satisfy a check only once.
        edited.missing -= usize::from(!was_there && effect.needed.is_some());
        edited.missing -= usize::from(effect.object.is_some() && first && is == ValueShape::Object);
        if before > 0 && edited.missing == 0 {
            edited.certain_at = Some(offset);
            // Flush first, so that the held output does not depend on where the input was cut.
            edited.writer.flush(edited.output.through(self.sink));
            edited.output.open(self.sink);
        }
        first
    }

    /// Enters the open containers up to the innermost one, because something in it is kept. Their deferred openings are
    /// written, outer ones first. Each container is entered once, so the cost is constant per container.
    fn enter(&mut self, offset: u64) {
        while let Some(open) = self.stage.open.get(self.stage.entered) {
            let (node, object) = (open.node, open.object);
            let outer = self.stage.entered.checked_sub(1).and_then(|at| self.stage.open.get(at));
            // The document itself is the first at its place.
            let (in_first, silent) =
                outer.map_or((true, false), |outer| (outer.first, outer.silent));
            let is = if object { ValueShape::Object } else { ValueShape::Array };
            let first = match node {
                Some(node) => self.meet(node, is, in_first, offset),
                None => in_first,
            };
            // A container that is set has kept its key for now. It is written with the new value.
            let mut key = Vec::new();
            let (is_member, at) =
                (outer_is_object(&self.stage.open, self.stage.entered), self.stage.entered);
            self.count(at);
            if let Some(open) = self.stage.open.get_mut(at) {
                open.first = first;
                std::mem::swap(&mut key, &mut open.key);
            }
            self.stage.entered += 1;
            if let (Some(node), false) = (node, silent) {
                self.rewrite(node, first, is_member.then_some(&key));
            }
        }
        let StreamPatcher { writer, output, .. } = &mut *self.stage;
        writer.commit(output.through(self.sink));
    }

    /// Counts a kept value in the container at `depth`, the number of containers around the value. The count gives
    /// elements their index in the retained array, to which the paths of operations refer.
    fn count(&mut self, depth: usize) {
        if let Some(outer) = depth.checked_sub(1).and_then(|at| self.stage.open.get_mut(at)) {
            outer.kept += 1;
        }
    }

    /// Writes the new value of a node in place of one of the document, unless it was written before. Does nothing if
    /// the node keeps or removes its value.
    ///
    /// An `add` rewrites only the `first` value at the first place. A `replace` rewrites the value that comes first,
    /// wherever it is. `key`: the key as spelled, or `None` outside objects.
    fn rewrite(&mut self, node: NodeId, first: bool, key: Option<&[u8]>) {
        let StreamPatcher { patches, met, writer, output, .. } = &mut *self.stage;
        let Some(effect) = patches.edits().and_then(|edits| edits.nodes.get(node as usize)) else {
            return;
        };
        let Some(met) = met.get_mut(node as usize) else { return };
        let due = if effect.new.is_some() { first } else { !met.written };
        let (ValueEdit::Set(value), true) = (&effect.fate, due) else { return };
        met.written = true;
        let sink = output.through(self.sink);
        if let Some(key) = key {
            writer.spelled(sink, key);
        }
        writer.begin(sink);
        writer.raw(sink, value);
    }

    /// Opens a container that may contain kept values. Nothing of it counts or is written until it is entered.
    ///
    /// Always returns [`Interest::Inspect`].
    fn way(&mut self, slot: ValueSlot<'_>, at: ValueContext, cursor: Cursor) -> Interest {
        let StreamPatcher { patches, open, writer, output, .. } = &mut *self.stage;
        let object = at.kind == ValueKind::Object;
        let fate =
            patches.edits().zip(at.node).and_then(|(edits, node)| edits.nodes.get(node as usize));
        let fate = fate.map_or(&ValueEdit::Keep, |effect| &effect.fate);
        let silent = at.silent || !matches!(fate, ValueEdit::Keep);
        let mut key = Vec::new();
        let bracket = if object { b'{' } else { b'[' };
        // A rewritten container is not opened. Its key waits, because the new value is written only if it is entered.
        match slot {
            ValueSlot::Member(spelled) if matches!(fate, ValueEdit::Set(_)) => {
                key.extend_from_slice(spelled.raw());
            }
            _ if silent => {}
            ValueSlot::Top => writer.open(output.through(self.sink), bracket),
            ValueSlot::Member(spelled) => writer.open_deferred_spelled(spelled.raw(), bracket),
            ValueSlot::Element(_) => writer.open_deferred(None, bracket),
        }
        open.push(PatchedContainer {
            cursor: Some(cursor),
            node: at.node,
            object,
            kept: 0,
            first: false,
            silent,
            key,
        });
        if let ValueSlot::Top = slot {
            // The document itself always exists.
            self.enter(at.offset);
        }
        Interest::Inspect
    }

    /// Handles a value that is kept: enters the containers around it, applies the edit of its node, and returns what
    /// the machine does with it.
    fn kept(&mut self, slot: ValueSlot<'_>, at: ValueContext) -> Interest {
        if self.stage.entered < self.stage.open.len() {
            self.enter(at.offset);
        }
        self.count(self.stage.open.len());
        let copy = match slot {
            ValueSlot::Member(_) => Interest::CopyMember,
            _ => Interest::Copy,
        };
        // No operation concerns the value or anything in it.
        let Some(node) = at.node else {
            if at.silent {
                return Interest::Skip;
            }
            let StreamPatcher { writer, output, .. } = &mut *self.stage;
            writer.begin(output.through(self.sink));
            return copy;
        };
        let in_first = self.stage.open.last().is_none_or(|open| open.first);
        let first = self.meet(node, ValueShape::of(at.kind), in_first, at.offset);
        let key = match slot {
            ValueSlot::Member(key) => Some(key.raw()),
            _ => None,
        };
        if !at.silent {
            self.rewrite(node, first, key);
        }
        let StreamPatcher { patches, open, entered, writer, output, .. } = &mut *self.stage;
        let Some(edits) = patches.edits() else { return copy };
        let Some(effect) = edits.nodes.get(node as usize) else { return copy };
        let silent = at.silent || !matches!(effect.fate, ValueEdit::Keep);
        // The value is inspected only for operations below it: edits, or in a silent value checks.
        let goes_on = at.kind.is_container() && !edits.trie.children(node).is_empty();
        if silent && !(goes_on && effect.checks_below) {
            return Interest::Skip;
        }
        let object = at.kind == ValueKind::Object;
        if !silent {
            let sink = output.through(self.sink);
            if !goes_on {
                writer.begin(sink);
                return copy;
            }
            if let Some(key) = key {
                writer.spelled(sink, key);
            }
            writer.open(sink, if object { b'{' } else { b'[' });
        }
        let key = Vec::new();
        open.push(PatchedContainer {
            cursor: None,
            node: at.node,
            object,
            kept: 0,
            first,
            silent,
            key,
        });
        // A container that is kept as a whole is entered at once.
        *entered = open.len();
        Interest::Inspect
    }

    /// Writes the new members of an object after its own, in the order in which the operations add them.
    ///
    /// Called at the end of the first object at the first place of `node`. A member that the document already has was
    /// rewritten instead, except after a `remove`.
    fn add_new(&mut self, node: NodeId) {
        let StreamPatcher { patches, met, writer, output, .. } = &mut *self.stage;
        let Some(edits) = patches.edits() else { return };
        let news = edits.nodes.get(node as usize).map_or(&[][..], |effect| &effect.news);
        for child in news {
            let child = *child as usize;
            let Some(new) = edits.nodes.get(child).and_then(|effect| effect.new.as_ref()) else {
                continue;
            };
            if !new.always && met.get(child).is_some_and(|met| met.first.is_some()) {
                continue;
            }
            let sink = output.through(self.sink);
            writer.key(sink, &new.key);
            writer.begin(sink);
            writer.raw(sink, &new.value);
        }
    }
}

/// Returns whether the open container at `at` is a member.
fn outer_is_object(open: &[PatchedContainer], at: usize) -> bool {
    at.checked_sub(1).and_then(|outer| open.get(outer)).is_some_and(|outer| outer.object)
}

impl Handler for StageHandler<'_, StreamPatcher> {
    #[inline]
    fn value(
        &mut self,
        mut slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Raise> {
        let StreamPatcher { scope, patches, open, .. } = &mut *self.stage;
        // Inside a container that is kept as a whole, `retain` has nothing left to decide.
        let top = open.last();
        let verdict = match top {
            Some(PatchedContainer { cursor: None, .. }) => Retention::Kept,
            _ => scope.judge(&mut slot, kind, top.and_then(|top| top.cursor.as_ref()))?,
        };
        let trie = patches.edits().map(|edits| &edits.trie);
        let outer = top.and_then(|top| trie.zip(top.node));
        // The node follows from the node of the container. Elements count as `retain` leaves them.
        let node = match (slot, outer) {
            (ValueSlot::Top, _) => Some(0),
            (ValueSlot::Member(key), Some((trie, outer))) => {
                key.with_name(|name| trie.member(outer, name?))
            }
            (ValueSlot::Element(_), Some((trie, outer))) => {
                trie.element(outer, top.map_or(0, |top| top.kept))
            }
            _ => None,
        };
        let silent = top.is_some_and(|top| top.silent);
        let mut at = ValueContext { node, kind, offset, silent };
        let interest = match verdict {
            Retention::Outside(interest) => return Ok(interest),
            Retention::Partly(cursor) => return Ok(self.way(slot, at, cursor)),
            Retention::Kept => self.kept(slot, at),
            Retention::Removed => {
                if let ValueSlot::Top = slot {
                    // A scalar document of which nothing is kept must still produce valid JSON.
                    at.kind = ValueKind::Null;
                    if self.kept(slot, at) == Interest::Copy {
                        let StreamPatcher { writer, output, .. } = &mut *self.stage;
                        writer.raw(output.through(self.sink), b"null");
                    }
                }
                Interest::Skip
            }
        };
        if let (ValueSlot::Top, Interest::Skip) = (slot, interest) {
            // There is no event at its end.
            self.stage.scope.leave();
        }
        Ok(interest)
    }

    #[inline]
    fn policy(&mut self) -> Policy<'_> {
        let StreamPatcher { scope, patches, open, writer, output, .. } = &mut *self.stage;
        let Some(top) = open.last().filter(|_| scope.is_inside()) else {
            return Policy::ASK;
        };
        // Names with a node or a pointer need the handler. All others have one outcome, which the machine can apply.
        let edited = || patches.edits()?.trie.names(top.node?);
        let (names, others) = match &top.cursor {
            Some(cursor) => (scope.retain().and_then(|trie| cursor.names(trie)), Action::Skip),
            // Everything in it is removed, but some operations require values there.
            None if top.silent => (edited(), Action::Skip),
            None => (edited(), Action::Keep),
        };
        let Some(names) = names else { return Policy::ASK };
        let output = Some(Output { writer, sink: output.through(self.sink) });
        Policy { output, ..Policy::ask_named(names, others) }
    }

    fn close(&mut self, _: u64) -> Result<(), Raise> {
        if !self.stage.scope.close()? {
            return Ok(());
        }
        // A container that was never entered has no kept value. Its deferred opening is dropped by `close`.
        let is_there = self.stage.entered == self.stage.open.len();
        if let Some(top) = self.stage.open.last() {
            let (node, object, silent) = (top.node, top.object, top.silent);
            if let (Some(node), true, true, false) = (node, object && top.first, is_there, silent) {
                self.add_new(node);
            }
            let StreamPatcher { writer, output, .. } = &mut *self.stage;
            if !silent {
                writer.close(output.through(self.sink), if object { b'}' } else { b']' });
            }
        }
        let StreamPatcher { open, entered, scope, .. } = &mut *self.stage;
        open.pop();
        *entered = open.len().min(*entered);
        if open.is_empty() {
            scope.leave();
        }
        Ok(())
    }

    #[inline]
    fn raw(&mut self, bytes: &[u8]) {
        let StreamPatcher { writer, output, .. } = &mut *self.stage;
        writer.raw(output.through(self.sink), bytes);
    }

    fn copied(&mut self, _: u64) -> Result<(), Raise> {
        // The document itself was copied, so it has ended.
        if self.stage.open.is_empty() {
            self.stage.scope.leave();
        }
        Ok(())
    }

    fn takes_long_keys(&self, limit: usize) -> bool {
        match self.stage.open.last() {
            // A kept value is kept with its key.
            Some(PatchedContainer { cursor: None, silent: false, .. }) => false,
            // Everything in it is removed, but some operations require values there.
            Some(PatchedContainer { cursor: None, .. }) => {
                let edits = self.stage.patches.edits();
                is_too_long_for(limit, edits.map_or(0, |edits| edits.trie.longest_name()))
            }
            _ => self.stage.scope.takes_long_keys(limit),
        }
    }
}
