//! The data of rules: one rule, and the rules and settings of a file.

use std::sync::{Arc, OnceLock};

use regex::bytes::RegexSet;
use tamis_json::regex_budget::RegexBudget;

use super::matcher::CommandMatcher;
use super::operations::DeclaredOperations;
use super::steps::StepLines;
use tamis::text::TextProgram;
use tamis_manifest::Diagnostic;

/// A condition on how the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitCondition {
    /// Any end, including an unknown one.
    Any,
    Ok,
    Failed,
    Code(i32),
}

impl ExitCondition {
    /// Whether an exit code fulfils this condition specifically. [`Any`](Self::Any) is the fallback and never does.
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
pub(crate) struct CommandRule {
    pub(super) name: String,
    pub(super) matcher: CommandMatcher,
    /// Patterns of the lines with which the output begins. They separate the outputs of a compound command.
    pub(super) begins: Vec<String>,
    /// Compiled on first use.
    pub(super) beginnings: OnceLock<Option<RegexSet>>,
    /// Whether a prefix that all lines have is removed.
    pub(super) prefixes: bool,
    /// How the lines name the step that printed them, if they do.
    pub(super) steps: Option<StepLines>,
    /// Whether the rule filters output in a machine-readable format.
    pub(super) machine_format: bool,
    /// The matching rule with the lowest order is applied.
    pub(super) order: i64,
    /// Whether the rule is in zeph's syntax: all matching rules of a file are applied, in their order.
    pub(super) is_piped: bool,
    pub(super) enabled: bool,
    /// The operations for each exit condition: single codes first, [`ExitCondition::Any`] last.
    pub(super) operations: Vec<(ExitCondition, DeclaredOperations)>,
    pub(super) examples: Vec<RuleExample>,
    /// Byte offset in the file.
    pub(super) at: usize,
    /// Compiled on first use.
    pub(super) programs: OnceLock<Option<Vec<(ExitCondition, TextProgram)>>>,
}

impl CommandRule {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether a prefix that all lines have is removed before the lines are filtered.
    pub(crate) fn reads_prefixes(&self) -> bool {
        self.prefixes
    }

    /// Whether the rule filters output in a machine-readable format, which is passed through otherwise.
    pub(crate) fn reads_machine_format(&self) -> bool {
        self.machine_format
    }

    /// Returns how the lines name the step that printed them, if they do.
    pub(crate) fn steps(&self) -> Option<&StepLines> {
        self.steps.as_ref()
    }

    /// Whether the rule leaves out a part of a long output.
    pub(crate) fn cuts(&self) -> bool {
        self.operations.iter().any(|(_, operations)| operations.cut())
    }

    /// Whether the rule declares how the output begins.
    pub(crate) fn has_beginning(&self) -> bool {
        !self.begins.is_empty()
    }

    /// Whether the output may begin with a line.
    pub(crate) fn begins_with(&self, line: &[u8]) -> bool {
        let set = self.beginnings.get_or_init(|| RegexSet::new(&self.begins).ok());
        set.as_ref().is_some_and(|set| set.is_match(line))
    }

    /// Returns the programs for each exit condition, or `None` if one cannot be compiled, which reading the file
    /// reports.
    pub(crate) fn programs(&self) -> Option<&[(ExitCondition, TextProgram)]> {
        // Reading the file has charged these patterns; those of the built-in files are tested.
        let mut allowance = RegexBudget::charged();
        let compile = |(exit, operations): &(ExitCondition, DeclaredOperations)| {
            operations.compile(&mut allowance).ok().map(|program| (*exit, program))
        };
        let programs = self.programs.get_or_init(|| self.operations.iter().map(compile).collect());
        programs.as_deref()
    }
}

/// An example of a rule: an output, and what the rule makes of it.
pub(super) struct RuleExample {
    /// A command that the rule has to match.
    pub(super) command: Option<String>,
    pub(super) exit_code: Option<i32>,
    pub(super) input: String,
    pub(super) output: String,
    /// Byte offset in the file.
    pub(super) at: usize,
}

/// The rules and settings of a file.
pub(crate) struct RuleFile {
    pub(super) file: Arc<str>,
    /// The text of the file, for problems of examples.
    pub(super) text: Arc<str>,
    pub(super) rules: Vec<Arc<CommandRule>>,
    pub(super) enabled: bool,
    /// Names of filters that the file disables.
    pub(super) off: Vec<String>,
    pub(super) warnings: Vec<Diagnostic>,
    pub(super) security: SecuritySettings,
}

impl RuleFile {
    pub(super) fn empty(name: &str) -> Self {
        Self {
            file: name.into(),
            text: "".into(),
            rules: Vec::new(),
            enabled: true,
            off: Vec::new(),
            warnings: Vec::new(),
            security: SecuritySettings { enabled: true, extra: None },
        }
    }
}

/// Which security lines the rules in zeph's syntax keep.
#[derive(Clone, Debug)]
pub(crate) struct SecuritySettings {
    pub(crate) enabled: bool,
    /// Patterns in addition to the built-in ones.
    pub(crate) extra: Option<Arc<RegexSet>>,
}
