//! The changes for each agent.

mod claude;
mod codex;
mod cursor;
mod gemini;
mod opencode;
mod servers_only;

pub(crate) use claude::{
    HOOK as CLAUDE_HOOK, PREFIX, PrefixScript, prefix_of, prefix_script_state,
};
pub(crate) use codex::{HOOK as CODEX_HOOK, foreign as foreign_in_toml, own_block, own_positions};
pub(crate) use cursor::HOOK as CURSOR_HOOK;
pub(crate) use gemini::{HOOK as GEMINI_HOOK, extension_folder};
pub(crate) use opencode::plugin_path;

use super::places::Scope;
use super::plan::{InstallError, Planner};
use crate::agent::Agent;

/// Plans the hooks of an agent.
pub(crate) fn install(
    planner: &mut Planner<'_>,
    agent: Agent,
    scope: Scope,
) -> Result<(), InstallError> {
    match agent {
        Agent::ClaudeCode => claude::install(planner, scope),
        Agent::Codex => codex::install(planner, scope),
        Agent::Opencode => opencode::install(planner, scope),
        Agent::Gemini => gemini::install(planner, scope),
        Agent::Cursor => cursor::install(planner, scope),
        _ => {
            servers_only::install(planner, agent);
            Ok(())
        }
    }
}

/// Plans the removal of the hooks of an agent.
pub(crate) fn uninstall(
    planner: &mut Planner<'_>,
    agent: Agent,
    scope: Scope,
) -> Result<(), InstallError> {
    match agent {
        Agent::ClaudeCode => claude::uninstall(planner, scope),
        Agent::Codex => codex::uninstall(planner, scope),
        Agent::Opencode => opencode::uninstall(planner, scope),
        Agent::Gemini => gemini::uninstall(planner, scope),
        Agent::Cursor => cursor::uninstall(planner, scope),
        _ => Ok(()),
    }
}

/// Returns the names of an agent's program.
pub(crate) fn programs(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::ClaudeCode => &["claude"],
        Agent::Codex => &["codex"],
        Agent::Opencode => &["opencode"],
        Agent::Gemini => &["gemini"],
        Agent::Cursor => &["cursor-agent", "cursor"],
        Agent::Copilot => &["copilot"],
        Agent::VsCode => &["code"],
        Agent::Windsurf => &["windsurf"],
        Agent::Cline => &["cline", "code"],
        Agent::Zed => &["zed", "zeditor"],
        Agent::Amp => &["amp"],
        Agent::Crush => &["crush"],
        Agent::Goose => &["goose"],
        Agent::Qwen => &["qwen"],
        // It is started from a menu.
        Agent::ClaudeDesktop => &["claude-desktop"],
    }
}

/// Returns the name of an agent as its makers write it.
pub(crate) fn title(agent: Agent) -> &'static str {
    match agent {
        Agent::ClaudeCode => "Claude Code",
        Agent::Codex => "Codex",
        Agent::Opencode => "opencode",
        Agent::Gemini => "Gemini CLI",
        Agent::Cursor => "Cursor",
        Agent::Copilot => "Copilot CLI",
        Agent::VsCode => "Visual Studio Code",
        Agent::Windsurf => "Windsurf",
        Agent::Cline => "Cline",
        Agent::Zed => "Zed",
        Agent::Amp => "Amp",
        Agent::Crush => "Crush",
        Agent::Goose => "Goose",
        Agent::Qwen => "Qwen Code",
        Agent::ClaudeDesktop => "Claude Desktop",
    }
}
