//! The wait for the first hit: output is kept here until the hit, or discarded after a miss.
//!
//! Invariant: while it is active, nothing written since the checkpoint has reached the sink.

use super::{Cx, ItemsSnapshot, ItemsState, PayloadTarget, SHOWN, WaitOutcome};
use crate::error::{ErrorKind, Raise};
use crate::filter::compile::items::{RootRule, WaitFrom};
use crate::json::{Halt, Interest};
use crate::nearest::ComparisonBudget;
use crate::sink::Sink;
use crate::test_work::{WorkKind, count, words};

/// The largest output that is kept, in bytes. Longer output is produced again from the held input.
const KEPT: usize = 64 << 10;

/// Output that may still be discarded.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingOutput {
    pub(super) active: bool,
    kept: Vec<u8>,
    overflow: bool,
}

impl Sink for PendingOutput {
    fn write(&mut self, bytes: &[u8]) {
        if self.overflow || self.kept.len() + bytes.len() > KEPT {
            self.overflow = true;
            self.kept.clear();
        } else {
            count(WorkKind::Hold, words(bytes.len()));
            self.kept.extend_from_slice(bytes);
        }
    }
}

impl ItemsState {
    /// Returns whether input has to be held from here on.
    pub(super) fn must_wait(&self, cx: &Cx<'_>, from: WaitFrom) -> bool {
        self.waiting.is_none()
            && self.verdict.is_none()
            && self.target != PayloadTarget::RawText
            && cx.rules.waits() == Some(from)
    }

    /// Starts to keep output, and requests a checkpoint from the machine.
    #[cold]
    pub(super) fn mark(&mut self, cx: &mut Cx<'_>) -> Result<Interest, Halt> {
        self.writer.flush(cx.sink);
        // Before the first container there is no state to save.
        self.snapshot = Some(if self.roles.is_empty() {
            ItemsSnapshot::Beginning
        } else {
            ItemsSnapshot::State(Box::new(self.clone()))
        });
        self.pending = PendingOutput { active: true, ..PendingOutput::default() };
        self.waiting = Some(cx.offset);
        Ok(Interest::Mark)
    }

    /// Releases the output, because there was a hit or none is needed.
    pub(super) fn release_output(&mut self, cx: &mut Cx<'_>) -> Result<(), Halt> {
        let Some(mark) = self.waiting else { return Ok(()) };
        if cx.offset.saturating_sub(mark) > self.patience {
            return Err(Halt::Overdue);
        }
        if self.pending.overflow {
            self.verdict = Some(WaitOutcome::Hit);
            return Err(Halt::Rewind);
        }
        self.waiting = None;
        self.snapshot = None;
        cx.sink.write(&self.pending.kept);
        self.pending = PendingOutput::default();
        Ok(())
    }

    /// Handles a total miss: all items that count were seen, and there was no hit.
    #[cold]
    pub(super) fn total_miss(&mut self, cx: &Cx<'_>, message: String) -> Result<(), Halt> {
        if cx.rules.closed {
            return Err(self.closed_miss(cx, message));
        }
        if self.is_overdue(cx) {
            return Err(Halt::Overdue);
        }
        if cx.rules.root == RootRule::DocumentOrArray {
            self.target = PayloadTarget::Document;
        }
        self.counts.error = Some(format!("{message}: select does not apply"));
        self.verdict = Some(WaitOutcome::Miss);
        Err(Halt::Rewind)
    }

    /// Returns the error of a miss under `on_error: closed`.
    #[cold]
    pub(super) fn closed_miss(&mut self, cx: &Cx<'_>, message: String) -> Halt {
        if self.is_overdue(cx) {
            return Halt::Overdue;
        }
        self.counts.error = Some(message.clone());
        Raise::new(ErrorKind::Miss, message).into()
    }

    /// Returns whether the decision comes too late.
    fn is_overdue(&self, cx: &Cx<'_>) -> bool {
        self.waiting.is_some_and(|mark| cx.offset.saturating_sub(mark) > self.patience)
    }

    /// Decides, because every item that counts was seen.
    pub(super) fn considered(&mut self, cx: &mut Cx<'_>) -> Result<(), Halt> {
        if self.waiting.is_none() {
            return Ok(());
        }
        if !self.objects || cx.rules.select.is_none() {
            return self.release_output(cx);
        }
        let Some(select) = &cx.rules.select else { return Ok(()) };
        let mut sources = select.sources.iter().filter(|source| !source.passing);
        let (mut shown, mut meant, mut pairs) =
            (Vec::new(), Vec::new(), ComparisonBudget::default());
        for source in sources.by_ref().take(SHOWN) {
            shown.push(source.text.as_str());
            let seen = self.seen.as_ref();
            meant.extend(seen.and_then(|seen| seen.meant(select, source, &mut pairs)));
        }
        if sources.next().is_some() {
            shown.push("…");
        }
        let mut paths = shown.join(", ");
        if !meant.is_empty() {
            paths.push_str(&format!("; did you mean `{}`?", meant.join("`, `")));
        }
        self.total_miss(cx, format!("no item has any of the selected paths ({paths})"))
    }
}
