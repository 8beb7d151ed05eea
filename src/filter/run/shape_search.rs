//! Searches a document for the paths of `requires`, which say whether the rules are for documents of its shape (SPEC §5).
//!
//! The document is held until the result is certain. Nothing is written.
//!
//! | event, with `requires: [items[].id]` | result | example |
//! |---|---|---|
//! | the last missing path is found | the shape fits | `{"items":[{"id":` and the first byte of the value |
//! | a value ends that should have contained a path | another shape | `{"items":[{"name":"x"}` |
//! | the document is a scalar | another shape | `"text"` |
//!
//! A wildcard looks at the first member or element, and so does a name that meets an array. Of duplicate members the first
//! one counts.

use std::sync::Arc;

use smallvec::SmallVec;
use tamis_json::error::Raise;
use tamis_json::key::is_too_long_for;
use tamis_json::path::trie::NodeId;
use tamis_json::path::{PathToken, index};
use tamis_json::sink::Sink;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};

use super::document::scope::DocumentScope;
use super::lookahead::{Input, Lookahead, Probe};
use super::stage::{StageHandler, StageState, machine_config};
use crate::filter::compile::program::Program;
use crate::filter::compile::shape::RequiredShape;
use crate::filter::options::CallOptions;

/// The search, reused for all documents of a run.
#[derive(Debug)]
pub(super) struct ShapeSearch {
    /// The program for documents of the shape.
    pub(super) program: Program,
    /// The program of the first search in a document. Another one follows if its fallback has a shape, too.
    pub(super) first: Program,
    pub(super) ahead: Lookahead<ShapeProbe>,
}

/// Decides whether the document has the required paths.
#[derive(Debug)]
pub(super) struct ShapeProbe {
    /// Follows `extract`: the paths begin at the extracted value.
    scope: DocumentScope,
    shape: Arc<RequiredShape>,
    /// By node: whether a value was found there. Later ones are duplicates.
    met: Vec<bool>,
    /// The open containers on a path.
    open: Vec<OpenContainer>,
    /// By path: whether it was found.
    found: Vec<bool>,
    missing: usize,
    /// Whether all paths exist, and the offset of the byte that made it certain.
    decided: Option<(bool, u64)>,
}

/// The places in the trie that a container corresponds to.
#[derive(Debug, Default)]
struct OpenContainer {
    places: SmallVec<[Place; 2]>,
    /// The number of members seen so far. Elements have their own numbers.
    members: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    node: NodeId,
    /// Reached through the first element of an array: a name still applies, but no index.
    names_only: bool,
}

impl ShapeSearch {
    /// `first`: the program of the first search. `prefix`: the number of bytes before the document.
    pub(super) fn new(
        first: &Program,
        program: &Program,
        shape: &Arc<RequiredShape>,
        options: &CallOptions,
        prefix: u64,
    ) -> Self {
        let compiled = program.compiled();
        let config = machine_config(&compiled.spec, options.limits(), false);
        let probe = ShapeProbe {
            scope: DocumentScope::new(compiled, false),
            shape: shape.clone(),
            met: vec![false; shape.trie.len()],
            open: Vec::new(),
            found: vec![false; shape.count],
            missing: shape.count,
            decided: None,
        };
        let mut ahead = Lookahead::new(config, options.scanner(), probe, Input::once());
        ahead.skip_prefix(prefix);
        Self { program: program.clone(), first: first.clone(), ahead }
    }

    /// Returns whether another search came before.
    pub(super) fn is_later(&self) -> bool {
        !Arc::ptr_eq(self.first.compiled(), self.program.compiled())
    }

    /// Begins a new document.
    pub(super) fn restart(&mut self, options: &CallOptions) {
        let config = machine_config(&self.program.compiled().spec, options.limits(), false);
        self.ahead.restart(config, Input::once());
        let probe = self.ahead.probe_mut();
        probe.scope.restart();
        probe.open.clear();
        probe.met.fill(false);
        probe.found.fill(false);
        (probe.missing, probe.decided) = (probe.shape.count, None);
    }

    /// Whether a document of another shape is an error.
    fn is_enforced(&self) -> bool {
        self.ahead.probe().shape.is_enforced && self.program.compiled().fallback.is_none()
    }

    /// Returns the program for a document that has the shape, or does not.
    ///
    /// # Errors
    /// It does not, and a rule removes for safety.
    pub(super) fn program_for(&self, fits: bool) -> Result<&Program, Raise> {
        match fits {
            true => Ok(&self.program),
            false if self.is_enforced() => {
                Err(RequiredShape::does_not_fit(&self.program.compiled().spec))
            }
            false => Ok(self.program.other_shape()),
        }
    }
}

impl ShapeProbe {
    /// Returns the places of a child of the innermost open container.
    fn child(&mut self, slot: ValueSlot<'_>) -> SmallVec<[Place; 2]> {
        let trie = &self.shape.trie;
        let met = &mut self.met;
        let mut next = SmallVec::new();
        // A place is entered once: of duplicates the first one counts.
        let mut add = |node, names_only| {
            let is_new = names_only
                || met.get_mut(node as usize).is_some_and(|met| !std::mem::replace(met, true));
            if is_new {
                next.push(Place { node, names_only });
            }
        };
        let Some(top) = self.open.last_mut() else {
            add(0, false);
            return next;
        };
        let (first, key, number) = match slot {
            ValueSlot::Member(key) => {
                top.members += 1;
                (top.members == 1, Some(key), None)
            }
            ValueSlot::Element(number) => (number == 0, None, Some(number)),
            ValueSlot::Top => (false, None, None),
        };
        for Place { node, names_only } in top.places.iter().copied() {
            let named = key.and_then(|key| {
                key.with_name(|name| {
                    let name = name.filter(|name| !names_only || !is_index(name))?;
                    trie.member(node, name)
                })
            });
            let numbered = number.filter(|_| !names_only).and_then(|at| trie.element(node, at));
            let any = trie.any(node).filter(|_| first && !names_only);
            for child in [named, numbered, any].into_iter().flatten() {
                add(child, false);
            }
            if number == Some(0) {
                add(node, true);
            }
        }
        next
    }

    /// Records that a value at these places exists.
    fn meet(&mut self, places: &[Place], offset: u64) {
        for place in places.iter().filter(|place| !place.names_only) {
            for path in self.shape.trie.ends(place.node) {
                if let Some(found @ false) = self.found.get_mut(*path as usize) {
                    *found = true;
                    self.missing -= 1;
                }
            }
        }
        if self.missing == 0 {
            self.decided.get_or_insert((true, offset));
        }
    }

    /// Decides for another shape if a path is missing that the value at these places should have contained.
    fn complete(&mut self, places: &[Place], offset: u64) {
        let is_missing = |node: NodeId| {
            let below = self.shape.below.get(node as usize).into_iter().flatten();
            below.into_iter().any(|path| self.found.get(*path as usize) == Some(&false))
        };
        let lacks = |place: &Place| match place.names_only {
            false => is_missing(place.node),
            // An index or a wildcard does not apply to it, so it says nothing about these.
            true => self.shape.trie.children(place.node).iter().any(|(token, child)| {
                matches!(token, PathToken::Name(_)) && token.index().is_none() && is_missing(*child)
            }),
        };
        if places.iter().any(lacks) {
            self.decided.get_or_insert((false, offset));
        }
    }
}

/// Whether a name is also an index.
fn is_index(name: &[u8]) -> bool {
    std::str::from_utf8(name).is_ok_and(|name| index(name).is_some())
}

impl Probe for ShapeProbe {
    type Decision = bool;

    fn decided(&self) -> Option<(bool, u64)> {
        self.decided
    }
}

impl StageState for ShapeProbe {
    fn flush(&mut self, _: &mut dyn Sink) {}
}

impl Handler for StageHandler<'_, ShapeProbe> {
    fn value(
        &mut self,
        mut slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Raise> {
        let probe = &mut *self.stage;
        // The piece that was being read may go on after the decision.
        if probe.decided.is_some() {
            return Ok(Interest::SkipRest);
        }
        if let Some(interest) = probe.scope.find(&mut slot, kind)? {
            return Ok(interest);
        }
        let places = probe.child(slot);
        if places.is_empty() {
            return Ok(Interest::Skip);
        }
        probe.meet(&places, offset);
        if probe.decided.is_none() && !kind.is_container() {
            probe.complete(&places, offset);
        }
        if probe.decided.is_some() {
            return Ok(Interest::Stop);
        }
        if !kind.is_container() {
            return Ok(Interest::Skip);
        }
        probe.open.push(OpenContainer { places, members: 0 });
        Ok(Interest::Inspect)
    }

    fn close(&mut self, offset: u64) -> Result<(), Raise> {
        let probe = &mut *self.stage;
        if probe.decided.is_some() || !probe.scope.close()? {
            return Ok(());
        }
        if let Some(OpenContainer { places, .. }) = probe.open.pop() {
            probe.complete(&places, offset);
        }
        Ok(())
    }

    fn raw(&mut self, _: &[u8]) {}

    fn takes_long_keys(&self, limit: usize) -> bool {
        let probe = &*self.stage;
        if !probe.scope.is_inside() {
            return probe.scope.takes_long_keys(limit);
        }
        is_too_long_for(limit, probe.shape.trie.longest_name())
    }
}
