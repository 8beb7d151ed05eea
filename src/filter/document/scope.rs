//! Which values of the input are in the document, and which of those are kept: `extract` (seed: kimbap; SPEC §3) and
//! `retain` (seed: reShapr ToolsFilters; SPEC §8), as answers about one value after the other.
//!
//! Writes nothing, and has no stack: who asks knows the cursor of the container that is open.

use std::sync::Arc;

use crate::error::{ErrorKind, Raise};
use crate::filter::program::Compiled;
use crate::json::key::is_too_long_for;
use crate::json::{Halt, Interest, ValueKind, ValueSlot};
use crate::path::PathToken;
use crate::path::trie::{Cursor, Trie};

#[derive(Debug)]
pub(in crate::filter) struct Scope {
    program: Arc<Compiled>,
    /// All of the document is kept.
    whole: bool,
    /// Whether the document is to be found in the input.
    extracts: bool,
    place: Place,
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

/// What is to be done with a value.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It is not of the document: this is wanted of it.
    Beside(Interest),
    /// It is kept, and all that is in it.
    Kept,
    /// A container: what is in it may be kept.
    Way(Cursor),
    /// Nothing of it is kept.
    Gone,
}

impl Scope {
    /// `retains`: whether that rule counts.
    pub(in crate::filter) fn new(program: &Arc<Compiled>, retains: bool) -> Self {
        let extracts = program.extract.is_some();
        let place = if extracts { Place::Way(0) } else { Place::Inside };
        let whole = !retains || program.retain.is_none();
        Self { program: program.clone(), whole, extracts, place }
    }

    /// Begins a new document.
    pub(in crate::filter) fn restart(&mut self) {
        self.place = if self.extracts { Place::Way(0) } else { Place::Inside };
    }

    /// Whether the machine is in the document.
    #[inline]
    pub(in crate::filter) fn is_inside(&self) -> bool {
        self.place == Place::Inside
    }

    /// Judges a value; `top` is the cursor of the container that is open. The document's own slot is `Top`.
    #[inline]
    pub(super) fn judge(
        &mut self,
        slot: &mut ValueSlot<'_>,
        kind: ValueKind,
        top: Option<&Cursor>,
    ) -> Result<Verdict, Halt> {
        if let Some(interest) = self.find(slot, kind)? {
            return Ok(Verdict::Beside(interest));
        }
        let Some(trie) = self.retain() else { return Ok(Verdict::Kept) };
        let cursor = match (*slot, top) {
            (ValueSlot::Member(key), Some(top)) => key.with_name(|name| top.member(trie, name)),
            (ValueSlot::Element(index), Some(top)) => top.element(trie, index),
            _ => trie.start(),
        };
        Ok(if cursor.is_hit() {
            Verdict::Kept
        } else if kind.is_container() && (!cursor.is_dead() || matches!(slot, ValueSlot::Top)) {
            Verdict::Way(cursor)
        } else {
            Verdict::Gone
        })
    }

    /// What is wanted of a value that is not of the document; the document's own slot is `Top`.
    #[inline]
    pub(in crate::filter) fn find(
        &mut self,
        slot: &mut ValueSlot<'_>,
        kind: ValueKind,
    ) -> Result<Option<Interest>, Halt> {
        if self.place != Place::Inside {
            if let Some(interest) = self.beside(*slot, kind)? {
                return Ok(Some(interest));
            }
            *slot = ValueSlot::Top;
        }
        Ok(None)
    }

    /// The pointers of what is kept, if not all is.
    pub(super) fn retain(&self) -> Option<&Trie> {
        if self.whole { None } else { self.program.retain.as_ref() }
    }

    /// A value before the extracted one, or behind it: what is wanted of it, or `None` if it is the extracted one.
    #[cold]
    fn beside(&mut self, slot: ValueSlot<'_>, kind: ValueKind) -> Result<Option<Interest>, Halt> {
        let Place::Way(step) = self.place else { return Ok(Some(Interest::SkipRest)) };
        let path = self.program.extract.as_ref().map_or(&[][..], |path| &path.0);
        let here = match (slot, step.checked_sub(1).and_then(|step| path.get(step))) {
            (ValueSlot::Member(key), Some(PathToken::Name(name))) => {
                key.with_name(|spelled| spelled == Some(name.as_bytes()))
            }
            (ValueSlot::Element(index), Some(token)) => token.index() == Some(index),
            (ValueSlot::Top, None) => true,
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

    /// The document has ended.
    pub(in crate::filter) fn leave(&mut self) {
        if self.extracts {
            self.place = Place::Behind;
        }
    }

    /// A container ends. Whether it is one of the document.
    ///
    /// # Errors
    /// It is one on the way to the document, which was not in it.
    pub(in crate::filter) fn close(&self) -> Result<bool, Halt> {
        match self.place {
            Place::Way(_) => Err(self.nothing_there()),
            Place::Behind => Ok(false),
            Place::Inside => Ok(true),
        }
    }

    fn nothing_there(&self) -> Halt {
        let path = self.program.spec.extract.as_deref().unwrap_or_default();
        let message = format!("extract: the document has nothing at {path}");
        Raise::new(ErrorKind::Miss, message).into()
    }

    /// Whether a key of more than `limit` bytes goes with its value, where what is on no path goes.
    pub(in crate::filter) fn takes_long_keys(&self, limit: usize) -> bool {
        let longest = if self.is_inside() {
            self.program.retain.as_ref().map_or(0, Trie::longest_name)
        } else {
            let path = self.program.extract.iter().flat_map(|path| &path.0);
            path.map(PathToken::len).max().unwrap_or(0)
        };
        is_too_long_for(limit, longest)
    }
}
