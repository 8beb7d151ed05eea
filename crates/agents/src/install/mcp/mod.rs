//! Wraps configured MCP servers with `tamis mcp`, and unwraps them.
//!
//! The command of a server becomes `sh`, and its own command and arguments become the last arguments: they are the same
//! bytes as before, so that removing the proxy restores the file.

mod http;
mod json;
mod policy;
mod servers;
mod toml;
mod wrapping;

use std::path::{Path, PathBuf};

use super::places::{Places, Scope};
use super::plan::{InstallError, Planner};
use super::started::Started;
use crate::agent::Agent;

pub(crate) use wrapping::Wrapping;

use servers::{Servers, files};
use wrapping::Outcome;

/// The names of servers with the proxy in front of them.
#[derive(Debug, Default)]
pub(crate) struct WrappedServers {
    /// Those with an entry in a form of ours, to which the settings of the installation apply.
    pub(crate) ours: Vec<String>,
    /// Those whose entry starts the proxy with the user's own words.
    pub(crate) own: Vec<String>,
}

/// Wraps the servers of an agent, and returns which have the proxy then.
pub(crate) fn wrap(
    planner: &mut Planner<'_>,
    agent: Agent,
    wrapping: Wrapping<'_>,
) -> Result<WrappedServers, InstallError> {
    if let Some(reason) = policy::objection(planner.places, agent) {
        planner.note(format!("no MCP server is wrapped: {reason}"));
        return Ok(WrappedServers::default());
    }
    let (mut wrapped, mut own, mut stay_closed) = (Vec::new(), Vec::new(), Vec::new());
    for (path, servers) in files(planner.places, agent, wrapping.scope) {
        let is_tracked = wrapping.scope == Scope::Project && super::git::is_tracked(&path);
        let file = planner.open(&path)?;
        let Some(text) = file.text.clone().filter(|_| !is_tracked) else {
            if file.text.is_some() {
                let note =
                    format!("{}: tracked by git, so its MCP servers are not wrapped", file.shown);
                planner.note(note);
            }
            continue;
        };
        if text.trim_start_matches('\u{feff}').trim().is_empty() {
            continue;
        }
        let mut record = file.record.clone().unwrap_or_default();
        let edited = match servers {
            Servers::Toml => toml::wrap(&text, wrapping, &mut record),
            _ => json::wrap(&text, servers, wrapping, &mut record),
        };
        let (text, outcomes) =
            edited.map_err(|message| file.fail(message, Some(wrapping.snippet())))?;
        let shown = file.shown.clone();
        if file.text.as_ref() != Some(&text) {
            file.record = Some(record);
            file.text = Some(text);
        }
        for (name, outcome) in outcomes {
            match outcome {
                Outcome::Wrapped => wrapped.push(name),
                Outcome::Own => {
                    planner.note(format!(
                        "{shown}: MCP server {name} starts tamis with words of its own, which stay: what it redacts is in its \
                         arguments, and --redact and --closed change nothing there"
                    ));
                    own.push(name);
                }
                Outcome::Renewed { is_closed } => {
                    if is_closed && !wrapping.is_closed {
                        stay_closed.push(name.clone());
                    }
                    wrapped.push(name);
                }
                Outcome::Kept(reason) => {
                    planner.note(format!("{shown}: MCP server {name} is not wrapped: {reason}"));
                }
            }
        }
    }
    if wrapped.is_empty() && !own.is_empty() {
        return Ok(WrappedServers { ours: wrapped, own });
    }
    if wrapped.is_empty() {
        planner.note("no MCP server is configured that can be wrapped");
    } else if !Path::new(wrapping.program).is_file() {
        let program = wrapping.program;
        planner.note(if wrapping.is_closed || stay_closed.len() == wrapped.len() {
            format!("{program} is missing: the wrapped MCP servers do not start without it")
        } else {
            format!("{program} is missing: until it is there, the wrapped MCP servers run without filters")
        });
    }
    if !stay_closed.is_empty() {
        let (names, program) = (stay_closed.join(", "), wrapping.program);
        let flag = if wrapping.scope == Scope::Project { " --project" } else { "" };
        planner.note(format!(
            "MCP servers that stay closed, because they were: {names}; they do not start without {program}; to end that, run \
             `tamis uninstall {agent}{flag}` before the next installation"
        ));
    }
    Ok(WrappedServers { ours: wrapped, own })
}

/// Removes the proxy from the servers of an agent.
pub(crate) fn unwrap(
    planner: &mut Planner<'_>,
    agent: Agent,
    scope: Scope,
) -> Result<(), InstallError> {
    for (path, servers) in files(planner.places, agent, scope) {
        let file = planner.open(&path)?;
        let Some(text) = file.text.clone().filter(|text| text.contains("tamis")) else { continue };
        let record = file.record.clone().unwrap_or_default();
        let edited = match servers {
            Servers::Toml => toml::unwrap(&text, &record),
            _ => json::unwrap(&text, servers, &record),
        };
        let remedy = || {
            let remedy = "in each MCP server whose command is `sh` and whose arguments have `tamis`, remove what is before its command\n";
            Some(remedy.to_owned())
        };
        file.text = Some(edited.map_err(|message| file.fail(message, remedy()))?);
    }
    Ok(())
}

/// Returns the program that each wrapped server of each file starts, or why that is not known.
pub(crate) fn wrapped(
    places: &Places,
    agent: Agent,
    scope: Scope,
) -> Vec<(PathBuf, Result<Vec<Started>, String>)> {
    let mut found = Vec::new();
    for (path, servers) in files(places, agent, scope) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if !text.contains("tamis") {
            continue;
        }
        let started = match servers {
            Servers::Toml => toml::started(&text),
            _ => json::started(&text, servers),
        };
        found.push((path, started));
    }
    found
}

/// Returns the scripts of servers that start the proxy, but not in a form of ours, with the files that have them.
pub(crate) fn altered(places: &Places, agent: Agent, scope: Scope) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for (path, servers) in files(places, agent, scope) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if !text.contains("tamis") {
            continue;
        }
        let scripts = match servers {
            Servers::Toml => toml::altered(&text),
            _ => json::altered(&text, servers),
        };
        // A file that cannot be read is reported with its servers.
        found.extend(scripts.unwrap_or_default().into_iter().map(|script| (path.clone(), script)));
    }
    found
}
