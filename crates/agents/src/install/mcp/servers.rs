//! The files of each agent that may have MCP servers.
//!
//! The places and the names are those of the documentation of each agent.

use std::path::PathBuf;

use crate::agent::Agent;
use crate::install::places::{Places, Scope};

/// Where a file has its servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Servers {
    /// A member of this name, with `command` and `args` in each server.
    Members(&'static str),
    /// Such a member, in a file that may have comments and trailing commas.
    Commented(&'static str),
    /// `mcpServers` of the document and of each member of `projects`.
    Projects,
    /// `mcp`, with one array of the command and its arguments, in a file that may have comments.
    Words,
    /// `mcp_servers` of a TOML file.
    Toml,
}

impl Servers {
    /// Returns the name of the member.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Members(key) | Self::Commented(key) => key,
            Self::Projects => USUAL,
            Self::Words => "mcp",
            Self::Toml => "mcp_servers",
        }
    }

    /// Returns whether the agent reads files with comments and trailing commas.
    pub(super) fn allows_comments(self) -> bool {
        matches!(self, Self::Commented(_) | Self::Words)
    }
}

/// The name of the member in most agents.
const USUAL: &str = "mcpServers";

/// Returns the files of an agent that may have servers.
pub(super) fn files(places: &Places, agent: Agent, scope: Scope) -> Vec<(PathBuf, Servers)> {
    let folder = places.folder(agent, scope);
    let working = &places.working;
    let one = |path: PathBuf, servers| vec![(path, servers)];
    let all = |names: &[&str], servers| -> Vec<_> {
        names.iter().map(|name| (folder.join(name), servers)).collect()
    };
    match (agent, scope) {
        (Agent::ClaudeCode, Scope::User) => one(places.claude_state(), Servers::Projects),
        (Agent::ClaudeCode, Scope::Project) => {
            one(working.join(".mcp.json"), Servers::Members(USUAL))
        }
        (Agent::Codex, _) => all(&["config.toml"], Servers::Toml),
        (Agent::Opencode, scope) => {
            let base = if scope == Scope::User { &folder } else { working };
            let named = places.opencode.clone().filter(|_| scope == Scope::User);
            let names = ["opencode.json", "opencode.jsonc"].map(|name| base.join(name));
            names.into_iter().chain(named).map(|path| (path, Servers::Words)).collect()
        }
        (Agent::Gemini, _) => all(&["settings.json"], Servers::Commented(USUAL)),
        (Agent::Cursor, _) => all(&["mcp.json"], Servers::Members(USUAL)),
        (Agent::Copilot, Scope::User) => all(&["mcp-config.json"], Servers::Members(USUAL)),
        (Agent::VsCode, _) => all(&["mcp.json"], Servers::Commented("servers")),
        (Agent::Windsurf, Scope::User) => all(&["mcp_config.json"], Servers::Members(USUAL)),
        (Agent::Cline, Scope::User) => {
            let name = "cline_mcp_settings.json";
            let own = places.home.join(".cline/data/settings").join(name);
            [folder.join(name), own].map(|path| (path, Servers::Members(USUAL))).to_vec()
        }
        (Agent::Zed, _) => all(&["settings.json"], Servers::Commented("context_servers")),
        (Agent::Amp, _) => {
            all(&["settings.json", "settings.jsonc"], Servers::Commented("amp.mcpServers"))
        }
        (Agent::Crush, Scope::User) => all(&["crush.json"], Servers::Members("mcp")),
        (Agent::Crush, Scope::Project) => {
            all(&[".crush.json", "crush.json"], Servers::Members("mcp"))
        }
        (Agent::Qwen, Scope::User) => all(&["settings.json"], Servers::Commented(USUAL)),
        (Agent::Qwen, Scope::Project) => {
            all(&["settings.json", "settings.local.json"], Servers::Commented(USUAL))
        }
        (Agent::ClaudeDesktop, Scope::User) => {
            all(&["claude_desktop_config.json"], Servers::Members(USUAL))
        }
        // These have no such file.
        (
            Agent::Copilot | Agent::Windsurf | Agent::Cline | Agent::ClaudeDesktop,
            Scope::Project,
        )
        | (Agent::Goose, _) => Vec::new(),
    }
}
