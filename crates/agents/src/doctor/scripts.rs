//! Examines the scripts that an installation wrote: whether they are still as they were written, and whether a shell can
//! parse them. Nothing of them is run.

use std::path::Path;

use super::finding::Finding;
use super::process::{Ended, ask};
use crate::agent::Agent;
use crate::install::{
    Places, PrefixScript, Scope, altered_servers, foreign_hooks, prefix_script_state,
};

/// The shell of hooks. It is started by its path, as entries start it.
const SHELL: &str = "/bin/sh";

/// Examines the scripts of an agent.
pub(super) fn examine(places: &Places, agent: Agent, scope: Scope) -> Vec<Finding> {
    let mut found = Vec::new();
    if agent == Agent::ClaudeCode {
        found.extend(prefix_script(places, scope));
    }
    for (path, line) in foreign_hooks(places, agent, scope) {
        let place = format!("{}: a hook names tamis", places.shown(&path));
        found.push(changed(agent, &place, &line));
    }
    for (path, script) in altered_servers(places, agent, scope) {
        let place = format!("{}: an MCP server names tamis", places.shown(&path));
        found.push(changed(agent, &place, &script));
    }
    found
}

/// The program that starts the commands of Claude Code.
fn prefix_script(places: &Places, scope: Scope) -> Option<Finding> {
    let name = Agent::ClaudeCode.as_str();
    let again = "run tamis install claude-code again";
    let (script, state) = prefix_script_state(places, scope)?;
    let shown = places.shown(&script);
    let refused = || parse(&["-n", "--", script.to_str()?]).err();
    match state {
        PrefixScript::Current => None,
        PrefixScript::Changed => {
            if let Some(why) = refused() {
                let text = format!("{shown} {why}, so every command fails");
                return Some(Finding::broken(name, text, again));
            }
            let text = format!(
                "{shown} is not the script of this version, or was changed; {again} to replace it"
            );
            Some(Finding::note(name, text))
        }
        PrefixScript::Foreign => {
            let text =
                format!("{shown} is not a script of tamis any more, and starts every command");
            Some(Finding::broken(name, text, "move it away, and run tamis install claude-code"))
        }
    }
}

/// A line that starts tamis, but not in the form of an installation. It is not shown: it may hold credentials.
fn changed(agent: Agent, place: &str, line: &str) -> Finding {
    match parse(&["-n", "-c", line]) {
        Err(why) => {
            let text = format!("{place}, and {why}");
            Finding::broken(agent.as_str(), text, "correct or remove it")
        }
        Ok(()) => {
            let text = format!(
                "{place} in another form than an installation writes, so tamis uninstall {agent} leaves it"
            );
            Finding::note(agent.as_str(), text)
        }
    }
}

/// Returns the reason why a shell refuses a text.
fn parse(args: &[&str]) -> Result<(), String> {
    if !Path::new(SHELL).is_file() {
        return Ok(());
    }
    match ask(Path::new(SHELL), args, b"", None) {
        Ended::Code { code: 0, .. } => Ok(()),
        Ended::Code { .. } => Err(format!("does not parse (`{SHELL} -n`)")),
        ended => Err(format!("cannot be parsed: {SHELL} {ended}")),
    }
}
