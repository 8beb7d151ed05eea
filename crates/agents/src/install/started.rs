//! The programs that entries of ours start, and entries that are not ours any more, for `tamis doctor`.

use std::path::{Path, PathBuf};

use super::agents::{
    CLAUDE_HOOK, CODEX_HOOK, CURSOR_HOOK, GEMINI_HOOK, extension_folder, foreign_in_toml,
    own_block, plugin_path, prefix_of,
};
use super::hooks::program_of;
use super::places::{Places, Scope};
use super::toml_text::TomlText;
use crate::agent::Agent;

/// A program that an entry starts. `None`: an earlier version wrote the entry, which looks `tamis` up in `PATH`.
pub(crate) type Started = Option<PathBuf>;

/// Returns the programs that the hooks of an agent start.
pub(crate) fn hooks(places: &Places, agent: Agent, scope: Scope) -> Vec<Started> {
    let folder = places.folder(agent, scope);
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let lines = match (agent, scope) {
        (Agent::ClaudeCode, _) => {
            let (settings, script, value) = prefix_of(places, scope);
            let value = value.ok().flatten();
            let path = value.filter(|value| Some(value.as_str()) == script.to_str());
            let prefix = path.map(|path| in_script(&read(Path::new(&path))));
            let lines = CLAUDE_HOOK.installed(&read(&settings)).unwrap_or_default();
            let hooks = lines.iter().map(|line| program_of(agent, line));
            return prefix.into_iter().chain(hooks).collect();
        }
        (Agent::Opencode, _) => {
            let path = plugin_path(places, scope);
            return if path.exists() { vec![in_plugin(&read(&path))] } else { Vec::new() };
        }
        (Agent::Codex, _) => {
            let lines = CODEX_HOOK.installed(&read(&folder.join("hooks.json")));
            let block = own_block(&read(&folder.join("config.toml")));
            lines.unwrap_or_default().into_iter().chain(block.map(|(line, _)| line)).collect()
        }
        (Agent::Gemini, Scope::User) => {
            let path = extension_folder(places).join("hooks/hooks.json");
            GEMINI_HOOK.installed(&read(&path)).unwrap_or_default()
        }
        (Agent::Gemini, Scope::Project) => {
            GEMINI_HOOK.installed(&read(&folder.join("settings.json"))).unwrap_or_default()
        }
        (Agent::Cursor, _) => {
            CURSOR_HOOK.installed(&read(&folder.join("hooks.json"))).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    lines.iter().map(|line| program_of(agent, line)).collect()
}

/// Returns the command lines of hooks that name tamis, but not in a form of ours, with the files that have them.
pub(crate) fn foreign(places: &Places, agent: Agent, scope: Scope) -> Vec<(PathBuf, String)> {
    let folder = places.folder(agent, scope);
    let (place, path) = match (agent, scope) {
        (Agent::ClaudeCode, _) => (CLAUDE_HOOK, prefix_of(places, scope).0),
        (Agent::Codex, _) => (CODEX_HOOK, folder.join("hooks.json")),
        (Agent::Gemini, Scope::User) => {
            (GEMINI_HOOK, extension_folder(places).join("hooks/hooks.json"))
        }
        (Agent::Gemini, Scope::Project) => (GEMINI_HOOK, folder.join("settings.json")),
        (Agent::Cursor, _) => (CURSOR_HOOK, folder.join("hooks.json")),
        _ => return Vec::new(),
    };
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    // A file that cannot be parsed is reported on its own.
    let lines = place.foreign(&read(&path)).unwrap_or_default();
    let mut found: Vec<_> = lines.into_iter().map(|line| (path.clone(), line)).collect();
    if agent == Agent::Codex {
        let path = folder.join("config.toml");
        let text = read(&path);
        let lines = TomlText::parse(&text).map(|toml| foreign_in_toml(&toml)).unwrap_or_default();
        found.extend(lines.into_iter().map(|line| (path.clone(), line)));
    }
    found
}

fn in_script(text: &str) -> Started {
    let word = text.lines().find_map(|line| line.strip_prefix("tamis="))?;
    crate::program::unquoted(word).map(PathBuf::from)
}

fn in_plugin(text: &str) -> Started {
    let value = text.lines().find_map(|line| line.strip_prefix("const PROGRAM = "))?;
    let path: String = serde_json::from_str(value).ok()?;
    Path::new(&path).is_absolute().then(|| PathBuf::from(path))
}
