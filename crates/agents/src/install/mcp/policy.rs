//! Rules about MCP servers that look at their commands: wrapped servers would not match them any more.

use crate::agent::Agent;
use crate::install::json::{JsonNode, parse};
use crate::install::places::{Places, Scope};
use crate::install::toml_text::TomlText;

/// Returns why no server of an agent can be wrapped.
pub(super) fn objection(places: &Places, agent: Agent) -> Option<String> {
    match agent {
        Agent::ClaudeCode => {
            let user = places.folder(agent, Scope::User).join("settings.json");
            let project = places.folder(agent, Scope::Project);
            let files = [
                user,
                project.join("settings.json"),
                project.join("settings.local.json"),
                "/etc/claude-code/managed-settings.json".into(),
                "/Library/Application Support/ClaudeCode/managed-settings.json".into(),
            ];
            let found = files.iter().find(|path| {
                std::fs::read_to_string(path).is_ok_and(|text| {
                    let lists = ["deniedMcpServers", "allowedMcpServers"];
                    parse(&text)
                        .is_ok_and(|root| lists.iter().any(|list| names_commands(&root, list)))
                })
            })?;
            let shown = places.shown(found);
            Some(format!("{shown} allows or denies servers by their commands, which would change"))
        }
        Agent::Codex => {
            let path = std::path::Path::new("/etc/codex/requirements.toml");
            let text = std::fs::read_to_string(path).ok()?;
            let has_rules =
                TomlText::parse(&text).is_ok_and(|text| text.get(&["mcp_servers"]).is_some());
            let message = format!("{} lists servers by their commands", path.display());
            has_rules.then_some(message)
        }
        _ => None,
    }
}

fn names_commands(root: &JsonNode<'_>, list: &str) -> bool {
    let list = root.get(list).ok().flatten();
    let entries = list.and_then(|list| list.elements().ok()).unwrap_or_default();
    entries.iter().any(|entry| matches!(entry.get("serverCommand"), Ok(Some(_)) | Err(_)))
}
