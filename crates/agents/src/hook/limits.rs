//! How much of an output an agent shows whole, and so the limits of what the hooks return.

use tamis_command::OutputCap;
use tamis_store::calls::{OutputKind, ShownBy, ShownWhole};

use crate::agent::Agent;

/// The most tokens of an output that is cut. Claude Code shows a preview of 2,000 characters if an output is too long.
const MOST_TOKENS_IF_CUT: u64 = 500;

/// The most tokens of an output of a command for the other agents: opencode takes a replacement of any length, and Gemini CLI masks
/// those that are much longer.
pub(super) const MOST_TOKENS: u64 = 8_000;

/// Returns the longest output that Claude Code shows whole, in bytes or characters.
fn shown_whole(kind: OutputKind) -> u64 {
    match ShownBy::ClaudeCode.shown_whole_here(kind) {
        ShownWhole::Bytes(most) | ShownWhole::Chars(most) => most,
        _ => u64::MAX,
    }
}

/// Returns the limits of the output of a command under a profile that has a maximum of tokens, or none.
///
/// ```
/// use tamis_agents::agent::Agent;
/// use tamis_agents::hook::limits::output_cap;
///
/// assert!(output_cap(Agent::ClaudeCode, None).is_unlimited());
/// assert!(!output_cap(Agent::Gemini, Some(2_000)).is_unlimited());
/// // `tamis run`, which Codex is given, has no limit of its own.
/// assert!(output_cap(Agent::Codex, Some(8_000)).is_unlimited());
/// ```
#[must_use]
pub fn output_cap(agent: Agent, max_tokens: Option<u64>) -> OutputCap {
    let Some(tokens) = max_tokens else { return OutputCap::new() };
    match agent {
        Agent::ClaudeCode => OutputCap::new()
            .with_max_tokens(tokens.min(shown_whole(OutputKind::Command) / 4))
            .with_max_tokens_if_cut(MOST_TOKENS_IF_CUT)
            .with_max_chars_if_failed(shown_whole(OutputKind::FailedCommand).min(tokens * 4)),
        Agent::Codex => OutputCap::new(),
        _ => OutputCap::new().with_max_tokens(tokens.min(MOST_TOKENS)),
    }
}
