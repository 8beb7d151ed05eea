//! Where the agents keep their transcripts, and the files in folders.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::event::TranscriptError;

/// The most files that are read in one run.
const MOST_FILES: usize = 1_000_000;
/// The most levels of folders.
const DEEPEST: usize = 12;

/// The folders of the agents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranscriptPlaces {
    /// The folders and files in which transcripts are, in the order in which they are read.
    pub paths: Vec<PathBuf>,
}

impl TranscriptPlaces {
    /// Returns the places of this process: the defaults of the agents, or those that their variables name. Only those that exist
    /// are listed.
    #[must_use]
    pub fn of_process() -> Self {
        let Some(home) = env::home_dir().filter(|path| path.is_absolute()) else {
            return Self::default();
        };
        let claude = variable("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.join(".claude"));
        let codex = variable("CODEX_HOME").unwrap_or_else(|| home.join(".codex"));
        let gemini = variable("GEMINI_CLI_HOME").unwrap_or_else(|| home.clone());
        let opencode = opencode(&home);
        let paths = [
            claude.join("projects"),
            codex.join("sessions"),
            codex.join("archived_sessions"),
            gemini.join(".gemini/tmp"),
            // The database first: it has the sessions of the older folder, too.
            opencode.join("opencode.db"),
            opencode.join("storage/session"),
        ];
        Self { paths: paths.into_iter().filter(|path| path.exists()).collect() }
    }
}

/// Returns the path in a variable of this process.
fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Returns the folder of opencode's data.
fn opencode(home: &Path) -> PathBuf {
    variable("XDG_DATA_HOME").unwrap_or_else(|| home.join(".local/share")).join("opencode")
}

/// Returns the database of opencode.
pub(super) fn opencode_database() -> Option<PathBuf> {
    let home = env::home_dir().filter(|path| path.is_absolute())?;
    Some(opencode(&home).join("opencode.db"))
}

/// Returns the transcripts at a path: the file itself, or all files in a folder and below that may be transcripts, in the order of
/// their names. Links to folders are not followed. Files that were changed before `since` are left out.
///
/// # Errors
/// The path cannot be read.
pub fn find(path: &Path, since: Option<SystemTime>) -> Result<Vec<PathBuf>, TranscriptError> {
    let data = fs::metadata(path).map_err(|error| TranscriptError::new(path, error))?;
    if !data.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    let mut waiting = vec![(path.to_owned(), 0)];
    while let Some((folder, depth)) = waiting.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if depth == 0 => return Err(TranscriptError::new(&folder, error)),
            Err(_) => continue,
        };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() {
                if depth < DEEPEST && entry.file_name() != "tool-results" {
                    waiting.push((path, depth + 1));
                }
            } else if kind.is_file() && may_be_transcript(&path) && files.len() < MOST_FILES {
                let changed = entry.metadata().and_then(|data| data.modified()).ok();
                if since.is_none_or(|since| changed.is_none_or(|changed| changed >= since)) {
                    files.push(path);
                }
            }
        }
    }
    files.sort();
    Ok(files)
}

fn may_be_transcript(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let in_chats = || path.parent().is_some_and(|folder| folder.ends_with("chats"));
    match extension {
        Some("jsonl") => true,
        // Other documents of the agents are settings.
        Some("json") => in_chats() || super::opencode_files::is_place(path),
        Some("db") => path.file_name().is_some_and(|name| name == "opencode.db"),
        _ => false,
    }
}
