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

use tamis_store::calls::{OutputKind, ShownBy, ShownWhole};

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

/// The facts about a client.
struct Client {
    /// The name that it sends, or the part of it before a hyphen and the name of a server or an edition.
    name: &'static str,
    /// The bytes of a result that it shows whole.
    shown_whole: u64,
    /// The agent whose variables change that.
    agent: Option<ShownBy>,
    /// The bytes of a longer result that are worth showing, if the client shows only a short preview of it.
    instead_of_preview: Option<u64>,
    /// Seen to show only `structuredContent` if there is one. A wrong entry leaves nothing to show.
    reads_structured: bool,
    /// Shows results to a model in every mode, and lets no code read them.
    shows_results: bool,
}

/// The clients that are known.
///
/// | client | cut | seen in |
/// |---|---|---|
/// | Claude Code | 50,000 characters, saved to a file with a preview of 2 KB | Claude Code 2.1.332 |
/// | Codex CLI | 10,000 tokens, the middle is lost; scripts of its code mode read results | Codex 0.171.0 |
/// | opencode | 50 KB or 2,000 lines | opencode 1.18.33 |
/// | Gemini CLI | 40,000 characters, the middle is lost | Gemini CLI 0.61.0 |
/// | VS Code | 8 KB, saved to a file | microsoft/vscode pull request 329276 |
/// | Copilot CLI | 8 KB, saved to a file | github/copilot-cli issue 1732 |
/// | Cline | 8,000 characters | cline/cline issue 13263 |
const CLIENTS: [Client; 8] = [
    Client {
        reads_structured: true,
        shows_results: true,
        instead_of_preview: Some(8_000),
        agent: Some(ShownBy::ClaudeCode),
        ..client("claude-code", 50_000)
    },
    Client { reads_structured: true, ..client("codex-mcp-client", 40_000) },
    client("opencode", 50_000),
    client("gemini-cli-mcp-client", 40_000),
    client("Visual Studio Code", 8_192),
    client("github-copilot-developer", 8_192),
    client("copilot-cli", 8_192),
    client("Cline", 8_000),
];

const fn client(name: &'static str, shown_whole: u64) -> Client {
    Client {
        name,
        shown_whole,
        agent: None,
        instead_of_preview: None,
        reads_structured: false,
        shows_results: false,
    }
}

/// Returns the facts about the client that sends this name.
fn exactly(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.name == name)
}

/// Returns the most bytes that a result for the client with this name should have: three quarters of what it shows whole. A
/// result of which the client would show a preview, because of its length in bytes, is made much shorter, so that it does not cost more
/// than without the proxy.
pub(crate) fn limit(name: &str, bytes: u64) -> Option<u64> {
    let is_edition = |rest: &str| rest.starts_with(['-', ' ']);
    let known = CLIENTS.iter().find(|client| {
        name.strip_prefix(client.name).is_some_and(|rest| rest.is_empty() || is_edition(rest))
    });
    known.map(|client| limit_of(client, client.shown_whole_here(), bytes))
}

fn limit_of(client: &Client, shown_whole: u64, bytes: u64) -> u64 {
    let limit = shown_whole / 4 * 3;
    match client.instead_of_preview {
        Some(instead) if bytes > shown_whole => instead.min(limit),
        _ => limit,
    }
}

impl Client {
    /// Returns the bytes of a result that the client shows whole, by the variables of this process if it has any: a client starts a
    /// proxy with its own.
    fn shown_whole_here(&self) -> u64 {
        match self.agent.map(|agent| agent.shown_whole_here(OutputKind::McpResult)) {
            Some(ShownWhole::Bytes(most) | ShownWhole::Chars(most)) => most,
            _ => self.shown_whole,
        }
    }
}

/// Returns whether the client with this name shows results to a model. Documents in which shared values are written once are
/// for these only.
pub(crate) fn shows_results(name: &str) -> bool {
    exactly(name).is_some_and(|client| client.shows_results)
}

/// Returns which part the client with this name shows: both, if it is not known.
pub(crate) fn reads(name: &str) -> ClientReads {
    match exactly(name) {
        Some(client) if client.reads_structured => ClientReads::Structured,
        _ => ClientReads::Both,
    }
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
    use super::{ClientReads, exactly, limit, limit_of, reads, shows_results};

    #[test]
    fn a_result_fits_into_what_a_client_shows() {
        for (client, expected) in [
            ("claude-code", Some(37_500)),
            ("Visual Studio Code - Insiders", Some(6_144)),
            ("gemini-cli-mcp-client-github", Some(30_000)),
            ("Clinex", None),
            ("cursor-vscode", None),
            ("", None),
        ] {
            assert_eq!(limit(client, 40_000), expected, "{client}");
        }
        assert_eq!(limit("claude-code", 50_001), Some(8_000));
        assert_eq!(limit("opencode", 500_000), Some(37_500));
        // The user has set MAX_MCP_OUTPUT_TOKENS to 1,000.
        let claude = exactly("claude-code").unwrap();
        assert_eq!(limit_of(claude, 4_000, 3_000), 3_000);
        assert_eq!(limit_of(claude, 4_000, 100_000), 3_000);
    }

    #[test]
    fn results_that_code_may_read_are_not_factored() {
        assert!(shows_results("claude-code"));
        // Scripts of its code mode get results as well.
        assert!(!shows_results("codex-mcp-client"));
        assert!(!shows_results("claude-code-x"));
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
