//! Locates the payload in the filtered document.
//!
//! The stage on items has decided where the payload is. The output stages find it again in what that stage has left,
//! by the names and numbers of the members on the path.
//!
//! Example: the payload is at `/data/items`, siblings are dropped, and the output is `{"data":{"items":[1]}}`.
//!
//! ```text
//! step(document) = OnPath      enter
//! step(data)     = OnPath      enter     is_at_parent() is now true
//! step(items)    = Items       enter     the elements are read without step()
//! close                        leave     at the end of each of the three containers
//! ```
//!
//! The caller calls [`RootTracker::step`] once for each child of a container on the path, and [`RootTracker::enter`]
//! only after `OnPath` or `Items`. So the open levels are the containers on the path, and the payload while it is
//! read.

use std::sync::Arc;

use tamis_json::path::{Path, PathToken};
use tamis_json::{ValueKind, ValueSlot};

use super::root::Payload;
use crate::filter::compile::items::RootRule;

/// Follows the path to the payload, one value after the other.
#[derive(Clone, Debug)]
pub(super) struct RootTracker {
    place: RootPath,
    /// The open containers on the path.
    open: Vec<TrackedLevel>,
}

/// An open container on the path, or the payload.
#[derive(Clone, Copy, Debug)]
struct TrackedLevel {
    /// It is an object, not an array.
    object: bool,
    /// The child on the path was seen. Later children of the same name are not on the path.
    met: bool,
    /// Children so far.
    children: u64,
}

/// The location of the payload in the filtered document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RootPath {
    /// The payload is the document itself.
    Document,
    /// The first member that is an array.
    First,
    /// The member with this index.
    Member(u64),
    /// The index of the child in each container on the path.
    Steps(Vec<u64>),
    /// The value at this path.
    At {
        path: Arc<Path>,
        /// Siblings were dropped, so an element on the path is the first one, and its original index does not count.
        alone: bool,
    },
}

/// The position of a value relative to the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RootStep {
    /// The payload, an array.
    Items,
    /// A container that contains the payload.
    OnPath,
    /// Any other value, or a payload that is not an array.
    Outside,
}

impl RootPath {
    /// Returns the location in the filtered document. `siblings`: whether its siblings were kept. If siblings were
    /// dropped, the payload is the only child of its parent, so its index is 0.
    pub(super) fn new(root: &RootRule, payload: Option<Payload>, siblings: bool) -> Self {
        match (payload, root) {
            (Some(Payload::Member(number)), _) => Self::Member(if siblings { number } else { 0 }),
            (Some(_), _) => Self::Document,
            (None, RootRule::First) => Self::First,
            (None, RootRule::At(path)) => Self::At { path: path.clone(), alone: !siblings },
            (None, _) => Self::Document,
        }
    }

    /// Returns the number of containers around the payload in a document that begins with `text`.
    pub(super) fn depth(&self, text: &[u8]) -> usize {
        let is_array = text.first() == Some(&b'[');
        match self {
            Self::Document => 0,
            Self::First | Self::Member(_) => usize::from(!is_array),
            Self::Steps(steps) => steps.len(),
            Self::At { path, .. } => path.0.len(),
        }
    }
}

impl RootTracker {
    pub(super) fn new(place: RootPath) -> Self {
        Self { place, open: Vec::new() }
    }

    /// Returns whether the payload is a child of the innermost container.
    pub(super) fn is_at_parent(&self) -> bool {
        match &self.place {
            RootPath::Document => false,
            RootPath::First | RootPath::Member(_) => self.open.len() == 1,
            RootPath::Steps(steps) => !steps.is_empty() && self.open.len() == steps.len(),
            RootPath::At { path, .. } => self.open.len() == path.0.len(),
        }
    }

    /// Returns whether the child of the innermost container that is on the path was seen.
    pub(super) fn has_met(&self) -> bool {
        self.open.last().is_some_and(|level| level.met)
    }

    /// Returns the position of the value that begins. Counts the value as a child of the innermost container. The
    /// first match on a level counts.
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

    /// Returns the position of the document itself.
    fn document(&self, kind: ValueKind) -> RootStep {
        match (&self.place, kind) {
            (RootPath::At { .. }, ValueKind::Object | ValueKind::Array) => RootStep::OnPath,
            (RootPath::Steps(steps), ValueKind::Object | ValueKind::Array) if !steps.is_empty() => {
                RootStep::OnPath
            }
            (_, ValueKind::Array) => RootStep::Items,
            (RootPath::First | RootPath::Member(_), ValueKind::Object) => RootStep::OnPath,
            _ => RootStep::Outside,
        }
    }

    /// Enters a container on the path, or the payload.
    pub(super) fn enter(&mut self, kind: ValueKind) {
        self.open.push(TrackedLevel { object: kind == ValueKind::Object, met: false, children: 0 });
    }

    /// Returns whether the innermost container is an object.
    pub(super) fn is_in_object(&self) -> bool {
        self.open.last().is_some_and(|level| level.object)
    }

    /// Returns whether the container around the innermost one is an object.
    pub(super) fn is_around_in_object(&self) -> bool {
        self.open.iter().rev().nth(1).is_some_and(|level| level.object)
    }

    /// Leaves the innermost container.
    pub(super) fn leave(&mut self) {
        self.open.pop();
    }
}
