//! The first page that a user sees, and `tamis --version --verbose`.
//!
//! This module must not depend on what a command does.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::Path;

use tamis_json::scan::Scanner;
use tamis_mcp::config::{ConfigFiles, ConfigPlaces};

use super::gateway;
use crate::console::colour;

/// The text for someone who types only `tamis`. `{title}` begins a title, and `{end}` ends it. `{agents}` is [`AGENTS`].
const WELCOME: &str = "\
{title}tamis{end} keeps what you need of tool output, while it arrives: fields of JSON, failures of commands, the text of pages.

{title}Try{end}
  curl -s https://api.github.com/repos/rust-lang/cargo/issues | tamis filter --select number,title,login=user.login
  tamis look response.json                 where the tokens of a response are; tamis suggest writes a filter for it
  tamis run -- cargo test                  a command, and of its output what matters; tamis recall prints the rest

{title}More{end}
  tamis help          all commands and topics
  tamis help jq       commands of jq, and what to write instead
  {agents}
  tamis tools         60 filters for tools of GitHub, Slack, Jira, Kubernetes and others
";

/// How coding agents use tamis: hooks cannot be installed on Windows.
const AGENTS: &str = if cfg!(windows) {
    "tamis mcp           filters what an MCP server returns to a coding agent: tamis mcp -- npx SERVER"
} else {
    "tamis install       lets a coding agent use it: tamis install claude-code"
};

/// Returns what a person sees who types only `tamis`. `None`: another program reads it, or there is input.
pub(crate) fn welcome(typed: &[OsString]) -> Option<String> {
    let is_read_by_people = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if typed.len() > 1 || !is_read_by_people {
        return None;
    }
    let style = if colour::on_stdout() { colour::TITLE } else { anstyle::Style::new() };
    let text = WELCOME.replace("{agents}", AGENTS).replace("{title}", &style.to_string());
    Some(text.replace("{end}", &format!("{style:#}")))
}

/// The text that `--version` prints. The parser has it too, for `--version` among other arguments.
pub(crate) const VERSION: &str = concat!("tamis ", env!("CARGO_PKG_VERSION"), "\n");

/// Returns whether nothing but the version is asked for.
pub(crate) fn asks_for_version(typed: &[OsString]) -> bool {
    let [_, flag] = typed else { return false };
    flag == "--version" || flag == "-V"
}

/// Returns whether the details of the version are asked for. The parser prints the version without them.
pub(crate) fn asks_for_details(typed: &[OsString]) -> bool {
    let args: Vec<_> = typed.iter().skip(1).filter_map(|arg| arg.to_str()).collect();
    let has = |names: &[&str]| args.iter().any(|arg| names.contains(arg));
    args.len() == 2 && typed.len() == 3 && has(&["--version", "-V"]) && has(&["--verbose", "-v"])
}

/// Returns the version, what this build can do, and where it finds things: what a report of a fault needs.
pub(crate) fn details() -> String {
    let mut text = VERSION.to_owned();
    let mut line = |name: &str, value: String| _ = writeln!(text, "{name:<14} {value}");
    let present: Vec<_> = Scanner::present().into_iter().map(|(isa, _)| isa.name()).collect();
    let kernel = Scanner::new().isa().name();
    line("kernel", format!("{kernel} (this CPU runs {})", present.join(", ")));
    line("system", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH));
    line("features", features());
    let shown = |path: &Path| path.display().to_string();
    let program =
        std::env::current_exe().map_or_else(|error| error.to_string(), |path| shown(&path));
    line("program", program);
    line(
        "tamis-gateway",
        gateway::found()
            .map_or_else(|missing| format!("none at {}", missing.display()), |path| shown(&path)),
    );
    let files = ConfigPlaces::of_process().files(ConfigFiles::Both);
    let files: Vec<String> = files.iter().map(|path| shown(path)).collect();
    line("configuration", if files.is_empty() { "none".to_owned() } else { files.join(", ") });
    let state = tamis_store::state::folder_of_user();
    line("state", state.map_or_else(|| "none: no home folder".to_owned(), |path| shown(&path)));
    text
}

/// Returns what this build has besides filters for JSON.
fn features() -> String {
    let mut features = vec!["content", "lenient", "gzip", "run"];
    if cfg!(unix) {
        features.push("agents");
    }
    features.join(", ")
}
