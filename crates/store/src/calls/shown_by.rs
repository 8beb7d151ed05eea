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

    /// Returns the bytes of the first and last characters of a longer text, with the line between them.
    fn cut(self, limit: u64, mark: u64) -> u64 {
        if self.chars <= limit { self.bytes } else { self.bytes_of(limit) + mark }
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

/// The bytes that Claude Code shows of a longer output: the first 2,000 and the path of a file.
const CLAUDE_PREVIEW: u64 = 2_226;
/// The longest output that Claude Code shows whole, in bytes, unless `BASH_MAX_OUTPUT_LENGTH` is set.
const CLAUDE_WHOLE: u64 = 30_000;
/// The longest output of a failed command that Claude Code shows whole, in characters. A longer output loses its middle.
const CLAUDE_FAILED: u64 = 10_000;
/// The longest result of an MCP tool that Claude Code shows whole, in characters. `MAX_MCP_OUTPUT_TOKENS` can make it less.
const CLAUDE_MCP: u64 = 50_000;
/// The longest output that Codex shows whole, in bytes: 10,000 tokens.
const CODEX_WHOLE: u64 = 40_000;
/// The longest output that opencode shows whole, in bytes.
const OPENCODE_WHOLE: u64 = 50 << 10;
/// The longest output that Gemini CLI shows whole, in characters.
const GEMINI_WHOLE: u64 = 40_000;
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
        match self {
            Self::ClaudeCode if failed => output.cut(CLAUDE_FAILED, MARK),
            Self::ClaudeCode => {
                let whole = number_in("BASH_MAX_OUTPUT_LENGTH").unwrap_or(CLAUDE_WHOLE);
                preview(output, output.bytes > whole)
            }
            Self::Codex => cut_bytes(output, CODEX_WHOLE, CODEX_MARK),
            Self::Opencode => cut_bytes(output, OPENCODE_WHOLE, PATH_MARK),
            Self::Gemini => output.cut(GEMINI_WHOLE, PATH_MARK),
        }
    }

    /// Returns how many bytes of an MCP tool's result the agent shows.
    #[must_use]
    pub fn of_mcp_result(self, result: TextSize) -> u64 {
        match self {
            Self::ClaudeCode => {
                let set = number_in("MAX_MCP_OUTPUT_TOKENS").map(|tokens| tokens.saturating_mul(4));
                let whole = set.unwrap_or(CLAUDE_MCP).min(CLAUDE_MCP);
                preview(result, result.chars > whole)
            }
            _ => self.of_command(result, false),
        }
    }
}

/// Returns the bytes of a text, or of its preview.
fn preview(text: TextSize, is_long: bool) -> u64 {
    if is_long { CLAUDE_PREVIEW.min(text.bytes) } else { text.bytes }
}

fn cut_bytes(text: TextSize, whole: u64, mark: u64) -> u64 {
    if text.bytes <= whole { text.bytes } else { whole + mark }
}

/// Returns the value of a variable that sets a limit.
fn number_in(name: &str) -> Option<u64> {
    env::var(name).ok()?.trim().parse().ok().filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::{ShownBy, TextSize};

    #[test]
    fn an_agent_shows_at_most_its_limit() {
        use ShownBy::{ClaudeCode, Codex, Gemini, Opencode};
        let size = TextSize::of_bytes;
        for (agent, bytes, failed, expected) in [
            (ClaudeCode, 30_000, false, 30_000),
            (ClaudeCode, 30_001, false, 2_226),
            (ClaudeCode, 9_000, true, 9_000),
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
