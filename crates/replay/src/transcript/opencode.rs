//! Sessions of opencode: the database `~/.local/share/opencode/opencode.db`, or a file that `opencode export` writes. The folder
//! `storage/` of older versions is read by `opencode_files`.
//!
//! Seen in the database that opencode 1.18.33 wrote against a scripted model: the tables `message` (`id`, `session_id`, `data`) and
//! `part` (`id`, `message_id`, `session_id`, `data`), where `data` is JSON.
//!
//! | part | what is read |
//! |---|---|
//! | `text`, `reasoning` | the text, of the role that the message has |
//! | `tool` | `tool`, `state.input`, `state.output` or `state.error` (what the model received), `state.metadata.exit`, `….outputPath` |
//! | `step-finish` | the tokens of a request; `input` has none of the cache |
//! | `compaction` | the history was summarised |
//!
//! An output over 2,000 lines or 50 KB is shown as its end, with the path of a file in `tool-output/`. The model's text has no
//! exit code.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tamis_agents::agent::Agent;

use super::event::{Event, Events, Request, SessionStart, Skipped, ToolKind, ToolResult};
use super::seen::Seen;
use super::sqlite::{Cell, Column, Database, Table};
use super::{files, strings};
use crate::cost::Usage;

/// The most messages of a database that are read.
const MOST_MESSAGES: usize = 1_000_000;

/// The tools of opencode. Others are those of MCP servers.
const TOOLS: [&str; 20] = [
    "apply_patch",
    "bash",
    "batch",
    "codesearch",
    "edit",
    "glob",
    "grep",
    "invalid",
    "list",
    "lsp",
    "multiedit",
    "patch",
    "question",
    "read",
    "skill",
    "task",
    "todoread",
    "todowrite",
    "webfetch",
    "write",
];

/// A message of the database.
struct Message {
    id: String,
    session: u32,
    is_repeated: bool,
    is_model: bool,
    model: String,
    parts: Vec<Cell>,
}

/// Returns whether a session is new. The database has the sessions of the folder `storage/`, too, once a newer version has moved them.
pub(super) fn is_new(seen: &mut Seen, session: &str) -> bool {
    session.is_empty() || seen.insert(&format!("opencode {session}"))
}

/// Reads the sessions of a database. Returns the bytes of its rows.
pub(super) fn database(
    path: &Path,
    events: &mut dyn Events,
    seen: &mut Seen,
    skipped: &mut Skipped,
) -> io::Result<u64> {
    let mut database = Database::open(path)?;
    let missing = || io::Error::new(io::ErrorKind::InvalidData, "not a database of opencode");
    let messages = database.table("message")?.ok_or_else(missing)?;
    let parts = database.table("part")?.ok_or_else(missing)?;
    let named = |table: &Table, name| table.column(name).ok_or_else(missing);
    let (id, session, data) =
        (named(&messages, "id")?, named(&messages, "session_id")?, named(&messages, "data")?);
    let (part_message, part_data) = (named(&parts, "message_id")?, named(&parts, "data")?);
    let mut sessions: HashMap<String, (u32, bool)> = HashMap::new();
    let mut found: Vec<Message> = Vec::new();
    let mut by_id: HashMap<String, usize> = HashMap::new();
    let mut bytes = 0;
    for cell in database.cells(&messages)?.into_iter().take(MOST_MESSAGES) {
        let Ok(row) = database.row(cell) else {
            skipped.malformed += 1;
            continue;
        };
        let text = |column: usize| row.get(column).map(Column::text).unwrap_or_default();
        bytes += text(data).len() as u64;
        let Ok(value) = serde_json::from_str::<Value>(text(data)) else {
            skipped.malformed += 1;
            continue;
        };
        let next = u32::try_from(sessions.len()).unwrap_or(u32::MAX);
        let name = text(session);
        let entry = sessions.entry(name.to_owned());
        let (session, is_new) = *entry.or_insert_with(|| (next, is_new(seen, name)));
        by_id.insert(text(id).to_owned(), found.len());
        found.push(Message {
            id: text(id).to_owned(),
            session,
            is_repeated: !is_new,
            is_model: strings::text(&value, "role") == "assistant",
            model: strings::text(&value, "modelID").to_owned(),
            parts: Vec::new(),
        });
    }
    for cell in database.cells(&parts)? {
        let Ok(row) = database.row(cell) else {
            skipped.malformed += 1;
            continue;
        };
        let message = row.get(part_message).map(Column::text).unwrap_or_default();
        match by_id.get(message).and_then(|at| found.get_mut(*at)) {
            Some(message) => message.parts.push(cell),
            None => skipped.malformed += 1,
        }
    }
    drop(by_id);
    // Ids begin with the time.
    found.sort_by(|a, b| (a.session, &a.id).cmp(&(b.session, &b.id)));
    let mut reader = Reader::new(path.with_file_name("tool-output"), events);
    let mut open = None;
    let mut place = 0;
    for message in &found {
        if message.is_repeated {
            skipped.repeated += 1;
            continue;
        }
        if open != Some(message.session) {
            open = Some(message.session);
            place = 0;
            reader.begin("");
        }
        let mut values = Vec::with_capacity(message.parts.len());
        for cell in &message.parts {
            let row = database.row(*cell).unwrap_or_default();
            let text = row.get(part_data).map(Column::text).unwrap_or_default();
            bytes += text.len() as u64;
            match serde_json::from_str(text) {
                Ok(value) => values.push(value),
                Err(_) => skipped.malformed += 1,
            }
        }
        place = reader.message(message.is_model, &message.model, &values, place);
    }
    Ok(bytes)
}

/// Reads a document that `opencode export` wrote: `{"info", "messages": [{"info", "parts"}]}`.
pub(super) fn export(
    path: &Path,
    document: &Value,
    events: &mut dyn Events,
    seen: &mut Seen,
    skipped: &mut Skipped,
) {
    if !is_new(seen, document.pointer("/info/id").and_then(Value::as_str).unwrap_or_default()) {
        skipped.repeated += 1;
        return;
    }
    let mut reader = Reader::new(path.with_file_name("tool-output"), events);
    reader.begin(document.pointer("/info/version").and_then(Value::as_str).unwrap_or_default());
    let mut place = 0;
    for message in document.get("messages").and_then(Value::as_array).into_iter().flatten() {
        let info = message.get("info").unwrap_or(&Value::Null);
        let parts = message.get("parts").and_then(Value::as_array);
        let parts = parts.map(Vec::as_slice).unwrap_or_default();
        let is_model = strings::text(info, "role") == "assistant";
        place = reader.message(is_model, strings::text(info, "modelID"), parts, place);
    }
}

/// Turns messages and their parts into events.
pub(super) struct Reader<'a> {
    events: &'a mut dyn Events,
    /// The folder with whole outputs.
    outputs: PathBuf,
}

impl<'a> Reader<'a> {
    pub(super) fn new(outputs: PathBuf, events: &'a mut dyn Events) -> Self {
        Self { events, outputs }
    }

    pub(super) fn begin(&mut self, version: &str) {
        let start = SessionStart { agent: Agent::Opencode, version: version.to_owned() };
        self.events.event(Event::Session(&start));
    }

    /// Reads a message. Returns the place of its last part.
    ///
    /// The tokens of a step come after its results, which are only sent in the next one. So a step is held until it ends.
    pub(super) fn message(
        &mut self,
        is_model: bool,
        model: &str,
        parts: &[Value],
        place: u64,
    ) -> u64 {
        let mut results: Vec<ToolResult> = Vec::new();
        let mut place = place;
        for part in parts {
            place += 1;
            self.events.at(place);
            match strings::text(part, "type") {
                "text" if !is_model => self.events.event(Event::Other(strings::text(part, "text"))),
                "text" | "reasoning" => {
                    self.events.event(Event::Model(strings::text(part, "text")))
                }
                "tool" => {
                    let result = self.tool(part);
                    self.events.event(Event::Call(&result.call));
                    results.push(result);
                }
                "step-finish" => {
                    let usage = part.get("tokens").map(usage_of).unwrap_or_default();
                    if !usage.is_zero() {
                        let request = Request { model: model.to_owned(), usage, replaces: None };
                        self.events.event(Event::Request(&request));
                    }
                    for result in results.drain(..) {
                        self.events.event(Event::Result(&result));
                    }
                }
                "compaction" => self.events.event(Event::Compacted),
                _ => {}
            }
        }
        for result in results {
            self.events.event(Event::Result(&result));
        }
        place
    }

    fn tool(&self, part: &Value) -> ToolResult {
        let state = part.get("state").unwrap_or(&Value::Null);
        let name = strings::text(part, "tool");
        let call = strings::call(name, state.get("input").unwrap_or(&Value::Null));
        let metadata = state.get("metadata").unwrap_or(&Value::Null);
        let is_error = strings::text(state, "status") == "error";
        let received = strings::text(state, if is_error { "error" } else { "output" }).to_owned();
        let named = strings::text(metadata, "outputPath");
        let is_kept = !named.is_empty();
        let (full, is_complete) = match is_kept {
            false => (None, true),
            true => files::read(&self.outputs, named)
                .map_or((None, false), |(text, is_complete)| (Some(text), is_complete)),
        };
        let kind = match name {
            "bash" | "shell" => ToolKind::Shell,
            name if TOOLS.contains(&name) => ToolKind::Native,
            _ => ToolKind::Mcp,
        };
        let exit_code = metadata.get("exit").and_then(Value::as_i64);
        let exit_code = exit_code.and_then(|code| i32::try_from(code).ok());
        ToolResult { call, received, full, is_complete, is_kept, is_error, exit_code, kind }
    }
}

fn usage_of(tokens: &Value) -> Usage {
    let cache = tokens.get("cache").unwrap_or(&Value::Null);
    Usage {
        input: strings::number(tokens, "input"),
        cache_write: strings::number(cache, "write"),
        cache_read: strings::number(cache, "read"),
        output: strings::number(tokens, "output") + strings::number(tokens, "reasoning"),
    }
}
