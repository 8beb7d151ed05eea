//! `tamis help`: the overview of topics and exit codes, and pages on topics.
//!
//! Pages are files in `topics`. The tests run every example in them. This module must not depend on what a command
//! does.

use std::ffi::OsStr;
use std::fmt::Write as _;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};

use crate::colour;
use crate::diagnostics::{Console, Exit, Usage};
use crate::print::print;

/// Name, title, page.
const TOPICS: [(&str, &str, &str); 15] = [
    (
        "paths",
        "how to name values: dot paths, wildcards, JSON Pointers",
        include_str!("topics/paths.md"),
    ),
    ("roots", "where the items are: --root and --siblings", include_str!("topics/roots.md")),
    ("rules", "what each rule does, and in which order", include_str!("topics/rules.md")),
    ("jq", "commands of jq, and what to write instead", include_str!("topics/jq.md")),
    (
        "manifests",
        "filters by name: tamis' format, check, patterns",
        include_str!("topics/manifests.md"),
    ),
    (
        "pages",
        "the text of pages and responses: what is kept, where it is cut",
        include_str!("topics/pages.md"),
    ),
    (
        "commands",
        "the output of commands: tamis text, and rules for it",
        include_str!("topics/commands.md"),
    ),
    (
        "running",
        "run: how a command runs and where its output is kept",
        include_str!("topics/running.md"),
    ),
    (
        "recalling",
        "recall: stored results, their parts, how long they are kept",
        include_str!("topics/recalling.md"),
    ),
    (
        "proxy",
        "mcp: which filter a tool gets, profiles, what happens on failure",
        include_str!("topics/proxy.md"),
    ),
    (
        "serving",
        "serve: routes for gateways, conditions, what happens on failure",
        include_str!("topics/serving.md"),
    ),
    (
        "history",
        "pruning old tool results of a chat: rules, shapes",
        include_str!("topics/history.md"),
    ),
    (
        "limits",
        "limits on memory and temporary files, and how to change them",
        include_str!("topics/limits.md"),
    ),
    ("reports", "--report and --stats: the figures of a run", include_str!("topics/reports.md")),
    ("exit-codes", "exit codes, errors and warnings", include_str!("topics/exit-codes.md")),
];

/// The commands that completions offer.
pub(crate) const COMMANDS: [&str; 20] = [
    "filter",
    "run",
    "recall",
    "text",
    "content",
    "prune",
    "mcp",
    "serve",
    "savings",
    "install",
    "uninstall",
    "doctor",
    "look",
    "explain",
    "suggest",
    "check",
    "audit",
    "tools",
    "help",
    "completions",
];

pub(crate) const OVERVIEW: &str = "\
Topics (tamis help TOPIC):
  paths       how to name values: dot paths, wildcards, JSON Pointers
  roots       where the items are: --root and --siblings
  rules       what each rule does, and in which order
  jq          commands of jq, and what to write instead
  manifests   filters by name: tamis' format, check, patterns
  pages       the text of pages and responses: what is kept, where it is cut
  commands    the output of commands: tamis text, and rules for it
  running     run: how a command runs and where its output is kept
  recalling   recall: stored results, their parts, how long they are kept
  proxy       mcp: which filter a tool gets, profiles, what happens on failure
  serving     serve: routes for gateways, conditions, what happens on failure
  history     pruning old tool results of a chat: rules, shapes
  limits      limits on memory and temporary files, and how to change them
  reports     --report and --stats: the figures of a run
  exit-codes  exit codes, errors and warnings

Exit codes:
  0  done (a closed pipe is no error)
  1  the input or the run failed
  2  the command line or a manifest is wrong";

pub(crate) const HELP: &str = "\
Examples:
  tamis help filter
  tamis help paths";

#[derive(Debug, clap::Args)]
pub(crate) struct HelpArgs {
    /// A command, or a topic: paths, roots, rules, jq, manifests, pages, commands, running, recalling, proxy,
    /// serving, history, limits, reports, exit-codes
    #[arg(value_name = "COMMAND|TOPIC", value_parser = Page, hide_possible_values = true)]
    about: Option<String>,
}

/// Accepts any text, so that an unknown page is reported with a list of all pages. Completions offer the pages.
#[derive(Clone)]
struct Page;

impl TypedValueParser for Page {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let topics = TOPICS.iter().map(|(name, title, _)| PossibleValue::new(*name).help(*title));
        Some(Box::new(COMMANDS.iter().map(PossibleValue::new).chain(topics)))
    }
}

/// Shows the help of a command or a page on a topic.
pub(crate) fn run(args: &HelpArgs, mut tamis: clap::Command) -> Exit {
    tamis.build();
    let Some(about) = &args.about else {
        return print(tamis.render_long_help().ansi().to_string().as_bytes());
    };
    if let Some(command) = tamis.find_subcommand_mut(about) {
        return print(command.render_long_help().ansi().to_string().as_bytes());
    }
    if let Some((.., page)) = TOPICS.iter().find(|(name, ..)| name == about) {
        return print(render(page).as_bytes());
    }
    let topics: Vec<&str> = TOPICS.iter().map(|(name, ..)| *name).collect();
    let commands: Vec<&str> = tamis
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(clap::Command::get_name)
        .collect();
    Console::default().usage(&Usage::new(format!(
        "help: no page on {}; commands: {}; topics: {}",
        about.escape_debug(),
        commands.join(", "),
        topics.join(", ")
    )));
    Exit::Usage
}

/// Renders a page for a terminal: titles are styled, examples are indented.
fn render(page: &str) -> String {
    let mut shown = String::new();
    let mut example = false;
    for line in page.lines() {
        if line.starts_with("```") {
            example = !example;
        } else if example && !line.is_empty() {
            _ = writeln!(shown, "    {line}");
        } else if let Some(title) = line.strip_prefix("# ") {
            let style = if colour::on_stdout() { colour::TITLE } else { anstyle::Style::new() };
            _ = writeln!(shown, "{style}{title}{style:#}");
        } else {
            _ = writeln!(shown, "{line}");
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{OVERVIEW, TOPICS};

    #[test]
    fn every_topic_is_in_the_overview() {
        for (name, title, page) in TOPICS {
            assert!(OVERVIEW.contains(&format!("  {name:<11} {title}\n")), "{name}");
            assert!(page.starts_with("# "), "{name}");
        }
    }
}
