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
    /// Visual Studio Code.
    VsCode,
    /// Windsurf.
    Windsurf,
    /// Cline, the extension for Visual Studio Code and the command.
    Cline,
    /// Zed.
    Zed,
    /// Amp.
    Amp,
    /// Crush.
    Crush,
    /// Goose.
    Goose,
    /// Qwen Code.
    Qwen,
    /// Claude Desktop.
    ClaudeDesktop,
}

impl Agent {
    /// All agents, in the order in which they are listed.
    pub const ALL: [Self; 15] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Opencode,
        Self::Gemini,
        Self::Cursor,
        Self::Copilot,
        Self::VsCode,
        Self::Windsurf,
        Self::Cline,
        Self::Zed,
        Self::Amp,
        Self::Crush,
        Self::Goose,
        Self::Qwen,
        Self::ClaudeDesktop,
    ];

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
            Self::VsCode => "vscode",
            Self::Windsurf => "windsurf",
            Self::Cline => "cline",
            Self::Zed => "zed",
            Self::Amp => "amp",
            Self::Crush => "crush",
            Self::Goose => "goose",
            Self::Qwen => "qwen",
            Self::ClaudeDesktop => "claude-desktop",
        }
    }

    /// Returns whether only MCP servers of the agent are filtered: no hook of it replaces an output.
    #[must_use]
    pub fn has_only_servers(self) -> bool {
        !matches!(
            self,
            Self::ClaudeCode | Self::Codex | Self::Opencode | Self::Gemini | Self::Cursor
        )
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
