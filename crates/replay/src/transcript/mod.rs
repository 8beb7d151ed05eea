//! Reads the transcripts of coding agents as one sequence of events.
//!
//! ```text
//! claude, codex, gemini   lines of JSON ─┐
//! opencode ◀─ sqlite      rows of JSON ──┤
//!          ◀─ opencode_files  documents ─┴▶ event
//! ```
//!
//! Each reader says in its first lines what it reads and in which version of the agent it was seen. Memory does not grow with a
//! transcript: a line, the calls that wait for a result, and identifiers are bounded. Entries that cannot be read are counted and skipped.

mod claude;
mod codex;
pub(crate) mod event;
mod files;
mod gemini;
mod lines;
mod opencode;
mod opencode_files;
mod opencode_last;
mod places;
pub(crate) mod seen;
mod sqlite;
mod strings;

use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde_json::Value;

pub use event::{Skipped, TranscriptError};
pub use opencode_last::last_session_of_opencode;
pub use places::{TranscriptPlaces, find};

use claude::ClaudeReader;
use codex::CodexReader;
use event::Events;
use gemini::GeminiReader;
use lines::{Line, Lines};
use seen::Seen;

/// How many lines at the beginning of a file may be those of no known agent.
const HEAD: usize = 20;

/// The longest document that is read as a whole.
const LONGEST_DOCUMENT: u64 = 256 << 20;

/// The size of the buffer of a file.
const BUFFER: usize = 256 << 10;

/// The readers of lines.
enum Reader<'a> {
    Claude(ClaudeReader<'a>),
    Codex(CodexReader<'a>),
    Gemini(GeminiReader<'a>),
}

/// The agents whose files have lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Claude,
    Codex,
    Gemini,
}

impl Shape {
    /// Recognises a line.
    fn of(line: &Value) -> Option<Self> {
        let has = |name| line.get(name).is_some();
        if has("payload") && has("timestamp") {
            return Some(Self::Codex);
        }
        if has("projectHash") {
            return Some(Self::Gemini);
        }
        (has("sessionId") && has("type")).then_some(Self::Claude)
    }
}

/// Reads a transcript. Returns the bytes that were read; `None` for a file of no known agent.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn read(
    path: &Path,
    events: &mut dyn Events,
    seen: &mut Seen,
    skipped: &mut Skipped,
) -> Result<Option<u64>, TranscriptError> {
    let failed = |error: std::io::Error| TranscriptError::new(path, error);
    let mut file = File::open(path).map_err(failed)?;
    let mut magic = Vec::new();
    (&mut file).take(16).read_to_end(&mut magic).map_err(failed)?;
    if magic == b"SQLite format 3\0" {
        return opencode::database(path, events, seen, skipped).map(Some).map_err(failed);
    }
    if path.extension().is_some_and(|extension| extension == "json") {
        return document(path, events, seen, skipped);
    }
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    let mut lines = Lines::new(BufReader::with_capacity(BUFFER, file));
    let mut reader: Option<Reader<'_>> = None;
    let mut parts = Some((events, seen, &mut *skipped));
    let mut malformed = 0;
    let mut place = 0;
    let mut unknown = 0;
    while let Some(line) = lines.next().map_err(failed)? {
        place += 1;
        let value = match line {
            Line::Bytes(bytes) if bytes.trim_ascii().is_empty() => continue,
            Line::Bytes(bytes) => serde_json::from_slice::<Value>(bytes).ok(),
            Line::TooLong => None,
        };
        let Some(value) = value else {
            malformed += 1;
            if reader.is_none() && malformed + unknown >= HEAD {
                return Ok(None);
            }
            continue;
        };
        if reader.is_none() {
            let Some(shape) = Shape::of(&value) else {
                unknown += 1;
                if malformed + unknown >= HEAD {
                    return Ok(None);
                }
                continue;
            };
            let Some((events, seen, skipped)) = parts.take() else { break };
            reader = Some(match shape {
                Shape::Claude => Reader::Claude(ClaudeReader::new(path, events, seen, skipped)),
                Shape::Codex => Reader::Codex(CodexReader::new(events, skipped)),
                Shape::Gemini => Reader::Gemini(GeminiReader::new(path, events)),
            });
        }
        match &mut reader {
            Some(Reader::Claude(reader)) => reader.line(&value, place),
            Some(Reader::Codex(reader)) => reader.line(&value, place),
            Some(Reader::Gemini(reader)) => reader.line(&value, place),
            None => {}
        }
    }
    if reader.is_none() {
        return Ok(None);
    }
    drop(reader);
    skipped.malformed += malformed as u64;
    Ok(Some(lines.bytes()))
}

/// Reads a file that is one JSON document.
fn document(
    path: &Path,
    events: &mut dyn Events,
    seen: &mut Seen,
    skipped: &mut Skipped,
) -> Result<Option<u64>, TranscriptError> {
    let failed = |error: std::io::Error| TranscriptError::new(path, error);
    let mut text = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(LONGEST_DOCUMENT + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > LONGEST_DOCUMENT {
        return Err(TranscriptError::new(path, "a document over 256 MiB"));
    }
    let Ok(value) = serde_json::from_slice::<Value>(&text) else { return Ok(None) };
    if value.get("projectHash").is_some() {
        GeminiReader::new(path, events).line(&value, 1);
    } else if value.get("info").is_some() && value.get("messages").is_some() {
        opencode::export(path, &value, events, seen, skipped);
    } else if opencode_files::is_session(path, &value) {
        let more = opencode_files::session(path, &value, events, seen, skipped);
        return Ok(Some(text.len() as u64 + more));
    } else {
        return Ok(None);
    }
    Ok(Some(text.len() as u64))
}
