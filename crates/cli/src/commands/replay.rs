//! `tamis replay`: what filters would have shown of recorded sessions of coding agents.
//!
//! This module must not depend on the formats of transcripts.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tamis_replay::cost::Prices;
use tamis_replay::{
    FactUse, Fate, FilterSettings, Replay, ReplayOptions, Report, TranscriptPlaces, Variant, find,
    to_page, to_table,
};

use crate::console::print::{self, one_line};
use crate::console::{Console, Exit, Usage};
use crate::files::page::write_page;
use crate::files::place::called;
use crate::flags::lists;

pub(crate) const HELP_SHORT: &str = "For more and for examples see --help.";

pub(crate) const HELP: &str = "\
The command looks for facts that the model took from a tool result: names, paths, numbers, versions, addresses, quoted lines and
phrases, and lines that an edit replaced, which only this result had. It counts how many of them the agent itself and tamis show, how many can
be fetched, and how many would be gone. Nothing is sent or stored. tamis help replaying has the definition and its limits.

Examples:
  tamis replay ~/.claude/projects
  tamis replay sessions --limit 2000 --baselines
  tamis replay sessions --manifest tools.yaml --fail-under 99
  tamis replay sessions --prices prices.json --html week.html
  tamis replay sessions/codex.jsonl --exact --json

Exit codes: 0 done, 1 a transcript cannot be read or the share is below --fail-under, 2 the command line or a manifest is wrong.";

#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// Transcripts, or folders with transcripts [default: the folders of Claude Code, Codex, Gemini CLI and opencode]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Read only files of the last N days
    #[arg(long, value_name = "N", value_parser = lists::positive, allow_negative_numbers = true, help_heading = "Input")]
    days: Option<u64>,

    /// Compare with these rules, too: a manifest of tools, or rules for commands in TOML; may be repeated
    #[arg(long, value_name = "FILE", help_heading = "Variants")]
    manifest: Vec<PathBuf>,

    /// Compare with a cut of every text at N tokens, too; may be repeated
    #[arg(long, value_name = "N", value_parser = lists::positive, allow_negative_numbers = true, help_heading = "Variants")]
    limit: Vec<u64>,

    /// Compare with the beginning, the end, and both of every text, with as many bytes as the judged variant shows
    #[arg(long, help_heading = "Variants")]
    baselines: bool,

    /// Use the defaults of tamis instead of the user's tamis.yaml
    #[arg(long, help_heading = "Variants")]
    defaults: bool,

    /// Prices of tokens, a table in JSON; without it, costs are in uncached input tokens
    #[arg(long, value_name = "FILE.json", help_heading = "Figures")]
    prices: Option<PathBuf>,

    /// Count tokens with the vocabulary `o200k_base` instead of estimating them
    #[arg(long, help_heading = "Figures")]
    exact: bool,

    /// Show the N results that lose most [default: 5]
    #[arg(long, value_name = "N", value_parser = lists::count, allow_negative_numbers = true, help_heading = "Output")]
    examples: Option<u64>,

    /// Print all figures and every later-used fact as JSON, on one line
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Write a page; it needs no network (`-`: to standard output, without the tables)
    #[arg(long, value_name = "OUT", help_heading = "Output")]
    html: Option<PathBuf>,

    /// Exit with 1 if the judged variant shows less of the later-used facts than this: `99` (percent) or `0.99`
    ///
    /// The judged variant is that of --manifest, else of the first --limit, else tamis as installed. Only facts count that
    /// the agent itself shows.
    #[arg(long, value_name = "PERCENT", value_parser = share, allow_negative_numbers = true, help_heading = "Output")]
    fail_under: Option<f64>,
}

/// Reads a share: a percentage, or a number up to 1.
fn share(text: &str) -> Result<f64, Usage> {
    let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>().ok();
    let number = number.filter(|number| (0.0..=100.0).contains(number));
    match number {
        Some(number) if number <= 1.0 => Ok(number),
        Some(number) => Ok(number / 100.0),
        None => Err(Usage::new("expected a percentage, such as 99, or a share, such as 0.99")),
    }
}

/// Runs `tamis replay`.
pub(crate) fn run(args: &ReplayArgs) -> Exit {
    let console = Console::default();
    let is_printed = args.html.as_ref().is_some_and(|path| path.as_os_str() == "-");
    if args.json && is_printed {
        return console.refuse(&Usage::new("--json and --html - both write to standard output"));
    }
    let prices = match prices(args) {
        Ok(prices) => prices,
        Err(usage) => return console.refuse(&usage),
    };
    let settings =
        if args.defaults { FilterSettings::plain() } else { FilterSettings::of_process() };
    let settings = FilterSettings { manifests: args.manifest.clone(), ..settings };
    let examples = usize::try_from(args.examples.unwrap_or(5)).unwrap_or(usize::MAX);
    let options = ReplayOptions::new(settings)
        .with_variants(variants(args))
        .with_prices(prices.clone())
        .with_exact_tokens(args.exact)
        .with_examples(examples.min(10_000));
    let mut facts = Vec::new();
    let mut keep = |fact: &FactUse<'_>| facts.push(Row::of(fact));
    let replay = match args.json {
        true => Replay::with_observer(options, &mut keep),
        false => Replay::new(options),
    };
    let mut replay = match replay {
        Ok(replay) => replay,
        Err(error) => return console.refuse(&Usage::new(error.to_string())),
    };
    let has_failed = match read(args, &mut replay, &console) {
        Ok(has_failed) => has_failed,
        Err(exit) => return exit,
    };
    let report = replay.finish();
    let page = || to_page(&report, &prices, &title(args));
    if let Some(exit) = write_page(&console, args.html.as_deref(), page) {
        return exit;
    }
    let printed = match (args.json, is_printed) {
        (true, _) => match print::json(&Json { version: 1, report: &report, facts: &facts }) {
            Ok(text) => print::print(&text),
            Err(error) => return console.fail("replay", error),
        },
        (_, true) => Exit::Done,
        _ => print::print(to_table(&report, &prices).as_bytes()),
    };
    if let Some(least) = args.fail_under {
        match report.share_shown() {
            // Without facts, nothing was lost.
            Some(share) if share < least => {
                let name = report.variants.get(report.subject).map_or("", |found| &found.name);
                return console.fail(
                    name,
                    format_args!(
                        "shows {:.2} % of the later-used facts, less than {:.2} %",
                        share * 100.0,
                        least * 100.0
                    ),
                );
            }
            Some(_) | None => {}
        }
    }
    if has_failed { Exit::Failed } else { printed }
}

fn prices(args: &ReplayArgs) -> Result<Prices, Usage> {
    let Some(path) = &args.prices else { return Ok(Prices::default()) };
    let text = std::fs::read_to_string(path)
        .map_err(|error| Usage::new(format!("{}: {error}", called(path))))?;
    Prices::parse(&text).map_err(|error| Usage::new(format!("{}: {error}", called(path))))
}

fn variants(args: &ReplayArgs) -> Vec<Variant> {
    let mut variants = vec![Variant::Installed];
    if !args.manifest.is_empty() {
        variants.push(Variant::Manifest);
    }
    variants.extend(args.limit.iter().take(8).map(|tokens| Variant::Limit(*tokens)));
    if args.baselines {
        variants.extend([Variant::Head, Variant::Tail, Variant::HeadTail]);
    }
    variants
}

/// Reads all transcripts. Returns whether one of them could not be read.
fn read(args: &ReplayArgs, replay: &mut Replay<'_>, console: &Console) -> Result<bool, Exit> {
    let mut paths = args.paths.clone();
    if paths.is_empty() {
        paths = TranscriptPlaces::of_process().paths;
        if paths.is_empty() {
            return Err(console.fail(
                "replay",
                "no transcripts of Claude Code, Codex, Gemini CLI or opencode are found; name files or folders",
            ));
        }
    }
    let since = args.days.and_then(|days| {
        SystemTime::now().checked_sub(Duration::from_secs(days.saturating_mul(86_400)))
    });
    let mut has_failed = false;
    for path in &paths {
        let files = match find(path, since) {
            Ok(files) => files,
            Err(error) => {
                console.say("replay", one_line(&error.to_string()));
                has_failed = true;
                continue;
            }
        };
        for file in files {
            if let Err(error) = replay.read(&file) {
                console.say("replay", one_line(&error.to_string()));
                has_failed = true;
            }
        }
    }
    Ok(has_failed)
}

/// Returns the title of the page.
fn title(args: &ReplayArgs) -> String {
    match args.days {
        Some(days) => format!("tool results of {days} days"),
        None => "tool results of all sessions".to_owned(),
    }
}

/// The output of `--json`.
#[derive(Serialize)]
struct Json<'a> {
    version: u32,
    report: &'a Report,
    /// Every later-used fact, with its fate under each of the variants of the report.
    facts: &'a [Row],
}

#[derive(Serialize)]
struct Row {
    text: String,
    kind: &'static str,
    agent: String,
    tool: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    file: String,
    result_at: u64,
    used_at: u64,
    fates: Vec<Fate>,
}

impl Row {
    fn of(fact: &FactUse<'_>) -> Self {
        Self {
            text: fact.text.to_owned(),
            kind: fact.kind.name(),
            agent: fact.agent.to_owned(),
            tool: fact.tool.to_owned(),
            command: fact.command.map(str::to_owned),
            file: fact.file.to_owned(),
            result_at: fact.result_at,
            used_at: fact.used_at,
            fates: fact.fates.to_vec(),
        }
    }
}
