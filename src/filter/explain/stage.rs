//! The data of an explanation: stages, their actions, and what each one may hold.

use serde::Serialize;

use super::explanation::Explanation;
use super::tree::PathList;
use crate::filter::compile::items::{ItemRules, WaitFrom};
use crate::filter::compile::program::CompiledProgram;
use crate::report::ExecutionMode;
use crate::spec::{
    Budget, Content, Encode, ItemCondition, JsonStringFallback, Omitted, OnOver, OnTestFailure,
    Prefer, Redact, Root, Siblings,
};

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
    Omit {
        paths: PathList,
    },
    Requires {
        paths: Vec<String>,
        is_error: bool,
    },
    OmitBase64Over {
        over: u64,
    },
    Redact {
        redact: Redact,
    },
    Budget {
        budget: Budget,
        min_items: u64,
        omitted: Omitted,
        on_over: OnOver,
        #[serde(skip_serializing_if = "is_order")]
        prefer: Prefer,
    },
    Encode {
        form: Encode,
    },
    Content {
        content: Content,
    },
    /// A stage without settings.
    #[serde(untagged)]
    Plain {
        #[serde(rename = "stage")]
        name: &'static str,
        /// Its words.
        #[serde(skip)]
        text: &'static str,
    },
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

/// The limits of what waits in memory, then in a file.
pub(super) const HELD: &[&str] = &["held", "spill"];
/// The limit of a value or of a tree.
pub(super) const ITEM: &[&str] = &["item"];

impl HoldExplanation {
    pub(super) fn new(
        what: &'static str,
        until: &'static str,
        limits: &'static [&'static str],
    ) -> Self {
        Self { what, until, limits, instead: None }
    }
}

impl HoldReason {
    pub(super) fn holds(self, compiled: &CompiledProgram, items: &ItemRules) -> HoldExplanation {
        // The output of an earlier stage always arrives as a stream.
        let first = compiled.extract.is_none()
            && compiled.json_strings.is_none()
            && compiled.retain.is_none()
            && compiled.patches.is_none();
        let (until, instead) = match self {
            Self::Root => ("an array `items` begins or the object ends", Some(READ_TWICE)),
            Self::RootByHit => {
                ("one of the selected paths is found in it, or it ends", Some(READ_TWICE))
            }
            Self::Hit { .. } => {
                let until = match items.select {
                    Some(_) => "one of these paths is found, or every item that counts was seen",
                    None => "the payload begins",
                };
                (until, first.then_some("nothing, where the document is one slice"))
            }
            Self::Test => ("its conditions are decided", None),
            Self::Shared => ("it is complete; then it is read once for each", None),
        };
        let (what, limits) = match self {
            Self::Root | Self::RootByHit | Self::Hit { from: WaitFrom::Document, .. } => {
                ("the document", HELD)
            }
            Self::Hit { from: WaitFrom::Payload, .. } => ("the payload", HELD),
            Self::Test => ("an item", ITEM),
            Self::Shared => ("a value that more than one output needs", ITEM),
        };
        HoldExplanation { instead, ..HoldExplanation::new(what, until, limits) }
    }
}

/// The name of the stage that forwards every document.
pub(super) const PASS: &str = "pass";

/// The case in which the document need not be held.
pub(super) const READ_TWICE: &str = "a regular file or a slice over 4 KiB is read twice";

impl StageExplanation {
    /// Explains a stage without settings that holds nothing.
    pub(super) fn plain(name: &'static str, text: &'static str) -> Self {
        Self::stream(StageAction::Plain { name, text })
    }

    /// Explains a stage that holds nothing.
    pub(super) fn stream(does: StageAction) -> Self {
        Self::new(does, Vec::new())
    }

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

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_order(prefer: &Prefer) -> bool {
    *prefer == Prefer::Order
}
