//! [`StepLines`]: how the lines of an output name the step, task or service that printed them.

use std::sync::OnceLock;

use regex::bytes::Regex;

/// The declaration `steps` of a rule.
#[derive(Debug)]
pub(crate) struct StepLines {
    /// Patterns with two groups: the name of the step, and the text that the step printed.
    pub(super) by: Vec<String>,
    /// Patterns of texts that show the command of the step, which is their first group.
    pub(super) command: Vec<String>,
    /// Patterns of texts after which the step has ended.
    pub(super) end: Vec<String>,
    /// Whether lines of other steps may occur between those of a step.
    pub(super) interleaved: bool,
    /// Compiled on first use.
    pub(super) compiled: OnceLock<Option<CompiledSteps>>,
}

#[derive(Debug)]
pub(super) struct CompiledSteps {
    by: Vec<Regex>,
    command: Vec<Regex>,
    end: Vec<Regex>,
}

impl StepLines {
    /// Whether lines of other steps may occur between those of a step.
    pub(crate) fn interleaved(&self) -> bool {
        self.interleaved
    }

    /// Divides a line into the name of its step and the text. `None`: the tool itself printed the line.
    pub(crate) fn divide<'a>(&self, line: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let found = self.compiled()?.by.iter().find_map(|pattern| pattern.captures(line))?;
        Some((found.get(1)?.as_bytes(), found.get(2)?.as_bytes()))
    }

    /// Returns the command that a text shows.
    pub(crate) fn command<'a>(&self, text: &'a [u8]) -> Option<&'a str> {
        let patterns = &self.compiled()?.command;
        let found = patterns.iter().find_map(|pattern| pattern.captures(text))?;
        std::str::from_utf8(found.get(1)?.as_bytes()).ok()
    }

    /// Whether a step has ended after a text.
    pub(crate) fn ends(&self, text: &[u8]) -> bool {
        self.compiled().is_some_and(|steps| steps.end.iter().any(|end| end.is_match(text)))
    }

    fn compiled(&self) -> Option<&CompiledSteps> {
        let all = |texts: &[String]| -> Option<Vec<Regex>> {
            texts.iter().map(|text| Regex::new(text).ok()).collect()
        };
        let compile = || {
            let (by, command, end) = (all(&self.by)?, all(&self.command)?, all(&self.end)?);
            Some(CompiledSteps { by, command, end })
        };
        self.compiled.get_or_init(compile).as_ref()
    }
}
