//! The options of one call, resolved against a program: which rules do not apply, and how long the output may be.

use crate::report::SkipReason;
use crate::spec::{Budget, Omitted, OnOver, Prefer};
use tamis_json::tokens::CountTokens;

/// The settings of a call for the size and the form of its output.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::filter) struct CallPolicy {
    pub(in crate::filter) budget: Option<Budget>,
    /// Counts the tokens of a budget. `None`: they are estimated.
    pub(in crate::filter) tokens: Option<&'static dyn CountTokens>,
    pub(in crate::filter) min_items: Option<u64>,
    pub(in crate::filter) omitted: Option<Omitted>,
    pub(in crate::filter) on_over: Option<OnOver>,
    pub(in crate::filter) prefer: Option<Prefer>,
    /// The elements of the payload are written as lines.
    pub(in crate::filter) lines: bool,
    /// A summary is written without the document around it.
    pub(in crate::filter) only_summary: bool,
    /// The output has once what its items share. `None`: the spec decides.
    pub(in crate::filter) factor: Option<bool>,
    /// The document is one of many: `where` tests a payload that is a single object.
    pub(in crate::filter) is_record: bool,
}

impl CallPolicy {
    /// Returns the policy of a call that sets nothing but what counts tokens.
    pub(in crate::filter) fn plain(self) -> Self {
        Self { tokens: self.tokens, ..Self::default() }
    }
}

/// The rules that a call skips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skips {
    /// Raw output was requested: only `extract` applies.
    Raw,
    /// Raw output of a failed call.
    RawOfFailed,
    /// The call failed: rules that do not apply to its response are skipped.
    Failed,
}

impl Skips {
    /// Returns the reason in the report.
    pub(in crate::filter) fn reason(self) -> SkipReason {
        match self {
            Self::Raw | Self::RawOfFailed => SkipReason::RawMode,
            Self::Failed => SkipReason::ErrorResponse,
        }
    }
}
