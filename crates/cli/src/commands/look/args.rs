//! The flags of `tamis look`.

use std::path::PathBuf;

use crate::flags::groups::Selection;
use crate::flags::lists;

pub(crate) const HELP_SHORT: &str = "For more and for examples see --help.";

pub(crate) const HELP: &str = "\
The rules of a filter, by the flags of tamis filter, add what remains after it: look before and after.

Examples:
  tamis look corpus/github-list-repos.json
  tamis look repos.json --top 40 --depth 3
  tamis look repos.json --select id,login=owner.login --html repos.html
  tamis look --tool github.list-repos corpus/github-list-repos.json --json
  tamis look --ndjson log.ndjson
  tamis look --chat history.json
  tamis look --command 'cargo test' test.log
  tamis look --secrets repos.json --select id

Tokens are estimated at four bytes each, with a leading ~. --exact counts them.

Exit codes: 0 done, 1 the input or the run failed, 2 the command line or a manifest is wrong.";

#[derive(Debug, clap::Args)]
pub(crate) struct LookArgs {
    /// Documents, which are counted together; `-` is standard input
    ///
    /// A chat and the output of a command are recognised by their beginning.
    #[arg(value_name = "FILE|-", default_value = "-", hide_default_value = true)]
    pub(super) files: Vec<PathBuf>,

    /// Show only paths with at most N steps
    #[arg(long, value_name = "N", help_heading = "Output", value_parser = lists::count, allow_negative_numbers = true)]
    pub(super) depth: Option<u64>,

    /// Show the N heaviest paths; 0 shows all [default: 20]
    #[arg(long, value_name = "N", help_heading = "Output", value_parser = lists::count, allow_negative_numbers = true)]
    pub(super) top: Option<u64>,

    /// Count tokens with the vocabulary `o200k_base` instead of estimating four bytes each
    ///
    /// Many times slower. The text that is counted has no white space between the tokens of JSON. A chat is counted as
    /// a document.
    #[arg(long, help_heading = "Input")]
    pub(super) exact: bool,

    /// Read one document per line
    #[arg(long, help_heading = "Input", conflicts_with_all = ["chat", "command"])]
    pub(super) ndjson: bool,

    /// The input is a chat: show what tamis prune would remove
    #[arg(long, help_heading = "Input", conflicts_with_all = ["command", "exact"])]
    pub(super) chat: bool,

    /// The input is the output of this command: show what its filter keeps, by kind of line
    #[arg(
        long,
        value_name = "COMMAND",
        help_heading = "Input",
        allow_hyphen_values = true,
        conflicts_with = "exact"
    )]
    pub(super) command: Option<String>,

    /// Show which credentials and personal data are in the input, and how many remain after the filter; never values
    ///
    /// A name in a path that is itself one of them is shown as a mark, such as `[redacted:email]`.
    #[arg(long, help_heading = "Output", conflicts_with_all = ["chat", "command", "exact", "depth", "top", "html", "svg"])]
    pub(super) secrets: bool,

    /// Print all paths as JSON, on one line
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,

    /// Write a page with a treemap to zoom into; it needs no network (`-`: to standard output, without the table)
    #[arg(long, value_name = "OUT", help_heading = "Output")]
    pub(super) html: Option<PathBuf>,

    /// Write a treemap as a picture (`-`: to standard output, without the table)
    #[arg(long, value_name = "OUT", help_heading = "Output")]
    pub(super) svg: Option<PathBuf>,

    #[command(flatten)]
    pub(super) selection: Selection,
}
