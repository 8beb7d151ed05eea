//! Items that the machine enters, selects from and leaves without events, so that a small item costs little more than its
//! members.
//!
//! ```text
//! enter_item ──▶ the loop over its members ──▶ leave_item     its bracket is reached
//!                                         ├──▶ drop_item      a member fails a test of `where`
//!                                         └──▶ stay_in_item   something in it needs events: from here on the item has a role
//! ```
//!
//! Each does what [`value`](ItemsState::value) and [`close`](ItemsState::close) would do with the same item.

use tamis_json::policy::{KindSet, MemberTest, Once, Output, Policy};
use tamis_json::sink::Sink;
use tamis_json::writer::WriterMark;

use super::first_hit::{HitOutcome, HitSearch};
use super::{ContainerRole, ItemsState};
use crate::filter::compile::items::ItemRules;
use crate::spec::DuplicateKeys;

impl ItemsState {
    /// Enters an element of the payload if it is an item from which is selected, whatever its members are. Returns the
    /// policy for it. This is what [`value`](Self::value) does with such an item.
    #[inline]
    pub(super) fn enter_item<'a>(
        &'a mut self,
        rules: &'a ItemRules,
        sink: &'a mut dyn Sink,
        index: u64,
    ) -> Option<Policy<'a>> {
        let select = rules.select.as_ref()?;
        let mut names = select.trie.names(0)?;
        // Items that were dropped do not count.
        let index = index - self.counts.dropped;
        let is_decided = matches!(self.search, HitSearch::Open | HitSearch::Known(HitOutcome::Hit));
        let is_item = matches!(self.roles.last(), Some(ContainerRole::Items));
        let item = select.node(0);
        let mut left = item.members - item.passing_members;
        if !(is_item && is_decided && index < rules.max_items && left > 0)
            || item.shared
            || self.seen.as_ref().is_some_and(|seen| seen.wants(0))
        {
            return None;
        }
        let is_tested = match &mut self.tester {
            None => false,
            Some(tester) if tester.tests_members() => {
                let tests = rules.member_tests.as_ref()?;
                tester.members.begin(self.writer.mark()?);
                (names, left) = (&tests.names, left + tests.only_tested);
                true
            }
            Some(tester) => match tester.takes_kept() {
                true => false,
                false => return None,
            },
        };
        if !is_tested {
            self.keeps_item();
        }
        self.writer.open(sink, b'{');
        self.serial += 1;
        self.item_left = left;
        let Self { serial, item_left, met, actions, writer, tester, .. } = self;
        let tester = tester.as_mut().filter(|_| is_tested);
        Some(Policy {
            test: tester.map(|tester| &mut tester.members as &mut dyn MemberTest),
            names: Some((names, actions)),
            drop: KindSet::new(rules.drop_nulls, rules.drop_empty),
            once: Some(Once {
                met,
                serial: *serial,
                left: item_left,
                then_skips: rules.duplicates == DuplicateKeys::First,
            }),
            keys: &select.keys,
            output: Some(Output { writer, sink }),
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
            self.keeps_item();
        }
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
    pub(super) fn stay_in_item(&mut self, sink: &mut dyn Sink, container: bool) -> bool {
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
            self.keeps_item();
        }
        let (serial, left) = (self.serial, self.item_left);
        let role = ContainerRole::Select { node: 0, serial, left, item: true, names: false };
        self.roles.push(role);
        true
    }
}
