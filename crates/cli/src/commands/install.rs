//! `tamis install` and `tamis uninstall`: the changes to the files of a coding agent.
//!
//! This module must not depend on the agents: `tamis_agents` knows their files.

use std::io::{self, BufRead, IsTerminal as _, Write};

use clap::builder::PossibleValuesParser;
use tamis_agents::agent::Agent;
use tamis_agents::install::{self, InstallError, InstallOptions, Places, Plan, REDACTION, Scope};

use crate::console::print::print;
use crate::console::{Console, Exit, Usage};

pub(crate) const INSTALL_HELP_SHORT: &str = "\
For more and for examples see --help.";

pub(crate) const INSTALL_HELP: &str = "\
Examples:
  tamis install claude-code --dry-run
  tamis install codex --mcp
  tamis install codex --mcp --redact secrets
  tamis install gemini --project

The changes are printed as a diff before they are made. Settings that cannot be edited safely are
left unchanged, and the lines to add by hand are printed. `tamis uninstall` restores every file.

Entries name this program by its path. It must lie where only you can write, and not below the
working directory or a folder for temporary files.

Exit codes: 0 done, 1 a file cannot be edited or the program can be replaced, and nothing was changed,
2 the command line is wrong.";

pub(crate) const UNINSTALL_HELP: &str = "\
Examples:
  tamis uninstall claude-code --dry-run
  tamis uninstall codex

Removes only what `tamis install` added. Full outputs and logs of earlier commands are kept.

Exit codes: 0 done, 1 a file cannot be edited and nothing was changed, 2 the command line is wrong.";

/// Which agent, and whose files.
#[derive(Debug, clap::Args)]
struct Target {
    /// The coding agent
    #[arg(value_name = "AGENT", value_parser = PossibleValuesParser::new(Agent::ALL.map(Agent::as_str)), required_unless_present = "list")]
    agent: Option<String>,

    /// Print the agents, one in each line, and what is changed for each
    #[arg(long, exclusive = true)]
    list: bool,

    /// Change the settings of the user, for all projects [default]
    #[arg(long, conflicts_with = "project")]
    user: bool,

    /// Change the settings of the project in the current folder
    ///
    /// The hooks then also read the tamis.yaml of the project.
    #[arg(long)]
    project: bool,

    /// Print the changes and make none
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct InstallArgs {
    #[command(flatten)]
    target: Target,

    /// Wrap the configured MCP servers with `tamis mcp`
    ///
    /// Servers over HTTP only with --closed, and only if all their credentials are static headers. Files that git tracks
    /// are not changed.
    #[arg(long)]
    mcp: bool,

    /// With --mcp: the servers do not start if tamis-gateway is missing
    ///
    /// By default they start without filters. Servers that were wrapped with it keep it; to end that, uninstall first.
    #[arg(long, requires = "mcp")]
    closed: bool,

    /// With --mcp: whether wrapped servers replace credentials in all results by [redacted:KIND]
    ///
    /// Without it, a user at a terminal is asked. Elsewhere, servers that are wrapped already keep their setting, and other ones replace nothing.
    #[arg(long, value_name = "WHAT", value_parser = ["secrets", "none"], requires = "mcp")]
    redact: Option<String>,

    /// Install although others, or commands in a sandbox, can replace the program
    ///
    /// For tests and for programs that were just built.
    #[arg(long)]
    trust_path: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UninstallArgs {
    #[command(flatten)]
    target: Target,

    /// Servers are unwrapped in any case; accepted because `tamis install` has the flag
    #[arg(long, hide = true)]
    mcp: bool,
}

impl Target {
    fn agent(&self) -> Option<Agent> {
        self.agent.as_deref()?.parse().ok()
    }

    fn scope(&self) -> Scope {
        if self.project { Scope::Project } else { Scope::User }
    }
}

/// Runs `tamis install`.
pub(crate) fn install(args: &InstallArgs) -> Exit {
    if args.target.list {
        return list();
    }
    let (scope, trust_path) = (args.target.scope(), args.trust_path);
    let redact = args.redact.as_deref().map(|what| what == "secrets");
    let asks = redact.is_none() && !args.target.dry_run && is_at_terminal();
    let options = InstallOptions { scope, mcp: args.mcp, closed: args.closed, redact, trust_path };
    change(&args.target, "nothing to change", |agent, places| {
        let plan = install::install(agent, options, places)?;
        let ask = || ask(&mut io::stdin().lock(), &mut io::stderr().lock()).unwrap_or_default();
        match decision(&plan, asks, ask) {
            None => Ok(plan),
            redact => install::install(agent, InstallOptions { redact, ..options }, places),
        }
    })
}

/// Returns what the user decides about the servers of a plan. `None`: it has no servers, nobody can be asked, or the user did not decide.
fn decision(plan: &Plan, asks: bool, ask: impl FnOnce() -> Option<bool>) -> Option<bool> {
    (asks && plan.has_servers()).then(ask).flatten()
}

/// Returns whether a person reads questions and can decide.
fn is_at_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks whether wrapped servers replace credentials. `None`: the user did not decide, so nothing changes.
fn ask(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<Option<bool>> {
    writeln!(output, "Redact secrets? If so, {REDACTION}.")?;
    for _ in 0..QUESTIONS {
        write!(output, "Redact secrets in results of MCP servers? [y/n, Enter: no change] ")?;
        output.flush()?;
        let mut line = String::new();
        io::Read::take(&mut *input, LONGEST_LINE).read_line(&mut line)?;
        match line.trim().to_ascii_lowercase().as_str() {
            "" => return Ok(None),
            "y" | "yes" => return Ok(Some(true)),
            "n" | "no" => return Ok(Some(false)),
            _ => {}
        }
    }
    Ok(None)
}

/// How often a question is asked.
const QUESTIONS: usize = 3;
/// The most bytes of a line that are read.
const LONGEST_LINE: u64 = 1024;

/// Runs `tamis uninstall`.
pub(crate) fn uninstall(args: &UninstallArgs) -> Exit {
    if args.target.list {
        return list();
    }
    let (scope, _unwraps_anyway) = (args.target.scope(), args.mcp);
    let exit = change(&args.target, "nothing to remove", |agent, places| {
        install::uninstall(agent, scope, places)
    });
    if exit == Exit::Done
        && !args.target.dry_run
        && scope == Scope::User
        && let (Some(agent), Some(places)) = (args.target.agent(), Places::of_process())
    {
        install::remove_session_files(agent, &places);
    }
    exit
}

/// Prints the agents.
fn list() -> Exit {
    let lines = Agent::ALL.map(|agent| {
        let what =
            if agent.has_only_servers() { "MCP servers" } else { "commands and MCP servers" };
        format!("{:<16}{what}\n", agent.as_str())
    });
    print(lines.concat().as_bytes())
}

fn change(
    target: &Target,
    when_empty: &str,
    plan: impl Fn(Agent, &Places) -> Result<Plan, InstallError>,
) -> Exit {
    let console = Console::default();
    let Some(agent) = target.agent() else {
        return Exit::Usage;
    };
    let Some(places) = Places::of_process() else {
        console.usage(&Usage::new("no home folder; set HOME"));
        return Exit::Usage;
    };
    let plan = match plan(agent, &places) {
        Ok(plan) => plan,
        Err(error) => return refused(&console, &error),
    };
    let printed = print(plan.diff().as_bytes());
    if printed != Exit::Done {
        return printed;
    }
    // Also without a change: the record may be an old one.
    if !target.dry_run
        && let Err(error) = plan.apply()
    {
        return refused(&console, &error);
    }
    if plan.is_empty() {
        console.note(format_args!("{agent}: {when_empty}"));
    }
    for note in plan.notes() {
        console.note(format_args!("{agent}: {note}"));
    }
    for offer in plan.offers() {
        console.note(format_args!("{agent}: {}", offer.reason()));
        console.lines(offer.lines());
    }
    Exit::Done
}

/// Reports why nothing was changed, and prints what the user can do by hand.
fn refused(console: &Console, error: &InstallError) -> Exit {
    console.say(error.file(), error.message());
    if let Some(snippet) = error.snippet() {
        console.note("by hand:");
        _ = print(snippet.as_bytes());
    }
    Exit::Failed
}

#[cfg(test)]
mod tests {
    use tamis_agents::agent::Agent;
    use tamis_agents::install::{self, InstallOptions, Places};

    use super::{ask, decision};

    #[test]
    fn nothing_is_asked_without_servers() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        for name in ["tamis", "tamis-gateway"] {
            std::fs::write(path(name), "").unwrap();
        }
        let places = Places {
            home: path(""),
            working: path(""),
            state: path("state"),
            config: path("config"),
            program: path("tamis"),
            ..Places::default()
        };
        let options = InstallOptions { mcp: true, trust_path: true, ..InstallOptions::default() };
        let own = r#"{"mcpServers": {"a": {"command": "tamis", "args": ["mcp", "--", "x"]}}}"#;
        for (servers, asks, expected) in [
            (r#"{"mcpServers": {"a": {"command": "x"}}}"#, true, Some(true)),
            (r#"{"mcpServers": {"a": {"command": "x"}}}"#, false, None),
            (r#"{"mcpServers": {}}"#, true, None),
            (own, true, None),
        ] {
            std::fs::write(path(".claude.json"), servers).unwrap();
            let plan = install::install(Agent::ClaudeCode, options, &places).unwrap();
            assert_eq!(decision(&plan, asks, || Some(true)), expected, "{servers}");
        }
    }

    #[test]
    fn only_yes_and_no_change_something() {
        for (answers, expected) in [
            ("y\n", Some(true)),
            (" YES \n", Some(true)),
            ("what?\nn\n", Some(false)),
            ("\n", None),
            ("", None),
            ("1\n2\n3\ny\n", None),
        ] {
            let mut questions = Vec::new();
            assert_eq!(ask(&mut answers.as_bytes(), &mut questions).unwrap(), expected);
            let questions = String::from_utf8(questions).unwrap();
            assert!(questions.contains("[redacted:github-token]"), "{questions}");
            assert!(questions.contains("is withheld"), "{questions}");
        }
    }
}
