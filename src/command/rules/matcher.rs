//! Which commands a rule is for.
//!
//! Knows the parsed command: its words, with single spaces between them.

use regex::Regex;

use crate::glob::fits;

/// One way to say it.
#[derive(Debug)]
pub(super) enum Form {
    /// The whole command.
    Exact(String),
    /// Its first words.
    Prefix(String),
    /// A pattern that it has somewhere; `^` is its beginning.
    Regex(Regex),
    /// The whole command, with `*` and `?`.
    Glob(String),
}

#[derive(Debug, Default)]
pub(super) struct Matcher {
    /// One of them has to fit.
    pub(super) forms: Vec<Form>,
    /// None of the arguments may fit one of these.
    pub(super) unless: Vec<Regex>,
}

impl Form {
    pub(super) fn fits(&self, command: &str) -> bool {
        match self {
            Self::Exact(text) => text == command,
            Self::Prefix(text) => has_prefix(command, text),
            Self::Regex(regex) => regex.is_match(command),
            Self::Glob(pattern) => fits(pattern, command),
        }
    }

    /// A command that it fits, if one can be told.
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

impl Matcher {
    pub(super) fn fits<'a>(
        &self,
        command: &str,
        mut arguments: impl Iterator<Item = &'a str>,
    ) -> bool {
        self.forms.iter().any(|form| form.fits(command))
            && !arguments.any(|argument| self.unless.iter().any(|unless| unless.is_match(argument)))
    }
}

/// Whether a command begins with these words.
fn has_prefix(command: &str, prefix: &str) -> bool {
    command.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::{Form, Matcher};
    use regex::Regex;

    #[test]
    fn forms() {
        let regex = |text| Form::Regex(Regex::new(text).unwrap());
        for (form, command, expected) in [
            (Form::Exact("git status".into()), "git status", true),
            (Form::Exact("git status".into()), "git status -s", false),
            (Form::Prefix("git status".into()), "git status -s", true),
            (Form::Prefix("git".into()), "gitk", false),
            (regex("^git (log|show)\\b"), "git show HEAD", true),
            (regex("^git (log|show)\\b"), "git shower", false),
            (Form::Glob("npm run test*".into()), "npm run test:unit", true),
            (Form::Glob("npm run test".into()), "npm run test:unit", false),
        ] {
            assert_eq!(form.fits(command), expected, "{form:?} {command}");
        }
        let matcher = Matcher {
            forms: vec![Form::Prefix("grep".into())],
            unless: vec![Regex::new("^-[a-zA-Z]*Z").unwrap()],
        };
        assert!(matcher.fits("grep -rn x", ["-rn", "x"].into_iter()));
        assert!(!matcher.fits("grep -rZ x", ["-rZ", "x"].into_iter()));
    }
}
