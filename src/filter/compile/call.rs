//! What one call asks of a program: which rules do not apply, and how long the output may be.

use crate::spec::{Budget, Omitted, OnOver};

/// What a call says of the size of its output.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::filter) struct CallPolicy {
    pub(in crate::filter) budget: Option<Budget>,
    pub(in crate::filter) min_items: Option<u64>,
    pub(in crate::filter) omitted: Option<Omitted>,
    pub(in crate::filter) on_over: Option<OnOver>,
}

/// Which rules a call skips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skips {
    /// All but `extract`: raw output was asked for.
    Raw,
    /// The same, of a failed call.
    RawOfFailed,
    /// Those that do not apply to the response of a failed call.
    Failed,
}

impl Skips {
    /// What the report says.
    pub(in crate::filter) fn as_str(self) -> &'static str {
        match self {
            Self::Raw | Self::RawOfFailed => "raw_mode",
            Self::Failed => "error_response",
        }
    }
}
