//! The part of a result that a client shows to the model, and its size.
//!
//! A client that shows less than a profile's limit cuts a result itself, where nobody can fetch the rest. For these, the limit
//! is lower.
//!
//! Some clients show only `structuredContent` if there is one, and drop the text. For these, a text that
//! repeats the structured result costs bytes and nothing else. A client that is not on the list may show the text, so
//! both are kept.

use std::fmt;
use std::str::FromStr;

/// The part of a result that a client shows to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientReads {
    /// `structuredContent`, if there is one.
    Structured,
    /// The text.
    Content,
    /// Both, or not known.
    Both,
}

/// Clients that show only `structuredContent` if there is one, by the name that they send: Claude Code and Codex CLI.
/// A client is on this list only if it was seen to do so, because without the text a wrong entry leaves nothing to show.
const READ_STRUCTURED: [&str; 2] = ["claude-code", "codex-mcp-client"];

/// The bytes that clients show whole, by the beginning of the name that they send. Clients that are not listed show at least
/// as much as a profile keeps, or are not known.
///
/// | client | cut | seen in |
/// |---|---|---|
/// | Claude Code | 25,000 tokens, saved to a file | Claude Code 2.1.332 |
/// | Codex CLI | 10,000 tokens, the middle is lost | Codex 0.171.0 |
/// | opencode | 50 KB or 2,000 lines | opencode 1.18.33 |
/// | Gemini CLI | 40,000 characters, the middle is lost | Gemini CLI 0.61.0 |
/// | VS Code | 8 KB, saved to a file | microsoft/vscode pull request 329276 |
/// | Copilot CLI | 8 KB, saved to a file | github/copilot-cli issue 1732 |
/// | Cline | 8,000 characters | cline/cline issue 13263 |
const SHOWN_WHOLE: [(&str, u64); 8] = [
    ("claude-code", 100_000),
    ("codex-mcp-client", 40_000),
    ("opencode", 50_000),
    ("gemini-cli-mcp-client", 40_000),
    ("Visual Studio Code", 8_192),
    ("github-copilot-developer", 8_192),
    ("copilot-cli", 8_192),
    ("Cline", 8_000),
];

/// Returns the most bytes that a result for the client with this name should have: three quarters of what it shows whole.
pub(crate) fn limit(client: &str) -> Option<u64> {
    let known = SHOWN_WHOLE.iter().find(|(name, _)| client.starts_with(name));
    known.map(|(_, bytes)| bytes / 4 * 3)
}

/// Clients that show results of tools to a model, and run no code on them. Documents in which shared values are written once
/// are for these only.
const SHOW_RESULTS: [&str; 2] = ["claude-code", "codex-mcp-client"];

/// Returns whether the client with this name shows results to a model.
pub(crate) fn shows_results(client: &str) -> bool {
    SHOW_RESULTS.contains(&client)
}

/// Returns which part the client with this name shows.
pub(crate) fn reads(client: &str) -> ClientReads {
    if READ_STRUCTURED.contains(&client) { ClientReads::Structured } else { ClientReads::Both }
}

impl FromStr for ClientReads {
    type Err = UnknownClientReads;

    fn from_str(name: &str) -> Result<Self, UnknownClientReads> {
        match name {
            "structured" => Ok(Self::Structured),
            "content" => Ok(Self::Content),
            "both" => Ok(Self::Both),
            _ => Err(UnknownClientReads),
        }
    }
}

/// The error of a word that names no part of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownClientReads;

impl fmt::Display for UnknownClientReads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected structured, content or both")
    }
}

impl std::error::Error for UnknownClientReads {}

#[cfg(test)]
mod tests {
    use super::{ClientReads, limit, reads};

    #[test]
    fn a_result_fits_into_what_a_client_shows() {
        for (client, expected) in [
            ("claude-code", Some(75_000)),
            ("Visual Studio Code - Insiders", Some(6_144)),
            ("gemini-cli-mcp-client-github", Some(30_000)),
            ("cursor-vscode", None),
            ("", None),
        ] {
            assert_eq!(limit(client), expected, "{client}");
        }
    }

    #[test]
    fn clients_that_show_text_get_it() {
        for (client, expected) in [
            ("claude-code", ClientReads::Structured),
            ("opencode", ClientReads::Both),
            ("Claude-Code", ClientReads::Both),
            ("", ClientReads::Both),
        ] {
            assert_eq!(reads(client), expected, "{client}");
        }
    }
}
