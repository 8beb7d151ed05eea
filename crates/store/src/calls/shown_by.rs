//! [`ShownBy`]: how much of an output a coding agent shows to its model.
//!
//! Agents cut long outputs themselves. A filter saves the difference to that, and not to the output of the command. The
//! limits were seen in the versions that the documentation of coding agents names.

use std::env;

/// The size of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextSize {
    /// In bytes.
    pub bytes: u64,
    /// In characters: Unicode scalar values.
    pub chars: u64,
}

impl TextSize {
    /// Returns the size of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self { bytes: text.len() as u64, chars: text.chars().count() as u64 }
    }

    /// Returns the size of a text of which only the bytes are known.
    #[must_use]
    pub fn of_bytes(bytes: u64) -> Self {
        Self { bytes, chars: bytes }
    }

    /// Returns about how many bytes this many characters of the text have.
    fn bytes_of(self, chars: u64) -> u64 {
        if self.chars <= chars {
            return self.bytes;
        }
        let bytes = u128::from(self.bytes) * u128::from(chars) / u128::from(self.chars);
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

/// A coding agent that shows outputs to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ShownBy {
    /// Claude Code.
    ClaudeCode,
    /// Codex CLI.
    Codex,
    /// opencode.
    Opencode,
    /// Gemini CLI.
    Gemini,
}

/// The kind of an output, on which an agent's limit depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputKind {
    /// The output of a command that succeeded.
    Command,
    /// The output of a command that failed.
    FailedCommand,
    /// The result of an MCP tool.
    McpResult,
    /// The result of the agent's own tool that searches files.
    Search,
    /// The result of the agent's own tool that fetches web pages.
    WebPage,
}

/// The size of the longest output that an agent shows whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShownWhole {
    /// In bytes.
    Bytes(u64),
    /// In characters.
    Chars(u64),
}

impl ShownWhole {
    /// Returns whether an output of this size is shown whole.
    #[must_use]
    pub const fn fits(self, size: TextSize) -> bool {
        match self {
            Self::Bytes(most) => size.bytes <= most,
            Self::Chars(most) => size.chars <= most,
        }
    }
}

/// The characters that Claude Code shows of a failed command's output that is too long: the beginning and the end. A little more is
/// shown whole.
const CLAUDE_FAILURE: u64 = 10_000;
/// The bytes that Claude Code shows of a longer output: the first 2,000 and the path of a file.
const CLAUDE_PREVIEW: u64 = 2_226;
/// About the length of the line that an agent writes in place of the middle.
const MARK: u64 = 30;
/// The lines with which Codex reports that it cut an output.
const CODEX_MARK: u64 = 120;
/// The text with the path of the full output, where an agent writes one.
const PATH_MARK: u64 = 250;

impl ShownBy {
    /// Returns the name of the agent in logs, which is that in command lines.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Gemini => "gemini",
        }
    }

    /// Returns the agent that started this process, by the variables that it sets for commands.
    #[must_use]
    pub fn of_process() -> Option<Self> {
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        // An agent may have started another one. Codex sets a variable for each call.
        let names: [(&[&str], Self); 4] = [
            (&["CODEX_TOOL_CALL_ID", "CODEX_THREAD_ID", "CODEX_CI"], Self::Codex),
            (&["GEMINI_CLI"], Self::Gemini),
            (&["OPENCODE"], Self::Opencode),
            (&["CLAUDECODE"], Self::ClaudeCode),
        ];
        let found = names.into_iter().find(|(names, _)| names.iter().any(&is_set));
        found.map(|(_, agent)| agent)
    }

    /// Returns the agent that gives this name to MCP servers.
    #[must_use]
    pub fn of_client(name: &str) -> Option<Self> {
        let is = |own: &str| {
            name.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        match () {
            () if is("claude-code") => Some(Self::ClaudeCode),
            () if is("codex-mcp-client") => Some(Self::Codex),
            () if is("opencode") => Some(Self::Opencode),
            () if is("gemini-cli-mcp-client") => Some(Self::Gemini),
            () => None,
        }
    }

    /// Returns the longest output that the agent shows whole, without the variables that change it.
    ///
    /// Seen in Claude Code 2.1.332, Codex 0.171.0 (10,000 tokens; 12,000 of MCP tools), opencode 1.18.33 and Gemini CLI 0.61.0.
    #[must_use]
    pub const fn shown_whole(self, kind: OutputKind) -> ShownWhole {
        match (self, kind) {
            (Self::ClaudeCode, OutputKind::Command) => ShownWhole::Bytes(30_000),
            (Self::ClaudeCode, OutputKind::FailedCommand) => ShownWhole::Chars(11_000),
            (Self::ClaudeCode, OutputKind::McpResult | OutputKind::WebPage) => {
                ShownWhole::Chars(50_000)
            }
            (Self::ClaudeCode, OutputKind::Search) => ShownWhole::Chars(20_000),
            (Self::Codex, OutputKind::McpResult) => ShownWhole::Bytes(48_000),
            (Self::Codex, _) => ShownWhole::Bytes(40_000),
            (Self::Opencode, _) => ShownWhole::Bytes(50 << 10),
            (Self::Gemini, _) => ShownWhole::Chars(40_000),
        }
    }

    /// Returns the longest output that the agent shows whole, with the variables of this process that change it.
    #[must_use]
    pub fn shown_whole_here(self, kind: OutputKind) -> ShownWhole {
        let usual = self.shown_whole(kind);
        match (self, kind, usual) {
            (Self::ClaudeCode, OutputKind::Command, ShownWhole::Bytes(usual)) => {
                ShownWhole::Bytes(number_in("BASH_MAX_OUTPUT_LENGTH").unwrap_or(usual))
            }
            (Self::ClaudeCode, OutputKind::McpResult, ShownWhole::Chars(usual)) => {
                let set = number_in("MAX_MCP_OUTPUT_TOKENS").map(|tokens| tokens.saturating_mul(4));
                ShownWhole::Chars(set.unwrap_or(usual).min(usual))
            }
            _ => usual,
        }
    }

    /// Returns the most lines of an output that the agent shows whole, if it has such a limit. Seen in opencode 1.18.33.
    ///
    /// ```
    /// use tamis_store::calls::ShownBy;
    ///
    /// assert_eq!(ShownBy::Opencode.most_lines(), Some(2_000));
    /// assert_eq!(ShownBy::Codex.most_lines(), None);
    /// ```
    #[must_use]
    pub const fn most_lines(self) -> Option<u64> {
        match self {
            Self::Opencode => Some(2_000),
            _ => None,
        }
    }

    /// Returns how many bytes of a command's output the agent shows.
    ///
    /// ```
    /// use tamis_store::calls::{ShownBy, TextSize};
    ///
    /// let output = TextSize::of_bytes(1_000_000);
    /// assert_eq!(ShownBy::ClaudeCode.of_command(output, true), 10_030);
    /// assert_eq!(ShownBy::Gemini.of_command(TextSize::of_bytes(900), false), 900);
    /// ```
    #[must_use]
    pub fn of_command(self, output: TextSize, failed: bool) -> u64 {
        self.of(if failed { OutputKind::FailedCommand } else { OutputKind::Command }, output)
    }

    /// Returns how many bytes of an MCP tool's result the agent shows.
    #[must_use]
    pub fn of_mcp_result(self, result: TextSize) -> u64 {
        self.of(OutputKind::McpResult, result)
    }

    /// Returns how many bytes of an output of this kind the agent shows.
    #[must_use]
    pub fn of(self, kind: OutputKind, text: TextSize) -> u64 {
        let whole = self.shown_whole_here(kind);
        if whole.fits(text) {
            return text.bytes;
        }
        let mark = match (self, kind) {
            (Self::ClaudeCode, OutputKind::FailedCommand) => {
                return MARK + text.bytes_of(CLAUDE_FAILURE);
            }
            (Self::ClaudeCode, _) => return CLAUDE_PREVIEW.min(text.bytes),
            (Self::Codex, _) => CODEX_MARK,
            (Self::Opencode | Self::Gemini, _) => PATH_MARK,
        };
        mark + match whole {
            ShownWhole::Bytes(most) => most,
            ShownWhole::Chars(most) => text.bytes_of(most),
        }
    }
}

/// Returns the value of a variable that sets a limit.
fn number_in(name: &str) -> Option<u64> {
    env::var(name).ok()?.trim().parse().ok().filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::{OutputKind, ShownBy, TextSize};

    #[test]
    fn an_agent_shows_at_most_its_limit() {
        use ShownBy::{ClaudeCode, Codex, Gemini, Opencode};
        let size = TextSize::of_bytes;
        for (agent, bytes, failed, expected) in [
            (ClaudeCode, 30_000, false, 30_000),
            (ClaudeCode, 30_001, false, 2_226),
            (ClaudeCode, 11_000, true, 11_000),
            (ClaudeCode, 12_000, true, 10_030),
            (Codex, 40_000, true, 40_000),
            (Codex, 1 << 20, false, 40_120),
            (Opencode, 51_200, false, 51_200),
            (Opencode, 51_201, false, 51_450),
            (Gemini, 40_000, false, 40_000),
            (Gemini, 1 << 20, true, 40_250),
        ] {
            assert_eq!(agent.of_command(size(bytes), failed), expected, "{agent:?} {bytes}");
        }
        for (kind, bytes, expected) in [
            (OutputKind::Search, 20_000, 20_000),
            (OutputKind::Search, 20_001, 2_226),
            (OutputKind::WebPage, 50_000, 50_000),
            (OutputKind::WebPage, 50_001, 2_226),
        ] {
            assert_eq!(ClaudeCode.of(kind, size(bytes)), expected, "{kind:?} {bytes}");
        }
        // Characters of three bytes.
        let text = TextSize { bytes: 27_000, chars: 9_000 };
        assert_eq!(ClaudeCode.of_command(text, true), 27_000);
        let text = TextSize { bytes: 60_000, chars: 20_000 };
        assert_eq!(ClaudeCode.of_command(text, true), 30_030);
    }

    #[test]
    fn agents_are_known_by_the_names_that_they_give() {
        for (name, expected) in [
            ("claude-code", Some(ShownBy::ClaudeCode)),
            ("gemini-cli-mcp-client-github", Some(ShownBy::Gemini)),
            ("codex-mcp-client", Some(ShownBy::Codex)),
            ("opencodex", None),
            ("", None),
        ] {
            assert_eq!(ShownBy::of_client(name), expected, "{name}");
        }
    }
}
