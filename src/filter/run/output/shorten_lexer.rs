//! The position of [shortening](super::shorten) in its text: the open containers, what is left out of them, and the
//! open string.
//!
//! ```text
//! Outside ── `"` ──▶ Key or Value ── closing quote ──▶ Outside
//! Outside ── control character ──▶ Note ── the same character ──▶ Outside
//!
//! run of the innermost kept container:
//! None ── a child too many ──▶ Short ── longer than a mark ──▶ Dropped      without marks: Dropped at once
//!   ▲                            └────── the end, or the child on the path ──────┘ ──▶ None
//! ```

use smallvec::SmallVec;
use tamis_json::levels::Levels;

use super::chars::{LONGEST, PartialChar};
use super::omission::MarkNames;

/// The position of the next byte. Only [`ShorterForms`](super::shorten::ShorterForms) changes it.
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
    /// The number of characters of the open string so far.
    pub(super) chars: u64,
    /// The character that is open, if it has several bytes.
    pub(super) character: PartialChar,
    /// The characters after the threshold, while they are no longer than the dots would be.
    pub(super) rest: SmallVec<[u8; 3 * LONGEST]>,
    /// The open key, as far as it may be the name of a mark. Longer keys are not complete here.
    pub(super) name: SmallVec<[u8; 16]>,
    /// The text of the open note so far.
    pub(super) note: Vec<u8>,
}

/// An open container that is kept.
#[derive(Clone, Debug, Default)]
pub(super) struct FormLevel {
    /// This container is the payload.
    pub(super) payload: bool,
    /// The number of children that have begun, including those that earlier forms left out.
    pub(super) count: u64,
    /// The number of children that are kept.
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

/// A run that may be kept: its text, the number of its children, and their names that a mark must avoid.
#[derive(Debug, Default)]
pub(super) struct ShortRun {
    pub(super) text: SmallVec<[u8; 64]>,
    pub(super) children: u64,
    pub(super) taken: MarkNames,
}

/// The kind of the next byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LexState {
    /// A bracket, a comma, a colon, an opening quote, a part of another scalar, or the start of a note.
    Outside,
    /// In a key, which is never shortened.
    Key,
    /// In any other string.
    Value,
    /// In a note that ends with this character.
    Note(u8),
}

/// The note that was read before the next child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextChild {
    /// No note: the child may be left out.
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
