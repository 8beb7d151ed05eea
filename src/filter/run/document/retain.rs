//! The stage on a document without patches: keeps the values at the pointers of `retain` with the containers around
//! them, and drops the rest. Without pointers it keeps the whole document, which only validates and minifies it.
//!
//! A container is opened when something in it is kept. The root always is. Values outside the extracted value are
//! read but not written.
//!
//! Elements of arrays are opened and closed without events, unless something in them needs one.
//!
//! Example with the pointer `/a/b`:
//!
//! ```text
//! input      decision   action                               written
//! {          partly     opened, as the root                  {
//! "a":{      partly     opened deferred
//! "b":1      kept       copied, which commits the opening    "a":{"b":1
//! "c":2      removed    skipped
//! }                     closed                               }
//! "d":{..}   removed    skipped as a whole
//! }                     closed                               }
//! ```

use std::sync::Arc;

use smallvec::SmallVec;
use tamis_json::error::Raise;
use tamis_json::path::trie::{Cursor, NameTable, Trie};
use tamis_json::policy::{Output, Policy};
use tamis_json::sink::Sink;
use tamis_json::writer::JsonWriter;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};

use super::scope::{DocumentScope, Retention};
use crate::filter::compile::program::CompiledProgram;
use crate::filter::run::stage::{StageHandler, StageState};

/// The handler that applies `extract` and `retain`. Its output never waits for a decision.
#[derive(Debug)]
pub(super) struct RetainStage {
    scope: DocumentScope,
    /// The open containers that are kept partly, outermost first. Containers on the path to `extract` are not among
    /// them, and neither are copied ones.
    open: SmallVec<[RetainedContainer; 16]>,
    /// Knows which of the open containers are still deferred.
    writer: JsonWriter,
}

#[derive(Debug)]
struct RetainedContainer {
    /// The positions in the pointers that this container has.
    cursor: Cursor,
    /// An object. Otherwise an array.
    object: bool,
}

impl RetainStage {
    pub(super) fn new(program: &Arc<CompiledProgram>) -> Self {
        Self {
            scope: DocumentScope::new(program, true),
            open: SmallVec::new(),
            writer: JsonWriter::default(),
        }
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self) {
        self.scope.restart();
        self.open.clear();
        self.writer.reset();
    }
}

impl StageState for RetainStage {
    const OWN_MACHINE: bool = true;

    fn flush(&mut self, sink: &mut dyn Sink) {
        self.writer.flush(sink);
    }
}

/// Returns the policy for an object that is opened for members with these names.
#[inline]
fn named<'a>(
    names: &'a NameTable,
    trie: &'a Trie,
    writer: &'a mut JsonWriter,
    sink: &'a mut dyn Sink,
) -> Policy<'a> {
    Policy {
        names: Some((names, trie.actions())),
        output: Some(Output { writer, sink }),
        ..Policy::SKIP
    }
}

impl Handler for StageHandler<'_, RetainStage> {
    /// Decides about a value, and opens it if it is kept partly.
    #[inline]
    fn value(
        &mut self,
        mut slot: ValueSlot<'_>,
        kind: ValueKind,
        _: u64,
    ) -> Result<Interest, Raise> {
        let Self { stage, sink } = self;
        let RetainStage { scope, open, writer } = &mut **stage;
        let top = open.last().map(|top| &top.cursor);
        let cursor = match scope.judge(&mut slot, kind, top)? {
            Retention::Outside(interest) => return Ok(interest),
            Retention::Kept => {
                writer.begin(*sink);
                return Ok(match slot {
                    ValueSlot::Member(_) => Interest::CopyMember,
                    _ => Interest::Copy,
                });
            }
            Retention::Removed => {
                if let ValueSlot::Top = slot {
                    // There is no event at its end.
                    scope.leave();
                    // A scalar document of which nothing is kept must still produce valid JSON.
                    writer.begin(*sink);
                    writer.raw(*sink, b"null");
                }
                return Ok(Interest::Skip);
            }
            Retention::Partly(cursor) => cursor,
        };
        let object = kind == ValueKind::Object;
        let bracket = if object { b'{' } else { b'[' };
        // Only the root is written even if nothing in it is kept.
        match slot {
            ValueSlot::Top => writer.open(*sink, bracket),
            ValueSlot::Member(key) => writer.open_deferred_spelled(key.raw(), bracket),
            ValueSlot::Element(_) => writer.open_deferred(None, bracket),
        }
        open.push(RetainedContainer { cursor, object });
        Ok(Interest::Inspect)
    }

    /// States the pointers of the open container as a policy: names on no pointer are skipped by the machine.
    #[inline]
    fn policy(&mut self) -> Policy<'_> {
        let Self { stage, sink } = self;
        let RetainStage { scope, open, writer } = &mut **stage;
        let (true, Some(trie), Some(top)) = (scope.is_inside(), scope.retain(), open.last()) else {
            return Policy::ASK;
        };
        match top.cursor.names(trie) {
            Some(names) => named(names, trie, writer, *sink),
            // No pointer has an element of this array.
            None if top.cursor.is_dead() => Policy::SKIP,
            None => Policy::ASK,
        }
    }

    /// Opens an element of which only members with the names of pointers are kept.
    #[inline]
    fn enter_object(&mut self, index: u64) -> Option<Policy<'_>> {
        let Self { stage, sink } = self;
        let RetainStage { scope, open, writer } = &mut **stage;
        let trie = scope.retain().filter(|_| scope.is_inside())?;
        let cursor = open.last()?.cursor.element(trie, index);
        let names = cursor.names(trie).filter(|_| !cursor.is_hit())?;
        writer.open_deferred(None, b'{');
        open.push(RetainedContainer { cursor, object: true });
        Some(named(names, trie, writer, *sink))
    }

    #[inline]
    fn leave_object(&mut self) {
        let RetainStage { open, writer, .. } = &mut *self.stage;
        open.pop();
        writer.close(self.sink, b'}');
    }

    fn close(&mut self, _: u64) -> Result<(), Raise> {
        let RetainStage { scope, open, writer } = &mut *self.stage;
        if !scope.close()? {
            // The container is around the extracted value, so it was never opened.
            return Ok(());
        }
        if let Some(top) = open.pop() {
            writer.close(self.sink, if top.object { b'}' } else { b']' });
        }
        if open.is_empty() {
            scope.leave();
        }
        Ok(())
    }

    #[inline]
    fn raw(&mut self, bytes: &[u8]) {
        self.stage.writer.raw(self.sink, bytes);
    }

    fn copied(&mut self, _: u64) -> Result<(), Raise> {
        // The document itself was copied, so it has ended.
        if self.stage.open.is_empty() {
            self.stage.scope.leave();
        }
        Ok(())
    }

    fn lead(&mut self, bytes: &[u8]) {
        if self.stage.scope.is_inside() {
            self.stage.writer.lead(bytes);
        }
    }

    fn gap(&mut self, bytes: &[u8]) {
        if self.stage.scope.is_inside() {
            self.stage.writer.gap(bytes);
        }
    }

    fn takes_long_keys(&self, limit: usize) -> bool {
        // A key that is on no path is dropped with its value.
        self.stage.scope.takes_long_keys(limit)
    }
}
