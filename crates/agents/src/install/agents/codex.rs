//! Codex CLI: a hook before shell commands, in `hooks.json`, or in `config.toml` if hooks are there.

use std::path::{Path, PathBuf};

use crate::agent::Agent;
use crate::install::hooks::{HookList, HookPlace, command, is_foreign, is_own};
use crate::install::places::{Places, Scope};
use crate::install::plan::{InstallError, PlannedFile, Planner};
use crate::install::shape::{Shape, newline_of, quoted};
use crate::install::toml_text::TomlText;

pub(crate) const HOOK: HookPlace =
    HookPlace { agent: Agent::Codex, event: "PreToolUse", list: HookList::Grouped, matchers: &[] };

/// Seconds.
const TIMEOUT: u64 = 20;
const MATCHER: &str = "^Bash$";
/// The pointer under which the record has the line ends before the block.
const BLOCK: &str = "#hooks";

fn files(places: &Places, scope: Scope) -> (PathBuf, PathBuf) {
    let folder = places.folder(Agent::Codex, scope);
    (folder.join("hooks.json"), folder.join("config.toml"))
}

fn entry(scope: Scope, program: &Path) -> Shape {
    let hook = Shape::object([
        ("type", Shape::text("command")),
        ("command", Shape::text(command(Agent::Codex, scope, program))),
        ("timeout", Shape::Number(TIMEOUT)),
    ]);
    Shape::object([("matcher", Shape::text(MATCHER)), ("hooks", Shape::Array(vec![hook]))])
}

/// The same entry in TOML.
fn block(scope: Scope, newline: &str, program: &Path) -> String {
    block_of(&quoted(&command(Agent::Codex, scope, program)), newline)
}

fn block_of(command: &str, newline: &str) -> String {
    [
        "[[hooks.PreToolUse]]",
        &format!("matcher = \"{MATCHER}\""),
        "",
        "[[hooks.PreToolUse.hooks]]",
        "type = \"command\"",
        &format!("command = {command}"),
        &format!("timeout = {TIMEOUT}"),
        "",
    ]
    .join(newline)
}

/// Returns the block of ours in a text: the command in it, and its place.
pub(crate) fn own_block(text: &str) -> Option<(String, std::ops::Range<usize>)> {
    const MARK: &str = "\0";
    let block = block_of(MARK, newline_of(text));
    let (before, after) = block.split_once(MARK)?;
    text.match_indices(before).find_map(|(start, _)| {
        let begins_line =
            start == 0 || text.get(..start).is_some_and(|before| before.ends_with('\n'));
        let rest = text.get(start + before.len()..)?;
        let command = rest.get(..rest.find(after)?)?;
        let line: String = serde_json::from_str(command).ok()?;
        let end = start + before.len() + command.len() + after.len();
        (begins_line && is_own(Agent::Codex, &line)).then_some((line, start..end))
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
    let own = |(group, at, line): (usize, usize, String)| {
        is_own(Agent::Codex, &line).then_some((group, at))
    };
    command_lines(toml).into_iter().filter_map(own).collect()
}

/// Returns the command lines of hooks that name tamis, but not in a form of ours.
pub(crate) fn foreign(toml: &TomlText<'_>) -> Vec<String> {
    let lines = command_lines(toml).into_iter().map(|(.., line)| line);
    lines.filter(|line| is_foreign(Agent::Codex, line)).collect()
}

/// Returns the command lines of hooks with their positions: that of the group, and that in the group.
fn command_lines(toml: &TomlText<'_>) -> Vec<(usize, usize, String)> {
    let groups = toml.get(&["hooks", HOOK.event]).map(|event| event.elements()).unwrap_or_default();
    let mut found = Vec::new();
    for (group, node) in groups.iter().enumerate() {
        let hooks = node.get("hooks").map(|hooks| hooks.elements()).unwrap_or_default();
        for (at, hook) in hooks.iter().enumerate() {
            let command = hook.get("command");
            if let Some(line) = command.and_then(|command| command.string()) {
                found.push((group, at, line.to_owned()));
            }
        }
    }
    found
}

pub(super) fn install(planner: &mut Planner<'_>, scope: Scope) -> Result<(), InstallError> {
    let (json, config) = files(planner.places, scope);
    let has_json = planner.open(&json)?.text.is_some();
    let program = planner.places.program.clone();
    let file = planner.open(&config)?;
    let text = file.text.clone().unwrap_or_default();
    let snippet = Some(block(scope, "\n", &program));
    let toml = TomlText::parse(&text);
    let toml = toml.map_err(|reason| file.fail(not_valid(&reason), snippet.clone()))?;
    let enabled = toml.get(&["features", "hooks"]).map(|value| value.span());
    let is_off = enabled.is_some_and(|span| text.get(span) == Some("false"));
    if has_own(&toml) || (has_hooks(&toml) && !has_json) {
        append(file, &text, scope, &program)?;
    } else {
        let file = planner.open(&json)?;
        HOOK.add(file, scope, &program, &entry(scope, &program))?;
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

fn append(
    file: &mut PlannedFile,
    text: &str,
    scope: Scope,
    program: &Path,
) -> Result<(), InstallError> {
    let newline = newline_of(text);
    let new = block(scope, newline, program);
    let snippet = Some(new.clone());
    if let Some((_, range)) = own_block(text) {
        let parts = [text.get(..range.start), Some(&new), text.get(range.end..)];
        file.text = Some(parts.into_iter().flatten().collect());
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

/// Returns what a user has to remove.
fn to_remove() -> String {
    "remove the block [[hooks.PreToolUse]] whose command has `hook codex`\n".to_owned()
}

pub(super) fn uninstall(planner: &mut Planner<'_>, scope: Scope) -> Result<(), InstallError> {
    let (json, config) = files(planner.places, scope);
    HOOK.remove(planner.open(&json)?)?;
    let file = planner.open(&config)?;
    let Some(text) = file.text.clone() else { return Ok(()) };
    let Some((_, range)) = own_block(&text) else {
        if TomlText::parse(&text).is_ok_and(|toml| has_own(&toml)) {
            let message = "its hook of tamis was changed; remove it by hand";
            return Err(file.fail(message, Some(to_remove())));
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
        return Err(file.fail(message, Some(to_remove())));
    }
    let is_new = file.record.as_ref().is_some_and(|record| record.is_new);
    file.text = (!edited.is_empty() || !is_new).then_some(edited);
    Ok(())
}
