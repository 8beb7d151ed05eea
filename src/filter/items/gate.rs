//! The wait for the first hit: output stays in the gate until it is certain, or is taken back.
//!
//! Invariant: while the gate is shut, nothing of what was written since the checkpoint is with the sink.

use super::{Cx, SHOWN, Snapshot, State, Target, Verdict};
use crate::error::{ErrorKind, Raise};
use crate::filter::program::{RootRule, WaitFrom};
use crate::json::{Halt, Interest};
use crate::nearest::ComparisonBudget;
use crate::sink::Sink;
use crate::test_work::{WorkKind, count, words};

/// Output that waits for the first hit. More of it is made again instead, from the held input.
const GATE: usize = 64 << 10;

/// Output that may have to be taken back.
#[derive(Clone, Debug, Default)]
pub(super) struct Gate {
    pub(super) shut: bool,
    kept: Vec<u8>,
    overflow: bool,
}

impl Sink for Gate {
    fn write(&mut self, bytes: &[u8]) {
        if self.overflow || self.kept.len() + bytes.len() > GATE {
            self.overflow = true;
            self.kept.clear();
        } else {
            count(WorkKind::Hold, words(bytes.len()));
            self.kept.extend_from_slice(bytes);
        }
    }
}

impl State {
    /// Whether the input from here on must be held.
    pub(super) fn must_wait(&self, cx: &Cx<'_>, from: WaitFrom) -> bool {
        self.waiting.is_none()
            && self.verdict.is_none()
            && self.target != Target::RawText
            && cx.rules.waits() == Some(from)
    }

    /// Shuts the gate, and has the machine make a checkpoint.
    #[cold]
    pub(super) fn mark(&mut self, cx: &mut Cx<'_>) -> Result<Interest, Halt> {
        self.writer.flush(cx.sink);
        // Before the first container opens, nothing has happened yet.
        self.snapshot = Some(if self.roles.is_empty() {
            Snapshot::Beginning
        } else {
            Snapshot::State(Box::new(self.clone()))
        });
        self.gate = Gate { shut: true, ..Gate::default() };
        self.waiting = Some(cx.offset);
        Ok(Interest::Mark)
    }

    /// What was waited for is certain: the output so far is good.
    pub(super) fn open_gate(&mut self, cx: &mut Cx<'_>) -> Result<(), Halt> {
        let Some(mark) = self.waiting else { return Ok(()) };
        if cx.offset.saturating_sub(mark) > self.patience {
            return Err(Halt::Overdue);
        }
        if self.gate.overflow {
            self.verdict = Some(Verdict::Hit);
            return Err(Halt::Rewind);
        }
        self.waiting = None;
        self.snapshot = None;
        cx.sink.write(&self.gate.kept);
        self.gate = Gate::default();
        Ok(())
    }

    /// All that is considered was seen, and nothing was found.
    #[cold]
    pub(super) fn total_miss(&mut self, cx: &Cx<'_>, message: String) -> Result<(), Halt> {
        if cx.rules.closed {
            return Err(self.closed_miss(cx, message));
        }
        if self.is_overdue(cx) {
            return Err(Halt::Overdue);
        }
        if cx.rules.root == RootRule::DocumentOrArray {
            self.target = Target::Document;
        }
        self.counts.error = Some(format!("{message}: select does not apply"));
        self.verdict = Some(Verdict::Miss);
        Err(Halt::Rewind)
    }

    /// A miss, where that is an error.
    #[cold]
    pub(super) fn closed_miss(&mut self, cx: &Cx<'_>, message: String) -> Halt {
        if self.is_overdue(cx) {
            return Halt::Overdue;
        }
        self.counts.error = Some(message.clone());
        Raise::new(ErrorKind::Miss, message).into()
    }

    /// Whether the decision that is waited for comes too late.
    fn is_overdue(&self, cx: &Cx<'_>) -> bool {
        self.waiting.is_some_and(|mark| cx.offset.saturating_sub(mark) > self.patience)
    }

    /// Every item that counts was seen.
    pub(super) fn considered(&mut self, cx: &mut Cx<'_>) -> Result<(), Halt> {
        if self.waiting.is_none() {
            return Ok(());
        }
        if !self.objects || cx.rules.select.is_none() {
            return self.open_gate(cx);
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
