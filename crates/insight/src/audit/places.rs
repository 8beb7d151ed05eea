//! The places whose values the rules of a spec remove, each with documents that have a value there.
//!
//! A document is made from the paths of the rules, or from a sample: the planted value first, then everything that the
//! rules need so that they apply (selected members, tested values, targets of patches).
//!
//! A new rule that removes values adds its places in [`Plan::of_rules`]: the steps from the document, or from an item.

use std::collections::HashSet;

use tamis_json::path::projection::ProjectedField;
use tamis_json::path::{Path, PathToken};

use super::planted::{Canary, Place, Planted, RuleKind};
use super::shapes::Shape;
use super::value::Json;
use tamis::Spec;
use tamis::spec::{
    InnerRules, ItemCondition, JsonStrings, OnError, PatchOpKind, Root, Siblings, ValueTest,
};

/// The number of places of one filter that are attacked.
const MAX_PLACES: usize = 400;
/// The number of documents of inner rules that are put into strings.
const MAX_INNER: usize = 60;
/// Branches and inner specs nest at most this deeply.
const MAX_DEPTH: usize = 3;

/// The name of a member that no rule keeps.
const STRANGER: &str = "secret";
/// More names that some programs treat specially.
const SPECIAL: [&str; 5] = ["stderr", "_pagination", "raw", "summary", "items"];

/// The places of a spec and the documents to begin with.
pub(super) struct Plan<'a> {
    pub(super) places: Vec<Place>,
    pub(super) planted: Vec<Planted>,
    /// The number of places beyond the limit.
    pub(super) skipped: usize,
    canary: &'a Canary,
}

/// A place before a document is made for it.
struct Target {
    kind: RuleKind,
    rule: String,
    steps: Vec<PathToken>,
}

/// A form of the payload: the steps to an item.
struct ItemForm {
    steps: Vec<PathToken>,
    /// The number of steps that are names of the root.
    named: usize,
}

fn name(text: &str) -> PathToken {
    PathToken::Name(text.into())
}

fn first_element() -> PathToken {
    name("0")
}

impl<'a> Plan<'a> {
    pub(super) fn new(spec: &Spec, samples: &[Json], canary: &'a Canary) -> Self {
        let mut plan = Self { places: Vec::new(), planted: Vec::new(), skipped: 0, canary };
        plan.planted = plan.of_spec(spec, samples, 0);
        plan
    }

    fn of_spec(&mut self, spec: &Spec, samples: &[Json], depth: usize) -> Vec<Planted> {
        if depth > MAX_DEPTH {
            return Vec::new();
        }
        let extract = spec.extract.as_deref().and_then(|path| Path::parse(path).ok());
        let extract = extract.unwrap_or_default().0;
        let inner: Vec<Json> =
            samples.iter().filter_map(|sample| value_at(sample, &extract)).collect();
        let mut planted = match &spec.when {
            Some(branches) => self.of_branches(branches, &inner, depth),
            None => self.of_rules(spec, &inner),
        };
        for entry in &spec.json_strings {
            planted.extend(self.of_strings(spec, entry, depth));
        }
        planted.into_iter().filter_map(|planted| planted.below(&extract)).collect()
    }

    fn of_branches(&mut self, branches: &[Spec], samples: &[Json], depth: usize) -> Vec<Planted> {
        let mut planted = Vec::new();
        for (number, branch) in branches.iter().enumerate() {
            let Some(test) = &branch.test else { continue };
            let (Ok(path), Some(value)) =
                (Path::pointer(&test.path), Json::parse(test.value.as_str()))
            else {
                continue;
            };
            for mut one in self.of_spec(branch, samples, depth + 1) {
                let before = one.document.at(&one.at).cloned();
                let is_set = one.document.set(&path.0, value.clone()).is_some();
                if is_set && one.document.at(&one.at) == before.as_ref() {
                    one.branch = Some(number);
                    one.tests.push(path.0.clone());
                    planted.push(one);
                }
            }
        }
        planted
    }

    /// Plants values in the JSON of strings.
    fn of_strings(&mut self, spec: &Spec, entry: &JsonStrings, depth: usize) -> Vec<Planted> {
        let Ok(pointer) = Path::pointer(&entry.at) else { return Vec::new() };
        let same;
        let inner = match &entry.apply {
            InnerRules::Spec(inner) => inner,
            InnerRules::Same => {
                same = Spec { json_strings: Vec::new(), ..spec.clone() };
                &same
            }
        };
        let before = self.places.len();
        let documents = self.of_spec(inner, &[], depth + 1);
        for place in self.places.iter_mut().skip(before) {
            place.rule = format!("json_strings {}: {}", entry.at, place.rule);
        }
        let mut planted = Vec::new();
        for inside in documents {
            let origin = in_string_of(spec, &pointer, &inside.document);
            let Some(place) = self.places.get(inside.place) else { continue };
            let shapes = Shape::of(&inside, place);
            let shaped: Vec<Planted> =
                shapes.iter().filter_map(|shape| shape.apply(&inside, self.canary)).collect();
            for inside in std::iter::once(inside).chain(shaped) {
                if planted.len() == MAX_INNER * self.places.len().saturating_sub(before).max(1) {
                    break;
                }
                let Some((document, at)) = in_string_of(spec, &pointer, &inside.document) else {
                    continue;
                };
                planted.push(Planted {
                    document,
                    at,
                    tests: Vec::new(),
                    root_levels: 0,
                    is_automatic: false,
                    in_string: true,
                    branch: None,
                    origin: origin.as_ref().map(|(document, _)| document.text()),
                    ..inside
                });
            }
        }
        planted
    }

    /// Plants values for the rules of a spec without `when`.
    fn of_rules(&mut self, spec: &Spec, samples: &[Json]) -> Vec<Planted> {
        let mut planted = Vec::new();
        let tests = tests_of(spec);
        let bases: Vec<Json> =
            std::iter::once(Json::object()).chain(samples.iter().cloned()).collect();
        let forms = item_forms(&spec.root);
        let mut targets = retain_targets(spec);
        targets.extend(patch_targets(spec));
        targets.extend(sibling_targets(spec));
        for target in targets {
            let Some(place) = self.add(&target, true) else { continue };
            for (number, base) in bases.iter().enumerate() {
                let mut document = base.clone();
                let at = document.set(&target.steps, self.canary.value(target.kind));
                let form = if number == 0 { forms.first() } else { None };
                let form = form.map(|form| form.steps.as_slice()).unwrap_or_default();
                planted.extend(self.finish(spec, place, document, at, form, 0, &tests));
            }
        }
        let notices = spec.root != Root::Object;
        let mut targets = selected_targets(spec);
        let excluded = spec.excluded_places().into_iter();
        targets.extend(excluded.map(|(text, path)| Target {
            kind: RuleKind::Exclude,
            rule: format!("exclude {text}"),
            steps: path.0,
        }));
        let redacted = spec.redacted_places().into_iter();
        targets.extend(redacted.map(|(text, path)| Target {
            kind: RuleKind::Redact,
            rule: format!("redact {text}"),
            steps: path.0,
        }));
        targets.extend(recognised_targets(spec));
        for target in targets {
            let Some(place) = self.add(&target, notices || target.kind == RuleKind::Select) else {
                continue;
            };
            for form in &forms {
                let steps = [form.steps.as_slice(), &target.steps].concat();
                let mut document = Json::object();
                let at = document.set(&steps, self.canary.value(target.kind));
                planted.extend(self.finish(
                    spec,
                    place,
                    document,
                    at,
                    &form.steps,
                    form.named,
                    &tests,
                ));
            }
            for sample in samples {
                let form = form_of_sample(&spec.root, sample);
                let steps = [form.steps.as_slice(), &target.steps].concat();
                let mut document = sample.clone();
                let at = document.set(&steps, self.canary.value(target.kind));
                planted.extend(self.finish(
                    spec,
                    place,
                    document,
                    at,
                    &form.steps,
                    form.named,
                    &tests,
                ));
            }
        }
        planted
    }

    /// Adds a place. `None` beyond the limit.
    fn add(&mut self, target: &Target, notices_wrappers: bool) -> Option<usize> {
        if self.places.len() == MAX_PLACES {
            self.skipped += 1;
            return None;
        }
        self.places.push(Place {
            kind: target.kind,
            rule: target.rule.clone(),
            path: Path(target.steps.clone()).to_string(),
            has_index: target.steps.iter().any(|step| step.index().is_some()),
            notices_wrappers,
        });
        Some(self.places.len() - 1)
    }

    /// Adds what the rules need to a document with a planted value.
    #[allow(clippy::too_many_arguments, reason = "all of them describe one document")]
    fn finish(
        &self,
        spec: &Spec,
        place: usize,
        mut document: Json,
        at: Option<Vec<usize>>,
        item: &[PathToken],
        root_levels: usize,
        tests: &[Vec<PathToken>],
    ) -> Option<Planted> {
        let at = at?;
        need_all(spec, &mut document, item);
        *document.at_mut(&at)? = self.canary.value(self.places.get(place)?.kind);
        Some(Planted {
            place,
            document,
            at,
            branch: None,
            tests: tests.to_vec(),
            root_levels,
            is_automatic: matches!(spec.root, Root::Auto | Root::First) && finds_items(spec),
            in_string: false,
            shapes: Vec::new(),
            origin: None,
        })
    }
}

/// Returns whether a rule of the spec applies to items, so that the root matters.
pub(super) fn finds_items(spec: &Spec) -> bool {
    spec.has_item_rules() || !spec.redacted_places().is_empty()
}

/// Returns a document with another one in the string at a pointer, and the location of the string.
fn in_string_of(spec: &Spec, pointer: &Path, inside: &Json) -> Option<(Json, Vec<usize>)> {
    let mut document = Json::object();
    need_all(spec, &mut document, &[]);
    let at = document.set(&pointer.0, Json::string(&inside.text()))?;
    Some((document, at))
}

/// Returns the value at a path of a sample.
fn value_at(sample: &Json, path: &[PathToken]) -> Option<Json> {
    let mut copy = sample.clone();
    let before = copy.clone();
    let at = copy.set(path, Json::object())?;
    before.at(&at).cloned()
}

/// Returns the forms of a payload that a root finds.
fn item_forms(root: &Root) -> Vec<ItemForm> {
    let form = |steps: Vec<PathToken>, named| ItemForm { steps, named };
    match root {
        Root::Object => vec![form(Vec::new(), 0)],
        Root::Auto => vec![
            form(vec![name("items"), first_element()], 1),
            form(vec![first_element()], 0),
            form(Vec::new(), 0),
            form(vec![name("records"), first_element()], 1),
        ],
        Root::First => vec![form(vec![name("records"), first_element()], 1)],
        Root::At(path) => {
            let steps = Path::parse(path).unwrap_or_default().0;
            let named = steps.len();
            let element = [steps.as_slice(), &[first_element()]].concat();
            vec![form(element, named), form(steps, named)]
        }
    }
}

/// Returns where the items of a sample are.
fn form_of_sample(root: &Root, sample: &Json) -> ItemForm {
    let with_element = |mut steps: Vec<PathToken>, named, payload: Option<&Json>| {
        if matches!(payload, Some(Json::Array(_))) {
            steps.push(first_element());
        }
        ItemForm { steps, named }
    };
    match root {
        Root::Object => with_element(Vec::new(), 0, Some(sample)),
        Root::At(path) => {
            let steps = Path::parse(path).unwrap_or_default().0;
            let payload = value_at(sample, &steps);
            let named = steps.len();
            with_element(steps, named, payload.as_ref())
        }
        Root::Auto | Root::First => {
            let Json::Object(members) = sample else {
                return with_element(Vec::new(), 0, Some(sample));
            };
            let mut arrays = members.iter().filter(|(_, value)| matches!(value, Json::Array(_)));
            let known = ["items", "result", "data"].into_iter();
            let mut known = known.filter(|_| *root == Root::Auto);
            let found = known
                .find_map(|name| {
                    members
                        .iter()
                        .find(|(key, value)| key == name && matches!(value, Json::Array(_)))
                })
                .or_else(|| arrays.next());
            match found {
                Some((key, value)) => with_element(vec![name(key)], 1, Some(value)),
                None => with_element(Vec::new(), 0, None),
            }
        }
    }
}

/// Sets everything that the rules need to apply to a document.
fn need_all(spec: &Spec, document: &mut Json, item: &[PathToken]) {
    let mut need = |prefix: &[PathToken], path: &[PathToken], value: Json| {
        _ = document.set(&[prefix, path].concat(), value);
    };
    for condition in &spec.conditions {
        let ItemCondition { path, test, not: _ } = condition;
        if let (Ok(path), Some(value)) = (Path::parse(path), passing(test)) {
            need(item, &path.0, value);
        }
    }
    for (path, fields) in spec.selected_sources() {
        if fields.is_empty() {
            need(item, &path.0, Json::one());
        }
        for field in 0..fields.len() {
            let steps = [path.0.as_slice(), &field_steps(&fields, field)].concat();
            need(item, &steps, Json::one());
        }
    }
    for pointer in spec.retain.iter().flatten() {
        if let Ok(path) = Path::pointer(pointer) {
            need(&[], &path.0, Json::one());
        }
    }
    for operation in spec.patches.iter().flatten() {
        let (pointer, value) = match operation.op {
            PatchOpKind::Add => continue,
            PatchOpKind::Remove | PatchOpKind::Replace => (Some(&operation.path), None),
            PatchOpKind::Move | PatchOpKind::Copy => (operation.from.as_ref(), None),
            PatchOpKind::Test => (Some(&operation.path), operation.value.as_ref()),
        };
        let value = value.and_then(|value| Json::parse(value.as_str()));
        if let Some(Ok(path)) = pointer.map(|pointer| Path::pointer(pointer)) {
            need(&[], &path.0, value.unwrap_or_else(Json::one));
        }
    }
}

/// Returns a value that passes a test, if one is known.
fn passing(test: &ValueTest) -> Option<Json> {
    let ValueTest { equals, one_of, matches, less, greater, exists } = test;
    if matches.is_some() || *exists == Some(false) {
        return None;
    }
    let is_text = |bound: &tamis::spec::RawJson| bound.as_str().starts_with('"');
    let value = match (equals, one_of.as_ref().and_then(|values| values.first())) {
        (Some(value), _) | (None, Some(value)) => return Json::parse(value.as_str()),
        (None, None) => match (less, greater) {
            (Some(bound), _) if is_text(bound) => Json::string(""),
            (Some(_), _) => Json::Scalar("-9e99".to_owned()),
            (None, Some(bound)) if is_text(bound) => Json::string("\u{10ffff}"),
            (None, Some(_)) => Json::Scalar("9e99".to_owned()),
            (None, None) => Json::one(),
        },
    };
    Some(value)
}

/// Returns the steps from a projected object to one of its fields.
fn field_steps(fields: &[ProjectedField], field: usize) -> Vec<PathToken> {
    let mut steps = Vec::new();
    let mut next = Some(field);
    while let Some(field) = next.and_then(|number| fields.get(number)) {
        // In reverse: `[]` follows the name.
        steps.extend(std::iter::repeat_n(PathToken::Any, field.levels));
        steps.push(PathToken::Name(field.name.clone()));
        next = field.parent;
    }
    steps.reverse();
    steps
}

/// Returns the paths of the values that tests of `patches` compare.
fn tests_of(spec: &Spec) -> Vec<Vec<PathToken>> {
    let operations = spec.patches.iter().flatten();
    let tests = operations.filter(|operation| operation.op == PatchOpKind::Test);
    tests.filter_map(|test| Some(Path::pointer(&test.path).ok()?.0)).collect()
}

fn patch_targets(spec: &Spec) -> Vec<Target> {
    let operations = spec.patches.iter().flatten();
    let removing = operations.filter(|operation| operation.removes() && !operation.path.is_empty());
    let target = |operation: &tamis::spec::PatchOp| {
        let steps = Path::pointer(&operation.path).ok()?.0;
        Some(Target { kind: RuleKind::Patch, rule: format!("patches {operation}"), steps })
    };
    removing.filter_map(target).collect()
}

/// Returns places outside of what `retain` keeps: a stranger in each container on the way to a kept value.
fn retain_targets(spec: &Spec) -> Vec<Target> {
    let Some(retain) = &spec.retain else { return Vec::new() };
    let kept: Vec<Vec<PathToken>> =
        retain.iter().filter_map(|pointer| Some(Path::pointer(pointer).ok()?.0)).collect();
    strangers(&kept, &kept, RuleKind::Retain, "retain")
}

/// Returns places in items that a closed select does not keep.
fn selected_targets(spec: &Spec) -> Vec<Target> {
    if spec.on_error != Some(OnError::Closed) || spec.select.is_none() {
        return Vec::new();
    }
    let mut whole = Vec::new();
    let mut ways = Vec::new();
    for (path, fields) in spec.selected_sources() {
        if fields.is_empty() {
            whole.push(path.0.clone());
            ways.push(path.0);
            continue;
        }
        for (number, field) in fields.iter().enumerate() {
            let steps = [path.0.as_slice(), &field_steps(&fields, number)].concat();
            if !field.is_object {
                whole.push(steps.clone());
            }
            ways.push(steps);
        }
    }
    strangers(&ways, &whole, RuleKind::Select, "select with on_error: closed")
}

/// Returns the places of credentials and personal data, which `redact` replaces: the members that a select keeps, or any.
fn recognised_targets(spec: &Spec) -> Vec<Target> {
    let Some(redact) = &spec.redact else { return Vec::new() };
    let mut places = Vec::new();
    for (path, fields) in spec.selected_sources() {
        if fields.is_empty() {
            places.push(path.0.clone());
        }
        for (number, field) in fields.iter().enumerate() {
            if !field.is_object {
                places.push([path.0.as_slice(), &field_steps(&fields, number)].concat());
            }
        }
    }
    if places.is_empty() {
        places.push(vec![name("note")]);
    }
    let rules = [
        (redact.secrets.is_some(), RuleKind::Secrets, "redact: secrets"),
        (redact.personal, RuleKind::Personal, "redact: {personal: true}"),
    ];
    let rules = rules.into_iter().filter(|(is_given, ..)| *is_given);
    let target = |(_, kind, rule): (bool, RuleKind, &str), steps: &Vec<PathToken>| Target {
        kind,
        rule: rule.to_owned(),
        steps: steps.clone(),
    };
    rules.flat_map(|rule| places.iter().map(move |steps| target(rule, steps))).collect()
}

/// Returns the places next to the payload of a closed select.
fn sibling_targets(spec: &Spec) -> Vec<Target> {
    if selected_targets(spec).is_empty() {
        return Vec::new();
    }
    let steps = match &spec.root {
        Root::Object => return Vec::new(),
        Root::At(path) => Path::parse(path).unwrap_or_default().0,
        Root::Auto | Root::First => vec![name("items")],
    };
    let rule = match spec.siblings {
        Siblings::Keep => "select with on_error: closed",
        Siblings::Drop => "siblings: drop",
    };
    let steps = std::slice::from_ref(&steps);
    strangers(steps, steps, RuleKind::Select, rule)
}

/// Returns strangers in each container on the `ways`, unless a value that is kept as a whole contains them.
fn strangers(
    ways: &[Vec<PathToken>],
    whole: &[Vec<PathToken>],
    kind: RuleKind,
    rule: &str,
) -> Vec<Target> {
    let mut known = HashSet::new();
    let mut targets = Vec::new();
    let named: HashSet<&[PathToken]> =
        ways.iter().flat_map(|way| (0..=way.len()).filter_map(|end| way.get(..end))).collect();
    let top: &[PathToken] = &[];
    let parents = ways.iter().flat_map(|way| (0..way.len()).filter_map(|end| way.get(..end)));
    for parent in std::iter::once(top).chain(parents) {
        if !known.insert(parent) || whole.iter().any(|kept| parent.starts_with(kept)) {
            continue;
        }
        // A wildcard or an index stands for elements, which a stranger's name is not one of.
        let names = if parent.is_empty() { SPECIAL.as_slice() } else { &[] };
        for text in std::iter::once(&STRANGER).chain(names) {
            let steps = [parent, &[name(text)]].concat();
            if !named.contains(steps.as_slice()) {
                targets.push(Target { kind, rule: rule.to_owned(), steps });
            }
        }
        if !parent.is_empty() {
            // A scalar where a container is expected.
            targets.push(Target { kind, rule: rule.to_owned(), steps: parent.to_vec() });
        }
    }
    targets
}
