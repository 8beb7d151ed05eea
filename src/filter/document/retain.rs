//! The stage on a document that is not patched: keeps what the pointers of `retain` name, with the containers around it, and
//! drops the rest. Without pointers it keeps the document, which is validating and minifying.
//!
//! Streams: a container on the way is opened when something in it is kept. The root always is. What is beside the extracted
//! value is read and writes nothing.

use std::sync::Arc;

use smallvec::SmallVec;

use super::scope::{Scope, Verdict};
use crate::filter::program::Compiled;
use crate::filter::stage::{Stage, With};
use crate::json::writer::JsonWriter;
use crate::json::{Halt, Handler, Interest, ValueKind, ValueSlot};
use crate::path::trie::{Cursor, NameTable};
use crate::sink::Sink;

#[derive(Debug)]
pub(super) struct Retain {
    scope: Scope,
    open: SmallVec<[Open; 16]>,
    writer: JsonWriter,
}

#[derive(Debug)]
struct Open {
    cursor: Cursor,
    object: bool,
}

impl Retain {
    pub(super) fn new(program: &Arc<Compiled>) -> Self {
        Self {
            scope: Scope::new(program, true),
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

impl Stage for Retain {
    fn flush(&mut self, sink: &mut dyn Sink) {
        self.writer.flush(sink);
    }
}

impl Handler for With<'_, Retain> {
    #[inline]
    fn value(
        &mut self,
        mut slot: ValueSlot<'_>,
        kind: ValueKind,
        _: u64,
    ) -> Result<Interest, Halt> {
        let Self { stage, sink } = self;
        let Retain { scope, open, writer } = &mut **stage;
        let top = open.last().map(|top| &top.cursor);
        let cursor = match scope.judge(&mut slot, kind, top)? {
            Verdict::Beside(interest) => return Ok(interest),
            Verdict::Kept => {
                writer.begin(*sink);
                return Ok(match slot {
                    ValueSlot::Member(_) => Interest::CopyMember,
                    _ => Interest::Copy,
                });
            }
            Verdict::Gone => {
                if let ValueSlot::Top = slot {
                    // It ends without an event.
                    scope.leave();
                    // A text without containers, of which nothing is kept, must still be a JSON text.
                    writer.begin(*sink);
                    writer.raw(*sink, b"null");
                }
                return Ok(Interest::Skip);
            }
            Verdict::Way(cursor) => cursor,
        };
        let object = kind == ValueKind::Object;
        let bracket = if object { b'{' } else { b'[' };
        match slot {
            ValueSlot::Top => writer.open(*sink, bracket),
            ValueSlot::Member(key) => writer.open_deferred_spelled(key.raw(), bracket),
            ValueSlot::Element(_) => writer.open_deferred(None, bracket),
        }
        open.push(Open { cursor, object });
        Ok(Interest::Inspect)
    }

    #[inline]
    fn wanted(&self) -> Option<&NameTable> {
        if !self.stage.scope.is_inside() {
            return None;
        }
        let trie = self.stage.scope.retain()?;
        self.stage.open.last()?.cursor.names(trie)
    }

    fn close(&mut self, _: u64) -> Result<(), Halt> {
        let Retain { scope, open, writer } = &mut *self.stage;
        if !scope.close()? {
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

    fn copied(&mut self, _: u64) -> Result<(), Halt> {
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
        // One that is on no path goes with its value.
        self.stage.scope.takes_long_keys(limit)
    }
}
