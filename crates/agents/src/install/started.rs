//! The programs that entries of ours start, for `tamis doctor`.

use std::path::{Path, PathBuf};

use super::agents::{
    CODEX_HOOK, CURSOR_HOOK, GEMINI_HOOK, extension_folder, own_block, plugin_path, prefix_of,
};
use super::hooks::program_of;
use super::places::{Places, Scope};
use crate::agent::Agent;

/// A program that an entry starts. `None`: an earlier version wrote the entry, which looks `tamis` up in `PATH`.
pub(crate) type Started = Option<PathBuf>;

/// Returns the programs that the hooks of an agent start.
pub(crate) fn hooks(places: &Places, agent: Agent, scope: Scope) -> Vec<Started> {
    let folder = places.folder(agent, scope);
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let lines = match (agent, scope) {
        (Agent::ClaudeCode, _) => {
            let (_, script, value) = prefix_of(places, scope);
            let value = value.ok().flatten();
            let Some(path) = value.filter(|value| Some(value.as_str()) == script.to_str()) else {
                return Vec::new();
            };
            return vec![in_script(&read(Path::new(&path)))];
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
        (Agent::Copilot, _) => Vec::new(),
    };
    lines.iter().map(|line| program_of(agent, line)).collect()
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
