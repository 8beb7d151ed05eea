//! Explains the stages on the document, and those that replace all others: the choice of a branch, patches, content.

use super::explanation::BranchExplanation;
use super::stage::{
    HELD, HoldExplanation, ITEM, JsonStringExplanation, PASS, READ_TWICE, StageAction,
    StageExplanation,
};
use super::tree::PathList;
use crate::filter::compile::nested::When;
use crate::filter::compile::patches::Patches;
use crate::filter::compile::program::CompiledProgram;
use crate::filter::options::CallOptions;
use crate::report::{ExecutionMode, PatchesMode};
use crate::spec::{Budget, JsonStringFallback, PatchOpKind, Spec, WhenFallback, named};

/// Returns the stage that extracts the document.
pub(super) fn extract_stage(compiled: &CompiledProgram) -> StageExplanation {
    let path = compiled.spec.extract.clone().unwrap_or_default();
    let optional = compiled.may_lack_extract;
    let until = "that value begins, or is known to be missing";
    let holds = optional.then(|| HoldExplanation::new("the document", until, HELD));
    StageExplanation::new(StageAction::Extract { path, optional }, holds.into_iter().collect())
}

/// Returns the stage that filters JSON in strings.
pub(super) fn strings_stage(compiled: &CompiledProgram, options: &CallOptions) -> StageExplanation {
    let entries = compiled.json_strings.iter().flat_map(|rules| &rules.entries);
    let entries = entries.map(|entry| JsonStringExplanation {
        at: entry.at.clone(),
        otherwise: entry.otherwise,
        same: entry.same,
        apply: entry.program.explained(&options.of_strings()),
    });
    let entries: Vec<JsonStringExplanation> = entries.collect();
    let waits = entries.iter().any(|entry| entry.otherwise != JsonStringFallback::Error);
    let until = "it is known to be JSON, or not";
    let holds = waits.then(|| HoldExplanation::new("a string", until, HELD));
    let mode = entries.iter().map(|entry| entry.apply.mode()).max();
    let does = StageAction::JsonStrings { entries };
    let stage = StageExplanation::new(does, holds.into_iter().collect());
    let mode = mode.map_or(stage.mode, |mode| mode.max(stage.mode));
    StageExplanation { mode, ..stage }
}

/// Returns the stage that searches for a shape.
pub(super) fn requires_stage(compiled: &CompiledProgram) -> StageExplanation {
    let paths = compiled.spec.requires.clone();
    let is_error = compiled.requires.as_ref().is_some_and(|requires| requires.is_enforced);
    let until = "its shape is certain";
    let holds = vec![HoldExplanation::new("the document", until, HELD)];
    StageExplanation::new(StageAction::Requires { paths, is_error }, holds)
}

/// Returns the stage that chooses a branch.
pub(super) fn choice(spec: &Spec) -> StageExplanation {
    let until = "a branch is certain to apply, or none";
    let document = HoldExplanation {
        // The output of `json_strings` always arrives as a stream.
        instead: spec.json_strings.is_empty().then_some(READ_TWICE),
        ..HoldExplanation::new("the document", until, HELD)
    };
    let value = HoldExplanation::new("a value that a test asks for", "it is complete", ITEM);
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
    let explained = when.programs().zip(tests).map(|((branch, program), test)| BranchExplanation {
        branch,
        test,
        explanation: program.explained(options),
    });
    explained.collect()
}

/// Returns the stage that keeps the values at some paths.
pub(super) fn retain_stage(compiled: &CompiledProgram) -> StageExplanation {
    let written = compiled.spec.retain.as_deref().unwrap_or_default();
    let paths = compiled.retain.as_ref().map(|trie| PathList::plain(trie, written, true));
    StageExplanation::stream(StageAction::Retain { paths: paths.unwrap_or_default() })
}

/// Returns the stage that applies patches.
pub(super) fn patches_stage(compiled: &CompiledProgram) -> StageExplanation {
    let Some(patches) = &compiled.patches else {
        return StageExplanation::plain("patches", "no patches");
    };
    patches.stage(&compiled.spec)
}

impl Patches {
    fn stage(&self, spec: &Spec) -> StageExplanation {
        let operations = spec.patches.iter().flatten().map(ToString::to_string).collect();
        let tree = self.needs_tree();
        let retained = spec.retain.is_some();
        let mode = match (&tree, self.can_fail()) {
            (Some(_), _) => ExecutionMode::Tree,
            (None, true) => ExecutionMode::Hold,
            (None, false) => ExecutionMode::Stream,
        };
        let holds = match mode {
            ExecutionMode::Tree => {
                let what = if retained { "what retain leaves" } else { "the document" };
                let until = "it ends; then the operations are applied to it";
                vec![HoldExplanation::new(what, until, ITEM)]
            }
            ExecutionMode::Hold => {
                let what = if spec.is_closed() { "the output" } else { "the document" };
                let until = "all that the operations need was found";
                vec![HoldExplanation::new(what, until, HELD)]
            }
            ExecutionMode::Stream => Vec::new(),
        };
        let tests =
            spec.patches.iter().flatten().any(|operation| operation.op == PatchOpKind::Test);
        let on_test_failure = tests.then(|| spec.on_test_failure.unwrap_or_default());
        let lenient_remove = spec.lenient_remove;
        let does = StageAction::Patches { operations, lenient_remove, on_test_failure, tree };
        StageExplanation { does, mode, holds }
    }

    /// Returns the line of the plan.
    pub(super) fn mode(&self, spec: &Spec) -> PatchesMode {
        match (self.needs_tree(), self.can_fail()) {
            (Some(reason), _) => PatchesMode::Tree { reason },
            (None, true) if spec.is_closed() => PatchesMode::HoldOutput,
            (None, true) => PatchesMode::HoldDocument,
            (None, false) => PatchesMode::Stream,
        }
    }
}

/// Returns the stage of a program that takes the document as a whole.
pub(super) fn whole_stage(spec: &Spec, budget: Option<Budget>) -> StageExplanation {
    let Some(content) = spec.content.clone() else {
        return StageExplanation::plain(PASS, "every document is forwarded unchanged");
    };
    let content = match budget {
        Some(Budget::Tokens(tokens)) => content.max_tokens(tokens),
        _ => content,
    };
    let page = HoldExplanation::new("a page", "it has text", HELD);
    let json = HoldExplanation::new("JSON", "it ends", HELD);
    let fields = HoldExplanation::new("its fields", "they are read", ITEM);
    StageExplanation::new(StageAction::Content { content }, vec![page, json, fields])
}
