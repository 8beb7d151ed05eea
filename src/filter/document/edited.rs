//! The stage on a document that is patched while it streams: what `retain` keeps goes through the [`Edits`].
//!
//! A container on the way to something kept is there if something in it is: it is *entered* at the first such value, and
//! only then counts for the edits. Inside what goes, or is rewritten, nothing is written, and what is read is what an
//! operation needs to have been there.
//!
//! Output waits behind the [`Gate`] until nothing that an operation needs is missing any more; if something still is at the
//! end, the first operation that lacks something fails.

use std::sync::Arc;

use smallvec::SmallVec;

use super::edits::{Edits, Effect, Fate};
use super::gate::Gate;
use super::scope::{Scope, Verdict};
use crate::error::{ErrorKind, Raise};
use crate::filter::patches::Patches;
use crate::filter::program::Compiled;
use crate::filter::stage::{Stage, With};
use crate::json::key::is_too_long_for;
use crate::json::writer::JsonWriter;
use crate::json::{ExcludedMembers, Halt, Handler, Interest, ValueKind, ValueSlot};
use crate::path::trie::{Cursor, NameTable, NodeId};
use crate::sink::Sink;
use crate::tree::patch::{NO_INDEX, NO_PARENT, nothing_at};

#[derive(Debug)]
pub(super) struct Edited {
    scope: Scope,
    patches: Arc<Patches>,
    /// By node of the edits.
    met: Vec<Met>,
    /// Checks that are open.
    missing: usize,
    /// Where the last of them was met.
    certain_at: Option<u64>,
    open: SmallVec<[Open; 16]>,
    /// How many of the open containers are there.
    entered: usize,
    writer: JsonWriter,
    pub(super) gate: Gate,
}

/// What was met at a node.
#[derive(Clone, Copy, Debug, Default)]
struct Met {
    /// Something, anywhere.
    there: bool,
    /// The first value at the first place.
    first: Option<Is>,
    /// A new value was written for one of the document.
    written: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Object,
    Array,
    Scalar,
}

#[derive(Debug)]
struct Open {
    /// `None`: it is kept, and all that is in it.
    cursor: Option<Cursor>,
    node: Option<NodeId>,
    object: bool,
    /// Elements that are there so far: what is kept closes ranks.
    kept: u64,
    /// It is the first at its place, and so are those around it.
    first: bool,
    /// Nothing in it is written.
    silent: bool,
    /// Its key as spelled, if it is to be rewritten once it is entered.
    key: Vec<u8>,
}

impl Is {
    fn of(kind: ValueKind) -> Self {
        match kind {
            ValueKind::Object => Self::Object,
            ValueKind::Array => Self::Array,
            _ => Self::Scalar,
        }
    }
}

impl Edited {
    /// Output goes through `gate`.
    pub(super) fn new(program: &Arc<Compiled>, patches: &Arc<Patches>, gate: Gate) -> Self {
        let mut edited = Self {
            scope: Scope::new(program, true),
            patches: patches.clone(),
            met: Vec::new(),
            missing: 0,
            certain_at: None,
            open: SmallVec::new(),
            entered: 0,
            writer: JsonWriter::default(),
            gate,
        };
        edited.restart();
        edited
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self) {
        self.scope.restart();
        self.open.clear();
        self.entered = 0;
        self.writer.reset();
        self.met.clear();
        let (nodes, checks) =
            self.patches.edits().map_or((0, 0), |edits| (edits.nodes.len(), edits.checks));
        self.met.resize(nodes, Met::default());
        self.missing = checks;
        self.certain_at = None;
    }

    /// The offset of the value with which no operation could fail any more, if one could.
    pub(super) fn certain_at(&self) -> Option<u64> {
        self.certain_at
    }

    /// The operation that fails, for the document is complete and lacks what it needs; and why.
    pub(super) fn failure(&self) -> Option<(usize, Raise)> {
        let edits = self.patches.edits().filter(|_| self.missing > 0)?;
        let failing = edits.nodes.iter().zip(&self.met).filter_map(|(effect, met)| {
            let needed = effect.needed.filter(|_| !met.there);
            let object = effect.object.filter(|_| met.first != Some(Is::Object));
            let first = [needed, object].into_iter().flatten().min()?;
            Some((first, effect, met))
        });
        let (operation, effect, met) = failing.min_by_key(|(operation, ..)| *operation)?;
        let raise = match met.first {
            Some(Is::Array) => Raise::new(ErrorKind::Patch, NO_INDEX),
            Some(_) => Raise::new(ErrorKind::Patch, NO_PARENT),
            None => nothing_at(edits.path(effect), self.depth_of(edits, effect)),
        };
        Some((operation, raise))
    }

    /// How many steps of the path to an effect lead somewhere.
    fn depth_of(&self, edits: &Edits, effect: &Effect) -> usize {
        let mut node = 0;
        edits
            .path(effect)
            .iter()
            .take_while(|token| {
                let child = match token {
                    crate::path::PathToken::Name(name) => edits.trie.member(node, name.as_bytes()),
                    crate::path::PathToken::Any => None,
                };
                node = child.unwrap_or_default();
                child
                    .and_then(|node| self.met.get(node as usize))
                    .is_some_and(|met| met.first.is_some())
            })
            .count()
    }

    /// Operations that did something, and removes that had nothing to remove.
    pub(super) fn applied(&self) -> (u64, u64) {
        let Some(edits) = self.patches.edits() else { return (0, 0) };
        let missed = edits.nodes.iter().zip(&self.met);
        let missed = missed.filter(|(effect, met)| effect.lenient && !met.there).count() as u64;
        let idle = edits.idle + missed;
        (edits.operations - idle, idle)
    }
}

impl Stage for Edited {
    fn flush(&mut self, sink: &mut dyn Sink) {
        self.writer.flush(self.gate.through(sink));
    }
}

/// What is about one value.
#[derive(Clone, Copy)]
struct At {
    node: Option<NodeId>,
    kind: ValueKind,
    offset: u64,
    /// What it is in is not written.
    silent: bool,
}

impl With<'_, Edited> {
    /// A value at a node was met. Whether it is the first at the first place.
    fn meet(&mut self, node: NodeId, is: Is, in_first: bool, offset: u64) -> bool {
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
        edited.missing -= usize::from(!was_there && effect.needed.is_some());
        edited.missing -= usize::from(effect.object.is_some() && first && is == Is::Object);
        if before > 0 && edited.missing == 0 {
            edited.certain_at = Some(offset);
            // What was written by now could wait, or could not, wherever the input was cut.
            edited.writer.flush(edited.gate.through(self.sink));
            edited.gate.open(self.sink);
        }
        first
    }

    /// Something in the innermost container is kept: it is there, and so are those around it.
    fn enter(&mut self, offset: u64) {
        while let Some(open) = self.stage.open.get(self.stage.entered) {
            let (node, object) = (open.node, open.object);
            let outer = self.stage.entered.checked_sub(1).and_then(|at| self.stage.open.get(at));
            let (in_first, silent) =
                outer.map_or((true, false), |outer| (outer.first, outer.silent));
            let is = if object { Is::Object } else { Is::Array };
            let first = match node {
                Some(node) => self.meet(node, is, in_first, offset),
                None => in_first,
            };
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
        let Edited { writer, gate, .. } = &mut *self.stage;
        writer.commit(gate.through(self.sink));
    }

    /// The value that is inside `depth` open containers is there.
    fn count(&mut self, depth: usize) {
        if let Some(outer) = depth.checked_sub(1).and_then(|at| self.stage.open.get_mut(at)) {
            outer.kept += 1;
        }
    }

    /// Writes the new value of a node in place of one of the document, if it has one and it is not written yet.
    fn rewrite(&mut self, node: NodeId, first: bool, key: Option<&[u8]>) {
        let Edited { patches, met, writer, gate, .. } = &mut *self.stage;
        let Some(effect) = patches.edits().and_then(|edits| edits.nodes.get(node as usize)) else {
            return;
        };
        let Some(met) = met.get_mut(node as usize) else { return };
        let due = if effect.new.is_some() { first } else { !met.written };
        let (Fate::Set(value), true) = (&effect.fate, due) else { return };
        met.written = true;
        let sink = gate.through(self.sink);
        if let Some(key) = key {
            writer.spelled(sink, key);
        }
        writer.begin(sink);
        writer.raw(sink, value);
    }

    /// A container that may have something in it that is kept.
    fn way(&mut self, slot: ValueSlot<'_>, at: At, cursor: Cursor) -> Interest {
        let Edited { patches, open, writer, gate, .. } = &mut *self.stage;
        let object = at.kind == ValueKind::Object;
        let fate =
            patches.edits().zip(at.node).and_then(|(edits, node)| edits.nodes.get(node as usize));
        let fate = fate.map_or(&Fate::Keep, |effect| &effect.fate);
        let silent = at.silent || !matches!(fate, Fate::Keep);
        let mut key = Vec::new();
        let bracket = if object { b'{' } else { b'[' };
        match slot {
            ValueSlot::Member(spelled) if matches!(fate, Fate::Set(_)) => {
                key.extend_from_slice(spelled.raw());
            }
            _ if silent => {}
            ValueSlot::Top => writer.open(gate.through(self.sink), bracket),
            ValueSlot::Member(spelled) => writer.open_deferred_spelled(spelled.raw(), bracket),
            ValueSlot::Element(_) => writer.open_deferred(None, bracket),
        }
        open.push(Open {
            cursor: Some(cursor),
            node: at.node,
            object,
            kept: 0,
            first: false,
            silent,
            key,
        });
        if let ValueSlot::Top = slot {
            // It always is there.
            self.enter(at.offset);
        }
        Interest::Inspect
    }

    /// A value that is kept.
    fn kept(&mut self, slot: ValueSlot<'_>, at: At) -> Interest {
        if self.stage.entered < self.stage.open.len() {
            self.enter(at.offset);
        }
        self.count(self.stage.open.len());
        let copy = match slot {
            ValueSlot::Member(_) => Interest::CopyMember,
            _ => Interest::Copy,
        };
        let Some(node) = at.node else {
            if at.silent {
                return Interest::Skip;
            }
            let Edited { writer, gate, .. } = &mut *self.stage;
            writer.begin(gate.through(self.sink));
            return copy;
        };
        let in_first = self.stage.open.last().is_none_or(|open| open.first);
        let first = self.meet(node, Is::of(at.kind), in_first, at.offset);
        let key = match slot {
            ValueSlot::Member(key) => Some(key.raw()),
            _ => None,
        };
        if !at.silent {
            self.rewrite(node, first, key);
        }
        let Edited { patches, open, entered, writer, gate, .. } = &mut *self.stage;
        let Some(edits) = patches.edits() else { return copy };
        let Some(effect) = edits.nodes.get(node as usize) else { return copy };
        let silent = at.silent || !matches!(effect.fate, Fate::Keep);
        let goes_on = at.kind.is_container() && !edits.trie.children(node).is_empty();
        if silent && !(goes_on && effect.checks_below) {
            return Interest::Skip;
        }
        let object = at.kind == ValueKind::Object;
        if !silent {
            let sink = gate.through(self.sink);
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
        open.push(Open { cursor: None, node: at.node, object, kept: 0, first, silent, key });
        *entered = open.len();
        Interest::Inspect
    }

    /// The members that come to an object behind those that it has.
    fn add_new(&mut self, node: NodeId) {
        let Edited { patches, met, writer, gate, .. } = &mut *self.stage;
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
            let sink = gate.through(self.sink);
            writer.key(sink, &new.key);
            writer.begin(sink);
            writer.raw(sink, &new.value);
        }
    }
}

/// Whether the open container at `at` is a member.
fn outer_is_object(open: &[Open], at: usize) -> bool {
    at.checked_sub(1).and_then(|outer| open.get(outer)).is_some_and(|outer| outer.object)
}

impl Handler for With<'_, Edited> {
    #[inline]
    fn value(
        &mut self,
        mut slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Halt> {
        let Edited { scope, patches, open, .. } = &mut *self.stage;
        let top = open.last();
        let verdict = match top {
            Some(Open { cursor: None, .. }) => Verdict::Kept,
            _ => scope.judge(&mut slot, kind, top.and_then(|top| top.cursor.as_ref()))?,
        };
        let trie = patches.edits().map(|edits| &edits.trie);
        let outer = top.and_then(|top| trie.zip(top.node));
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
        let mut at = At { node, kind, offset, silent };
        let interest = match verdict {
            Verdict::Beside(interest) => return Ok(interest),
            Verdict::Way(cursor) => return Ok(self.way(slot, at, cursor)),
            Verdict::Kept => self.kept(slot, at),
            Verdict::Gone => {
                if let ValueSlot::Top = slot {
                    // A text without containers, of which nothing is kept, must still be a JSON text.
                    at.kind = ValueKind::Null;
                    if self.kept(slot, at) == Interest::Copy {
                        let Edited { writer, gate, .. } = &mut *self.stage;
                        writer.raw(gate.through(self.sink), b"null");
                    }
                }
                Interest::Skip
            }
        };
        if let (ValueSlot::Top, Interest::Skip) = (slot, interest) {
            // It ends without an event.
            self.stage.scope.leave();
        }
        Ok(interest)
    }

    #[inline]
    fn wanted(&self) -> Option<&NameTable> {
        let Edited { scope, patches, open, .. } = &*self.stage;
        let top = open.last().filter(|_| scope.is_inside())?;
        match &top.cursor {
            Some(cursor) => cursor.names(scope.retain()?),
            // What is in it goes, whatever it is; some of it must have been there.
            None if top.silent => patches.edits()?.trie.names(top.node?),
            None => None,
        }
    }

    #[inline]
    fn excluded(&self) -> Option<ExcludedMembers<'_>> {
        let top = self.stage.open.last()?;
        if top.cursor.is_some() || top.silent || !top.object {
            return None;
        }
        let trie = &self.stage.patches.edits()?.trie;
        let names = Some((trie.names(top.node?)?, trie));
        Some(ExcludedMembers { names, nulls: false, empty: false })
    }

    #[inline]
    fn keep(&mut self, members: &[u8]) {
        let Edited { writer, gate, .. } = &mut *self.stage;
        let sink = gate.through(self.sink);
        writer.begin(sink);
        writer.raw(sink, members);
    }

    fn close(&mut self, _: u64) -> Result<(), Halt> {
        if !self.stage.scope.close()? {
            return Ok(());
        }
        let is_there = self.stage.entered == self.stage.open.len();
        if let Some(top) = self.stage.open.last() {
            let (node, object, silent) = (top.node, top.object, top.silent);
            if let (Some(node), true, true, false) = (node, object && top.first, is_there, silent) {
                self.add_new(node);
            }
            let Edited { writer, gate, .. } = &mut *self.stage;
            if !silent {
                writer.close(gate.through(self.sink), if object { b'}' } else { b']' });
            }
        }
        let Edited { open, entered, scope, .. } = &mut *self.stage;
        open.pop();
        *entered = open.len().min(*entered);
        if open.is_empty() {
            scope.leave();
        }
        Ok(())
    }

    #[inline]
    fn raw(&mut self, bytes: &[u8]) {
        let Edited { writer, gate, .. } = &mut *self.stage;
        writer.raw(gate.through(self.sink), bytes);
    }

    fn copied(&mut self, _: u64) -> Result<(), Halt> {
        if self.stage.open.is_empty() {
            self.stage.scope.leave();
        }
        Ok(())
    }

    fn takes_long_keys(&self, limit: usize) -> bool {
        match self.stage.open.last() {
            // What is kept is kept with its key.
            Some(Open { cursor: None, silent: false, .. }) => false,
            // What is in it goes, but some of it must have been there.
            Some(Open { cursor: None, .. }) => {
                let edits = self.stage.patches.edits();
                is_too_long_for(limit, edits.map_or(0, |edits| edits.trie.longest_name()))
            }
            _ => self.stage.scope.takes_long_keys(limit),
        }
    }
}
