//! Decides for one value after the other whether it is part of the document (`extract`, seed: kimbap; SPEC §3), and
//! whether it is kept (`retain`, seed: reShapr ToolsFilters; SPEC §8).
//!
//! Writes nothing and has no stack: the caller provides the cursor of the open container. The handlers of this stage
//! use it, and so do the search for `extract` and the branches of `when`, which do not retain.
//!
//! ```text
//! with `extract`     OnPath(0) ── next step ──▶ OnPath(1) ── … ── last step ──▶ Inside ── leave ──▶ After
//!                        └──── a container on the path ends ──▶ error: no value
//! without            Inside
//! ```
//!
//! Example with `extract: /a/0` and the input `{"x":1,"a":[{"k":2},3]}`: the root is inspected as a container on the
//! path, `x` is skipped, the array is inspected, and its first element is the document. The `3` and everything after it
//! is skipped.

use std::sync::Arc;

use tamis_json::error::{ErrorKind, Raise};
use tamis_json::key::is_too_long_for;
use tamis_json::path::PathToken;
use tamis_json::path::trie::{Cursor, Trie};
use tamis_json::{Interest, ValueKind, ValueSlot};

use crate::filter::compile::program::CompiledProgram;

/// The position relative to the extracted value, and the pointers that apply inside it.
#[derive(Debug)]
pub(in crate::filter) struct DocumentScope {
    /// Has the path of `extract` and the pointers of `retain`.
    program: Arc<CompiledProgram>,
    /// The whole document is kept: `retain` is missing or does not apply here.
    whole: bool,
    /// The document is a value inside the input.
    extracts: bool,
    place: ScopePosition,
}

/// The position of the machine relative to the extracted value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScopePosition {
    /// On the path to it, inside this many containers. 0: the root of the input comes next.
    OnPath(usize),
    /// Inside it.
    Inside,
    /// After it.
    After,
}

/// The decision about a value.
#[derive(Debug)]
pub(super) enum Retention {
    /// The value is outside the document. The machine treats it like this.
    Outside(Interest),
    /// The whole value is kept.
    Kept,
    /// A container that may contain kept values.
    Partly(Cursor),
    /// Nothing of the value is kept.
    Removed,
}

impl DocumentScope {
    /// Creates the scope of a document. `retains`: whether `retain` applies.
    pub(in crate::filter) fn new(program: &Arc<CompiledProgram>, retains: bool) -> Self {
        let extracts = program.extract.is_some();
        let place = if extracts { ScopePosition::OnPath(0) } else { ScopePosition::Inside };
        let whole = !retains || program.retain.is_none();
        Self { program: program.clone(), whole, extracts, place }
    }

    /// Begins a new document.
    pub(in crate::filter) fn restart(&mut self) {
        self.place = if self.extracts { ScopePosition::OnPath(0) } else { ScopePosition::Inside };
    }

    /// Returns whether the machine is inside the document.
    #[inline]
    pub(in crate::filter) fn is_inside(&self) -> bool {
        self.place == ScopePosition::Inside
    }

    /// Classifies a value. `top`: the cursor of the open container, or `None` for the document itself, whose slot
    /// becomes `Top`.
    ///
    /// # Errors
    /// A scalar is on the path to the extracted value.
    #[inline]
    pub(super) fn judge(
        &mut self,
        slot: &mut ValueSlot<'_>,
        kind: ValueKind,
        top: Option<&Cursor>,
    ) -> Result<Retention, Raise> {
        if let Some(interest) = self.find(slot, kind)? {
            return Ok(Retention::Outside(interest));
        }
        let Some(trie) = self.retain() else { return Ok(Retention::Kept) };
        let cursor = match (*slot, top) {
            (ValueSlot::Member(key), Some(top)) => key.with_name(|name| top.member(trie, name)),
            (ValueSlot::Element(index), Some(top)) => top.element(trie, index),
            _ => trie.start(),
        };
        // The root is opened even if no pointer can match in it.
        Ok(if cursor.is_hit() {
            Retention::Kept
        } else if kind.is_container() && (!cursor.is_dead() || matches!(slot, ValueSlot::Top)) {
            Retention::Partly(cursor)
        } else {
            Retention::Removed
        })
    }

    /// Returns what to do with a value outside the document, or `None` for one inside. The slot of the document
    /// itself becomes `Top`.
    #[inline]
    pub(in crate::filter) fn find(
        &mut self,
        slot: &mut ValueSlot<'_>,
        kind: ValueKind,
    ) -> Result<Option<Interest>, Raise> {
        if self.place != ScopePosition::Inside {
            if let Some(interest) = self.outside(*slot, kind)? {
                return Ok(Some(interest));
            }
            *slot = ValueSlot::Top;
        }
        Ok(None)
    }

    /// Returns the pointers of `retain`, unless everything is kept.
    pub(super) fn retain(&self) -> Option<&Trie> {
        if self.whole { None } else { self.program.retain.as_ref() }
    }

    /// Handles a value before or after the extracted one. Returns `None` if it is the extracted one.
    ///
    /// Takes a step if the value is a container on the path. Only the first container of a name is entered: if it lacks
    /// the value, its end is an error, even if a duplicate follows.
    #[cold]
    fn outside(&mut self, slot: ValueSlot<'_>, kind: ValueKind) -> Result<Option<Interest>, Raise> {
        let ScopePosition::OnPath(step) = self.place else { return Ok(Some(Interest::SkipRest)) };
        let path = self.program.extract.as_ref().map_or(&[][..], |path| &path.0);
        // At step 0 the value is the root of the input. Later, token `step - 1` selects a child of the open container.
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
            self.place = ScopePosition::Inside;
            return Ok(None);
        }
        if !kind.is_container() {
            return Err(self.nothing_there());
        }
        self.place = ScopePosition::OnPath(step + 1);
        Ok(Some(Interest::Inspect))
    }

    /// Records the end of the document. With `extract` all values after it are skipped. Otherwise nothing follows.
    pub(in crate::filter) fn leave(&mut self) {
        if self.extracts {
            self.place = ScopePosition::After;
        }
    }

    /// Handles the end of a container. Returns whether it is part of the document.
    ///
    /// # Errors
    /// Fails if the container is on the path to the document and did not contain it.
    pub(in crate::filter) fn close(&self) -> Result<bool, Raise> {
        match self.place {
            ScopePosition::OnPath(_) => Err(self.nothing_there()),
            ScopePosition::After => Ok(false),
            ScopePosition::Inside => Ok(true),
        }
    }

    fn nothing_there(&self) -> Raise {
        let path = self.program.spec.extract.as_deref().unwrap_or_default();
        let message = format!("extract: no value at {path}");
        Raise::new(ErrorKind::Miss, message)
    }

    /// Returns whether a key of more than `limit` bytes is treated like one that is on no path.
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
