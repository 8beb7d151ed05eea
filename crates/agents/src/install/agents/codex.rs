//! Codex CLI: a hook before shell commands, in `hooks.json`, or in `config.toml` if hooks are there.

use std::path::PathBuf;

use crate::agent::Agent;
use crate::install::hooks::{HookList, HookPlace, command, is_own};
use crate::install::places::{Places, Scope};
use crate::install::plan::{InstallError, PlannedFile, Planner};
use crate::install::shape::{Shape, newline_of};
use crate::install::toml_text::TomlText;

pub(crate) const HOOK: HookPlace =
    HookPlace { agent: Agent::Codex, event: "PreToolUse", list: HookList::Grouped };

/// Seconds.
const TIMEOUT: u64 = 20;
const MATCHER: &str = "^Bash$";
/// The pointer under which the record has the line ends before the block.
const BLOCK: &str = "#hooks";

fn files(places: &Places, scope: Scope) -> (PathBuf, PathBuf) {
    let folder = places.folder(Agent::Codex, scope);
    (folder.join("hooks.json"), folder.join("config.toml"))
}

fn entry(scope: Scope) -> Shape {
    let hook = Shape::object([
        ("type", Shape::text("command")),
        ("command", Shape::text(command(Agent::Codex, scope))),
        ("timeout", Shape::Number(TIMEOUT)),
    ]);
    Shape::object([("matcher", Shape::text(MATCHER)), ("hooks", Shape::Array(vec![hook]))])
}

/// The same entry in TOML.
fn block(scope: Scope, newline: &str) -> String {
    let command = command(Agent::Codex, scope);
    [
        "[[hooks.PreToolUse]]",
        &format!("matcher = \"{MATCHER}\""),
        "",
        "[[hooks.PreToolUse.hooks]]",
        "type = \"command\"",
        &format!("command = \"{command}\""),
        &format!("timeout = {TIMEOUT}"),
        "",
    ]
    .join(newline)
}

/// Returns the block of ours in a text: its scope, and its place.
pub(crate) fn own_block(text: &str) -> Option<(Scope, std::ops::Range<usize>)> {
    let newline = newline_of(text);
    [Scope::User, Scope::Project].into_iter().find_map(|scope| {
        let block = block(scope, newline);
        let start = text.find(&block)?;
        let begins_line =
            start == 0 || text.get(..start).is_some_and(|before| before.ends_with('\n'));
        begins_line.then(|| (scope, start..start + block.len()))
    })
}

/// Returns whether the text has hooks. The approvals of hooks, which Codex also writes there, do not count.
fn has_hooks(toml: &TomlText<'_>) -> bool {
    let hooks = toml.get(&["hooks"]).map(|hooks| hooks.members()).unwrap_or_default();
    hooks.iter().any(|(name, _)| name != "state")
}

/// Whether a hook of ours is in the text, in any form.
fn has_own(toml: &TomlText<'_>) -> bool {
    !own_positions(toml).is_empty()
}

/// Returns the positions of our hooks: that of the group, and that in the group.
pub(crate) fn own_positions(toml: &TomlText<'_>) -> Vec<(usize, usize)> {
    let groups = toml.get(&["hooks", HOOK.event]).map(|event| event.elements()).unwrap_or_default();
    let mut found = Vec::new();
    for (group, node) in groups.iter().enumerate() {
        let hooks = node.get("hooks").map(|hooks| hooks.elements()).unwrap_or_default();
        for (at, hook) in hooks.iter().enumerate() {
            let command = hook.get("command");
            if command
                .and_then(|command| command.string())
                .is_some_and(|line| is_own(Agent::Codex, line))
            {
                found.push((group, at));
            }
        }
    }
    found
}

pub(super) fn install(planner: &mut Planner<'_>, scope: Scope) -> Result<(), InstallError> {
    let (json, config) = files(planner.places, scope);
    let has_json = planner.open(&json)?.text.is_some();
    let file = planner.open(&config)?;
    let text = file.text.clone().unwrap_or_default();
    let snippet = Some(block(scope, "\n"));
    let toml = TomlText::parse(&text);
    let toml = toml.map_err(|reason| file.fail(not_valid(&reason), snippet.clone()))?;
    let enabled = toml.get(&["features", "hooks"]).map(|value| value.span());
    let is_off = enabled.is_some_and(|span| text.get(span) == Some("false"));
    if has_own(&toml) || (has_hooks(&toml) && !has_json) {
        append(file, &text, scope)?;
    } else {
        let file = planner.open(&json)?;
        HOOK.add(file, scope, &entry(scope))?;
    }
    if is_off {
        planner.note("hooks are switched off in config.toml: features.hooks = false");
    }
    planner.note("Codex runs a hook only after you have approved it: start codex and enter /hooks");
    if scope == Scope::Project {
        planner.note("Codex reads hooks of a project only if it trusts the project");
    }
    Ok(())
}

fn not_valid(reason: &str) -> String {
    format!("not valid TOML: {reason}; the file is left as it is")
}

fn append(file: &mut PlannedFile, text: &str, scope: Scope) -> Result<(), InstallError> {
    let newline = newline_of(text);
    let new = block(scope, newline);
    let snippet = Some(new.clone());
    if let Some((old, range)) = own_block(text) {
        if old != scope {
            file.text = Some(
                [text.get(..range.start), Some(&new), text.get(range.end..)]
                    .into_iter()
                    .flatten()
                    .collect(),
            );
        }
        return Ok(());
    }
    let toml =
        TomlText::parse(text).map_err(|reason| file.fail(not_valid(&reason), snippet.clone()))?;
    if has_own(&toml) {
        // In another form, by hand: it works.
        return Ok(());
    }
    let lead = match text {
        "" => String::new(),
        text if text.ends_with('\n') => newline.to_owned(),
        _ => newline.repeat(2),
    };
    let edited = format!("{text}{lead}{new}");
    if !TomlText::parse(&edited).is_ok_and(|toml| has_own(&toml)) {
        let message = "its hooks are written in a form to which nothing can be appended; the file is left as it is";
        return Err(file.fail(message, snippet));
    }
    let record = file.recorded();
    record.around.insert(BLOCK.to_owned(), (lead, String::new()));
    file.text = Some(edited);
    Ok(())
}

pub(super) fn uninstall(planner: &mut Planner<'_>, scope: Scope) -> Result<(), InstallError> {
    let (json, config) = files(planner.places, scope);
    HOOK.remove(planner.open(&json)?)?;
    let file = planner.open(&config)?;
    let Some(text) = file.text.clone() else { return Ok(()) };
    let Some((_, range)) = own_block(&text) else {
        if TomlText::parse(&text).is_ok_and(|toml| has_own(&toml)) {
            let message = "its hook of tamis was changed; remove it by hand";
            return Err(file.fail(message, Some(block(scope, "\n"))));
        }
        return Ok(());
    };
    let before = text.get(..range.start).unwrap_or_default();
    let after = text.get(range.end..).unwrap_or_default();
    let newline = newline_of(&text);
    let lead = file.record.as_ref().and_then(|record| record.around.get(BLOCK));
    let lead = lead.map_or(newline, |(lead, _)| lead.as_str());
    // A line end that the file did not have is needed if something follows.
    let lead = if after.is_empty() { lead } else { lead.get(..newline.len()).unwrap_or(lead) };
    let before = before.strip_suffix(lead).unwrap_or(before);
    let edited = format!("{before}{after}");
    if TomlText::parse(&edited).is_err() {
        let message = "its hook of tamis cannot be removed safely; remove it by hand";
        return Err(file.fail(message, Some(block(scope, "\n"))));
    }
    let is_new = file.record.as_ref().is_some_and(|record| record.is_new);
    file.text = (!edited.is_empty() || !is_new).then_some(edited);
    Ok(())
}
