//! Limits the members of a payload that is an object: `max_items` with a path as the root, and without a select.
//!
//! Such an object is often a map from names to values of one kind, so its members are counted like items. With a select,
//! the object is one item, and stays whole.
//!
//! Example: `root: users`, `max_items: 1` and `{"users":{"ada":1,"sol":2},"n":2}` become `{"users":{"ada":1},"n":2}`.

use tamis_json::error::Raise;
use tamis_json::path::trie::Cursor;
use tamis_json::{Interest, ValueKind, ValueSlot};

use super::{ContainerRole, Cx, ItemsState, PayloadTarget};
use crate::filter::compile::items::ItemRules;

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
        Ok(self.emit(cx, slot.into(), kind, &below))
    }
}
