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
use crate::filter::options::CallOptions;
use crate::spec::{DuplicateKeys, OnError, Spec};
use document::{branches, choice, extract_stage, strings_stage, whole_stage};
pub use explanation::Explanation;
use explanation::{LimitValues, TotalMiss};
use output::output_stages;
pub(super) use plan::EXTRACT_SEARCH;
pub use stage::ExecutionMode;
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
        let tail = spec.shapes_output() || policy.applies(spec) || policy.lines;
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
        let tested = self.conditions.is_some().then_some(HoldReason::Test);
        let shared = shared.then_some(HoldReason::Shared);
        [root, hit, tested, shared].into_iter().flatten().collect()
    }

    fn stages(&self, compiled: &CompiledProgram) -> Vec<StageExplanation> {
        let spec = &compiled.spec;
        // Every rule is named: a new one does not compile until it is explained.
        let Self {
            idle: _,
            root,
            keep_siblings: _,
            conditions,
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
            self.reasons().into_iter().filter(|reason| *reason != HoldReason::Test).partition(
                |reason| {
                    matches!(reason, HoldReason::Root | HoldReason::RootByHit) || select.is_none()
                },
            );
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
        if conditions.is_some() {
            let does = StageAction::Where { conditions: spec.conditions.clone() };
            stages.push(StageExplanation::new(does, hold(vec![HoldReason::Test])));
        }
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
