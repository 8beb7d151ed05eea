//! Limits the members of a payload that is an object: `max_items` with a path as the root, and without a select.
//!
//! Such an object is often a map from names to values of one kind, so its members are counted like items. With a select,
//! the object is one item, and stays whole. With `omitted: mark` the last member says how many are missing.
//!
//! Example: `root: users`, `max_items: 1` and `{"users":{"ada":1,"sol":2},"n":2}` become `{"users":{"ada":1},"n":2}`.

use tamis_json::error::Raise;
use tamis_json::path::trie::Cursor;
use tamis_json::sink::Sink;
use tamis_json::{Interest, ValueKind, ValueSlot};

use super::counts::ItemCounts;
use super::{ContainerRole, Cx, ItemsStage, ItemsState, PayloadTarget};
use crate::filter::compile::items::ItemRules;
use crate::filter::run::output::omission::{MarkNames, Omission};

impl ItemsStage {
    /// Sets whether a mark says how many members were left out.
    pub(in crate::filter::run) fn mark_members(mut self, yes: bool) -> Self {
        self.state.member_marks = yes.then(MarkNames::default);
        self
    }
}

impl ItemsState {
    /// Returns whether `max_items` applies to the members of a payload that is an object.
    pub(super) fn limits_members(&self, rules: &ItemRules) -> bool {
        rules.max_items < u64::MAX
            && rules.select.is_none()
            && matches!(self.target, PayloadTarget::At(_))
    }

    /// Opens the payload.
    pub(super) fn open_members(&mut self, cx: &mut Cx<'_>, slot: ValueSlot<'_>) -> Interest {
        self.counts.seen = Some(0);
        self.open(cx, slot, ValueKind::Object);
        self.roles
            .push(ContainerRole::Members { cursor: cx.rules.removed(self.has_missed()).start() });
        Interest::Inspect
    }

    /// Handles a member of the payload: emits it, or skips it after the last one that is kept.
    pub(super) fn in_members(
        &mut self,
        cx: &mut Cx<'_>,
        slot: ValueSlot<'_>,
        kind: ValueKind,
    ) -> Result<Interest, Raise> {
        let (Some(ContainerRole::Members { cursor }), ValueSlot::Member(key)) =
            (self.roles.last(), slot)
        else {
            return Ok(Interest::Skip);
        };
        let index = self.counts.seen.unwrap_or(0);
        self.counts.seen = Some(index + 1);
        if index >= cx.rules.max_items {
            self.counts.stopped = cx.rules.stop_early;
            return Ok(if cx.rules.stop_early { Interest::Stop } else { Interest::Skip });
        }
        self.counts.kept += 1;
        let below = if cursor.is_dead() {
            Cursor::default()
        } else {
            let removed = cx.rules.removed(self.has_missed());
            key.with_name(|name| cursor.member(removed, name))
        };
        let interest = self.emit(cx, slot.into(), kind, &below);
        if let Some(names) = self.member_marks.as_mut().filter(|_| interest != Interest::Skip) {
            names.add(key.raw());
        }
        Ok(interest)
    }

    /// Writes the mark of the members that were left out, if there are some, as the last member of the payload.
    pub(super) fn mark_members(&mut self, sink: &mut dyn Sink) {
        let ItemCounts { seen, kept, stopped: more, .. } = self.counts;
        let of = seen.unwrap_or(kept);
        let Some(names) = self.member_marks.as_mut().filter(|_| of > kept) else { return };
        let omission = Omission { omitted: of - kept, of, more };
        self.writer.key(sink, names.name().as_bytes());
        self.writer.begin(sink);
        self.writer.raw(sink, omission.members().as_bytes());
    }
}
