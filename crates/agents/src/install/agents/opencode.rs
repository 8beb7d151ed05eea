//! opencode: a plugin, which is a file of its own.

use std::path::PathBuf;

use crate::agent::Agent;
use crate::install::places::{Places, Scope};
use crate::install::plan::{InstallError, Planner};
use crate::install::texts::{PLUGIN_MARKER, opencode_plugin};

/// Returns the path of the plugin.
pub(crate) fn plugin_path(places: &Places, scope: Scope) -> PathBuf {
    places.folder(Agent::Opencode, scope).join("plugins/tamis.js")
}

pub(super) fn install(planner: &mut Planner<'_>, scope: Scope) -> Result<(), InstallError> {
    let path = plugin_path(planner.places, scope);
    let text = opencode_plugin(scope, &planner.places.program);
    planner.own(&path, &text, PLUGIN_MARKER, 0o644)
}

pub(super) fn uninstall(planner: &mut Planner<'_>, scope: Scope) -> Result<(), InstallError> {
    let path = plugin_path(planner.places, scope);
    planner.disown(&path, PLUGIN_MARKER, &[])
}
