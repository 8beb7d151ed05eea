//! Where in the filtered document the payload is.
//!
//! Knows names and numbers of members on the way to it; no rule. The stage before has decided; this finds the same place
//! again in what that has left.

use super::root::Payload;
use crate::filter::compile::items::RootRule;
use crate::json::{ValueKind, ValueSlot};
use crate::path::{Path, PathToken};

#[derive(Clone, Debug)]
pub(super) struct RootTracker {
    place: RootPath,
    /// The containers that are open on the way, and whether the child on the way has come.
    open: Vec<TrackedLevel>,
}

#[derive(Clone, Copy, Debug)]
struct TrackedLevel {
    object: bool,
    met: bool,
    /// Children that have come.
    children: u64,
}

/// Where the payload is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RootPath {
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
pub(super) enum RootStep {
    /// The payload, an array.
    Items,
    /// A container with the payload in it.
    OnPath,
    /// Anything else; also a payload that is no array.
    Outside,
}

impl RootPath {
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

impl RootTracker {
    pub(super) fn new(place: RootPath) -> Self {
        Self { place, open: Vec::new() }
    }

    /// Whether the container that was entered last has the payload as its child.
    pub(super) fn is_at_parent(&self) -> bool {
        match &self.place {
            RootPath::Document => false,
            RootPath::First | RootPath::Member(_) => self.open.len() == 1,
            #[cfg(feature = "template")]
            RootPath::Steps(steps) => !steps.is_empty() && self.open.len() == steps.len(),
            RootPath::At { path, .. } => self.open.len() == path.0.len(),
        }
    }

    /// Returns the position of the value that begins now.
    pub(super) fn step(&mut self, slot: ValueSlot<'_>, kind: ValueKind) -> RootStep {
        let Some(level) = self.open.len().checked_sub(1) else { return self.document(kind) };
        let TrackedLevel { met, children, .. } = self
            .open
            .last()
            .copied()
            .unwrap_or(TrackedLevel { object: false, met: true, children: 0 });
        let here = match (&self.place, slot) {
            (RootPath::Document, _) | (_, ValueSlot::Top) => false,
            (RootPath::First, _) => kind == ValueKind::Array,
            (RootPath::Member(number), _) => children == *number,
            #[cfg(feature = "template")]
            (RootPath::Steps(steps), _) => steps.get(level) == Some(&children),
            (RootPath::At { path, .. }, ValueSlot::Member(key)) => match path.0.get(level) {
                Some(PathToken::Name(name)) => {
                    key.with_name(|spelled| spelled == Some(name.as_bytes()))
                }
                _ => false,
            },
            (RootPath::At { path, alone }, ValueSlot::Element(index)) => {
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
            return RootStep::Outside;
        }
        match (self.is_at_parent(), kind) {
            (true, ValueKind::Array) => RootStep::Items,
            (false, ValueKind::Object | ValueKind::Array) => RootStep::OnPath,
            _ => RootStep::Outside,
        }
    }

    fn document(&self, kind: ValueKind) -> RootStep {
        match (&self.place, kind) {
            (RootPath::At { .. }, ValueKind::Object | ValueKind::Array) => RootStep::OnPath,
            #[cfg(feature = "template")]
            (RootPath::Steps(steps), ValueKind::Object | ValueKind::Array) if !steps.is_empty() => {
                RootStep::OnPath
            }
            (_, ValueKind::Array) => RootStep::Items,
            (RootPath::First | RootPath::Member(_), ValueKind::Object) => RootStep::OnPath,
            _ => RootStep::Outside,
        }
    }

    /// Goes into a container on the way.
    pub(super) fn enter(&mut self, kind: ValueKind) {
        self.open.push(TrackedLevel { object: kind == ValueKind::Object, met: false, children: 0 });
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
