//! Reads operations in zeph's syntax: `strategy = { type = "strip_noise", patterns = […] }`.
//!
//! Each type maps to operations, an engine, or a built-in rule. Limits that would cut failures apply only if the file
//! states them: zeph's defaults for limits are not used, except for `truncate`, which has no other effect.

use tamis_text::lines::rule_ops::DedupSpec;
use toml::de::DeTable;

use super::operations::DeclaredOperations;
use super::rule::ExitCondition;
use super::toml_reader::{RuleReader, TomlNode};
use crate::engines;
use tamis_manifest::suggest::unknown;

const TYPES: [&str; 9] = [
    "strip_noise",
    "keep_matching",
    "truncate",
    "strip_annotated",
    "dedup",
    "test_summary",
    "group_by_rule",
    "git_status",
    "git_diff",
];

/// Default number of lines that `truncate` keeps at each end.
const ENDS: u64 = 20;
/// For `strip_annotated`: the default number of lines that are never cut, and of those then kept at each end.
const LONG: u64 = 30;
const HEAD: u64 = 10;
const TAIL: u64 = 5;

impl RuleReader<'_> {
    /// Reads a `strategy` into the operations of its rule.
    pub(super) fn strategy(&mut self, node: TomlNode<'_>, own: &mut DeclaredOperations) {
        let Some(table) = self.table(node, "strategy") else { return };
        let Some(kind) = table.get("type") else {
            self.problem(node.span().start, "missing `type` of the `strategy`");
            return;
        };
        let Some(name) = self.string(kind, "type") else { return };
        match name {
            "strip_noise" | "keep_matching" => {
                self.known(table, &["type", "patterns"]);
                let patterns = self.required(node, table, "patterns");
                if name == "strip_noise" { own.strip = patterns } else { own.keep = patterns }
            }
            "truncate" => {
                self.known(table, &["type", "max_lines", "head", "tail"]);
                own.max_lines = self.lines(table, "max_lines");
                own.head = self.lines(table, "head").or(Some(ENDS));
                own.tail = self.lines(table, "tail").or(Some(ENDS));
                if !table.contains_key("max_lines") {
                    self.missing(node, "max_lines");
                }
                let ends = own.head.unwrap_or(0).saturating_add(own.tail.unwrap_or(0));
                if own.max_lines.is_some_and(|most| ends > most) {
                    let message =
                        format!("`head` and `tail` keep {ends} lines, more than `max_lines`");
                    self.problem(node.span().start, message);
                }
            }
            "strip_annotated" => {
                const CUTS: [&str; 3] = ["long_output_threshold", "keep_head", "keep_tail"];
                self.known(
                    table,
                    &["type", "patterns", "summary_pattern", CUTS[0], CUTS[1], CUTS[2]],
                );
                own.strip = self.required(node, table, "patterns");
                self.unused(table, "summary_pattern", "lines that `patterns` keep remain in place");
                if CUTS.iter().any(|key| table.contains_key(*key)) {
                    own.max_lines = self.lines(table, CUTS[0]).or(Some(LONG));
                    own.head = self.lines(table, CUTS[1]).or(Some(HEAD));
                    own.tail = self.lines(table, CUTS[2]).or(Some(TAIL));
                }
            }
            "dedup" => {
                self.known(table, &["type", "normalize_patterns", "max_unique_patterns"]);
                own.dedup = Some(Some(self.everywhere(table)));
            }
            "test_summary" => {
                self.known(table, &["type", "max_failures", "truncate_stack_trace"]);
                for key in ["max_failures", "truncate_stack_trace"] {
                    if let Some(node) = table.get(key)
                        && self.lines(table, key).is_some()
                    {
                        self.no_effect(node.span().start, key, "every failure is kept");
                    }
                }
                own.engine = engines::find("cargo-test");
            }
            "group_by_rule" => {
                self.known(table, &["type", "location_pattern", "rule_pattern"]);
                for key in ["location_pattern", "rule_pattern"] {
                    self.unused(table, key, "warnings are kept unchanged");
                    if !table.contains_key(key) {
                        self.missing(node, key);
                    }
                }
                self.apply_builtin("cargo-build", own);
            }
            "git_status" => {
                self.known(table, &["type"]);
                self.apply_builtin("git-status", own);
            }
            "git_diff" => {
                self.known(table, &["type", "max_diff_lines"]);
                self.apply_builtin("git-diff", own);
                own.max_lines = self.lines(table, "max_diff_lines");
            }
            _ => self.problem(kind.span().start, unknown("type of strategy", name, &TYPES)),
        }
    }

    /// Reports a replacement that refers to a group.
    fn plain(&mut self, entry: &DeTable<'_>) {
        let Some(node) = entry.get("replacement") else { return };
        let text = node.get_ref().as_str().unwrap_or_default();
        if text.replace("\\\\", "").replace("\\$", "").contains('$') {
            self.problem(node.span().start, "`replacement` must be plain text without `$`");
        }
    }

    /// Reads a number, which may be 0.
    fn lines(&mut self, table: &DeTable<'_>, key: &str) -> Option<u64> {
        let node = table.get(key)?;
        let count = u64::try_from(self.integer(node, key)?).ok();
        if count.is_none() {
            self.problem(node.span().start, format!("`{key}` must be a number of lines"));
        }
        count
    }

    /// Reports a missing key.
    fn missing(&mut self, node: TomlNode<'_>, key: &str) {
        self.problem(node.span().start, format!("missing `{key}` for this type of strategy"));
    }

    /// Reads a required list of patterns. Without one, the rule would do nothing or remove everything.
    fn required(
        &mut self,
        node: TomlNode<'_>,
        table: &DeTable<'_>,
        key: &str,
    ) -> Option<Vec<String>> {
        let Some(list) = table.get(key) else {
            self.missing(node, key);
            return None;
        };
        if list.get_ref().as_array().is_some_and(|list| list.is_empty()) {
            self.problem(list.span().start, format!("`{key}` is empty"));
        }
        Some(self.patterns(list, key))
    }

    /// Checks a pattern that has no effect.
    fn unused(&mut self, table: &DeTable<'_>, key: &str, why: &str) {
        if let Some(node) = table.get(key) {
            self.one(node, key);
            self.no_effect(node.span().start, key, why);
        }
    }

    /// Reads `dedup`: equal lines anywhere in the text, after replacements.
    fn everywhere(&mut self, table: &DeTable<'_>) -> DedupSpec {
        let mut dedup = DedupSpec { everywhere: true, ..DedupSpec::default() };
        match table.get("normalize_patterns") {
            Some(node) => {
                dedup.normalize = self.replacements(node, "normalize_patterns", "replacement");
                for (_, entry) in self.tables(node, "normalize_patterns") {
                    self.plain(entry);
                }
            }
            // Without replacements, times and ids are ignored.
            None => dedup.alike = true,
        }
        dedup.max_unique = self.lines(table, "max_unique_patterns").unwrap_or(0);
        dedup
    }

    /// Takes the operations that the strategy does not declare from a built-in rule.
    fn apply_builtin(&self, name: &str, own: &mut DeclaredOperations) {
        let rules = self.builtin.map_or([].as_slice(), |builtin| builtin.rules.as_slice());
        let rule = rules.iter().find(|rule| rule.name == name);
        let operations = rule
            .and_then(|rule| rule.operations.iter().find(|(exit, _)| *exit == ExitCondition::Any));
        if let Some((_, operations)) = operations {
            *own = std::mem::take(own).over(operations);
        }
    }
}
