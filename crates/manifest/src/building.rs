//! The entries of a manifest while a format reads it: compiles each, gives errors their places, and collects warnings.
//!
//! This module does not depend on a format. For each tool, a format supplies the spec and the places of its rules in
//! the file.

use std::sync::Arc;

use tamis_json::error::RulePlace;
use tamis_json::path::Path;
use tamis_json::regex_budget::RegexBudget;

use super::delivery::Delivery;
use super::entry::{
    Alias, Built, MAX_FILTERS, MAX_PATTERNS, ManifestEntry, Service, too_many_patterns,
};
use super::error::{Diagnostic, Problems, Text};
use super::node::{Flaw, Key, Node};
use super::rule_place::rule_at;
use super::settings::Settings;
use super::{name, suggest};
use tamis::Program;
use tamis::Spec;
use tamis::spec::{InnerRules, OnTestFailure, PatchOpKind, Root, WhenFallback};

/// The name of tamis' own format.
pub(super) const NATIVE: &str = "tamis";

/// A format: one file in this folder.
pub(super) struct Format {
    /// The format's name in errors and in the output of `check`.
    pub(super) name: &'static str,
    /// The keys that identify the format, for the error about a file of no known format.
    pub(super) signs: &'static str,
    pub(super) recognises: fn(&Node) -> bool,
    /// Adds an entry for each tool, or records errors.
    pub(super) read: fn(&mut Building<'_>, &Node),
}

/// A manifest under construction.
#[derive(Debug)]
pub(super) struct Building<'a> {
    pub(super) text: &'a Text<'a>,
    format: &'static str,
    /// The remaining budget for the compiled patterns and templates of all tools.
    allowance: &'a mut RegexBudget,
    service: Option<Service>,
    entries: Vec<ManifestEntry>,
    /// How many of the names are patterns.
    patterns: usize,
    /// Set when a limit of the file is exceeded: no further entry is compiled.
    is_full: bool,
    others: Option<ManifestEntry>,
    /// The keys of the file that only a gateway reads.
    pub(super) settings: Settings,
    problems: Problems,
}

impl<'a> Building<'a> {
    pub(super) fn new(
        text: &'a Text<'a>,
        format: &'static str,
        allowance: &'a mut RegexBudget,
    ) -> Self {
        Self {
            text,
            format,
            allowance,
            service: None,
            entries: Vec::new(),
            patterns: 0,
            is_full: false,
            others: None,
            settings: Settings::default(),
            problems: Problems::default(),
        }
    }

    /// Returns what was read, or the problems that were found.
    pub(super) fn finish(self) -> Result<Built, Problems> {
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        let (mut entries, settings) = (self.entries, self.settings);
        if let Some(servers) = &settings.servers {
            for entry in &mut entries {
                entry.servers = Arc::clone(&servers.value);
            }
        }
        Ok(Built { entries, others: self.others, settings })
    }

    /// Sets the keys of the filter added last that only a gateway reads.
    pub(super) fn deliver(&mut self, tool: &str, delivery: Delivery) {
        if let Some(entry) = self.entries.last_mut().filter(|entry| entry.name == tool) {
            entry.delivery = delivery;
        }
    }

    /// Gives the filter added last more names: texts of the file.
    pub(super) fn call(&mut self, tool: &str, names: &[Node]) {
        let mut aliases = Vec::with_capacity(names.len());
        for node in names {
            let name = node.as_text().unwrap_or_default();
            match name_flaw(name) {
                Some(wrong) => self.refuse(node.at.start, wrong),
                None => {
                    let place = self.text.problem(node.at.start, String::new());
                    aliases.push(Alias { name: name.to_owned(), place });
                }
            }
        }
        if let Some(entry) = self.entries.last_mut().filter(|entry| entry.name == tool) {
            entry.aliases = aliases.into();
        }
    }

    /// Returns the number of errors so far.
    pub(super) fn problem_count(&self) -> usize {
        self.problems.count()
    }

    /// Returns whether the next error is listed with its message, and not only counted.
    pub(super) fn lists_more(&self) -> bool {
        self.problems.lists_more()
    }

    /// Puts filters and errors in the order of the file.
    pub(super) fn sort(&mut self) {
        self.entries.sort_by_key(|entry| entry.place.position());
        self.problems = std::mem::take(&mut self.problems).in_order();
    }

    /// Sets the filter of all tools that are not named.
    pub(super) fn others(&mut self, at: usize, spec: &Spec) {
        self.add("*".to_owned(), at, spec, |_| None);
        self.others = self.entries.pop();
    }

    /// Warns that a rule of the tool added last is valid, but may not do what it appears to do.
    pub(super) fn warn(&mut self, tool: &str, at: usize, message: &str) {
        let message = format!("warning: {}: {message}", suggest::short(tool));
        let problem = self.text.problem(at, message);
        // A tool that was refused already has an error.
        if let Some(entry) = self.entries.last_mut().filter(|entry| entry.name == tool) {
            entry.warnings.push(problem);
        }
    }

    /// Sets the service whose tools the filters are for.
    pub(super) fn bind(&mut self, service: Service) {
        self.service = Some(service);
    }

    /// Records an error at a byte of the file.
    pub(super) fn refuse(&mut self, at: usize, message: impl Into<String>) {
        let text = self.text;
        self.problems.push(|| text.problem(at, message));
    }

    /// Records an unknown key at a byte of the file.
    pub(super) fn refuse_key(&mut self, at: usize, key: &str, known: &[&str]) {
        let text = self.text;
        self.problems.push(|| text.problem(at, suggest::unknown("key", key, known)));
    }

    /// Records an error in the filter of a tool.
    pub(super) fn refuse_tool(&mut self, tool: &str, flaw: &Flaw) {
        let text = self.text;
        let message = || format!("{}: {}", suggest::short(tool), flaw.message());
        self.problems.push(|| text.problem(flaw.at.unwrap_or(0), message()));
    }

    /// Adds the filter of a tool whose name begins at `at`. `rules` maps each rule to its node, for errors in it. The
    /// lists of a text filter and the templates of a compact are rules as well, named as in the file.
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
        // The file is refused already, so its other tools are not compiled.
        if self.allowance.is_spent() || self.is_full {
            return;
        }
        self.patterns += usize::from(name::is_pattern(&name));
        let over = if self.entries.len() >= MAX_FILTERS {
            Some(format!("more than {MAX_FILTERS} filters; split them into several files"))
        } else {
            (self.patterns > MAX_PATTERNS).then(too_many_patterns)
        };
        if let Some(message) = over {
            self.is_full = true;
            self.refuse(at, message);
            return;
        }
        let spec = &self.own(spec);
        let Some(program) = self.compile(&name, at, spec, &rules, None) else { return };
        let place = self.text.problem(at, String::new());
        let warnings = self.all_warnings(&name, at, &program, &rules);
        let (format, service) = (self.format, self.service.clone());
        self.entries.push(ManifestEntry {
            name,
            aliases: Arc::new([]),
            program,
            careful: None,
            format,
            service,
            place,
            warnings,
            delivery: Delivery::default(),
            servers: Arc::new([]),
            is_builtin: false,
        });
    }

    /// Gives the filter added last a tight level. Its own rules become the careful one.
    pub(super) fn tighten<'n>(
        &mut self,
        tool: &str,
        at: usize,
        spec: &Spec,
        rules: impl Fn(&str) -> Option<(&'n Key, &'n Node)>,
    ) {
        let is_same = |entry: &ManifestEntry| entry.name == tool && entry.careful.is_none();
        // A tool that was refused already has an error.
        let last = self.entries.last().filter(|entry| is_same(entry));
        let Some(careful) = last.map(|entry| entry.program.clone()) else { return };
        let spec = self.own(spec);
        let Some(tight) = self.compile(tool, at, &spec, &rules, Some(&careful)) else { return };
        let warnings = self.all_warnings(tool, at, &tight, &rules);
        if let Some(entry) = self.entries.last_mut() {
            let known: Vec<String> = entry.warnings.iter().map(ToString::to_string).collect();
            let is_new = |warning: &Diagnostic| !known.contains(&warning.to_string());
            entry.warnings.extend(warnings.into_iter().filter(is_new));
            entry.program = tight;
            entry.careful = Some(careful);
        }
    }

    /// Compiles the rules of a tool, or records an error in them. `careful`: the level for documents of another shape.
    fn compile<'n>(
        &mut self,
        name: &str,
        at: usize,
        spec: &Spec,
        rules: &impl Fn(&str) -> Option<(&'n Key, &'n Node)>,
        careful: Option<&Program>,
    ) -> Option<Program> {
        let compiled = match careful {
            None => Program::compile_within(spec, self.allowance),
            Some(careful) => Program::compile_before(spec, careful, self.allowance),
        };
        let error = match compiled {
            Ok(program) => return Some(program),
            Err(error) => error,
        };
        let place = error.rule();
        let at = place.and_then(|place| rule_at(self.text.text, place, rules)).unwrap_or(at);
        let message = place.map_or(error.message(), |place| &place.message);
        self.refuse(at, format!("{}: {message}", suggest::short(name)));
        None
    }

    /// Returns all warnings about a program.
    fn all_warnings<'n>(
        &self,
        name: &str,
        at: usize,
        program: &Program,
        rules: &impl Fn(&str) -> Option<(&'n Key, &'n Node)>,
    ) -> Vec<Diagnostic> {
        let spec = program.spec();
        let mut warnings = self.warnings(name, at, spec, rules);
        warnings.extend(self.path_warnings(name, at, spec, rules));
        warnings.extend(self.unknown(name, at, program, rules));
        warnings
    }

    /// Applies the meaning that this format gives to a spec.
    fn own(&self, spec: &Spec) -> Spec {
        let mut spec = spec.clone();
        let foreign = self.format != NATIVE;
        spec.foreign = foreign;
        for branch in spec.when.iter_mut().flatten() {
            branch.foreign = foreign;
        }
        spec
    }

    /// Warns about characters that are part of a name in a foreign manifest, but were probably meant as syntax.
    fn path_warnings<'n>(
        &self,
        name: &str,
        at: usize,
        spec: &Spec,
        rules: &impl Fn(&str) -> Option<(&'n Key, &'n Node)>,
    ) -> Vec<Diagnostic> {
        let doubts = foreign_paths(spec).filter_map(|(rule, entry, text)| {
            let (_, doubt) = Path::parse_foreign(text).ok()?;
            let doubt = doubt?;
            let message = format!("warning: {}: {rule}: {}", suggest::short(name), doubt.message);
            let place =
                RulePlace { rule, entry, is_key: false, at: doubt.at, message: String::new() };
            Some(self.text.problem(rule_at(self.text.text, &place, rules).unwrap_or(at), message))
        });
        doubts.collect()
    }

    /// Warns about a name in a header or a footer that never has a value, in a format that accepts such names.
    fn unknown<'n>(
        &self,
        name: &str,
        at: usize,
        program: &Program,
        rules: &impl Fn(&str) -> Option<(&'n Key, &'n Node)>,
    ) -> Option<Diagnostic> {
        let error = program.unknown_name()?;
        let place = error.rule();
        let at = place.and_then(|place| rule_at(self.text.text, place, rules)).unwrap_or(at);
        let message = place.map_or(error.message(), |place| &place.message);
        Some(self.text.problem(at, format!("warning: {}: {message}", suggest::short(name))))
    }

    fn warnings<'n>(
        &self,
        name: &str,
        at: usize,
        spec: &Spec,
        rules: &impl Fn(&str) -> Option<(&'n Key, &'n Node)>,
    ) -> Vec<Diagnostic> {
        let place = |rule: &str| rules(rule).map_or(at, |(key, _)| key.at.start);
        let warnings = spec_warnings(spec, self.format).into_iter();
        let warnings = warnings.map(|SpecWarning { rule, message }| {
            let message = format!("warning: {}: {message}", suggest::short(name));
            self.text.problem(place(rule), message)
        });
        warnings.collect()
    }
}

/// A valid rule of a spec that may not do what it appears to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecWarning {
    rule: &'static str,
    message: String,
}

impl SpecWarning {
    /// Returns the warnings about a spec, as `tamis check` reports them for the same rules in a manifest of tamis' own
    /// format.
    ///
    /// Use it where a spec is read from another file.
    ///
    /// ```
    /// use tamis::Spec;
    /// use tamis_manifest::SpecWarning;
    ///
    /// let warnings = SpecWarning::of(&Spec::new().exclude("ssn"));
    /// assert_eq!(warnings[0].rule(), "exclude");
    /// assert!(warnings[0].message().contains("an automatic root"));
    /// ```
    #[must_use]
    pub fn of(spec: &Spec) -> Vec<Self> {
        spec_warnings(spec, NATIVE)
    }

    /// Returns the rule that the warning is about: a key of the spec.
    #[must_use]
    pub fn rule(&self) -> &'static str {
        self.rule
    }

    /// Returns what the rule may not do, and a remedy.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// Returns the warnings about a spec of a format.
fn spec_warnings(spec: &Spec, format: &str) -> Vec<SpecWarning> {
    let mut warnings = Vec::new();
    let mut warn = |rule, message| warnings.push(SpecWarning { rule, message });
    if spec.when.is_some() {
        let pass = "the document passes unchanged if no branch holds";
        match spec.otherwise {
            None => warn(
                "when",
                "`when` has no `otherwise`: a document for which no branch holds is an error; set `otherwise: drop`, `pass` or `error`"
                    .to_owned(),
            ),
            Some(WhenFallback::Pass) if format == "reshapr" => warn(
                "when",
                format!("{pass}, as in reShapr; a tamis manifest can set `otherwise: drop`"),
            ),
            Some(_) => {}
        }
    }
    let branches = spec.when.iter().flatten().map(|branch| ("when", branch));
    let strings = spec.json_strings.iter().filter_map(|entry| match &entry.apply {
        InnerRules::Spec(rules) => Some(("json_strings", &**rules)),
        InnerRules::Same => None,
    });
    let outer = spec.on_test_failure;
    for (inside, spec) in std::iter::once(("", spec)).chain(branches).chain(strings) {
        for (rule, message) in doubts(spec, inside == "when", outer) {
            warn(if inside.is_empty() { rule } else { inside }, message);
        }
    }
    warnings
}

/// Returns the paths of a foreign manifest, each with its rule and its number in that rule.
fn foreign_paths(spec: &Spec) -> impl Iterator<Item = (&'static str, usize, &str)> {
    let select = spec.select.iter().flat_map(|select| &select.0);
    let select = select.enumerate().map(|(entry, source)| ("select", entry, &*source.path));
    let exclude = spec.exclude.iter().enumerate();
    let exclude = exclude.map(|(entry, text)| ("exclude", entry, text.as_str()));
    let extract = spec.extract.iter().map(|text| ("extract", 0, text.as_str()));
    extract.chain(select).chain(exclude).filter(|_| spec.envelope)
}

/// Returns warnings about valid rules that may not do what they appear to do. `branch`: the spec fails on a miss
/// unless it says otherwise. `outer`: the rules that a branch inherits.
fn doubts(spec: &Spec, branch: bool, outer: Option<OnTestFailure>) -> Vec<(&'static str, String)> {
    let mut doubts = Vec::new();
    let mut later =
        spec.patches.iter().flatten().skip_while(|operation| operation.op != PatchOpKind::Test);
    let stops = spec.on_test_failure.or(outer) == Some(OnTestFailure::Stop);
    if let Some(removes) = later.find(|operation| operation.removes()).filter(|_| stops) {
        let message = format!(
            "a `{}` comes after a `test`: if the test fails, the sequence stops and the value is kept",
            removes.op.as_str()
        );
        doubts.push(("patches", message));
    }
    if spec.envelope && spec.root == Root::Object {
        let only = if spec.select.is_some() {
            "the response is an array, or the selected paths are only found in its first array"
        } else {
            "the response is an array"
        };
        for (rule, there) in
            [("max_items", spec.max_items > 0), ("compact", spec.compact.is_some())]
        {
            if there {
                doubts.push((
                    rule,
                    format!("`{rule}` with `type: object`: an object has no items, so it only applies if {only}"),
                ));
            }
        }
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
    // With an automatic root only a select can miss, but an author who wrote `closed` expects more of it.
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

/// Returns why a tool's name is invalid, if it is.
fn name_flaw(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("the name of a tool is empty".to_owned());
    }
    if name.len() > name::LONGEST {
        let length = name.len();
        return Some(format!("name of {length} bytes, more than {}", name::LONGEST));
    }
    let odd = name.chars().find(|char| char.is_control() || matches!(char, '{' | '}' | '['))?;
    Some(format!(
        "the name `{name}` contains {odd:?}; names are exact, or patterns in which `*` matches any text and `?` any character"
    ))
}
