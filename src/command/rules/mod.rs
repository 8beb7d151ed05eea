//! Rules as data: which commands, and what is done with their output's lines.
//!
//! [`load`] reads them from TOML, [`zeph`] those in zeph's spelling, which [`chained`] makes one rule of; [`overlap`] compares those that fit the same commands, [`examples`] runs what they say of
//! themselves. A rule's operations are those of `text`; a rule is such data or a named engine, never both.

mod chained;
mod examples;
mod load;
mod matcher;
mod operations;
mod overlap;
mod toggles;
mod tree;
mod zeph;

use std::fmt;
use std::sync::{Arc, OnceLock};

use regex::bytes::RegexSet;

use crate::manifest::{ManifestError, Problem};
use crate::regex_budget::RegexBudget;
use crate::text::TextProgram;

use super::builtin;
use super::line::CommandLine;
use matcher::Matcher;
use operations::Operations;

/// How a command ended, as far as a rule asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// However it did, or nobody knows.
    Any,
    Ok,
    Failed,
    Code(i32),
}

impl Exit {
    pub(crate) fn is(self, code: Option<i32>) -> bool {
        match (self, code) {
            (Self::Code(own), Some(code)) => own == code,
            (Self::Ok, Some(code)) => code == 0,
            (Self::Failed, Some(code)) => code != 0,
            _ => false,
        }
    }
}

/// One rule.
pub(crate) struct Rule {
    name: String,
    matcher: Matcher,
    /// Rules that fit the same commands are taken in this order.
    order: i64,
    /// Zeph's spelling: all such rules of a file that fit a command are applied, in their order.
    is_piped: bool,
    enabled: bool,
    /// For each way to end; single codes first, whatever is left last.
    operations: Vec<(Exit, Operations)>,
    examples: Vec<examples::Example>,
    /// Where it is in its file.
    at: usize,
    programs: OnceLock<Option<Vec<(Exit, TextProgram)>>>,
}

impl Rule {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What runs; `None` if it cannot be compiled, which is told when a file is read.
    pub(crate) fn programs(&self) -> Option<&[(Exit, TextProgram)]> {
        // The file was charged for it when it was read; none compiles to more than it did then.
        let mut allowance = RegexBudget::new();
        let compile = |(exit, operations): &(Exit, Operations)| {
            operations.compile(&mut allowance).ok().map(|program| (*exit, program))
        };
        let programs = self.programs.get_or_init(|| self.operations.iter().map(compile).collect());
        programs.as_deref()
    }
}

/// Rules for the output of commands, from a file or those that come with tamis. Immutable and cheap to clone.
///
/// ```
/// use tamis::{CommandRules, OutputFilterRegistry};
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
/// # Ok::<(), tamis::ManifestError>(())
/// ```
#[derive(Clone)]
pub struct CommandRules(Arc<Rules>);

pub(super) struct Rules {
    file: Arc<str>,
    /// The text, for problems that examples have.
    text: Arc<str>,
    rules: Vec<Arc<Rule>>,
    enabled: bool,
    off: Vec<String>,
    warnings: Vec<Problem>,
    security: Security,
}

/// Which lines the rules in zeph's spelling keep because they speak of security.
#[derive(Clone, Debug)]
pub(crate) struct Security {
    pub(crate) enabled: bool,
    /// Patterns beside those that zeph has.
    pub(crate) extra: Option<Arc<RegexSet>>,
}

impl CommandRules {
    /// Reads rules from TOML; `name` is what errors call the file.
    ///
    /// # Errors
    /// What is wrong, with line and column: no TOML, a key that is not known, a value of another type, a pattern that is none,
    /// an engine that is not known or stands beside operations, two rules for the same commands without an order. Patterns may
    /// compile to 10 MiB in one list, and to 24 MiB in all of the file; each is compiled alone and with its list, once for each
    /// way to end.
    ///
    /// ```
    /// use tamis::CommandRules;
    ///
    /// let text = "[[rules]]\nname = \"a\"\nmatch = { prefix = \"a\" }\nstripp = [\"x\"]\n";
    /// let error = CommandRules::parse("x.toml", text).unwrap_err();
    /// assert_eq!(error.problems()[0].line(), 4);
    /// assert_eq!(error.problems()[0].message(), "unknown key `stripp`; did you mean `strip`?");
    /// ```
    pub fn parse(name: &str, text: &str) -> Result<Self, ManifestError> {
        let rules = load::read(name, text, &load::Known::builtin(), &mut RegexBudget::new())?;
        Ok(Self(Arc::new(rules)))
    }

    /// Whether a text is TOML, as rules for commands are, and not YAML: by its first line that is not empty or a comment, which
    /// is the heading of a table or sets a key.
    ///
    /// ```
    /// use tamis::CommandRules;
    ///
    /// assert!(CommandRules::recognises(b"[agent]\nname = \"a whole configuration\"\n"));
    /// assert!(!CommandRules::recognises(b"version: 1\nfilters: {}\n"));
    /// ```
    #[must_use]
    pub fn recognises(text: &[u8]) -> bool {
        tree::is_toml(text)
    }

    /// The same from bytes.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse), and text that is not UTF-8 or too long.
    pub fn parse_bytes(name: &str, bytes: &[u8]) -> Result<Self, ManifestError> {
        Self::parse(name, load::text(name, bytes)?)
    }

    /// The rules that come with tamis.
    #[must_use]
    pub fn builtin() -> Self {
        static BUILTIN: OnceLock<CommandRules> = OnceLock::new();
        BUILTIN.get_or_init(|| Self(Arc::new(builtin::read()))).clone()
    }

    /// The names of the rules, in their order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.rules.iter().map(|rule| rule.name())
    }

    /// Runs the examples of the rules; what does not come out as they say, with their places.
    #[must_use]
    pub fn run_examples(&self) -> Vec<Problem> {
        examples::run(&self.0)
    }

    /// How many examples there are.
    #[must_use]
    pub fn examples(&self) -> usize {
        self.0.rules.iter().map(|rule| rule.examples.len()).sum()
    }

    /// Whether the file does not turn all filters off.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.0.enabled
    }

    /// What is right in the file, and has no effect here.
    ///
    /// ```
    /// use tamis::CommandRules;
    ///
    /// let text = "[[rules]]\nname = \"t\"\nmatch = { prefix = \"t\" }\n\
    ///             strategy = { type = \"test_summary\", max_failures = 3 }\n";
    /// let rules = CommandRules::parse("x.toml", text)?;
    /// assert_eq!(
    ///     rules.warnings()[0].message(),
    ///     "warning: `max_failures` has no effect here: every failure is kept"
    /// );
    /// # Ok::<(), tamis::ManifestError>(())
    /// ```
    #[must_use]
    pub fn warnings(&self) -> &[Problem] {
        &self.0.warnings
    }

    /// Which lines of security the file wants to be kept.
    pub(crate) fn security(&self) -> &Security {
        &self.0.security
    }

    /// Filters that the file turns off by their names.
    pub(crate) fn off(&self) -> &[String] {
        &self.0.off
    }

    /// The first rule, by order, that fits a command. In zeph's spelling, all that fit, in their order, as one; they
    /// keep lines of security, with those that match one of the sets, unless there is none.
    pub(crate) fn find(
        &self,
        line: &CommandLine,
        is_on: impl Fn(&str) -> bool,
        security: Option<&[Arc<RegexSet>]>,
    ) -> Option<Arc<Rule>> {
        let command = line.command()?;
        let mut fitting: Vec<&Arc<Rule>> = self.0.rules.iter().collect();
        fitting.retain(|rule| {
            rule.enabled && is_on(&rule.name) && rule.matcher.fits(command, line.arguments())
        });
        fitting.sort_by_key(|rule| rule.order);
        let first = *fitting.first()?;
        if !first.is_piped {
            return Some(Arc::clone(first));
        }
        let piped = fitting.into_iter().filter(|rule| rule.is_piped).cloned();
        chained::rule(&piped.collect::<Vec<_>>(), security)
    }
}

/// Reads files as one, which is right as it was shipped. What is wrong is left out.
pub(super) fn together<'a>(name: &str, files: impl Iterator<Item = (&'a str, &'a str)>) -> Rules {
    let mut all = Rules::none(name);
    for (file, text) in files {
        if let Ok(rules) = load::read(file, text, &load::Known::none(), &mut RegexBudget::new()) {
            all.rules.extend(rules.rules);
        }
    }
    all
}

/// One of those files, by itself.
#[cfg(test)]
pub(super) fn read_alone(
    name: &str,
    text: &str,
    allowance: &mut RegexBudget,
) -> Result<CommandRules, ManifestError> {
    load::read(name, text, &load::Known::none(), allowance)
        .map(|rules| CommandRules(Arc::new(rules)))
}

impl Rules {
    fn none(name: &str) -> Self {
        Self {
            file: name.into(),
            text: "".into(),
            rules: Vec::new(),
            enabled: true,
            off: Vec::new(),
            warnings: Vec::new(),
            security: Security { enabled: true, extra: None },
        }
    }
}

impl fmt::Debug for CommandRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandRules")
            .field("file", &self.0.file)
            .field("rules", &self.names().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
