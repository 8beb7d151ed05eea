//! Wraps configured MCP servers with `tamis mcp`, and unwraps them.
//!
//! The command of a server becomes `sh`, and its own command and arguments become the last arguments: they are the same
//! bytes as before, so that removing the proxy restores the file.

mod http;
mod json;
mod policy;
mod toml;

use super::places::Scope;
use super::plan::{InstallError, Planner};
use super::shape::quoted;
use crate::agent::Agent;

pub(crate) use json::Servers;

/// The name that the script gets as `$0`, by which a wrapped server is recognised, together with the script.
const ZERO: &str = "tamis";

/// How servers are wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wrapping {
    pub(crate) scope: Scope,
    /// Without `tamis-gateway`, the server does not start.
    pub(crate) is_closed: bool,
}

impl Wrapping {
    const ALL: [Self; 4] = [
        Self { scope: Scope::User, is_closed: false },
        Self { scope: Scope::User, is_closed: true },
        Self { scope: Scope::Project, is_closed: false },
        Self { scope: Scope::Project, is_closed: true },
    ];

    /// Returns the script that starts a server, which is in its arguments.
    fn script(self) -> String {
        let config = config(self.scope);
        let proxy = format!("exec tamis-gateway mcp --config {config} -- \"$@\"");
        if self.is_closed {
            proxy
        } else {
            format!("command -v tamis-gateway >/dev/null && {proxy}; exec \"$@\"")
        }
    }

    /// Returns the words before the command of the server.
    fn words(self) -> [String; 3] {
        ["-c".to_owned(), self.script(), ZERO.to_owned()]
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

/// Whether these are the first arguments of `sh` in a wrapped server.
fn is_wrapped<'a>(args: impl IntoIterator<Item = &'a str>) -> bool {
    let args: Vec<&str> = args.into_iter().take(4).collect();
    let [flag, script, zero, _command] = args.as_slice() else { return false };
    let known = || Wrapping::ALL.iter().any(|wrapping| wrapping.script() == *script);
    *flag == "-c" && *zero == ZERO && known()
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
    wrapping: Wrapping,
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
    } else if planner.places.program("tamis-gateway").is_none() {
        planner.note(if wrapping.is_closed {
            "tamis-gateway is not on the PATH: the wrapped MCP servers do not start without it"
        } else {
            "tamis-gateway is not on the PATH: until it is, the wrapped MCP servers run without filters"
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
            let remedy = "in each MCP server whose command is `sh` with the argument `tamis`, remove what is before its command\n";
            Some(remedy.to_owned())
        };
        file.text = Some(edited.map_err(|message| file.fail(message, remedy()))?);
    }
    Ok(())
}

/// Returns how many servers of each file are wrapped, or why that is not known.
pub(crate) fn wrapped(
    places: &super::Places,
    agent: Agent,
    scope: Scope,
) -> Vec<(std::path::PathBuf, Result<usize, String>)> {
    let mut found = Vec::new();
    for (path, servers) in json::files(places, agent, scope) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if !text.contains("tamis") {
            continue;
        }
        let count = match servers {
            Servers::Toml => toml::count(&text),
            _ => json::count(&text, servers),
        };
        found.push((path, count));
    }
    found
}
