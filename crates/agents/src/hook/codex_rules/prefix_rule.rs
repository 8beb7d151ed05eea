//! [`PrefixRule`]: a rule for the commands that begin with some words.

/// The decision of a rule. Later ones are stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleDecision {
    /// The command runs, outside of the sandbox.
    Allow,
    /// The user is asked.
    Prompt,
    /// The command does not run.
    Forbidden,
}

impl RuleDecision {
    /// Returns the decision with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "allow" => Some(Self::Allow),
            "prompt" => Some(Self::Prompt),
            "forbidden" => Some(Self::Forbidden),
            _ => None,
        }
    }
}

/// A rule for the commands that begin with some words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefixRule {
    /// The words at each position of which a command must have one. Not empty.
    pub pattern: Vec<Vec<String>>,
    /// Its decision.
    pub decision: RuleDecision,
}

impl PrefixRule {
    /// Returns whether the rule matches a command. Codex compares the first word of a command that is a path with rules
    /// for the name of its file, too, unless the rules say otherwise. `by_name` takes all of these as matches.
    pub(super) fn matches(&self, words: &[String], by_name: bool) -> bool {
        if words.len() < self.pattern.len() {
            return false;
        }
        self.pattern.iter().zip(words).enumerate().all(|(index, (alternatives, word))| {
            alternatives.contains(word)
                || (index == 0 && by_name && alternatives.iter().any(|it| it == name(word)))
        })
    }
}

/// Returns the name of a program, without its folder.
fn name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
