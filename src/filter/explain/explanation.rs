//! The data of an explanation as a whole.

use serde::Serialize;
use tamis_json::limits::Limits;

use super::stage::StageExplanation;
use crate::report::{ExecutionMode, WhenBranch};
use crate::spec::{DuplicateKeys, OnError, Validation, Whitespace};

/// A description of how a program runs: its stages, whether each one streams or may have to hold input, and why.
///
/// `Display` prints it as text, with the paths of each rule as a tree. It serialises to an object with the keys
/// below. Within a `version` these keys do not change, but new ones may be added:
///
/// | key | value |
/// |---|---|
/// | `version` | 1 |
/// | `mode` | `stream`, or `hold` if any stage may hold |
/// | `skipped` | why some rules do not apply (`raw_mode`, `error_response`) and are not among the stages; omitted if all apply |
/// | `validation`, `whitespace`, `duplicate_keys` | as in a [`Spec`](crate::Spec) |
/// | `stages` | in the order in which they run, each with `stage`, `mode`, `holds` and the keys below |
/// | `total_miss` | `on_error` (`raw`, `closed`), `default` (not set by the spec) and a textual `effect`; omitted if no total miss is possible |
/// | `branches` | the branches of `when`, and `otherwise`: each with its `name`, its textual `test`, and the keys of its own explanation; omitted if there are none |
/// | `limits` | `depth`, `key`, `held`, `spill`, `item` of the call |
///
/// `stage` is one of:
///
/// - `validate`: there is no rule.
/// - `extract`: with its `path`, and `optional` if the document may lack it.
/// - `json_strings`: with `entries`, each with `at`, `otherwise`, `same` (the rules are those of the spec itself), and
///   in `apply` the keys of an explanation of its own.
/// - `when`: with the action of `otherwise`.
/// - `retain`: with `paths`.
/// - `patches`: with textual `operations`, `lenient_remove`, `on_test_failure` if one is a test, and `tree`, the
///   reason why a tree is needed, if it is.
/// - `root`: with `root`, `siblings`, and `or_array` if the array of `auto` replaces a document without a hit.
/// - `max_items`: with `count` and `stop_early`.
/// - `select`: with `paths`, and `early_skip` with `on` and `why`.
/// - `exclude`: with `paths`.
/// - `drop_nulls`, `drop_empty`.
/// - `wrap`: a document that is not an array is wrapped in one.
/// - `refuse`: every document is an error.
/// - `text_filter`.
/// - `redact`: with `redact` as in a [`Spec`](crate::Spec).
/// - `omit_base64_over`: with `over`, the number of bytes.
/// - `budget`: with `budget` as in a [`Spec`](crate::Spec) (`bytes` or `tokens`), `min_items`, `omitted` and `on_over`.
/// - `mark`: marks what `max_items` leaves out, without a budget.
/// - `factor`.
/// - `compact`.
/// - `encode`: with `form`.
/// - `content`, as the only stage: with `content` (`max_tokens`, `extract`, `format`).
/// - `pass`, as the only stage: every document is forwarded unchanged.
///
/// `paths` is a list of objects with the `path` as written. For `select` they also have `key`, `many` (yields an
/// array of all matches), `excluded` (a later rule removes it) and `held`. Each of `holds` has `what`, `until`,
/// `limits` (their names) and `instead`, the cases in which nothing is held.
///
/// ```
/// use tamis::{CallOptions, ExecutionMode, Program, Spec};
///
/// let program = Program::compile(&Spec::new().exclude("body").root("/items"))?;
/// let explanation = program.explain(&CallOptions::new());
/// assert_eq!(explanation.mode(), ExecutionMode::Stream);
/// assert!(explanation.to_string().contains("2. exclude: stream"));
///
/// let program = Program::compile(&Spec::new().select("id"))?;
/// assert_eq!(program.explain(&CallOptions::new()).mode(), ExecutionMode::Hold);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    pub(super) version: u32,
    pub(super) mode: ExecutionMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) skipped: Option<&'static str>,
    pub(super) validation: Validation,
    pub(super) whitespace: Whitespace,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) duplicate_keys: Option<DuplicateKeys>,
    pub(super) stages: Vec<StageExplanation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) branches: Vec<BranchExplanation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total_miss: Option<TotalMiss>,
    pub(super) limits: LimitValues,
}

/// The explanation of one branch, or of `otherwise`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct BranchExplanation {
    #[serde(rename = "name")]
    pub(super) branch: WhenBranch,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) test: Option<String>,
    #[serde(flatten)]
    pub(super) explanation: Explanation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct TotalMiss {
    pub(super) on_error: OnError,
    pub(super) default: bool,
    pub(super) effect: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct LimitValues {
    pub(super) depth: usize,
    pub(super) key: usize,
    pub(super) held: u64,
    pub(super) spill: u64,
    pub(super) item: u64,
}

impl Explanation {
    /// Returns [`ExecutionMode::Stream`] if no stage ever holds input.
    #[must_use]
    pub fn mode(&self) -> ExecutionMode {
        self.mode
    }
}

impl From<&Limits> for LimitValues {
    fn from(limits: &Limits) -> Self {
        Self {
            depth: limits.depth(),
            key: limits.key(),
            held: limits.held(),
            spill: limits.spill(),
            item: limits.item(),
        }
    }
}
