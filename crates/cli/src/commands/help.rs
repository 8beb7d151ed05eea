//! `tamis help`: the overview of topics and exit codes, and pages on topics.
//!
//! Pages are the files in `topics`. The tests run every example in them. This module must not depend on what a command
//! does.

use std::fmt::Write as _;

use clap::builder::{PossibleValue, PossibleValuesParser};

use tamis_manifest::suggest::closest;

use crate::console::print::print;
use crate::console::{Console, Exit, Usage, colour};

/// Makes the table of topics: name, title, page.
macro_rules! topics {
    ($($name:literal: $title:literal,)*) => {
        [$(($name, $title, include_str!(concat!("../topics/", $name, ".md"))),)*]
    };
}

/// The topics, in the order in which help lists them.
const TOPICS: [(&str, &str, &str); 16] = topics! {
    "paths": "how to name values: dot paths, wildcards, JSON Pointers",
    "roots": "where the items are: --root and --siblings",
    "rules": "what each rule does, and in which order",
    "jq": "commands of jq, and what to write instead",
    "manifests": "filters by name: tamis' format, check, patterns",
    "pages": "the text of pages and responses: what is kept, where it is cut",
    "commands": "the output of commands: tamis text, and rules for it",
    "running": "run: how a command runs and where its output is kept",
    "recalling": "recall: stored results, their parts, how long they are kept",
    "proxy": "mcp: which filter a tool gets, profiles, what happens on failure",
    "serving": "serve: routes for gateways, conditions, what happens on failure",
    "history": "pruning old tool results of a chat: rules, shapes",
    "replaying": "replay: later-used facts, variants, costs, the limits of the method",
    "limits": "limits on memory and temporary files, and how to change them",
    "reports": "--report and --stats: the figures of a run",
    "exit-codes": "exit codes, errors and warnings",
};

/// Returns the end of the help of tamis: the topics and the exit codes.
pub(crate) fn overview() -> String {
    let topics = TOPICS.iter().map(|(name, title, _)| format!("  {name:<11} {title}\n"));
    let topics: String = topics.collect();
    format!("Topics (tamis help TOPIC):\n{topics}\n{EXIT_CODES}")
}

const EXIT_CODES: &str = "\
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
    #[arg(value_name = "COMMAND|TOPIC", help = format!("A command, or a topic: {}", names()))]
    about: Option<String>,
}

/// Returns the names of the topics.
fn names() -> String {
    TOPICS.map(|(name, ..)| name).join(", ")
}

/// Returns the names of the commands that help lists.
fn commands(tamis: &clap::Command) -> Vec<String> {
    let shown = tamis.get_subcommands().filter(|command| !command.is_hide_set());
    shown.map(|command| command.get_name().to_owned()).collect()
}

/// Makes completions offer all pages. The parser takes any text, so that an unknown page is reported with a list of them.
pub(crate) fn with_pages(tamis: clap::Command) -> clap::Command {
    let commands = commands(&tamis).into_iter().map(PossibleValue::new);
    let topics = TOPICS.iter().map(|(name, title, _)| PossibleValue::new(*name).help(*title));
    let pages = PossibleValuesParser::new(commands.chain(topics));
    tamis.mut_subcommand("help", |help| help.mut_arg("about", |about| about.value_parser(pages)))
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
    let commands = commands(&tamis);
    if let Some(topic) = part_of_topic(about) {
        let shown = about.escape_debug();
        let message = format!("help: no page on {shown}; did you mean `tamis help {topic}`?");
        return Console::default().refuse(&Usage::new(message));
    }
    let pages = commands.iter().map(String::as_str).chain(TOPICS.map(|(name, ..)| name));
    if let Some(close) = closest(about, pages) {
        let shown = about.escape_debug();
        let message = format!("help: no page on {shown}; did you mean `tamis help {close}`?");
        return Console::default().refuse(&Usage::new(message));
    }
    if let Some(topic) = mentioning(about) {
        let shown = about.escape_debug();
        let message = format!("help: no page on {shown}; `tamis help {topic}` has it");
        return Console::default().refuse(&Usage::new(message));
    }
    Console::default().usage(&Usage::new(format!(
        "help: no page on {}; commands: {}; topics: {}",
        about.escape_debug(),
        commands.join(", "),
        names()
    )));
    Exit::Usage
}

/// Returns the topic whose name has this word: `exit` is a part of `exit-codes`.
fn part_of_topic(word: &str) -> Option<&'static str> {
    let has = |(name, ..): &&(&str, &str, &str)| {
        name.contains('-') && name.split('-').any(|part| part == word)
    };
    TOPICS.iter().find(has).map(|(name, ..)| *name)
}

/// Returns the topic on whose page a flag or a rule of this name is most often, or that has the word in its title.
fn mentioning(word: &str) -> Option<&'static str> {
    let word = word.trim_start_matches('-').to_ascii_lowercase();
    // A name ends where no letter and no hyphen follows.
    let flag = format!("--{word}");
    let is_end = |rest: &str| !rest.starts_with(|char: char| char.is_alphanumeric() || char == '-');
    let times = |(name, _, page): &(&str, &str, &str)| {
        let flags = page.split(&flag).skip(1).filter(|rest| is_end(rest)).count();
        let all = flags + page.matches(&format!("`{word}`")).count();
        // Other pages have examples with rules, and this one describes them.
        if *name == "rules" { 3 * all } else { all }
    };
    // `max_by_key` takes the last of equal ones, so the order is turned round.
    let best = TOPICS.iter().rev().max_by_key(|topic| times(topic));
    let best = best.filter(|topic| times(topic) > 0);
    let in_title = |title: &str| {
        title.split(|char: char| !char.is_alphanumeric()).any(|part| part == word && part.len() > 3)
    };
    let best = best.or_else(|| TOPICS.iter().find(|(_, title, _)| in_title(title)));
    best.map(|(name, ..)| *name)
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
