//! Where the [forms](super::forms) of a text are: the open containers, what is left out of them, and the string that is open.

use smallvec::SmallVec;

use super::chars::{LONGEST, PartialChar};
use super::omission::MarkNames;
use crate::json::levels::Levels;

/// Where in the text the next byte is.
#[derive(Debug)]
pub(super) struct FormLexer {
    /// The kinds of all open containers.
    pub(super) kinds: Levels,
    /// The open containers that are not inside a run.
    pub(super) levels: Vec<FormLevel>,
    /// Whether the innermost of them is in a run.
    pub(super) run: ChildRun,
    /// The run that may stay.
    pub(super) short: ShortRun,
    /// A container has opened, and nothing in it has come.
    pub(super) fresh: bool,
    /// The note about the next child.
    pub(super) next: NextChild,
    /// The next string is a key.
    pub(super) key: bool,
    pub(super) state: LexState,
    /// Characters of the string that is open.
    pub(super) chars: u64,
    /// The one that is open.
    pub(super) character: PartialChar,
    /// Those behind the threshold, while they are no more than the dots would be.
    pub(super) rest: SmallVec<[u8; 3 * LONGEST]>,
    /// The key that is open, as far as it may be that of a mark.
    pub(super) name: SmallVec<[u8; 16]>,
    pub(super) note: Vec<u8>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct FormLevel {
    /// It is the payload.
    pub(super) payload: bool,
    /// Children that have begun, and those of them that stay.
    pub(super) count: u64,
    pub(super) kept: u64,
    /// Members that stay and are called like a mark.
    pub(super) taken: MarkNames,
    /// The text of the payload's mark, if this is its parent.
    pub(super) items: Vec<u8>,
}

/// Whether the child that is open may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChildRun {
    /// It stays.
    None,
    /// The run stays if it gets no longer than a mark.
    Short,
    /// So many children are left out.
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
    /// In a key: it stays whole.
    Key,
    Value,
    Note(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextChild {
    Any,
    /// It leads to the payload.
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

    /// Whether the innermost container is inside a run.
    pub(super) fn is_inside_run(&self) -> bool {
        self.kinds.depth() > self.levels.len()
    }
}
