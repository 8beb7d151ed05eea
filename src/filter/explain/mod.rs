//! Describes how a program will run: its stages in order, what each may have to hold, and why.
//!
//! The description only depends on the compiled rules. It has to agree with the run: a program that is explained as a
//! stream holds nothing on any document (`tests/cases/explain.rs`).

mod document;
mod output;
mod plan;
mod stage;
mod text;
mod tree;

use std::fmt;

use serde::Serialize;

use crate::filter::compile::items::{ItemRules, RootRule};
use crate::filter::compile::program::{CompiledProgram, Program};
use crate::filter::compile::size_policy::SizePolicy;
use crate::filter::options::CallOptions;
use crate::limits::Limits;
use crate::spec::{DuplicateKeys, OnError, Spec, Validation, Whitespace};
use document::{branches, choice, extract_stage, strings_stage, whole_stage};
use output::output_stages;
pub(super) use plan::EXTRACT_SEARCH;
pub use stage::ExecutionMode;
use stage::{EarlySkip, HoldReason, StageAction, StageExplanation};
use tree::PathList;

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
/// | `validation`, `whitespace`, `duplicate_keys` | as in a [`Spec`] |
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
/// - `omit_base64_over`: with `over`, the number of bytes.
/// - `budget`: with `budget` as in a [`Spec`] (`bytes` or `tokens`), `min_items`, `omitted` and `on_over`.
/// - `mark`: marks what `max_items` leaves out, without a budget.
/// - `compact`.
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
    version: u32,
    mode: ExecutionMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<&'static str>,
    validation: Validation,
    whitespace: Whitespace,
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate_keys: Option<DuplicateKeys>,
    stages: Vec<StageExplanation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    branches: Vec<BranchExplanation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_miss: Option<TotalMiss>,
    limits: LimitValues,
}

/// The explanation of one branch, or of `otherwise`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct BranchExplanation {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<String>,
    #[serde(flatten)]
    explanation: Explanation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct TotalMiss {
    on_error: OnError,
    default: bool,
    effect: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct LimitValues {
    depth: usize,
    key: usize,
    held: u64,
    spill: u64,
    item: u64,
}

impl Explanation {
    /// Returns [`ExecutionMode::Stream`] if no stage ever holds input.
    #[must_use]
    pub fn mode(&self) -> ExecutionMode {
        self.mode
    }
}

impl Program {
    /// Describes how this program runs for a call: what it does, and what it may have to hold within the call's
    /// limits.
    #[must_use]
    pub fn explain(&self, options: &CallOptions) -> Explanation {
        let skips = options.skips(self.compiled());
        let explanation = self.for_call(skips).explained(&options.of_rest(skips));
        Explanation { skipped: skips.map(|skips| skips.reason().as_str()), ..explanation }
    }

    /// Explains the program of a call that skips no rule.
    fn explained(&self, options: &CallOptions) -> Explanation {
        let compiled = self.compiled();
        let CompiledProgram {
            spec,
            extract: _,
            may_lack_extract: _,
            json_strings: _,
            when,
            retain,
            patches,
            items,
            whole: _,
            output: _,
            derived: _,
        } = &**compiled;
        let policy = SizePolicy::new(spec, options.policy());
        let budget = policy.budget;
        let tail = spec.shapes_output() || policy.applies(spec);
        let items = Some(items).filter(|items| !self.is_text() && (!items.idle || tail));
        let mut stages = Vec::new();
        if self.is_text() {
            stages.push(whole_stage(spec, budget));
        }
        stages.extend(extract_stage(compiled));
        stages.extend(strings_stage(compiled, options));
        if !self.is_text() {
            stages.extend(retain.as_ref().map(|trie| {
                let paths = PathList::plain(trie, spec.retain.as_deref().unwrap_or_default(), true);
                StageExplanation::new(StageAction::Retain { paths }, Vec::new())
            }));
            stages.extend(patches.as_ref().map(|patches| patches.stage(spec)));
            stages.extend(when.as_ref().map(|_| choice(spec)));
            stages.extend(items.into_iter().flat_map(|items| items.stages(compiled)));
            stages.extend(output_stages(spec, &policy));
        }
        if stages.is_empty() {
            stages.push(StageExplanation::new(StageAction::Validate, Vec::new()));
        }
        let branches = when.as_ref().map_or_else(Vec::new, |when| branches(when, spec, options));
        let modes = stages.iter().map(|stage| stage.mode);
        let modes = modes.chain(branches.iter().map(|branch| branch.explanation.mode));
        Explanation {
            version: 1,
            mode: modes.max().unwrap_or(ExecutionMode::Stream),
            skipped: None,
            validation: spec.validation,
            whitespace: spec.whitespace,
            duplicate_keys: items.map(|items| items.duplicates),
            stages,
            branches,
            total_miss: items.and_then(|items| items.total_miss(spec)),
            limits: LimitValues::from(options.limits()),
        }
    }

    /// Returns one line for each stage: what it does, and what it may have to hold. The [`Report`](crate::Report)
    /// contains these lines as its `plan`. [`explain`](Self::explain) returns more detail.
    #[must_use]
    pub fn plan(&self) -> Vec<String> {
        self.plan_with(&CallOptions::new())
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.explain(&CallOptions::new()).fmt(f)
    }
}

impl ItemRules {
    fn reasons(&self) -> Vec<HoldReason> {
        let root = match self.root {
            RootRule::Auto => Some(HoldReason::Root),
            RootRule::DocumentOrArray => Some(HoldReason::RootByHit),
            _ => None,
        };
        let hit = self.waits().map(|from| HoldReason::Hit { from, closed: self.closed });
        let shared = self.select.iter().flat_map(|select| &select.nodes).any(|node| node.shared);
        [root, hit, shared.then_some(HoldReason::Shared)].into_iter().flatten().collect()
    }

    fn stages(&self, compiled: &CompiledProgram) -> Vec<StageExplanation> {
        let spec = &compiled.spec;
        // Every rule is named: a new one does not compile until it is explained.
        let Self {
            idle: _,
            root,
            keep_siblings: _,
            max_items: _,
            stop_early: _,
            select,
            exclude,
            drop_nulls,
            drop_empty,
            closed: _,
            judges: _,
            refuses,
            duplicates: _,
        } = self;
        let (at_root, at_select): (Vec<_>, Vec<_>) =
            self.reasons().into_iter().partition(|reason| {
                matches!(reason, HoldReason::Root | HoldReason::RootByHit) || select.is_none()
            });
        let hold = |reasons: Vec<HoldReason>| {
            reasons.into_iter().map(|reason| reason.holds(compiled, self)).collect::<Vec<_>>()
        };
        if *refuses {
            return vec![StageExplanation::new(StageAction::Refuse, Vec::new())];
        }
        let or_array = *root == RootRule::DocumentOrArray;
        let action =
            StageAction::Root { root: spec.root.clone(), siblings: spec.siblings, or_array };
        let mut stages = vec![StageExplanation::new(action, hold(at_root))];
        let mut streams = |does| stages.push(StageExplanation::new(does, Vec::new()));
        if spec.max_items > 0 {
            streams(StageAction::MaxItems { count: spec.max_items, stop_early: spec.stop_early });
        }
        if let Some(select) = select {
            let paths = PathList::selected(select, spec);
            let from_the_item = select.node(0).shared;
            let does = StageAction::Select { paths, early_skip: self.early_skip(from_the_item) };
            stages.push(StageExplanation::new(does, hold(at_select)));
        }
        let mut streams = |does| stages.push(StageExplanation::new(does, Vec::new()));
        if !exclude.is_empty() {
            streams(StageAction::Exclude { paths: PathList::plain(exclude, &spec.exclude, false) });
        }
        if *drop_nulls {
            streams(StageAction::DropNulls);
        }
        if *drop_empty {
            streams(StageAction::DropEmpty);
        }
        if spec.wrap {
            streams(StageAction::Wrap);
        }
        stages
    }

    fn early_skip(&self, from_the_item: bool) -> EarlySkip {
        let (on, why) = match self.duplicates {
            _ if from_the_item => {
                (false, "a path begins with a wildcard, which takes every member")
            }
            DuplicateKeys::First => {
                (true, "the rest of an item that has all of them is only validated")
            }
            DuplicateKeys::Count => (false, "duplicate_keys count looks at every member"),
            DuplicateKeys::Reject => (false, "duplicate_keys reject looks at every member"),
        };
        EarlySkip { on, why }
    }

    fn total_miss(&self, spec: &Spec) -> Option<TotalMiss> {
        let misses_root = matches!(self.root, RootRule::At(_) | RootRule::First);
        let effect = match (self.closed, &self.select) {
            _ if !self.judges => return None,
            (_, None) if !misses_root => return None,
            (true, _) => "an error, and no output",
            (false, Some(_)) => {
                "the payload passes unselected, with a warning; exclude and drops still apply"
            }
            (false, None) => "the rules on items have no effect, with a warning",
        };
        let on_error = if self.closed { OnError::Closed } else { OnError::Raw };
        Some(TotalMiss { on_error, default: spec.on_error.is_none(), effect })
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
