//! The stages on the document, and what stands in the place of all: the choice of a branch, patches, content.

use super::{Branch, Does, ExecutionMode, Holds, Stage};
use crate::filter::CallOptions;
use crate::filter::patches::Patches;
use crate::filter::program::Compiled;
use crate::filter::when::When;
use crate::spec::{Budget, PatchOpKind, Spec, WhenFallback, named};

/// The value that is the document.
pub(super) fn extract_stage(compiled: &Compiled) -> Option<Stage> {
    let path = compiled.spec.extract.clone()?;
    let optional = compiled.may_lack_extract;
    let holds = Holds {
        what: "the document",
        until: "that value begins, or it is certain that there is none",
        limits: &["held", "spill"],
        instead: None,
    };
    let holds = if optional { vec![holds] } else { Vec::new() };
    Some(Stage::new(Does::Extract { path, optional }, holds))
}

/// The choice of a branch.
pub(super) fn choice(spec: &Spec) -> Stage {
    let document = Holds {
        what: "the document",
        until: "a branch is certain to apply, or none",
        limits: &["held", "spill"],
        instead: Some("a slice or a regular file is read twice"),
    };
    let value = Holds {
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
    Stage::new(Does::When { otherwise }, vec![document, value])
}

pub(super) fn branches(when: &When, spec: &Spec, options: &CallOptions) -> Vec<Branch> {
    let tests = spec.when.iter().flatten().map(|branch| {
        let test = branch.test.as_ref()?;
        Some(format!("{} is {}", named(&test.path), test.value))
    });
    let tests = tests.chain(std::iter::once(None));
    let explained = when.programs().zip(tests).map(|((name, program), test)| Branch {
        name,
        test,
        explanation: program.explained(options),
    });
    explained.collect()
}

impl Patches {
    pub(super) fn stage(&self, spec: &Spec) -> Stage {
        let operations = spec.patches.iter().flatten().map(ToString::to_string).collect();
        let tree = self.needs_tree();
        let retained = spec.retain.is_some();
        let holds = match (&tree, self.can_fail()) {
            (Some(_), _) => Some(Holds {
                what: if retained { "what retain leaves" } else { "the document" },
                until: "it ends; then the operations are applied to it",
                limits: &["item"],
                instead: None,
            }),
            (None, true) => Some(Holds {
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
        let does = Does::Patches { operations, lenient_remove, on_test_failure, tree };
        Stage { does, mode, holds: holds.into_iter().collect() }
    }

    /// The line of a plan.
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

/// The stage of a program that takes the document as a whole.
pub(super) fn whole_stage(spec: &Spec, budget: Option<Budget>) -> Stage {
    let Some(content) = spec.content.clone() else {
        return Stage::new(Does::Pass, Vec::new());
    };
    let content = match budget {
        Some(Budget::Tokens(tokens)) => content.max_tokens(tokens),
        _ => content,
    };
    let both: &[&str] = &["held", "spill"];
    let page = Holds { what: "a page", until: "it has text", limits: both, instead: None };
    let json = Holds { what: "JSON", until: "it ends", limits: both, instead: None };
    let fields =
        Holds { what: "its fields", until: "they are read", limits: &["item"], instead: None };
    Stage::new(Does::Content { content }, vec![page, json, fields])
}
