//! Where in the filtered document the payload is.
//!
//! Knows names and numbers of members on the way to it; no rule. The stage before has decided; this finds the same place
//! again in what that has left.

use crate::filter::program::RootRule;
use crate::filter::root::Payload;
use crate::json::{ValueKind, ValueSlot};
use crate::path::{Path, PathToken};

#[derive(Clone, Debug)]
pub(super) struct Way {
    place: Place,
    /// The containers that are open on the way, and whether the child on the way has come.
    open: Vec<Level>,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    object: bool,
    met: bool,
    /// Children that have come.
    children: u64,
}

/// Where the payload is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Document,
    /// The first member that is an array.
    First,
    /// The member with this number.
    Member(u64),
    /// The child with this number, of each container on the way.
    #[cfg(feature = "template")]
    Steps(Vec<u64>),
    /// `alone`: nothing is left beside it, so that an element on the way is the first one, whatever its index was.
    At {
        path: Path,
        alone: bool,
    },
}

/// The position of a value relative to the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The payload, an array.
    Items,
    /// A container with the payload in it.
    Way,
    /// Anything else; also a payload that is no array.
    Beside,
}

impl Place {
    /// The place in what is left of a document whose payload was there. `siblings`: its siblings are left too.
    pub(super) fn new(root: &RootRule, payload: Option<Payload>, siblings: bool) -> Self {
        match (payload, root) {
            (Some(Payload::Member(number)), _) => Self::Member(if siblings { number } else { 0 }),
            (Some(_), _) => Self::Document,
            (None, RootRule::First) => Self::First,
            (None, RootRule::At(path)) => Self::At { path: path.clone(), alone: !siblings },
            (None, _) => Self::Document,
        }
    }
}

impl Way {
    pub(super) fn new(place: Place) -> Self {
        Self { place, open: Vec::new() }
    }

    /// Whether the container that was entered last has the payload as its child.
    pub(super) fn is_at_parent(&self) -> bool {
        match &self.place {
            Place::Document => false,
            Place::First | Place::Member(_) => self.open.len() == 1,
            #[cfg(feature = "template")]
            Place::Steps(steps) => !steps.is_empty() && self.open.len() == steps.len(),
            Place::At { path, .. } => self.open.len() == path.0.len(),
        }
    }

    /// Returns the position of the value that begins now.
    pub(super) fn step(&mut self, slot: ValueSlot<'_>, kind: ValueKind) -> Step {
        let Some(level) = self.open.len().checked_sub(1) else { return self.document(kind) };
        let Level { met, children, .. } =
            self.open.last().copied().unwrap_or(Level { object: false, met: true, children: 0 });
        let here = match (&self.place, slot) {
            (Place::Document, _) | (_, ValueSlot::Top) => false,
            (Place::First, _) => kind == ValueKind::Array,
            (Place::Member(number), _) => children == *number,
            #[cfg(feature = "template")]
            (Place::Steps(steps), _) => steps.get(level) == Some(&children),
            (Place::At { path, .. }, ValueSlot::Member(key)) => match path.0.get(level) {
                Some(PathToken::Name(name)) => {
                    key.with_name(|spelled| spelled == Some(name.as_bytes()))
                }
                _ => false,
            },
            (Place::At { path, alone }, ValueSlot::Element(index)) => {
                let wanted = path.0.get(level).and_then(PathToken::index);
                wanted == Some(index) || (*alone && wanted.is_some())
            }
        };
        let here = here && !met;
        if let Some(level) = self.open.last_mut() {
            level.children += 1;
            level.met |= here;
        }
        if !here {
            return Step::Beside;
        }
        match (self.is_at_parent(), kind) {
            (true, ValueKind::Array) => Step::Items,
            (false, ValueKind::Object | ValueKind::Array) => Step::Way,
            _ => Step::Beside,
        }
    }

    fn document(&self, kind: ValueKind) -> Step {
        match (&self.place, kind) {
            (Place::At { .. }, ValueKind::Object | ValueKind::Array) => Step::Way,
            #[cfg(feature = "template")]
            (Place::Steps(steps), ValueKind::Object | ValueKind::Array) if !steps.is_empty() => {
                Step::Way
            }
            (_, ValueKind::Array) => Step::Items,
            (Place::First | Place::Member(_), ValueKind::Object) => Step::Way,
            _ => Step::Beside,
        }
    }

    /// Goes into a container on the way.
    pub(super) fn enter(&mut self, kind: ValueKind) {
        self.open.push(Level { object: kind == ValueKind::Object, met: false, children: 0 });
    }

    /// Whether the container that was entered last is an object.
    pub(super) fn is_in_object(&self) -> bool {
        self.open.last().is_some_and(|level| level.object)
    }

    /// Whether the container around the one that was entered last is an object.
    pub(super) fn is_around_in_object(&self) -> bool {
        self.open.iter().rev().nth(1).is_some_and(|level| level.object)
    }

    /// The container that was entered last ends.
    pub(super) fn leave(&mut self) {
        self.open.pop();
    }
}
