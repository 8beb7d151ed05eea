//! The coding agents that are known.

use std::fmt;
use std::str::FromStr;

/// A coding agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Agent {
    /// Claude Code.
    ClaudeCode,
    /// Codex CLI.
    Codex,
    /// opencode.
    Opencode,
    /// Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
    /// GitHub Copilot CLI.
    Copilot,
}

impl Agent {
    /// All agents, in the order in which they are listed.
    pub const ALL: [Self; 6] =
        [Self::ClaudeCode, Self::Codex, Self::Opencode, Self::Gemini, Self::Cursor, Self::Copilot];

    /// Returns the name in command lines.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
            Self::Copilot => "copilot",
        }
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not the name of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownAgent;

impl fmt::Display for UnknownAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Agent::ALL.map(Agent::as_str).to_vec();
        write!(f, "unknown agent; expected one of {}", names.join(", "))
    }
}

impl std::error::Error for UnknownAgent {}

impl FromStr for Agent {
    type Err = UnknownAgent;

    fn from_str(text: &str) -> Result<Self, UnknownAgent> {
        Self::ALL.into_iter().find(|agent| agent.as_str() == text).ok_or(UnknownAgent)
    }
}
