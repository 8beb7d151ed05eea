//! The plan of a report: one step for each stage, and for each reason to hold input.

use super::stage::HoldReason;
use crate::filter::compile::items::WaitFrom;
use crate::filter::compile::nested::When;
use crate::filter::compile::program::Program;
use crate::filter::compile::size_policy::SizePolicy;
use crate::filter::compile::stages::StageKind;
use crate::filter::options::CallOptions;
use crate::report::{PatchesMode, PlanStep};
use crate::spec::JsonStringFallback;

impl Program {
    /// Returns the plan for a call.
    pub(in crate::filter) fn plan_with(&self, options: &CallOptions) -> Vec<PlanStep> {
        let compiled = self.compiled();
        if compiled.json_strings.is_some() {
            return self.plan_of_strings(&self.after_strings().plan_with(options));
        }
        let spec = &compiled.spec;
        let policy = SizePolicy::new(spec, options.policy());
        let kinds = compiled.stages(&policy);
        let patches = compiled.patches.as_ref().map(|patches| patches.mode(spec));
        let mut plan = Vec::new();
        for kind in &kinds {
            let step = match kind {
                StageKind::Whole if spec.content.is_some() => PlanStep::Content,
                StageKind::Whole => PlanStep::Pass,
                StageKind::Extract => PlanStep::Extract { may_lack: compiled.may_lack_extract },
                StageKind::Requires => PlanStep::Requires,
                StageKind::When => PlanStep::When,
                StageKind::Retain => PlanStep::Retain,
                StageKind::Patches => {
                    PlanStep::Patches(patches.clone().unwrap_or(PatchesMode::Stream))
                }
                StageKind::Validate => PlanStep::Validate,
                StageKind::Items => {
                    let reasons = compiled.items.reasons();
                    plan.extend(reasons.iter().map(|reason| reason.step()));
                    if reasons.contains(&HoldReason::Shared) {
                        continue;
                    }
                    PlanStep::Items
                }
                StageKind::TextFilter => PlanStep::TextFilter,
                StageKind::OmitBase64 => PlanStep::OmitBase64,
                StageKind::RedactSecrets if kinds.contains(&StageKind::RedactPaths) => continue,
                StageKind::RedactPaths | StageKind::RedactSecrets => PlanStep::Redact,
                StageKind::Fit if policy.budget.is_some() => PlanStep::Budget,
                StageKind::Fit => PlanStep::Mark,
                StageKind::Factor => PlanStep::Factor { with_budget: policy.budget.is_some() },
                StageKind::Compact => PlanStep::Compact,
                StageKind::Encode => PlanStep::Encode,
                StageKind::JsonStrings | StageKind::Size | StageKind::Lines => continue,
            };
            plan.push(step);
        }
        // The branches have their own plans.
        for (branch, program) in compiled.when.iter().flat_map(When::programs) {
            let steps = program.plan_with(options).into_iter();
            plan.extend(steps.map(|step| PlanStep::Branch(branch, Box::new(step))));
        }
        plan
    }

    /// Returns the plan's step for `extract`.
    fn extract_step(&self) -> Option<PlanStep> {
        let compiled = self.compiled();
        let may_lack = compiled.may_lack_extract;
        compiled.extract.as_ref().map(|_| PlanStep::Extract { may_lack })
    }

    /// Returns the plan of a program with `json_strings`. `rest`: the plan of the rules after them.
    pub(in crate::filter) fn plan_of_strings(&self, rest: &[PlanStep]) -> Vec<PlanStep> {
        let mut plan: Vec<PlanStep> = self.extract_step().into_iter().collect();
        let rules = self.compiled().json_strings.as_ref();
        plan.extend(rules.into_iter().flat_map(|rules| &rules.entries).map(|entry| {
            let holds = entry.otherwise != JsonStringFallback::Error;
            PlanStep::JsonStrings { at: entry.at.clone(), holds }
        }));
        plan.extend(rest.iter().filter(|step| **step != PlanStep::Validate).cloned());
        plan
    }

    /// Returns the plan of a run over a document to which this branch applied.
    pub(in crate::filter) fn plan_of_branch(
        &self,
        program: &Self,
        options: &CallOptions,
    ) -> Vec<PlanStep> {
        let mut plan = program.plan_with(options);
        let at = usize::from(program.compiled().extract.is_some());
        plan.insert(at.min(plan.len()), PlanStep::When);
        plan
    }
}

impl HoldReason {
    fn step(self) -> PlanStep {
        match self {
            Self::Root => PlanStep::AutoRoot,
            Self::RootByHit => PlanStep::ObjectRoot,
            Self::Hit { closed: true, .. } => PlanStep::ClosedMiss,
            Self::Hit { from: WaitFrom::Document, .. } => PlanStep::RawDocumentMiss,
            Self::Hit { from: WaitFrom::Payload, .. } => PlanStep::RawPayloadMiss,
            Self::Test => PlanStep::Where,
            Self::Shared => PlanStep::SharedSelect,
        }
    }
}
