//! `tamis content`: the main text of a page, or of an answer, without a manifest.
//!
//! Must not know how text is found or cut: a spec says it.

use std::path::PathBuf;

use clap::builder::TypedValueParser;
use tamis::{Content, ContentFormat, Spec};

use crate::args::{Waiting, one_of};
use crate::lists;
use crate::resolve::{Form, Job, Place, Selected};

pub(crate) const HELP_SHORT: &str =
    "--help says more and gives examples; so does tamis help pages.";

pub(crate) const HELP: &str = "\
Examples:
  tamis content corpus/pages/news.html --max-tokens 500
  curl -s https://example.com | tamis content --format markdown --stats
  tamis content --extract title,text answer.json
  tamis content --extract results[].text search.json --report report.json

tamis help pages says what is kept, and where a text is cut. The filters of a tool registry are
applied by name: tamis filter --manifest tool-registry.yaml --tool NAME.";

#[derive(Debug, clap::Args)]
pub(crate) struct ContentArgs {
    /// The page, answer or text; `-` is standard input
    #[arg(value_name = "FILE|-", default_value = "-", hide_default_value = true)]
    file: PathBuf,

    /// At most so many tokens, as `o200k_base` counts them, and a line that says how many were left out
    ///
    /// Cut behind a paragraph, else a sentence, else a word.
    #[arg(long, value_name = "N", help_heading = "Rules", value_parser = lists::count, allow_negative_numbers = true)]
    max_tokens: Option<u64>,

    /// Of a JSON answer, take the text of these values, of the document or of each of its elements
    ///
    /// Paths, as for `tamis filter --select`. Where none is there, as without this flag, the first of `content`, `text` and
    /// `body` that has text counts.
    #[arg(long, value_name = "PATH,PATH", help_heading = "Rules", allow_hyphen_values = true)]
    extract: Vec<String>,

    /// What the text of a page is written as
    #[arg(long, value_name = "FORMAT", help_heading = "Output", value_parser = format())]
    format: Option<ContentFormat>,

    /// Write what the run did as JSON, also if it failed; `-` is standard error
    #[arg(long, value_name = "PATH|-", help_heading = "Output")]
    report: Option<PathBuf>,

    /// Write to a file, which may be FILE itself
    ///
    /// Written beside it and renamed when the run is done; a run that fails leaves it as it was.
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
        ("text", "links are their text, code is indented (default)", ContentFormat::Text),
        (
            "markdown",
            "headings, links, code, tables and quotes are marked",
            ContentFormat::Markdown,
        ),
    ])
}

/// What is meant by the flags.
pub(crate) fn resolve(args: ContentArgs) -> Job {
    let content = Content::new()
        .max_tokens(args.max_tokens.unwrap_or(0))
        .format(args.format.unwrap_or_default());
    let paths = args.extract.iter().flat_map(|list| lists::split(list));
    let content = paths.fold(content, |content, path| content.extract(path));
    Job {
        selected: Selected::inline(Spec::new().content(content), args.waiting.limits()),
        input: args.file.into(),
        output: args.output.map_or(Place::Standard, Into::into),
        tee: None,
        report: args.report.map(Into::into),
        form: Form::Document,
        pretty: false,
        stats: args.stats,
    }
}
