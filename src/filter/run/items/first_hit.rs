//! The search for the first hit: whether an item has any of the selected paths, so that select applies.
//!
//! The stage stops before the value from which on a miss would change its output. There a copy of it, the probe,
//! continues with a copy of the machine, while the input is held and the output of the probe is discarded. The probe
//! handles every value as the stage would. So the stage would find what it finds, and fail where it fails. When the
//! outcome is known, the stage continues.
//!
//! ```text
//! stage:  Open ──must_wait: stops before the value──▶ (the probe reads) ──end_search──▶ Known(Hit | Miss)
//! probe:  Probing(None) ──decide──▶ Probing(Some(outcome, offset))
//! ```
//!
//! | document, with `select: id` | the probe | output |
//! |---|---|---|
//! | `[{"a":1},{"id":2}]` | `Hit` at the value 2 | `[{},{"id":2}]` |
//! | `[{"a":1}]` | `Miss` at the closing `]` | `[{"a":1}]`, with a warning |
//! | `[{"a":1}]` and `on_error: closed` | `Refused` at the closing `]` | nothing; the run fails |
//!
//! The stage stops before the payload ([`WaitFrom::Payload`]), or before the document ([`WaitFrom::Document`]) if a
//! miss changes even the bytes before the payload. [`ItemRules::waits`] decides which of them applies.

use std::sync::Arc;

use tamis_json::error::{ErrorKind, Raise};
use tamis_json::nearest::ComparisonBudget;

use super::seen_names::SeenNames;
use super::{Cx, ItemsStage, ItemsState, PayloadTarget, SHOWN};
use crate::filter::compile::items::{ItemRules, RootRule, WaitFrom};
use crate::filter::compile::select_source::SelectSource;
use crate::filter::run::lookahead::Probe;

/// The outcome of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::filter::run) enum HitOutcome {
    /// A hit was found, or none is needed.
    Hit,
    /// The document has no hit: the payload passes unselected.
    Miss,
    /// The document has no hit, or the payload is a value of which nothing can be selected, and that is an error.
    Refused,
}

/// The state of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HitSearch {
    /// Not begun.
    Open,
    /// This is the probe. The outcome has the offset of the byte that made it certain.
    Probing(Option<(HitOutcome, u64)>),
    /// The stage was given the outcome by [`end_search`](ItemsStage::end_search). It does not wait again in this
    /// document.
    Known(HitOutcome),
}

impl Probe for ItemsStage {
    type Decision = HitOutcome;

    fn decided(&self) -> Option<(HitOutcome, u64)> {
        match self.state.search {
            HitSearch::Probing(decided) => decided,
            _ => None,
        }
    }

    /// An item is read after its verdict, which may need more of the input than an error inside it.
    fn needed(&self) -> u64 {
        self.state.tested_at
    }
}

impl ItemsStage {
    /// Returns whether the stage has stopped before a value that the probe must read first. Otherwise the machine was
    /// stopped by `stop_early`, and the run needs no more input.
    pub(in crate::filter::run) fn must_probe(&self) -> bool {
        self.state.search == HitSearch::Open && !self.state.counts.stopped
    }

    /// Returns whether the stage will stop at the document itself, if that is a container. Then the stage need not be
    /// fed its first byte: the probe can begin at once. A scalar is never waited for.
    pub(in crate::filter::run) fn stops_at_document(&self) -> bool {
        let (state, rules) = (&self.state, &self.program.items);
        let is_payload = state.target == PayloadTarget::Document;
        !rules.refuses
            && (state.must_wait(rules, WaitFrom::Document)
                || (is_payload && state.must_wait(rules, WaitFrom::Payload)))
    }

    /// Returns the probe for the rest of the document. Copies the state of the stage: time and memory grow with the
    /// nodes of the select, not with the document.
    pub(in crate::filter::run) fn begin_probe(&self) -> Self {
        let mut probe = self.clone();
        probe.begin_as_probe();
        probe
    }

    /// Makes the probe of an earlier document the probe for the rest of this one. It reuses the allocations of the earlier
    /// probe.
    pub(in crate::filter::run) fn begin_probe_in(&self, probe: &mut Self) {
        probe.state.copy_from(&self.state);
        probe.begin_as_probe();
    }

    fn begin_as_probe(&mut self) {
        self.state.search = HitSearch::Probing(None);
        // Its output has no reader that needs the length.
        self.state.length = None;
    }

    /// Ends the search. After a miss the stage takes over the message and the names, which only the probe has seen.
    /// After a hit it takes over nothing, because it reads the same values again and counts them itself.
    pub(in crate::filter::run) fn end_search(&mut self, outcome: HitOutcome, probe: &Self) {
        self.state.search = HitSearch::Known(outcome);
        if let Some(length) = &self.state.length {
            length.set_missed(outcome == HitOutcome::Miss);
        }
        if outcome == HitOutcome::Miss {
            self.state.counts.error.clone_from(&probe.state.counts.error);
            self.state.seen.clone_from(&probe.state.seen);
            if self.program.items.root == RootRule::DocumentOrArray {
                // The array used in place of the document had no hit either.
                self.state.target = PayloadTarget::Document;
            }
        }
    }

    /// Takes over the counts of the probe, in which the run failed.
    pub(in crate::filter::run) fn fail_as(&mut self, probe: &Self) {
        let ItemsState { counts, found, objects, target, seen, .. } = &probe.state;
        self.state.counts.clone_from(counts);
        self.state.found.clone_from(found);
        self.state.objects = *objects;
        self.state.target.clone_from(target);
        self.state.seen.clone_from(seen);
    }

    /// Returns whether the array used in place of the document had no hit either, so that the document is the
    /// payload.
    pub(in crate::filter::run) fn gave_up_array(&self) -> bool {
        self.program.items.root == RootRule::DocumentOrArray && self.state.has_missed()
    }
}

impl ItemsState {
    /// Returns whether the probe has to read on from here before the stage does.
    pub(super) fn must_wait(&self, rules: &ItemRules, from: WaitFrom) -> bool {
        self.search == HitSearch::Open
            && !self.is_for_factor
            && self.target != PayloadTarget::RawText
            && rules.waits() == Some(from)
    }

    /// Returns whether select does not apply, because there was no hit.
    pub(super) fn has_missed(&self) -> bool {
        self.search == HitSearch::Known(HitOutcome::Miss)
    }

    /// Returns whether this is the probe and has decided.
    pub(super) fn has_decided(&self) -> bool {
        matches!(self.search, HitSearch::Probing(Some(_)))
    }

    /// Ends the search of the probe. The first decision counts. The stage itself is not probing, so its calls have no
    /// effect.
    #[cold]
    pub(super) fn decide(&mut self, cx: &Cx<'_>, outcome: HitOutcome) {
        if let HitSearch::Probing(decided @ None) = &mut self.search {
            *decided = Some((outcome, cx.offset.max(self.tested_at)));
        }
    }

    /// Handles a total miss: all items that count were seen, and there was no hit.
    #[cold]
    pub(super) fn total_miss(&mut self, cx: &Cx<'_>, message: String) -> Result<(), Raise> {
        if cx.rules.closed {
            return Err(self.closed_miss(cx, message));
        }
        self.counts.error = Some(format!("{message}: select does not apply"));
        self.decide(cx, HitOutcome::Miss);
        Ok(())
    }

    /// Returns the error of a miss under `on_error: closed`.
    #[cold]
    pub(super) fn closed_miss(&mut self, cx: &Cx<'_>, message: String) -> Raise {
        self.decide(cx, HitOutcome::Refused);
        self.counts.error = Some(message.clone());
        Raise::new(ErrorKind::Miss, message)
    }

    /// Decides, because every item that counts was seen. Called at the end of the payload, at the end of a payload
    /// that is an object, and at the first element that `max_items` cuts. Does nothing in the stage itself. Without a
    /// select, or without an object among the items, nothing can be missed, so that counts as a hit. So does a source whose
    /// containers were all empty.
    pub(super) fn considered(&mut self, cx: &Cx<'_>) -> Result<(), Raise> {
        if self.search != HitSearch::Probing(None) {
            return Ok(());
        }
        let select = cx.rules.select.as_ref().filter(|_| self.objects);
        let Some(select) = select.filter(|_| !self.has_empty_source(cx)) else {
            self.decide(cx, HitOutcome::Hit);
            return Ok(());
        };
        // The message names the first paths only. Members of the envelope are not named: they are never missed.
        // Nor are the fields of projections: the message names their source as it is written.
        let named = |source: &&SelectSource| !source.passing && source.braces.is_none();
        let mut sources = select.sources.iter().filter(named);
        let (mut shown, mut corrected, mut pairs) =
            (Vec::new(), Vec::new(), ComparisonBudget::default());
        for source in sources.by_ref().take(SHOWN) {
            shown.push(source.text.as_str());
            let (seen, root) = (self.seen.as_ref(), self.counts.root.as_deref());
            let correction =
                |seen: &Arc<SeenNames>| seen.correction(select, source, root, &mut pairs);
            corrected.extend(seen.and_then(correction));
        }
        if sources.next().is_some() {
            shown.push("…");
        }
        let mut paths = shown.join(", ");
        if !corrected.is_empty() {
            paths.push_str(&format!("; did you mean `{}`?", corrected.join("`, `")));
        }
        self.total_miss(cx, format!("no item has any of the selected paths ({paths})"))
    }
}
