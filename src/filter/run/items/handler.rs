//! The handler of the stage on items: passes the machine's events on to the code for the innermost container's role.
//!
//! A held value is read by a machine of its own, whose events come here too. Their offsets are relative to the held
//! value, so the offset of the end of that value is used instead (`replaying`).
//!
//! | event | handled by |
//! |---|---|
//! | `value`, `close` | [`ItemsState`](super::ItemsState), by the role of the innermost container |
//! | `look_ahead` | `tested.rs` |
//! | `policy` | `policy.rs` |
//! | `raw` | the held value, if there is one, or else the writer |
//! | `copied` | `select.rs` (`replay`), if a value was held; otherwise nothing |
//! | `lead`, `gap` | the writer; they only come if white space is kept |
//!
//! A value is held while the machine copies it, so only `raw` comes between its first byte and `copied`.

use tamis_json::error::{Error, Raise};
use tamis_json::key::is_too_long_for;
use tamis_json::machine::{FeedResult, ObjectAhead};
use tamis_json::policy::Policy;
use tamis_json::sink::Sink;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};

use super::tested::feed_tested;
use super::{Cx, ItemsStage};
use crate::filter::run::stage::{StageHandler, StageMachine, StageState};

impl StageState for ItemsStage {
    const OWN_MACHINE: bool = true;

    fn flush(&mut self, sink: &mut dyn Sink) {
        self.state.writer.flush(sink);
    }

    #[inline]
    fn feed(
        &mut self,
        engine: &mut StageMachine,
        chunk: &[u8],
        sink: &mut dyn Sink,
    ) -> Result<FeedResult, Error> {
        if self.state.tester.is_some() {
            return feed_tested(self, engine, chunk, sink);
        }
        engine.feed(self, chunk, sink)
    }

    fn end(&mut self, engine: &mut StageMachine, sink: &mut dyn Sink) -> Result<(), Error> {
        if let Some(tester) = &mut self.state.tester {
            // The document ends within an undecided item, so it is invalid. The stage finds out where.
            let held = tester.give_up();
            engine.feed(self, &held, sink)?;
        }
        engine.end(self, sink)
    }

    fn waiting(&self) -> u64 {
        self.state.tester.as_ref().map_or(0, |tester| tester.waiting())
    }
}

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
    fn look_ahead(&mut self, object: &mut ObjectAhead<'_>) {
        let ItemsStage { program, state } = &mut *self.stage;
        state.look_ahead(&program.items, object);
    }

    #[inline]
    fn policy(&mut self) -> Policy<'_> {
        let ItemsStage { program, state } = &mut *self.stage;
        state.policy(&program.items, self.sink)
    }

    #[inline]
    fn enter_object(&mut self, index: u64) -> Option<Policy<'_>> {
        let ItemsStage { program, state } = &mut *self.stage;
        state.enter_item(&program.items, self.sink, index)
    }

    #[inline]
    fn leave_object(&mut self) {
        self.stage.state.leave_item(self.sink);
    }

    #[inline]
    fn drop_object(&mut self) {
        self.stage.state.drop_item();
    }

    fn stay_in_object(&mut self, container: bool) -> bool {
        let ItemsStage { program, state } = &mut *self.stage;
        state.stay_in_item(&program.items, self.sink, container)
    }

    fn close(&mut self, offset: u64) -> Result<(), Raise> {
        let ItemsStage { program, state } = &mut *self.stage;
        let rules = &program.items;
        let offset = state.replaying.unwrap_or(offset);
        state.close(&mut Cx { rules, sink: self.sink, offset })
    }

    #[inline]
    fn raw(&mut self, bytes: &[u8]) {
        // A value that more than one output needs is held. The values around it that are also held count against the limit.
        let state = &mut self.stage.state;
        if let Some(capture) = &mut state.capture {
            capture.push(bytes, state.limits.item().saturating_sub(state.captured));
            return;
        }
        state.writer.raw(self.sink, bytes);
    }

    #[inline]
    fn copied(&mut self, offset: u64) -> Result<(), Raise> {
        // The end of a copied value matters only if it was held: now it is read for each output.
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

    /// Returns whether a key of more than `limit` bytes can be handled without its text. If it cannot, the run fails
    /// with the limit of keys. A key that is only compared is harmless once it is longer than all spellings of the
    /// names it could match. A key that is written is needed in full.
    fn takes_long_keys(&self, limit: usize) -> bool {
        let ItemsStage { program, state } = &*self.stage;
        let longest = state.longest_name(&program.items);
        longest.is_some_and(|longest| is_too_long_for(limit, longest))
    }
}
