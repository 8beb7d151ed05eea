//! [`OutputFilterRegistry`]: the list of filters, and the choice of one for a command.
//!
//! The first filter that matches a command is chosen. Rules in zeph's syntax are an exception: all that match are
//! combined into one filter. A registry is immutable once built, so that it can be shared without locks.

use std::fmt;
use std::sync::Arc;

use regex::bytes::RegexSet;
use tamis_json::limits::Limits;
use tamis_json::sink::Sink;

use super::command_filter::{CommandFilter, FilterChoice};
use super::command_line::{CommandLine, CommandPart};
use super::compound::{self, CompoundPart, PartKind};
use super::machine_output;
use super::output_filter::{FilterResult, OutputFilter};
use super::report::PassThroughReason;
use super::rules::{CommandRule, CommandRules};
use super::step_run::StepFilters;

/// Logs of steps within the log of a step.
const DEEPEST: u8 = 2;

/// The filters for the output of commands.
///
/// The first filter that matches a command is applied to its output. If none matches, the output is passed through. If
/// rules in zeph's syntax match, all matching rules of that file are applied one after the other.
///
/// A registry is immutable once built, cheap to clone, and shared by any number of threads.
///
/// ```
/// use tamis_command::OutputFilterRegistry;
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
    entries: Vec<RegistryEntry>,
    /// Names of disabled filters.
    off: Vec<String>,
    /// Whether security lines are kept, and the additional patterns of files for them.
    keeps_security: bool,
    security: Vec<Arc<RegexSet>>,
}

#[derive(Clone)]
enum RegistryEntry {
    Rules(CommandRules),
    Custom(Arc<dyn OutputFilter>),
}

impl Default for OutputFilterRegistry {
    fn default() -> Self {
        Self::new()
    }
}

impl OutputFilterRegistry {
    /// Creates a registry without filters: every output is passed through.
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

    /// Creates a registry with the built-in filters.
    #[must_use]
    pub fn builtin() -> Self {
        Self::new().register_rules(CommandRules::builtin())
    }

    /// Adds a filter after the ones already registered.
    #[must_use]
    pub fn register(mut self, filter: impl OutputFilter + 'static) -> Self {
        self.entries.push(RegistryEntry::Custom(Arc::new(filter)));
        self
    }

    /// Adds the rules of a file after the filters already registered.
    ///
    /// Filters disabled by the file are disabled, including filters registered earlier and later. If the file disables
    /// all filters, the registry is disabled. Its settings for security lines apply to all rules in zeph's syntax.
    #[must_use]
    pub fn register_rules(mut self, rules: CommandRules) -> Self {
        self.enabled &= rules.is_enabled();
        self.off.extend(rules.off().iter().cloned());
        self.keeps_security &= rules.security().enabled;
        self.security.extend(rules.security().extra.clone());
        self.entries.push(RegistryEntry::Rules(rules));
        self
    }

    /// Enables or disables all filters. A disabled registry passes every output through.
    #[must_use]
    pub fn with_enabled(mut self, enabled: bool) -> Self {
        self.enabled = enabled;
        self
    }

    /// Disables the filters with this name. The next filter that matches a command is chosen instead.
    #[must_use]
    pub fn without(mut self, name: impl Into<String>) -> Self {
        self.off.push(name.into());
        self
    }

    /// Returns whether filters are enabled.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Returns the name of the filter for a command, if there is one. The name for a compound command with several
    /// filters is `a+b`.
    ///
    /// ```
    /// use tamis_command::{CommandLine, OutputFilterRegistry};
    ///
    /// let registry = OutputFilterRegistry::builtin();
    /// assert_eq!(registry.filter_for(&CommandLine::parse("git status")).as_deref(), Some("git-status"));
    /// assert_eq!(registry.filter_for(&CommandLine::parse("git status --porcelain")), None);
    /// assert_eq!(registry.filter_for(&CommandLine::parse("curl -s https://api.example.com")), None);
    /// ```
    #[must_use]
    pub fn filter_for(&self, command: &CommandLine) -> Option<String> {
        match self.choose(command, 0) {
            FilterChoice::Rule(rule) | FilterChoice::Steps(rule, _) => Some(rule.name().to_owned()),
            FilterChoice::Custom(filter) => Some(filter.name().to_owned()),
            FilterChoice::Compound(parts) => Some(compound::name(&parts)),
            FilterChoice::None(_) => None,
        }
    }

    /// Filters an output in memory, with default [`Limits`]. Unlike a [`CommandFilter`], it adds no line that reports
    /// what was cut.
    #[must_use]
    pub fn apply(&self, command: &str, output: &str, exit_code: i32) -> FilterResult {
        let line = CommandLine::parse(command);
        let mut filter = self.start(&line, &Limits::new(), Vec::new()).with_notice(false);
        filter.set_exit_code(Some(exit_code));
        let ended = filter.write(output.as_bytes()).and_then(|()| filter.end());
        // A pattern may cut a character in two. Then the output is kept.
        match ended.ok().and_then(|_| String::from_utf8(filter.into_sink()).ok()) {
            Some(filtered) => FilterResult::new(output, filtered),
            None => FilterResult::new(output, output),
        }
    }

    /// Starts filtering a command's output incrementally.
    ///
    /// ```
    /// use tamis::Limits;
    /// use tamis_command::{CommandLine, OutputFilterRegistry};
    ///
    /// let registry = OutputFilterRegistry::builtin();
    /// let line = CommandLine::from_args(["cargo", "build"]);
    /// let mut filter = registry.start(&line, &Limits::new(), Vec::new());
    /// for number in 0..20 {
    ///     filter.write(format!("   Compiling crate-{number} v1.0.0\n").as_bytes())?;
    /// }
    /// filter.write(b"    Finished `dev` profile [unoptimized] target(s) in 2.10s\n")?;
    /// filter.set_exit_code(Some(0));
    /// filter.set_full_output("/tmp/cargo-build.log");
    /// let report = filter.end()?;
    /// assert_eq!(
    ///     String::from_utf8(filter.into_sink()).unwrap(),
    ///     "    Finished `dev` profile [unoptimized] target(s) in 2.10s\n\
    ///      [tamis cargo-build: 20 of 21 lines left out; full output: /tmp/cargo-build.log]\n"
    /// );
    /// assert_eq!(report.filter.as_deref(), Some("cargo-build"));
    /// assert!(report.cut);
    /// # Ok::<(), tamis::Error>(())
    /// ```
    pub fn start<S: Sink>(
        &self,
        command: &CommandLine,
        limits: &Limits,
        sink: S,
    ) -> CommandFilter<S> {
        CommandFilter::new(self.choose(command, 0), command.typed(), limits, sink)
    }

    /// Chooses the filter for a command, which the output of `depth` other commands shows.
    fn choose(&self, line: &CommandLine, depth: u8) -> FilterChoice {
        if !self.enabled {
            return FilterChoice::None(PassThroughReason::Disabled);
        }
        let is_on = |name: &str| !self.off.iter().any(|off| off == name);
        let security = self.keeps_security.then_some(self.security.as_slice());
        let machine_readable = machine_output::is_requested(line);
        let mut passed = match line.command() {
            None => PassThroughReason::Unclear,
            Some(_) => PassThroughReason::NoFilter,
        };
        for entry in &self.entries {
            match entry {
                RegistryEntry::Custom(filter) => {
                    if is_on(filter.name()) && filter.matches(line.typed()) {
                        return FilterChoice::Custom(Arc::clone(filter));
                    }
                }
                RegistryEntry::Rules(rules) => {
                    let Some(rule) = rules.find(line, is_on, security) else { continue };
                    if machine_readable && !rule.reads_machine_format() {
                        passed = PassThroughReason::MachineFormat;
                        continue;
                    }
                    if rule.steps().is_some() && depth < DEEPEST {
                        let filters = StepChooser { registry: self.clone(), depth: depth + 1 };
                        return FilterChoice::Steps(rule, Arc::new(filters));
                    }
                    return FilterChoice::Rule(rule);
                }
            }
        }
        match line.parts() {
            [] => FilterChoice::None(passed),
            parts => self.choose_parts(parts),
        }
    }

    /// Returns the filter of a compound command.
    fn choose_parts(&self, parts: &[CommandPart]) -> FilterChoice {
        let mut found = Vec::new();
        for part in parts {
            let kind = match &part.echo {
                Some(echo) => PartKind::Echo(echo.clone()),
                None => match self.choose(&part.line, DEEPEST) {
                    FilterChoice::Rule(rule) => PartKind::Rule(rule),
                    FilterChoice::None(PassThroughReason::MachineFormat) => {
                        return FilterChoice::None(PassThroughReason::MachineFormat);
                    }
                    // It is not known what the part prints.
                    _ => return FilterChoice::None(PassThroughReason::Unclear),
                },
            };
            found.push(CompoundPart { kind, runs: part.runs });
        }
        compound::choose(found).unwrap_or(FilterChoice::None(PassThroughReason::Unclear))
    }
}

/// The rules whose beginnings no other program prints. In a log, any program may print the beginnings of other rules: `[1/40] users: ERROR`
/// is one of make.
const CERTAIN_BEGINNINGS: [&str; 9] = [
    "pytest",
    "cargo-test",
    "cargo-nextest",
    "maven",
    "ctest",
    "playwright",
    "vite",
    "go-test",
    "terraform",
];

/// Chooses the filters for the steps of a log.
struct StepChooser {
    registry: OutputFilterRegistry,
    depth: u8,
}

impl StepFilters for StepChooser {
    fn for_command(&self, command: &str) -> FilterChoice {
        self.registry.choose(&CommandLine::parse(command), self.depth)
    }

    fn for_beginning(&self, line: &[u8]) -> Option<FilterChoice> {
        let is_on = |name: &str| !self.registry.off.iter().any(|off| off == name);
        let rules = self.registry.entries.iter().filter_map(|entry| match entry {
            RegistryEntry::Rules(rules) => rules.beginning_with(line, is_on),
            RegistryEntry::Custom(_) => None,
        });
        let is_certain = |rule: &Arc<CommandRule>| CERTAIN_BEGINNINGS.contains(&rule.name());
        rules.filter(is_certain).map(FilterChoice::Rule).next()
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
