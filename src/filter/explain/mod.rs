//! Describes how a program will run: its stages in order, what each may have to hold, and why.
//!
//! The description only depends on the compiled rules. It has to agree with the run: a program that is explained as a
//! stream holds nothing on any document (`tests/cases/explain.rs`).

mod document;
mod explanation;
mod output;
mod plan;
mod stage;
mod text;
mod tree;

use std::fmt;

use crate::filter::compile::items::{ItemRules, RootRule};
use crate::filter::compile::program::{CompiledProgram, Program};
use crate::filter::compile::size_policy::SizePolicy;
use crate::filter::compile::stages::StageKind;
use crate::filter::options::CallOptions;
use crate::report::{ExecutionMode, PlanStep};
use crate::spec::{DuplicateKeys, OnError, Spec};
use document::{
    branches, choice, extract_stage, patches_stage, requires_stage, retain_stage, strings_stage,
    whole_stage,
};
pub use explanation::Explanation;
use explanation::{LimitValues, TotalMiss};
use stage::{EarlySkip, HoldReason, StageAction, StageExplanation};
use tree::PathList;

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
        let CompiledProgram { spec, when, items, .. } = &**compiled;
        let policy = SizePolicy::new(spec, options.policy());
        let kinds = compiled.stages(&policy);
        let reads_items = kinds.contains(&StageKind::Items) && !compiled.only_factors(&policy);
        let items = Some(items).filter(|_| reads_items);
        let mut stages = Vec::new();
        for kind in &kinds {
            let stage = match kind {
                StageKind::Whole => whole_stage(spec, policy.budget),
                StageKind::Extract => extract_stage(compiled),
                StageKind::JsonStrings => strings_stage(compiled, options),
                StageKind::Retain => retain_stage(compiled),
                StageKind::Patches => patches_stage(compiled),
                StageKind::Requires => requires_stage(compiled),
                StageKind::When => choice(spec),
                StageKind::Validate => StageExplanation::plain("validate", "the document passes"),
                StageKind::Items => {
                    stages.extend(compiled.items.stages(compiled));
                    continue;
                }
                StageKind::TextFilter => {
                    let text = "the lines of a text in the document's member `raw` are filtered";
                    StageExplanation::plain("text_filter", text)
                }
                StageKind::OmitBase64 => output::omit_base64(spec),
                StageKind::RedactSecrets if kinds.contains(&StageKind::RedactPaths) => continue,
                StageKind::RedactPaths | StageKind::RedactSecrets => output::redact(spec),
                StageKind::Fit => output::fit(&policy),
                StageKind::Factor => {
                    stages.push(output::factor());
                    if !policy.applies(spec) {
                        continue;
                    }
                    output::fit(&policy)
                }
                StageKind::Compact => output::compact(),
                StageKind::Encode => output::encode(spec),
                // These change no rule's part of the document.
                StageKind::Size | StageKind::Lines => continue,
            };
            stages.push(stage);
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

    /// Returns a step for each stage: what it does, and what it may have to hold. The [`Report`](crate::Report)
    /// contains these steps as its `plan`. [`explain`](Self::explain) returns more detail.
    #[must_use]
    pub fn plan(&self) -> Vec<PlanStep> {
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
        let tested = self.conditions.is_some().then_some(HoldReason::Test);
        let shared = shared.then_some(HoldReason::Shared);
        [root, hit, tested, shared].into_iter().flatten().collect()
    }

    fn stages(&self, compiled: &CompiledProgram) -> Vec<StageExplanation> {
        let spec = &compiled.spec;
        let Self { root, conditions, select, exclude, with_omit, refuses, .. } = self;
        let (at_root, at_select): (Vec<_>, Vec<_>) =
            self.reasons().into_iter().filter(|reason| *reason != HoldReason::Test).partition(
                |reason| {
                    matches!(reason, HoldReason::Root | HoldReason::RootByHit) || select.is_none()
                },
            );
        let hold = |reasons: Vec<HoldReason>| {
            reasons.into_iter().map(|reason| reason.holds(compiled, self)).collect::<Vec<_>>()
        };
        if *refuses {
            let text = "an error without output: only selected values may be emitted (`on_error: closed`), but the call failed";
            return vec![StageExplanation::plain("refuse", text)];
        }
        let or_array = *root == RootRule::DocumentOrArray;
        let action =
            StageAction::Root { root: spec.root.clone(), siblings: spec.siblings, or_array };
        let mut stages = vec![StageExplanation::new(action, hold(at_root))];
        if conditions.is_some() {
            let does = StageAction::Where { conditions: spec.conditions.clone() };
            stages.push(StageExplanation::new(does, hold(vec![HoldReason::Test])));
        }
        let mut streams = |does| stages.push(StageExplanation::stream(does));
        if spec.max_items > 0 {
            streams(StageAction::MaxItems { count: spec.max_items, stop_early: spec.stop_early });
        }
        if let Some(select) = select {
            let paths = PathList::selected(select, spec);
            let from_the_item = select.node(0).shared;
            let does = StageAction::Select { paths, early_skip: self.early_skip(from_the_item) };
            stages.push(StageExplanation::new(does, hold(at_select)));
        }
        let mut streams = |does| stages.push(StageExplanation::stream(does));
        if !exclude.is_empty() {
            streams(StageAction::Exclude { paths: PathList::plain(exclude, &spec.exclude, false) });
        }
        if with_omit.is_some() {
            streams(StageAction::Omit { paths: PathList::omitted(spec) });
        }
        stages.extend(spec.rules().filter_map(|rule| {
            rule.traits().explained.map(|text| StageExplanation::plain(rule.name(), text))
        }));
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
