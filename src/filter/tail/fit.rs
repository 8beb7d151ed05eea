//! The stage that keeps a budget: tells the items of the filtered document from all around them.
//!
//! Knows the place of the payload; what is kept is the [`Budget`]'s to say.

use super::budget::{Budget, Point};
use super::policy::Policy;
use super::way::{Place, Step, Way};
use crate::error::{Error, Raise};
use crate::filter::length::Length;
use crate::filter::stage::{Stage, With};
use crate::json::writer::JsonWriter;
use crate::json::{Halt, Handler, Interest, ValueKind, ValueSlot};
use crate::limits::Limits;
use crate::sink::Sink;

#[derive(Debug)]
pub(super) struct Fit {
    way: Way,
    writer: JsonWriter,
    budget: Budget,
    /// The payload is open.
    in_items: bool,
    /// An item is copied.
    in_item: bool,
    /// The error of text that could not be held.
    failed: Option<Raise>,
}

/// Bytes of the frame.
struct Frame<'a> {
    budget: &'a mut Budget,
    sink: &'a mut dyn Sink,
    failed: &'a mut Option<Raise>,
}

impl Sink for Frame<'_> {
    fn write(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            *self.failed = self.budget.frame(bytes, self.sink).err();
        }
    }
}

impl Fit {
    pub(super) fn new(place: Place, policy: Policy, length: &Length, limits: &Limits) -> Self {
        Self {
            way: Way::new(place),
            writer: JsonWriter::default(),
            budget: Budget::new(policy, length, limits),
            in_items: false,
            in_item: false,
            failed: None,
        }
    }

    /// The error of text that could not be held, if there is one.
    pub(super) fn failed(&mut self) -> Result<(), Error> {
        self.failed.take().map_or(Ok(()), |raise| Err(self.budget.place(raise)))
    }

    /// The document is complete.
    pub(super) fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        self.failed()?;
        self.budget.end(sink).map_err(|raise| self.budget.place(raise))
    }

    /// Items that are kept; `None`: there is no array of items.
    pub(super) fn kept(&self) -> Option<u64> {
        self.budget.kept()
    }

    /// Whether the budget left something out.
    pub(super) fn has_cut(&self) -> bool {
        self.budget.has_cut()
    }

    /// Whether what is left is longer than the budget.
    pub(super) fn is_exceeded(&self) -> bool {
        self.budget.is_exceeded()
    }

    /// Where the payload is in what is left, if that may be another place.
    #[cfg(feature = "template")]
    pub(super) fn place(&self) -> Option<Place> {
        self.budget.steps().map(|steps| Place::Steps(steps.to_vec()))
    }

    /// The text of the payload's mark, if there is one.
    #[cfg(feature = "template")]
    pub(super) fn mark(&self) -> Option<&str> {
        self.budget.mark()
    }

    /// The most bytes that were held.
    pub(super) fn held_peak(&self) -> u64 {
        self.budget.peak()
    }

    /// Bytes that were looked at to make shorter forms.
    #[cfg(test)]
    pub(super) fn work(&self) -> u64 {
        self.budget.work()
    }

    fn frame<'a>(
        &'a mut self,
        sink: &'a mut dyn Sink,
    ) -> (&'a mut JsonWriter, &'a mut Way, Frame<'a>) {
        let Self { writer, budget, failed, way, .. } = self;
        (writer, way, Frame { budget, sink, failed })
    }

    /// Runs a step of the budget, unless one failed.
    fn step(&mut self, step: impl FnOnce(&mut Budget) -> Result<(), Raise>) {
        if self.failed.is_none() {
            self.failed = step(&mut self.budget).err();
        }
    }
}

impl Stage for Fit {
    fn flush(&mut self, sink: &mut dyn Sink) {
        let (writer, _, mut frame) = self.frame(sink);
        writer.flush(&mut frame);
    }
}

impl Handler for With<'_, Fit> {
    fn value(&mut self, slot: ValueSlot<'_>, kind: ValueKind, _: u64) -> Result<Interest, Halt> {
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
            return Ok(Interest::SkipRest);
        }
        if let ValueSlot::Member(key) = slot
            && stage.way.is_at_parent()
        {
            stage.budget.beside(key.raw());
        }
        let step = stage.way.step(slot, kind);
        if step != Step::Beside {
            stage.flush(*sink);
            let point = if step == Step::Items { Point::Payload } else { Point::Way };
            stage.step(|budget| budget.point(point, *sink));
        }
        let (writer, way, mut frame) = stage.frame(*sink);
        if step == Step::Beside {
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
        if step == Step::Items {
            let in_object = way.is_around_in_object();
            writer.flush(&mut frame);
            stage.step(|budget| budget.array(in_object, *sink));
            stage.in_items = true;
        }
        Ok(Interest::Inspect)
    }

    fn close(&mut self, _: u64) -> Result<(), Halt> {
        let Self { stage, sink } = self;
        let in_items = std::mem::take(&mut stage.in_items);
        let alone = in_items && !stage.way.is_around_in_object();
        let parent = !in_items && stage.way.is_at_parent() && stage.way.is_in_object();
        if in_items || parent {
            stage.flush(*sink);
        }
        if in_items {
            stage.step(|budget| budget.end_array(*sink));
        }
        if alone || parent {
            stage.step(|budget| budget.point(Point::Mark, *sink));
        }
        let (writer, way, mut frame) = stage.frame(*sink);
        writer.close(&mut frame, if way.is_in_object() { b'}' } else { b']' });
        way.leave();
        Ok(())
    }

    fn raw(&mut self, bytes: &[u8]) {
        let Self { stage, sink } = self;
        if !stage.in_item {
            let (writer, _, mut frame) = stage.frame(*sink);
            return writer.raw(&mut frame, bytes);
        }
        stage.step(|budget| budget.item(bytes, *sink));
    }

    fn copied(&mut self, _: u64) -> Result<(), Halt> {
        let stage = &mut *self.stage;
        if std::mem::take(&mut stage.in_item) {
            stage.budget.end_item();
        }
        Ok(())
    }
}
