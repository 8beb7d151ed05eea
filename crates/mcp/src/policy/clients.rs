//! Which part of a result a client shows to the model.
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
    use super::{ClientReads, reads};

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
