//! Wraps configured MCP servers with `tamis mcp`, and unwraps them.
//!
//! The command of a server becomes `sh`, and its own command and arguments become the last arguments: they are the same
//! bytes as before, so that removing the proxy restores the file.

mod http;
mod json;
mod policy;
mod toml;

use std::path::{Path, PathBuf};

use super::places::Scope;
use super::plan::{InstallError, Planner};
use super::shape::quoted;
use super::started::Started;
use crate::agent::Agent;

pub(crate) use json::Servers;

/// The `$0` of the script in entries of earlier versions. Now it is the path of the program.
const OLDER_ZERO: &str = "tamis";

/// How servers are wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wrapping<'p> {
    pub(crate) scope: Scope,
    /// Without the program, the server does not start, and `TAMIS=off` has no effect.
    pub(crate) is_closed: bool,
    /// The path of `tamis-gateway`.
    pub(crate) program: &'p str,
}

/// Returns the script that starts a server, which is in its arguments.
fn script(scope: Scope, is_closed: bool) -> String {
    let closed = if is_closed { " --closed" } else { "" };
    let proxy = format!("exec \"$0\" mcp --config {}{closed} -- \"$@\"", config(scope));
    if is_closed {
        proxy
    } else {
        format!("[ -f \"$0\" ] && \"$0\" --version >/dev/null 2>&1 && {proxy}; exec \"$@\"")
    }
}

/// Returns the script of earlier versions, which starts the program by its name.
fn older_script(scope: Scope, is_closed: bool) -> String {
    let proxy = format!("exec tamis-gateway mcp --config {} -- \"$@\"", config(scope));
    if is_closed {
        proxy
    } else {
        format!("command -v tamis-gateway >/dev/null && {proxy}; exec \"$@\"")
    }
}

impl Wrapping<'_> {
    /// Returns the words before the command of the server.
    fn words(self) -> [String; 3] {
        ["-c".to_owned(), script(self.scope, self.is_closed), self.program.to_owned()]
    }

    /// Returns what a user has to write.
    fn snippet(self) -> String {
        let words = self.words().map(|word| quoted(&word)).join(", ");
        format!(
            "\"command\": \"sh\",\n\"args\": [{words}, \"COMMAND OF THE SERVER\", \"ITS ARGUMENTS\"]\n"
        )
    }
}

/// Returns the value of `tamis mcp --config`. The user's rules that remove for safety also apply in a project.
fn config(scope: Scope) -> &'static str {
    match scope {
        Scope::User => "user",
        Scope::Project => "both",
    }
}

/// Whether these are the first arguments of `sh` in a wrapped server, whatever program it starts.
fn is_wrapped<'a>(args: impl IntoIterator<Item = &'a str>) -> bool {
    let args: Vec<&str> = args.into_iter().take(4).collect();
    let [flag, text, zero, _command] = args.as_slice() else { return false };
    let written = |form: fn(Scope, bool) -> String| {
        let scopes = [Scope::User, Scope::Project].into_iter();
        let mut forms = scopes.flat_map(|scope| [form(scope, false), form(scope, true)]);
        forms.any(|form| form == *text)
    };
    let is_path = Path::new(zero).is_absolute();
    *flag == "-c" && (is_path && written(script) || *zero == OLDER_ZERO && written(older_script))
}

/// Whether the user started the proxy in another way.
fn is_proxied(command: &str, first: Option<&str>) -> bool {
    let name = command.rsplit('/').next().unwrap_or_default();
    matches!(name, "tamis" | "tamis-gateway") && first == Some("mcp")
}

/// The result for one server.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Wrapped,
    Already,
    /// It is left as it is, for this reason.
    Kept(String),
}

/// The server as the user knows it, and the result.
type Outcomes = Vec<(String, Outcome)>;

/// Wraps the servers of an agent.
pub(crate) fn wrap(
    planner: &mut Planner<'_>,
    agent: Agent,
    wrapping: Wrapping<'_>,
) -> Result<(), InstallError> {
    if let Some(reason) = policy::objection(planner.places, agent) {
        planner.note(format!("no MCP server is wrapped: {reason}"));
        return Ok(());
    }
    let mut wrapped = 0;
    for (path, servers) in json::files(planner.places, agent, wrapping.scope) {
        let is_tracked = wrapping.scope == Scope::Project && super::git::is_tracked(&path);
        let file = planner.open(&path)?;
        let Some(text) = file.text.clone().filter(|_| !is_tracked) else {
            if file.text.is_some() {
                let note =
                    format!("{}: tracked by git, so its MCP servers are not wrapped", file.shown);
                planner.note(note);
            }
            continue;
        };
        if text.trim_start_matches('\u{feff}').trim().is_empty() {
            continue;
        }
        let mut record = file.record.clone().unwrap_or_default();
        let edited = match servers {
            Servers::Toml => toml::wrap(&text, wrapping, &mut record),
            _ => json::wrap(&text, servers, wrapping, &mut record),
        };
        let (text, outcomes) =
            edited.map_err(|message| file.fail(message, Some(wrapping.snippet())))?;
        let shown = file.shown.clone();
        if file.text.as_ref() != Some(&text) {
            file.record = Some(record);
            file.text = Some(text);
        }
        for (name, outcome) in outcomes {
            match outcome {
                Outcome::Wrapped | Outcome::Already => wrapped += 1,
                Outcome::Kept(reason) => {
                    planner.note(format!("{shown}: MCP server {name} is not wrapped: {reason}"));
                }
            }
        }
    }
    if wrapped == 0 {
        planner.note("no MCP server is configured that can be wrapped");
    } else if !Path::new(wrapping.program).is_file() {
        let program = wrapping.program;
        planner.note(if wrapping.is_closed {
            format!("{program} is missing: the wrapped MCP servers do not start without it")
        } else {
            format!("{program} is missing: until it is there, the wrapped MCP servers run without filters")
        });
    }
    Ok(())
}

/// Removes the proxy from the servers of an agent.
pub(crate) fn unwrap(
    planner: &mut Planner<'_>,
    agent: Agent,
    scope: Scope,
) -> Result<(), InstallError> {
    for (path, servers) in json::files(planner.places, agent, scope) {
        let file = planner.open(&path)?;
        let Some(text) = file.text.clone().filter(|text| text.contains("tamis")) else { continue };
        let record = file.record.clone().unwrap_or_default();
        let edited = match servers {
            Servers::Toml => toml::unwrap(&text, &record),
            _ => json::unwrap(&text, servers, &record),
        };
        let remedy = || {
            let remedy = "in each MCP server whose command is `sh` and whose arguments have `tamis`, remove what is before its command\n";
            Some(remedy.to_owned())
        };
        file.text = Some(edited.map_err(|message| file.fail(message, remedy()))?);
    }
    Ok(())
}

/// Returns the program by its path. `None`: it is looked up by its name.
fn started_by(word: &str) -> Started {
    Some(PathBuf::from(word)).filter(|path| path.is_absolute())
}

/// Returns the program that each wrapped server of each file starts, or why that is not known.
pub(crate) fn wrapped(
    places: &super::Places,
    agent: Agent,
    scope: Scope,
) -> Vec<(PathBuf, Result<Vec<Started>, String>)> {
    let mut found = Vec::new();
    for (path, servers) in json::files(places, agent, scope) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if !text.contains("tamis") {
            continue;
        }
        let started = match servers {
            Servers::Toml => toml::started(&text),
            _ => json::started(&text, servers),
        };
        found.push((path, started));
    }
    found
}
