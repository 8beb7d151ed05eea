//! The files of each agent that may have MCP servers.

use std::path::PathBuf;

use crate::agent::Agent;
use crate::install::places::{Places, Scope};

/// Where a file has its servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Servers {
    /// `mcpServers`, with `command` and `args`.
    Members,
    /// `mcpServers` of the document and of each member of `projects`.
    Projects,
    /// `mcp`, with one array of the command and its arguments.
    Words,
    /// `mcp_servers` of a TOML file.
    Toml,
}

/// Returns the files of an agent that may have servers.
pub(super) fn files(places: &Places, agent: Agent, scope: Scope) -> Vec<(PathBuf, Servers)> {
    let folder = places.folder(agent, scope);
    let working = &places.working;
    match (agent, scope) {
        (Agent::ClaudeCode, Scope::User) => vec![(places.claude_state(), Servers::Projects)],
        (Agent::ClaudeCode, Scope::Project) => vec![(working.join(".mcp.json"), Servers::Members)],
        (Agent::Codex, _) => vec![(folder.join("config.toml"), Servers::Toml)],
        (Agent::Opencode, scope) => {
            let base = if scope == Scope::User { &folder } else { working };
            let named = places.opencode.clone().filter(|_| scope == Scope::User);
            let names = ["opencode.json", "opencode.jsonc"].map(|name| base.join(name));
            names.into_iter().chain(named).map(|path| (path, Servers::Words)).collect()
        }
        (Agent::Gemini, _) => vec![(folder.join("settings.json"), Servers::Members)],
        (Agent::Cursor, _) => vec![(folder.join("mcp.json"), Servers::Members)],
        (Agent::Copilot, Scope::User) => vec![(folder.join("mcp-config.json"), Servers::Members)],
        (Agent::Copilot, Scope::Project) => Vec::new(),
    }
}
