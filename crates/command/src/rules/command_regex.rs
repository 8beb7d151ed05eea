//! [`CommandRegex`]: a regular expression for commands, which is compiled when a command may match it.
//!
//! Compiling the patterns of all built-in rules takes longer than most commands.

use std::sync::OnceLock;

use regex::Regex;

/// A regular expression for commands or arguments.
#[derive(Debug)]
pub(super) struct CommandRegex {
    text: String,
    /// A text that matches begins with one of these. Empty: it may begin with anything.
    beginnings: Vec<String>,
    compiled: OnceLock<Option<Regex>>,
}

impl CommandRegex {
    /// Creates a regular expression. One that is not valid matches nothing.
    pub(super) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { beginnings: beginnings(&text).unwrap_or_default(), text, compiled: OnceLock::new() }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        let may_match = self.beginnings.is_empty()
            || self.beginnings.iter().any(|beginning| text.starts_with(beginning));
        may_match
            && self
                .compiled
                .get_or_init(|| Regex::new(&self.text).ok())
                .as_ref()
                .is_some_and(|regex| regex.is_match(text))
    }
}

/// Returns the texts of which one is the beginning of every match: those of a pattern such as `^git log` or `^(cat|tail) `. `None`:
/// they are not certain.
fn beginnings(pattern: &str) -> Option<Vec<String>> {
    let rest = pattern.strip_prefix('^')?;
    if has_alternatives(rest) {
        return None;
    }
    let is_literal = |char: &char| char.is_ascii_alphanumeric() || " _-".contains(*char);
    if let Some(group) = rest.strip_prefix('(') {
        let (inside, after) = group.split_once(')')?;
        let is_plain = inside.chars().all(|char| char == '|' || is_literal(&char));
        let is_repeated = after.starts_with(['?', '*', '{']);
        let all: Vec<String> = inside.split('|').map(str::to_owned).collect();
        return (is_plain && !is_repeated && all.iter().all(|it| !it.is_empty())).then_some(all);
    }
    let mut literal: String = rest.chars().take_while(is_literal).collect();
    let after = rest.get(literal.len()..).unwrap_or_default();
    // A quantifier is for the last character.
    if after.starts_with(['?', '*', '{']) {
        literal.pop();
    }
    (!literal.is_empty()).then(|| vec![literal])
}

/// Whether a pattern has alternatives outside of all groups.
fn has_alternatives(pattern: &str) -> bool {
    let mut chars = pattern.chars();
    let (mut depth, mut in_class) = (0_usize, false);
    while let Some(char) = chars.next() {
        match char {
            '\\' => _ = chars.next(),
            ']' => in_class = false,
            _ if in_class => {}
            '[' => in_class = true,
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::{CommandRegex, beginnings};

    #[test]
    fn beginnings_are_found_where_they_are_certain() {
        for (pattern, expected) in [
            ("^git log", Some(vec!["git log"])),
            ("^gradlew? x", Some(vec!["gradle"])),
            ("^node (.* )?--test", Some(vec!["node "])),
            ("^(cat|tail) .*", Some(vec!["cat", "tail"])),
            ("^(cat|tail)? .*", None),
            ("^([\\w-]+-)?gcc", None),
            ("^(a|)b", None),
            ("^a|b", None),
            ("^a[|]b", Some(vec!["a"])),
            ("^a(b|c)", Some(vec!["a"])),
            ("^\\.git", None),
            ("git", None),
            ("(?i)^git", None),
        ] {
            let expected = expected.map(|all| all.into_iter().map(str::to_owned).collect());
            assert_eq!(beginnings(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_matches_as_its_regular_expression() {
        let commands =
            ["git log", "gradle x", "gradlew x", "cat a.log", "tail", "b", "ac", "", "node --test"];
        for pattern in [
            "^git log",
            "^gradlew? x",
            "^(cat|tail) .*",
            "^a|b",
            "^a(b|c)$",
            "b$",
            "^node (.* )?--test",
            "(",
        ] {
            for command in commands {
                let expected = Regex::new(pattern).is_ok_and(|regex| regex.is_match(command));
                assert_eq!(
                    CommandRegex::new(pattern).is_match(command),
                    expected,
                    "{pattern} {command}"
                );
            }
        }
    }
}
