//! Takes the verdicts of `where` for the elements of the payload.

use tamis_json::error::{Error, LimitName, Raise};
use tamis_json::machine::{FeedResult, ObjectAhead};
use tamis_json::scan::WINDOW;
use tamis_json::sink::Sink;
use tamis_json::{Interest, ValueKind, ValueSlot};

use super::first_hit::HitOutcome;
use super::tester::AwaitedItem;
use super::verdicts::ItemVerdict;
use super::{ContainerRole, Cx, ItemsStage, ItemsState, PayloadTarget};
use crate::filter::compile::items::ItemRules;
use crate::filter::run::stage::StageMachine;

impl ItemsStage {
    /// Sets whether the document is one of many, which `where` may drop.
    pub(in crate::filter::run) fn for_record(mut self, yes: bool) -> Self {
        self.state.is_record = yes;
        self
    }

    /// Sets whether only `factor` reads the payload.
    pub(in crate::filter::run) fn for_factor(mut self, yes: bool) -> Self {
        self.state.is_for_factor = yes;
        self
    }
}

impl ItemsState {
    /// Tests an item. Returns the interest in it if it is dropped or undecided.
    #[inline]
    pub(super) fn tested(
        &mut self,
        cx: &Cx<'_>,
        item: AwaitedItem,
    ) -> Result<Option<Interest>, Raise> {
        let Some(tester) = &mut self.tester else { return Ok(None) };
        let Some((verdict, at)) = tester.next() else {
            tester.awaited = Some(item);
            return Ok(Some(Interest::Stop));
        };
        self.tested_at = at.max(cx.offset);
        match verdict {
            ItemVerdict::Keep => Ok(None),
            ItemVerdict::Drop => {
                self.counts.dropped += 1;
                Ok(Some(Interest::Skip))
            }
            ItemVerdict::TooLarge => Err(too_large(self.limits.item())),
        }
    }

    /// Looks ahead at an item, before the machine asks about it.
    #[inline]
    pub(super) fn look_ahead(&mut self, rules: &ItemRules, object: &mut ObjectAhead<'_>) {
        let is_item = match self.roles.last() {
            Some(role) => matches!(role, ContainerRole::Items),
            None => self.target == PayloadTarget::Document && self.tests_object(ValueKind::Object),
        };
        if let (true, Some(tester), Some(conditions)) =
            (is_item, &mut self.tester, &rules.conditions)
        {
            tester.look_ahead(conditions, object);
        }
    }

    /// Returns whether the payload has to wait for its verdict.
    pub(super) fn must_test(&mut self, kind: ValueKind) -> bool {
        let is_tested = self.tests_object(kind);
        match &mut self.tester {
            Some(tester) if is_tested && !tester.has_verdict() => {
                tester.awaited = Some(AwaitedItem::Payload);
                true
            }
            _ => false,
        }
    }

    /// Returns whether the payload is a single object that is tested: only if the document is one of many.
    pub(super) fn tests_object(&self, kind: ValueKind) -> bool {
        self.is_record
            && kind == ValueKind::Object
            && self.tester.is_some()
            && self.target != PayloadTarget::RawText
    }

    /// Tests a payload that is a single object. Returns the interest in it if it is dropped or undecided. If it is
    /// dropped, so is the output of the document, whatever it is.
    pub(super) fn tested_object(
        &mut self,
        cx: &mut Cx<'_>,
        slot: ValueSlot<'_>,
    ) -> Result<Option<Interest>, Raise> {
        let interest = self.tested(cx, AwaitedItem::Payload)?;
        if interest != Some(Interest::Skip) {
            return Ok(interest);
        }
        self.counts.is_document_dropped = true;
        self.payload_met = true;
        self.decide(cx, HitOutcome::Hit);
        let stops = self.has_decided();
        Ok(Some(if stops { Interest::Stop } else { self.pass(cx, slot) }))
    }
}

/// Feeds the machine of a stage that tests items.
pub(super) fn feed_tested(
    stage: &mut ItemsStage,
    engine: &mut StageMachine,
    chunk: &[u8],
    sink: &mut dyn Sink,
) -> Result<FeedResult, Error> {
    let mut rest = chunk;
    while let Some(tester) = &mut stage.state.tester
        && tester.waiting() > 0
    {
        // Only a little of the chunk is copied to the bytes that wait.
        let Some((piece, later)) = rest.split_at_checked(rest.len().min(WINDOW)) else { break };
        if piece.is_empty() {
            return Ok(FeedResult::All);
        }
        let held = tester.waiting();
        let Some(input) = tester.read_waiting(piece, &engine.machine)? else {
            rest = later;
            continue;
        };
        let read = feed_decided(stage, engine, &input, sink)?;
        if let Some(tester) = &mut stage.state.tester {
            tester.reuse(input);
        }
        let Some(read) = read else { return Ok(FeedResult::Stopped) };
        // The next item that is undecided begins after the one that has waited.
        let read = (read as u64).saturating_sub(held);
        rest = rest.get(usize::try_from(read).unwrap_or(usize::MAX)..).unwrap_or_default();
    }
    let Some(read) = feed_decided(stage, engine, rest, sink)? else {
        return Ok(FeedResult::Stopped);
    };
    let undecided = rest.get(read..).unwrap_or_default();
    if let (Some(tester), false) = (&mut stage.state.tester, undecided.is_empty()) {
        tester.hold(undecided, &engine.machine)?;
    }
    Ok(FeedResult::All)
}

/// Feeds the machine up to an item about which the input does not decide. Returns the number of bytes that it has read, or
/// `None` if the stage has stopped for another reason.
fn feed_decided(
    stage: &mut ItemsStage,
    engine: &mut StageMachine,
    input: &[u8],
    sink: &mut dyn Sink,
) -> Result<Option<usize>, Error> {
    let begin = engine.machine.offset();
    let mut rest = input;
    loop {
        let from = input.len() - rest.len();
        if engine.feed(stage, rest, sink)? == FeedResult::All {
            return Ok(Some(input.len()));
        }
        let offset = engine.machine.offset();
        let read = usize::try_from(offset.saturating_sub(begin)).unwrap_or(usize::MAX);
        rest = input.get(read..).unwrap_or_default();
        let Some(tester) = &mut stage.state.tester else { return Ok(None) };
        let Some(item) = tester.awaited.take() else { return Ok(None) };
        // The window may have cut the item. The next window begins with the item.
        if read > from && tester.looks_ahead() {
            continue;
        }
        tester.read_from(offset, rest, item);
        if !tester.has_verdict() {
            return Ok(Some(read));
        }
    }
}

/// Returns the error of an item that is too large to wait for.
fn too_large(limit: u64) -> Raise {
    let message =
        format!("an item tested by `where` needs more than {limit} bytes until it is decided");
    Raise::limit(LimitName::Item, message)
}
