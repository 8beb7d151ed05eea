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

use std::collections::BinaryHeap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::event::{Events, Skipped};
use super::opencode::{Reader, is_new};
use super::seen::Seen;
use super::strings;

/// Limits of reading. The rest is counted as skipped.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// The most documents of a folder: those whose names are first.
    files: usize,
    /// The most bytes of a message and all its parts, which are held at once. One with a large output has a few MiB.
    message: u64,
}

const LIMITS: Limits = Limits { files: 100_000, message: 64 << 20 };

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
    for message in documents(&storage.join("message").join(name), LIMITS, skipped) {
        let parts = storage.join("part").join(message.file_stem().unwrap_or_default());
        let Some((info, parts)) = read_message(&message, &parts, LIMITS, &mut bytes, skipped)
        else {
            continue;
        };
        let is_model = strings::text(&info, "role") == "assistant";
        place = reader.message(is_model, strings::text(&info, "modelID"), &parts, place);
    }
    bytes
}

/// Reads a message and its parts, up to the limit of their bytes.
fn read_message(
    message: &Path,
    parts: &Path,
    limits: Limits,
    bytes: &mut u64,
    skipped: &mut Skipped,
) -> Option<(Value, Vec<Value>)> {
    let mut left = limits.message;
    let mut next = |path: &Path, skipped: &mut Skipped| {
        let (value, length) = read(path, left);
        *bytes += length;
        left = left.saturating_sub(length);
        skipped.malformed += u64::from(value.is_none());
        value
    };
    let info = next(message, skipped)?;
    let paths = documents(parts, limits, skipped);
    Some((info, paths.iter().filter_map(|path| next(path, skipped)).collect()))
}

/// Returns the documents of a folder in the order of their names, which begin with the time.
fn documents(folder: &Path, limits: Limits, skipped: &mut Skipped) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: BinaryHeap<OsString> = BinaryHeap::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_document = Path::new(&name).extension().is_some_and(|end| end == "json");
        // No links: the agent writes plain files.
        if !is_document || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        names.push(name);
        if names.len() > limits.files {
            names.pop();
            skipped.malformed += 1;
        }
    }
    names.into_sorted_vec().iter().map(|name| folder.join(name)).collect()
}

/// Reads a document of at most `most` bytes. Returns the number of bytes that were read, too.
fn read(path: &Path, most: u64) -> (Option<Value>, u64) {
    if most == 0 {
        return (None, 0);
    }
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut text));
    let length = text.len() as u64;
    let is_whole = read.is_ok() && length <= most;
    (if is_whole { serde_json::from_slice(&text).ok() } else { None }, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_and_large_folders_are_read_in_part() {
        let folder = tempfile::tempdir().unwrap();
        let parts = folder.path().join("msg_1");
        fs::create_dir(&parts).unwrap();
        let message = folder.path().join("msg_1.json");
        fs::write(&message, r#"{"role":"user"}"#).unwrap();
        for number in (0..9).rev() {
            let text = format!("{{\"number\":{number}}}");
            fs::write(parts.join(format!("prt_{number}.json")), text).unwrap();
        }
        let numbers = |files: usize, most: u64| {
            let (mut bytes, mut skipped) = (0, Skipped::default());
            let limits = Limits { files, message: most };
            let read = read_message(&message, &parts, limits, &mut bytes, &mut skipped);
            let numbers: Option<Vec<u64>> =
                read.map(|(_, parts)| parts.iter().map(|p| strings::number(p, "number")).collect());
            (numbers, skipped.malformed, bytes)
        };
        assert_eq!(numbers(100, 1_000), (Some((0..9).collect()), 0, 15 + 9 * 12));
        // The names that are first, in whatever order the folder has them.
        assert_eq!(numbers(3, 1_000), (Some(vec![0, 1, 2]), 6, 15 + 3 * 12));
        // The message has 15 bytes and a part 12. A part that is too long uses up what is left.
        assert_eq!(numbers(100, 15 + 2 * 12 + 5), (Some(vec![0, 1]), 7, 15 + 2 * 12 + 6));
        assert_eq!(numbers(100, 14), (None, 1, 15));
    }
}
