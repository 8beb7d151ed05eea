//! Emits values as projections keep them: of an object, the members that braces name.
//!
//! | value | where an object is kept | where a leaf is kept |
//! |---|---|---|
//! | an object | opened, role `Project` | emitted |
//! | null, as a member | emitted, and all leaves below count as found | emitted |
//! | null, as an element | left out | emitted |
//! | anything else | left out | emitted |
//!
//! With `on_kind: keep` a value of another kind is kept ([`kept`](super::kept)).
//!
//! Values that `exclude` removes are read, too, so that hits and misses do not depend on it: the roles have a cursor with
//! a hit, and nothing is written.
//!
//! A field with `[]` needs a container. Its output is one array, which is opened with the role `ProjectLevel`; each
//! level below has that role too. Values that are left out are counted.
//!
//! Example: `labels[]{name,by{id}}`. The source is a wildcard, whose role is `Gather`.
//!
//! ```text
//! item    {"labels":[{"name":"bug","color":"f00","by":{"id":7,"x":1}},"old",{"by":null}]}
//!
//! {       Project at the braces of `labels[]`     writes `{`
//!   name  a leaf                                  `"name":"bug"`
//!   color no field                                skipped
//!   by    Project at the braces of `by`           writes `"by":{`, then `"id":7`
//! "old"   not an object                           left out
//! {       Project                                 `"by":null`
//!
//! output  {"labels":[{"name":"bug","by":{"id":7}},{"by":null}]}
//! ```

use tamis_json::error::Raise;
use tamis_json::path::trie::{Cursor, NodeId};
use tamis_json::policy::WantedNames;
use tamis_json::{Interest, ValueKind, ValueSlot};

use super::label::Label;
use super::seen_names::SeenNames;
use super::{ContainerRole, Cx, ItemsState};
use crate::filter::compile::items::ItemRules;
use crate::filter::compile::select::SelectRules;
use crate::spec::DuplicateKeys;

impl ItemsState {
    /// Emits a value where braces begin. `cursor`: its place in the exclude trie.
    pub(super) fn project(
        &mut self,
        cx: &mut Cx<'_>,
        node: NodeId,
        label: Label<'_>,
        kind: ValueKind,
        cursor: &Cursor,
    ) -> Result<Interest, Raise> {
        let Some(select) = &cx.rules.select else { return Ok(Interest::Skip) };
        let Some(at) = select.projections.node(node) else { return Ok(Interest::Skip) };
        let is_member = !matches!(label, Label::None);
        match kind {
            ValueKind::Object => {
                if !cursor.is_hit() {
                    self.open_labelled(cx, label, kind, is_member && cx.rules.drop_empty);
                }
                self.serial += 1;
                let names = self.seen.as_mut();
                let names = names.is_some_and(|seen| SeenNames::begin(seen, select.names_of(node)));
                let cursor = self.place_inside(cx.rules, cursor);
                self.roles.push(ContainerRole::Project {
                    node,
                    wanted: WantedNames { serial: self.serial, left: at.members },
                    names,
                    cursor,
                    wrapped: false,
                });
                Ok(Interest::Inspect)
            }
            ValueKind::Null if is_member => {
                let stopped = self.find_all(cx, select, node);
                Ok(stopped.unwrap_or_else(|| self.emit(cx, label, kind, cursor)))
            }
            _ if at.keeps_kinds => Ok(self.keep_projected(cx, node, label, kind, cursor)),
            _ => Ok(self.leave_out()),
        }
    }

    /// Handles a member of an object that is kept in part.
    ///
    /// # Errors
    /// A duplicate under `duplicate_keys: reject`.
    #[inline]
    pub(super) fn in_project(
        &mut self,
        cx: &mut Cx<'_>,
        slot: ValueSlot<'_>,
        kind: ValueKind,
    ) -> Result<Interest, Raise> {
        let rules = cx.rules;
        let (Some(ContainerRole::Project { node, wanted, names, cursor, .. }), Some(select)) =
            (self.roles.last_mut(), &rules.select)
        else {
            return Ok(Interest::Skip);
        };
        if wanted.left == 0 && rules.duplicates == DuplicateKeys::First {
            return Ok(Interest::SkipRest);
        }
        let ValueSlot::Member(key) = slot else { return Ok(Interest::Skip) };
        if *names {
            *names = key.with_name(|name| {
                let node = select.names_of(*node);
                self.seen.as_mut().is_some_and(|seen| SeenNames::add(seen, node, name))
            });
        }
        let trie = &select.projections.trie;
        // The machine has looked the name up already if the policy had the names.
        let child = key
            .entry()
            .or_else(|| key.with_name(|name| name.and_then(|name| trie.member(*node, name))));
        let Some(child) = child else { return Ok(Interest::Skip) };
        let (Some(field), Some(met)) =
            (select.projections.node(child), self.fields.met.get_mut(child as usize))
        else {
            return Ok(Interest::Skip);
        };
        if !wanted.meet(met) {
            return self.duplicate(cx);
        }
        let below = match (cursor.is_hit(), cursor.is_dead()) {
            (true, _) => Cursor::inside_hit(),
            (false, true) => Cursor::default(),
            (false, false) => cursor.member(rules.removed(false), Some(field.key.as_bytes())),
        };
        let written = select.projections.key(child);
        let label = match field.key_is_name && key.raw().len() + 2 == written.len() {
            // The key is spelled the same, so the member can be copied as a whole.
            true => Label::Spelled(key),
            false => Label::Given(written),
        };
        if field.levels > 0 {
            return Ok(self.open_levels(cx, child, label, kind, &below));
        }
        if field.is_object {
            return self.project(cx, child, label, kind, &below);
        }
        if self.find(cx, field.leaves.start) {
            return Ok(Interest::Stop);
        }
        // From now on the machine need not ask.
        if let Some(action) = self.fields.actions.get_mut(child as usize) {
            *action = field.action;
        }
        Ok(self.emit(cx, label, kind, &below))
    }

    /// Opens the array of a field with `[]`.
    fn open_levels(
        &mut self,
        cx: &mut Cx<'_>,
        node: NodeId,
        label: Label<'_>,
        kind: ValueKind,
        cursor: &Cursor,
    ) -> Interest {
        let Some(select) = &cx.rules.select else { return Interest::Skip };
        let field = select.projections.node(node);
        if field.is_some_and(|field| field.keeps_kinds) && kind != ValueKind::Array {
            return self.keep_in_place_of_array(cx, node, label, kind, cursor);
        }
        if !kind.is_container() {
            return self.leave_out();
        }
        let is_leaf = field.is_some_and(|field| !field.is_object);
        if is_leaf && let Some(stopped) = self.find_all(cx, select, node) {
            return stopped;
        }
        let outer = !cursor.is_hit();
        if outer {
            self.open_labelled(cx, label, ValueKind::Array, cx.rules.drop_empty);
        }
        let cursor = self.place_inside(cx.rules, cursor);
        self.roles.push(ContainerRole::ProjectLevel { node, level: 1, index: 0, cursor, outer });
        Interest::Inspect
    }

    /// Handles a child of a container on the levels of a field.
    pub(super) fn in_level(&mut self, cx: &mut Cx<'_>, kind: ValueKind) -> Result<Interest, Raise> {
        let rules = cx.rules;
        let (Some(ContainerRole::ProjectLevel { node, level, index, cursor, .. }), Some(select)) =
            (self.roles.last_mut(), &rules.select)
        else {
            return Ok(Interest::Skip);
        };
        let node = *node;
        let Some(field) = select.projections.node(node) else { return Ok(Interest::Skip) };
        let has_levels = *level < field.levels;
        let is_entered = match (has_levels, field.keeps_kinds) {
            (true, false) => kind.is_container(),
            (true, true) => kind == ValueKind::Array,
            // The elements of an array in place of an object take its place.
            (false, keeps) => keeps && field.is_object && kind == ValueKind::Array,
        };
        if is_entered {
            // Its elements are counted with those around it.
            self.counts.other_kinds += u64::from(!has_levels);
            let (level, index, cursor) = (*level + usize::from(has_levels), *index, cursor.clone());
            let role = ContainerRole::ProjectLevel { node, level, index, cursor, outer: false };
            self.roles.push(role);
            return Ok(Interest::Inspect);
        }
        if has_levels && !field.keeps_kinds {
            return Ok(self.leave_out());
        }
        let below = rules.element_place(cursor, *index);
        let is_kept = !field.is_object || kind == ValueKind::Object || field.keeps_kinds;
        *index += u64::from(is_kept);
        // A projection counts values of other kinds than objects.
        let is_counted = has_levels && (!field.is_object || kind == ValueKind::Object);
        self.counts.other_kinds += u64::from(is_counted);
        match field.is_object {
            true => self.project(cx, node, Label::None, kind, &below),
            false => Ok(self.emit(cx, Label::None, kind, &below)),
        }
    }

    /// Ends a container of a field with `[]` that is not the outermost one: the container around it goes on counting.
    pub(super) fn end_level(&mut self, written: u64) {
        if let Some(ContainerRole::ProjectLevel { index, .. }) = self.roles.last_mut() {
            *index = written;
        }
    }

    /// Returns the place inside a value that is read. A removed value counts here, and nothing inside it does.
    pub(super) fn place_inside(&mut self, rules: &ItemRules, cursor: &Cursor) -> Cursor {
        if !cursor.is_hit() {
            return cursor.clone();
        }
        self.count_removed(rules, cursor);
        Cursor::inside_hit()
    }

    /// Marks the leaves below a node as found. Returns `Stop` if the probe has decided by that.
    pub(super) fn find_all(
        &mut self,
        cx: &Cx<'_>,
        select: &SelectRules,
        node: NodeId,
    ) -> Option<Interest> {
        // Once for each node: there may be many leaves.
        let null @ false = self.fields.were_null.get_mut(node as usize)? else { return None };
        *null = true;
        let mut stops = false;
        for number in select.projections.node(node)?.leaves.clone() {
            stops |= self.find(cx, number);
        }
        stops.then_some(Interest::Stop)
    }

    /// Leaves out a value that no projection can keep.
    fn leave_out(&mut self) -> Interest {
        self.counts.projection_skipped += 1;
        Interest::Skip
    }
}
