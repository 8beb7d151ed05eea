//! The stage that writes the elements of the payload as lines, instead of the document.
//!
//! ```text
//! {"total":2,"items":[{"id":1},{"id":2}]}        the filtered document
//! {"id":1}⏎{"id":2}                              the output: no line end after the last element
//! ```
//!
//! A payload that is not an array is a line of its own. A document without the payload has no lines. Nothing is held.

use tamis_json::error::Raise;
use tamis_json::sink::Sink;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};

use super::json_stage::OutputState;
use crate::filter::run::root_path::{RootPath, RootStep, RootTracker};
use crate::filter::run::stage::{StageHandler, StageState};

/// The handler of the stage. One per document.
#[derive(Debug)]
pub(super) struct ElementStage {
    /// Finds the payload.
    way: RootTracker,
    /// The payload is open: each value is an element.
    in_items: bool,
    /// A line was written, so that the next one needs a line end before it.
    begun: bool,
}

impl ElementStage {
    /// Creates the stage for one document.
    pub(super) fn new(place: RootPath) -> Self {
        Self { way: RootTracker::new(place), in_items: false, begun: false }
    }

    /// Begins a line.
    fn line(&mut self, sink: &mut dyn Sink) -> Interest {
        if self.begun {
            sink.write(b"\n");
        }
        self.begun = true;
        Interest::Copy
    }
}

impl OutputState for ElementStage {}

impl StageState for ElementStage {
    // Nothing is buffered.
    fn flush(&mut self, _: &mut dyn Sink) {}
}

impl Handler for StageHandler<'_, ElementStage> {
    /// Copies elements, and a payload that is not an array. Skips everything else.
    fn value(&mut self, slot: ValueSlot<'_>, kind: ValueKind, _: u64) -> Result<Interest, Raise> {
        let Self { stage, sink } = self;
        if stage.in_items {
            return Ok(stage.line(*sink));
        }
        let met = stage.way.has_met();
        let step = stage.way.step(slot, kind);
        if step != RootStep::Outside {
            stage.way.enter(kind);
            stage.in_items = step == RootStep::Items;
            return Ok(Interest::Inspect);
        }
        let payload = matches!(slot, ValueSlot::Top)
            || (stage.way.is_at_parent() && !met && stage.way.has_met());
        Ok(if payload { stage.line(*sink) } else { Interest::Skip })
    }

    /// Ends the payload or a container on the path.
    fn close(&mut self, _: u64) -> Result<(), Raise> {
        self.stage.way.leave();
        self.stage.in_items = false;
        Ok(())
    }

    /// Writes copied bytes.
    fn raw(&mut self, bytes: &[u8]) {
        self.sink.write(bytes);
    }
}
