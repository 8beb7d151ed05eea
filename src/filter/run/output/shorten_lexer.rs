//! The position of [shortening](super::shorten) in its text: the open containers, what is left out of them, and the
//! open string.

use smallvec::SmallVec;

use super::chars::{LONGEST, PartialChar};
use super::omission::MarkNames;
use crate::json::levels::Levels;

/// The position of the next byte.
#[derive(Debug)]
pub(super) struct FormLexer {
    /// The kinds of all open containers.
    pub(super) kinds: Levels,
    /// The open containers that are not inside a run.
    pub(super) levels: Vec<FormLevel>,
    /// Whether the innermost of them is in a run.
    pub(super) run: ChildRun,
    /// The run that may still be kept.
    pub(super) short: ShortRun,
    /// A container was opened and has no children yet.
    pub(super) fresh: bool,
    /// The note about the next child.
    pub(super) next: NextChild,
    /// The next string is a key.
    pub(super) key: bool,
    pub(super) state: LexState,
    /// The number of characters of the open string.
    pub(super) chars: u64,
    /// The character that is open.
    pub(super) character: PartialChar,
    /// The characters after the threshold, while they are no longer than the dots would be.
    pub(super) rest: SmallVec<[u8; 3 * LONGEST]>,
    /// The open key, as far as it may be the name of a mark.
    pub(super) name: SmallVec<[u8; 16]>,
    pub(super) note: Vec<u8>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct FormLevel {
    /// This container is the payload.
    pub(super) payload: bool,
    /// The number of children that have begun, and of those that are kept.
    pub(super) count: u64,
    pub(super) kept: u64,
    /// Kept members with the name of a mark.
    pub(super) taken: MarkNames,
    /// The content of the payload's mark, if this is its parent.
    pub(super) items: Vec<u8>,
}

/// Whether the open child may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChildRun {
    /// It is kept.
    None,
    /// It is kept unless its run becomes longer than a mark.
    Short,
    /// This many children are left out.
    Dropped(u64),
}

#[derive(Debug, Default)]
pub(super) struct ShortRun {
    pub(super) text: SmallVec<[u8; 64]>,
    pub(super) children: u64,
    pub(super) taken: MarkNames,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LexState {
    Outside,
    /// In a key, which is never shortened.
    Key,
    Value,
    Note(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextChild {
    Any,
    /// The child is on the path to the payload.
    OnPath,
    Payload,
}

impl FormLexer {
    pub(super) fn new() -> Self {
        Self {
            kinds: Levels::new(),
            levels: Vec::new(),
            run: ChildRun::None,
            short: ShortRun::default(),
            fresh: false,
            next: NextChild::Any,
            key: false,
            state: LexState::Outside,
            chars: 0,
            character: PartialChar::default(),
            rest: SmallVec::new(),
            name: SmallVec::new(),
            note: Vec::new(),
        }
    }

    /// Returns whether the innermost container is inside a run.
    pub(super) fn is_inside_run(&self) -> bool {
        self.kinds.depth() > self.levels.len()
    }
}
