//! Typed access to TOML values, with problems at their places in the file.

use std::ops::Range;

use tamis_json::regex_budget::RegexBudget;
use tamis_text::lines::check_pattern;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::rule::RuleFile;
use tamis_manifest::Diagnostic;
use tamis_manifest::error::{Problems, Text};
use tamis_manifest::suggest::unknown;

pub(super) type TomlNode<'t> = &'t Spanned<DeValue<'t>>;

/// A file being read, and its problems so far.
pub(super) struct RuleReader<'a> {
    pub(super) text: &'a Text<'a>,
    pub(super) problems: Problems,
    /// Warnings about valid keys without effect.
    pub(super) warnings: Vec<Diagnostic>,
    /// The remaining allowance for the patterns of all rules.
    pub(super) allowance: &'a mut RegexBudget,
    /// Whether patterns are compiled.
    pub(super) is_checked: bool,
    /// The built-in rules, unless these are being read.
    pub(super) builtin: Option<&'a RuleFile>,
}

impl RuleReader<'_> {
    pub(super) fn problem(&mut self, at: usize, message: impl Into<String>) {
        let text = self.text;
        self.problems.push(|| text.problem(at, message));
    }

    /// Warns about a valid key that has no effect.
    pub(super) fn no_effect(&mut self, at: usize, key: &str, why: &str) {
        self.warnings
            .push(self.text.problem(at, format!("warning: `{key}` has no effect here: {why}")));
    }

    /// Reports unknown keys.
    pub(super) fn known(&mut self, table: &DeTable<'_>, known: &[&str]) {
        let mut wrong: Vec<(usize, &str)> = table
            .keys()
            .filter(|key| !known.contains(&key.get_ref().as_ref()))
            .map(|key| (key.span().start, key.get_ref().as_ref()))
            .collect();
        wrong.sort_unstable();
        for (at, key) in wrong {
            self.problem(at, unknown("key", key, known));
        }
    }

    fn wrong(&mut self, node: TomlNode<'_>, key: &str, wanted: &str) {
        let found = node.get_ref().type_str();
        self.problem(
            node.span().start,
            format!("`{key}` must be {wanted}, not {}", article(found)),
        );
    }

    pub(super) fn string<'t>(&mut self, node: TomlNode<'t>, key: &str) -> Option<&'t str> {
        let found = node.get_ref().as_str();
        if found.is_none() {
            self.wrong(node, key, "a string");
        }
        found
    }

    pub(super) fn bool(&mut self, node: TomlNode<'_>, key: &str) -> Option<bool> {
        let found = node.get_ref().as_bool();
        if found.is_none() {
            self.wrong(node, key, "true or false");
        }
        found
    }

    pub(super) fn integer(&mut self, node: TomlNode<'_>, key: &str) -> Option<i64> {
        let found = node.get_ref().as_integer();
        let found = found.and_then(|int| i64::from_str_radix(int.as_str(), int.radix()).ok());
        if found.is_none() {
            self.wrong(node, key, "a whole number");
        }
        found
    }

    pub(super) fn count(&mut self, node: TomlNode<'_>, key: &str) -> Option<u64> {
        let found = self.integer(node, key)?;
        let count = u64::try_from(found).ok().filter(|count| *count > 0);
        if count.is_none() {
            self.problem(
                node.span().start,
                format!("`{key}` must be a number of lines, at least 1"),
            );
        }
        count
    }

    pub(super) fn table<'t>(&mut self, node: TomlNode<'t>, key: &str) -> Option<&'t DeTable<'t>> {
        let found = node.get_ref().as_table();
        if found.is_none() {
            self.wrong(node, key, "a table");
        }
        found
    }

    /// Returns the entries of a list of tables.
    pub(super) fn tables<'t>(
        &mut self,
        node: TomlNode<'t>,
        key: &str,
    ) -> Vec<(usize, &'t DeTable<'t>)> {
        let Some(array) = node.get_ref().as_array() else {
            self.wrong(node, key, "a list of tables");
            return Vec::new();
        };
        array
            .iter()
            .filter_map(|node| self.table(node, key).map(|table| (node.span().start, table)))
            .collect()
    }

    /// Returns the entries of a list of strings, or a single string.
    pub(super) fn strings<'t>(
        &mut self,
        node: TomlNode<'t>,
        key: &str,
    ) -> Vec<(TomlNode<'t>, &'t str)> {
        if let Some(text) = node.get_ref().as_str() {
            return vec![(node, text)];
        }
        let Some(array) = node.get_ref().as_array() else {
            self.wrong(node, key, "a string or a list of strings");
            return Vec::new();
        };
        array.iter().filter_map(|node| self.string(node, key).map(|text| (node, text))).collect()
    }

    /// Compiles a pattern and reports its problem at the character in the file. Returns `false` if it has one, or if
    /// an earlier pattern has spent the allowance.
    pub(super) fn pattern(&mut self, node: TomlNode<'_>, text: &str) -> bool {
        if !self.is_checked {
            return true;
        }
        if self.allowance.is_spent() {
            return false;
        }
        let Err(error) = check_pattern(text, self.allowance) else { return true };
        let at = self.inside(node.span(), text, error.rule().map_or(0, |rule| rule.at));
        let message =
            error.rule().map_or_else(|| error.message().to_owned(), |rule| rule.message.clone());
        self.problem(at, message);
        false
    }

    /// Returns the offset in the file of byte `at` of a string's value.
    fn inside(&self, span: Range<usize>, text: &str, at: usize) -> usize {
        let spelled = self.text.text.get(span.clone()).unwrap_or_default();
        let open = spelled.bytes().take_while(|byte| matches!(byte, b'"' | b'\'')).count();
        let verbatim = spelled.get(open..).is_some_and(|rest| rest.starts_with(text));
        // If the string has escapes, its value differs from the file, and the offset of the string is the best place.
        if verbatim { span.start + open + at } else { span.start }
    }
}

fn article(type_name: &str) -> String {
    let article = if type_name.starts_with(['a', 'i']) { "an" } else { "a" };
    format!("{article} {type_name}")
}

/// The problem of a text that is not valid TOML.
pub(super) fn syntax(text: &Text<'_>, error: &toml::de::Error) -> Diagnostic {
    let at = error.span().map_or(0, |span| span.start);
    let message = error.message();
    // Some messages of the parser have two lines.
    let message = message.lines().collect::<Vec<_>>().join("; ");
    text.problem(at, format!("invalid TOML: {message}"))
}

/// Whether a text begins like TOML and unlike a YAML manifest: with a table header, or by assigning a key.
pub(super) fn is_toml(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"#"));
    let Some(first) = first else { return false };
    if let Some(heading) = first.strip_prefix(b"[") {
        let heading = heading.strip_prefix(b"[").unwrap_or(heading);
        let rest = after_key(heading).and_then(|rest| rest.strip_prefix(b"]"));
        let rest = rest.map(|rest| rest.strip_prefix(b"]").unwrap_or(rest).trim_ascii());
        return rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"#"));
    }
    after_key(first).is_some_and(|rest| rest.starts_with(b"="))
}

/// Returns the text after a key, which may be dotted: `tools."a b" = 1`.
fn after_key(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    loop {
        rest = rest.trim_ascii_start();
        let length = match rest.first()? {
            quote @ (b'"' | b'\'') => 2 + rest.get(1..)?.iter().position(|byte| byte == quote)?,
            _ => rest
                .iter()
                .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
                .count(),
        };
        let after = rest.get(length..).filter(|_| length > 0)?.trim_ascii_start();
        match after.strip_prefix(b".") {
            Some(more) => rest = more,
            None => return Some(after),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_toml;

    #[test]
    fn beginnings() {
        for (text, expected) in [
            ("[[rules]]\n", true),
            ("# a comment\n\n  [agent] # another\nname = 1\n", true),
            ("\u{feff}[tools.filters]\r\n", true),
            ("[ a . \"b c\".'d' ]", true),
            ("rules = []", true),
            ("tools.filters.enabled=false", true),
            ("\"a b\" = 1", true),
            ("", false),
            ("# nothing\n", false),
            ("version: 1\n", false),
            ("a: b = c\n", false),
            ("\"a\": 1\n", false),
            ("[a, b]\n", false),
            ("[]\n", false),
            ("[a]: 1\n", false),
            ("[{\"name\": 1}]", false),
            ("{\"a\": 1}", false),
            ("- a = b\n", false),
            ("---\n", false),
            ("= 1\n", false),
            ("\"a", false),
        ] {
            assert_eq!(is_toml(text.as_bytes()), expected, "{text:?}");
        }
    }
}
