//! `tamis filter`: filters one JSON document, or many.
//!
//! This module must not depend on how a filter runs.

use std::path::PathBuf;

use tamis::BadLines;
use tamis::spec::{Encode, Siblings, Whitespace};

use clap::builder::TypedValueParser;

use crate::console::{Console, Exit, Usage};
use crate::files::place::Place;
use crate::flags::choice::one_of;
use crate::flags::groups::Selection;
use crate::flags::lists;
use crate::job::execution;
use crate::job::resolve::{self, Form, Job};
use crate::job::why::Asked;

pub(crate) const HELP_SHORT: &str = "\
For more and for examples see --help. Exit codes: 0 done, 1 failed, 2 usage.";

pub(crate) const HELP: &str = "\
Examples:
  tamis filter --select id,login=owner.login --max-items 25 repos.json
  curl -s https://api.example.com/items | tamis filter --exclude body --drop-nulls
  tamis filter --retain /user/name,/items/id big.json -o small.json
  tamis filter --ndjson --select level,msg --report report.json log.ndjson
  tamis filter --docs --max-docs 10 repos.json
  tamis filter --lines --select id repos.json
  tamis filter --max-items 2 --stats repos.json
  tamis filter --select id --why repos.json
  tamis filter --extract [0].owner --root object repos.json
  tamis filter --manifest tools.yaml --tool crm.list-users users.json
  tamis filter --tool github.list-repos --stats corpus/github-list-repos.json

Paths (tamis help paths):
  owner.login, tags[0], labels[].name, [\"a.b\"].c   dot paths; [] is every element
  /owner/login                                     JSON Pointers (the only form for --retain)
  Lists are split at commas outside [\"...\"].

Exit codes:
  0  done (a closed pipe is no error)
  1  the input or the run failed
  2  the command line or a manifest is wrong";

#[derive(Debug, clap::Args)]
pub(crate) struct FilterArgs {
    /// The document; `-` is standard input
    ///
    /// A regular file, including standard input, may be read twice where a pipe would have to be buffered.
    #[arg(value_name = "FILE|-", default_value = "-", hide_default_value = true)]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) selection: Selection,

    /// Write a report of the run as JSON, even if it failed; `-` is standard error
    #[arg(long, value_name = "PATH|-", help_heading = "Output")]
    pub(crate) report: Option<PathBuf>,

    /// Copy the input to a file as it is read, before any rule
    ///
    /// The copy is unredacted. The file is created with mode 0600, and missing folders with mode 0700. The copy ends
    /// where reading ended.
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    pub(crate) tee: Option<PathBuf>,

    /// Indent the output by two spaces per level, up to 32 levels; a document on a terminal is indented without it
    ///
    /// A terminal also shows colours. `--whitespace minify` writes the output there as it is written to a pipe.
    #[arg(long, help_heading = "Output")]
    pub(crate) pretty: bool,

    /// Read one document per line
    ///
    /// Rules and misses apply to each line. A bad line produces no output, is reported with its number and its offset
    /// in the input, and makes the exit code 1. The other lines are still filtered. Empty lines are skipped.
    #[arg(long, help_heading = "Input")]
    pub(crate) ndjson: bool,

    /// Read documents that follow each other, over any number of lines, and write one per line
    ///
    /// Such as those of `go list -json`. No white space is needed between them. Otherwise as --ndjson: a bad document
    /// produces no output and makes the exit code 1.
    #[arg(long, help_heading = "Input")]
    pub(crate) docs: bool,

    /// Read server-sent events, and filter the document in the data of each
    ///
    /// The output is a stream of events as well. Events without data, and data: [DONE], are written unchanged. A bad event
    /// produces no output and makes the exit code 1.
    #[arg(long, help_heading = "Input")]
    pub(crate) events: bool,

    /// With --ndjson: what happens to lines that are not JSON
    ///
    /// Such as the stack traces in a log. Their number is reported.
    #[arg(long, value_name = "WHAT", help_heading = "Input", value_parser = bad_lines())]
    pub(crate) bad_lines: Option<BadLines>,

    /// With --ndjson or --docs: stop after N documents were written; 0 reads all
    ///
    /// The rest of the input is not read. Bad documents do not count.
    #[arg(long, value_name = "N", help_heading = "Input", value_parser = lists::count, allow_negative_numbers = true)]
    pub(crate) max_docs: Option<u64>,

    /// Allow comments and trailing commas
    ///
    /// Slower. Escapes may be spelled differently in the output. Offsets refer to the text without comments.
    #[arg(long, help_heading = "Input")]
    pub(crate) lenient: bool,

    /// Write the elements of the payload, one per line, instead of the document
    ///
    /// Nothing else is written. A payload that is not an array is a line of its own.
    #[arg(long, help_heading = "Output")]
    pub(crate) lines: bool,

    /// Write the document in another form
    ///
    /// A document that the form cannot carry is written as JSON, with a warning. csv and markdown are for an array of
    /// objects with scalar members, without siblings: see --siblings drop.
    #[arg(long, value_name = "FORM", help_heading = "Output", value_parser = encode())]
    pub(crate) format: Option<Encode>,

    /// Write strings without quotes, and only the text of a summary
    ///
    /// Applies if the output is a string, or with --lines, --ndjson and --docs to each line that is one.
    #[arg(short = 'r', long, help_heading = "Output")]
    pub(crate) raw_strings: bool,

    /// Write to a file, which may be FILE itself
    ///
    /// The output is written to a temporary file, which is renamed when the run succeeds. A run that fails leaves OUT
    /// unchanged.
    #[arg(short, long = "output", value_name = "OUT", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Print on standard error how much was saved: bytes and tokens in and out, and items kept
    ///
    /// Tokens are counted with the vocabulary `o200k_base`, which takes time. Without this flag they are not counted.
    #[arg(long, help_heading = "Output")]
    pub(crate) stats: bool,

    /// Print on standard error which rule removed how much at which path, or what became of one value
    ///
    /// With =POINTER, a JSON Pointer into the input, only about the value there. The document is filtered once more for each
    /// rule. A pipe is copied to a temporary file first.
    #[arg(
        long,
        value_name = "POINTER",
        num_args = 0..=1,
        require_equals = true,
        help_heading = "Output"
    )]
    pub(crate) why: Option<Option<String>>,

    /// With --why: print it as JSON, on one line
    #[arg(long, requires = "why", help_heading = "Output")]
    pub(crate) json: bool,
}

/// Runs `tamis filter`.
pub(crate) fn run(args: FilterArgs) -> Exit {
    match resolve(args) {
        Ok(job) => execution::run(&job),
        Err(usage) => Console::default().refuse(&usage),
    }
}

/// Resolves the flags of `tamis filter`.
///
/// # Errors
/// Flags that cannot be combined.
fn resolve(mut args: FilterArgs) -> Result<Job, Usage> {
    check(&args)?;
    let why = Asked::new(args.why.take(), args.json)?;
    let minified = args.selection.whitespace == Some(Whitespace::Minify);
    if args.docs || args.lines || args.raw_strings {
        // A line break is the end of a line, also if a manifest keeps white space.
        args.selection.whitespace = Some(Whitespace::Minify);
    }
    let mut selected = resolve::select(&args.selection)?;
    if args.lines {
        selected.drop_siblings();
    }
    if let Some(form) = args.format {
        selected.encode(form);
    }
    if let Some(count) = args.max_docs {
        selected.options = selected.options.with_max_documents(count);
    }
    selected.options = selected.options.with_lines(args.lines).with_only_summary(args.raw_strings);
    if let Some(treatment) = args.bad_lines {
        selected.options = selected.options.with_bad_lines(treatment);
    }
    let form = match (args.ndjson, args.docs, args.events, args.lenient) {
        (true, ..) => Form::Lines,
        (_, true, ..) => Form::Documents,
        (_, _, true, _) => Form::Events,
        (.., true) => Form::Lenient,
        _ => Form::Document,
    };
    Ok(Job {
        selected,
        input: args.file.into(),
        output: args.output.map_or(Place::Standard, Into::into),
        tee: args.tee,
        report: args.report.map(Into::into),
        form,
        pretty: args.pretty,
        minified,
        lines: args.lines,
        unquotes: args.raw_strings,
        stats: args.stats,
        why,
    })
}

/// Refuses flags that cannot be combined.
fn check(args: &FilterArgs) -> Result<(), Usage> {
    let is_encoded = args.format.is_some_and(|form| form != Encode::Json);
    let refused = if args.events
        && (args.ndjson
            || args.docs
            || args.lenient
            || args.pretty
            || args.lines
            || args.raw_strings)
    {
        "--events: each event has one document, as JSON on one line; leave --ndjson, --docs, --lenient, --pretty, --lines and -r out"
    } else if args.events && (is_encoded || args.why.is_some()) {
        "--events: --format and --why are for a single document; leave them out"
    } else if args.bad_lines.is_some() && !args.ndjson {
        "--bad-lines needs --ndjson: without it there are no lines"
    } else if is_encoded && (args.ndjson || args.docs) {
        "--format: with --ndjson and --docs each line is JSON; leave --format out"
    } else if is_encoded && (args.pretty || args.lines || args.raw_strings) {
        "--format: --pretty, --lines and -r are for JSON; leave them out"
    } else if is_encoded && args.selection.whitespace == Some(Whitespace::Keep) {
        "--format and --whitespace keep: white space is removed; leave one of them out"
    } else if args.ndjson && args.pretty {
        "--ndjson and --pretty: a line cannot be indented; leave one of them out"
    } else if args.docs && args.ndjson {
        "--docs and --ndjson: --docs also reads one document per line; leave --ndjson out"
    } else if args.docs && args.pretty {
        "--docs and --pretty: each document becomes a line, which cannot be indented; leave one of them out"
    } else if args.docs && args.lenient {
        "--docs and --lenient: comments are only removed from a single document; leave one of them out"
    } else if args.docs && args.selection.whitespace == Some(Whitespace::Keep) {
        "--docs and --whitespace keep: each document becomes a line; leave one of them out"
    } else if args.lines && args.pretty {
        "--lines and --pretty: a line cannot be indented; leave one of them out"
    } else if args.lines && args.selection.raw {
        "--lines and --raw: raw output is the whole document; leave one of them out"
    } else if args.lines && args.selection.siblings == Some(Siblings::Keep) {
        "--lines and --siblings keep: only elements are written; leave one of them out"
    } else if (args.lines || args.raw_strings)
        && args.selection.whitespace == Some(Whitespace::Keep)
    {
        "--whitespace keep cannot be combined with --lines or -r: white space is removed; leave one of them out"
    } else if args.max_docs.is_some() && !args.ndjson && !args.docs {
        "--max-docs needs --ndjson or --docs: without them there is only one document"
    } else if args.ndjson && args.lenient {
        "--ndjson and --lenient: a comment may span lines; leave one of them out"
    } else if args.why.is_some() && (args.ndjson || args.docs || args.lenient) {
        "--why explains a single document without comments; leave --ndjson, --docs and --lenient out"
    } else if args.pretty && args.selection.whitespace == Some(Whitespace::Keep) {
        "--pretty and --whitespace keep: both set the white space; leave one of them out"
    } else if args.tee.as_ref().is_some_and(|path| path.as_os_str() == "-") {
        "--tee needs a file: standard output is for the filtered document (for a file named - use ./-)"
    } else if args.file.as_os_str() == "-"
        && args.selection.patch.iter().any(|path| path.as_os_str() == "-")
    {
        "--patch - and the document are both standard input; give one of them as a file"
    } else if args.file.as_os_str() == "-"
        && args.selection.manifest.iter().any(|path| path.as_os_str() == "-")
    {
        "--manifest - and the document are both standard input; give one of them as a file"
    } else {
        return Ok(());
    };
    Err(Usage::new(refused))
}

/// The values of `--bad-lines`.
fn bad_lines() -> impl TypedValueParser<Value = BadLines> {
    one_of(&[
        ("fail", "report them, write nothing for them, and exit with 1 (default)", BadLines::Fail),
        ("skip", "write nothing for them", BadLines::Skip),
        ("pass", "write them as they are; refused if a rule removes for safety", BadLines::Pass),
    ])
}

/// The values of `--format`.
fn encode() -> impl TypedValueParser<Value = Encode> {
    one_of(&[
        ("json", "JSON (default)", Encode::Json),
        ("toon", "TOON: names are written once for all rows of a table", Encode::Toon),
        ("csv", "comma-separated values, with a header", Encode::Csv),
        ("markdown", "a table", Encode::Markdown),
    ])
}
