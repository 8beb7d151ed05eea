//! The entries of a manifest while a format reads it: compiles each, places what is wrong with a rule, and warns.
//!
//! Knows no format; a format says of each tool its spec, and where its rules stand.

use super::error::{Problem, Problems, Text};
use super::node::{Flaw, Key, Node, Value};
use super::scalar::byte_inside;
pub(super) use super::service::Service;
use super::{ManifestEntry, name, suggest};
use crate::allowance::Allowance;
use crate::error::RulePlace;
use crate::filter::Program;
use crate::spec::{Op, Otherwise, Root, Spec};

/// A manifest while it is read.
#[derive(Debug)]
pub(super) struct Building<'a> {
    pub(super) text: &'a Text<'a>,
    format: &'static str,
    /// What is left for the patterns of all tools.
    allowance: &'a mut Allowance,
    service: Option<Service>,
    entries: Vec<ManifestEntry>,
    others: Option<ManifestEntry>,
    problems: Problems,
}

impl<'a> Building<'a> {
    pub(super) fn new(
        text: &'a Text<'a>,
        format: &'static str,
        allowance: &'a mut Allowance,
    ) -> Self {
        Self {
            text,
            format,
            allowance,
            service: None,
            entries: Vec::new(),
            others: None,
            problems: Problems::default(),
        }
    }

    /// The entries, and that of all other tools, or what is wrong.
    pub(super) fn finish(self) -> Result<(Vec<ManifestEntry>, Option<ManifestEntry>), Problems> {
        if self.problems.is_empty() { Ok((self.entries, self.others)) } else { Err(self.problems) }
    }

    /// The filter of all tools that are not named.
    pub(super) fn others(&mut self, at: usize, spec: &Spec) {
        self.add("*".to_owned(), at, spec, |_| None);
        self.others = self.entries.pop();
    }

    /// Something of the tool that was added last works, but is not what it may seem.
    pub(super) fn warn(&mut self, tool: &str, at: usize, message: &str) {
        let message = format!("warning: {}: {message}", suggest::short(tool));
        let problem = self.text.problem(at, message);
        // A tool that was refused is told of already.
        if let Some(entry) = self.entries.last_mut().filter(|entry| entry.name == tool) {
            entry.warnings.push(problem);
        }
    }

    /// The filters are for the tools of this service.
    pub(super) fn bind(&mut self, service: Service) {
        self.service = Some(service);
    }

    /// Something is wrong at a byte of the file.
    pub(super) fn refuse(&mut self, at: usize, message: impl Into<String>) {
        let text = self.text;
        self.problems.push(|| text.problem(at, message));
    }

    /// A key at a byte of the file is none of those that are known.
    pub(super) fn refuse_key(&mut self, at: usize, key: &str, known: &[&str]) {
        let text = self.text;
        self.problems.push(|| text.problem(at, suggest::unknown("key", key, known)));
    }

    /// Something is wrong with the filter of a tool.
    pub(super) fn refuse_tool(&mut self, tool: &str, flaw: &Flaw) {
        let text = self.text;
        let message = || format!("{}: {}", suggest::short(tool), flaw.message());
        self.problems.push(|| text.problem(flaw.at.unwrap_or(0), message()));
    }

    /// Adds the filter of a tool, whose name stands at `at`. `rules` gives the node of a rule, for errors in it; the lists
    /// of a text filter and the templates of a compact are rules of their own, called as in the file.
    pub(super) fn add<'n>(
        &mut self,
        name: String,
        at: usize,
        spec: &Spec,
        rules: impl Fn(&str) -> Option<(&'n Key, &'n Node)>,
    ) {
        if let Some(wrong) = name_flaw(&name) {
            self.refuse(at, wrong);
            return;
        }
        // Then the file is refused, and what its other tools have is not compiled.
        if self.allowance.is_spent() {
            return;
        }
        let spec = &self.own(spec);
        let program = match Program::compile_within(spec, self.allowance) {
            Ok(program) => program,
            Err(error) => {
                let place = error.rule();
                let at = place.and_then(|place| self.locate(place, &rules)).unwrap_or(at);
                let message = place.map_or(error.message(), |place| &place.message);
                self.refuse(at, format!("{}: {message}", suggest::short(&name)));
                return;
            }
        };
        let place = self.text.problem(at, String::new());
        let mut warnings = self.warnings(&name, at, spec, &rules);
        warnings.extend(self.unknown(&name, at, &program, &rules));
        let (format, service) = (self.format, self.service.clone());
        self.entries.push(ManifestEntry { name, program, format, service, place, warnings });
    }

    /// The spec as this format means it.
    fn own(&self, spec: &Spec) -> Spec {
        let mut spec = spec.clone();
        let foreign = self.format != super::native::FORMAT.name;
        spec.foreign = foreign;
        for branch in spec.when.iter_mut().flatten() {
            branch.foreign = foreign;
        }
        spec
    }

    /// The byte of the file that an error in a rule is about.
    fn locate<'n>(
        &self,
        place: &RulePlace,
        rules: &impl Fn(&str) -> Option<(&'n Key, &'n Node)>,
    ) -> Option<usize> {
        let (rule, node) = rules(place.rule)?;
        let inside = |node: &Node| match &node.value {
            Value::Text(text) => byte_inside(&node.at, self.text.text, text, place.at),
            _ => node.at.start,
        };
        Some(match &node.value {
            Value::Map(entries) => match entries.get(place.entry) {
                Some((key, _)) if place.is_key => key.at.start,
                Some((_, node)) => inside(node),
                None => rule.at.start,
            },
            Value::List(list) => list.get(place.entry).map_or(rule.at.start, inside),
            Value::Text(_) => inside(node),
            _ => rule.at.start,
        })
    }

    /// A name in a header or a footer that never has a value, in a format that does not refuse it.
    fn unknown<'n>(
        &self,
        name: &str,
        at: usize,
        program: &Program,
        rules: &impl Fn(&str) -> Option<(&'n Key, &'n Node)>,
    ) -> Option<Problem> {
        let error = program.compiled().unknown_name()?;
        let place = error.rule();
        let at = place.and_then(|place| self.locate(place, rules)).unwrap_or(at);
        let message = place.map_or(error.message(), |place| &place.message);
        Some(self.text.problem(at, format!("warning: {}: {message}", suggest::short(name))))
    }

    fn warnings<'n>(
        &self,
        name: &str,
        at: usize,
        spec: &Spec,
        rules: &impl Fn(&str) -> Option<(&'n Key, &'n Node)>,
    ) -> Vec<Problem> {
        let place = |rule: &str| rules(rule).map_or(at, |(key, _)| key.at.start);
        let mut warnings = Vec::new();
        let mut warn = |rule: &str, message: String| {
            let message = format!("warning: {}: {message}", suggest::short(name));
            warnings.push(self.text.problem(place(rule), message));
        };
        if spec.when.is_some() {
            let pass = "the document passes unchanged where no branch holds";
            match spec.otherwise {
                None => warn(
                    "when",
                    "`when` has no `otherwise`: a document for which no branch holds is an error; say `otherwise: drop`, `pass` or `error`"
                        .to_owned(),
                ),
                Some(Otherwise::Pass) if self.format == "reshapr" => warn(
                    "when",
                    format!("{pass}, as reShapr has it; a tamis manifest can say `otherwise: drop`"),
                ),
                Some(_) => {}
            }
        }
        let branches = spec.when.iter().flatten().map(|branch| ("when", branch));
        for (inside, spec) in std::iter::once(("", spec)).chain(branches) {
            for (rule, message) in doubts(spec, !inside.is_empty()) {
                warn(if inside.is_empty() { rule } else { inside }, message);
            }
        }
        warnings
    }
}

/// What works, but is not what it may seem. `branch`: it fails on a miss unless it says otherwise.
fn doubts(spec: &Spec, branch: bool) -> Vec<(&'static str, String)> {
    let mut doubts = Vec::new();
    let mut tests = spec.patches.iter().flatten().skip_while(|operation| operation.op != Op::Test);
    if tests.any(|operation| operation.op == Op::Remove) {
        let message =
            "a `remove` comes after a `test`: where the test does not hold, nothing is removed";
        doubts.push(("patches", message.to_owned()));
    }
    if spec.root != Root::Auto {
        return doubts;
    }
    let remedy = if spec.envelope {
        "write `type: object` if it is the document, or a tamis manifest with a path as `root`"
    } else {
        "name it: `root: object`, or a path"
    };
    if !spec.exclude.is_empty() {
        let message = format!(
            "`exclude` with an automatic root: which part it applies to depends on the document; {remedy}"
        );
        doubts.push(("exclude", message));
    }
    // With an automatic root only a select can miss; who wrote `closed` expects more of it.
    let said = spec.on_error.is_some() && spec.has_item_rules();
    let closed = spec.is_closed() || (branch && spec.on_error.is_none());
    if closed && (spec.select.is_some() || said) {
        let rule = match (spec.on_error, &spec.retain) {
            (Some(_), _) => "on_error",
            (None, Some(_)) => "retain",
            (None, None) => "patches",
        };
        let message = format!(
            "fails on a miss (`on_error: closed`) with an automatic root: which part is looked at depends on \
             the document; {remedy}"
        );
        doubts.push((rule, message));
    }
    doubts
}

/// The node of a rule, where `rules` has it: the lists of a text filter and the templates of a compact are inside theirs.
pub(super) fn inside<'n>(rules: &'n Node, rule: &str) -> Option<(&'n Key, &'n Node)> {
    match rule {
        "strip_lines_matching" | "keep_lines_matching" => rules.get("text_filter")?.entry(rule),
        "header" | "item" | "footer" => rules.get("compact")?.entry(rule),
        _ => rules.entry(rule),
    }
}

/// What is wrong with a name, if anything is.
fn name_flaw(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("the name of a tool is empty".to_owned());
    }
    if name.len() > name::LONGEST {
        let length = name.len();
        return Some(format!("a name has {length} bytes, more than {}", name::LONGEST));
    }
    let odd = name.chars().find(|char| char.is_control() || matches!(char, '{' | '}' | '['))?;
    Some(format!(
        "the name `{name}` has {odd:?} in it; names are exact, or patterns in which `*` is any text and `?` any character"
    ))
}
