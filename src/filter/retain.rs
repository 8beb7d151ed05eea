//! The stage on the document: `extract` makes a value of it the document (seed: kimbap; SPEC §3), and `retain` keeps what
//! the pointers name, with the containers around it, and drops the rest (seed: reShapr ToolsFilters; SPEC §8). Without
//! pointers it keeps the document, which is validating and minifying.
//!
//! Streams: a container on the way is opened when something in it is kept. The root always is. What is beside the extracted
//! value is read and writes nothing.

use smallvec::SmallVec;

use super::program::Compiled;
use super::stage::{Stage, With};
use crate::error::{ErrorKind, Raise};
use crate::json::key::is_too_long_for;
use crate::json::writer::Writer;
use crate::json::{Halt, Handler, Interest, Kind, Slot};
use crate::path::Token;
use crate::path::trie::{Cursor, Names, Trie};
use crate::sink::Sink;

#[derive(Debug)]
pub(super) struct Retain {
    program: std::sync::Arc<Compiled>,
    whole: bool,
    /// Whether the document is to be found in the input.
    extracts: bool,
    place: Place,
    open: SmallVec<[Open; 16]>,
    writer: Writer,
    scratch: Vec<u8>,
}

/// Where the machine is, seen from the extracted value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// On the way to it, inside so many containers.
    Way(usize),
    /// In it.
    Inside,
    /// Behind it.
    Behind,
}

impl Place {
    fn start(extracts: bool) -> Self {
        if extracts { Self::Way(0) } else { Self::Inside }
    }
}

#[derive(Debug)]
struct Open {
    cursor: Cursor,
    object: bool,
}

impl Retain {
    pub(super) fn new(program: &std::sync::Arc<Compiled>) -> Self {
        let extracts = program.extract.is_some();
        Self {
            program: program.clone(),
            whole: program.retain.is_none(),
            extracts,
            place: Place::start(extracts),
            open: SmallVec::new(),
            writer: Writer::default(),
            scratch: Vec::new(),
        }
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self) {
        self.place = Place::start(self.extracts);
        self.open.clear();
        self.writer.reset();
    }

    /// Keeps the document, whatever the program retains.
    pub(super) fn whole(program: &std::sync::Arc<Compiled>) -> Self {
        Self { whole: true, ..Self::new(program) }
    }

    /// Takes the input for the document, whatever the program extracts.
    pub(super) fn without_extract(mut self) -> Self {
        self.extracts = false;
        self.place = Place::Inside;
        self
    }

    /// A value before the extracted one, or behind it: what is wanted of it, or `None` if it is the extracted one.
    #[cold]
    fn beside(&mut self, slot: Slot<'_>, kind: Kind) -> Result<Option<Interest>, Halt> {
        let Place::Way(step) = self.place else { return Ok(Some(Interest::SkipRest)) };
        let path = self.program.extract.as_ref().map_or(&[][..], |path| &path.0);
        let here = match (slot, step.checked_sub(1).and_then(|step| path.get(step))) {
            (Slot::Member(key), Some(Token::Name(name))) => {
                key.with_name(|spelled| spelled == Some(name.as_bytes()))
            }
            (Slot::Element(index), Some(token)) => token.index() == Some(index),
            (Slot::Top, None) => true,
            _ => false,
        };
        if !here {
            return Ok(Some(Interest::Skip));
        }
        if step == path.len() {
            self.place = Place::Inside;
            return Ok(None);
        }
        if !kind.is_container() {
            return Err(self.nothing_there());
        }
        self.place = Place::Way(step + 1);
        Ok(Some(Interest::Inspect))
    }

    /// The extracted value, which is whole, has ended.
    fn leave(&mut self) {
        if self.extracts {
            self.place = Place::Behind;
        }
    }

    fn nothing_there(&self) -> Halt {
        let path = self.program.spec.extract.as_deref().unwrap_or_default();
        let message = format!("extract: the document has nothing at {path}");
        Raise::new(ErrorKind::Miss, message).into()
    }
}

impl Stage for Retain {
    fn flush(&mut self, sink: &mut dyn Sink) {
        self.writer.flush(sink);
    }
}

impl Handler for With<'_, Retain> {
    #[inline]
    fn value(&mut self, mut slot: Slot<'_>, kind: Kind, _: u64) -> Result<Interest, Halt> {
        let Self { stage, sink } = self;
        if stage.place != Place::Inside {
            if let Some(interest) = stage.beside(slot, kind)? {
                return Ok(interest);
            }
            slot = Slot::Top;
        }
        let Retain { program, whole, open, writer, scratch, extracts, place } = &mut **stage;
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
                    if *extracts {
                        // It ends without an event.
                        *place = Place::Behind;
                    }
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
        if self.stage.place != Place::Inside {
            return None;
        }
        let trie = self.stage.program.retain.as_ref()?;
        self.stage.open.last()?.cursor.names(trie)
    }

    fn close(&mut self, _: u64) -> Result<(), Halt> {
        match self.stage.place {
            Place::Way(_) => return Err(self.stage.nothing_there()),
            Place::Behind => return Ok(()),
            Place::Inside => {}
        }
        let Retain { open, writer, .. } = &mut *self.stage;
        if let Some(top) = open.pop() {
            writer.close(self.sink, if top.object { b'}' } else { b']' });
        }
        if open.is_empty() {
            self.stage.leave();
        }
        Ok(())
    }

    #[inline]
    fn raw(&mut self, bytes: &[u8]) {
        self.stage.writer.raw(self.sink, bytes);
    }

    fn copied(&mut self, _: u64) -> Result<(), Halt> {
        if self.stage.open.is_empty() {
            self.stage.leave();
        }
        Ok(())
    }

    fn lead(&mut self, bytes: &[u8]) {
        if self.stage.place == Place::Inside {
            self.stage.writer.lead(bytes);
        }
    }

    fn gap(&mut self, bytes: &[u8]) {
        if self.stage.place == Place::Inside {
            self.stage.writer.gap(bytes);
        }
    }

    fn takes_long_keys(&self, limit: usize) -> bool {
        if self.stage.place != Place::Inside {
            let path = self.stage.program.extract.iter().flat_map(|path| &path.0);
            return is_too_long_for(limit, path.map(Token::len).max().unwrap_or(0));
        }
        // One that is on no path goes with its value.
        let longest = self.stage.program.retain.as_ref().map_or(0, Trie::longest_name);
        is_too_long_for(limit, longest)
    }
}
