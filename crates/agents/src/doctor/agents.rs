//! Examines what is installed for each agent.

use std::path::{Path, PathBuf};

use super::finding::Finding;
use super::scripts;
use crate::agent::Agent;
use crate::install::{
    CLAUDE_HOOK, CODEX_HOOK, CURSOR_HOOK, GEMINI_HOOK, HookPlace, PREFIX, Places, Scope, TomlText,
    deny_write_offer, extension_folder, opencode_plugin, own_block, own_positions, plugin_path,
    prefix_of,
    started::{self, Started},
    trust, wrapped,
};

/// The findings for one agent.
#[derive(Default)]
pub(super) struct Installed {
    /// Whether a hook of ours is there.
    pub(super) hooks: bool,
    /// MCP servers that are wrapped.
    pub(super) servers: usize,
    pub(super) findings: Vec<Finding>,
}

/// Examines all agents, for the user and for the project in the working directory.
pub(super) fn examine(places: &Places) -> Vec<Installed> {
    let mut all = Vec::new();
    for agent in Agent::ALL {
        let mut found = Installed::default();
        for scope in [Scope::User, Scope::Project] {
            // In the home folder, both are the same.
            if scope == Scope::Project && places.working == places.home {
                continue;
            }
            hooks(places, agent, scope, &mut found);
            found.findings.extend(scripts::examine(places, agent, scope));
            let mut started = started::hooks(places, agent, scope);
            programs(places, agent, started.clone(), &mut found);
            started.extend(servers(places, agent, scope, &mut found));
            found.findings.extend(replaceable(places, agent, scope, &started));
        }
        if found.findings.is_empty() && !agent.has_only_servers() {
            found.findings.push(Finding::note(
                agent.as_str(),
                format!("not installed; tamis install {agent}"),
            ));
        }
        all.push(found);
    }
    all
}

fn hooks(places: &Places, agent: Agent, scope: Scope, found: &mut Installed) {
    let folder = places.folder(agent, scope);
    match agent {
        Agent::ClaudeCode => {
            claude(places, scope, found);
            _ = json_hook(places, agent, &CLAUDE_HOOK, &prefix_of(places, scope).0, found);
        }
        Agent::Codex => codex(places, scope, found),
        Agent::Opencode => opencode(places, scope, found),
        Agent::Gemini if scope == Scope::User => {
            let path = extension_folder(places).join("hooks/hooks.json");
            _ = json_hook(places, agent, &GEMINI_HOOK, &path, found);
        }
        Agent::Gemini => {
            _ = json_hook(places, agent, &GEMINI_HOOK, &folder.join("settings.json"), found);
        }
        Agent::Cursor => {
            _ = json_hook(places, agent, &CURSOR_HOOK, &folder.join("hooks.json"), found);
        }
        _ => {}
    }
}

/// Names the programs that entries start, and says what is wrong with them.
fn programs(places: &Places, agent: Agent, mut started: Vec<Started>, found: &mut Installed) {
    let (name, again) = (agent.as_str(), format!("run tamis install {agent} again"));
    started.sort();
    started.dedup();
    for program in started {
        let Some(program) = program else {
            let text = "an entry starts tamis by its name, so a command in a sandbox can put another program in its place";
            found.findings.push(Finding::broken(name, text, &again));
            continue;
        };
        let shown = places.shown(&program);
        if !program.is_file() {
            let text = format!("an entry starts {shown}, which is missing");
            found.findings.push(Finding::broken(name, text, &again));
            continue;
        }
        let faults = trust::examine(&program, places, agent);
        if faults.is_empty() {
            found.findings.push(Finding::good(name, format!("an entry starts {shown}")));
        }
        for fault in faults {
            let text = format!("an entry starts {shown}, but {}", fault.text);
            found.findings.push(if fault.is_refusal {
                let remedy = "move it to a folder that only you can write to, and install again";
                Finding::broken(name, text, remedy)
            } else {
                Finding::note(name, text)
            });
        }
    }
}

/// Reports that a command in a sandbox can replace what an agent starts, if a session begins in this folder.
fn replaceable(
    places: &Places,
    agent: Agent,
    scope: Scope,
    started: &[Started],
) -> Option<Finding> {
    let programs: Vec<PathBuf> = started.iter().flatten().cloned().collect();
    if started.is_empty() || !places.home.starts_with(&places.working) {
        return None;
    }
    deny_write_offer(places, agent, scope, &programs)?;
    let text = format!(
        "in a session that begins here, its sandbox lets commands replace what it starts; tamis install {agent} prints \
         the rule that denies it"
    );
    Some(Finding::note(agent.as_str(), text))
}

/// Returns the programs that wrapped servers start.
fn servers(places: &Places, agent: Agent, scope: Scope, found: &mut Installed) -> Vec<Started> {
    let mut all = Vec::new();
    for (path, started) in wrapped(places, agent, scope) {
        let shown = places.shown(&path);
        match started {
            Ok(started) if started.is_empty() => {}
            Ok(started) => {
                let count = started.len();
                found.servers += count;
                all.extend(started.iter().cloned());
                programs(places, agent, started, found);
                let plural = if count == 1 { "MCP server" } else { "MCP servers" };
                found.findings.push(Finding::good(
                    agent.as_str(),
                    format!("{shown}: {count} {plural} wrapped"),
                ));
            }
            Err(reason) => {
                let text = format!("{shown}: {reason}");
                found.findings.push(Finding::broken(agent.as_str(), text, "correct the file"));
            }
        }
    }
    all
}

fn claude(places: &Places, scope: Scope, found: &mut Installed) {
    let name = Agent::ClaudeCode.as_str();
    let (settings, script, value) = prefix_of(places, scope);
    let shown = places.shown(&settings);
    let again = "run tamis install claude-code, or remove the variable";
    let finding = match value {
        Err(fault) => {
            let text = format!("{shown} {fault}, so Claude Code ignores the whole file");
            Finding::broken(name, text, "correct the file")
        }
        Ok(Some(value)) if Some(value.as_str()) == script.to_str() => {
            found.hooks = true;
            let program = places.shown(&script);
            if !script.exists() {
                let text = format!(
                    "{shown}: {PREFIX} names {program}, which is missing, so every command fails"
                );
                Finding::broken(name, text, again)
            } else if !is_executable(&script) {
                let text = format!("{program} is not executable, so every command fails");
                Finding::broken(name, text, &format!("chmod +x {program}"))
            } else {
                Finding::good(name, format!("{shown}: commands start through {program}"))
            }
        }
        Ok(Some(value)) => {
            let text = format!("{shown}: {PREFIX} names another program, {value}");
            Finding::note(name, text)
        }
        Ok(None) if script.exists() => {
            let text = format!("{} is not used: {shown} does not name it", places.shown(&script));
            Finding::broken(
                name,
                text,
                "run tamis install claude-code, or tamis uninstall claude-code",
            )
        }
        Ok(None) => return,
    };
    found.findings.push(finding);
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|data| data.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// Returns the positions of our hooks in a file: those of the groups, and those in the groups.
fn json_hook(
    places: &Places,
    agent: Agent,
    place: &HookPlace,
    path: &Path,
    found: &mut Installed,
) -> Option<Vec<(usize, usize)>> {
    let text = std::fs::read_to_string(path).ok()?;
    let shown = places.shown(path);
    match place.positions(&text) {
        Err(fault) if text.contains("tamis") => {
            let text = format!("{shown} {fault}");
            found.findings.push(Finding::broken(agent.as_str(), text, "correct the file"));
            None
        }
        Err(_) => None,
        Ok(own) => {
            if own.len() > 1 {
                let text = format!("{shown}: the hook is there {} times", own.len());
                let remedy = format!("run tamis uninstall {agent}, and tamis install {agent}");
                found.findings.push(Finding::broken(agent.as_str(), text, &remedy));
            } else if let lacking = place.lacking(&text).unwrap_or_default()
                && !lacking.is_empty()
            {
                let text = format!(
                    "{shown}: the hook is of an earlier version, and lacks {}",
                    lacking.join(" and ")
                );
                let remedy = format!("run tamis install {agent} again");
                found.findings.push(Finding::broken(agent.as_str(), text, &remedy));
            } else if !own.is_empty() {
                found
                    .findings
                    .push(Finding::good(agent.as_str(), format!("{shown}: the hook is there")));
            }
            found.hooks |= !own.is_empty();
            Some(own)
        }
    }
}

fn codex(places: &Places, scope: Scope, found: &mut Installed) {
    let name = Agent::Codex.as_str();
    let folder = places.folder(Agent::Codex, scope);
    let (json, config) = (folder.join("hooks.json"), folder.join("config.toml"));
    let own = json_hook(places, Agent::Codex, &CODEX_HOOK, &json, found).unwrap_or_default();
    let text = std::fs::read_to_string(&config).unwrap_or_default();
    let mut keys: Vec<String> = own.iter().map(|(group, hook)| key(&json, *group, *hook)).collect();
    match TomlText::parse(&text) {
        Ok(toml) => {
            let positions = own_positions(&toml);
            if !positions.is_empty() {
                found.hooks = true;
                let text = format!("{}: the hook is there", places.shown(&config));
                found.findings.push(Finding::good(name, text));
            }
            keys.extend(positions.iter().map(|(group, hook)| key(&config, *group, *hook)));
            if !keys.is_empty()
                && toml
                    .get(&["features", "hooks"])
                    .is_some_and(|value| text.get(value.span()) == Some("false"))
            {
                let text =
                    format!("{}: features.hooks is false, so no hook runs", places.shown(&config));
                found.findings.push(Finding::broken(name, text, "remove it"));
            }
        }
        Err(reason) if own_block(&text).is_some() || !keys.is_empty() => {
            let text = format!("{} is not valid TOML: {reason}", places.shown(&config));
            found.findings.push(Finding::broken(name, text, "correct the file"));
        }
        Err(_) => {}
    }
    if keys.is_empty() {
        return;
    }
    // Approvals are in the user's file.
    let user = places.folder(Agent::Codex, Scope::User).join("config.toml");
    let user = std::fs::read_to_string(user).unwrap_or_default();
    let approvals = TomlText::parse(&user);
    for key in keys {
        let approval = approvals
            .as_ref()
            .ok()
            .and_then(|toml| toml.get(&["hooks", "state", &key, "trusted_hash"]));
        found.findings.push(if approval.is_some() {
            Finding::good(name, "the hook was approved (again after each change of it)")
        } else {
            let text = "the hook is not approved, so Codex skips it";
            Finding::broken(name, text, "start codex and enter /hooks")
        });
    }
}

/// The name under which Codex keeps the approval of a hook.
fn key(file: &Path, group: usize, hook: usize) -> String {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    format!("{}:pre_tool_use:{group}:{hook}", file.display())
}

fn opencode(places: &Places, scope: Scope, found: &mut Installed) {
    let path = plugin_path(places, scope);
    let Ok(text) = std::fs::read_to_string(&path) else { return };
    let (name, shown) = (Agent::Opencode.as_str(), places.shown(&path));
    let is_known = text == opencode_plugin(scope, &places.program);
    found.hooks = true;
    found.findings.push(if is_known {
        Finding::good(name, format!("{shown}: the plugin is there"))
    } else {
        Finding::note(
            name,
            format!(
                "{shown} is not the plugin of this version; tamis install opencode replaces it"
            ),
        )
    });
}
