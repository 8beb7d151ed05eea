//! Finds the change of a spec that stops a leak, by trying changes. The change names the weakness.

use tamis_json::path::{Path, PathToken};

use super::calls::CallForm;
use super::places::finds_items;
use super::planted::{Canary, Place, Planted, RuleKind};
use super::report::Weakness;
use tamis::Program;
use tamis::Spec;
use tamis::spec::{
    InnerRules, JsonStringFallback, OnError, OnTestFailure, PatchOpKind, Redact, Root, Siblings,
    WhenFallback,
};

/// A change of a spec.
#[derive(Clone, Debug)]
struct Change {
    weakness: Weakness,
    text: String,
    spec: Spec,
}

/// A spec with one or more changes, compiled.
#[derive(Clone, Debug)]
pub(super) struct Remedy {
    pub(super) weakness: Weakness,
    pub(super) text: String,
    pub(super) program: Program,
}

/// The most changes that are made at once.
const MAX_TOGETHER: usize = 3;
/// The most combinations of changes that are compiled.
const MAX_REMEDIES: usize = 120;

/// The remedies of a spec, simplest first.
pub(super) struct Remedies {
    program: Program,
    common: Vec<Remedy>,
}

impl Remedies {
    pub(super) fn new(program: &Program) -> Self {
        Self { program: program.clone(), common: compiled(combined(program.spec())) }
    }

    /// Returns the first remedy that stops a leak. The output for the document that it was made from must stay the same,
    /// except that siblings may be dropped: rules that refuse everything do not help.
    pub(super) fn find(
        &self,
        place: &Place,
        planted: &Planted,
        base: &Planted,
        form: CallForm,
        canary: &Canary,
    ) -> Option<Remedy> {
        let document = planted.document.text();
        let base = planted.origin.clone().unwrap_or_else(|| base.document.text());
        let before = CallForm::Whole.run(&self.program, &base);
        let has_output = !before.is_error && !canary.is_in(&before.output);
        let stops = |remedy: &Remedy| {
            if form.leaks(&remedy.program, &document, canary) {
                return false;
            }
            let after = CallForm::Whole.run(&remedy.program, &base);
            let is_same = after.output == before.output
                || (remedy.text.contains(SIBLINGS) && after.output.len() > EMPTY);
            !after.is_error && !canary.is_in(&after.output) && (is_same || !has_output)
        };
        let singles = self.common.iter().filter(|remedy| !remedy.text.contains(AND));
        let own = compiled(of_place(self.program.spec(), place, planted));
        let several = self.common.iter().filter(|remedy| remedy.text.contains(AND));
        singles.chain(&own).chain(several).find(|remedy| stops(remedy)).cloned()
    }
}

/// The remedy that drops siblings.
const SIBLINGS: &str = "set `siblings: drop`";
/// The longest output without a value: `{}`, `[]`, `null`.
const EMPTY: usize = 4;
/// Between the parts of a remedy.
const AND: &str = ", and ";

fn compiled(changes: Vec<Change>) -> Vec<Remedy> {
    let compile = |Change { weakness, text, spec }| {
        let program = Program::compile(&spec).ok()?;
        Some(Remedy { weakness, text, program })
    };
    changes.into_iter().filter_map(compile).collect()
}

/// Returns the spec with one change, then with several.
fn combined(spec: &Spec) -> Vec<Change> {
    let mut all = changes(spec);
    let mut from = 0;
    for _ in 1..MAX_TOGETHER {
        let end = all.len();
        for number in from..end {
            let Some(first) = all.get(number).cloned() else { break };
            for second in changes(&first.spec) {
                if all.len() < MAX_REMEDIES && second.weakness >= first.weakness {
                    let text = format!("{}{AND}{}", first.text, second.text);
                    all.push(Change { weakness: first.weakness, text, spec: second.spec });
                }
            }
        }
        from = end;
    }
    all
}

/// Returns every single change of the settings of a spec.
fn changes(spec: &Spec) -> Vec<Change> {
    let mut all = Vec::new();
    let mut add = |weakness, text: &str, change: &dyn Fn(Spec) -> Spec| {
        let changed = everywhere(spec, change);
        if changed != *spec {
            all.push(Change { weakness, text: text.to_owned(), spec: changed });
        }
    };
    add(Weakness::RawOutput, "remove `allow_raw: true`", &|spec| match spec.allow_raw {
        Some(true) => Spec { allow_raw: None, ..spec },
        _ => spec,
    });
    add(
        Weakness::OtherwisePass,
        "set `otherwise: drop` (or `error`)",
        &|spec| match spec.otherwise {
            Some(WhenFallback::Pass) => spec.otherwise(WhenFallback::Drop),
            _ => spec,
        },
    );
    add(
        Weakness::TestStops,
        "put no `test` before an operation that removes, or set `on_test_failure: fail`",
        &|spec| match spec.on_test_failure {
            Some(OnTestFailure::Stop) => spec.on_test_failure(OnTestFailure::Fail),
            _ if spec.foreign && spec.patches.is_some() => {
                spec.on_test_failure(OnTestFailure::Fail)
            }
            _ => spec,
        },
    );
    add(Weakness::LenientRemove, "remove `lenient_remove: true`", &|spec| {
        spec.lenient_remove(false)
    });
    add(
        Weakness::Copied,
        "do not copy or move the value before it is removed, or remove the copy as well",
        &|mut spec| {
            for operations in spec.patches.iter_mut() {
                operations.retain(|operation| {
                    !matches!(operation.op, PatchOpKind::Copy | PatchOpKind::Move)
                });
            }
            spec
        },
    );
    add(
        Weakness::StringFallback,
        "set `otherwise: error` (or `drop`) in `json_strings`",
        &|mut spec| {
            for entry in &mut spec.json_strings {
                entry.otherwise = Some(JsonStringFallback::Error);
            }
            spec
        },
    );
    for root in ["object", "/items", "/records", "/data", "/result", "/other"] {
        let text = if root == "object" {
            "name the root: `root: object`".to_owned()
        } else {
            format!("name the root, such as `root: {root}`")
        };
        add(Weakness::AutoRoot, &text, &|spec| match (&spec.root, &spec.when) {
            (Root::Auto | Root::First, None) if finds_items(&spec) => spec.root(root),
            _ => spec,
        });
    }
    add(Weakness::OpenFallback, "set `on_error: closed`", &|spec| {
        let has_rules = spec.has_rules() && spec.when.is_none();
        if has_rules && !spec.is_closed() { spec.on_error(OnError::Closed) } else { spec }
    });
    add(Weakness::Siblings, SIBLINGS, &|spec| match (&spec.root, &spec.when) {
        (Root::Object, _) | (_, Some(_)) => spec,
        _ => spec.siblings(Siblings::Drop),
    });
    all
}

/// Applies a change to a spec, its branches and the rules inside of strings.
fn everywhere(spec: &Spec, change: &dyn Fn(Spec) -> Spec) -> Spec {
    let mut changed = change(spec.clone());
    for branch in changed.when.iter_mut().flatten() {
        *branch = change(std::mem::take(branch));
    }
    for entry in &mut changed.json_strings {
        if let InnerRules::Spec(inner) = &mut entry.apply {
            **inner = change(std::mem::take(&mut **inner));
        }
    }
    changed
}

/// Returns changes that depend on the place.
fn of_place(spec: &Spec, place: &Place, planted: &Planted) -> Vec<Change> {
    let is_listed = matches!(place.kind, RuleKind::Retain | RuleKind::Select);
    if is_listed || spec.when.is_some() {
        return Vec::new();
    }
    let Ok(path) = Path::parse(&place.path) else { return Vec::new() };
    let moves = planted.shapes.iter().any(super::shapes::Shape::moves_elements);
    let names: Vec<PathToken> = path
        .0
        .iter()
        .filter(|step| **step != PathToken::Any && step.index().is_none())
        .cloned()
        .collect();
    if names.is_empty() || !moves {
        return Vec::new();
    }
    let names = Path(names).to_string();
    let root = if place.kind == RuleKind::Patch { " with `root: object`" } else { "" };
    let rule = match place.kind {
        RuleKind::Redact => format!("redact: {{paths: [{names}]}}"),
        _ => format!("exclude: [{names}]"),
    };
    let (weakness, text) = if place.has_index {
        (
            Weakness::OneElement,
            format!("name no single element: `{rule}`{root} also reaches the elements of arrays"),
        )
    } else {
        (
            Weakness::PathShape,
            format!(
                "use a path without wildcards, which reaches objects and arrays: `{rule}`{root}"
            ),
        )
    };
    let mut changed = match place.kind {
        RuleKind::Redact => spec.clone().redact_also(&Redact::new().path(names)),
        _ => spec.clone().exclude(names),
    };
    if place.kind == RuleKind::Patch {
        changed = changed.root(Root::Object);
    }
    vec![Change { weakness, text, spec: changed }]
}
