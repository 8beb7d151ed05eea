//! Reads the parts of a file other than rules: `[tools.filters]`, which disables filters. Other tables of a whole
//! zeph configuration are ignored.

use std::sync::Arc;

use regex::bytes::{RegexSet, RegexSetBuilder};
use toml::de::{DeTable, DeValue};

use super::rule::{CommandRule, RuleFile, SecuritySettings};
use super::toml_reader::{RuleReader, TomlNode};

use tamis_manifest::suggest::{closest, unknown};

/// Top-level keys of a file.
const TABLES: [&str; 2] = ["tools", "rules"];
/// Lists of tables inside a rule. At the top level they are misplaced.
const LISTS: [&str; 5] = ["examples", "failures", "replace", "sections", "strip_sections"];
/// Keys of `[tools.filters]` that are not names of filters.
const KEYS: [&str; 3] = ["enabled", "filters_path", "security"];
/// Sections of `[tools.filters]` that zeph had for its filters, with their keys. They are accepted and have no
/// effect.
const SECTIONS: [(&str, &[&str]); 6] = [
    ("test", &["enabled", "max_failures", "truncate_stack_trace"]),
    ("git", &["enabled", "max_log_entries", "max_diff_lines"]),
    ("clippy", &["enabled"]),
    ("cargo_build", &["enabled"]),
    ("dir_listing", &["enabled"]),
    ("log_dedup", &["enabled"]),
];
/// Size limit of the patterns in `security`, in bytes.
const COMPILED: usize = 10 << 20;

impl RuleReader<'_> {
    /// Reports unknown top-level keys. If the file has `tools`, it may be a whole zeph configuration; then other
    /// tables, and lists of tables, are ignored.
    pub(super) fn check_tables(&mut self, root: &DeTable<'_>) {
        let mut others: Vec<(usize, &str)> = Vec::new();
        for (key, node) in root {
            let (at, name) = (key.span().start, key.get_ref().as_ref());
            if TABLES.contains(&name) {
                continue;
            }
            let is_table = |node: TomlNode<'_>| matches!(node.get_ref(), DeValue::Table(_));
            let is_tables = match node.get_ref() {
                DeValue::Array(entries) => {
                    let is_list = !entries.is_empty() && entries.iter().all(is_table);
                    is_list && !LISTS.contains(&name)
                }
                _ => is_table(node),
            };
            let is_foreign =
                is_tables && root.contains_key("tools") && closest(name, TABLES).is_none();
            if !is_foreign {
                others.push((at, name));
            }
        }
        others.sort_unstable();
        for (at, name) in others {
            self.problem(at, unknown("key", name, &TABLES));
        }
    }

    /// Reads `[tools.filters]`.
    pub(super) fn settings(
        &mut self,
        root: &DeTable<'_>,
        rules: &[CommandRule],
        read: &mut RuleFile,
    ) {
        let Some(tools) = root.get("tools") else { return };
        let Some(tools) = self.table(tools, "tools") else { return };
        let Some(filters) = tools.get("filters") else { return };
        let Some(filters) = self.table(filters, "tools.filters") else { return };
        let own = rules.iter().map(|rule| rule.name.as_str());
        let builtin = self.builtin.map_or([].as_slice(), |builtin| builtin.rules.as_slice());
        let names: Vec<&str> = own.chain(builtin.iter().map(|rule| rule.name())).collect();
        for (key, node) in filters {
            let (at, key) = (key.span().start, key.get_ref().as_ref());
            match key {
                "enabled" => read.enabled = self.bool(node, key).unwrap_or(true),
                "filters_path" => {
                    self.string(node, key);
                    self.no_effect(
                        at,
                        key,
                        "pass the `filters.toml` of this folder as a separate file",
                    );
                }
                "security" => read.security = self.security(node),
                _ if names.contains(&key) => {
                    let Some(toggle) = self.table(node, key) else { continue };
                    self.known(toggle, &["enabled"]);
                    let enabled = toggle.get("enabled").and_then(|node| self.bool(node, "enabled"));
                    if enabled == Some(false) {
                        read.off.push(key.to_owned());
                    }
                }
                _ => match SECTIONS.iter().find(|(section, _)| *section == key) {
                    Some((_, keys)) => self.section(at, key, node, keys),
                    None => {
                        let intended = closest(key, names.iter().copied().chain(KEYS));
                        let intended = intended.map_or_else(
                            || "`tamis help commands` lists the built-in filters".to_owned(),
                            |intended| format!("did you mean `{intended}`?"),
                        );
                        self.problem(at, format!("unknown filter `{key}`; {intended}"));
                    }
                },
            }
        }
    }

    /// Reads a section that zeph had for some of its filters.
    fn section(&mut self, at: usize, key: &str, node: TomlNode<'_>, keys: &[&str]) {
        let Some(table) = self.table(node, key) else { return };
        self.known(table, keys);
        let mut says = false;
        for (key, node) in table {
            let key = key.get_ref().as_ref();
            says |= if key == "enabled" {
                self.bool(node, key) == Some(false)
            } else {
                self.integer(node, key).is_some()
            };
        }
        if says {
            self.no_effect(at, key, "disable filters by their names");
        }
    }

    /// Reads `[tools.filters.security]`.
    fn security(&mut self, node: TomlNode<'_>) -> SecuritySettings {
        let mut security = SecuritySettings { enabled: true, extra: None };
        let Some(table) = self.table(node, "security") else { return security };
        self.known(table, &["enabled", "extra_patterns"]);
        if let Some(node) = table.get("enabled") {
            security.enabled = self.bool(node, "enabled").unwrap_or(true);
        }
        if let Some(node) = table.get("extra_patterns") {
            let before = self.problems.is_empty();
            let patterns = self.patterns(node, "extra_patterns");
            if !patterns.is_empty() && before && self.problems.is_empty() {
                security.extra = self.set(node, &patterns);
            }
        }
        security
    }

    fn set(&mut self, node: TomlNode<'_>, patterns: &[String]) -> Option<Arc<RegexSet>> {
        // Each pattern was charged by itself, and a file has only one such set, so the set is not charged.
        match RegexSetBuilder::new(patterns).size_limit(COMPILED).build() {
            Ok(set) => Some(Arc::new(set)),
            Err(_) => {
                let message = format!(
                    "more than {COMPILED} bytes when compiled; use fewer repetitions or narrower classes"
                );
                self.problem(node.span().start, message);
                None
            }
        }
    }
}
