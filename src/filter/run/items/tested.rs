//! Takes the verdicts of `where` for the elements of the payload.

use tamis_json::error::{Error, LimitName, Raise};
use tamis_json::machine::FeedResult;
use tamis_json::sink::Sink;
use tamis_json::{Interest, ValueKind, ValueSlot};

use super::first_hit::HitOutcome;
use super::tester::ItemVerdict;
use super::{Cx, ItemsStage, ItemsState, PayloadTarget};
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
    pub(super) fn tested(&mut self, cx: &Cx<'_>) -> Result<Option<Interest>, Raise> {
        let Some(tester) = &mut self.tester else { return Ok(None) };
        let Some((verdict, at)) = tester.next() else {
            tester.is_awaited = true;
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

    /// Returns whether the tester has to begin at the payload, before the stage enters it.
    pub(super) fn must_test(&mut self, kind: ValueKind) -> bool {
        let is_tested = kind == ValueKind::Array || self.tests_object(kind);
        match &mut self.tester {
            Some(tester) if is_tested && !tester.has_begun() => {
                tester.is_awaited = true;
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
        let interest = self.tested(cx)?;
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

/// Bytes that are read ahead at once. They are still in the cache when the machine reads them.
const AHEAD: usize = 64 << 10;

/// Feeds the machine of a stage pieces that its tester has read before. Where the stage stops for a verdict, the rest of
/// the piece is held.
pub(super) fn feed_tested(
    stage: &mut ItemsStage,
    engine: &mut StageMachine,
    chunk: &[u8],
    sink: &mut dyn Sink,
) -> Result<FeedResult, Error> {
    for piece in chunk.chunks(AHEAD) {
        let Some(tester) = &mut stage.state.tester else { break };
        tester.read(piece);
        if let Some(input) = tester.next_input(piece)?
            && feed_until_undecided(stage, engine, &input, sink)? == FeedResult::Stopped
        {
            return Ok(FeedResult::Stopped);
        }
    }
    Ok(FeedResult::All)
}

fn feed_until_undecided(
    stage: &mut ItemsStage,
    engine: &mut StageMachine,
    mut input: &[u8],
    sink: &mut dyn Sink,
) -> Result<FeedResult, Error> {
    loop {
        let begin = engine.machine.offset();
        if engine.feed(stage, input, sink)? == FeedResult::All {
            return Ok(FeedResult::All);
        }
        let offset = engine.machine.offset();
        let read = usize::try_from(offset.saturating_sub(begin)).unwrap_or(usize::MAX);
        input = input.get(read..).unwrap_or_default();
        let Some(tester) = &mut stage.state.tester else { return Ok(FeedResult::Stopped) };
        if !std::mem::take(&mut tester.is_awaited) {
            return Ok(FeedResult::Stopped);
        }
        if tester.has_begun() {
            tester.hold(input)?;
            return Ok(FeedResult::All);
        }
        tester.begin(offset);
        tester.read(input);
    }
}

/// Returns the error of an item that is too large to wait for.
fn too_large(limit: u64) -> Raise {
    let message =
        format!("an item tested by `where` needs more than {limit} bytes until it is decided");
    Raise::limit(LimitName::Item, message)
}
