//! The stage that replaces values at the paths of `redact`.
//!
//! The paths begin at each item of the payload, as those of `exclude` do. Any other payload than an array is
//! the item. If an item is an array, its elements are items, too. All other values are copied.

use std::sync::Arc;

use tamis_json::error::Raise;
use tamis_json::path::trie::{Cursor, Trie};
use tamis_json::sink::Sink;
use tamis_json::writer::JsonWriter;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};

use super::json_stage::OutputState;
use crate::filter::compile::output::RedactRules;
use crate::filter::run::payload_length::PayloadLength;
use crate::filter::run::root_path::{RootPath, RootStep, RootTracker};
use crate::filter::run::stage::{StageHandler, StageState};
use crate::report::Report;

/// The handler of the stage. One per document.
#[derive(Debug)]
pub(super) struct RedactPathsStage {
    rules: Arc<RedactRules>,
    /// Whether the document passes with its own names, because a select found nothing.
    length: PayloadLength,
    /// Finds the payload.
    way: RootTracker,
    writer: JsonWriter,
    open: Vec<OpenContainer>,
    /// The number of replaced values.
    replaced: u64,
}

/// A container that was entered.
#[derive(Debug)]
struct OpenContainer {
    is_array: bool,
    place: Place,
}

/// The place of a container relative to the items.
#[derive(Debug)]
enum Place {
    /// It contains the payload.
    OnPath,
    /// It is the payload, whose elements are items.
    Items,
    /// It is an item, or inside of one. `is_item`: the container is an array in place of an item, so its elements are items, too.
    Inside { cursor: Cursor, is_item: bool },
}

impl RedactPathsStage {
    /// Creates the stage for one document.
    pub(super) fn new(rules: Arc<RedactRules>, place: RootPath, length: PayloadLength) -> Self {
        Self {
            rules,
            length,
            way: RootTracker::new(place),
            writer: JsonWriter::default(),
            open: Vec::new(),
            replaced: 0,
        }
    }

    /// Returns the paths that apply to this document.
    fn trie(&self) -> &Trie {
        if self.length.has_missed() { &self.rules.source_paths } else { &self.rules.paths }
    }

    /// Returns what a value is, or `None` if no path leads into it. `Err`: it is replaced.
    fn place(&mut self, slot: ValueSlot<'_>, kind: ValueKind) -> Result<Option<Place>, Replaced> {
        let trie = self.trie();
        let cursor = match self.open.last().map(|open| &open.place) {
            None | Some(Place::OnPath) => return Ok(self.place_on_path(slot, kind)),
            Some(Place::Items) => return Ok(Some(self.item(kind))),
            Some(Place::Inside { cursor, is_item }) => match slot {
                ValueSlot::Member(key) => key.with_name(|name| cursor.member(trie, name)),
                ValueSlot::Element(index) => {
                    let mut next = cursor.element(trie, index);
                    if *is_item {
                        next.begin(trie);
                        if !next.is_hit() {
                            let is_item = kind == ValueKind::Array;
                            return Ok(Some(Place::Inside { cursor: next, is_item }));
                        }
                    }
                    next
                }
                ValueSlot::Top => return Ok(None),
            },
        };
        if cursor.is_hit() {
            return Err(Replaced);
        }
        Ok((!cursor.is_dead()).then_some(Place::Inside { cursor, is_item: false }))
    }

    fn item(&self, kind: ValueKind) -> Place {
        Place::Inside { cursor: self.trie().start(), is_item: kind == ValueKind::Array }
    }

    fn place_on_path(&mut self, slot: ValueSlot<'_>, kind: ValueKind) -> Option<Place> {
        let (is_document, met) = (self.open.is_empty(), self.way.has_met());
        match self.way.step(slot, kind) {
            RootStep::OnPath => Some(Place::OnPath),
            RootStep::Items => Some(Place::Items),
            // The payload is a single item.
            RootStep::Outside if is_document || (self.way.has_met() && !met) => {
                Some(self.item(kind))
            }
            RootStep::Outside => None,
        }
    }
}

/// The value is replaced.
struct Replaced;

impl OutputState for RedactPathsStage {
    fn report(&self, report: &mut Report) {
        if self.replaced > 0 && report.error.is_none() {
            *report.redacted.entry("path".to_owned()).or_default() += self.replaced;
        }
    }
}

impl StageState for RedactPathsStage {
    const OWN_MACHINE: bool = true;

    fn flush(&mut self, sink: &mut dyn Sink) {
        self.writer.flush(sink);
    }
}

impl Handler for StageHandler<'_, RedactPathsStage> {
    fn value(&mut self, slot: ValueSlot<'_>, kind: ValueKind, _: u64) -> Result<Interest, Raise> {
        let Self { stage, sink } = self;
        let place = stage.place(slot, kind);
        let member = match slot {
            ValueSlot::Member(key) => Some(key),
            ValueSlot::Top | ValueSlot::Element(_) => None,
        };
        let place = match place {
            Err(Replaced) => {
                stage.replaced += 1;
                if let Some(key) = member {
                    stage.writer.spelled(*sink, key.raw());
                }
                stage.writer.begin(*sink);
                stage.writer.raw(*sink, &stage.rules.mark);
                return Ok(Interest::Skip);
            }
            Ok(place) => place.filter(|_| kind.is_container()),
        };
        let Some(place) = place else {
            stage.writer.begin(*sink);
            return Ok(if member.is_some() { Interest::CopyMember } else { Interest::Copy });
        };
        if let Some(key) = member {
            stage.writer.spelled(*sink, key.raw());
        }
        if matches!(place, Place::OnPath | Place::Items) {
            stage.way.enter(kind);
        }
        let is_array = kind == ValueKind::Array;
        stage.writer.open(*sink, if is_array { b'[' } else { b'{' });
        stage.open.push(OpenContainer { is_array, place });
        Ok(Interest::Inspect)
    }

    fn close(&mut self, _: u64) -> Result<(), Raise> {
        let RedactPathsStage { writer, way, open, .. } = &mut *self.stage;
        let Some(OpenContainer { is_array, place }) = open.pop() else { return Ok(()) };
        if matches!(place, Place::OnPath | Place::Items) {
            way.leave();
        }
        writer.close(self.sink, if is_array { b']' } else { b'}' });
        Ok(())
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.stage.writer.raw(self.sink, bytes);
    }
}
