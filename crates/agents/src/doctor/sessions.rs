//! Looks at the last session of each agent: how many commands the model ran, whether a notice of tamis reached it, and
//! what the log of calls says about it. Only counts and names of filters are reported, never a text of the session.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tamis_store::calls::{CallLine, UserLog};

use super::finding::Finding;
use crate::agent::Agent;
use crate::install::{Places, Scope, TomlText};

/// The most bytes that are read of the end of a file.
const MOST_BYTES: u64 = 4 << 20;
/// The most files and folders that are looked at for the last session.
const MOST_ENTRIES: usize = 20_000;

/// Where an agent keeps its sessions, and what a command looks like in them.
struct Transcripts {
    agent: Agent,
    folder: PathBuf,
    /// The names of files end with one of these.
    extensions: &'static [&'static str],
    /// The folder in which a file must be, if others have files of the same kind.
    within: Option<&'static str>,
    calls: &'static [&'static str],
}

fn transcripts(places: &Places) -> Vec<Transcripts> {
    let folder = |agent| places.folder(agent, Scope::User);
    vec![
        Transcripts {
            agent: Agent::ClaudeCode,
            folder: folder(Agent::ClaudeCode).join("projects"),
            extensions: &["jsonl"],
            within: None,
            calls: &["\"name\":\"Bash\""],
        },
        Transcripts {
            agent: Agent::Codex,
            folder: folder(Agent::Codex).join("sessions"),
            extensions: &["jsonl"],
            within: None,
            calls: &["\"name\":\"exec_command\"", "\"name\":\"shell\"", "tools.exec_command("],
        },
        Transcripts {
            agent: Agent::Gemini,
            folder: folder(Agent::Gemini).join("tmp"),
            // Before 0.61, a session was one JSON document.
            extensions: &["jsonl", "json"],
            within: Some("chats"),
            calls: &["\"name\": \"run_shell_command\"", "\"name\":\"run_shell_command\""],
        },
    ]
}

/// The last session of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastSession {
    /// The file that has it.
    pub path: PathBuf,
    /// When the file was last written.
    pub written: SystemTime,
    /// The commands that the model ran.
    pub commands: usize,
    /// The notices of tamis that reached the model.
    pub notices: usize,
}

/// Examines the last session of each agent. `installed` are the agents with a hook of ours. The sessions of opencode are in a
/// database, which the caller reads.
pub(super) fn examine(
    places: &Places,
    installed: &[Agent],
    opencode: Option<LastSession>,
) -> Vec<Finding> {
    let log = UserLog::in_folder(&places.state);
    let mut found = Vec::new();
    if let Err(error) = log.check() {
        let [_, file] = log.files();
        let text = format!("{} cannot be written: {error}", places.shown(&file));
        found.push(Finding::broken("log", text, "move it away, or make it writable"));
    }
    let logged = last_calls(&log);
    for transcripts in transcripts(places) {
        if installed.contains(&transcripts.agent)
            && let Some(session) = last_session(&transcripts)
        {
            found.extend(compare(places, transcripts.agent, &session, &logged));
        }
    }
    if installed.contains(&Agent::Opencode)
        && let Some(session) = opencode
    {
        found.extend(compare(places, Agent::Opencode, &session, &logged));
    }
    found
}

fn last_session(transcripts: &Transcripts) -> Option<LastSession> {
    let (path, written) = newest(transcripts)?;
    let text = end_of(&path)?;
    let commands = transcripts.calls.iter().map(|call| text.matches(call).count()).sum();
    Some(LastSession { commands, notices: text.matches("[tamis").count(), path, written })
}

/// Compares a session with the log of calls.
fn compare(
    places: &Places,
    agent: Agent,
    session: &LastSession,
    logged: &[CallLine<'static>],
) -> Option<Finding> {
    let (name, LastSession { path, written, commands, notices }) = (agent.as_str(), session);
    if *commands == 0 {
        return None;
    }
    let last = logged.iter().rev().find(|call| call.agent.as_deref() == Some(name));
    let shown = places.shown(path);
    let in_session = last.filter(|call| is_near(call, *written));
    let Some(call) = in_session else {
        let text = format!(
            "the last session ({shown}) ran commands ({commands}), and the log has none of it"
        );
        let remedy = match agent {
            Agent::Codex => "approve the hook: start codex and enter /hooks",
            _ => "start a new session: one that is running keeps its settings",
        };
        return Some(Finding::note(name, format!("{text}; {remedy}")));
    };
    let filter = if call.rule.is_empty() { "no filter" } else { &call.rule };
    let text = format!(
        "the last session ({shown}): commands {commands}, notices of tamis {notices}; the last call was {} ({filter}, {})",
        call.tool, call.outcome
    );
    Some(Finding::good(name, text))
}

/// Whether a call was made at most a day before a session was last written.
fn is_near(call: &CallLine<'_>, written: SystemTime) -> bool {
    let Some(time) = call.system_time() else { return false };
    written.duration_since(time).is_ok_and(|age| age < Duration::from_secs(24 * 60 * 60))
        || written <= time
}

/// Returns the transcript that was written last.
fn newest(transcripts: &Transcripts) -> Option<(PathBuf, SystemTime)> {
    let is_transcript = |path: &Path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        let folder = path.parent().and_then(Path::file_name);
        extension.is_some_and(|extension| transcripts.extensions.contains(&extension))
            && transcripts.within.is_none_or(|within| folder.is_some_and(|it| it == within))
    };
    let mut folders = vec![(transcripts.folder.clone(), 0_u8)];
    let mut newest: Option<(PathBuf, SystemTime)> = None;
    let mut seen = 0;
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MOST_ENTRIES {
                return newest;
            }
            let (path, Ok(data)) = (entry.path(), entry.metadata()) else { continue };
            if data.is_dir() && depth < 4 {
                folders.push((path, depth + 1));
            } else if data.is_file()
                && is_transcript(&path)
                && let Ok(written) = data.modified()
                && newest.as_ref().is_none_or(|(_, newest)| written > *newest)
            {
                newest = Some((path, written));
            }
        }
    }
    newest
}

/// Returns the end of a file.
fn end_of(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST_BYTES))).ok()?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the last lines of the log, and of the logs of sandboxes.
fn last_calls(log: &UserLog) -> Vec<CallLine<'static>> {
    let logs = std::iter::once(log.clone()).chain(UserLog::of_sandboxes());
    let texts = logs.filter_map(|log| {
        let [_, file] = log.files();
        end_of(&file)
    });
    let mut calls: Vec<CallLine<'static>> = Vec::new();
    for text in texts {
        let lines = text.lines().filter_map(|line| serde_json::from_str::<CallLine<'_>>(line).ok());
        calls.extend(lines.map(CallLine::into_owned));
    }
    calls.sort_by(|one, other| one.time.cmp(&other.time));
    calls
}

/// Says what a sandbox means for outputs and the log.
pub(super) fn sandboxes(places: &Places) -> Vec<Finding> {
    let mut found = Vec::new();
    let settings = places.folder(Agent::ClaudeCode, Scope::User).join("settings.json");
    let text = fs::read_to_string(&settings).unwrap_or_default();
    let settings: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    let is_on = settings.as_ref().and_then(|all| all.pointer("/sandbox/enabled"));
    if is_on.and_then(serde_json::Value::as_bool) == Some(true) {
        let text = "its sandbox is on: full outputs and the log go to tamis-UID in its folder for temporary files, which \
                    tamis savings and tamis run --last read";
        found.push(Finding::note(Agent::ClaudeCode.as_str(), text));
    }
    let config = places.folder(Agent::Codex, Scope::User).join("config.toml");
    let text = fs::read_to_string(config).unwrap_or_default();
    let toml = TomlText::parse(&text).ok();
    let mode = toml.as_ref().and_then(|toml| toml.get(&["sandbox_mode"])?.string());
    if mode == Some("read-only") {
        let text = "its sandbox is read-only, so no command is rewritten";
        found.push(Finding::note(Agent::Codex.as_str(), text));
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tamis_store::calls::{CallLine, ShownBy, UserLog};

    use super::examine;
    use crate::agent::Agent;
    use crate::install::Places;

    #[test]
    fn the_last_session_is_compared_with_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        let places = Places { home: home.into(), state: home.join("state"), ..Places::default() };
        let project = home.join(".claude/projects/-w");
        fs::create_dir_all(&project).unwrap();
        fs::write(project.join("a.jsonl"), "{\"type\":\"tool_use\",\"name\":\"Bash\"}\n").unwrap();
        let found = || {
            examine(&places, &[Agent::ClaudeCode], None)
                .iter()
                .map(ToString::to_string)
                .collect::<String>()
        };
        assert!(
            found().contains("ran commands (1), and the log has none of it; start a new"),
            "{}",
            found()
        );
        let log = UserLog::in_folder(&places.state);
        let call = CallLine::new("cargo", "cargo-test", [9, 4])
            .with_shown(Some(ShownBy::ClaudeCode), [9, 4]);
        log.append(&call).unwrap();
        assert!(found().contains("the last call was cargo (cargo-test, filtered)"), "{}", found());
        assert!(examine(&places, &[], None).is_empty());
        // Sessions of Gemini CLI are next to other documents.
        let project = home.join(".gemini/tmp/w");
        fs::create_dir_all(project.join("chats")).unwrap();
        let session = "{\"name\":\"run_shell_command\"}\n";
        fs::write(project.join("chats/session-1.jsonl"), session).unwrap();
        fs::write(project.join("logs.json"), "[]").unwrap();
        let found_of_gemini: String =
            examine(&places, &[Agent::Gemini], None).iter().map(ToString::to_string).collect();
        assert!(found_of_gemini.contains("session-1.jsonl) ran commands (1)"), "{found_of_gemini}");
        let session = super::LastSession {
            path: home.join("opencode.db"),
            written: std::time::SystemTime::now(),
            commands: 3,
            notices: 0,
        };
        let found_of_opencode: String = examine(&places, &[Agent::Opencode], Some(session))
            .iter()
            .map(ToString::to_string)
            .collect();
        assert!(found_of_opencode.contains("opencode.db) ran commands (3)"), "{found_of_opencode}");
        let [_, file] = log.files();
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert!(
            found().contains("calls.jsonl cannot be written: not a regular file"),
            "{}",
            found()
        );
    }
}
