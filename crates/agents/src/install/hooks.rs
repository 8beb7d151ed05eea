//! Entries for hooks in JSON: which command they run, how they are found, added and removed.

use std::path::{Path, PathBuf};

use super::edit::{EditFault, Step, push_element, remove, splice};
use super::json::{JsonFault, JsonNode, parse};
use super::places::Scope;
use super::plan::{InstallError, PlannedFile};
use super::shape::{Shape, quoted};
use crate::agent::Agent;
use crate::program::{HookLine, names_program};

/// Returns the form of the command line of a hook.
///
/// Without the program, or if it fails, the hook prints nothing and ends with 0: the agent goes on as if it were not there.
fn form(agent: Agent, scope: Scope) -> HookLine {
    HookLine::new(&arguments(agent, scope), otherwise(agent))
}

fn arguments(agent: Agent, scope: Scope) -> String {
    format!("hook {} --config {}", hook_name(agent), scope.as_str())
}

fn otherwise(agent: Agent) -> &'static str {
    match agent {
        // An empty output is an error for it.
        Agent::Cursor => r#"echo "{}""#,
        _ => "exit 0",
    }
}

/// Returns the command line of a hook.
pub(crate) fn command(agent: Agent, scope: Scope, program: &Path) -> String {
    form(agent, scope).of(program)
}

/// Returns the line that earlier versions wrote, which starts the program by its name.
pub(crate) fn older_command(agent: Agent, scope: Scope) -> String {
    let otherwise = if agent == Agent::Cursor { "echo '{}'" } else { "exit 0" };
    let arguments = arguments(agent, scope);
    format!("command -v tamis >/dev/null 2>&1 && tamis {arguments} 2>/dev/null || {otherwise}")
}

/// Returns the name of the hook in `tamis hook NAME`.
pub(crate) fn hook_name(agent: Agent) -> &'static str {
    agent.as_str()
}

/// Returns whether a command line is one that an installation writes, whatever program it starts.
pub(crate) fn is_own(agent: Agent, line: &str) -> bool {
    [Scope::User, Scope::Project].iter().any(|scope| {
        form(agent, *scope).program(line).is_some() || older_command(agent, *scope) == line
    })
}

/// Returns whether a command line starts tamis, but not in a form that an installation writes.
pub(crate) fn is_foreign(agent: Agent, line: &str) -> bool {
    names_program(line) && !is_own(agent, line)
}

/// Returns the program that a command line of ours starts. `None`: it is looked up by its name.
pub(crate) fn program_of(agent: Agent, line: &str) -> Option<PathBuf> {
    [Scope::User, Scope::Project].iter().find_map(|scope| form(agent, *scope).program(line))
}

/// How the hooks of an event are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookList {
    /// Groups, each with a matcher and a list of hooks.
    Grouped,
    /// Hooks.
    Flat,
}

/// The place of a hook: the event, the agent that runs it, and its shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HookPlace {
    pub(crate) agent: Agent,
    pub(crate) event: &'static str,
    pub(crate) list: HookList,
    /// The matcher of the group, and those that earlier versions wrote.
    pub(crate) matchers: &'static [&'static str],
}

/// A hook in a text.
struct OwnHook<'a> {
    steps: Vec<Step<'static>>,
    command: JsonNode<'a>,
}

impl HookPlace {
    /// Returns our hooks, in the order of the text.
    fn own<'a>(&self, text: &'a str) -> Result<Vec<OwnHook<'a>>, JsonFault> {
        self.hooks(text, |line| is_own(self.agent, line))
    }

    /// Returns the command lines of hooks that name tamis, but not in a form of ours.
    pub(crate) fn foreign(&self, text: &str) -> Result<Vec<String>, JsonFault> {
        let found = self.hooks(text, |line| is_foreign(self.agent, line))?;
        Ok(found.iter().filter_map(|hook| hook.command.string()).collect())
    }

    /// Returns the hooks whose command lines are wanted, in the order of the text.
    fn hooks<'a>(
        &self,
        text: &'a str,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<OwnHook<'a>>, JsonFault> {
        if text.trim_start_matches('\u{feff}').trim().is_empty() {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        let Some(event) = parse(text)?.get("hooks")?.map(|hooks| hooks.get(self.event)) else {
            return Ok(found);
        };
        let base = [Step::Name("hooks"), Step::Name(self.event)];
        for (at, entry) in
            event?.map(|event| event.elements()).transpose()?.into_iter().flatten().enumerate()
        {
            let hooks = match self.list {
                HookList::Flat => vec![(Vec::new(), entry)],
                HookList::Grouped => {
                    let hooks = entry.get("hooks")?.map(|hooks| hooks.elements()).transpose()?;
                    let hooks = hooks.into_iter().flatten().enumerate();
                    hooks
                        .map(|(at, hook)| (vec![Step::Name("hooks"), Step::Element(at)], hook))
                        .collect()
                }
            };
            for (inner, hook) in hooks {
                let Some(command) = hook.get("command")? else { continue };
                if command.string().is_some_and(|line| is_wanted(&line)) {
                    let steps = base.into_iter().chain([Step::Element(at)]).chain(inner).collect();
                    found.push(OwnHook { steps, command });
                }
            }
        }
        Ok(found)
    }

    /// Returns the command lines of our hooks in a text.
    pub(crate) fn installed(&self, text: &str) -> Result<Vec<String>, JsonFault> {
        Ok(self.own(text)?.iter().filter_map(|hook| hook.command.string()).collect())
    }

    /// Returns the positions of our hooks in a text: that of the group, and that in the group.
    pub(crate) fn positions(&self, text: &str) -> Result<Vec<(usize, usize)>, JsonFault> {
        let elements = |hook: &OwnHook<'_>| {
            let mut at = hook.steps.iter().filter_map(|step| match step {
                Step::Element(at) => Some(*at),
                Step::Name(_) => None,
            });
            (at.next().unwrap_or_default(), at.next().unwrap_or_default())
        };
        Ok(self.own(text)?.iter().map(elements).collect())
    }

    /// Appends our hook, or corrects the command line and the matcher of the one that is there.
    pub(crate) fn add(
        &self,
        file: &mut PlannedFile,
        scope: Scope,
        program: &Path,
        entry: &Shape,
    ) -> Result<(), InstallError> {
        let text = file.text.clone().unwrap_or_default();
        if self.own(&text).is_ok_and(|own| own.is_empty()) {
            // An earlier record is not about this text.
            file.forget_hooks();
        }
        self.add_with_record(file, scope, program, entry)
    }

    /// Does the same in a text that may have other entries of ours, whose record is kept.
    pub(crate) fn add_with_record(
        &self,
        file: &mut PlannedFile,
        scope: Scope,
        program: &Path,
        entry: &Shape,
    ) -> Result<(), InstallError> {
        let snippet = Shape::object([(
            "hooks",
            Shape::object([(self.event, Shape::Array(vec![entry.clone()]))]),
        )]);
        let snippet = Some(snippet.document());
        let text = file.text.clone().unwrap_or_default();
        let own = self.own(&text).map_err(|fault| file.json_failed(&fault, snippet.clone()))?;
        let line = command(self.agent, scope, program);
        if own.is_empty() {
            let names = ["hooks", self.event];
            let added = push_element(&text, &names, entry, file.recorded());
            file.text = Some(added.map_err(|fault| file.edit_failed(fault, snippet))?);
            return Ok(());
        }
        let old = own.iter().filter(|hook| hook.command.string().as_ref() != Some(&line));
        let lines = old.map(|hook| (hook.command.start..hook.command.end, quoted(&line)));
        let older =
            self.older_matchers(&text).map_err(|fault| file.json_failed(&fault, snippet))?;
        let matcher = self.matchers.first().copied().unwrap_or_default();
        let matchers = older.iter().map(|node| (node.start..node.end, quoted(matcher)));
        file.text = Some(splice(&text, lines.chain(matchers).collect()));
        Ok(())
    }

    /// Returns the matchers of groups that have only our hooks, if earlier versions wrote them. One that the user has chosen stays.
    fn older_matchers<'a>(&self, text: &'a str) -> Result<Vec<JsonNode<'a>>, JsonFault> {
        let positions = self.positions(text)?;
        let [_, older @ ..] = self.matchers else { return Ok(Vec::new()) };
        if positions.is_empty() || older.is_empty() {
            return Ok(Vec::new());
        }
        let event = parse(text)?.get("hooks")?.map(|hooks| hooks.get(self.event)).transpose()?;
        let groups = event.flatten().map(|event| event.elements()).transpose()?.unwrap_or_default();
        let mut found = Vec::new();
        for (at, group) in groups.iter().enumerate() {
            let own = positions.iter().filter(|(group, _)| *group == at).count();
            let hooks = group.get("hooks")?.map(|hooks| hooks.elements()).transpose()?;
            if own == 0 || hooks.is_none_or(|hooks| hooks.len() != own) {
                continue;
            }
            let is_older = |node: &JsonNode<'_>| {
                node.string().is_some_and(|matcher| older.contains(&matcher.as_str()))
            };
            found.extend(group.get("matcher")?.filter(is_older));
        }
        Ok(found)
    }

    /// Returns the tools that a hook of an earlier version lacks.
    pub(crate) fn lacking(&self, text: &str) -> Result<Vec<&'static str>, JsonFault> {
        let older: Vec<String> =
            self.older_matchers(text)?.iter().filter_map(JsonNode::string).collect();
        let tools = self.matchers.first().into_iter().flat_map(|matcher| matcher.split('|'));
        let lacks = |tool: &&str| older.iter().any(|older| older.split('|').all(|it| it != *tool));
        Ok(tools.filter(lacks).collect())
    }

    /// Removes our hooks.
    pub(crate) fn remove(&self, file: &mut PlannedFile) -> Result<(), InstallError> {
        while let Some(text) = file.text.clone() {
            let own = match self.own(&text) {
                Ok(own) => own,
                Err(_) if !text.contains("tamis") => return Ok(()),
                Err(fault) => return Err(file.json_failed(&fault, Some(self.lines_to_remove()))),
            };
            let Some(first) = own.first() else { return Ok(()) };
            file.remove_at(&first.steps).map_err(|fault| file.edit_failed(fault, None))?;
        }
        Ok(())
    }

    fn lines_to_remove(self) -> String {
        format!("remove the hooks whose command has `hook {}`\n", hook_name(self.agent))
    }
}

impl PlannedFile {
    /// Removes a member or an element. A document that held nothing else is as it was before the installation.
    pub(crate) fn remove_at(&mut self, steps: &[Step<'_>]) -> Result<(), EditFault> {
        let Some(text) = &self.text else { return Ok(()) };
        let left = remove(text, steps, self.record.as_ref())?;
        self.text = match (left, &self.record) {
            (Some(left), _) => Some(left),
            (None, Some(record)) if record.is_new => None,
            (None, record) => {
                let blank =
                    record.as_ref().and_then(|record| record.blank.clone()).unwrap_or_default();
                let mark = if text.starts_with('\u{feff}') { "\u{feff}" } else { "" };
                Some(format!("{mark}{blank}"))
            }
        };
        Ok(())
    }
}
