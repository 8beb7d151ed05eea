//! Where the [forms](super::forms) of a text are: the open containers, what is left out of them, and the string that is open.

use smallvec::SmallVec;

use super::chars::{Character, LONGEST};
use super::omission::Taken;
use crate::json::levels::Levels;

/// Where in the text the next byte is.
#[derive(Debug)]
pub(super) struct Lexer {
    /// The kinds of all open containers.
    pub(super) kinds: Levels,
    /// The open containers that are not inside a run.
    pub(super) levels: Vec<Level>,
    /// Whether the innermost of them is in a run.
    pub(super) run: Run,
    /// The run that may stay.
    pub(super) short: Short,
    /// A container has opened, and nothing in it has come.
    pub(super) fresh: bool,
    /// The note about the next child.
    pub(super) next: Next,
    /// The next string is a key.
    pub(super) key: bool,
    pub(super) state: State,
    /// Characters of the string that is open.
    pub(super) chars: u64,
    /// The one that is open.
    pub(super) character: Character,
    /// Those behind the threshold, while they are no more than the dots would be.
    pub(super) rest: SmallVec<[u8; 3 * LONGEST]>,
    /// The key that is open, as far as it may be that of a mark.
    pub(super) name: SmallVec<[u8; 16]>,
    pub(super) note: Vec<u8>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Level {
    /// It is the payload.
    pub(super) payload: bool,
    /// Children that have begun, and those of them that stay.
    pub(super) count: u64,
    pub(super) kept: u64,
    /// Members that stay and are called like a mark.
    pub(super) taken: Taken,
    /// The text of the payload's mark, if this is its parent.
    pub(super) items: Vec<u8>,
}

/// Whether the child that is open may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run {
    /// It stays.
    None,
    /// The run stays if it gets no longer than a mark.
    Short,
    /// So many children are left out.
    Dropped(u64),
}

#[derive(Debug, Default)]
pub(super) struct Short {
    pub(super) text: SmallVec<[u8; 64]>,
    pub(super) children: u64,
    pub(super) taken: Taken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Outside,
    /// In a key: it stays whole.
    Key,
    Value,
    Note(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Any,
    /// It leads to the payload.
    Way,
    Payload,
}

impl Lexer {
    pub(super) fn new() -> Self {
        Self {
            kinds: Levels::new(),
            levels: Vec::new(),
            run: Run::None,
            short: Short::default(),
            fresh: false,
            next: Next::Any,
            key: false,
            state: State::Outside,
            chars: 0,
            character: Character::default(),
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
