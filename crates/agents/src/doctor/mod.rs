//! Examines what is installed: programs, hooks, servers, settings.
//!
//! This module must not change a file.

mod agents;
mod calls;
mod finding;
mod process;
mod scripts;
mod sessions;

pub use finding::{Finding, Level};
pub use sessions::LastSession;

use std::path::Path;

use tamis_manifest::Manifest;

use crate::accepted;
use crate::agent::Agent;
use crate::install::{Places, programs};
use process::{Ended, ask};

/// Examines everything. `tamis` is the binary whose hooks are called, and `opencode` reads the last session of opencode from its
/// database. It is called only if there is a hook for opencode.
#[must_use]
pub fn examine(
    places: &Places,
    tamis: &Path,
    opencode: impl FnOnce() -> Option<LastSession>,
) -> Vec<Finding> {
    let mut found = Vec::new();
    let installed = agents::examine(places);
    let uses_servers = installed.iter().any(|of| of.servers > 0);
    found.extend(own_programs(places, tamis));
    found.push(gateway(places, uses_servers));
    let with_hooks = Agent::ALL.into_iter().filter(|agent| !agent.has_only_servers());
    found.extend(with_hooks.map(|agent| program(places, agent)));
    let hooked = Agent::ALL.into_iter().zip(&installed).filter(|(_, of)| of.hooks);
    let hooked: Vec<Agent> = hooked.map(|(agent, _)| agent).collect();
    found.extend(installed.into_iter().flat_map(|of| of.findings));
    let opencode = hooked.contains(&Agent::Opencode).then(opencode).flatten();
    found.extend(sessions::examine(places, &hooked, opencode));
    found.extend(sessions::sandboxes(places));
    found.extend(project(places));
    found.extend(calls::examine(tamis));
    found.push(configuration(places));
    found.push(store(places));
    found
}

/// Returns the first line that a program prints for `--version`.
fn version(program: &Path) -> Result<String, String> {
    match ask(program, &["--version"], b"", None) {
        Ended::Code { code: 0, out } => {
            Ok(String::from_utf8_lossy(&out).lines().next().unwrap_or_default().trim().to_owned())
        }
        ended => Err(ended.to_string()),
    }
}

/// This program, and others that a name would find.
fn own_programs(places: &Places, tamis: &Path) -> Vec<Finding> {
    let own = format!("tamis {} at {}", env!("CARGO_PKG_VERSION"), places.shown(&places.program));
    let mut found = vec![Finding::good("tamis", own)];
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let others = places.all_programs("tamis");
    for other in others.filter(|other| real(other) != real(tamis)) {
        let text =
            format!("another one is at {}; no entry of this one starts it", places.shown(&other));
        found.push(Finding::note("tamis", text));
    }
    if places.home.starts_with(&places.working) {
        let text = "entries do nothing in sessions that begin here, because the programs lie below this folder";
        found.push(Finding::note("working directory", text));
    }
    found
}

fn gateway(places: &Places, is_needed: bool) -> Finding {
    let subject = "tamis-gateway";
    let found = places.gateway();
    let shown = places.shown(&found);
    if !found.is_file() {
        let text = format!("not at {shown}");
        return if is_needed {
            let remedy = "install it from a checkout with: cargo install --path crates/gateway --profile dist";
            let text = format!("{text}, so wrapped MCP servers are not filtered");
            Finding::broken(subject, text, remedy)
        } else {
            Finding::note(subject, format!("{text}; only `tamis mcp` needs it"))
        };
    }
    match version(&found) {
        Ok(version) => Finding::good(subject, format!("{version} at {shown}")),
        Err(why) => Finding::broken(subject, format!("{shown} {why}"), "install it again"),
    }
}

/// The program of an agent.
fn program(places: &Places, agent: Agent) -> Finding {
    let found = programs(agent).iter().find_map(|name| places.program(name));
    let Some(found) = found else {
        return Finding::note(agent.as_str(), "not on the PATH");
    };
    let shown = places.shown(&found);
    match version(&found) {
        Ok(version) => {
            let text = format!("{version} at {shown}");
            let tried = tried(agent);
            if tried.is_empty() || tried.iter().any(|tried| version.contains(tried)) {
                return Finding::good(agent.as_str(), text);
            }
            Finding::note(agent.as_str(), format!("{text}; tried with {}", tried.join(" and ")))
        }
        Err(why) => Finding::note(agent.as_str(), format!("{shown} {why}")),
    }
}

/// The versions of an agent that the hooks were tried with.
fn tried(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::ClaudeCode => &["2.1.330", "2.1.332"],
        Agent::Codex => &["0.169.0", "0.171.0"],
        Agent::Opencode => &["1.18.33"],
        Agent::Gemini => &["0.61.0"],
        _ => &[],
    }
}

/// The rules for commands of the project in the working directory.
fn project(places: &Places) -> Option<Finding> {
    let path = places.working.join("tamis.yaml");
    let manifest = Manifest::load(&path).ok()?;
    let commands = manifest.settings().commands()?;
    let shown = places.shown(&path);
    Some(match accepted::is_accepted(&places.state, &path, commands) {
        true => Finding::good("project", format!("the commands of {shown} were accepted")),
        false => Finding::note(
            "project",
            format!(
                "the commands of {shown} are not used: they were not accepted, or changed; tamis trust accepts them"
            ),
        ),
    })
}

/// The user's `tamis.yaml`.
fn configuration(places: &Places) -> Finding {
    let path = places.configuration();
    let shown = places.shown(&path);
    if !path.is_file() {
        return Finding::good("configuration", format!("no {shown}: the defaults apply"));
    }
    match Manifest::load(&path) {
        Ok(manifest) => {
            let commands = manifest.settings().commands();
            let files = commands.map(|commands| accepted::rules_files(&path, commands));
            let loaded = files.into_iter().flatten().map(tamis_command::CommandRules::load);
            match loaded.filter_map(Result::err).next() {
                Some(error) => Finding::broken("configuration", error, "correct the rules"),
                None => Finding::good("configuration", format!("{shown} is valid")),
            }
        }
        Err(error) => {
            Finding::broken("configuration", error, "correct it; `tamis check` shows the place")
        }
    }
}

/// The folder with full outputs.
fn store(places: &Places) -> Finding {
    let folder = places.store();
    let shown = places.shown(&folder);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        return Finding::good("store", format!("{shown} is created when an output is stored"));
    };
    let files = entries.flatten().filter_map(|entry| entry.metadata().ok());
    let (count, bytes) =
        files.filter(std::fs::Metadata::is_file).fold((0u64, 0u64), |(count, bytes), data| {
            (count + u64::from(data.len() > 0), bytes + data.len())
        });
    Finding::good("store", format!("{shown}: {count} files, {} KiB", bytes.div_ceil(1024)))
}
