//! The lines that agents write around the output of a command, or the result of an MCP tool.

use tamis_agents::agent::Agent;

use crate::transcript::event::{ToolKind, ToolResult};

/// A result in three parts. The output is what a filter gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wrapped<'a> {
    pub(crate) before: &'a str,
    pub(crate) output: &'a str,
    pub(crate) after: &'a str,
}

/// Splits what the model received.
pub(crate) fn split<'a>(agent: Agent, result: &'a ToolResult) -> Wrapped<'a> {
    let text = result.received.as_str();
    let whole = Wrapped { before: "", output: text, after: "" };
    match agent {
        _ if result.kind == ToolKind::Native => whole,
        Agent::Gemini if result.kind == ToolKind::Mcp => {
            let (open, close) = ("<untrusted_context>\n", "\n</untrusted_context>");
            match text.starts_with(open) && text.ends_with(close) {
                true => parts(text, open.len(), text.len() - close.len()),
                false => whole,
            }
        }
        Agent::ClaudeCode if result.kind == ToolKind::Shell && text.starts_with("Exit code ") => {
            let at = text.find('\n').map_or(text.len(), |at| at + 1);
            parts(text, at, text.len())
        }
        Agent::Codex => {
            let Some(at) = text.find("Output:\n").map(|at| at + "Output:\n".len()) else {
                return whole;
            };
            let head = text.get(..at).unwrap_or_default();
            let is_head = head.lines().count() <= 8
                && (head.contains("Wall time") || head.contains("exited with code"));
            if is_head { parts(text, at, text.len()) } else { whole }
        }
        Agent::Opencode if result.kind == ToolKind::Shell => {
            let end = text.rfind("\n\n<shell_metadata>").unwrap_or(text.len());
            parts(text, 0, end)
        }
        Agent::Gemini => {
            let start = text.find("<untrusted_context>\nOutput: ");
            let Some(start) = start.map(|at| at + "<untrusted_context>\nOutput: ".len()) else {
                return whole;
            };
            let mut end = text.strip_suffix("\n</untrusted_context>").unwrap_or(text).len();
            // The lines about the end of the command.
            while let Some(at) = text.get(start..end).and_then(|inner| inner.rfind('\n')) {
                let line = text.get(start + at + 1..end).unwrap_or_default();
                let name = line.split_once(": ").map_or("", |(name, _)| name);
                match name {
                    "Exit Code" | "Signal" | "Process Group PGID" | "Background PIDs" | "Error" => {
                        end = start + at;
                    }
                    _ => break,
                }
            }
            parts(text, start, end)
        }
        _ => whole,
    }
}

fn parts(text: &str, start: usize, end: usize) -> Wrapped<'_> {
    let part = |from, to| text.get(from..to).unwrap_or_default();
    Wrapped { before: part(0, start), output: part(start, end), after: part(end, text.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_found_in_what_models_receive() {
        let cases = [
            (Agent::ClaudeCode, "Exit code 3\na\nb", "a\nb"),
            (Agent::ClaudeCode, "a\nb", "a\nb"),
            (
                Agent::Codex,
                "Chunk ID: f7\nWall time: 0.1 seconds\nProcess exited with code 0\nOriginal token count: 6\nOutput:\na\nb\n",
                "a\nb\n",
            ),
            (Agent::Codex, "a\nOutput:\nb", "a\nOutput:\nb"),
            (Agent::Opencode, "a\nb\n\n<shell_metadata>\ntimeout\n</shell_metadata>", "a\nb"),
            (
                Agent::Gemini,
                "<untrusted_context>\nOutput: a\nb\nExit Code: 3\nProcess Group PGID: 7\n</untrusted_context>",
                "a\nb",
            ),
            (Agent::Gemini, "Error: 7", "Error: 7"),
        ];
        for (agent, received, output) in cases {
            let result = ToolResult {
                received: received.to_owned(),
                kind: ToolKind::Shell,
                ..ToolResult::default()
            };
            let wrapped = split(agent, &result);
            assert_eq!(wrapped.output, output);
            assert_eq!([wrapped.before, wrapped.output, wrapped.after].concat(), received);
        }
    }
}
