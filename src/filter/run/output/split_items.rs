//! The stage that applies a budget: separates the items of the filtered document from everything around them.
//!
//! It finds the payload. [`ItemBudget`] decides what is kept. All bytes of the document come through here once. Those
//! between the brackets of the payload are passed to [`ItemBudget::item`], all others to [`ItemBudget::frame`]. The
//! commas between items are passed to neither, because the budget writes its own.
//!
//! ```text
//! input         calls
//! {"total":2    point(OnPath), then frame
//! ,"items":[    point(Payload), frame, then array
//! {"a":1}       begin_item, item, end_item
//! {"a":2}       begin_item, item, end_item
//! ]             end_array, then frame
//! ,"next":3     frame
//! }             point(Mark), then frame
//! ```
//!
//! The writer gathers bytes of the frame. It is flushed before each point, so that a point is exactly between the bytes
//! that come before it and those that come after it.

use tamis_json::error::{Error, Raise};
use tamis_json::limits::Limits;
use tamis_json::sink::Sink;
use tamis_json::writer::JsonWriter;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};

use super::budget::{FramePoint, ItemBudget};
use super::json_stage::OutputState;
use crate::filter::compile::size_policy::SizePolicy;
use crate::filter::run::payload_length::PayloadLength;
use crate::filter::run::pipe::Next;
use crate::filter::run::root_path::{RootPath, RootStep, RootTracker};
use crate::filter::run::stage::{StageHandler, StageState};
use crate::report::Report;

/// The handler of the stage. One per document.
#[derive(Debug)]
pub(super) struct ItemSplitter {
    /// Finds the payload.
    way: RootTracker,
    /// Writes the frame, including its commas.
    writer: JsonWriter,
    /// Decides what is kept, and writes to the sink.
    budget: ItemBudget,
    /// The payload is open: each value is an item.
    in_items: bool,
    /// An item is being copied. Its bytes do not belong to the frame.
    in_item: bool,
    /// The first error of text that could not be held. A sink cannot return it. After it, nothing more is passed on.
    failed: Option<Raise>,
}

/// A sink for bytes of the frame. The writer writes to it.
struct FrameSink<'a> {
    /// Receives the bytes.
    budget: &'a mut ItemBudget,
    /// Where the budget writes to.
    sink: &'a mut dyn Sink,
    /// The error of the splitter.
    failed: &'a mut Option<Raise>,
}

impl Sink for FrameSink<'_> {
    fn write(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            *self.failed = self.budget.frame(bytes, self.sink).err();
        }
    }
}

impl ItemSplitter {
    /// Creates the stage for one document. `length`: counters that the stage on items sets.
    pub(super) fn new(
        place: RootPath,
        policy: SizePolicy,
        length: &PayloadLength,
        limits: &Limits,
    ) -> Self {
        Self {
            way: RootTracker::new(place),
            writer: JsonWriter::default(),
            budget: ItemBudget::new(policy, length, limits),
            in_items: false,
            in_item: false,
            failed: None,
        }
    }

    /// Returns the writer of the frame with its sink, and the position, which is needed at the same time.
    fn frame<'a>(
        &'a mut self,
        sink: &'a mut dyn Sink,
    ) -> (&'a mut JsonWriter, &'a mut RootTracker, FrameSink<'a>) {
        let Self { writer, budget, failed, way, .. } = self;
        (writer, way, FrameSink { budget, sink, failed })
    }

    /// Runs a step of the budget, unless one has failed.
    fn step(&mut self, step: impl FnOnce(&mut ItemBudget) -> Result<(), Raise>) {
        if self.failed.is_none() {
            self.failed = step(&mut self.budget).err();
        }
    }
}

impl OutputState for ItemSplitter {
    const MEASURES: bool = true;

    /// Takes the error of text that could not be held.
    fn error(&mut self) -> Option<Error> {
        self.failed.take().map(|raise| self.budget.place(raise))
    }

    /// Writes what fits. An output that is too long is not an error here.
    fn finish(&mut self, next: &mut Next<'_>) -> Result<(), Error> {
        if let Some(error) = self.error() {
            return Err(error);
        }
        self.budget.end(next).map_err(|raise| self.budget.place(raise))?;
        let facts = &mut next.facts;
        facts.exceeded = self.budget.is_exceeded();
        facts.kept = self.budget.kept().unwrap_or(facts.kept);
        facts.place = self.budget.steps().map(|steps| RootPath::Steps(steps.to_vec()));
        facts.mark = self.budget.mark().map(str::to_owned);
        facts.prefix_mark = self.budget.prefix_mark();
        Ok(())
    }

    fn report(&self, report: &mut Report) {
        report.held_peak_bytes += self.budget.peak();
        if report.error.is_some() || !self.budget.has_limit() {
            return;
        }
        if let Some(kept) = self.budget.kept() {
            report.items_kept = Some(kept);
        }
        report.budget_applied = self.budget.has_cut();
    }

    #[cfg(test)]
    fn work(&self) -> u64 {
        self.budget.work()
    }
}

impl StageState for ItemSplitter {
    fn flush(&mut self, sink: &mut dyn Sink) {
        let (writer, _, mut frame) = self.frame(sink);
        writer.flush(&mut frame);
    }
}

impl Handler for StageHandler<'_, ItemSplitter> {
    /// Decides about a value: an item is copied to the budget, a container on the path is opened in the frame, and all
    /// other values are copied to the frame.
    fn value(&mut self, slot: ValueSlot<'_>, kind: ValueKind, _: u64) -> Result<Interest, Raise> {
        let Self { stage, sink } = self;
        if stage.in_items {
            stage.flush(*sink);
            match stage.budget.begin_item(*sink) {
                Ok(true) if stage.failed.is_none() => {
                    stage.in_item = true;
                    return Ok(Interest::Copy);
                }
                Ok(_) => {}
                Err(raise) => stage.failed = Some(raise),
            }
            // The budget needs no more items. The rest of the array is not read.
            return Ok(Interest::SkipRest);
        }
        // The name of the mark must differ from those of the members next to the payload.
        if let ValueSlot::Member(key) = slot
            && stage.way.is_at_parent()
        {
            stage.budget.sibling(key.raw());
        }
        let step = stage.way.step(slot, kind);
        if step != RootStep::Outside {
            stage.flush(*sink);
            // The point comes before the comma and the key, because it belongs to the whole child.
            let point =
                if step == RootStep::Items { FramePoint::Payload } else { FramePoint::OnPath };
            stage.step(|budget| budget.point(point, *sink));
        }
        let (writer, way, mut frame) = stage.frame(*sink);
        if step == RootStep::Outside {
            writer.begin(&mut frame);
            return Ok(match slot {
                ValueSlot::Member(_) => Interest::CopyMember,
                _ => Interest::Copy,
            });
        }
        if let ValueSlot::Member(key) = slot {
            writer.spelled(&mut frame, key.raw());
        }
        writer.open(&mut frame, if kind == ValueKind::Object { b'{' } else { b'[' });
        way.enter(kind);
        if step == RootStep::Items {
            // The items follow the opening bracket.
            let in_object = way.is_around_in_object();
            writer.flush(&mut frame);
            stage.step(|budget| budget.array(in_object, *sink));
            stage.in_items = true;
        }
        Ok(Interest::Inspect)
    }

    /// Ends the payload or a container on the path. Other containers are copied and do not come here.
    fn close(&mut self, _: u64) -> Result<(), Raise> {
        let Self { stage, sink } = self;
        let in_items = std::mem::take(&mut stage.in_items);
        // The mark is the last element of an array that has no object around it. Otherwise it is the last member of
        // that object.
        let alone = in_items && !stage.way.is_around_in_object();
        let parent = !in_items && stage.way.is_at_parent() && stage.way.is_in_object();
        if in_items || parent {
            stage.flush(*sink);
        }
        if in_items {
            stage.step(|budget| budget.end_array(*sink));
        }
        if alone || parent {
            stage.step(|budget| budget.point(FramePoint::Mark, *sink));
        }
        let (writer, way, mut frame) = stage.frame(*sink);
        writer.close(&mut frame, if way.is_in_object() { b'}' } else { b']' });
        way.leave();
        Ok(())
    }

    /// Passes copied bytes on, to the item or to the frame.
    fn raw(&mut self, bytes: &[u8]) {
        let Self { stage, sink } = self;
        if !stage.in_item {
            let (writer, _, mut frame) = stage.frame(*sink);
            return writer.raw(&mut frame, bytes);
        }
        stage.step(|budget| budget.item(bytes, *sink));
    }

    fn copied(&mut self, _: u64) -> Result<(), Raise> {
        let stage = &mut *self.stage;
        if std::mem::take(&mut stage.in_item) {
            stage.budget.end_item();
        }
        Ok(())
    }
}
