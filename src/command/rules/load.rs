//! Reads rules from TOML: `[[rules]]`. [`toggles`](super::toggles) reads what else a file may have.
//!
//! Every problem is told at its line and column. Knows how rules are spelled, not what they do.

use regex::Regex;
use toml::de::DeTable;

use super::examples::Example;
use super::matcher::{Form, Matcher};
use super::operations::Operations;
use super::tree::{Node, Reader, syntax};
use super::{Exit, Rule, Rules, overlap};
use crate::command::engines;
use crate::manifest::error::{Problems, Text};
use crate::manifest::suggest::unknown;
use crate::manifest::{ManifestError, ManifestErrorKind, Problem};
use crate::regex_budget::RegexBudget;
use crate::text::more::{Between, Dedup, Edge, GroupBy, Swap};

/// Bytes of a file.
const MOST: usize = 16 << 20;
/// Rules in a file, ways to say which commands one is for, and patterns in a list.
const RULES: usize = 1000;
const FORMS: usize = 64;
const PATTERNS: usize = 10_000;

const OPERATIONS: [&str; 13] = [
    "strip_ansi",
    "strip",
    "keep",
    "failures",
    "sections",
    "strip_sections",
    "replace",
    "group",
    "dedup",
    "head",
    "tail",
    "max_lines",
    "on_empty",
];
const RULE: [&str; 10] = [
    "name",
    "description",
    "match",
    "unless",
    "order",
    "enabled",
    "engine",
    "exit",
    "examples",
    "strategy",
];

/// Filters that a file may turn off beside its own.
pub(super) struct Known(Vec<String>);

impl Known {
    pub(super) fn builtin() -> Self {
        Self(super::CommandRules::builtin().names().map(str::to_owned).collect())
    }

    pub(in crate::command) fn none() -> Self {
        Self(Vec::new())
    }
}

/// The text of a file.
pub(super) fn text<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str, ManifestError> {
    let invalid = |message: String| {
        ManifestError::new(ManifestErrorKind::Invalid, Problem::nowhere(name, message))
    };
    std::str::from_utf8(bytes).map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        let at = error.valid_up_to();
        invalid(format!("the file is not UTF-8: byte {at} in line {line}; save it as UTF-8"))
    })
}

/// Reads a file of rules.
pub(in crate::command) fn read(
    name: &str,
    text: &str,
    known: &Known,
    allowance: &mut RegexBudget,
) -> Result<Rules, ManifestError> {
    let invalid = |problems: Problems| ManifestError::new(ManifestErrorKind::Invalid, problems);
    if text.len() > MOST {
        let message = format!("a file of rules has at most {MOST} bytes");
        return Err(invalid(Problem::nowhere(name, message).into()));
    }
    let text = Text::new(name, text.strip_prefix('\u{feff}').unwrap_or(text));
    let root = DeTable::parse(text.text).map_err(|error| invalid(syntax(&text, &error).into()))?;
    let root = root.get_ref();
    let mut reader =
        Reader { text: &text, problems: Problems::default(), warnings: Vec::new(), allowance };
    reader.tables_of_file(root);
    let mut rules = Vec::new();
    if let Some(node) = root.get("rules") {
        for (at, table) in reader.tables(node, "rules") {
            if rules.len() == RULES {
                reader.problem(at, format!("more than {RULES} rules"));
                break;
            }
            rules.extend(reader.rule(at, table));
        }
    }
    reader.names(&rules);
    let mut read = Rules::none(name);
    reader.toggles(root, &rules, &known.0, &mut read);
    overlap::check(&rules, &text, &mut reader.problems);
    let Reader { problems, warnings, .. } = reader;
    if !problems.is_empty() {
        return Err(invalid(problems.in_order()));
    }
    read.warnings = warnings;
    read.text = text.text.into();
    read.rules = rules.into_iter().map(std::sync::Arc::new).collect();
    Ok(read)
}

impl Reader<'_> {
    fn names(&mut self, rules: &[Rule]) {
        for (place, rule) in rules.iter().enumerate() {
            if rules.iter().take(place).any(|other| other.name == rule.name) {
                self.problem(rule.at, format!("two rules are called `{}`", rule.name));
            }
        }
    }

    fn rule(&mut self, at: usize, table: &DeTable<'_>) -> Option<Rule> {
        let keys: Vec<&str> = RULE.iter().chain(&OPERATIONS).copied().collect();
        self.known(table, &keys);
        let name = match table.get("name") {
            Some(node) => self.string(node, "name").unwrap_or_default().to_owned(),
            None => {
                self.problem(at, "a rule has a `name`");
                return None;
            }
        };
        if name.is_empty() || name.chars().any(|char| char.is_control() || char.is_whitespace()) {
            self.problem(at, "the `name` of a rule is a word without spaces");
        }
        let mut matcher = Matcher::default();
        match table.get("match") {
            Some(node) => self.forms(node, &mut matcher),
            None => self.problem(at, format!("{name}: a rule says what it does `match`")),
        }
        for (node, text) in table.get("unless").map_or(Vec::new(), |n| self.strings(n, "unless")) {
            matcher.unless.extend(self.regex(node, text));
        }
        let order = table.get("order").and_then(|node| self.integer(node, "order")).unwrap_or(0);
        let enabled = table.get("enabled").and_then(|node| self.bool(node, "enabled"));
        if let Some(node) = table.get("description") {
            self.string(node, "description");
        }
        let mut own = self.operations(table);
        if let Some(node) = table.get("strategy") {
            self.strategy(node, &mut own);
        }
        let mut is_engine = own.engine.is_some();
        let mut data = OPERATIONS.iter().chain(&["exit"]).copied().collect::<Vec<_>>();
        if let Some(node) = table.get("engine")
            && let Some(engine) = self.string(node, "engine")
        {
            is_engine = true;
            data.push("strategy");
            own.engine = engines::find(engine);
            if own.engine.is_none() {
                self.problem(node.span().start, unknown("engine", engine, &engines::NAMES));
            }
        }
        if is_engine {
            // What an engine does not do, a rule may: escape sequences, and a text for an empty output.
            let mut beside = data
                .iter()
                .filter(|key| !matches!(**key, "on_empty" | "strip_ansi"))
                .filter(|key| table.contains_key(**key));
            if let Some(key) = beside.next() {
                self.problem(
                    at,
                    format!("{name}: a rule has an `engine` or operations, not both (`{key}`)"),
                );
            }
        }
        let mut operations = Vec::new();
        if let Some(node) = table.get("exit") {
            self.exits(node, &own, &mut operations);
        }
        operations.push((Exit::Any, own));
        self.programs(at, &name, &operations);
        let examples = table.get("examples").map_or(Vec::new(), |node| self.examples(node));
        Some(Rule {
            name,
            matcher,
            order,
            is_piped: table.contains_key("strategy"),
            enabled: enabled.unwrap_or(true),
            operations,
            examples,
            at,
            programs: std::sync::OnceLock::new(),
        })
    }

    /// `match`
    fn forms(&mut self, node: Node<'_>, matcher: &mut Matcher) {
        let Some(table) = self.table(node, "match") else { return };
        self.known(table, &["exact", "prefix", "regex", "glob"]);
        for key in ["exact", "prefix", "regex", "glob"] {
            let Some(node) = table.get(key) else { continue };
            for (node, text) in self.strings(node, key) {
                if text.trim().is_empty() {
                    self.problem(node.span().start, format!("`{key}` is empty"));
                    continue;
                }
                let text = text.to_owned();
                matcher.forms.extend(match key {
                    "exact" => Some(Form::Exact(text)),
                    "prefix" => Some(Form::Prefix(text)),
                    "glob" => Some(Form::Glob(text)),
                    _ => self.regex(node, &text).map(Form::Regex),
                });
            }
        }
        if matcher.forms.len() > FORMS {
            self.problem(node.span().start, format!("`match` has more than {FORMS} texts"));
            matcher.forms.clear();
        }
        if table.is_empty() {
            self.problem(node.span().start, "`match` has `exact`, `prefix`, `regex` or `glob`");
        }
    }

    /// A pattern for commands.
    fn regex(&mut self, node: Node<'_>, text: &str) -> Option<Regex> {
        if self.pattern(node, text) { Regex::new(text).ok() } else { None }
    }

    /// Patterns for lines.
    pub(super) fn patterns(&mut self, node: Node<'_>, key: &str) -> Vec<String> {
        let patterns = self.strings(node, key);
        if patterns.len() > PATTERNS {
            self.problem(node.span().start, format!("`{key}` has more than {PATTERNS} patterns"));
            return Vec::new();
        }
        for (node, text) in &patterns {
            self.pattern(node, text);
        }
        patterns.into_iter().map(|(_, text)| text.to_owned()).collect()
    }

    /// One pattern for lines.
    pub(super) fn one(&mut self, node: Node<'_>, key: &str) -> String {
        let text = self.string(node, key).unwrap_or_default().to_owned();
        self.pattern(node, &text);
        text
    }

    fn operations(&mut self, table: &DeTable<'_>) -> Operations {
        let mut read = Operations::default();
        for (key, node) in table {
            let key = key.get_ref().as_ref();
            match key {
                "strip_ansi" => read.strip_ansi = self.bool(node, key),
                "strip" => read.strip = Some(self.patterns(node, key)),
                "keep" => read.keep = Some(self.patterns(node, key)),
                "failures" => read.failures = Some(self.sections(node, key)),
                "sections" => read.sections = Some(self.sections(node, key)),
                "strip_sections" => read.strip_sections = Some(self.sections(node, key)),
                "replace" => read.replace = Some(self.swaps(node, key, "with")),
                "group" => read.group = self.group(node),
                "dedup" => read.dedup = self.dedup(node),
                "head" => read.head = self.count(node, key),
                "tail" => read.tail = self.count(node, key),
                "max_lines" => read.max_lines = self.count(node, key),
                "on_empty" => read.on_empty = self.string(node, key).map(str::to_owned),
                _ => {}
            }
        }
        if read.keep.as_ref().is_some_and(Vec::is_empty)
            && let Some(node) = table.get("keep")
        {
            self.problem(node.span().start, "`keep` has no pattern, so that no line would stay");
        }
        read
    }

    fn sections(&mut self, node: Node<'_>, key: &str) -> Vec<Between> {
        let mut sections = Vec::new();
        for (at, table) in self.tables(node, key) {
            self.known(table, &["from", "to", "before"]);
            let Some(from) = table.get("from") else {
                self.problem(at, format!("a table of `{key}` says where it begins: `from`"));
                continue;
            };
            let from = self.one(from, "from");
            let to = table.get("to").map(|node| Edge::To(self.one(node, "to")));
            let before = table.get("before").map(|node| Edge::Before(self.one(node, "before")));
            if to.is_some() && before.is_some() {
                self.problem(at, "a section ends with a line (`to`) or `before` one, not both");
            }
            sections.push(Between { from, end: to.or(before) });
        }
        sections
    }

    /// A list of tables with a pattern, and the text that is written instead of its match.
    pub(super) fn swaps(&mut self, node: Node<'_>, key: &str, instead: &str) -> Vec<Swap> {
        let mut swaps = Vec::new();
        for (at, table) in self.tables(node, key) {
            self.known(table, &["pattern", instead]);
            let (Some(pattern), Some(with)) = (table.get("pattern"), table.get(instead)) else {
                self.problem(at, format!("a table of `{key}` has `pattern` and `{instead}`"));
                continue;
            };
            let pattern = self.one(pattern, "pattern");
            let with = self.string(with, instead).unwrap_or_default().to_owned();
            swaps.push(Swap { pattern, with });
        }
        swaps
    }

    fn group(&mut self, node: Node<'_>) -> Option<GroupBy> {
        let table = self.table(node, "group")?;
        self.known(table, &["by", "key", "item", "scattered"]);
        let Some(by) = table.get("by") else {
            self.problem(node.span().start, "`group` has a pattern: `by`");
            return None;
        };
        let by = self.one(by, "by");
        let mut text = |key: &str, default: &str| match table.get(key) {
            Some(node) => self.string(node, key).unwrap_or_default().to_owned(),
            None => default.to_owned(),
        };
        let (key, item) = (text("key", "$1"), text("item", "$2"));
        let scattered = table.get("scattered").and_then(|node| self.bool(node, "scattered"));
        Some(GroupBy { by, key, item, scattered: scattered.unwrap_or(false) })
    }

    /// `dedup`: `true`, `false`, `"alike"`, or a table.
    fn dedup(&mut self, node: Node<'_>) -> Option<Option<Dedup>> {
        let value = node.get_ref();
        match (value.as_bool(), value.as_str()) {
            (Some(false), _) => return Some(None),
            (Some(true), _) => return Some(Some(Dedup::default())),
            (_, Some("alike")) => return Some(Some(Dedup { alike: true, ..Dedup::default() })),
            _ if value.as_table().is_none() => {
                self.problem(node.span().start, "`dedup` is true, false, \"alike\" or a table");
                return None;
            }
            _ => {}
        }
        let table = self.table(node, "dedup")?;
        self.known(table, &["scope", "alike", "normalize", "max_unique"]);
        let mut dedup = Dedup::default();
        if let Some(node) = table.get("scope") {
            match self.string(node, "scope") {
                Some("all") => dedup.everywhere = true,
                Some("neighbours") | None => {}
                Some(other) => {
                    let message = unknown("scope", other, &["all", "neighbours"]);
                    self.problem(node.span().start, message);
                }
            }
        }
        if let Some(node) = table.get("alike") {
            dedup.alike = self.bool(node, "alike").unwrap_or(false);
        }
        if let Some(node) = table.get("normalize") {
            dedup.normalize = self.swaps(node, "normalize", "replacement");
        }
        if let Some(node) = table.get("max_unique") {
            dedup.max_unique = self.count(node, "max_unique").unwrap_or(0);
        }
        Some(Some(dedup))
    }

    /// `exit.0`, `exit.ok`, `exit.failed`: other operations for commands that end so.
    fn exits(
        &mut self,
        node: Node<'_>,
        own: &Operations,
        operations: &mut Vec<(Exit, Operations)>,
    ) {
        let Some(table) = self.table(node, "exit") else { return };
        for (key, node) in table {
            let (at, key) = (key.span().start, key.get_ref().as_ref());
            let exit = match (key, key.parse::<i32>()) {
                ("ok", _) => Exit::Ok,
                ("failed", _) => Exit::Failed,
                (_, Ok(code)) => Exit::Code(code),
                _ => {
                    let message = format!("`{key}` is no exit: a code, `ok` or `failed`");
                    self.problem(at, message);
                    continue;
                }
            };
            let Some(table) = self.table(node, key) else { continue };
            self.known(table, &OPERATIONS);
            let variant = self.operations(table).over(own);
            // Codes are looked at first: they say more.
            let place = if matches!(exit, Exit::Code(_)) { 0 } else { operations.len() };
            operations.insert(place, (exit, variant));
        }
    }

    /// What patterns are together: they are right one by one.
    fn programs(&mut self, at: usize, name: &str, operations: &[(Exit, Operations)]) {
        if !self.problems.is_empty() {
            return;
        }
        for (_, operations) in operations {
            if let Err(error) = operations.compile(self.allowance) {
                self.problem(at, format!("{name}: {}", error.message()));
            }
            if self.allowance.is_spent() {
                return;
            }
        }
    }

    fn examples(&mut self, node: Node<'_>) -> Vec<Example> {
        let mut examples = Vec::new();
        for (at, table) in self.tables(node, "examples") {
            self.known(table, &["command", "exit_code", "input", "output", "unchanged"]);
            let mut text = |key: &str| {
                table.get(key).and_then(|node| self.string(node, key)).map(str::to_owned)
            };
            let (command, input, output) = (text("command"), text("input"), text("output"));
            let exit_code = table.get("exit_code").and_then(|node| self.integer(node, "exit_code"));
            let unchanged = table.get("unchanged").and_then(|node| self.bool(node, "unchanged"));
            let Some(input) = input else {
                self.problem(at, "an example has an `input`");
                continue;
            };
            let output = match (output, unchanged) {
                (Some(output), None | Some(false)) => output,
                (None, Some(true)) => input.clone(),
                _ => {
                    self.problem(at, "an example has an `output`, or is `unchanged = true`");
                    continue;
                }
            };
            let exit_code = exit_code.and_then(|code| i32::try_from(code).ok());
            examples.push(Example { command, exit_code, input, output, at });
        }
        examples
    }
}
