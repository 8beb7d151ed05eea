//! The data of an explanation: stages, their actions, and what each one may hold.

use serde::Serialize;

use super::explanation::Explanation;
use super::tree::PathList;
use crate::filter::compile::items::{ItemRules, WaitFrom};
use crate::filter::compile::program::CompiledProgram;
use crate::spec::{
    Budget, Content, Encode, ItemCondition, JsonStringFallback, Omitted, OnOver, OnTestFailure,
    Redact, Root, Siblings,
};

/// Whether a stage, or a program, holds input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ExecutionMode {
    /// Output is written while input arrives. Nothing is held.
    Stream,
    /// A bounded amount may have to be held until something is decided.
    Hold,
    /// The document after earlier stages is held as a whole, as a tree of raw pieces.
    Tree,
}

/// The explanation of one stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct StageExplanation {
    #[serde(flatten)]
    pub(super) does: StageAction,
    pub(super) mode: ExecutionMode,
    pub(super) holds: Vec<HoldExplanation>,
}

/// The action of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub(super) enum StageAction {
    /// No rule applies: the document is only validated.
    Validate,
    Extract {
        path: String,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        optional: bool,
    },
    JsonStrings {
        entries: Vec<JsonStringExplanation>,
    },
    Retain {
        paths: PathList,
    },
    When {
        otherwise: &'static str,
    },
    Patches {
        operations: Vec<String>,
        lenient_remove: bool,
        /// Present if one of the operations is a test.
        #[serde(skip_serializing_if = "Option::is_none")]
        on_test_failure: Option<OnTestFailure>,
        #[serde(skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
    },
    Root {
        root: Root,
        siblings: Siblings,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        or_array: bool,
    },
    Refuse,
    Where {
        conditions: Vec<ItemCondition>,
    },
    MaxItems {
        count: u64,
        stop_early: bool,
    },
    Select {
        paths: PathList,
        early_skip: EarlySkip,
    },
    Exclude {
        paths: PathList,
    },
    DropNulls,
    DropEmpty,
    OmitBase64Over {
        over: u64,
    },
    TextFilter,
    Redact {
        redact: Redact,
    },
    Budget {
        budget: Budget,
        min_items: u64,
        omitted: Omitted,
        on_over: OnOver,
    },
    Mark,
    Compact,
    Encode {
        form: Encode,
    },
    Pass,
    Content {
        content: Content,
    },
    Wrap,
}

/// The explanation of one entry of `json_strings`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct JsonStringExplanation {
    /// The pointer as written.
    pub(super) at: String,
    pub(super) otherwise: JsonStringFallback,
    /// The rules are those of the spec itself.
    pub(super) same: bool,
    pub(super) apply: Explanation,
}

/// A part of the document that is held: until when, and within which limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct HoldExplanation {
    pub(super) what: &'static str,
    pub(super) until: &'static str,
    pub(super) limits: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instead: Option<&'static str>,
}

/// Why rules on items may have to hold something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HoldReason {
    /// The location of the payload is decided late.
    Root,
    /// The document is the payload if it contains a selected value.
    RootByHit,
    /// The output depends on whether there is a hit.
    Hit { from: WaitFrom, closed: bool },
    /// An item is kept or dropped by its values.
    Test,
    /// More than one output needs a value.
    Shared,
}

impl HoldReason {
    pub(super) fn holds(self, compiled: &CompiledProgram, items: &ItemRules) -> HoldExplanation {
        let both: &[&str] = &["held", "spill"];
        // The output of an earlier stage always arrives as a stream.
        let first = compiled.extract.is_none()
            && compiled.json_strings.is_none()
            && compiled.retain.is_none()
            && compiled.patches.is_none();
        let one_slice = first.then_some("nothing, where the document is one slice");
        match self {
            Self::Root => HoldExplanation {
                what: "the document",
                until: "an array `items` begins or the object ends",
                limits: both,
                instead: Some("a slice or a regular file is read twice"),
            },
            Self::RootByHit => HoldExplanation {
                what: "the document",
                until: "one of the selected paths is found in it, or it ends",
                limits: both,
                instead: Some("a slice or a regular file is read twice"),
            },
            Self::Hit { from, .. } => HoldExplanation {
                what: match from {
                    WaitFrom::Document => "the document",
                    WaitFrom::Payload => "the payload",
                },
                until: match items.select {
                    Some(_) => "one of these paths is found, or every item that counts was seen",
                    None => "the payload begins",
                },
                limits: both,
                instead: one_slice,
            },
            Self::Test => HoldExplanation {
                what: "an item",
                until: "its conditions are decided",
                limits: &["item"],
                instead: None,
            },
            Self::Shared => HoldExplanation {
                what: "a value that more than one output needs",
                until: "it is complete; then it is read once for each",
                limits: &["item"],
                instead: None,
            },
        }
    }
}

impl StageExplanation {
    pub(super) fn new(does: StageAction, holds: Vec<HoldExplanation>) -> Self {
        let mode = if holds.is_empty() { ExecutionMode::Stream } else { ExecutionMode::Hold };
        Self { does, mode, holds }
    }
}

/// Whether the rest of an item is skipped once all selected values were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct EarlySkip {
    pub(super) on: bool,
    pub(super) why: &'static str,
}
