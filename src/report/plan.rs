//! The steps of a plan: how each stage of a run works, and what it may hold.

use std::fmt;

use serde::{Serialize, Serializer};

use super::WhenBranch;

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

impl fmt::Display for ExecutionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stream => "stream",
            Self::Hold => "hold",
            Self::Tree => "tree",
        })
    }
}

/// A step of a plan: one stage, or one reason for which a stage holds input. Displays as a line, and is written so in a
/// report.
///
/// ```
/// use tamis::{ExecutionMode, PlanStep, Program, Spec};
///
/// let program = Program::compile(&Spec::new().root("/items").select("id"))?;
/// let plan = program.plan();
/// assert!(plan.contains(&PlanStep::Items));
/// assert_eq!(PlanStep::Items.to_string(), "items: stream");
/// assert_eq!(PlanStep::Items.mode(), ExecutionMode::Stream);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PlanStep {
    /// Every document is forwarded unchanged.
    Pass,
    /// The text of a page, of a response or of a text.
    Content,
    /// A value of the document replaces it.
    Extract {
        /// A document may lack the value, so it is held until it is certain to have it, or not.
        may_lack: bool,
    },
    /// The rules inside the strings at a pointer.
    JsonStrings {
        /// The pointer, as written.
        at: String,
        /// Each string is held until it is known to be JSON.
        holds: bool,
    },
    /// The search for the paths that identify the shape of a document.
    Requires,
    /// The choice of a branch.
    When,
    /// The step of a branch that may apply.
    Branch(WhenBranch, Box<Self>),
    /// The paths that are kept.
    Retain,
    /// JSON Patch.
    Patches(PatchesMode),
    /// A program without rules validates and minifies.
    Validate,
    /// The location of the payload is decided late.
    AutoRoot,
    /// The document is the payload if it has a selected path.
    ObjectRoot,
    /// Without a hit there is no output (`on_error: closed`).
    ClosedMiss,
    /// Without a hit the output is the whole document (`on_error: raw`).
    RawDocumentMiss,
    /// Without a hit the output has the whole payload (`on_error: raw`).
    RawPayloadMiss,
    /// Items are kept or dropped by their values.
    Where,
    /// More than one output needs a selected value.
    SharedSelect,
    /// The rules on items.
    Items,
    /// The lines of a text in the member `raw`.
    TextFilter,
    /// Strings of base64 are replaced.
    OmitBase64,
    /// Values are replaced.
    Redact,
    /// A budget shortens the output.
    Budget,
    /// Mentions items that were left out.
    Mark,
    /// Writes once what items share.
    Factor {
        /// A budget shortens the output, measured in the factored form.
        with_budget: bool,
    },
    /// A summary replaces the items.
    Compact,
    /// The output is in another form than JSON.
    Encode,
    /// A stream of documents. The output of each is held until its end.
    Records(
        /// The word for a document in messages: `line`, `document` or `event`.
        &'static str,
    ),
}

/// How patches run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PatchesMode {
    /// While the document arrives.
    Stream,
    /// The output is held until no operation can fail.
    HoldOutput,
    /// The document is held until no operation can fail.
    HoldDocument,
    /// On a tree of what is left of the document.
    Tree {
        /// The operation that requires the tree, and why.
        reason: String,
    },
}

impl PlanStep {
    /// Returns whether the step may hold input.
    #[must_use]
    pub fn mode(&self) -> ExecutionMode {
        match self.in_branch() {
            Self::Patches(PatchesMode::Tree { .. }) => ExecutionMode::Tree,
            Self::Content
            | Self::Extract { may_lack: true }
            | Self::JsonStrings { holds: true, .. }
            | Self::Requires
            | Self::When
            | Self::Patches(PatchesMode::HoldOutput | PatchesMode::HoldDocument)
            | Self::AutoRoot
            | Self::ObjectRoot
            | Self::ClosedMiss
            | Self::RawDocumentMiss
            | Self::RawPayloadMiss
            | Self::Where
            | Self::SharedSelect
            | Self::OmitBase64
            | Self::Budget
            | Self::Factor { .. }
            | Self::Compact
            | Self::Encode
            | Self::Records(_) => ExecutionMode::Hold,
            _ => ExecutionMode::Stream,
        }
    }

    /// Returns the step without the branches that it belongs to.
    fn in_branch(&self) -> &Self {
        let mut step = self;
        while let Self::Branch(_, inner) = step {
            step = inner;
        }
        step
    }
}

impl fmt::Display for PlanStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut step = self;
        while let Self::Branch(branch, inner) = step {
            write!(f, "{branch}: ")?;
            step = inner;
        }
        f.write_str(match step {
            Self::Pass => "pass: stream",
            Self::Content => {
                "content: hold the document until it has text, JSON until it ends (limits held, spill, item)"
            }
            Self::Extract { may_lack: false } => "extract: stream",
            Self::Extract { may_lack: true } => {
                "extract: hold the document until it is certain to have that value, or not (limits held, spill)"
            }
            Self::JsonStrings { at, holds } => {
                let how = match holds {
                    false => "stream",
                    true => "hold each string until it is known to be JSON (limits held, spill)",
                };
                return write!(f, "json_strings {at:?}: {how}");
            }
            Self::Requires => {
                "requires: hold the document until its shape is certain (limits held, spill)"
            }
            Self::When => {
                "when: hold the document until a branch is certain (limits held, spill, item); files and long \
                 slices are read twice instead"
            }
            // The loop has removed the branches.
            Self::Branch(..) => "",
            Self::Retain => "retain: stream",
            Self::Patches(mode) => return mode.fmt(f),
            Self::Validate => "validate and minify: stream",
            Self::AutoRoot => {
                "root auto: hold the document until an array `items` begins or the object ends (limits held, spill); \
                 files and long slices are read twice instead"
            }
            Self::ObjectRoot => {
                "root object: hold the document until it has a selected path or ends (limits held, spill); files and \
                 long slices are read twice instead"
            }
            Self::ClosedMiss => {
                "on_error closed: hold until the payload has a hit (limits held, spill)"
            }
            Self::RawDocumentMiss => {
                "on_error raw: hold the document until the payload has a hit (limits held, spill)"
            }
            Self::RawPayloadMiss => {
                "on_error raw: hold the payload until its first hit (limits held, spill)"
            }
            Self::Where => "where: hold an item until it is decided (limit item)",
            Self::SharedSelect => {
                "select: stream, hold values that more than one output needs (limit item)"
            }
            Self::Items => "items: stream",
            Self::TextFilter => "text_filter: stream, by line",
            Self::OmitBase64 => {
                "omit_base64_over: hold a string while it may be base64 (limits held, spill)"
            }
            Self::Redact => "redact: stream",
            Self::Budget => "budget: hold what fits until the document ends (limits held, spill)",
            Self::Mark => "mark: stream",
            Self::Factor { with_budget: false } => {
                "factor: hold the filtered document (limits held, spill)"
            }
            Self::Factor { with_budget: true } => {
                "factor, budget: hold the filtered document (limits held, spill)"
            }
            Self::Compact => {
                "compact: hold the filtered document and its summary (limits held, spill, item)"
            }
            Self::Encode => "encode: hold the filtered document (limits held, spill, item)",
            Self::Records(record) => {
                return write!(
                    f,
                    "{record}s: hold each {record}'s output until its end (limits held, spill)"
                );
            }
        })
    }
}

impl fmt::Display for PatchesMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream => f.write_str("patches: stream"),
            Self::HoldOutput => f.write_str(
                "patches: stream, hold the output until no operation can fail (limits held, spill)",
            ),
            Self::HoldDocument => f.write_str(
                "patches: stream, hold the document until no operation can fail (limits held, spill)",
            ),
            Self::Tree { reason } => {
                write!(f, "patches: tree of what is left of the document (limit item); {reason}")
            }
        }
    }
}

impl Serialize for PlanStep {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
