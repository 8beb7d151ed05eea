//! The form of a wrapped server: how it is written, and how it is recognised.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::install::places::Scope;
use crate::install::shape::quoted;
use crate::install::started::Started;
use crate::program::names_program;

/// The `$0` of the script in entries of earlier versions. Now it is the path of the program.
const OLDER_ZERO: &str = "tamis";

/// How servers are wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wrapping<'p> {
    pub(crate) scope: Scope,
    /// Without the program, the server does not start, and `TAMIS=off` has no effect. Entries that have it keep it in any
    /// case: only without the entry it ends.
    pub(crate) is_closed: bool,
    /// Whether credentials in results are replaced. `None`: as in the entry, and in new ones they are not.
    pub(crate) redacts: Option<bool>,
    /// The path of `tamis-gateway`.
    pub(crate) program: &'p str,
    /// The servers for which the user's `tamis.yaml` has rules, by the names of their entries.
    pub(crate) names: &'p [String],
    /// The name of this server, if it is one of them.
    pub(crate) name: Option<&'p str>,
}

/// The flag of the proxy that replaces credentials.
pub(super) const REDACT: [&str; 2] = ["--redact", "secrets"];

/// The flag of the proxy with the name of the server.
const NAME: &str = "--name";

/// The end of a script that starts the server itself if the proxy is missing.
const FALLBACK: &str = "; exec \"$@\"";

/// Returns the script that starts a server, which is in its arguments.
fn script(scope: Scope, is_closed: bool, redacts: bool, name: Option<&str>) -> String {
    let closed = if is_closed { " --closed" } else { "" };
    let [flag, what] = REDACT;
    let redact = if redacts { format!(" {flag} {what}") } else { String::new() };
    let name = name.map(|name| format!(" {NAME} {name}")).unwrap_or_default();
    let proxy =
        format!("exec \"$0\" mcp --config {}{closed}{redact}{name} -- \"$@\"", config(scope));
    if is_closed {
        proxy
    } else {
        format!("[ -f \"$0\" ] && \"$0\" --version >/dev/null 2>&1 && {proxy}{FALLBACK}")
    }
}

/// Returns the script of earlier versions, which starts the program by its name.
fn older_script(scope: Scope, is_closed: bool) -> String {
    let proxy = format!("exec tamis-gateway mcp --config {} -- \"$@\"", config(scope));
    if is_closed {
        proxy
    } else {
        format!("command -v tamis-gateway >/dev/null && {proxy}{FALLBACK}")
    }
}

impl<'p> Wrapping<'p> {
    /// Returns how the server with this name is wrapped. Without its name, or where it would need quotes, that counts which the server gives
    /// itself.
    pub(super) fn of_server(self, name: &str) -> Self {
        let mut names = self.names.iter().map(String::as_str);
        Self { name: names.find(|known| *known == name && is_plain(known)), ..self }
    }

    /// Returns the words of the proxy's command line for that name.
    pub(super) fn name_words(self) -> Vec<&'p str> {
        self.name.map(|name| vec![NAME, name]).unwrap_or_default()
    }

    /// Returns the words before the command of the server.
    pub(super) fn words(self) -> [String; 3] {
        let script = script(self.scope, self.is_closed, self.redacts == Some(true), self.name);
        ["-c".to_owned(), script, self.program.to_owned()]
    }

    /// Returns how a server stays wrapped whose arguments are `args`: closed if it was, and unless the user says otherwise,
    /// with the same redaction.
    pub(super) fn renewed<'a>(mut self, mut args: impl Iterator<Item = &'a str>) -> Self {
        let script = args.nth(1).unwrap_or_default();
        self.is_closed |= !script.ends_with(FALLBACK);
        self.redacts = Some(self.redacts.unwrap_or_else(|| script.contains(&REDACT.join(" "))));
        self
    }

    /// Returns what a user has to write.
    pub(super) fn snippet(self) -> String {
        let words = self.words().map(|word| quoted(&word)).join(", ");
        format!(
            "\"command\": \"sh\",\n\"args\": [{words}, \"COMMAND OF THE SERVER\", \"ITS ARGUMENTS\"]\n"
        )
    }
}

/// Returns the value of `tamis mcp --config`. The user's rules that remove for safety also apply in a project.
pub(super) fn config(scope: Scope) -> &'static str {
    match scope {
        Scope::User => "user",
        Scope::Project => "both",
    }
}

/// Whether a shell reads a name as one word also without quotes, and the proxy does not read it as a flag.
fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=128).contains(&name.len()) && !name.starts_with('-') && name.bytes().all(is_plain)
}

/// Returns a script without the name of its server.
fn without_name(script: &str) -> Cow<'_, str> {
    let flag = format!(" {NAME} ");
    let Some((before, rest)) = script.split_once(&flag) else { return Cow::Borrowed(script) };
    match rest.split_once(' ') {
        Some((name, after)) if is_plain(name) => Cow::Owned(format!("{before} {after}")),
        _ => Cow::Borrowed(script),
    }
}

/// Whether these are the first arguments of `sh` in a wrapped server, whatever program it starts.
pub(super) fn is_wrapped<'a>(args: impl IntoIterator<Item = &'a str>) -> bool {
    let args: Vec<&str> = args.into_iter().take(4).collect();
    let [flag, text, zero, _command] = args.as_slice() else { return false };
    let unnamed = without_name(text);
    let written = |form: &dyn Fn(Scope, bool) -> String| {
        let scopes = [Scope::User, Scope::Project].into_iter();
        let mut forms = scopes.flat_map(|scope| [form(scope, false), form(scope, true)]);
        forms.any(|form| form == unnamed)
    };
    let redacts = |redacts| move |scope, is_closed| script(scope, is_closed, redacts, None);
    let is_path = Path::new(zero).is_absolute();
    let is_new = is_path && (written(&redacts(false)) || written(&redacts(true)));
    *flag == "-c" && (is_new || *zero == OLDER_ZERO && written(&older_script))
}

/// Returns the script of a command line that begins with the shell of wrapped servers, if it starts the proxy, but not in a
/// form of ours.
pub(super) fn altered<'a>(
    command: &str,
    args: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let args: Vec<&str> = args.into_iter().take(4).collect();
    let [flag, script, ..] = args.as_slice() else { return None };
    let is_altered = command.rsplit('/').next() == Some("sh")
        && *flag == "-c"
        && (names_program(script) || args.get(2).is_some_and(|zero| names_program(zero)))
        && !is_wrapped(args.iter().copied());
    is_altered.then_some(*script)
}

/// Whether the user started the proxy in another way.
pub(super) fn is_proxied(command: &str, first: Option<&str>) -> bool {
    let name = command.rsplit('/').next().unwrap_or_default();
    matches!(name, "tamis" | "tamis-gateway") && first == Some("mcp")
}

/// Returns the program by its path. `None`: it is looked up by its name.
pub(super) fn started_by(word: &str) -> Started {
    Some(PathBuf::from(word)).filter(|path| path.is_absolute())
}

/// The result for one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Wrapped,
    /// It was wrapped before, and the settings apply to it.
    Renewed {
        is_closed: bool,
    },
    /// The user's own words start the proxy. They are left as they are.
    Own,
    /// It is left as it is, for this reason.
    Kept(String),
}

/// The server as the user knows it, and the result.
pub(super) type Outcomes = Vec<(String, Outcome)>;
