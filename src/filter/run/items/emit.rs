//! Emits values, either whole or without excluded and dropped parts.
//!
//! A value without rules below it is copied as a whole: the machine passes its bytes on without an event for each
//! member. Otherwise the container is opened with the role `Emit`, and its members are decided one by one or by the
//! policy of that role.
//!
//! [`ItemsState::emit`] decides about one value by the first row that applies:
//!
//! | value | result |
//! |---|---|
//! | a member `null` under `drop_nulls`, or `""` under `drop_empty` | skipped |
//! | a value at which a path of `exclude` or `omit` ends | skipped |
//! | a container below which such a path leads, or any one under a drop rule | opened, role `Emit` |
//! | any other value | copied as a whole |
//!
//! Example: `exclude: a.b` on the item `{"a":{"b":1,"c":2},"d":[3]}`. Paths of `exclude` begin at the item as it is
//! written, so after a select they begin with an output key.
//!
//! ```text
//! value({)   unselected    writes `{`        a path leads below: role Emit
//! value(a)   emit          writes `"a":{`    a path leads below: role Emit
//! value(b)   emit          skipped           the path ends here
//! value(c)   emit          `"c":2`           no path leads here: CopyMember
//! close(})                 writes `}`
//! value(d)   emit          `"d":[3]`         the machine copies the array without an event for the 3
//! ```
//!
//! The output is `{"a":{"c":2},"d":[3]}`. Most members do not come here, because the policy of the role (`policy.rs`)
//! lets the machine decide them with the same result.
//!
//! **Empty containers.** Under `drop_empty` the bracket of a member is *deferred*: the writer holds it until something
//! inside is written. In `{"a":{"b":""}}` the member `b` is dropped, so `a` has no content, and the output is `{}`.
//! Elements are never dropped by their kind, because that would move the elements after them.

use tamis_json::error::Raise;
use tamis_json::path::trie::Cursor;
use tamis_json::{Interest, ValueKind, ValueSlot};

use super::label::Label;
use super::{ContainerRole, Cx, ItemsState};
use crate::filter::compile::items::ItemRules;

impl ItemsState {
    /// Emits a whole value with its key as spelled. Returns how the machine has to copy it. The bytes follow through
    /// [`Handler::raw`](tamis_json::Handler::raw), so only the comma is written here.
    pub(super) fn pass(&mut self, cx: &mut Cx<'_>, slot: ValueSlot<'_>) -> Interest {
        let (writer, sink) = (&mut self.writer, &mut *cx.sink);
        writer.begin(sink);
        match slot {
            ValueSlot::Member(_) => Interest::CopyMember,
            ValueSlot::Top | ValueSlot::Element(_) => Interest::Copy,
        }
    }

    /// Emits an item without its excluded and dropped parts. The item itself is always kept, even if it becomes empty.
    /// Used for items without a selection: no `select`, a miss, plain text in `raw`, or an item that is not an object.
    /// `cursor` is the start of the paths of `exclude`. An item that is an array keeps its elements as items, too
    /// (`item`).
    pub(super) fn unselected(
        &mut self,
        cx: &mut Cx<'_>,
        slot: ValueSlot<'_>,
        kind: ValueKind,
        cursor: Cursor,
    ) -> Interest {
        if !self.is_changed_below(cx.rules, kind, &cursor) {
            return self.pass(cx, slot);
        }
        self.open(cx, slot, kind);
        let object = kind == ValueKind::Object;
        self.roles.push(ContainerRole::Emit { cursor, object, item: !object, wrapped: false });
        Interest::Inspect
    }

    /// Returns whether a rule may remove something inside a value. `cursor`: the place of the value in the paths of
    /// `exclude`; it is dead if no path leads below. Drop rules apply at any depth, so under them every container is
    /// opened. Costs time: its members come as events or through the policy, instead of as one copy.
    #[inline]
    pub(super) fn is_changed_below(
        &self,
        rules: &ItemRules,
        kind: ValueKind,
        cursor: &Cursor,
    ) -> bool {
        // Every rule is named: a new one does not compile until it is considered here.
        let ItemRules {
            idle: _,
            root: _,
            keep_siblings: _,
            conditions: _,
            member_tests: _,
            max_items: _,
            stop_early: _,
            select: _,
            exclude: _,
            with_omit: _,
            omits_from: _,
            drop_nulls: _,
            drop_empty: _,
            closed: _,
            judges: _,
            refuses: _,
            duplicates: _,
        } = rules;
        let drops = self.drops(rules);
        kind.is_container() && (!cursor.is_dead() || drops.0 || drops.1)
    }

    /// Opens a container, with its key as spelled in the input.
    pub(super) fn open(&mut self, cx: &mut Cx<'_>, slot: ValueSlot<'_>, kind: ValueKind) {
        self.open_labelled(cx, slot.into(), kind, false);
    }

    /// Opens a container with a key. `deferred`: the container is written only when something inside it is, as
    /// `drop_empty` requires. A deferred container that stays empty is not written, and its end writes no bracket. The
    /// caller pushes the role if the machine inspects the container.
    pub(super) fn open_labelled(
        &mut self,
        cx: &mut Cx<'_>,
        label: Label<'_>,
        kind: ValueKind,
        deferred: bool,
    ) {
        let bracket = if kind == ValueKind::Object { b'{' } else { b'[' };
        // The buffer is reused, because the quotes around the key have to be added.
        let mut spelled = std::mem::take(&mut self.scratch);
        let key = match label {
            Label::None => None,
            Label::Given(key) => Some(key),
            Label::Spelled(key) => {
                spelled.clear();
                spelled.push(b'"');
                spelled.extend_from_slice(key.raw());
                spelled.push(b'"');
                Some(spelled.as_slice())
            }
        };
        let (writer, sink) = (&mut self.writer, &mut *cx.sink);
        if deferred {
            writer.open_deferred(key, bracket);
        } else {
            if let Some(key) = key {
                writer.key(sink, key);
            }
            writer.open(sink, bracket);
        }
        self.scratch = spelled;
    }

    /// Emits a value unless it is excluded at `cursor` or dropped. If a rule may remove something inside it, opens it.
    /// `label` decides about the key: a key as spelled is copied with its value, and a key of the spec is written
    /// first. Called for each selected value, each match of a wildcard, and each child of a container with the role
    /// `Emit`.
    #[inline(always)]
    pub(super) fn emit(
        &mut self,
        cx: &mut Cx<'_>,
        label: Label<'_>,
        kind: ValueKind,
        cursor: &Cursor,
    ) -> Interest {
        // Every rule is named: a new one does not compile until it is considered here.
        let ItemRules {
            idle: _,
            root: _,
            keep_siblings: _,
            conditions: _,
            member_tests: _,
            max_items: _,
            stop_early: _,
            select: _,
            exclude: _,
            with_omit: _,
            omits_from: _,
            drop_nulls: _,
            drop_empty: _,
            closed: _,
            judges: _,
            refuses: _,
            duplicates: _,
        } = cx.rules;
        let (drop_nulls, drop_empty) = self.drops(cx.rules);
        // Only members are dropped by kind. An element keeps its place.
        let member = !matches!(label, Label::None);
        let dropped = member
            && match kind {
                ValueKind::Null => drop_nulls,
                ValueKind::EmptyString => drop_empty,
                _ => false,
            };
        // A hit also removes a container, so nothing below it needs a look.
        if dropped || cursor.is_hit() {
            self.count_removed(cx.rules, cursor);
            return Interest::Skip;
        }
        if self.is_changed_below(cx.rules, kind, cursor) {
            return self.emit_in_part(cx, label, kind, cursor);
        }
        let (writer, sink) = (&mut self.writer, &mut *cx.sink);
        // The machine copies the key too if it stays the same. Otherwise only the value.
        match label {
            Label::Spelled(_) => {
                writer.begin(sink);
                Interest::CopyMember
            }
            Label::Given(key) => {
                writer.key(sink, key);
                writer.begin(sink);
                Interest::Copy
            }
            Label::None => {
                writer.begin(sink);
                Interest::Copy
            }
        }
    }

    /// Counts a value that is removed, if `omit` removes it.
    pub(super) fn count_removed(&mut self, rules: &ItemRules, cursor: &Cursor) {
        self.counts.omitted += u64::from(rules.is_omitted(cursor));
    }

    /// Opens a container from which something may be removed. Its members come as events, or by the policy. Kept out
    /// of line: it is the rare case of [`emit`](Self::emit), which is inlined into every caller.
    #[inline(never)]
    fn emit_in_part(
        &mut self,
        cx: &mut Cx<'_>,
        label: Label<'_>,
        kind: ValueKind,
        cursor: &Cursor,
    ) -> Interest {
        let member = !matches!(label, Label::None);
        self.open_labelled(cx, label, kind, member && self.drops(cx.rules).1);
        let object = kind == ValueKind::Object;
        let cursor = cursor.clone();
        self.roles.push(ContainerRole::Emit { cursor, object, item: false, wrapped: false });
        Interest::Inspect
    }

    /// Handles a member or element of a container that is emitted in part. Follows the paths of `exclude` by one step:
    /// the cursor of the container gives that of the child. Without a path below the container the child's cursor is
    /// dead, too, and only the drop rules apply to it.
    #[inline]
    pub(super) fn in_emit(
        &mut self,
        cx: &mut Cx<'_>,
        slot: ValueSlot<'_>,
        kind: ValueKind,
    ) -> Result<Interest, Raise> {
        let Some(ContainerRole::Emit { cursor, item, .. }) = self.roles.last() else {
            return Ok(Interest::Skip);
        };
        let trie = cx.rules.removed(self.has_missed());
        let below = match slot {
            _ if cursor.is_dead() => Cursor::default(),
            // An element of an array in place of an item: the paths of `exclude` begin again at it.
            ValueSlot::Element(index) if *item => {
                let mut below = cursor.element(trie, index);
                below.begin(trie);
                // The element is compared with paths that count it as an element, such as `0.a`, and with paths of an
                // item, such as `a`.
                let interest = self.emit(cx, slot.into(), kind, &below);
                // Its elements are treated like items, too.
                if kind == ValueKind::Array
                    && interest == Interest::Inspect
                    && let Some(ContainerRole::Emit { item, .. }) = self.roles.last_mut()
                {
                    *item = true;
                }
                return Ok(interest);
            }
            ValueSlot::Member(key) => key.with_name(|name| cursor.member(trie, name)),
            ValueSlot::Element(index) => cursor.element(trie, index),
            ValueSlot::Top => Cursor::default(),
        };
        Ok(self.emit(cx, slot.into(), kind, &below))
    }
}
