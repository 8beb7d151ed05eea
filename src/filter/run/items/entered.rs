//! Enters and leaves items. Most are entered, filtered and left without events, so that a small item costs little more than
//! its members.
//!
//! ```text
//! enter_item ──▶ the loop over its members ──▶ leave_item     its bracket is reached
//!                                         ├──▶ drop_item      a member fails a test of `where`
//!                                         └──▶ stay_in_item   something in it needs events: from here on the item has a role
//! ```
//!
//! Each does what [`item`](ItemsState::item) and [`item_ends`](ItemsState::item_ends) do with the same item, which they
//! enter and leave by events.

use tamis_json::error::Raise;
use tamis_json::policy::{Action, KindSet, MemberTest, Once, Output, Policy, WantedNames};
use tamis_json::sink::Sink;
use tamis_json::writer::WriterMark;
use tamis_json::{Interest, ValueKind, ValueSlot};

use super::first_hit::HitSearch;
use super::policy::emit_policy;
use super::{ContainerRole, Cx, ItemsState};
use crate::filter::compile::items::ItemRules;
use crate::spec::DuplicateKeys;

impl ItemsState {
    /// Enters an element of the payload if it is an item that is selected from, or emitted in part, whatever its members
    /// are. Returns the policy for it.
    #[inline]
    pub(super) fn enter_item<'a>(
        &'a mut self,
        rules: &'a ItemRules,
        sink: &'a mut dyn Sink,
        index: u64,
    ) -> Option<Policy<'a>> {
        // Every rule is named: the machine must not pass an item by a rule that is not considered here.
        let ItemRules {
            idle: _,
            root: _,
            keep_siblings: _,
            conditions: _,
            member_tests,
            // Compared by `max_items`.
            max_items: _,
            stop_early: _,
            // By `selection`.
            select: _,
            // By `emit_policy`.
            exclude: _,
            with_omit: _,
            omits_from: _,
            drop_nulls,
            drop_empty,
            closed: _,
            judges: _,
            refuses: _,
            duplicates,
        } = rules;
        if !matches!(self.roles.last(), Some(ContainerRole::Items)) {
            return None;
        }
        // Until the item is entered, the tester has to look at it ahead.
        let tests_members = self.tester.as_mut().is_some_and(|tester| {
            let tests_members = tester.tests_members();
            tester.members.gave_up = true;
            tests_members
        });
        // Items that were dropped do not count.
        if matches!(self.search, HitSearch::Probing(_))
            || index - self.counts.dropped >= self.max_items(rules)
        {
            return None;
        }
        let select = self.selection(rules);
        let (mut names, drop, mut left) = match select {
            Some(select) => {
                let item = select.node(0);
                let names = select.trie.names(0)?;
                let left = item.members - item.passing_members;
                if left == 0 || item.shared || self.seen.as_ref().is_some_and(|seen| seen.wants(0))
                {
                    return None;
                }
                (Some((names, &[][..])), KindSet::new(*drop_nulls, *drop_empty), left)
            }
            None => {
                // After a miss nothing is selected, so the tests have no names to join.
                if tests_members {
                    return None;
                }
                let removed = rules.removed(self.has_missed()).start();
                let policy = emit_policy(rules, &removed, true, self.has_missed());
                let is_copied = !self.is_changed_below(rules, ValueKind::Object, &removed);
                if is_copied || policy.others != Action::Keep {
                    return None;
                }
                // The other fields are those of `Policy::all`.
                (policy.names, policy.drop, 0)
            }
        };
        let is_tested = match &mut self.tester {
            None => false,
            Some(tester) if tests_members => {
                let tests = member_tests.as_ref()?;
                tester.members.begin(self.writer.mark()?);
                names = Some((&tests.names, &[][..]));
                left += tests.only_tested;
                true
            }
            Some(tester) => match tester.takes_kept() {
                true => false,
                false => return None,
            },
        };
        self.writer.open(sink, b'{');
        let Self { serial, item_wanted, met, actions, writer, tester, counts, .. } = self;
        let tester = tester.as_mut().filter(|_| is_tested);
        let test = tester.map(|tester| &mut tester.members as &mut dyn MemberTest);
        let output = Some(Output { writer, sink });
        // Each policy is written where the caller needs it: copying one would take as long as a member.
        let Some(select) = select else {
            let omitted = Some(&mut counts.omitted);
            return Some(Policy { names, drop, omitted, output, ..Policy::all(Action::Keep) });
        };
        *serial += 1;
        *item_wanted = WantedNames { serial: *serial, left };
        Some(Policy {
            names: names.map(|(names, _)| (names, actions.as_slice())),
            drop,
            then_skips: *duplicates == DuplicateKeys::First,
            once: Some(Once { met, wanted: item_wanted }),
            keys: &select.keys,
            test,
            output,
            ..Policy::SKIP
        })
    }

    /// Counts an item that is kept.
    #[inline]
    fn keeps_item(&mut self) {
        let seen = self.counts.seen.unwrap_or(0);
        self.counts.seen = Some(seen + 1);
        self.counts.kept += 1;
        self.objects = true;
    }

    /// Ends the entered item.
    #[inline]
    pub(super) fn leave_item(&mut self, sink: &mut dyn Sink) {
        self.writer.close(sink, b'}');
        if let Some(tester) = &mut self.tester
            && let Some(mark) = tester.members.take_mark()
        {
            if !tester.members.is_kept_at_end() {
                return self.take_back(mark);
            }
            self.writer.release(sink);
        }
        self.keeps_item();
    }

    /// Drops the entered item, which has failed a test.
    #[inline]
    pub(super) fn drop_item(&mut self) {
        if let Some(mark) = self.tester.as_mut().and_then(|tester| tester.members.take_mark()) {
            self.take_back(mark);
        }
    }

    fn take_back(&mut self, mark: WriterMark) {
        self.writer.take_back(mark);
        self.counts.dropped += 1;
    }

    /// Makes the entered item the innermost container. Returns `false` if it has to be looked at ahead.
    pub(super) fn stay_in_item(
        &mut self,
        rules: &ItemRules,
        sink: &mut dyn Sink,
        container: bool,
    ) -> bool {
        if let Some(tester) = &mut self.tester
            && let Some(mark) = tester.members.take_mark()
        {
            if !tester.members.is_kept() {
                tester.members.gave_up = true;
                tester.members.is_off |= container;
                self.writer.take_back(mark);
                return false;
            }
            self.writer.release(sink);
        }
        self.keeps_item();
        let wanted = self.item_wanted;
        let role = match self.selection(rules) {
            Some(_) => ContainerRole::Select { node: 0, wanted, item: true, names: false },
            None => {
                let cursor = rules.removed(self.has_missed()).start();
                ContainerRole::Emit { cursor, object: true, item: false, wrapped: false }
            }
        };
        self.roles.push(role);
        true
    }

    /// Handles an item: an element of the payload, or a payload that is an object.
    #[inline]
    pub(super) fn item(
        &mut self,
        cx: &mut Cx<'_>,
        slot: ValueSlot<'_>,
        kind: ValueKind,
    ) -> Result<Interest, Raise> {
        let selection = match self.selection(cx.rules) {
            Some(selection) if kind == ValueKind::Object => selection,
            Some(_) if cx.rules.closed => {
                let message = "cannot select from this element: it is not an object";
                return Err(self.closed_miss(cx, message.to_owned()));
            }
            // Each element of an array is treated like an item.
            _ => {
                let start = cx.rules.removed(self.has_missed()).start();
                return Ok(self.unselected(cx, slot, kind, start));
            }
        };
        // The item is written as an object, even if nothing in it is selected.
        self.objects = true;
        self.open(cx, slot, kind);
        if selection.node(0).shared {
            self.capture(0, true);
            return Ok(Interest::Copy);
        }
        self.enter_select(selection, 0, true, true);
        Ok(Interest::Inspect)
    }

    /// Handles the end of an item with a selection.
    pub(super) fn item_ends(&mut self, cx: &mut Cx<'_>) -> Result<(), Raise> {
        if !matches!(self.roles.last(), Some(ContainerRole::Items)) {
            self.considered(cx)?;
        }
        Ok(())
    }
}
