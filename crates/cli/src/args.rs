//! What can be typed: flags, their help, and the reading of single values.
//!
//! Must not know how flags go together, nor what they do: that is `resolve`.

use std::path::PathBuf;

use anstream::ColorChoice;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand};
use tamis::{DuplicateKeys, Limits, Omitted, OnError, OnOver, Siblings, Validation, Whitespace};

use crate::check::CheckArgs;
use crate::content::ContentArgs;
use crate::explain::ExplainArgs;
use crate::help::HelpArgs;
use crate::prune::PruneArgs;
use crate::runner::RunArgs;
use crate::scripts::{CompletionsArgs, ManArgs};
use crate::text::TextArgs;
use crate::tools::ToolsArgs;
use crate::{check, colour, content, explain, help, lists, prune, runner, scripts, text, tools};

/// Keeps what was declared of a tool's output and drops the rest while it streams.
#[derive(Debug, Parser)]
#[command(
    name = "tamis",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    args_override_self = true,
    after_help = help::OVERVIEW
)]
pub(crate) struct Args {
    /// When to use colours, on standard error and in help; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", value_parser = colour::parser())]
    pub(crate) color: Option<ColorChoice>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Filters a JSON document: keeps what is declared, minifies, and validates everything
    #[command(
        args_override_self = true,
        after_help = help::FILTER_SHORT,
        after_long_help = help::FILTER
    )]
    Filter(Box<FilterArgs>),

    /// Runs a command and prints its output, filtered; the full output is kept if something was cut
    #[command(
        args_override_self = true,
        override_usage = "tamis run [OPTIONS] [--] COMMAND [ARG]...",
        after_help = runner::HELP_SHORT,
        after_long_help = runner::HELP
    )]
    Run(RunArgs),

    /// Filters the saved output of a command: failures, errors and summaries stay, progress goes
    #[command(args_override_self = true, after_help = text::HELP)]
    Text(TextArgs),

    /// Takes the main text of a page, or the text of a JSON answer, and cuts it where something ends
    #[command(
        args_override_self = true,
        after_help = content::HELP_SHORT,
        after_long_help = content::HELP
    )]
    Content(ContentArgs),

    /// Replaces old results of tools in a chat history by placeholders, and nothing else
    #[command(
        args_override_self = true,
        after_help = prune::HELP_SHORT,
        after_long_help = prune::HELP
    )]
    Prune(Box<PruneArgs>),

    /// Says in words how a filter runs: its stages, what each holds and why, what becomes of each path
    #[command(
        args_override_self = true,
        after_help = explain::HELP_SHORT,
        after_long_help = explain::HELP
    )]
    Explain(Box<ExplainArgs>),

    /// Validates manifests; errors point at line and column
    #[command(after_help = check::HELP)]
    Check(CheckArgs),

    /// Lists the tools of the built-in catalog, or of manifests, and what their filters keep
    #[command(after_help = tools::HELP)]
    Tools(ToolsArgs),

    /// Shows the help of a command, or a page on a topic
    #[command(after_help = help::HELP)]
    Help(HelpArgs),

    /// Prints a script that completes commands and flags in a shell
    #[command(after_help = scripts::COMPLETIONS)]
    Completions(CompletionsArgs),

    /// Prints the manual page, or writes one for each command into a folder
    ///
    /// For those who package tamis.
    #[command(hide = true, after_help = scripts::MAN)]
    Man(ManArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct FilterArgs {
    /// The document; `-` is standard input
    ///
    /// Regular files are read twice where a pipe would have to be held, standard input too if it is one.
    #[arg(value_name = "FILE|-", default_value = "-", hide_default_value = true)]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) selection: Selection,

    /// Write what the run did as JSON, also if it failed; `-` is standard error
    #[arg(long, value_name = "PATH|-", help_heading = "Output")]
    pub(crate) report: Option<PathBuf>,

    /// Record the input as it is read, before any rule
    ///
    /// The record is unredacted: the file is readable by its owner alone (0600), and so is a folder that must be made for
    /// it (0700). It ends where the reading ended.
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    pub(crate) tee: Option<PathBuf>,

    /// Indent the output by two spaces a level, up to 32 levels
    #[arg(long, help_heading = "Output")]
    pub(crate) pretty: bool,

    /// One document a line
    ///
    /// Rules and misses are per line. A bad line emits nothing, is told with its number and the offset in the input, and
    /// makes the exit code 1; the other lines come out. Empty lines are skipped.
    #[arg(long, help_heading = "Input")]
    pub(crate) ndjson: bool,

    /// Allow comments and trailing commas
    ///
    /// Slower. Escapes may be respelled; offsets are those of the text without comments.
    #[arg(long, help_heading = "Input")]
    pub(crate) lenient: bool,

    /// Write to a file, which may be FILE itself
    ///
    /// Written beside it and renamed when the run is done; a run that fails leaves it as it was.
    #[arg(short, long = "output", value_name = "OUT", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Print on standard error how much was saved: bytes and tokens in and out, items kept of those seen
    ///
    /// Tokens are counted as `o200k_base` does, which takes time; without this flag they are not.
    #[arg(long, help_heading = "Output")]
    pub(crate) stats: bool,
}

/// What selects a filter, and says how a call of it runs: the same for all commands.
#[derive(Debug, clap::Args)]
pub(crate) struct Selection {
    /// Filter by the rules of this manifest; may be repeated
    ///
    /// YAML: tamis' own (`version: 1`, `filters:`), a kimbap service's, a reShapr artifact (`kind: ToolsFilters`), or an AIOS
    /// tool registry (`tools:`). `-` is standard input.
    #[arg(long, value_name = "M", help_heading = "Rules")]
    pub(crate) manifest: Vec<PathBuf>,

    /// The service of the tool: only reShapr artifacts that are bound to it count
    ///
    /// Needed where artifacts of several services have a tool of that name.
    #[arg(long, value_name = "NAME@VERSION", help_heading = "Rules")]
    pub(crate) service: Option<String>,

    /// The tool whose filter is meant
    ///
    /// May be left out where the manifest has one filter. Without --manifest it names one of the built-in catalog: see
    /// `tamis tools`.
    #[arg(long, value_name = "NAME", help_heading = "Rules")]
    pub(crate) tool: Option<String>,

    /// Keep only these values of each item
    ///
    /// A list of PATH or KEY=PATH; the key in the output is the last name of the path unless KEY says otherwise. Split at
    /// the first `=`, unless the text starts with `/`.
    #[arg(long, value_name = "K=PATH,PATH", help_heading = "Rules", allow_hyphen_values = true)]
    pub(crate) select: Vec<String>,

    /// Remove these values from each item, after --select
    #[arg(long, value_name = "PATH,PATH", help_heading = "Rules", allow_hyphen_values = true)]
    pub(crate) exclude: Vec<String>,

    /// Keep only what is at these JSON Pointers of the document
    ///
    /// Applied before all other rules; names reach through arrays. Makes a total miss an error unless --on-error says
    /// otherwise.
    #[arg(long, value_name = "POINTER,POINTER", help_heading = "Rules")]
    pub(crate) retain: Vec<String>,

    /// Apply the operations of a JSON Patch (RFC 6902) to what --retain left; may be repeated
    ///
    /// A JSON array of operations. If one cannot be applied, or a `test` fails, that is an error, and nothing is written,
    /// unless --on-error says otherwise.
    #[arg(long, value_name = "FILE|-", help_heading = "Rules")]
    pub(crate) patch: Vec<PathBuf>,

    /// Let a patch remove what is not there
    #[arg(long, help_heading = "Rules")]
    pub(crate) lenient_remove: bool,

    /// Where the items are: auto, first, object, or a path
    ///
    /// auto: the document if it is an array; of an object `items`, `result` or `data`, else its first array, else the
    /// object itself. first: its first array. object: the document itself.
    #[arg(long, value_name = "ROOT", help_heading = "Rules", allow_hyphen_values = true)]
    pub(crate) root: Option<String>,

    /// What becomes of the members beside the items
    #[arg(long, value_name = "WHAT", help_heading = "Rules", value_parser = siblings())]
    pub(crate) siblings: Option<Siblings>,

    /// Keep the first N items; 0 keeps all
    #[arg(long, value_name = "N", help_heading = "Rules", value_parser = lists::count, allow_negative_numbers = true)]
    pub(crate) max_items: Option<u64>,

    /// Remove members that are null, at every depth of an item
    #[arg(long, help_heading = "Rules")]
    pub(crate) drop_nulls: bool,

    /// Remove members that are "", [] or {}, after all other drops
    #[arg(long, help_heading = "Rules")]
    pub(crate) drop_empty: bool,

    /// Stop reading at the first item that --max-items cuts
    ///
    /// The rest of the input is not validated.
    #[arg(long, help_heading = "Rules")]
    pub(crate) stop_early: bool,

    /// Drop items from the end until the output has at most so many bytes (k, M, G: powers of 1024)
    ///
    /// If the output is still too long, strings are cut, then arrays and objects. A member `_omitted` says how much is
    /// missing. Measured without white space. Overrides a budget of the manifest.
    #[arg(long, value_name = "BYTES", help_heading = "Rules", value_parser = lists::bytes, allow_negative_numbers = true, conflicts_with = "budget_tokens")]
    pub(crate) budget: Option<u64>,

    /// The same in tokens, as `o200k_base` counts them
    #[arg(long, value_name = "N", help_heading = "Rules", value_parser = lists::count, allow_negative_numbers = true)]
    pub(crate) budget_tokens: Option<u64>,

    /// Keep the first K items whatever the budget [default: 1]
    #[arg(long, value_name = "K", help_heading = "Rules", value_parser = lists::count, allow_negative_numbers = true)]
    pub(crate) min_items: Option<u64>,

    /// Whether the output says what was left out of it [default: mark for a budget, silent for --max-items alone]
    #[arg(long, value_name = "HOW", help_heading = "Rules", value_parser = omitted())]
    pub(crate) omitted: Option<Omitted>,

    /// What happens to an output that is longer than its budget when nothing more can be left out
    #[arg(long, value_name = "WHAT", help_heading = "Rules", value_parser = on_over())]
    pub(crate) on_over: Option<OnOver>,

    /// Skip all rules, including those that remove values: validate and minify
    #[arg(long, help_heading = "Rules")]
    pub(crate) raw: bool,

    /// Treat the document as the response of a failed call: only rules that remove values, text filters and budgets apply
    ///
    /// With --on-error closed and --select it is an error.
    #[arg(long, help_heading = "Rules")]
    pub(crate) is_error: bool,

    /// What a total miss does (no selected path in any item, or no items where --root says), and a patch that fails
    #[arg(long, value_name = "WHAT", help_heading = "Rules", value_parser = on_error())]
    pub(crate) on_error: Option<OnError>,

    /// How far dropped values are checked
    #[arg(long, value_name = "HOW", help_heading = "Input", value_parser = validation())]
    pub(crate) validation: Option<Validation>,

    /// What becomes of selected members, and of the items, whose name came before in the same object
    ///
    /// Other members are not compared: this is no check for duplicates in general.
    #[arg(long, value_name = "WHAT", help_heading = "Input", value_parser = duplicate_keys())]
    pub(crate) duplicate_keys: Option<DuplicateKeys>,

    /// What becomes of white space between tokens
    #[arg(long, value_name = "WHAT", help_heading = "Output", value_parser = whitespace())]
    pub(crate) whitespace: Option<Whitespace>,

    #[command(flatten)]
    pub(crate) bounds: Bounds,
}

/// How much a run may hold: the same flags for all commands that read documents.
#[derive(Debug, clap::Args)]
pub(crate) struct Bounds {
    /// Containers that may be open at once [default: 1024]
    #[arg(long, value_name = "N", help_heading = "Limits", value_parser = lists::count, allow_negative_numbers = true)]
    max_depth: Option<u64>,

    #[command(flatten)]
    waiting: Waiting,
}

/// How much may wait.
#[derive(Debug, clap::Args)]
pub(crate) struct Waiting {
    /// Bytes that may wait in memory for a decision (k, M, G: powers of 1024) [default: 4M]
    #[arg(long, value_name = "BYTES", help_heading = "Limits", value_parser = lists::bytes, allow_negative_numbers = true)]
    held: Option<u64>,

    /// Bytes that may wait in a temporary file after that; 0 never touches the disk [default: 1G]
    ///
    /// They are unredacted; the file has no name and goes with the process.
    #[arg(long, value_name = "BYTES", help_heading = "Limits", value_parser = lists::bytes, allow_negative_numbers = true)]
    spill: Option<u64>,
}

impl Bounds {
    pub(crate) fn limits(&self) -> Limits {
        let limits = self.waiting.limits();
        let depth = self.max_depth.map(|depth| usize::try_from(depth).unwrap_or(usize::MAX));
        depth.map_or(limits.clone(), |depth| limits.with_depth(depth))
    }
}

impl Waiting {
    pub(crate) fn limits(&self) -> Limits {
        let limits = Limits::new();
        let (held, spill) =
            (self.held.unwrap_or(limits.held()), self.spill.unwrap_or(limits.spill()));
        limits.with_held(held).with_spill(spill)
    }
}

/// A choice of words: each with what it means in the help, and what it is.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static>(
    words: &'static [(&'static str, &'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let values = words.iter().map(|(word, help, _)| PossibleValue::new(*word).help(*help));
    PossibleValuesParser::new(values).try_map(|text| {
        let found = words.iter().find(|(word, ..)| *word == text);
        found.map(|(.., value)| *value).ok_or("no such choice")
    })
}

fn siblings() -> impl TypedValueParser<Value = Siblings> {
    one_of(&[
        ("keep", "they pass unchanged (default)", Siblings::Keep),
        ("drop", "they go", Siblings::Drop),
    ])
}

fn on_error() -> impl TypedValueParser<Value = OnError> {
    one_of(&[
        (
            "raw",
            "what would have been selected from, or patched, passes, with a warning (default)",
            OnError::Raw,
        ),
        ("closed", "an error, and no output (default with --retain and --patch)", OnError::Closed),
    ])
}

fn omitted() -> impl TypedValueParser<Value = Omitted> {
    one_of(&[
        ("mark", "a member `_omitted` says how many items and members are missing", Omitted::Mark),
        ("silent", "only the report says so", Omitted::Silent),
    ])
}

fn on_over() -> impl TypedValueParser<Value = OnOver> {
    one_of(&[
        ("warn", "it is written, with a warning (default)", OnOver::Warn),
        ("error", "an error, and no output", OnOver::Error),
    ])
}

fn validation() -> impl TypedValueParser<Value = Validation> {
    one_of(&[
        ("full", "RFC 8259, the whole document (default)", Validation::Full),
        (
            "structure",
            "brackets, strings and UTF-8 only: for trusted senders",
            Validation::Structure,
        ),
    ])
}

fn whitespace() -> impl TypedValueParser<Value = Whitespace> {
    one_of(&[
        ("minify", "it goes (default)", Whitespace::Minify),
        ("keep", "it stays in front of what stays", Whitespace::Keep),
    ])
}

fn duplicate_keys() -> impl TypedValueParser<Value = DuplicateKeys> {
    one_of(&[
        ("first", "the first counts (default)", DuplicateKeys::First),
        ("count", "the first counts, all others are looked for and counted", DuplicateKeys::Count),
        ("reject", "a second one is an error", DuplicateKeys::Reject),
    ])
}
