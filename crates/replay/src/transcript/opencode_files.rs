//! Sessions of opencode before its database: a folder with a document for each message, and one for each of its parts.
//!
//! Seen in the folder that opencode 1.1.65 wrote against a scripted model; the members of the documents are those of the database.
//!
//! ```text
//! opencode/storage/session/PROJECT/SESSION.json      id, projectID, version
//! opencode/storage/message/SESSION/MESSAGE.json      role, modelID
//! opencode/storage/part/MESSAGE/PART.json            type, text, tool, state, tokens
//! opencode/tool-output/                              whole outputs
//! ```
//!
//! That version shows the first 2,000 lines of a long output, a newer one the last.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::event::{Events, Skipped};
use super::opencode::{Reader, is_new};
use super::seen::Seen;
use super::strings;

/// The most documents of a folder.
const MOST_FILES: usize = 100_000;
/// The most bytes of a document.
const LONGEST: u64 = 64 << 20;

/// Returns whether a path is that of a session.
pub(super) fn is_place(path: &Path) -> bool {
    let kinds = path.parent().and_then(Path::parent);
    kinds.is_some_and(|kinds| kinds.ends_with("storage/session"))
}

/// Returns whether a document is a session.
pub(super) fn is_session(path: &Path, document: &Value) -> bool {
    is_place(path) && document.get("projectID").is_some() && document.get("id").is_some()
}

/// Reads the messages of a session. Returns the bytes of their documents. Names come from the folders, never from documents.
pub(super) fn session(
    path: &Path,
    document: &Value,
    events: &mut dyn Events,
    seen: &mut Seen,
    skipped: &mut Skipped,
) -> u64 {
    let (Some(storage), Some(name)) = (path.ancestors().nth(3), path.file_stem()) else { return 0 };
    if !is_new(seen, &name.to_string_lossy()) {
        skipped.repeated += 1;
        return 0;
    }
    let mut reader = Reader::new(storage.with_file_name("tool-output"), events);
    reader.begin(strings::text(document, "version"));
    let (mut bytes, mut place) = (0, 0);
    for message in documents(&storage.join("message").join(name)) {
        let Some(info) = read(&message, &mut bytes, skipped) else { continue };
        let parts = message.file_stem().map(|id| documents(&storage.join("part").join(id)));
        let parts: Vec<Value> = parts
            .unwrap_or_default()
            .iter()
            .filter_map(|path| read(path, &mut bytes, skipped))
            .collect();
        let is_model = strings::text(&info, "role") == "assistant";
        place = reader.message(is_model, strings::text(&info, "modelID"), &parts, place);
    }
    bytes
}

/// Returns the documents of a folder in the order of their names, which begin with the time.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    // No links: the agent writes plain files.
    let files =
        entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let paths = files.map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .take(MOST_FILES)
        .collect();
    paths.sort();
    paths
}

/// Reads a document.
fn read(path: &Path, bytes: &mut u64, skipped: &mut Skipped) -> Option<Value> {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut text));
    *bytes += text.len() as u64;
    let is_short = read.is_ok() && text.len() as u64 <= LONGEST;
    let value = if is_short { serde_json::from_slice(&text).ok() } else { None };
    skipped.malformed += u64::from(value.is_none());
    value
}
