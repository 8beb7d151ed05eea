//! Rules for the output of commands, as data: which commands they match, and which operations they apply.
//!
//! ```text
//! load ──▶ toml_reader      reads TOML, reports every problem at its place
//!      ──▶ file_settings    `[tools.filters]`: disabled filters, security lines
//!      ──▶ zeph_strategy    `strategy = { … }`: operations in zeph's syntax
//!      ──▶ overlap          finds rules that match the same command
//! chained                   combines rules in zeph's syntax into one
//! examples                  runs the examples of rules
//! ```
//!
//! The operations are those of `text`. A rule has operations or names an engine, never both.

mod builtin_text;
mod chained;
mod command_regex;
mod examples;
mod file_settings;
mod files;
pub(super) mod load;
mod matcher;
mod operations;
mod overlap;
pub(super) mod rule;
mod steps;
mod toml_reader;
mod zeph_strategy;

use std::fmt;
use std::sync::{Arc, OnceLock};

use regex::bytes::RegexSet;
use tamis_json::regex_budget::RegexBudget;

use tamis_manifest::{Diagnostic, ManifestError};

use super::builtin;
use super::command_line::CommandLine;
use rule::SecuritySettings;
pub(super) use rule::{CommandRule, ExitCondition, RuleFile};
pub(super) use steps::StepLines;

/// Rules for the output of commands, from a file or built in. Immutable and cheap to clone.
///
/// ```
/// use tamis_command::{CommandRules, OutputFilterRegistry};
///
/// let rules = CommandRules::parse(
///     "deploy.toml",
///     r#"
///         [[rules]]
///         name = "deploy"
///         match = { prefix = "deploy" }
///         strip = ["^copying "]
///
///         [[rules.examples]]
///         input = "copying a\nis up\n"
///         output = "is up\n"
///     "#,
/// )?;
/// assert!(rules.run_examples().is_empty());
/// let registry = OutputFilterRegistry::new().register_rules(rules);
/// assert_eq!(registry.apply("deploy web", "copying a\nis up\n", 0).output, "is up\n");
/// # Ok::<(), tamis_manifest::ManifestError>(())
/// ```
#[derive(Clone)]
pub struct CommandRules(Arc<RuleFile>);

impl CommandRules {
    /// Parses rules from TOML. `name` is the name of the file in error messages.
    ///
    /// # Errors
    /// All problems, with line and column: invalid TOML, an unknown key, a value of the wrong type, an invalid pattern,
    /// an unknown engine or one combined with operations, two rules for the same command without an order. Patterns may
    /// compile to 10 MiB in one list and to 24 MiB in the whole file. Each pattern counts once by itself and once with
    /// its list for each exit condition.
    ///
    /// ```
    /// use tamis_command::CommandRules;
    ///
    /// let text = "[[rules]]\nname = \"a\"\nmatch = { prefix = \"a\" }\nstripp = [\"x\"]\n";
    /// let error = CommandRules::parse("x.toml", text).unwrap_err();
    /// assert_eq!(error.problems()[0].line(), 4);
    /// assert_eq!(error.problems()[0].message(), "unknown key `stripp`; did you mean `strip`?");
    /// ```
    pub fn parse(name: &str, text: &str) -> Result<Self, ManifestError> {
        let builtin = Self::builtin();
        let rules = load::read(name, text, Some(&builtin.0), &mut RegexBudget::new())?;
        Ok(Self(Arc::new(rules)))
    }

    /// Parses rules from bytes.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse), and if the bytes are not UTF-8.
    pub fn parse_bytes(name: &str, bytes: &[u8]) -> Result<Self, ManifestError> {
        Self::parse(name, load::text(name, bytes)?)
    }

    /// Returns whether a text looks like TOML, the format of rules, and not like YAML. The first line that is not empty
    /// or a comment decides: it is a table header, or assigns a key.
    ///
    /// ```
    /// use tamis_command::CommandRules;
    ///
    /// assert!(CommandRules::recognises(b"[agent]\nname = \"a whole configuration\"\n"));
    /// assert!(!CommandRules::recognises(b"version: 1\nfilters: {}\n"));
    /// ```
    #[must_use]
    pub fn recognises(text: &[u8]) -> bool {
        toml_reader::is_toml(text)
    }

    /// Returns the built-in rules.
    #[must_use]
    pub fn builtin() -> Self {
        static BUILTIN: OnceLock<CommandRules> = OnceLock::new();
        BUILTIN.get_or_init(|| Self(Arc::new(builtin::read()))).clone()
    }

    /// Returns the names of the rules, in the order of the file.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.rules.iter().map(|rule| rule.name())
    }

    /// Runs the examples of the rules. Returns a problem, with its place, for each that does not have the declared
    /// output.
    #[must_use]
    pub fn run_examples(&self) -> Vec<Diagnostic> {
        examples::run(&self.0)
    }

    /// Returns the number of examples.
    #[must_use]
    pub fn examples(&self) -> usize {
        self.0.rules.iter().map(|rule| rule.examples.len()).sum()
    }

    /// Returns `false` if the file disables all filters.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.0.enabled
    }

    /// Returns warnings about keys that are valid but have no effect.
    ///
    /// ```
    /// use tamis_command::CommandRules;
    ///
    /// let text = "[[rules]]\nname = \"t\"\nmatch = { prefix = \"t\" }\n\
    ///             strategy = { type = \"test_summary\", max_failures = 3 }\n";
    /// let rules = CommandRules::parse("x.toml", text)?;
    /// assert_eq!(
    ///     rules.warnings()[0].message(),
    ///     "warning: `max_failures` has no effect here: every failure is kept"
    /// );
    /// # Ok::<(), tamis_manifest::ManifestError>(())
    /// ```
    #[must_use]
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.0.warnings
    }

    /// Returns the settings for security lines.
    pub(crate) fn security(&self) -> &SecuritySettings {
        &self.0.security
    }

    /// Returns the names of the filters that the file disables.
    pub(crate) fn off(&self) -> &[String] {
        &self.0.off
    }

    /// Finds the rule whose output begins with a line, if it is the only one.
    pub(crate) fn beginning_with(
        &self,
        line: &[u8],
        is_on: impl Fn(&str) -> bool,
    ) -> Option<Arc<CommandRule>> {
        let mut found = self.0.rules.iter().filter(|rule| {
            rule.enabled && !rule.is_piped && is_on(&rule.name) && rule.begins_with(line)
        });
        let first = found.next()?;
        found.next().is_none().then(|| Arc::clone(first))
    }

    /// Finds the rule for a command: the first by order that matches. If that rule is in zeph's syntax, all matching
    /// rules in that syntax are combined. They keep security lines, including those that match one of the sets in
    /// `security`, unless that is `None`.
    pub(crate) fn find(
        &self,
        line: &CommandLine,
        is_on: impl Fn(&str) -> bool,
        security: Option<&[Arc<RegexSet>]>,
    ) -> Option<Arc<CommandRule>> {
        let command = line.command()?;
        let mut matching: Vec<&Arc<CommandRule>> = self.0.rules.iter().collect();
        matching.retain(|rule| {
            rule.enabled && is_on(&rule.name) && rule.matcher.matches(command, line.arguments())
        });
        matching.sort_by_key(|rule| rule.order);
        let first = *matching.first()?;
        if !first.is_piped {
            return Some(Arc::clone(first));
        }
        let piped = matching.into_iter().filter(|rule| rule.is_piped).cloned();
        chained::combine(&piped.collect::<Vec<_>>(), security)
    }
}

/// Reads one of the built-in files by itself.
#[cfg(test)]
pub(super) fn read_alone(
    name: &str,
    text: &str,
    allowance: &mut RegexBudget,
) -> Result<CommandRules, ManifestError> {
    load::read(name, text, None, allowance).map(|rules| CommandRules(Arc::new(rules)))
}

impl fmt::Debug for CommandRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandRules")
            .field("file", &self.0.file)
            .field("rules", &self.names().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
