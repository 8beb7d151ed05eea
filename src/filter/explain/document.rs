//! Explains the stages on the document, and those that replace all others: the choice of a branch, patches, content.

use super::explanation::BranchExplanation;
use super::stage::{
    ExecutionMode, HoldExplanation, JsonStringExplanation, StageAction, StageExplanation,
};
use crate::filter::compile::nested::When;
use crate::filter::compile::patches::Patches;
use crate::filter::compile::program::CompiledProgram;
use crate::filter::options::CallOptions;
use crate::spec::{Budget, JsonStringFallback, PatchOpKind, Spec, WhenFallback, named};

/// Returns the stage that extracts the document.
pub(super) fn extract_stage(compiled: &CompiledProgram) -> Option<StageExplanation> {
    let path = compiled.spec.extract.clone()?;
    let optional = compiled.may_lack_extract;
    let holds = HoldExplanation {
        what: "the document",
        until: "that value begins, or is known to be missing",
        limits: &["held", "spill"],
        instead: None,
    };
    let holds = if optional { vec![holds] } else { Vec::new() };
    Some(StageExplanation::new(StageAction::Extract { path, optional }, holds))
}

/// Returns the stage that filters JSON in strings.
pub(super) fn strings_stage(
    compiled: &CompiledProgram,
    options: &CallOptions,
) -> Option<StageExplanation> {
    let rules = compiled.json_strings.as_ref()?;
    let entries = rules.entries.iter().map(|entry| JsonStringExplanation {
        at: entry.at.clone(),
        otherwise: entry.otherwise,
        same: entry.same,
        apply: entry.program.explained(&options.of_strings()),
    });
    let entries: Vec<JsonStringExplanation> = entries.collect();
    let waits = entries.iter().any(|entry| entry.otherwise != JsonStringFallback::Error);
    let string = HoldExplanation {
        what: "a string",
        until: "it is known to be JSON, or not",
        limits: &["held", "spill"],
        instead: None,
    };
    let mode = entries.iter().map(|entry| entry.apply.mode()).max();
    let holds = if waits { vec![string] } else { Vec::new() };
    let stage = StageExplanation::new(StageAction::JsonStrings { entries }, holds);
    let mode = mode.map_or(stage.mode, |mode| mode.max(stage.mode));
    Some(StageExplanation { mode, ..stage })
}

/// Returns the stage that chooses a branch.
pub(super) fn choice(spec: &Spec) -> StageExplanation {
    let document = HoldExplanation {
        what: "the document",
        until: "a branch is certain to apply, or none",
        limits: &["held", "spill"],
        // The output of `json_strings` always arrives as a stream.
        instead: spec.json_strings.is_empty().then_some("a slice or a regular file is read twice"),
    };
    let value = HoldExplanation {
        what: "a value that a test asks for",
        until: "it is complete",
        limits: &["item"],
        instead: None,
    };
    let otherwise = match spec.otherwise {
        Some(WhenFallback::Pass) => "pass",
        Some(WhenFallback::Drop) => "drop",
        Some(WhenFallback::Error) | None => "error",
    };
    StageExplanation::new(StageAction::When { otherwise }, vec![document, value])
}

pub(super) fn branches(when: &When, spec: &Spec, options: &CallOptions) -> Vec<BranchExplanation> {
    let tests = spec.when.iter().flatten().map(|branch| {
        let test = branch.test.as_ref()?;
        Some(format!("{} is {}", named(&test.path), test.value))
    });
    let tests = tests.chain(std::iter::once(None));
    let explained = when.programs().zip(tests).map(|((name, program), test)| BranchExplanation {
        name,
        test,
        explanation: program.explained(options),
    });
    explained.collect()
}

impl Patches {
    pub(super) fn stage(&self, spec: &Spec) -> StageExplanation {
        let operations = spec.patches.iter().flatten().map(ToString::to_string).collect();
        let tree = self.needs_tree();
        let retained = spec.retain.is_some();
        let holds = match (&tree, self.can_fail()) {
            (Some(_), _) => Some(HoldExplanation {
                what: if retained { "what retain leaves" } else { "the document" },
                until: "it ends; then the operations are applied to it",
                limits: &["item"],
                instead: None,
            }),
            (None, true) => Some(HoldExplanation {
                what: if spec.is_closed() { "the output" } else { "the document" },
                until: "all that the operations need was found",
                limits: &["held", "spill"],
                instead: None,
            }),
            (None, false) => None,
        };
        let mode = match (&tree, &holds) {
            (Some(_), _) => ExecutionMode::Tree,
            (None, Some(_)) => ExecutionMode::Hold,
            (None, None) => ExecutionMode::Stream,
        };
        let tests =
            spec.patches.iter().flatten().any(|operation| operation.op == PatchOpKind::Test);
        let on_test_failure = tests.then(|| spec.on_test_failure.unwrap_or_default());
        let lenient_remove = spec.lenient_remove;
        let does = StageAction::Patches { operations, lenient_remove, on_test_failure, tree };
        StageExplanation { does, mode, holds: holds.into_iter().collect() }
    }

    /// Returns the line of the plan.
    pub(super) fn line(&self, spec: &Spec) -> String {
        match (self.needs_tree(), self.can_fail()) {
            (Some(why), _) => format!("patches: tree of what is left of the document (limit item); {why}"),
            (None, true) if spec.is_closed() => {
                "patches: stream, hold the output until no operation can fail (limits held, spill)".to_owned()
            }
            (None, true) => {
                "patches: stream, hold the document until no operation can fail (limits held, spill)".to_owned()
            }
            (None, false) => "patches: stream".to_owned(),
        }
    }
}

/// Returns the stage of a program that takes the document as a whole.
pub(super) fn whole_stage(spec: &Spec, budget: Option<Budget>) -> StageExplanation {
    let Some(content) = spec.content.clone() else {
        return StageExplanation::new(StageAction::Pass, Vec::new());
    };
    let content = match budget {
        Some(Budget::Tokens(tokens)) => content.max_tokens(tokens),
        _ => content,
    };
    let both: &[&str] = &["held", "spill"];
    let page =
        HoldExplanation { what: "a page", until: "it has text", limits: both, instead: None };
    let json = HoldExplanation { what: "JSON", until: "it ends", limits: both, instead: None };
    let fields = HoldExplanation {
        what: "its fields",
        until: "they are read",
        limits: &["item"],
        instead: None,
    };
    StageExplanation::new(StageAction::Content { content }, vec![page, json, fields])
}
