//! Gemini CLI: for the user an extension, which is a folder of its own; for a project a hook in its settings.

use std::path::PathBuf;

use crate::agent::Agent;
use crate::install::hooks::{HookList, HookPlace, command};
use crate::install::places::{Places, Scope};
use crate::install::plan::{InstallError, Planner};
use crate::install::shape::Shape;
use crate::install::texts::EXTENSION_MARKER;

pub(crate) const HOOK: HookPlace =
    HookPlace { agent: Agent::Gemini, event: "AfterTool", list: HookList::Grouped, matchers: &[] };

/// Milliseconds.
const TIMEOUT: u64 = 20_000;

/// Returns the folder of the extension.
pub(crate) fn extension_folder(places: &Places) -> PathBuf {
    places.folder(Agent::Gemini, Scope::User).join("extensions/tamis")
}

fn entry(scope: Scope, places: &Places) -> Shape {
    let hook = Shape::object([
        ("name", Shape::text("tamis")),
        ("type", Shape::text("command")),
        ("command", Shape::text(command(Agent::Gemini, scope, &places.program))),
        ("timeout", Shape::Number(TIMEOUT)),
    ]);
    Shape::object([
        ("matcher", Shape::text("run_shell_command|mcp_.*")),
        ("hooks", Shape::Array(vec![hook])),
    ])
}

fn settings(places: &Places) -> PathBuf {
    places.folder(Agent::Gemini, Scope::Project).join("settings.json")
}

pub(super) fn install(planner: &mut Planner<'_>, scope: Scope) -> Result<(), InstallError> {
    if scope == Scope::Project {
        let path = settings(planner.places);
        let places = planner.places;
        HOOK.add(planner.open(&path)?, scope, &places.program, &entry(scope, places))?;
        planner.note("Gemini CLI runs hooks of a project only in a trusted folder, and asks once");
        return Ok(());
    }
    let folder = extension_folder(planner.places);
    let about = Shape::object([
        ("name", Shape::text("tamis")),
        (
            "description",
            Shape::text("Filters the output of tools. Written by `tamis install gemini`."),
        ),
        ("version", Shape::text(env!("CARGO_PKG_VERSION"))),
    ]);
    let hooks = Shape::object([(
        "hooks",
        Shape::object([(HOOK.event, Shape::Array(vec![entry(scope, planner.places)]))]),
    )]);
    let manifest = folder.join("gemini-extension.json");
    planner.own(&manifest, &about.document(), EXTENSION_MARKER, 0o644)?;
    let path = folder.join("hooks/hooks.json");
    let file = planner.open(&path)?;
    let own = file.text.as_deref().map(|text| HOOK.installed(text));
    if own.is_some_and(|own| !own.is_ok_and(|own| !own.is_empty())) {
        return Err(file.fail("exists and was not written by tamis; move it away", None));
    }
    file.recorded();
    file.text = Some(hooks.document());
    Ok(())
}

pub(super) fn uninstall(planner: &mut Planner<'_>, scope: Scope) -> Result<(), InstallError> {
    if scope == Scope::Project {
        let path = settings(planner.places);
        return HOOK.remove(planner.open(&path)?);
    }
    let folder = extension_folder(planner.places);
    let hooks = folder.join("hooks");
    let file = planner.open(&hooks.join("hooks.json"))?;
    if file
        .text
        .as_deref()
        .is_some_and(|text| HOOK.installed(text).is_ok_and(|own| !own.is_empty()))
    {
        file.text = None;
        file.folders.push(hooks);
    }
    planner.disown(
        &folder.join("gemini-extension.json"),
        EXTENSION_MARKER,
        std::slice::from_ref(&folder),
    )
}
