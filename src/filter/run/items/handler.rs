//! The handler of the stage on items: passes the machine's events on to the code for the innermost container's role,
//! and lets the machine's fast loops handle the members that need no decision.

use super::select::SelectTaker;
use super::{ContainerRole, Cx, ItemsStage, PayloadTarget};
use crate::error::Raise;
use crate::filter::compile::items::ItemRules;
use crate::filter::run::stage::StageHandler;
use crate::json::key::is_too_long_for;
use crate::json::{ExcludedMembers, Handler, Interest, MemberTaker, ValueKind, ValueSlot};
use crate::path::PathToken;
use crate::path::trie::{NameTable, NodeId};
use crate::spec::DuplicateKeys;

impl Handler for StageHandler<'_, ItemsStage> {
    #[inline]
    fn value(
        &mut self,
        slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Raise> {
        let ItemsStage { program, state } = &mut *self.stage;
        let rules = &program.items;
        let offset = state.replaying.unwrap_or(offset);
        state.value(&mut Cx { rules, sink: self.sink, offset }, slot, kind)
    }

    #[inline]
    fn wanted(&self) -> Option<&NameTable> {
        // If nothing is left to find, or names are kept, the machine has to ask for each member.
        let Some(ContainerRole::Select { node, left: 1.., names: false, .. }) =
            self.stage.state.roles.last()
        else {
            return None;
        };
        self.stage.program.items.select.as_ref()?.trie.names(*node)
    }

    #[inline]
    fn is_done(&self) -> bool {
        let rules = &self.stage.program.items;
        let last = self.stage.state.roles.last();
        matches!(last, Some(ContainerRole::Select { left: 0, .. }))
            && rules.duplicates == DuplicateKeys::First
    }

    #[inline]
    fn found(
        &mut self,
        child: NodeId,
        slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Raise> {
        let ItemsStage { program, state } = &mut *self.stage;
        let rules = &program.items;
        let offset = state.replaying.unwrap_or(offset);
        state.select_child(&mut Cx { rules, sink: self.sink, offset }, child, slot, kind)
    }

    #[inline]
    fn taking(&mut self) -> Option<(&NameTable, impl MemberTaker)> {
        let ItemsStage { program, state } = &mut *self.stage;
        let rules = &program.items;
        SelectTaker::new(rules, state, self.sink)
    }

    #[inline]
    fn excluded(&self) -> Option<ExcludedMembers<'_>> {
        // Every rule is named: the loop must not keep a member past a rule that it does not know.
        let ItemRules {
            idle: _,
            root: _,
            keep_siblings: _,
            max_items: _,
            stop_early: _,
            select: _,
            exclude,
            drop_nulls,
            drop_empty,
            closed: _,
            judges: _,
            refuses: _,
            duplicates: _,
        } = &self.stage.program.items;
        let Some(ContainerRole::Emit { cursor, object, .. }) = self.stage.state.roles.last() else {
            return None;
        };
        let names = match (cursor.is_dead(), object) {
            (true, _) => None,
            (false, true) => Some((cursor.names(exclude)?, exclude)),
            // Elements have indices, which may be excluded.
            (false, false) => return None,
        };
        Some(ExcludedMembers { names, nulls: *drop_nulls, empty: *drop_empty })
    }

    #[inline]
    fn keep(&mut self, members: &[u8]) {
        let writer = &mut self.stage.state.writer;
        writer.begin(self.sink);
        writer.raw(self.sink, members);
    }

    fn close(&mut self, offset: u64) -> Result<(), Raise> {
        let ItemsStage { program, state } = &mut *self.stage;
        let rules = &program.items;
        let offset = state.replaying.unwrap_or(offset);
        state.close(&mut Cx { rules, sink: self.sink, offset })
    }

    #[inline]
    fn raw(&mut self, bytes: &[u8]) {
        let state = &mut self.stage.state;
        if let Some(capture) = &mut state.capture {
            capture.push(bytes, state.limits.item().saturating_sub(state.captured));
            return;
        }
        state.writer.raw(self.sink, bytes);
    }

    #[inline]
    fn copied(&mut self, offset: u64) -> Result<(), Raise> {
        if self.stage.state.capture.is_none() {
            return Ok(());
        }
        self.replay(offset)
    }

    fn lead(&mut self, bytes: &[u8]) {
        self.stage.state.writer.lead(bytes);
    }

    fn gap(&mut self, bytes: &[u8]) {
        self.stage.state.writer.gap(bytes);
    }

    fn takes_long_keys(&self, limit: usize) -> bool {
        let ItemsStage { program, state } = &*self.stage;
        // Every rule is named: a key that is too long to compare must not pass a rule that would have matched it.
        let ItemRules {
            idle: _,
            root: _,
            keep_siblings,
            max_items: _,
            stop_early: _,
            select,
            exclude: _,
            drop_nulls: _,
            drop_empty: _,
            closed: _,
            judges: _,
            refuses: _,
            duplicates: _,
        } = &program.items;
        let longest = match state.roles.last() {
            // A kept value is kept with its key.
            Some(ContainerRole::Emit { .. }) => return false,
            Some(ContainerRole::OnPath { .. }) => match &state.target {
                PayloadTarget::At(path) if !*keep_siblings => {
                    path.0.iter().map(PathToken::len).max().unwrap_or(0)
                }
                // Siblings are kept with their keys. The payload is found by its position or kind.
                _ => return false,
            },
            _ => select.as_ref().map_or(0, |select| select.trie.longest_name()),
        };
        is_too_long_for(limit, longest)
    }
}
