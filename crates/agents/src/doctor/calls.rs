//! Calls each hook with a small event, as its agent does.

use std::path::Path;
use std::time::Instant;

use super::finding::Finding;
use super::process::{Ended, ask};

/// Events of the hooks that read one.
const EVENTS: [(&str, &str); 5] = [
    (
        "claude-code",
        r#"{"session_id":"doctor","transcript_path":"","cwd":"/","hook_event_name":"PostToolUse","permission_mode":"default","tool_name":"Grep","tool_input":{"pattern":"a"},"tool_response":{"mode":"content","numFiles":0,"filenames":[],"content":"a:1:a","numLines":1},"tool_use_id":"1"}"#,
    ),
    (
        "codex",
        r#"{"session_id":"doctor","turn_id":"1","transcript_path":null,"cwd":"/","hook_event_name":"PreToolUse","model":"none","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"true"},"tool_use_id":"1"}"#,
    ),
    (
        "gemini",
        r#"{"session_id":"doctor","transcript_path":"","cwd":"/","hook_event_name":"AfterTool","timestamp":"2026-01-01T00:00:00.000Z","tool_name":"run_shell_command","tool_input":{"command":"true"},"tool_response":{"llmContent":"<untrusted_context>\nOutput: (empty)\nProcess Group PGID: 1\n</untrusted_context>","returnDisplay":""}}"#,
    ),
    (
        "opencode",
        r#"{"tool":"bash","args":{"command":"true"},"output":"","metadata":{"output":"","exit":0}}"#,
    ),
    (
        "cursor",
        r#"{"hook_event_name":"postToolUse","tool_name":"MCP:none","tool_input":{},"tool_output":"{}","tool_use_id":"1"}"#,
    ),
];

/// Calls the hooks of a binary.
pub(super) fn examine(tamis: &Path) -> Vec<Finding> {
    let Ok(state) = tempfile::tempdir() else {
        return vec![Finding::note("hooks", "not called: no temporary folder can be created")];
    };
    let call = |name: &str, args: &[&str], event: &[u8], judge: fn(&[u8]) -> Option<String>| {
        call(tamis, state.path(), name, args, event, judge)
    };
    let mut found =
        vec![call("shell", &["hook", "shell", "--config", "user", "echo tamis"], b"", |out| {
            (out == b"tamis\n").then(|| "runs commands".to_owned())
        })];
    for (name, event) in EVENTS {
        let args = ["hook", name, "--config", "user"];
        found.push(call(name, &args, event.as_bytes(), |out| {
            if out.trim_ascii().is_empty() {
                return Some("prints nothing, so the agent goes on".to_owned());
            }
            let value: serde_json::Value = serde_json::from_slice(out).ok()?;
            value.is_object().then(|| "prints an object for the agent".to_owned())
        }));
    }
    found
}

fn call(
    tamis: &Path,
    state: &Path,
    name: &str,
    args: &[&str],
    event: &[u8],
    judge: fn(&[u8]) -> Option<String>,
) -> Finding {
    let subject = format!("tamis hook {name}");
    let remedy = "the agent goes on without it; install tamis again";
    let begin = Instant::now();
    match ask(tamis, args, event, Some(state)) {
        Ended::Code { code: 0, out } => match judge(&out) {
            Some(text) => {
                let took = begin.elapsed().as_millis();
                Finding::good(subject, format!("{text} ({took} ms)"))
            }
            None => Finding::broken(subject, "prints text that is not one JSON object", remedy),
        },
        ended => Finding::broken(subject, ended, remedy),
    }
}
