//! Says how a program runs, before it does: its stages in their order, and what each may have to hold, and why.
//!
//! Knows the compiled rules, no document. Must say what the run does: a program that is explained as a stream holds
//! nothing, on any document (`tests/cases/explain.rs`).

mod document;
mod text;
mod tree;

use std::fmt;

use serde::Serialize;

use super::CallOptions;
use super::options::Skips;
use super::program::{Compiled, ItemRules, Program, RootRule, WaitFrom};
use super::seek::Seeking;
use super::tail::Policy;
use super::when::When;
use crate::limits::Limits;
use crate::spec::{
    Budget, Content, DuplicateKeys, Omitted, OnError, OnOver, OnTestFailure, Root, Siblings, Spec,
    Validation, Whitespace,
};
use document::{branches, choice, extract_stage, whole_stage};
use tree::Paths;

/// How a program runs: the stages that it has, whether each streams or may have to hold input, and why.
///
/// `Display` says it in words, with the paths of each rule as a tree. It serialises to an object with these keys, which
/// stay as they are within a `version`; new ones may come:
///
/// | key | value |
/// |---|---|
/// | `version` | 1 |
/// | `mode` | `stream`, or `hold` if any stage may hold |
/// | `skipped` | why some rules do not apply (`raw_mode`, `error_response`), so that they are not among the stages; left out if all apply |
/// | `validation`, `whitespace`, `duplicate_keys` | as in a [`Spec`] |
/// | `stages` | in the order in which they run, each with `stage`, `mode`, `holds` and the keys below |
/// | `total_miss` | `on_error` (`raw`, `closed`), `default` (not said by the spec) and `effect`, in words; left out if there can be none |
/// | `branches` | those of `when`, and `otherwise`: each with its `name`, its `test` in words, and the keys of its own explanation; left out if there are none |
/// | `limits` | `depth`, `key`, `held`, `spill`, `item` of the call |
///
/// `stage` is `validate` (there is no rule), `extract` (with its `path`, and `optional` if the document need not have it), `when` (with what `otherwise` does), `retain`, `patches` (with `operations` in words,
/// `lenient_remove`, `on_test_failure` if one is a test, and `tree`: why a tree is needed, if it is), `root`, `max_items`, `select`, `exclude`, `drop_nulls` or
/// `drop_empty`, `wrap` (a document that is no array becomes one), `refuse` (every document is an error), `text_filter`, `budget` (with `budget`, as in a [`Spec`]: `bytes` or `tokens`, `min_items`, `omitted` and `on_over`), `mark` (of what `max_items` leaves out, without a budget), `compact`;
/// or, alone, `content` (with `content`: `max_tokens`, `extract`, `format`) or `pass` (the document passes, whatever it is). `retain`, `select` and `exclude` have `paths`, a list of `path` as written and, for `select`, `key`,
/// `many` (it yields an array of all that is found), `excluded` (a later rule removes it) and `held`; `root` has `root`,
/// `siblings`, and `or_array` if the array of `auto` takes the place of a document in which nothing is found; `max_items` has `count` and `stop_early`; `select` has `early_skip` with `on` and `why`. Each of `holds` has
/// `what`, `until`, `limits` (their names) and `instead`, when nothing is held.
///
/// ```
/// use tamis::{CallOptions, Mode, Program, Spec};
///
/// let program = Program::compile(&Spec::new().exclude("body").root("/items"))?;
/// let explanation = program.explain(&CallOptions::new());
/// assert_eq!(explanation.mode(), Mode::Stream);
/// assert!(explanation.to_string().contains("2. exclude: stream"));
///
/// let program = Program::compile(&Spec::new().select("id"))?;
/// assert_eq!(program.explain(&CallOptions::new()).mode(), Mode::Hold);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    version: u32,
    mode: Mode,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<&'static str>,
    validation: Validation,
    whitespace: Whitespace,
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate_keys: Option<DuplicateKeys>,
    stages: Vec<Stage>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    branches: Vec<Branch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_miss: Option<TotalMiss>,
    limits: Bounds,
}

/// What happens to a document for which a branch holds, or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Branch {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<String>,
    #[serde(flatten)]
    explanation: Explanation,
}

/// Whether a stage, or a program, holds input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Mode {
    /// Output leaves while input arrives; nothing waits.
    Stream,
    /// A bounded amount may have to wait until something is decided.
    Hold,
    /// What is left of the document is held as a whole, as a tree of raw pieces.
    Tree,
}

/// One stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Stage {
    #[serde(flatten)]
    does: Does,
    mode: Mode,
    holds: Vec<Holds>,
}

/// What a stage does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
enum Does {
    /// There is no rule.
    Validate,
    Extract {
        path: String,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        optional: bool,
    },
    Retain {
        paths: Paths,
    },
    When {
        otherwise: &'static str,
    },
    Patches {
        operations: Vec<String>,
        lenient_remove: bool,
        /// There if one of them is a test.
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
    MaxItems {
        count: u64,
        stop_early: bool,
    },
    Select {
        paths: Paths,
        early_skip: EarlySkip,
    },
    Exclude {
        paths: Paths,
    },
    DropNulls,
    DropEmpty,
    TextFilter,
    Budget {
        budget: Budget,
        min_items: u64,
        omitted: Omitted,
        on_over: OnOver,
    },
    Mark,
    Compact,
    Pass,
    Content {
        content: Content,
    },
    Wrap,
}

/// What waits, until when, and within which limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Holds {
    what: &'static str,
    until: &'static str,
    limits: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    instead: Option<&'static str>,
}

/// Whether the rest of an item is skipped once it has all that is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct EarlySkip {
    on: bool,
    why: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct TotalMiss {
    on_error: OnError,
    default: bool,
    effect: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Bounds {
    depth: usize,
    key: usize,
    held: u64,
    spill: u64,
    item: u64,
}

impl Explanation {
    /// [`Mode::Stream`] if no stage ever holds input.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }
}

impl Program {
    /// How this program runs for a call: what it does, and what it may have to hold under the call's limits.
    #[must_use]
    pub fn explain(&self, options: &CallOptions) -> Explanation {
        let skips = options.skips(self.compiled());
        let explanation = self.for_call(skips).explained(&options.of_rest(skips));
        Explanation { skipped: skips.map(Skips::as_str), ..explanation }
    }

    /// The same for a call that skips no rule.
    fn explained(&self, options: &CallOptions) -> Explanation {
        let compiled = self.compiled();
        let spec = &compiled.spec;
        let policy = Policy::new(spec, options);
        let budget = policy.budget;
        let tail = compiled.spec.shapes_output() || policy.applies(spec);
        let items = Some(&compiled.items).filter(|items| !self.is_text() && (!items.idle || tail));
        let mut stages = Vec::new();
        if self.is_text() {
            stages.push(whole_stage(spec, budget));
        }
        stages.extend(extract_stage(compiled));
        if !self.is_text() {
            stages.extend(compiled.retain.as_ref().map(|trie| {
                let paths = Paths::plain(trie, spec.retain.as_deref().unwrap_or_default(), true);
                Stage::new(Does::Retain { paths }, Vec::new())
            }));
            stages.extend(compiled.patches.as_ref().map(|patches| patches.stage(spec)));
            stages.extend(compiled.when.as_ref().map(|_| choice(spec)));
            stages.extend(items.into_iter().flat_map(|items| items.stages(compiled)));
            stages.extend(tail_stages(spec, &policy));
        }
        if stages.is_empty() {
            stages.push(Stage::new(Does::Validate, Vec::new()));
        }
        let branches =
            compiled.when.as_ref().map_or_else(Vec::new, |when| branches(when, spec, options));
        let modes = stages.iter().map(|stage| stage.mode);
        let modes = modes.chain(branches.iter().map(|branch| branch.explanation.mode));
        Explanation {
            version: 1,
            mode: modes.max().unwrap_or(Mode::Stream),
            skipped: None,
            validation: spec.validation,
            whitespace: spec.whitespace,
            duplicate_keys: items.map(|items| items.duplicates),
            stages,
            branches,
            total_miss: items.and_then(|items| items.total_miss(spec)),
            limits: Bounds::from(options.limits_ref()),
        }
    }

    /// How each stage runs over a stream, in a line each: what it does, and what it may have to hold. What the
    /// [`Report`](crate::Report) has as its `plan`; [`explain`](Self::explain) says more.
    #[must_use]
    pub fn plan(&self) -> Vec<String> {
        self.plan_with(&CallOptions::new())
    }

    /// The same, for a call.
    pub(super) fn plan_with(&self, options: &CallOptions) -> Vec<String> {
        let compiled = self.compiled();
        let policy = Policy::new(&compiled.spec, options);
        let mut plan = Vec::new();
        if self.is_text() {
            return vec![
                match compiled.spec.content {
                    None => "pass: stream",
                    Some(_) => "content: hold the document until it has text, JSON until it ends (limits held, spill, item)",
                }
                .to_owned(),
            ];
        }
        match (&compiled.extract, compiled.may_lack_extract) {
            (None, _) => {}
            (Some(_), false) => plan.push("extract: stream"),
            (Some(_), true) => plan.push(Seeking::PLAN),
        }
        if compiled.when.is_some() {
            plan.push(CHOICE);
        }
        if compiled.retain.is_some() {
            plan.push("retain: stream");
        }
        let patches = compiled.patches.as_ref().map(|patches| patches.line(&compiled.spec));
        plan.extend(patches.as_deref());
        let items = &compiled.items;
        // The branches have their own.
        let rules = compiled.when.is_none();
        if rules && !items.idle || compiled.spec.shapes_output() || policy.applies(&compiled.spec) {
            let reasons = items.reasons();
            plan.extend(reasons.iter().map(|reason| reason.line()));
            if !reasons.contains(&Reason::Shared) {
                plan.push("items: stream");
            }
        }
        let spec = &compiled.spec;
        if spec.text_filter.is_some() {
            plan.push("text_filter: stream, by line");
        }
        if policy.budget.is_some() {
            plan.push(BUDGET);
        } else if policy.marks_max_items(spec) {
            plan.push("mark: stream");
        }
        if spec.compact.is_some() {
            plan.push(
                "compact: hold the filtered document and its summary (limits held, spill, item)",
            );
        }
        if plan.is_empty() {
            plan.push("validate and minify: stream");
        }
        let mut plan: Vec<String> = plan.into_iter().map(str::to_owned).collect();
        for (name, program) in compiled.when.iter().flat_map(When::programs) {
            plan.extend(program.plan_with(options).iter().map(|line| format!("{name}: {line}")));
        }
        plan
    }

    /// How the run went over a document for which this branch held.
    pub(super) fn plan_of_branch(&self, program: &Self, options: &CallOptions) -> Vec<String> {
        let mut plan = program.plan_with(options);
        let at = usize::from(program.compiled().extract.is_some());
        plan.insert(at.min(plan.len()), CHOICE.to_owned());
        plan
    }
}

/// The line of a budget.
pub(super) const BUDGET: &str =
    "budget: hold what fits until the document ends (limits held, spill)";

/// The line of a choice.
const CHOICE: &str = "when: hold the document until a branch is certain (limits held, spill, item); slices and files are read \
                      twice instead";

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.explain(&CallOptions::new()).fmt(f)
    }
}

/// Why rules on items may have to hold something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// Where the payload is, is decided late.
    Root,
    /// The same, where it is the document if that has a value that is selected.
    RootByHit,
    /// Nothing may leave, or all must, if nothing is found.
    Hit { from: WaitFrom, closed: bool },
    /// More than one output needs a value.
    Shared,
}

impl Reason {
    fn line(self) -> &'static str {
        match self {
            Self::Root => {
                "root auto: hold the document until an array `items` begins or the object ends (limits held, spill); \
                 slices and files are read twice instead"
            }
            Self::RootByHit => {
                "root object: hold the document until it has a selected path or ends (limits held, spill); slices and \
                 files are read twice instead"
            }
            Self::Hit { closed: true, .. } => {
                "on_error closed: hold until the payload has a hit (limits held, spill)"
            }
            Self::Hit { from: WaitFrom::Document, .. } => {
                "on_error raw: hold the document until the payload has a hit (limits held, spill)"
            }
            Self::Hit { from: WaitFrom::Payload, .. } => {
                "on_error raw: hold the payload until its first hit (limits held, spill)"
            }
            Self::Shared => {
                "select: stream, hold values that more than one output needs (limit item)"
            }
        }
    }

    fn holds(self, compiled: &Compiled, items: &ItemRules) -> Holds {
        let both: &[&str] = &["held", "spill"];
        // What an earlier stage leaves comes as a stream, whatever the document is.
        let first =
            compiled.extract.is_none() && compiled.retain.is_none() && compiled.patches.is_none();
        let one_slice = first.then_some("nothing, where the document is one slice");
        match self {
            Self::Root => Holds {
                what: "the document",
                until: "an array `items` begins or the object ends",
                limits: both,
                instead: Some("a slice or a regular file is read twice"),
            },
            Self::RootByHit => Holds {
                what: "the document",
                until: "one of the selected paths is found in it, or it ends",
                limits: both,
                instead: Some("a slice or a regular file is read twice"),
            },
            Self::Hit { from, .. } => Holds {
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
            Self::Shared => Holds {
                what: "a value that more than one output needs",
                until: "it is complete; then it is read once for each",
                limits: &["item"],
                instead: None,
            },
        }
    }
}

/// The stages behind those on items.
fn tail_stages(spec: &Spec, policy: &Policy) -> Vec<Stage> {
    let text = spec.text_filter.as_ref().map(|_| Stage::new(Does::TextFilter, Vec::new()));
    let mark = policy.budget.is_none() && policy.marks_max_items(spec);
    let mark = mark.then(|| Stage::new(Does::Mark, Vec::new()));
    let compact = spec.compact.as_ref().map(|_| {
        let document = Holds {
            what: "the filtered document, then its text,",
            until: "the last item is rendered",
            limits: &["held", "spill"],
            instead: None,
        };
        let item =
            Holds { what: "an item", until: "it is rendered", limits: &["item"], instead: None };
        Stage::new(Does::Compact, vec![document, item])
    });
    [text, budget_stage(policy), mark, compact].into_iter().flatten().collect()
}

/// The stage that keeps a budget, if there is one.
fn budget_stage(policy: &Policy) -> Option<Stage> {
    let Policy { budget, min_items, omitted, on_over } = *policy;
    let holds = Holds {
        what: "what fits",
        until: "the document ends",
        limits: &["held", "spill"],
        instead: None,
    };
    let omitted = omitted.unwrap_or(Omitted::Mark);
    budget
        .map(|budget| Stage::new(Does::Budget { budget, min_items, omitted, on_over }, vec![holds]))
}

impl ItemRules {
    fn reasons(&self) -> Vec<Reason> {
        let root = match self.root {
            RootRule::Auto => Some(Reason::Root),
            RootRule::DocumentOrArray => Some(Reason::RootByHit),
            _ => None,
        };
        let hit = self.waits().map(|from| Reason::Hit { from, closed: self.closed });
        let shared = self.select.iter().flat_map(|select| &select.nodes).any(|node| node.shared);
        [root, hit, shared.then_some(Reason::Shared)].into_iter().flatten().collect()
    }

    fn stages(&self, compiled: &Compiled) -> Vec<Stage> {
        let spec = &compiled.spec;
        let (at_root, at_select): (Vec<_>, Vec<_>) =
            self.reasons().into_iter().partition(|reason| {
                matches!(reason, Reason::Root | Reason::RootByHit) || self.select.is_none()
            });
        let hold = |reasons: Vec<Reason>| {
            reasons.into_iter().map(|reason| reason.holds(compiled, self)).collect::<Vec<_>>()
        };
        if self.refuses {
            return vec![Stage::new(Does::Refuse, Vec::new())];
        }
        let or_array = self.root == RootRule::DocumentOrArray;
        let root = Does::Root { root: spec.root.clone(), siblings: spec.siblings, or_array };
        let mut stages = vec![Stage::new(root, hold(at_root))];
        let mut streams = |does| stages.push(Stage::new(does, Vec::new()));
        if spec.max_items > 0 {
            streams(Does::MaxItems { count: spec.max_items, stop_early: spec.stop_early });
        }
        if let Some(select) = &self.select {
            let paths = Paths::selected(select, spec);
            let from_the_item = select.node(0).shared;
            let does = Does::Select { paths, early_skip: self.early_skip(from_the_item) };
            stages.push(Stage::new(does, hold(at_select)));
        }
        let mut streams = |does| stages.push(Stage::new(does, Vec::new()));
        if !self.exclude.is_empty() {
            streams(Does::Exclude { paths: Paths::plain(&self.exclude, &spec.exclude, false) });
        }
        if self.drop_nulls {
            streams(Does::DropNulls);
        }
        if self.drop_empty {
            streams(Does::DropEmpty);
        }
        if spec.wrap {
            streams(Does::Wrap);
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
                "what would have been selected from passes at full length, with a warning; exclude and drops still apply"
            }
            (false, None) => "the rules on items apply to nothing, with a warning",
        };
        let on_error = if self.closed { OnError::Closed } else { OnError::Raw };
        Some(TotalMiss { on_error, default: spec.on_error.is_none(), effect })
    }
}

impl Stage {
    fn new(does: Does, holds: Vec<Holds>) -> Self {
        let mode = if holds.is_empty() { Mode::Stream } else { Mode::Hold };
        Self { does, mode, holds }
    }
}

impl From<&Limits> for Bounds {
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
