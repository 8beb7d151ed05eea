//! How much of an output an agent shows whole, and so the limits of what the hooks return.

use tamis_command::{CommandLine, OutputCap};
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

/// The most characters of the output of a failed command that is cut.
const MOST_CHARS_IF_FAILED: u64 = 10_000;

/// Returns the limits of the output of a command under a profile that has a maximum of tokens, or none.
///
/// ```
/// use tamis_agents::agent::Agent;
/// use tamis_agents::hook::limits::output_cap;
///
/// assert!(output_cap(Agent::ClaudeCode, None, "ls").is_unlimited());
/// assert!(!output_cap(Agent::Gemini, Some(2_000), "ls").is_unlimited());
/// // `tamis run`, which Codex is given, has no limit of its own.
/// assert!(output_cap(Agent::Codex, Some(8_000), "ls").is_unlimited());
/// ```
#[must_use]
pub fn output_cap(agent: Agent, max_tokens: Option<u64>, typed: &str) -> OutputCap {
    let Some(tokens) = max_tokens else { return OutputCap::new() };
    match agent {
        Agent::ClaudeCode => {
            let whole = shown_whole(OutputKind::Command);
            let whole_if_failed = shown_whole(OutputKind::FailedCommand);
            // A lower limit is one that the user wants.
            let of_agent = tokens >= MOST_TOKENS;
            OutputCap::new()
                .with_max_tokens(tokens.min(whole / 4))
                .with_max_tokens_if_cut(MOST_TOKENS_IF_CUT)
                .with_max_chars_if_failed(MOST_CHARS_IF_FAILED.min(tokens * 4))
                .with_whole(
                    if of_agent { whole } else { 0 },
                    if of_agent { whole_if_failed } else { 0 },
                )
                .with_least_failure(least_failure(typed))
        }
        Agent::Codex => OutputCap::new(),
        _ => OutputCap::new().with_max_tokens(tokens.min(MOST_TOKENS)),
    }
}

/// Programs whose exit code 1 Claude Code does not take for a failure: it shows their outputs as those of commands that succeeded. Seen in
/// version 2.1.332.
const FINDERS: [&str; 8] = ["[", "diff", "egrep", "fgrep", "find", "grep", "rg", "test"];

/// Subcommands of `git` with such an exit code.
const GIT_FINDERS: [&str; 2] = ["diff", "grep"];

/// Returns the lowest exit code with which a command line fails, as Claude Code sees it: the last command decides, if its name comes
/// first. Redirections, comments, and options of `git` before the subcommand do not count.
///
/// ```
/// use tamis_agents::hook::limits::least_failure;
///
/// assert_eq!(least_failure("cd app && diff a b 2>&1"), 2);
/// assert_eq!(least_failure("git -C app diff"), 2);
/// assert_eq!(least_failure("diff a b | cat"), 1);
/// ```
#[must_use]
pub fn least_failure(typed: &str) -> i32 {
    let words = CommandLine::parse(typed).last_words().unwrap_or_default();
    let mut words = words.iter().map(String::as_str);
    let is_finder = match words.next() {
        Some("git") => words.next().is_some_and(|name| GIT_FINDERS.contains(&name)),
        Some(program) => FINDERS.contains(&program),
        None => false,
    };
    if is_finder { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::least_failure;

    #[test]
    fn the_last_command_decides() {
        for (typed, expected) in [
            ("diff a b 2>&1", 2),
            ("diff a b > x 2>&1", 2),
            ("find . /nonexist 2>&1", 2),
            ("git --no-pager diff --no-index a b", 2),
            ("git -C . diff --stat", 2),
            ("git -c core.pager=cat --git-dir x grep y", 2),
            ("git log -p", 1),
            ("git -C diff log", 1),
            ("cat a b; grep -E \"zz|yy\" a", 2),
            ("grep 'a;b' x && cargo test", 1),
            ("diff a b;", 2),
            ("diff a b\n", 2),
            ("cd x && rg y", 2),
            ("cat x | grep y", 2),
            ("grep y x | cat", 1),
            ("grep y x; (exit 1) # | grep x", 1),
            ("grep y x # then cat", 2),
            ("[ -f x ]", 2),
            ("sudo grep y x", 1),
            ("A=1 grep y x", 1),
            ("for x in a; do grep y $x; done", 1),
            ("", 1),
        ] {
            assert_eq!(least_failure(typed), expected, "{typed}");
        }
    }
}
