//! zeph's way to say operations: `strategy = { type = "strip_noise", patterns = […] }`.
//!
//! Knows how they are spelled there, and which operations, or rules that come with tamis, they are. What would cut failures is
//! used only if the file says how much: limits that zeph has by default are not ours, but for `truncate`, which is nothing
//! else.

use toml::de::DeTable;

use super::operations::Operations;
use super::tree::{Node, Reader};
use super::{CommandRules, Exit};
use crate::command::engines;
use crate::manifest::suggest::unknown;
use crate::text::more::Dedup;

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

/// Lines that `truncate` keeps of each end.
const ENDS: u64 = 20;
/// Lines up to which `strip_annotated` does not cut, and those that it then keeps of each end.
const LONG: u64 = 30;
const HEAD: u64 = 10;
const TAIL: u64 = 5;

impl Reader<'_> {
    /// Reads a `strategy` into the operations of its rule.
    pub(super) fn strategy(&mut self, node: Node<'_>, own: &mut Operations) {
        let Some(table) = self.table(node, "strategy") else { return };
        let Some(kind) = table.get("type") else {
            self.problem(node.span().start, "a `strategy` has a `type`");
            return;
        };
        let Some(name) = self.string(kind, "type") else { return };
        match name {
            "strip_noise" | "keep_matching" => {
                self.known(table, &["type", "patterns"]);
                let patterns = table.get("patterns").map(|node| self.patterns(node, "patterns"));
                if name == "strip_noise" { own.strip = patterns } else { own.keep = patterns }
            }
            "truncate" => {
                self.known(table, &["type", "max_lines", "head", "tail"]);
                own.max_lines = self.lines(table, "max_lines");
                own.head = self.lines(table, "head").or(Some(ENDS));
                own.tail = self.lines(table, "tail").or(Some(ENDS));
            }
            "strip_annotated" => {
                const CUTS: [&str; 3] = ["long_output_threshold", "keep_head", "keep_tail"];
                self.known(
                    table,
                    &["type", "patterns", "summary_pattern", CUTS[0], CUTS[1], CUTS[2]],
                );
                own.strip = table.get("patterns").map(|node| self.patterns(node, "patterns"));
                // A line that is no noise stays where it is.
                self.checked(table, "summary_pattern");
                if CUTS.iter().any(|key| table.contains_key(*key)) {
                    own.max_lines = self.lines(table, CUTS[0]).or(Some(LONG));
                    own.head = self.lines(table, CUTS[1]).or(Some(HEAD));
                    own.tail = self.lines(table, CUTS[2]).or(Some(TAIL));
                }
            }
            "dedup" => {
                self.known(table, &["type", "normalize_patterns", "max_unique_patterns"]);
                // Times and ids are known without them.
                if let Some(node) = table.get("normalize_patterns") {
                    for (_, entry) in self.tables(node, "normalize_patterns") {
                        self.known(entry, &["pattern", "replacement"]);
                        self.checked(entry, "pattern");
                    }
                }
                self.lines(table, "max_unique_patterns");
                own.dedup = Some(Some(Dedup { alike: true, everywhere: true, ..Dedup::default() }));
            }
            "test_summary" => {
                self.known(table, &["type", "max_failures", "truncate_stack_trace"]);
                // Every failure stays, whole.
                self.lines(table, "max_failures");
                self.lines(table, "truncate_stack_trace");
                own.engine = engines::find("cargo-test");
            }
            "group_by_rule" => {
                self.known(table, &["type", "location_pattern", "rule_pattern"]);
                // A warning is more than its name and place.
                self.checked(table, "location_pattern");
                self.checked(table, "rule_pattern");
                builtin("cargo-build", own);
            }
            "git_status" => {
                self.known(table, &["type"]);
                builtin("git-status", own);
            }
            "git_diff" => {
                self.known(table, &["type", "max_diff_lines"]);
                builtin("git-diff", own);
                own.max_lines = self.lines(table, "max_diff_lines");
            }
            _ => self.problem(kind.span().start, unknown("type of strategy", name, &TYPES)),
        }
    }

    /// A number of lines or the like, which may be 0.
    fn lines(&mut self, table: &DeTable<'_>, key: &str) -> Option<u64> {
        let node = table.get(key)?;
        let count = u64::try_from(self.integer(node, key)?).ok();
        if count.is_none() {
            self.problem(node.span().start, format!("`{key}` is a number of lines"));
        }
        count
    }

    /// A pattern that is right, and not used.
    fn checked(&mut self, table: &DeTable<'_>, key: &str) {
        if let Some(node) = table.get(key) {
            self.one(node, key);
        }
    }
}

/// Operations of a rule that comes with tamis, where there are none of one's own.
fn builtin(name: &str, own: &mut Operations) {
    let rules = CommandRules::builtin();
    let rule = rules.0.rules.iter().find(|rule| rule.name == name);
    let operations =
        rule.and_then(|rule| rule.operations.iter().find(|(exit, _)| *exit == Exit::Any));
    if let Some((_, operations)) = operations {
        *own = std::mem::take(own).over(operations);
    }
}
