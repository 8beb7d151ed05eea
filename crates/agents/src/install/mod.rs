//! Changes to the files of an agent, and how they are undone.
//!
//! ```text
//! Places ──▶ Planner ── agents, mcp ──▶ Plan ── diff ──▶ the user
//!                                          └─── apply ──▶ files, record
//! ```
//!
//! - Nothing is written before the new content of every file is known, and a file that cannot be edited safely stops all
//!   changes.
//! - Settings are edited, not rewritten: `edit` adds and removes spans of the text, and all other bytes are unchanged.
//! - Our entries are recognised by their form, whatever program they start. `record` knows what was there before.
//!
//! `json` and `toml_text` are views of a text; `shape` writes values; `places` knows where files are.

mod agents;
mod apply;
mod deny_write;
mod diff;
mod edit;
mod git;
mod hooks;
mod json;
mod mcp;
mod offer;
mod places;
mod plan;
mod recall_rule;
mod record;
mod shape;
pub(crate) mod started;
mod texts;
mod toml_text;
pub(crate) mod trust;

pub use offer::Offer;
pub use places::{Places, Scope};
pub use plan::{InstallError, Plan};

pub use crate::program::as_started;

pub(crate) use agents::{
    CLAUDE_HOOK, CODEX_HOOK, CURSOR_HOOK, GEMINI_HOOK, PREFIX, PrefixScript, extension_folder,
    own_block, own_positions, plugin_path, prefix_of, prefix_script_state, programs,
};
pub(crate) use deny_write::offer as deny_write_offer;
pub(crate) use hooks::HookPlace;
pub(crate) use mcp::{altered as altered_servers, wrapped};
pub(crate) use started::foreign as foreign_hooks;
pub(crate) use texts::opencode_plugin;
pub(crate) use toml_text::TomlText;

use std::path::Path;

use mcp::Wrapping;
use plan::Planner;
use tamis_manifest::Manifest;
use tamis_mcp::config::{ConfigFiles, ConfigPlaces};

use crate::agent::Agent;

/// The parts of an installation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstallOptions {
    /// Whose files are changed.
    pub scope: Scope,
    /// Whether `tamis mcp` wraps the configured MCP servers.
    pub mcp: bool,
    /// Whether these servers do not start without it.
    pub closed: bool,
    /// Whether they replace credentials in results. `None`: as it is, and newly wrapped servers do not.
    pub redact: Option<bool>,
    /// Whether a program is accepted that others can replace.
    pub trust_path: bool,
}

/// Plans the installation for an agent. Nothing is written.
///
/// # Errors
/// A file cannot be edited safely; the error has the text to add by hand.
pub fn install(
    agent: Agent,
    options: InstallOptions,
    places: &Places,
) -> Result<Plan, InstallError> {
    let mut planner = Planner::new(places)?;
    check_path(&mut planner, options, agent, &places.program, trust::examine)?;
    // The script of Claude Code lies there.
    let folder = places.folder(agent, Scope::User);
    if agent == Agent::ClaudeCode && folder.exists() {
        check_path(&mut planner, options, agent, &folder, trust::examine_folder)?;
    }
    agents::install(&mut planner, agent, options.scope)?;
    let gateway = places.gateway();
    let mut started = vec![places.program.clone()];
    started.extend(options.mcp.then(|| gateway.clone()));
    planner.offers.extend(deny_write::offer(places, agent, options.scope, &started));
    let mut servers = Vec::new();
    if options.mcp {
        if gateway.exists() {
            check_path(&mut planner, options, agent, &gateway, trust::examine)?;
        }
        let program = utf8(places, &gateway)?;
        let names = names_with_rules(places);
        let wrapping = Wrapping {
            scope: options.scope,
            is_closed: options.closed,
            redacts: options.redact,
            program,
            names: &names,
            name: None,
        };
        let wrapped = mcp::wrap(&mut planner, agent, wrapping)?;
        planner.has_servers = !wrapped.ours.is_empty();
        if planner.has_servers {
            planner.note(redaction(options.redact));
        }
        servers = [wrapped.ours, wrapped.own].concat();
    }
    planner.offers.extend(recall_rule::offer(places, agent, &servers));
    planner.note(storage(places, options.mcp));
    let programs = programs(agent);
    if agent != Agent::ClaudeDesktop && !programs.iter().any(|name| places.program(name).is_some())
    {
        let (title, name) = (agents::title(agent), programs.join(" or "));
        planner.note(format!("{title} was not found: {name} is not on the PATH"));
    }
    planner.install()
}

/// The consequences if the proxy replaces credentials, for a question before an installation.
pub const REDACTION: &str = "credentials in all results of wrapped MCP servers become marks such as [redacted:github-token] before the \
     model, the store and the agent's transcript get them; a result that cannot be searched is withheld; TAMIS=off and \
     profiles do not end that; without --closed, servers start without the proxy if tamis-gateway is missing";

/// Returns the names of the servers for which the user's `tamis.yaml` has rules of their own. The mistakes of a file are reported by doctor.
fn names_with_rules(places: &Places) -> Vec<String> {
    let Places { home, config, working, .. } = places.clone();
    let places = ConfigPlaces { home: Some(home), config: Some(config), working };
    let files = places.files(ConfigFiles::User);
    let manifests: Vec<Manifest> = files.iter().flat_map(Manifest::load).collect();
    let rules = manifests.iter().flat_map(|manifest| manifest.settings().by_server());
    rules.map(|(name, _)| name.to_owned()).collect()
}

/// Says whether credentials in the results of wrapped servers are replaced.
fn redaction(redact: Option<bool>) -> String {
    match redact {
        Some(true) => REDACTION.to_owned(),
        Some(false) => "wrapped MCP servers start without `--redact secrets`, so results keep credentials where no rule in \
             tamis.yaml replaces them; these rules still apply"
            .to_owned(),
        None => "results of newly wrapped MCP servers keep credentials where no rule in tamis.yaml replaces them; with \
             --redact secrets they do not"
            .to_owned(),
    }
}

/// Says where outputs are kept, and how to prevent it.
fn storage(places: &Places, mcp: bool) -> String {
    let (store, settings) = (places.shown(&places.store()), places.shown(&places.configuration()));
    let memory = if mcp {
        "; `store: memory` there, or --store memory of a server, keeps its results in memory"
    } else {
        ""
    };
    format!(
        "full outputs stay in {store} for 24 hours; with `store: off` in {settings} hooks and servers store and shorten nothing{memory}"
    )
}

fn utf8<'p>(places: &Places, path: &'p Path) -> Result<&'p str, InstallError> {
    path.to_str().ok_or_else(|| InstallError {
        file: places.shown(path),
        message: "the path is not UTF-8".to_owned(),
        snippet: None,
    })
}

/// Refuses the path of something that an agent starts, if somebody else, or a command in a sandbox, can replace it.
fn check_path(
    planner: &mut Planner<'_>,
    options: InstallOptions,
    agent: Agent,
    path: &Path,
    examine: fn(&Path, &Places, Agent) -> Vec<trust::PathFault>,
) -> Result<(), InstallError> {
    let places = planner.places;
    utf8(places, path)?;
    for fault in examine(path, places, agent) {
        if fault.is_refusal && !options.trust_path {
            let message = format!(
                "{}, so {agent} may start another program in its place; use a folder that only you can write to, \
                 or add --trust-path",
                fault.text
            );
            return Err(InstallError { file: places.shown(path), message, snippet: None });
        }
        planner.note(format!("{}: {agent} may start another program in its place", fault.text));
    }
    Ok(())
}

/// Removes the files with full outputs that are in the folders of an agent's sessions.
#[cfg(unix)]
pub fn remove_session_files(agent: Agent, places: &Places) {
    if agent == Agent::ClaudeCode {
        crate::session_files::remove_all(&places.state);
    }
}

/// Does nothing: outputs of commands are kept on Unix only.
#[cfg(not(unix))]
pub fn remove_session_files(_agent: Agent, _places: &Places) {}

/// Plans the removal of everything that [`install`] added for an agent in this scope.
///
/// # Errors
/// A file cannot be edited safely; the error says what to remove by hand.
pub fn uninstall(agent: Agent, scope: Scope, places: &Places) -> Result<Plan, InstallError> {
    let mut planner = Planner::new(places)?;
    // Servers first: the record has entries of both.
    mcp::unwrap(&mut planner, agent, scope)?;
    agents::uninstall(&mut planner, agent, scope)?;
    planner.uninstall()
}
