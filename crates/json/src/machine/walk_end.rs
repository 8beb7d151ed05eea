//! The ways in which a walk over the tokens of a window ends before the last one.

use crate::error::{ErrorKind, Raise};

/// An error, which ends a walk before the last token.
pub(super) struct WalkError {
    pub(super) at: usize,
    pub(super) raise: Raise,
    /// The error is inside the current member or element, so its path includes it.
    pub(super) inside: bool,
    pub(super) in_string: bool,
    /// The place is the byte before `at`, which may be in an earlier chunk.
    pub(super) before: bool,
}

impl WalkError {
    pub(super) fn one_byte_before(self) -> Self {
        Self { before: true, ..self }
    }

    pub(super) fn new(at: usize, raise: Raise, inside: bool) -> Self {
        Self { at, raise, inside, in_string: false, before: false }
    }
}

/// The normal end of a walk.
pub(super) enum WalkEnd {
    /// Continue with this token, in the mode that is set now.
    Next(usize),
    /// The handler stopped the run.
    Stop,
}

#[cold]
pub(super) fn bad(at: usize, message: &'static str, inside: bool) -> WalkError {
    WalkError::new(at, Raise::new(ErrorKind::Syntax, message), inside)
}
