//! Matches rules with commands.
//!
//! Commands are in parsed form: words separated by single spaces.

use tamis_json::glob::fits as glob_matches;

use super::command_regex::CommandRegex;

/// A pattern for commands.
#[derive(Debug)]
pub(super) enum CommandPattern {
    /// The whole command.
    Exact(String),
    /// The first words of the command.
    Prefix(String),
    /// A regular expression that matches anywhere in the command; `^` is its beginning.
    Regex(CommandRegex),
    /// The whole command, with `*` and `?` as wildcards.
    Glob(String),
}

#[derive(Debug, Default)]
pub(super) struct CommandMatcher {
    /// At least one of them has to match the command.
    pub(super) patterns: Vec<CommandPattern>,
    /// None of them may match an argument.
    pub(super) unless: Vec<CommandRegex>,
}

impl CommandPattern {
    pub(super) fn matches(&self, command: &str) -> bool {
        match self {
            Self::Exact(text) => text == command,
            Self::Prefix(text) => has_prefix(command, text),
            Self::Regex(regex) => regex.is_match(command),
            Self::Glob(pattern) => glob_matches(pattern, command),
        }
    }

    /// Returns a command that the pattern matches, if one can be derived.
    pub(super) fn witness(&self) -> Option<String> {
        match self {
            Self::Exact(text) | Self::Prefix(text) => Some(text.clone()),
            Self::Glob(pattern) => Some(pattern.replace(['*', '?'], "x")),
            Self::Regex(regex) => {
                let text = regex.as_str().trim_start_matches('^').trim_end_matches('$');
                let text = text.replace(r"\b", "").replace("\\.", ".");
                regex.is_match(&text).then_some(text)
            }
        }
    }
}

impl CommandMatcher {
    pub(super) fn matches<'a>(
        &self,
        command: &str,
        mut arguments: impl Iterator<Item = &'a str>,
    ) -> bool {
        self.patterns.iter().any(|form| form.matches(command))
            && !arguments.any(|argument| self.unless.iter().any(|unless| unless.is_match(argument)))
    }
}

/// Whether a command begins with these words.
fn has_prefix(command: &str, prefix: &str) -> bool {
    command.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::{CommandMatcher, CommandPattern};
    use crate::rules::command_regex::CommandRegex;

    #[test]
    fn patterns() {
        let regex = |text: &str| CommandPattern::Regex(CommandRegex::new(text));
        for (form, command, expected) in [
            (CommandPattern::Exact("git status".into()), "git status", true),
            (CommandPattern::Exact("git status".into()), "git status -s", false),
            (CommandPattern::Prefix("git status".into()), "git status -s", true),
            (CommandPattern::Prefix("git".into()), "gitk", false),
            (regex("^git (log|show)\\b"), "git show HEAD", true),
            (regex("^git (log|show)\\b"), "git shower", false),
            (CommandPattern::Glob("npm run test*".into()), "npm run test:unit", true),
            (CommandPattern::Glob("npm run test".into()), "npm run test:unit", false),
        ] {
            assert_eq!(form.matches(command), expected, "{form:?} {command}");
        }
        let matcher = CommandMatcher {
            patterns: vec![CommandPattern::Prefix("grep".into())],
            unless: vec![CommandRegex::new("^-[a-zA-Z]*Z")],
        };
        assert!(matcher.matches("grep -rn x", ["-rn", "x"].into_iter()));
        assert!(!matcher.matches("grep -rZ x", ["-rZ", "x"].into_iter()));
    }
}
