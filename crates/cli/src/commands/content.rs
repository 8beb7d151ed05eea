//! `tamis content`: extracts the main text of a page or of a JSON response, without a manifest.
//!
//! This module must not depend on how text is found or shortened: a spec declares it.

use std::path::PathBuf;

use clap::builder::TypedValueParser;
use tamis::Spec;
use tamis::content::{Content, ContentFormat};
use tamis::spec::Redact;

use crate::files::place::Place;
use crate::flags::choice::one_of;
use crate::flags::groups::Waiting;
use crate::flags::lists;
use crate::job::resolve::{Form, Job, Selected};

pub(crate) const HELP_SHORT: &str = "For more and for examples see --help and tamis help pages.";

pub(crate) const HELP: &str = "\
Examples:
  tamis content corpus/pages/news.html --max-tokens 500
  curl -s https://example.com | tamis content --format markdown --stats
  tamis content --extract title,text answer.json
  tamis content --extract results[].text search.json --report report.json

tamis help pages describes what is kept and where a text is shortened. To use the filters of a tool
registry by name: tamis filter --manifest tool-registry.yaml --tool NAME.";

#[derive(Debug, clap::Args)]
pub(crate) struct ContentArgs {
    /// The page, JSON response or text; `-` is standard input
    #[arg(value_name = "FILE|-", default_value = "-", hide_default_value = true)]
    file: PathBuf,

    /// Keep at most N tokens of the vocabulary `o200k_base`, and a line with the number of tokens left out
    ///
    /// Below 400 tokens, the beginning is kept, up to the end of a paragraph, else of a sentence, else of a word. With 400 and
    /// more, the first and the last parts are kept, and passages between them that are likely to be needed.
    #[arg(long, value_name = "N", help_heading = "Rules", value_parser = lists::count, allow_negative_numbers = true)]
    max_tokens: Option<u64>,

    /// Take the text of these values of a JSON response, or of each of its elements
    ///
    /// Paths as for `tamis filter --select`. If none of them exists, or without this flag, the first of `content`,
    /// `text` and `body` that has text is used.
    #[arg(long, value_name = "PATH,PATH", help_heading = "Rules", allow_hyphen_values = true)]
    extract: Vec<String>,

    /// Replace credentials by [redacted:KIND] before the text is cut
    #[arg(long, value_name = "WHAT", help_heading = "Rules", value_parser = ["secrets"])]
    redact: Option<String>,

    /// The format of the text of a page
    #[arg(long, value_name = "FORMAT", help_heading = "Output", value_parser = format())]
    format: Option<ContentFormat>,

    /// Write a report of the run as JSON, even if it failed; `-` is standard error
    #[arg(long, value_name = "PATH|-", help_heading = "Output")]
    report: Option<PathBuf>,

    /// Write to a file, which may be FILE itself
    ///
    /// The output is written to a temporary file, which is renamed when the run succeeds. A run that fails leaves OUT
    /// unchanged.
    #[arg(short, long = "output", value_name = "OUT", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Print on standard error how much was saved: bytes and tokens in and out
    #[arg(long, help_heading = "Output")]
    stats: bool,

    #[command(flatten)]
    waiting: Waiting,
}

fn format() -> impl TypedValueParser<Value = ContentFormat> {
    one_of(&[
        (
            "text",
            "plain text: links are replaced by their text, code is indented (default)",
            ContentFormat::Text,
        ),
        (
            "markdown",
            "headings, links, code, tables and quotes are marked up",
            ContentFormat::Markdown,
        ),
    ])
}

/// Resolves the flags of `tamis content`.
pub(crate) fn resolve(args: ContentArgs) -> Job {
    let content = Content::new()
        .max_tokens(args.max_tokens.unwrap_or(0))
        .format(args.format.unwrap_or_default());
    let paths = args.extract.iter().flat_map(|list| lists::split(list));
    let content = paths.fold(content, |content, path| content.extract(path));
    let mut spec = Spec::new().content(content);
    if args.redact.is_some() {
        spec = spec.redact(Redact::new().secrets(true));
    }
    Job {
        selected: Selected::inline(spec, args.waiting.limits()),
        input: args.file.into(),
        output: args.output.map_or(Place::Standard, Into::into),
        tee: None,
        report: args.report.map(Into::into),
        form: Form::Document,
        lines: false,
        unquotes: false,
        pretty: false,
        minified: true,
        stats: args.stats,
        why: None,
    }
}
