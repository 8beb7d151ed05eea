//! The flags of `tamis mcp`.

use std::ffi::OsString;
use std::path::PathBuf;

/// The text after the short help.
pub const MCP_HELP_SHORT: &str = "\
For more and for examples see --help.";

/// The text after the help.
pub const MCP_HELP: &str = "\
Examples:
  tamis mcp -- npx -y @modelcontextprotocol/server-filesystem /home/me/project
  tamis mcp --manifest tamis.yaml --log calls.jsonl -- uvx mcp-server-git
  tamis mcp --upstream https://mcp.example.com/mcp --listen 127.0.0.1:8931
  tamis mcp --stdio --upstream https://mcp.example.com/mcp --header Authorization=@env:TOKEN

In the configuration of a client, write `tamis` as the command of the server. Put `mcp --`
before the old command and its arguments. Profiles, notices and limits: tamis help proxy.

Exit codes:
  that of the server; 128 + N if signal N ended it
  127  the server's command was not found
  126  it cannot be executed
  2    the command line or a manifest is wrong";

/// Where the messages come from and go to, and which rules apply.
#[derive(Debug, clap::Args)]
#[allow(rustdoc::broken_intra_doc_links, reason = "the help is printed as it is written")]
pub struct McpArgs {
    /// The server to start, which reads from standard input and writes to standard output
    ///
    /// Run directly, without a shell. It inherits the current folder and the environment.
    #[arg(
        value_name = "COMMAND",
        last = true,
        required_unless_present = "upstream",
        conflicts_with = "upstream",
        value_hint = clap::ValueHint::CommandWithArguments
    )]
    pub command: Vec<OsString>,

    /// Filters for tools; takes precedence over the user's and the project's tamis.yaml; may be repeated
    #[arg(long, value_name = "FILE", help_heading = "Rules")]
    pub manifest: Vec<PathBuf>,

    /// Which configuration files are read in addition: that of the user, that of the project, or both [default: both]
    ///
    /// The user's is ~/.config/tamis/tamis.yaml. The project's is the first tamis.yaml in the current folder and those
    /// above it, up to the root of the repository. It may contain only filters and a profile, and is not read if there
    /// is a --manifest.
    #[arg(long, value_name = "WHICH", value_parser = ["user", "project", "both"], help_heading = "Rules")]
    pub config: Option<String>,

    /// The filter for tools without a filter of their own [default: standard]
    ///
    /// lossless: removes white space and copies. standard: also removes nulls, empty values and long base64, and keeps
    /// at most 8,000 tokens; the rest can be retrieved. tight: keeps at most 2,000 tokens. off: ends all that saves tokens, also filters of
    /// manifests; rules that remove for safety stay.
    #[arg(long, value_name = "NAME", value_parser = ["lossless", "standard", "tight", "off"], help_heading = "Rules")]
    pub profile: Option<String>,

    /// Replace credentials (secrets) by [redacted:KIND], and personal data by marks such as [email:1], in all results
    ///
    /// A result that cannot be searched is withheld. Stored results lack the same values. In a session, equal personal data have
    /// equal marks; `put_back` in a manifest names the tools that get the values.
    #[arg(
        long,
        value_name = "WHAT,WHAT",
        value_delimiter = ',',
        value_parser = ["secrets", "personal"],
        help_heading = "Rules"
    )]
    pub redact: Vec<String>,

    /// Ignore TAMIS=off in the environment
    ///
    /// For entries that are boundaries. Without it, TAMIS=off ends all that saves tokens, as --profile off does.
    #[arg(long, help_heading = "Rules")]
    pub closed: bool,

    /// The service that the server gives access to, such as github: its filters of the built-in catalog apply
    ///
    /// Without it, they apply if the server's name is one that the catalog lists.
    #[arg(long, value_name = "NAME", help_heading = "Rules")]
    pub service: Option<String>,

    /// The name of the server in the configuration of the client, for the keys under `servers` in a manifest
    ///
    /// Without it, the name that the server gives itself counts.
    #[arg(long, value_name = "NAME", help_heading = "Rules")]
    pub name: Option<String>,

    /// Whether results keep `structuredContent` in addition to their text
    ///
    /// drop: the client shows the filtered text to the model. Applies to tools with a filter of their own, and overrides
    /// the key of the same name in manifests.
    #[arg(long, value_name = "WHICH", value_parser = ["keep", "drop"], help_heading = "Rules")]
    pub structured: Option<String>,

    /// Which part of a result the client shows to the model
    ///
    /// Default: recognised by the name of the client. structured: copies of `structuredContent` in the text are removed.
    #[arg(long, value_name = "WHICH", value_parser = ["content", "structured", "both"], help_heading = "Rules")]
    pub client_reads: Option<String>,

    /// Where results are kept for retrieval: a folder, in memory, or nowhere
    ///
    /// Default: your folder ($TAMIS_STATE_DIR, else $XDG_STATE_HOME/tamis, else ~/.local/state/tamis) on standard input and output, where it can be written, else memory.
    #[arg(long, value_name = "DIR|memory|off", help_heading = "Rules")]
    pub store: Option<OsString>,

    /// The URL of a server over streamable HTTP, instead of a command
    #[arg(long, value_name = "URL", help_heading = "HTTP")]
    pub upstream: Option<String>,

    /// The address for clients over HTTP; port 0 is a free one [default: 127.0.0.1:8931]
    #[arg(long, value_name = "ADDRESS", requires = "upstream", conflicts_with_all = ["command", "stdio"], help_heading = "HTTP")]
    pub listen: Option<std::net::SocketAddr>,

    /// Use standard input and output for the client, and --upstream for the server
    #[arg(long, requires = "upstream", conflicts_with = "command", help_heading = "HTTP")]
    pub stdio: bool,

    /// A header for requests to the server, from an environment variable; may be repeated
    ///
    /// It replaces the header of the client. Values on the command line are refused: other users can read them.
    #[arg(
        long,
        value_name = "NAME=@env:VAR",
        requires = "upstream",
        conflicts_with = "command",
        help_heading = "HTTP"
    )]
    pub header: Vec<String>,

    /// An origin of web pages that may use the proxy, in addition to those of this machine; may be repeated
    #[arg(long, value_name = "ORIGIN", requires = "upstream", conflicts_with_all = ["command", "stdio"], help_heading = "HTTP")]
    pub allow_origin: Vec<String>,

    /// Append a line of JSON for each call to this file, instead of standard error
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub log: Option<PathBuf>,

    /// Serve metrics for Prometheus at http://ADDRESS/metrics
    #[arg(long, value_name = "ADDRESS", help_heading = "Output")]
    pub metrics: Option<std::net::SocketAddr>,

    /// Hold at most BYTES of a message in memory, the rest in a temporary file (k, M, G) [default: 4M]
    #[arg(long, value_name = "BYTES", value_parser = size, help_heading = "Limits")]
    pub held: Option<u64>,

    /// Write at most BYTES of a message to a temporary file [default: 60M on standard input and output, 1G over HTTP]
    #[arg(long, value_name = "BYTES", value_parser = size, help_heading = "Limits")]
    pub spill: Option<u64>,

    /// Forward all messages unchanged, to measure what filtering costs
    #[arg(long, hide = true)]
    pub pass_through: bool,
}

/// Parses a number of bytes: `4096`, `64k`, `8M`, `1G`.
fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|char: char| char.is_ascii_alphabetic());
    let factor = match text.get(digits.len()..) {
        Some("") => Some(1),
        Some("k" | "K" | "kB" | "KB" | "KiB") => Some(1 << 10),
        Some("M" | "MB" | "MiB") => Some(1 << 20),
        Some("G" | "GB" | "GiB") => Some(1 << 30),
        _ => None,
    };
    let number = digits.parse::<u64>().ok();
    let bytes = factor.zip(number).and_then(|(factor, number)| number.checked_mul(factor));
    bytes.ok_or_else(|| String::from("expected a number of bytes, such as 4096, 64k or 8M"))
}
