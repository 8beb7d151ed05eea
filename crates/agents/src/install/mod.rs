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
//! - Our entries are recognised by their exact values. `record` knows what was there before.
//!
//! `json` and `toml_text` are views of a text; `shape` writes values; `places` knows where files are.

mod agents;
mod apply;
mod diff;
mod edit;
mod git;
mod hooks;
mod json;
mod mcp;
mod places;
mod plan;
mod record;
mod shape;
mod texts;
mod toml_text;

pub use places::{Places, Scope};
pub use plan::{InstallError, Plan};

pub(crate) use agents::{
    CODEX_HOOK, CURSOR_HOOK, GEMINI_HOOK, PREFIX, extension_folder, own_block, own_positions,
    plugin_path, prefix_of, programs,
};
pub(crate) use hooks::HookPlace;
pub(crate) use mcp::wrapped;
pub(crate) use texts::opencode_plugin as plugin_text;
pub(crate) use toml_text::TomlText;

use crate::agent::Agent;
use mcp::Wrapping;
use plan::Planner;

/// The parts of an installation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstallOptions {
    /// Whose files are changed.
    pub scope: Scope,
    /// Whether `tamis mcp` wraps the configured MCP servers.
    pub mcp: bool,
    /// Whether these servers do not start without it.
    pub closed: bool,
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
    agents::install(&mut planner, agent, options.scope)?;
    if options.mcp {
        let wrapping = Wrapping { scope: options.scope, is_closed: options.closed };
        mcp::wrap(&mut planner, agent, wrapping)?;
    }
    let programs = programs(agent);
    if !programs.iter().any(|name| places.program(name).is_some()) {
        let (title, name) = (agents::title(agent), programs.join(" or "));
        planner.note(format!("{title} was not found: {name} is not on the PATH"));
    }
    if places.program("tamis").is_none() {
        planner.note("tamis is not on the PATH: until it is, nothing is filtered");
    }
    planner.install()
}

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
