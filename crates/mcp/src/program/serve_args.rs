//! The flags of `tamis serve`.

use std::path::PathBuf;

/// The text after the help.
pub const SERVE_HELP: &str = "\
Examples:
  tamis serve --config gateway.yaml
  tamis check gateway.yaml

The file is read again when it or a manifest changes, and on SIGHUP. A file that is not valid
is reported, and the old rules stay in force. SIGTERM ends the server after its open streams.
Routes, conditions and failures: tamis help serving.

Exit codes:
  0    ended by a signal
  1    the server failed
  2    the command line or the file is wrong";

/// Which file is used, and where to report.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// The file with addresses, store and routes
    #[arg(long, value_name = "FILE", default_value = "gateway.yaml")]
    pub config: PathBuf,

    /// Append lines of JSON to this file, instead of standard error: for each call of an MCP tool, and each response that failed
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
}
