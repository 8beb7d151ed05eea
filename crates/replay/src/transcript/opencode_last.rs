//! The last session in the database of opencode, for `tamis doctor`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use serde_json::Value;
use tamis_agents::doctor::LastSession;

use super::places;
use super::sqlite::{Column, Database};
use super::strings;

/// A larger database is not read: `tamis doctor` is to end within seconds.
const LARGEST: u64 = 1 << 30;

/// Counts the commands and notices of opencode's last session. `None`: no session was found, or the database cannot be read.
#[must_use]
pub fn last_session_of_opencode() -> Option<LastSession> {
    last_session(&places::opencode_database()?)
}

/// The counts of a session.
#[derive(Debug, Default)]
struct Counts {
    /// The last message. Its id begins with the time.
    message: String,
    commands: usize,
    notices: usize,
}

fn last_session(path: &Path) -> Option<LastSession> {
    let data = fs::metadata(path).ok().filter(|data| data.is_file() && data.len() <= LARGEST)?;
    // Pages are written to the log first.
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    let in_log = fs::metadata(name).and_then(|data| data.modified()).ok();
    let written = data.modified().ok().max(in_log).unwrap_or(SystemTime::UNIX_EPOCH);
    let mut database = Database::open(path).ok()?;
    let parts = database.table("part").ok()??;
    let (message, session) = (parts.column("message_id")?, parts.column("session_id")?);
    let data = parts.column("data")?;
    let mut sessions: HashMap<String, Counts> = HashMap::new();
    for cell in database.cells(&parts).ok()? {
        let Ok(row) = database.row(cell) else { continue };
        let text = |column: usize| row.get(column).map(Column::text).unwrap_or_default();
        let counts = sessions.entry(text(session).to_owned()).or_default();
        if text(message) > counts.message.as_str() {
            text(message).clone_into(&mut counts.message);
        }
        let Ok(part) = serde_json::from_str::<Value>(text(data)) else { continue };
        if strings::text(&part, "tool") == "bash" {
            counts.commands += 1;
            let output = part.pointer("/state/output").and_then(Value::as_str);
            counts.notices += usize::from(output.is_some_and(|output| output.contains("[tamis")));
        }
    }
    let last = sessions.into_values().max_by(|one, other| one.message.cmp(&other.message))?;
    let Counts { commands, notices, .. } = last;
    Some(LastSession { path: path.to_owned(), written, commands, notices })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::last_session;

    #[test]
    fn the_last_session_is_counted() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions");
        let session = last_session(&folder.join("opencode/opencode.db")).unwrap();
        assert_eq!(session.notices, 0);
        assert!(session.commands > 0, "{session:?}");
        assert_eq!(last_session(&folder.join("missing.db")), None);
    }
}
