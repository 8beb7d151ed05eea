//! The filters that there are, in their order: the first that fits a command is the one. Of rules in zeph's spelling, all that
//! fit are one filter.
//!
//! Knows no shell and no operation. Immutable once it is made, so that it is shared without locks.

use std::fmt;
use std::sync::Arc;

use regex::bytes::RegexSet;

use super::filter::{FilterResult, OutputFilter};
use super::line::CommandLine;
use super::machine;
use super::report::PassThroughReason;
use super::rules::{CommandRules, Rule};
use super::stream::CommandFilter;
use crate::limits::Limits;
use crate::sink::Sink;

/// Filters for the output of commands. The first that fits a command filters its output; if none does, the output passes as
/// it came. All rules of a file in zeph's spelling that fit a command are one filter, which applies them in their order.
///
/// A registry is immutable once it is made, cheap to clone, and shared by any number of threads.
///
/// ```
/// use tamis::OutputFilterRegistry;
///
/// let registry = OutputFilterRegistry::builtin();
/// let raw = "   Compiling itoa v1.0.11\n   Compiling ryu v1.0.18\n   Compiling app v0.1.0 (/app)\nerror[E0425]: cannot find \
///            value `x` in this scope\n --> src/main.rs:2:5\n  |\n2 |     x\n  |     ^ not found in this scope\n";
/// let result = registry.apply("cd app && cargo build", raw, 101);
/// assert!(result.output.starts_with("error[E0425]"));
/// assert!(result.filtered_bytes < result.raw_bytes);
///
/// let off = registry.with_enabled(false);
/// assert_eq!(off.apply("cargo build", raw, 101).output, raw);
/// ```
#[derive(Clone)]
pub struct OutputFilterRegistry {
    enabled: bool,
    entries: Vec<Entry>,
    off: Vec<String>,
    /// Whether lines of security are kept, and the patterns of files for them.
    keeps_security: bool,
    security: Vec<Arc<RegexSet>>,
}

#[derive(Clone)]
enum Entry {
    Rules(CommandRules),
    Custom(Arc<dyn OutputFilter>),
}

/// What filters a command's output.
pub(super) enum Choice {
    Rule(Arc<Rule>),
    Custom(Arc<dyn OutputFilter>),
    None(PassThroughReason),
}

impl Default for OutputFilterRegistry {
    fn default() -> Self {
        Self::new()
    }
}

impl OutputFilterRegistry {
    /// No filters: everything passes.
    #[must_use]
    pub fn new() -> Self {
        Self {
            enabled: true,
            entries: Vec::new(),
            off: Vec::new(),
            keeps_security: true,
            security: Vec::new(),
        }
    }

    /// The filters that come with tamis.
    #[must_use]
    pub fn builtin() -> Self {
        Self::new().register_rules(CommandRules::builtin())
    }

    /// Adds a filter behind those that are there.
    #[must_use]
    pub fn register(mut self, filter: impl OutputFilter + 'static) -> Self {
        self.entries.push(Entry::Custom(Arc::new(filter)));
        self
    }

    /// Adds rules after the filters that are there. What their file turns off is off: single filters, whichever file they are
    /// from, or all of them. The same holds for the lines of security that rules in zeph's spelling keep.
    #[must_use]
    pub fn register_rules(mut self, rules: CommandRules) -> Self {
        self.enabled &= rules.is_enabled();
        self.off.extend(rules.off().iter().cloned());
        self.keeps_security &= rules.security().enabled;
        self.security.extend(rules.security().extra.clone());
        self.entries.push(Entry::Rules(rules));
        self
    }

    /// Turns all filters on or off. A registry that is off lets everything pass.
    #[must_use]
    pub fn with_enabled(mut self, enabled: bool) -> Self {
        self.enabled = enabled;
        self
    }

    /// Turns a filter off, by its name; the next one that fits a command is taken instead.
    #[must_use]
    pub fn without(mut self, name: impl Into<String>) -> Self {
        self.off.push(name.into());
        self
    }

    /// Whether filters are on.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// The name of the filter that a command's output goes through, if there is one.
    ///
    /// ```
    /// use tamis::{CommandLine, OutputFilterRegistry};
    ///
    /// let registry = OutputFilterRegistry::builtin();
    /// assert_eq!(registry.filter_for(&CommandLine::parse("git status")).as_deref(), Some("git-status"));
    /// assert_eq!(registry.filter_for(&CommandLine::parse("git status --porcelain")), None);
    /// assert_eq!(registry.filter_for(&CommandLine::parse("curl -s https://api.example.com")), None);
    /// ```
    #[must_use]
    pub fn filter_for(&self, command: &CommandLine) -> Option<String> {
        match self.choose(command) {
            Choice::Rule(rule) => Some(rule.name().to_owned()),
            Choice::Custom(filter) => Some(filter.name().to_owned()),
            Choice::None(_) => None,
        }
    }

    /// Filters an output that is at hand. Nothing is said in it of what was left out; a [`CommandFilter`] does.
    #[must_use]
    pub fn apply(&self, command: &str, output: &str, exit_code: i32) -> FilterResult {
        let line = CommandLine::parse(command);
        let mut run = self.start(&line, &Limits::new(), Vec::new()).quiet();
        run.write(output.as_bytes());
        let (filtered, _) = run.end(Some(exit_code), None);
        // A pattern may cut a character in two; then the output stays.
        match String::from_utf8(filtered) {
            Ok(filtered) => FilterResult::new(output, filtered),
            Err(_) => FilterResult::new(output, output),
        }
    }

    /// Begins with a command's output, which arrives in chunks.
    ///
    /// ```
    /// use tamis::{CommandLine, Limits, OutputFilterRegistry};
    ///
    /// let registry = OutputFilterRegistry::builtin();
    /// let line = CommandLine::from_args(["cargo", "build"]);
    /// let mut run = registry.start(&line, &Limits::new(), Vec::new());
    /// for number in 0..20 {
    ///     run.write(format!("   Compiling crate-{number} v1.0.0\n").as_bytes());
    /// }
    /// run.write(b"    Finished `dev` profile [unoptimized] target(s) in 2.10s\n");
    /// let (output, report) = run.end(Some(0), Some("/tmp/cargo-build.log"));
    /// assert_eq!(
    ///     String::from_utf8(output).unwrap(),
    ///     "    Finished `dev` profile [unoptimized] target(s) in 2.10s\n\
    ///      [tamis cargo-build: 20 of 21 lines left out; full output: /tmp/cargo-build.log]\n"
    /// );
    /// assert_eq!(report.filter.as_deref(), Some("cargo-build"));
    /// assert!(report.cut);
    /// ```
    pub fn start<S: Sink>(
        &self,
        command: &CommandLine,
        limits: &Limits,
        sink: S,
    ) -> CommandFilter<S> {
        CommandFilter::new(self.choose(command), command.typed(), limits, sink)
    }

    fn choose(&self, line: &CommandLine) -> Choice {
        if !self.enabled {
            return Choice::None(PassThroughReason::Disabled);
        }
        let is_on = |name: &str| !self.off.iter().any(|off| off == name);
        let security = self.keeps_security.then_some(self.security.as_slice());
        let machine = machine::asks(line);
        let mut passed = match line.command() {
            None => PassThroughReason::Unclear,
            Some(_) => PassThroughReason::NoFilter,
        };
        for entry in &self.entries {
            match entry {
                Entry::Custom(filter) => {
                    if is_on(filter.name()) && filter.matches(line.typed()) {
                        return Choice::Custom(Arc::clone(filter));
                    }
                }
                Entry::Rules(rules) => {
                    let Some(rule) = rules.find(line, is_on, security) else { continue };
                    if machine {
                        passed = PassThroughReason::MachineFormat;
                        continue;
                    }
                    return Choice::Rule(rule);
                }
            }
        }
        Choice::None(passed)
    }
}

impl fmt::Debug for OutputFilterRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputFilterRegistry")
            .field("enabled", &self.enabled)
            .field("entries", &self.entries.len())
            .finish_non_exhaustive()
    }
}
