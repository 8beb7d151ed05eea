//! The stage for `retain`: keeps what the pointers name, with the containers around it, and drops the rest (seed:
//! reShapr ToolsFilters; SPEC §8). Without pointers it keeps the document, which is validating and minifying.
//!
//! Streams: a container on the way is opened when something in it is kept. The root always is.

use smallvec::SmallVec;

use super::program::Compiled;
use super::stage::{Stage, With};
use crate::json::key::is_too_long_for;
use crate::json::writer::Writer;
use crate::json::{Halt, Handler, Interest, Kind, Slot};
use crate::path::trie::{Cursor, Names, Trie};
use crate::sink::Sink;

#[derive(Debug)]
pub(super) struct Retain {
    program: std::sync::Arc<Compiled>,
    whole: bool,
    open: SmallVec<[Open; 16]>,
    writer: Writer,
    scratch: Vec<u8>,
}

#[derive(Debug)]
struct Open {
    cursor: Cursor,
    object: bool,
}

impl Retain {
    pub(super) fn new(program: &std::sync::Arc<Compiled>) -> Self {
        Self {
            program: program.clone(),
            whole: program.retain.is_none(),
            open: SmallVec::new(),
            writer: Writer::default(),
            scratch: Vec::new(),
        }
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self) {
        self.open.clear();
        self.writer = Writer::default();
    }

    /// Keeps the document, whatever the program says.
    pub(super) fn whole(program: &std::sync::Arc<Compiled>) -> Self {
        Self { whole: true, ..Self::new(program) }
    }
}

impl Stage for Retain {
    fn flush(&mut self, sink: &mut dyn Sink) {
        self.writer.flush(sink);
    }
}

impl Handler for With<'_, Retain> {
    #[inline]
    fn value(&mut self, slot: Slot<'_>, kind: Kind, _: u64) -> Result<Interest, Halt> {
        let Self { stage, sink } = self;
        let Retain { program, whole, open, writer, scratch } = &mut **stage;
        let Some(trie) = program.retain.as_ref().filter(|_| !*whole) else {
            writer.begin(*sink);
            return Ok(Interest::Copy);
        };
        let cursor = match (slot, open.last()) {
            (Slot::Member(key), Some(top)) => key.with_name(|name| top.cursor.member(trie, name)),
            (Slot::Element(index), Some(top)) => top.cursor.element(trie, index),
            _ => trie.start(),
        };
        if cursor.is_hit() {
            writer.begin(*sink);
            return Ok(match slot {
                Slot::Member(_) => Interest::CopyMember,
                _ => Interest::Copy,
            });
        }
        let bracket = match kind {
            Kind::Object => b'{',
            Kind::Array => b'[',
            _ => {
                if let Slot::Top = slot {
                    // A text without containers, of which nothing is kept, must still be a JSON text.
                    writer.begin(*sink);
                    writer.raw(*sink, b"null");
                }
                return Ok(Interest::Skip);
            }
        };
        match slot {
            Slot::Top => writer.open(*sink, bracket),
            _ if cursor.is_dead() => return Ok(Interest::Skip),
            Slot::Member(key) => {
                scratch.clear();
                scratch.push(b'"');
                scratch.extend_from_slice(key.raw());
                scratch.push(b'"');
                writer.open_deferred(Some(scratch), bracket);
            }
            Slot::Element(_) => writer.open_deferred(None, bracket),
        }
        open.push(Open { cursor, object: kind == Kind::Object });
        Ok(Interest::Inspect)
    }

    #[inline]
    fn wanted(&self) -> Option<&Names> {
        let trie = self.stage.program.retain.as_ref()?;
        self.stage.open.last()?.cursor.names(trie)
    }

    fn close(&mut self, _: u64) -> Result<(), Halt> {
        let Retain { open, writer, .. } = &mut *self.stage;
        if let Some(top) = open.pop() {
            writer.close(self.sink, if top.object { b'}' } else { b']' });
        }
        Ok(())
    }

    #[inline]
    fn raw(&mut self, bytes: &[u8]) {
        self.stage.writer.raw(self.sink, bytes);
    }

    fn copied(&mut self, _: u64) -> Result<(), Halt> {
        Ok(())
    }

    fn lead(&mut self, bytes: &[u8]) {
        self.stage.writer.lead(bytes);
    }

    fn gap(&mut self, bytes: &[u8]) {
        self.stage.writer.gap(bytes);
    }

    fn takes_long_keys(&self, limit: usize) -> bool {
        // One that is on no path goes with its value.
        let longest = self.stage.program.retain.as_ref().map_or(0, Trie::longest_name);
        is_too_long_for(limit, longest)
    }
}
