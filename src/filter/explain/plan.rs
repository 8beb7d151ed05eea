//! The plan of a report: one line for each stage.

use super::stage::HoldReason;
use crate::filter::compile::items::WaitFrom;
use crate::filter::compile::nested::When;
use crate::filter::compile::program::Program;
use crate::filter::compile::size_policy::SizePolicy;
use crate::filter::compile::stages::StageKind;
use crate::filter::options::CallOptions;
use crate::spec::JsonStringFallback;

impl Program {
    /// Returns the plan for a call.
    pub(in crate::filter) fn plan_with(&self, options: &CallOptions) -> Vec<String> {
        let compiled = self.compiled();
        if compiled.json_strings.is_some() {
            return self.plan_of_strings(&self.after_strings().plan_with(options));
        }
        let spec = &compiled.spec;
        let policy = SizePolicy::new(spec, options.policy());
        let kinds = compiled.stages(&policy);
        let patches = compiled.patches.as_ref().map(|patches| patches.line(spec));
        let mut plan = Vec::new();
        for kind in &kinds {
            let line = match kind {
                StageKind::Whole if spec.content.is_some() => CONTENT,
                StageKind::Whole => "pass: stream",
                StageKind::Extract if compiled.may_lack_extract => EXTRACT_SEARCH,
                StageKind::Extract => "extract: stream",
                StageKind::When => CHOICE,
                StageKind::Retain => "retain: stream",
                StageKind::Patches => patches.as_deref().unwrap_or_default(),
                StageKind::Validate => VALIDATE,
                StageKind::Items => {
                    let reasons = compiled.items.reasons();
                    plan.extend(reasons.iter().map(|reason| reason.line()));
                    if reasons.contains(&HoldReason::Shared) {
                        continue;
                    }
                    "items: stream"
                }
                StageKind::TextFilter => "text_filter: stream, by line",
                StageKind::OmitBase64 => {
                    "omit_base64_over: hold a string while it may be base64 (limits held, spill)"
                }
                StageKind::RedactSecrets if kinds.contains(&StageKind::RedactPaths) => continue,
                StageKind::RedactPaths | StageKind::RedactSecrets => "redact: stream",
                StageKind::Fit if policy.budget.is_some() => BUDGET,
                StageKind::Fit => "mark: stream",
                StageKind::Compact => {
                    "compact: hold the filtered document and its summary (limits held, spill, item)"
                }
                StageKind::Encode => {
                    "encode: hold the filtered document (limits held, spill, item)"
                }
                StageKind::JsonStrings | StageKind::Size | StageKind::Lines => continue,
            };
            plan.push(line);
        }
        let mut plan: Vec<String> = plan.into_iter().map(str::to_owned).collect();
        // The branches have their own plans.
        for (name, program) in compiled.when.iter().flat_map(When::programs) {
            plan.extend(program.plan_with(options).iter().map(|line| format!("{name}: {line}")));
        }
        plan
    }

    /// Returns the plan's line for `extract`.
    fn extract_line(&self) -> Option<&'static str> {
        let compiled = self.compiled();
        match (&compiled.extract, compiled.may_lack_extract) {
            (None, _) => None,
            (Some(_), false) => Some("extract: stream"),
            (Some(_), true) => Some(EXTRACT_SEARCH),
        }
    }

    /// Returns the plan of a program with `json_strings`. `rest`: the plan of the rules after them.
    pub(in crate::filter) fn plan_of_strings(&self, rest: &[String]) -> Vec<String> {
        let mut plan: Vec<String> = self.extract_line().into_iter().map(str::to_owned).collect();
        let rules = self.compiled().json_strings.as_ref();
        for entry in rules.into_iter().flat_map(|rules| &rules.entries) {
            let how = match entry.otherwise {
                JsonStringFallback::Error => "stream",
                _ => "hold each string until it is known to be JSON (limits held, spill)",
            };
            plan.push(format!("json_strings {:?}: {how}", entry.at));
        }
        plan.extend(rest.iter().filter(|line| *line != VALIDATE).cloned());
        plan
    }

    /// Returns the plan of a run over a document to which this branch applied.
    pub(in crate::filter) fn plan_of_branch(
        &self,
        program: &Self,
        options: &CallOptions,
    ) -> Vec<String> {
        let mut plan = program.plan_with(options);
        let at = usize::from(program.compiled().extract.is_some());
        plan.insert(at.min(plan.len()), CHOICE.to_owned());
        plan
    }
}

impl HoldReason {
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
            Self::Test => "where: hold an item until it is decided (limit item)",
            Self::Shared => {
                "select: stream, hold values that more than one output needs (limit item)"
            }
        }
    }
}

/// The plan's line for a value to extract that may be missing.
pub(in crate::filter) const EXTRACT_SEARCH: &str = "extract: hold the document until it is certain to have that value, or not (limits held, \
                                   spill)";

/// The plan's line for a program without rules.
const VALIDATE: &str = "validate and minify: stream";

/// The plan's line for `content`.
const CONTENT: &str =
    "content: hold the document until it has text, JSON until it ends (limits held, spill, item)";

/// The plan's line for a budget.
const BUDGET: &str = "budget: hold what fits until the document ends (limits held, spill)";

/// The plan's line for the choice of a branch.
const CHOICE: &str = "when: hold the document until a branch is certain (limits held, spill, item); slices and files are read \
                      twice instead";
