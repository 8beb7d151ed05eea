//! Cursor: a hook after tools. It can replace results of MCP servers only. Untested.

use std::path::PathBuf;

use crate::agent::Agent;
use crate::install::edit::{Step, set_member};
use crate::install::hooks::{HookList, HookPlace, command};
use crate::install::json::parse;
use crate::install::places::{Places, Scope};
use crate::install::plan::{InstallError, Planner};
use crate::install::shape::Shape;

pub(crate) const HOOK: HookPlace =
    HookPlace { agent: Agent::Cursor, event: "postToolUse", list: HookList::Flat, matchers: &[] };

const VERSION: &str = "version";

fn file(places: &Places, scope: Scope) -> PathBuf {
    places.folder(Agent::Cursor, scope).join("hooks.json")
}

pub(super) fn install(planner: &mut Planner<'_>, scope: Scope) -> Result<(), InstallError> {
    let path = file(planner.places, scope);
    let entry = Shape::object([
        ("command", Shape::text(command(Agent::Cursor, scope, &planner.places.program))),
        ("matcher", Shape::text("MCP:.*")),
    ]);
    let program = &planner.places.program;
    let file = planner.open(&path)?;
    HOOK.add(file, scope, program, &entry)?;
    let text = file.text.clone().unwrap_or_default();
    let has_version = parse(&text).and_then(|root| root.get(VERSION));
    if has_version.map_err(|fault| file.json_failed(&fault, None))?.is_none() {
        let record = file.recorded();
        record.added.insert(format!("/{VERSION}"));
        let edited = set_member(&text, &[VERSION], &Shape::Number(1), record);
        file.text = Some(edited.map_err(|fault| file.edit_failed(fault, None))?);
    }
    planner
        .note("Cursor: untested; the hook filters results of MCP servers, not of shell commands");
    Ok(())
}

pub(super) fn uninstall(planner: &mut Planner<'_>, scope: Scope) -> Result<(), InstallError> {
    let path = file(planner.places, scope);
    let file = planner.open(&path)?;
    let had_own = file
        .text
        .as_deref()
        .is_some_and(|text| HOOK.installed(text).is_ok_and(|own| !own.is_empty()));
    let added = file.record.as_ref().is_some_and(|record| record.added.contains("/version"));
    if had_own && added {
        // The version was written last.
        let steps = [Step::Name(VERSION)];
        file.remove_at(&steps).map_err(|fault| file.edit_failed(fault, None))?;
    }
    HOOK.remove(file)
}
