//! The permissions of the session, from the transcript that Codex writes: its last line about the context of a turn.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

/// Bytes of the transcript that are searched, from its end, and bytes that are read at once.
const MOST: u64 = 64 << 20;
const WINDOW: u64 = 256 << 10;

/// The words that a line about the context of a turn has.
const MARK: &[u8] = b"\"turn_context\"";

#[derive(Debug, Deserialize)]
struct RolloutLine {
    #[serde(rename = "type")]
    kind: String,
    payload: TurnContext,
}

#[derive(Debug, Deserialize)]
struct TurnContext {
    turn_id: Option<String>,
    approval_policy: Value,
    sandbox_policy: Option<PolicyKind>,
}

#[derive(Debug, Deserialize)]
struct PolicyKind {
    #[serde(rename = "type")]
    kind: String,
}

/// Returns whether commands of a turn may write files, and run without being asked for. In a session that may only
/// read, a command could not record its output. Where every command is asked for, the user would be asked for one that
/// the model did not write, and Codex would not recognise its harmless commands.
#[must_use]
pub fn may_write(transcript: &Path, turn: &str) -> bool {
    let Some(context) = last_context(transcript) else { return false };
    let approvals = ["never", "on-request", "on-failure"];
    let is_free = context.approval_policy.as_str().is_some_and(|it| approvals.contains(&it));
    let sandboxes = ["danger-full-access", "external-sandbox", "workspace-write"];
    let writes = context.sandbox_policy.is_some_and(|it| sandboxes.contains(&it.kind.as_str()));
    // The line of an earlier turn may be out of date.
    is_free && writes && context.turn_id.as_deref().is_none_or(|id| id == turn)
}

fn last_context(transcript: &Path) -> Option<TurnContext> {
    let mut file = File::open(transcript).ok()?;
    let length = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    let mut start = length;
    let mut tail: Vec<u8> = Vec::new();
    while start > 0 && length - start < MOST {
        // Twice the open line, so that a long line is not read again and again.
        let size = WINDOW.max(tail.len() as u64).min(start);
        start -= size;
        let mut window = vec![0; usize::try_from(size).ok()?];
        file.seek(SeekFrom::Start(start)).ok()?;
        file.read_exact(&mut window).ok()?;
        window.append(&mut tail);
        // The first line may have begun before.
        let first_end = window.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let complete = match first_end {
            _ if start == 0 => 0,
            Some(end) => end,
            None => {
                tail = window;
                continue;
            }
        };
        let (open, lines) = window.split_at_checked(complete)?;
        for line in lines.rsplit(|byte| *byte == b'\n') {
            if !line.windows(MARK.len()).any(|window| window == MARK) {
                continue;
            }
            // A line may have the words in a text.
            if let Ok(parsed) = serde_json::from_slice::<RolloutLine>(line)
                && parsed.kind == "turn_context"
            {
                return Some(parsed.payload);
            }
        }
        tail = open.to_vec();
    }
    None
}
