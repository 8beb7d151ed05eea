//! Claude Code: a program that starts its shell commands, named in the settings.

use std::path::{Path, PathBuf};

use crate::agent::Agent;
use crate::install::edit::{Step, set_member};
use crate::install::git::is_tracked;
use crate::install::hooks::{HookList, HookPlace, command};
use crate::install::json::{JsonFault, parse};
use crate::install::places::{Places, Scope};
use crate::install::plan::{InstallError, Planner};
use crate::install::shape::Shape;
use crate::install::texts::{SCRIPT_MARKER, shell_script};
use crate::program::unquoted;

/// The variable that names the program.
pub(crate) const PREFIX: &str = "CLAUDE_CODE_SHELL_PREFIX";

/// The hook for the own tools that search.
pub(crate) const HOOK: HookPlace = HookPlace {
    agent: Agent::ClaudeCode,
    event: "PostToolUse",
    list: HookList::Grouped,
    matchers: &[MATCHER, "Grep|Glob"],
};

/// Exact names: other tools start no hook.
const MATCHER: &str = "Grep|Glob|WebFetch";
/// Seconds.
const TIMEOUT: u64 = 20;

fn entry(scope: Scope, program: &Path) -> Shape {
    let hook = Shape::object([
        ("type", Shape::text("command")),
        ("command", Shape::text(command(Agent::ClaudeCode, scope, program))),
        ("timeout", Shape::Number(TIMEOUT)),
    ]);
    Shape::object([("matcher", Shape::text(MATCHER)), ("hooks", Shape::Array(vec![hook]))])
}

const STEPS: [Step<'static>; 2] = [Step::Name("env"), Step::Name(PREFIX)];

/// The settings of a project that git does not track.
const LOCAL_SETTINGS: &str = "settings.local.json";

/// Returns the settings and the script. The script is in the user's folder: commands in a sandbox can write to the project.
fn files(places: &Places, scope: Scope) -> (PathBuf, PathBuf) {
    let folder = |scope| places.folder(Agent::ClaudeCode, scope);
    let (settings, script) = match scope {
        Scope::User => ("settings.json", "tamis-shell"),
        Scope::Project => (LOCAL_SETTINGS, "tamis-shell-project"),
    };
    (folder(scope).join(settings), folder(Scope::User).join(script))
}

/// Returns whether a value is one that an earlier version wrote.
fn is_older(places: &Places, scope: Scope, value: &str) -> bool {
    scope == Scope::Project && older_script(places).to_str() == Some(value)
}

/// Returns where earlier versions wrote the script for a project.
fn older_script(places: &Places) -> PathBuf {
    places.folder(Agent::ClaudeCode, Scope::Project).join("tamis-shell")
}

/// Returns the settings, the script, and the program that the settings name.
pub(crate) fn prefix_of(
    places: &Places,
    scope: Scope,
) -> (PathBuf, PathBuf, Result<Option<String>, JsonFault>) {
    let (settings, script) = files(places, scope);
    let text = std::fs::read_to_string(&settings).unwrap_or_default();
    let value = value_in(&text);
    (settings, script, value)
}

/// The state of the script that starts commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrefixScript {
    /// As this version writes it.
    Current,
    /// With our first lines, but another text.
    Changed,
    /// Another program.
    Foreign,
}

/// Returns the script that the settings name and its state. `None`: they name another one, or the
/// file is missing.
pub(crate) fn prefix_script_state(
    places: &Places,
    scope: Scope,
) -> Option<(PathBuf, PrefixScript)> {
    let (_, script, value) = prefix_of(places, scope);
    let value = value.ok().flatten()?;
    if Some(value.as_str()) != script.to_str() || !script.is_file() {
        return None;
    }
    let text = std::fs::read_to_string(&script).unwrap_or_default();
    let program = text.lines().find_map(|line| unquoted(line.strip_prefix("tamis=")?));
    let written = program.and_then(|program| shell_script(scope, Path::new(&program)));
    let state = if written.is_some_and(|written| written == text) {
        PrefixScript::Current
    } else if text.lines().any(|line| line == SCRIPT_MARKER) {
        PrefixScript::Changed
    } else {
        PrefixScript::Foreign
    };
    Some((script, state))
}

fn value_in(text: &str) -> Result<Option<String>, JsonFault> {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Ok(None);
    }
    let value = parse(text)?.get("env")?.map(|env| env.get(PREFIX)).transpose()?.flatten();
    Ok(value.map(|value| value.string().unwrap_or_else(|| value.raw().to_owned())))
}

pub(super) fn install(planner: &mut Planner<'_>, scope: Scope) -> Result<(), InstallError> {
    let places = planner.places;
    let (settings, script) = files(places, scope);
    let snippet =
        Shape::object([("env", Shape::object([(PREFIX, Shape::text(script.to_string_lossy()))]))]);
    let snippet = Some(snippet.document());
    let Some(program) = script.to_str() else {
        let file = planner.open(&settings)?;
        return Err(file.fail("the path of its folder is not UTF-8", None));
    };
    if scope == Scope::Project && is_tracked(&settings) {
        let file = planner.open(&settings)?;
        let message = "is tracked by git, and the program is a path on this machine; use --user";
        return Err(file.fail(message, snippet));
    }
    let Some(script_text) = shell_script(scope, &planner.places.program) else {
        let file = planner.open(&settings)?;
        return Err(file.fail("commands can be filtered on Unix only", None));
    };
    planner.own(&script, &script_text, SCRIPT_MARKER, 0o755)?;
    let file = planner.open(&settings)?;
    let text = file.text.clone().unwrap_or_default();
    match value_in(&text).map_err(|fault| file.json_failed(&fault, snippet.clone()))? {
        Some(value) if value == program => {
            let program = places.program.clone();
            return HOOK.add_with_record(file, scope, &program, &entry(scope, &program));
        }
        Some(value) if is_older(places, scope, &value) => {
            file.remove_at(&STEPS).map_err(|fault| file.edit_failed(fault, snippet.clone()))?;
        }
        Some(value) => {
            let message = format!(
                "{PREFIX} is already set to {value}; only one program can start the shell commands"
            );
            return Err(file.fail(message, snippet));
        }
        None => {}
    }
    file.forget_hooks();
    let text = file.text.clone().unwrap_or_default();
    let value = Shape::text(program);
    let edited = set_member(&text, &["env", PREFIX], &value, file.recorded());
    file.text = Some(edited.map_err(|fault| file.edit_failed(fault, snippet))?);
    HOOK.add_with_record(file, scope, &places.program, &entry(scope, &places.program))?;
    if std::env::var_os(PREFIX).is_some_and(|value| Path::new(&value) != script) {
        planner.note(format!(
            "{PREFIX} is also set in the environment of this shell, to another program"
        ));
    }
    planner.note("sessions of Claude Code that are running keep their settings; start new ones");
    Ok(())
}

pub(super) fn uninstall(planner: &mut Planner<'_>, scope: Scope) -> Result<(), InstallError> {
    let places = planner.places;
    let (settings, script) = files(places, scope);
    // First the settings: without its script, every command of Claude Code would fail.
    let file = planner.open(&settings)?;
    HOOK.remove(file)?;
    if let Some(text) = file.text.clone() {
        let remedy = || Some(format!("remove the variable {PREFIX} from `env`\n"));
        match value_in(&text) {
            Ok(Some(value))
                if script.to_str() == Some(value.as_str()) || is_older(places, scope, &value) =>
            {
                file.remove_at(&STEPS).map_err(|fault| file.edit_failed(fault, remedy()))?;
            }
            Err(fault) if text.contains(PREFIX) => return Err(file.json_failed(&fault, remedy())),
            _ => {}
        }
    }
    if scope == Scope::User {
        return planner.disown(&script, SCRIPT_MARKER, &[]);
    }
    let older = older_script(places);
    if older != files(places, Scope::User).1 {
        planner.disown(&older, SCRIPT_MARKER, &[])?;
    }
    // Commands of other projects do not run without the script.
    if planner.has_record_of_another(&settings) {
        planner.note(format!("{} stays: other projects use it", places.shown(&script)));
        return Ok(());
    }
    planner.disown(&script, SCRIPT_MARKER, &[])
}
