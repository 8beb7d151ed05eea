//! Reads rules from TOML (`[[rules]]`) and reports every problem with its line and column.
//!
//! The TOML tree is walked by hand rather than deserialised with serde. Serde stops at the first error, and it would
//! report unknown keys and wrong types without the suggestions and the wording given here.

use tamis_json::regex_budget::RegexBudget;
use tamis_text::lines::rule_ops::{DedupSpec, GroupSpec, ReplaceSpec, SectionEnd, SectionSpec};
use toml::de::DeTable;

use super::builtin_text::prepared;
use super::command_regex::CommandRegex;
use super::matcher::{CommandMatcher, CommandPattern};
use super::operations::DeclaredOperations;
use super::overlap;
use super::rule::{CommandRule, ExitCondition, RuleExample, RuleFile};
use super::steps::StepLines;
use super::toml_reader::{RuleReader, TomlNode, syntax};
use crate::engines;
use tamis_manifest::error::{Problems, Text};
use tamis_manifest::suggest::unknown;
use tamis_manifest::{Diagnostic, ManifestError, ManifestErrorKind};

/// Maximum size of a file, in bytes.
const MAX_BYTES: usize = 16 << 20;
/// Maximum numbers of rules in a file, of command patterns in a rule, and of line patterns in a list.
const MAX_RULES: usize = 1000;
const MAX_MATCHES: usize = 64;
const MAX_PATTERNS: usize = 10_000;

const OPERATIONS: [&str; 15] = [
    "strip_ansi",
    "keep_overwritten",
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
    "messages",
    "on_empty",
];
const RULE: [&str; 14] = [
    "name",
    "prefixes",
    "steps",
    "machine_format",
    "description",
    "match",
    "unless",
    "begins",
    "order",
    "enabled",
    "engine",
    "exit",
    "examples",
    "strategy",
];

/// Decodes the text of a file.
///
/// # Errors
/// The place of the first byte that is not UTF-8.
pub(super) fn text<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str, ManifestError> {
    let invalid = |message: String| {
        ManifestError::new(ManifestErrorKind::Invalid, Diagnostic::nowhere(name, message))
    };
    std::str::from_utf8(bytes).map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        let at = error.valid_up_to();
        invalid(format!("the file is not UTF-8: byte {at} in line {line}; save it as UTF-8"))
    })
}

/// Reads the built-in files as one, without their examples. Tests ensure that they are valid; an invalid one would be left out. Patterns
/// are compiled when a rule is used: compiling all of them takes longer than most commands.
pub(crate) fn read_builtin<'a>(
    name: &str,
    files: impl Iterator<Item = (&'a str, &'a str)>,
) -> RuleFile {
    let mut all = RuleFile::empty(name);
    for (file, text) in files {
        let text = prepared(text);
        if let Ok(rules) = read_with(file, &text, None, &mut RegexBudget::new(), false) {
            all.rules.extend(rules.rules);
        }
    }
    all
}

/// Reads a file of rules. The file may disable the rules in `builtin`, and refer to some of them in zeph's syntax.
pub(crate) fn read(
    name: &str,
    text: &str,
    builtin: Option<&RuleFile>,
    allowance: &mut RegexBudget,
) -> Result<RuleFile, ManifestError> {
    read_with(name, text, builtin, allowance, true)
}

/// Reads a file of rules, and compiles its patterns if it has to be checked.
fn read_with(
    name: &str,
    text: &str,
    builtin: Option<&RuleFile>,
    allowance: &mut RegexBudget,
    is_checked: bool,
) -> Result<RuleFile, ManifestError> {
    let invalid = |problems: Problems| ManifestError::new(ManifestErrorKind::Invalid, problems);
    if text.len() > MAX_BYTES {
        let message = format!("a file of rules must not exceed {MAX_BYTES} bytes");
        return Err(invalid(Diagnostic::nowhere(name, message).into()));
    }
    let text = Text::new(name, text.strip_prefix('\u{feff}').unwrap_or(text));
    let root = DeTable::parse(text.text).map_err(|error| invalid(syntax(&text, &error).into()))?;
    let root = root.get_ref();
    let mut reader = RuleReader {
        text: &text,
        problems: Problems::default(),
        warnings: Vec::new(),
        allowance,
        builtin,
        is_checked,
    };
    reader.check_tables(root);
    let mut rules = Vec::new();
    if let Some(node) = root.get("rules") {
        for (at, table) in reader.tables(node, "rules") {
            if rules.len() == MAX_RULES {
                reader.problem(at, format!("more than {MAX_RULES} rules"));
                break;
            }
            rules.extend(reader.rule(at, table));
        }
    }
    reader.check_names(&rules);
    let mut read = RuleFile::empty(name);
    reader.settings(root, &rules, &mut read);
    if is_checked {
        overlap::check(&rules, &text, &mut reader.problems);
    }
    let RuleReader { problems, mut warnings, .. } = reader;
    if !problems.is_empty() {
        return Err(invalid(problems.in_order()));
    }
    // The order of the tables depends on a feature of the crate toml.
    warnings.sort_by_key(|warning| (warning.line(), warning.column()));
    read.warnings = warnings;
    read.text = text.text.into();
    read.rules = rules.into_iter().map(std::sync::Arc::new).collect();
    Ok(read)
}

impl RuleReader<'_> {
    fn check_names(&mut self, rules: &[CommandRule]) {
        for (place, rule) in rules.iter().enumerate() {
            if rules.iter().take(place).any(|other| other.name == rule.name) {
                self.problem(rule.at, format!("duplicate rule name `{}`", rule.name));
            }
        }
    }

    fn rule(&mut self, at: usize, table: &DeTable<'_>) -> Option<CommandRule> {
        let keys: Vec<&str> = RULE.iter().chain(&OPERATIONS).copied().collect();
        self.known(table, &keys);
        let name = match table.get("name") {
            Some(node) => self.string(node, "name").unwrap_or_default().to_owned(),
            None => {
                self.problem(at, "missing `name` of the rule");
                return None;
            }
        };
        if name.is_empty() || name.chars().any(|char| char.is_control() || char.is_whitespace()) {
            self.problem(at, "the `name` of a rule must be a word without spaces");
        }
        let mut matcher = CommandMatcher::default();
        match table.get("match") {
            Some(node) => self.matches(node, &mut matcher),
            None => self.problem(at, format!("{name}: missing `match`")),
        }
        for (node, text) in table.get("unless").map_or(Vec::new(), |n| self.strings(n, "unless")) {
            matcher.unless.extend(self.regex(node, text));
        }
        let begins = table.get("begins").map_or(Vec::new(), |node| self.patterns(node, "begins"));
        let prefixes = table.get("prefixes").and_then(|node| self.bool(node, "prefixes"));
        let steps = table.get("steps").and_then(|node| self.steps(node));
        let machine_format = table.get("machine_format");
        let machine_format = machine_format.and_then(|node| self.bool(node, "machine_format"));
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
            // A rule with an engine may still declare what engines do not do: escape sequences, groups, and the text
            // for an empty output.
            let mut other_keys = data
                .iter()
                .filter(|key| {
                    !matches!(**key, "on_empty" | "strip_ansi" | "keep_overwritten" | "group")
                })
                .filter(|key| table.contains_key(**key));
            if let Some(key) = other_keys.next() {
                self.problem(at, format!("{name}: `engine` cannot be combined with `{key}`"));
            }
        }
        let mut operations = Vec::new();
        if let Some(node) = table.get("exit") {
            self.exits(node, &own, &mut operations);
        }
        operations.push((ExitCondition::Any, own));
        self.programs(at, &name, &operations);
        let examples = table.get("examples").map_or(Vec::new(), |node| self.examples(node));
        Some(CommandRule {
            name,
            matcher,
            begins,
            beginnings: std::sync::OnceLock::new(),
            prefixes: prefixes.unwrap_or(true) && !table.contains_key("strategy"),
            steps,
            machine_format: machine_format.unwrap_or(false),
            order,
            is_piped: table.contains_key("strategy"),
            enabled: enabled.unwrap_or(true),
            operations,
            examples,
            at,
            programs: std::sync::OnceLock::new(),
        })
    }

    /// Reads `match`.
    fn matches(&mut self, node: TomlNode<'_>, matcher: &mut CommandMatcher) {
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
                matcher.patterns.extend(match key {
                    "exact" => Some(CommandPattern::Exact(text)),
                    "prefix" => Some(CommandPattern::Prefix(text)),
                    "glob" => Some(CommandPattern::Glob(text)),
                    _ => self.regex(node, &text).map(CommandPattern::Regex),
                });
            }
        }
        if matcher.patterns.len() > MAX_MATCHES {
            self.problem(node.span().start, format!("`match` has more than {MAX_MATCHES} entries"));
            matcher.patterns.clear();
        }
        if table.is_empty() {
            self.problem(node.span().start, "`match` needs `exact`, `prefix`, `regex` or `glob`");
        }
    }

    /// Checks a pattern for commands.
    fn regex(&mut self, node: TomlNode<'_>, text: &str) -> Option<CommandRegex> {
        self.pattern(node, text).then(|| CommandRegex::new(text))
    }

    /// Checks a list of patterns for lines.
    pub(super) fn patterns(&mut self, node: TomlNode<'_>, key: &str) -> Vec<String> {
        let patterns = self.strings(node, key);
        if patterns.len() > MAX_PATTERNS {
            self.problem(
                node.span().start,
                format!("`{key}` has more than {MAX_PATTERNS} patterns"),
            );
            return Vec::new();
        }
        for (node, text) in &patterns {
            self.pattern(node, text);
        }
        patterns.into_iter().map(|(_, text)| text.to_owned()).collect()
    }

    /// Checks a single pattern for lines.
    pub(super) fn one(&mut self, node: TomlNode<'_>, key: &str) -> String {
        let text = self.string(node, key).unwrap_or_default().to_owned();
        self.pattern(node, &text);
        text
    }

    /// Reads the operations in a table. Patterns are charged in the order of the fields here.
    fn operations(&mut self, table: &DeTable<'_>) -> DeclaredOperations {
        let get = |key: &'static str| table.get(key).map(|node| (node, key));
        // No `..`: a new operation has to be read here.
        let read = DeclaredOperations {
            strip_ansi: get("strip_ansi").and_then(|(node, key)| self.bool(node, key)),
            keep_overwritten: get("keep_overwritten").and_then(|(node, key)| self.bool(node, key)),
            strip: get("strip").map(|(node, key)| self.patterns(node, key)),
            keep: get("keep").map(|(node, key)| self.patterns(node, key)),
            failures: get("failures").map(|(node, key)| self.sections(node, key)),
            sections: get("sections").map(|(node, key)| self.sections(node, key)),
            strip_sections: get("strip_sections").map(|(node, key)| self.sections(node, key)),
            replace: get("replace").map(|(node, key)| self.replacements(node, key, "with")),
            group: get("group").and_then(|(node, _)| self.group(node)),
            dedup: get("dedup").and_then(|(node, _)| self.dedup(node)),
            head: get("head").and_then(|(node, key)| self.count(node, key)),
            tail: get("tail").and_then(|(node, key)| self.count(node, key)),
            max_lines: get("max_lines").and_then(|(node, key)| self.count(node, key)),
            messages: get("messages").map(|(node, key)| self.patterns(node, key)),
            on_empty: get("on_empty")
                .and_then(|(node, key)| self.string(node, key).map(str::to_owned)),
            // An engine belongs to the rule, not to an exit condition.
            engine: None,
        };
        if read.keep.as_ref().is_some_and(Vec::is_empty)
            && let Some(node) = table.get("keep")
        {
            self.problem(node.span().start, "`keep` is empty, which would remove every line");
        }
        read
    }

    fn sections(&mut self, node: TomlNode<'_>, key: &str) -> Vec<SectionSpec> {
        let mut sections = Vec::new();
        for (at, table) in self.tables(node, key) {
            self.known(table, &["from", "to", "before"]);
            let Some(from) = table.get("from") else {
                self.problem(at, format!("missing `from` in a table of `{key}`"));
                continue;
            };
            let from = self.one(from, "from");
            let to = table.get("to").map(|node| SectionEnd::To(self.one(node, "to")));
            let before =
                table.get("before").map(|node| SectionEnd::Before(self.one(node, "before")));
            if to.is_some() && before.is_some() {
                self.problem(at, "`to` and `before` cannot be combined");
            }
            sections.push(SectionSpec { from, end: to.or(before) });
        }
        sections
    }

    /// Reads a list of tables that have a pattern and, under the key `instead`, its replacement.
    pub(super) fn replacements(
        &mut self,
        node: TomlNode<'_>,
        key: &str,
        instead: &str,
    ) -> Vec<ReplaceSpec> {
        let mut replacements = Vec::new();
        for (at, table) in self.tables(node, key) {
            self.known(table, &["pattern", instead]);
            let (Some(pattern), Some(with)) = (table.get("pattern"), table.get(instead)) else {
                self.problem(at, format!("a table of `{key}` needs `pattern` and `{instead}`"));
                continue;
            };
            let pattern = self.one(pattern, "pattern");
            let with = self.string(with, instead).unwrap_or_default().to_owned();
            replacements.push(ReplaceSpec { pattern, with });
        }
        replacements
    }

    fn group(&mut self, node: TomlNode<'_>) -> Option<GroupSpec> {
        let table = self.table(node, "group")?;
        self.known(table, &["by", "key", "item", "scattered"]);
        let Some(by) = table.get("by") else {
            self.problem(node.span().start, "missing `by` in `group`");
            return None;
        };
        let by = self.one(by, "by");
        let mut text = |key: &str, default: &str| match table.get(key) {
            Some(node) => self.string(node, key).unwrap_or_default().to_owned(),
            None => default.to_owned(),
        };
        let (key, item) = (text("key", "$1"), text("item", "$2"));
        let scattered = table.get("scattered").and_then(|node| self.bool(node, "scattered"));
        Some(GroupSpec { by, key, item, scattered: scattered.unwrap_or(false) })
    }

    /// Reads `steps`.
    fn steps(&mut self, node: TomlNode<'_>) -> Option<StepLines> {
        let table = self.table(node, "steps")?;
        self.known(table, &["by", "command", "end", "interleaved"]);
        let Some(by) = table.get("by") else {
            self.problem(node.span().start, "missing `by` in `steps`");
            return None;
        };
        let by = self.patterns(by, "by");
        let command =
            table.get("command").map_or(Vec::new(), |node| self.patterns(node, "command"));
        let end = table.get("end").map_or(Vec::new(), |node| self.patterns(node, "end"));
        let interleaved = table.get("interleaved").and_then(|node| self.bool(node, "interleaved"));
        let compiled = std::sync::OnceLock::new();
        Some(StepLines { by, command, end, interleaved: interleaved.unwrap_or(false), compiled })
    }

    /// Reads `dedup`: `true`, `false`, `"alike"`, or a table.
    fn dedup(&mut self, node: TomlNode<'_>) -> Option<Option<DedupSpec>> {
        let value = node.get_ref();
        match (value.as_bool(), value.as_str()) {
            (Some(false), _) => return Some(None),
            (Some(true), _) => return Some(Some(DedupSpec::default())),
            (_, Some("alike")) => {
                return Some(Some(DedupSpec { alike: true, ..DedupSpec::default() }));
            }
            _ if value.as_table().is_none() => {
                self.problem(
                    node.span().start,
                    "`dedup` must be true, false, \"alike\" or a table",
                );
                return None;
            }
            _ => {}
        }
        let table = self.table(node, "dedup")?;
        self.known(table, &["scope", "alike", "normalize", "max_unique"]);
        let mut dedup = DedupSpec::default();
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
            dedup.normalize = self.replacements(node, "normalize", "replacement");
        }
        if let Some(node) = table.get("max_unique") {
            dedup.max_unique = self.count(node, "max_unique").unwrap_or(0);
        }
        Some(Some(dedup))
    }

    /// Reads `exit.0`, `exit.ok` and `exit.failed`: operations for commands that end in this way.
    fn exits(
        &mut self,
        node: TomlNode<'_>,
        own: &DeclaredOperations,
        operations: &mut Vec<(ExitCondition, DeclaredOperations)>,
    ) {
        let Some(table) = self.table(node, "exit") else { return };
        for (key, node) in table {
            let (at, key) = (key.span().start, key.get_ref().as_ref());
            let exit = match (key, key.parse::<i32>()) {
                ("ok", _) => ExitCondition::Ok,
                ("failed", _) => ExitCondition::Failed,
                (_, Ok(code)) => ExitCondition::Code(code),
                _ => {
                    let message =
                        format!("invalid exit `{key}`: expected a code, `ok` or `failed`");
                    self.problem(at, message);
                    continue;
                }
            };
            let Some(table) = self.table(node, key) else { continue };
            self.known(table, &OPERATIONS);
            let variant = self.operations(table).over(own);
            // Single codes are more specific, so they are tested first.
            let place = if matches!(exit, ExitCondition::Code(_)) { 0 } else { operations.len() };
            operations.insert(place, (exit, variant));
        }
    }

    /// Compiles all operations, because patterns that are valid one by one may together exceed a limit.
    fn programs(
        &mut self,
        at: usize,
        name: &str,
        operations: &[(ExitCondition, DeclaredOperations)],
    ) {
        if !self.is_checked || !self.problems.is_empty() {
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

    fn examples(&mut self, node: TomlNode<'_>) -> Vec<RuleExample> {
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
                self.problem(at, "missing `input` of the example");
                continue;
            };
            let output = match (output, unchanged) {
                (Some(output), None | Some(false)) => output,
                (None, Some(true)) => input.clone(),
                _ => {
                    self.problem(at, "an example needs either `output` or `unchanged = true`");
                    continue;
                }
            };
            let exit_code = exit_code.and_then(|code| i32::try_from(code).ok());
            examples.push(RuleExample { command, exit_code, input, output, at });
        }
        examples
    }
}
