//! The cuts that agents make themselves.
//!
//! A transcript has what the model received, so this model of the agents is only needed for outputs that they never had: those that a
//! filter has made shorter, but not short enough. It is compared with every recorded output that an agent has cut, if the transcript has
//! the whole output; the report says how many agree. The limits are those of [`ShownBy`].
//!
//! | agent | tool | whole up to | else | seen in |
//! |---|---|---|---|---|
//! | Claude Code | `Bash`, exit code 0 | 30,000 bytes | 2,000 characters, to the end of a line, and the path of a file | 2.1.197, 2.1.332 |
//! | Claude Code | `Bash`, other exit codes | 10,000 characters | the first and the last 5,000 | 2.1.197, 2.1.332 |
//! | Claude Code | MCP | 50,000 characters | 2,000 characters and the path of a file | 2.1.332 |
//! | Codex | commands | 40,000 bytes | the first and the last 20,000 | 0.171.0 |
//! | Codex | MCP | 48,000 bytes | the first and the last 24,000 | 0.171.0 |
//! | opencode | `bash` | 50 KB, 2,000 lines | the last 2,000 lines or 50 KB, and the path of a file | 1.18.33 |
//! | opencode | others | 50 KB, 2,000 lines | the first 2,000 lines or 50 KB, and the path of a file | 1.18.33 |
//! | Gemini CLI | shell, MCP | 40,000 characters | the first 8,000 and the last 32,000, and the path of a file | 0.61.0 |

use tamis_agents::agent::Agent;
use tamis_store::calls::{OutputKind, ShownBy, ShownWhole, TextSize};

use crate::transcript::event::ToolKind;

/// The part of an output that an agent shows, and whether its model can read the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AgentCut {
    pub(crate) text: String,
    pub(crate) is_kept: bool,
}

/// The characters that Claude Code shows of a failed command's output that it cuts.
const CLAUDE_FAILURE: usize = 10_000;
/// The most lines of an output that opencode shows.
const MOST_LINES: usize = 2_000;

/// Returns what an agent shows of an output that it cuts. `None`: it shows all of it.
pub(crate) fn cut(agent: Agent, kind: ToolKind, failed: bool, text: &str) -> Option<AgentCut> {
    let kept = |text| Some(AgentCut { text, is_kept: true });
    let lost = |text| Some(AgentCut { text, is_kept: false });
    let agent = shown_by(agent)?;
    let output = match kind {
        ToolKind::Native => return None,
        ToolKind::Shell if failed => OutputKind::FailedCommand,
        ToolKind::Shell => OutputKind::Command,
        ToolKind::Mcp => OutputKind::McpResult,
    };
    let whole = agent.shown_whole(output);
    let has_many_lines = agent == ShownBy::Opencode && text.split('\n').count() > MOST_LINES;
    if whole.fits(TextSize::of(text)) && !has_many_lines {
        return None;
    }
    let most = match whole {
        ShownWhole::Bytes(most) | ShownWhole::Chars(most) => usize::try_from(most).ok()?,
        _ => return None,
    };
    match (agent, output) {
        (ShownBy::ClaudeCode, OutputKind::FailedCommand) => {
            let (first, last, left_out) = ends(text, CLAUDE_FAILURE / 2, CLAUDE_FAILURE / 2)?;
            lost(format!("{first}\n\n... [{left_out} characters truncated] ...\n\n{last}"))
        }
        (ShownBy::ClaudeCode, _) => {
            let preview = chars(text, 2_000);
            let preview = match preview.rfind('\n') {
                Some(at) if at >= 1_000 => preview.get(..at).unwrap_or(preview),
                _ => preview,
            };
            kept(format!(
                "<persisted-output>\nOutput too large. Full output saved to: /path/of/the/file.txt\n\nPreview (first 2KB):\n{preview}\n...\n</persisted-output>"
            ))
        }
        (ShownBy::Codex, _) => {
            let (first, last) = (prefix(text, most / 2), suffix(text, most / 2));
            let count = text.len().div_ceil(4);
            let left_out = (text.len() - first.len() - last.len()).div_ceil(4);
            let lines = text.lines().count();
            if output == OutputKind::McpResult {
                return lost(format!("{first}…{left_out} tokens truncated…{last}"));
            }
            lost(format!(
                "Warning: truncated output (original token count: {count})\nTotal output lines: {lines}\n\n{first}…{left_out} tokens truncated…{last}"
            ))
        }
        (ShownBy::Opencode, OutputKind::McpResult) => kept(format!(
            "{}\n\n...output truncated...\n\nFull output saved to: /path/of/the/file\n\n",
            first_lines(prefix(text, most))
        )),
        (ShownBy::Opencode, _) => kept(format!(
            "...output truncated...\n\nFull output saved to: /path/of/the/file\n\n{}",
            last_lines(suffix(text, most))
        )),
        (ShownBy::Gemini, _) => {
            let (first, last, left_out) = ends(text, most / 5, most - most / 5)?;
            kept(format!(
                "Output too large. Showing first 8,000 and last 32,000 characters. For full output see: /path/of/the/file.txt\n{first}\n\n... [{left_out} characters omitted] ...\n\n{last}"
            ))
        }
        _ => None,
    }
}

/// Returns the agent among those whose limits are known.
fn shown_by(agent: Agent) -> Option<ShownBy> {
    match agent {
        Agent::ClaudeCode => Some(ShownBy::ClaudeCode),
        Agent::Codex => Some(ShownBy::Codex),
        Agent::Opencode => Some(ShownBy::Opencode),
        Agent::Gemini => Some(ShownBy::Gemini),
        _ => None,
    }
}

/// Returns the first and the last characters of a text, and the number of those between. `None`: the text is too short.
fn ends(text: &str, first: usize, last: usize) -> Option<(&str, &str, usize)> {
    let count = text.chars().count();
    let left_out = count.checked_sub(first + last).filter(|count| *count > 0)?;
    let end = text.char_indices().nth(count - last).map_or(text.len(), |(at, _)| at);
    Some((chars(text, first), text.get(end..).unwrap_or_default(), left_out))
}

fn chars(text: &str, count: usize) -> &str {
    let end = text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

/// Returns the longest beginning of a text within a number of bytes.
pub(crate) fn prefix(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary_of(bytes)).unwrap_or_default()
}

/// Returns the longest end of a text within a number of bytes.
pub(crate) fn suffix(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}

/// A boundary between characters.
trait Boundary {
    fn floor_char_boundary_of(&self, at: usize) -> usize;
}

impl Boundary for str {
    fn floor_char_boundary_of(&self, at: usize) -> usize {
        let mut at = at.min(self.len());
        while !self.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

fn last_lines(text: &str) -> &str {
    match text.rmatch_indices('\n').nth(MOST_LINES - 1) {
        Some((at, _)) => text.get(at + 1..).unwrap_or_default(),
        None => text,
    }
}

fn first_lines(text: &str) -> &str {
    match text.match_indices('\n').nth(MOST_LINES - 1) {
        Some((at, _)) => text.get(..at).unwrap_or_default(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(to: u32) -> String {
        (1..=to).map(|number| format!("{number}\n")).collect()
    }

    /// The ends of what the real agents showed of `seq 1 20000`, and of a failure with 9,000 numbers.
    #[test]
    fn agents_cut_as_they_were_seen_to() {
        let long = numbers(20_000);
        let claude = cut(Agent::ClaudeCode, ToolKind::Shell, false, &long).unwrap();
        assert!(claude.is_kept && claude.text.contains("\n526\n527\n...\n</persisted-output>"));
        let codex = cut(Agent::Codex, ToolKind::Shell, false, &long).unwrap();
        assert!(!codex.is_kept);
        assert!(
            codex.text.contains("\n4221\n42…17224 tokens truncated…7\n16668\n"),
            "{}",
            &codex.text[20_000..20_200]
        );
        assert!(codex.text.starts_with("Warning: truncated output (original token count: 27224)\nTotal output lines: 20000\n\n1\n"));
        let opencode = cut(Agent::Opencode, ToolKind::Shell, false, &long).unwrap();
        assert!(opencode.text.contains("file\n\n18002\n18003\n"), "{}", &opencode.text[..200]);
        assert!(cut(Agent::Opencode, ToolKind::Shell, false, &numbers(1_999)).is_none());

        let wrapped = format!(
            "<untrusted_context>\nOutput: {}\nProcess Group PGID: 17819\n</untrusted_context>",
            long.trim_end()
        );
        let gemini = cut(Agent::Gemini, ToolKind::Shell, false, &wrapped).unwrap();
        assert!(
            gemini
                .text
                .contains("1815\n1816\n\n... [68968 characters omitted] ...\n\n675\n14676\n"),
            "{}",
            &gemini.text[8_000..8_300]
        );

        let failure = format!("Exit code 3\n{}", numbers(9_000));
        let failed = cut(Agent::ClaudeCode, ToolKind::Shell, true, &failure[..30_000]).unwrap();
        assert!(!failed.is_kept && failed.text.chars().count() < 10_050);
    }

    #[test]
    fn short_outputs_are_whole() {
        for agent in [Agent::ClaudeCode, Agent::Codex, Agent::Opencode, Agent::Gemini] {
            for kind in [ToolKind::Shell, ToolKind::Mcp, ToolKind::Native] {
                for failed in [false, true] {
                    assert_eq!(cut(agent, kind, failed, &"é\n".repeat(1_900)), None, "{agent}");
                }
            }
        }
    }
}
