//! Divides a spec into steps: the spec with its first rule, with its first two rules, and so on, in the order in which
//! the rules apply.
//!
//! Each step has all rules of the one before it, and one more. A list whose entries apply one after the other is a step
//! for each entry.

use tamis::Spec;
use tamis::factor::Factored;
use tamis::spec::{
    Budget, Encode, InnerRules, JsonStringFallback, JsonStrings, Omitted, OnError, Root, Siblings,
    Whitespace,
};
use tamis::{CallOptions, Program, WhenBranch};
use tamis::{FactorSkip, Report};
use tamis_json::path::Path;

/// The largest number of steps of one list. Neighbours of longer lists share a step.
const MAX_ENTRIES: usize = 32;

/// How the documents before and after a step are compared.
#[derive(Debug)]
pub(super) enum Comparison {
    /// By path.
    Paths,
    /// By path, apart from the indices of array elements.
    Elements,
    /// The document is the value at a path.
    Extract(Path),
    /// Only the lengths are compared: the output has another form.
    Lengths,
}

/// A part of the rules.
#[derive(Debug)]
pub(super) struct Step {
    /// The place of the last rule in the spec: `exclude[1]`.
    pub(super) rule: String,
    /// The last rule as it is written.
    pub(super) detail: String,
    pub(super) spec: Spec,
    pub(super) options: CallOptions,
    pub(super) comparison: Comparison,
}

/// Builds the steps of one program.
struct Builder<'a> {
    full: &'a Spec,
    /// The options of steps before the size of the output matters.
    options: CallOptions,
    /// The branch that applied.
    branch: Option<usize>,
    /// The rules outside the branches so far.
    outer: Spec,
    /// The rules so far.
    rules: Spec,
    steps: Vec<Step>,
}

/// Returns the step that only minifies, and the steps of the rules in their order. `report`: of the whole run.
pub(super) fn steps(program: &Program, options: &CallOptions, report: &Report) -> Vec<Step> {
    let full = program.spec();
    let before_output = options
        .clone()
        .with_budget(Budget::Bytes(0))
        .with_omitted(Omitted::Silent)
        .with_lines(false)
        .with_only_summary(false);
    let on_error = if full.is_closed() { OnError::Closed } else { OnError::Raw };
    let outer = Spec {
        validation: full.validation,
        on_error: Some(on_error),
        allow_raw: full.allow_raw,
        envelope: full.envelope,
        foreign: full.foreign,
        ..Spec::new()
    };
    let branch = match report.branch {
        Some(WhenBranch::Number(number)) => Some(number),
        _ => None,
    };
    let builder = Builder {
        full,
        options: before_output,
        branch,
        rules: Spec::new(),
        outer,
        steps: Vec::new(),
    };
    builder.build(options, report)
}

impl<'a> Builder<'a> {
    fn build(mut self, options: &CallOptions, report: &Report) -> Vec<Step> {
        let full = self.full;
        let outer = self.outer.clone();
        self.push(String::new(), String::new(), outer, Comparison::Lengths);
        if full.content.is_some() || full.pass {
            // The document may not be JSON.
            self.steps.clear();
            self.options = options.clone();
            self.push("content".into(), String::new(), full.clone(), Comparison::Lengths);
            return self.steps;
        }
        if let Some(path) = &full.extract {
            self.outer.extract = Some(path.clone());
            let outer = self.outer.clone();
            self.push("extract".into(), path.clone(), outer, self.at(path));
        }
        for (rule, detail, entries) in json_strings(full, full.is_closed()) {
            self.outer.json_strings = entries;
            let outer = self.outer.clone();
            self.push(rule, detail, outer, Comparison::Paths);
        }
        // Every further step has the same shape.
        self.outer.requires.clone_from(&full.requires);
        match self.chosen() {
            Some(own) => {
                self.document(own, report);
                self.items(own, report);
                self.output(own, options);
                self.factor(own, options, report);
            }
            None => {
                let detail = full.otherwise.map(|word| format!("{word:?}").to_lowercase());
                self.options = options.clone();
                let spec = Spec { whitespace: Whitespace::Minify, ..full.clone() };
                let comparison = Comparison::Paths;
                self.push("otherwise".into(), detail.unwrap_or_default(), spec, comparison);
            }
        }
        if full.whitespace == Whitespace::Keep {
            // The white space that is kept is subtracted from what was removed.
            self.options = options.clone();
            self.push(String::new(), String::new(), full.clone(), Comparison::Lengths);
        }
        self.steps
    }

    /// Begins the rules that apply: those of the spec, or those of a branch. `None`: no branch applies.
    fn chosen(&mut self) -> Option<&'a Spec> {
        let full = self.full;
        let own = match (&full.when, self.branch) {
            (None, _) => {
                self.rules = self.outer.clone();
                full
            }
            (Some(branches), Some(number)) => {
                let branch = branches.get(number)?;
                self.rules = Spec {
                    test: branch.test.clone(),
                    on_error: branch.on_error.or(full.on_error).or(Some(OnError::Closed)),
                    ..Spec::new()
                };
                self.add(String::new(), String::new());
                if let Some(path) = &branch.extract {
                    self.rules.extract = Some(path.clone());
                    let (spec, comparison) = (self.whole(), self.at(path));
                    self.push(self.named("extract"), path.clone(), spec, comparison);
                }
                // The settings that `same` means as well.
                let own = Spec {
                    test: None,
                    on_error: self.rules.on_error,
                    lenient_remove: branch.lenient_remove || full.lenient_remove,
                    on_test_failure: branch.on_test_failure.or(full.on_test_failure),
                    ..branch.clone()
                };
                for (rule, detail, entries) in json_strings(&own, own.is_closed()) {
                    self.rules.json_strings = entries;
                    self.add(rule, detail);
                }
                branch
            }
            (Some(_), None) => return None,
        };
        Some(own)
    }

    /// Adds the rules on the document.
    fn document(&mut self, own: &'a Spec, report: &Report) {
        if let Some(list) = &own.retain {
            self.rules.retain = Some(list.clone());
            self.add_moving("retain".into(), list_of(list.iter()));
        }
        let Some(list) = &own.patches else { return };
        self.rules.lenient_remove = own.lenient_remove;
        self.rules.on_test_failure = own.on_test_failure;
        // A sequence that fails has no effect, so that its operations have no effect of their own.
        let groups = match report.fallback {
            None => groups(list.len()),
            Some(_) => vec![(0, list.len())],
        };
        for (number, end) in groups {
            let Some(first) = list.get(..end) else { continue };
            self.rules.patches = Some(first.to_vec());
            let detail = first.last().map(ToString::to_string).unwrap_or_default();
            self.add_moving(entry_name("patches", number, end), detail);
        }
    }

    /// Adds the rules on items.
    fn items(&mut self, own: &'a Spec, report: &Report) {
        let missed = report.fallback.is_some() && !report.applied;
        let is_list = report.items_seen.or(report.items_at_least).is_some();
        // With kimbap's `type: object`, the select decides what the payload is.
        let by_select = own.envelope && own.root == Root::Object && own.select.is_some();
        self.rules.root = if by_select && is_list { Root::Auto } else { own.root.clone() };
        self.rules.envelope = own.envelope;
        self.rules.duplicate_keys = own.duplicate_keys;
        self.rules.siblings = own.siblings;
        self.rules.wrap = own.wrap;
        if own.wrap {
            self.push_rules("root", "array".into(), Comparison::Lengths);
        } else if own.siblings == Siblings::Drop {
            self.add(self.named("siblings"), "drop".into());
        }
        if !missed {
            for (number, end) in groups(own.conditions.len()) {
                let Some(first) = own.conditions.get(..end) else { continue };
                self.rules.conditions = first.to_vec();
                let detail = first.last().map(ToString::to_string).unwrap_or_default();
                self.add_moving(entry_name("where", number, end), detail);
            }
        }
        self.rules.conditions = own.conditions.clone();
        self.rules.max_items = own.max_items;
        self.rules.stop_early = own.stop_early;
        if own.max_items > 0 && !missed {
            self.add("max_items".into(), own.max_items.to_string());
        }
        self.rules.root = own.root.clone();
        if let Some(select) = &own.select {
            self.rules.select = Some(select.clone());
            self.rules.on_kind = own.on_kind;
            let detail = list_of(select.0.iter().map(|source| &source.path));
            self.add("select".into(), detail);
        }
        for (number, end) in groups(own.exclude.len()) {
            let Some(first) = own.exclude.get(..end) else { continue };
            self.rules.exclude = first.to_vec();
            let detail = first.last().cloned().unwrap_or_default();
            self.add(entry_name("exclude", number, end), detail);
        }
        for (number, end) in groups(own.omit.len()) {
            let Some(first) = own.omit.get(..end) else { continue };
            self.rules.omit = first.to_vec();
            let detail = first.last().cloned().unwrap_or_default();
            self.add(entry_name("omit", number, end), detail);
        }
        for (name, there) in [("drop_nulls", own.drop_nulls), ("drop_empty", own.drop_empty)] {
            if there {
                self.rules.drop_nulls = own.drop_nulls;
                self.rules.drop_empty = own.drop_empty && name == "drop_empty";
                self.add(name.into(), String::new());
            }
        }
    }

    /// Adds the rules on the filtered document.
    fn output(&mut self, own: &'a Spec, options: &CallOptions) {
        let Spec {
            max_items,
            omit_base64_over,
            text_filter,
            redact,
            budget,
            min_items,
            omitted,
            on_over,
            prefer,
            compact,
            encode,
            ..
        } = own;
        if text_filter.is_some() {
            self.rules.text_filter.clone_from(text_filter);
            self.add("text_filter".into(), String::new());
        }
        if *omit_base64_over > 0 {
            self.rules.omit_base64_over = *omit_base64_over;
            self.add("omit_base64_over".into(), omit_base64_over.to_string());
        }
        if redact.is_some() {
            self.rules.redact.clone_from(redact);
            self.add("redact".into(), String::new());
        }
        (self.rules.budget, self.rules.min_items) = (*budget, *min_items);
        (self.rules.omitted, self.rules.on_over) = (*omitted, *on_over);
        self.rules.prefer = *prefer;
        // A table has no marks, and neither has the document that it is made of.
        let is_table = matches!(encode, Encode::Csv | Encode::Markdown);
        let limit = options.budget().or(*budget);
        self.options = options.clone().with_lines(false).with_only_summary(false);
        if is_table {
            self.options = self.options.clone().with_omitted(Omitted::Silent);
        }
        let marks = options.omitted().or(*omitted) == Some(Omitted::Mark) && !is_table;
        if limit.is_some() || marks && *max_items > 0 {
            let rule = if limit.is_some() { "budget" } else { "omitted" };
            let detail = limit.map(|limit| limit.to_string()).unwrap_or_default();
            let rule = if options.budget().is_some() { rule.to_owned() } else { self.named(rule) };
            let comparison = Comparison::Paths;
            let spec = self.whole();
            self.push(rule, detail, spec, comparison);
        }
        if compact.is_some() {
            self.rules.compact.clone_from(compact);
            self.add("compact".into(), String::new());
        }
        if *encode != Encode::Json {
            self.rules.encode = *encode;
            self.push_rules("encode", encode.as_str().into(), Comparison::Lengths);
        }
        if options.lines() || options.only_summary() {
            self.options = options.clone();
            let rule = if options.lines() { "lines" } else { "only_summary" };
            let spec = self.whole();
            self.push(rule.into(), String::new(), spec, Comparison::Lengths);
        }
    }

    /// Adds the rule on the form of the whole output. Other forms, which are steps before it, skip it.
    fn factor(&mut self, own: &'a Spec, options: &CallOptions, report: &Report) {
        if !own.factor {
            return;
        }
        let skipped = || {
            let reason = report.factor_skipped.map_or("", FactorSkip::as_str);
            format!("skipped: {reason}")
        };
        let detail = report.factored.map_or_else(skipped, |factored| {
            let Factored { all, made, refs, .. } = factored;
            format!("{all} in _all, {made} in _made, {refs} references")
        });
        self.options = options.clone();
        self.rules.factor = report.factored.is_some();
        self.push_rules("factor", detail, Comparison::Lengths);
    }

    /// Returns the comparison of `extract`. A path that cannot be parsed has no program.
    fn at(&self, path: &str) -> Comparison {
        let parsed = if self.full.envelope {
            Path::parse_foreign(path).map(|(path, _)| path)
        } else {
            Path::parse(path)
        };
        parsed.map_or(Comparison::Lengths, Comparison::Extract)
    }

    /// Returns the place of a rule in the spec.
    fn named(&self, rule: &str) -> String {
        match self.branch {
            Some(number) => format!("when[{number}].{rule}"),
            None => rule.to_owned(),
        }
    }

    /// Returns the spec with the rules so far.
    fn whole(&self) -> Spec {
        let (Some(branches), Some(number)) = (&self.full.when, self.branch) else {
            return self.rules.clone();
        };
        let mut rules = self.rules.clone();
        // A branch requires a rule. This one keeps the whole document.
        if !rules.has_rules() {
            rules.retain = Some(vec![String::new()]);
        }
        let mut branches = branches.clone();
        if let Some(branch) = branches.get_mut(number) {
            *branch = rules;
        }
        Spec {
            when: Some(branches),
            otherwise: self.full.otherwise,
            lenient_remove: self.full.lenient_remove,
            on_test_failure: self.full.on_test_failure,
            ..self.outer.clone()
        }
    }

    /// Adds a step with the rules so far.
    fn add(&mut self, rule: String, detail: String) {
        let rule =
            if rule.is_empty() || rule.starts_with("when[") { rule } else { self.named(&rule) };
        let spec = self.whole();
        self.push(rule, detail, spec, Comparison::Paths);
    }

    /// Adds a step with the rules so far, of which the last may move elements.
    fn add_moving(&mut self, rule: String, detail: String) {
        self.add(rule, detail);
        if let Some(step) = self.steps.last_mut() {
            step.comparison = Comparison::Elements;
        }
    }

    fn push_rules(&mut self, rule: &str, detail: String, comparison: Comparison) {
        let (rule, spec) = (self.named(rule), self.whole());
        self.push(rule, detail, spec, comparison);
    }

    fn push(&mut self, rule: String, detail: String, spec: Spec, comparison: Comparison) {
        let options = self.options.clone();
        self.steps.push(Step { rule, detail, spec, options, comparison });
    }
}

/// Returns the entries of `json_strings` of a spec: those up to the first, those up to the second, and so on, each with the
/// name of the rule.
fn json_strings(own: &Spec, is_closed: bool) -> Vec<(String, String, Vec<JsonStrings>)> {
    // `same` stands for all rules of the spec.
    let same = Spec { json_strings: Vec::new(), test: None, ..own.clone() };
    let mut entries = own.json_strings.clone();
    for entry in &mut entries {
        if entry.apply == InnerRules::Same {
            entry.apply = same.clone().into();
        }
        let is_closed =
            is_closed || matches!(&entry.apply, InnerRules::Spec(rules) if rules.is_closed());
        let default = if is_closed { JsonStringFallback::Error } else { JsonStringFallback::Keep };
        entry.otherwise.get_or_insert(default);
    }
    let step = |(begin, end)| {
        let first = entries.get(..end).unwrap_or_default();
        let detail = first.last().map(|entry| format!("at {:?}", entry.at)).unwrap_or_default();
        (entry_name("json_strings", begin, end), detail, first.to_vec())
    };
    groups(entries.len()).into_iter().map(step).collect()
}

/// Returns the groups of a list: the number of the first entry and the number after the last one.
fn groups(len: usize) -> Vec<(usize, usize)> {
    let size = len.div_ceil(MAX_ENTRIES).max(1);
    (0..len).step_by(size).map(|begin| (begin, (begin + size).min(len))).collect()
}

/// Returns the place of the entries of a group.
fn entry_name(list: &str, begin: usize, end: usize) -> String {
    if end <= begin + 1 {
        return format!("{list}[{begin}]");
    }
    format!("{list}[{begin}] to [{}]", end - 1)
}

/// Returns a list as text.
fn list_of<'a>(list: impl Iterator<Item = &'a String>) -> String {
    list.map(String::as_str).collect::<Vec<_>>().join(", ")
}
