//! `tamis savings`: sums logs of calls, and names tools that were never called.
//!
//! This module must not depend on how a log is written.

use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use tamis_store::calls::{Savings, SavingsBy, UserLog};

use crate::console::{Console, Exit, Usage, colour, print};

pub(crate) const HELP: &str = "\
Examples:
  tamis savings
  tamis savings --by day
  tamis savings --by agent --json
  tamis savings --unused
  tamis savings monday.jsonl tuesday.jsonl

without     bytes that the agent would have shown to its model without tamis, its own cut included
shown       bytes that it shows
read again  bytes of full outputs that it fetched later
saved       the rest; less than zero if the model reads more with tamis
replaced    kinds of credentials and personal data that redact replaced, and how many; never a value

tamis run, the hooks of agents and servers wrapped by tamis install append a line for each call to calls.jsonl in the
state folder: $TAMIS_STATE_DIR, else $XDG_STATE_HOME/tamis, else ~/.local/state/tamis. It has names, sizes and durations,
and no data. TAMIS_LOG=off turns it off. A sandbox that cannot write there appends to the folder for temporary files.

Tokens are estimated at four bytes each.

Exit codes: 0 done, 1 a log cannot be read, 2 the command line is wrong.";

#[derive(Debug, clap::Args)]
pub(crate) struct SavingsArgs {
    /// A file that `tamis mcp --log` wrote; `-` is standard input [default: the log of the user]
    #[arg(value_name = "LOG")]
    log: Vec<PathBuf>,

    /// Sums by this: tools, tools with their filter, agents or days
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "tool",
        value_parser = PossibleValuesParser::new(SavingsBy::ALL.map(|(word, _)| word))
    )]
    by: String,

    /// Print the tools of MCP servers that were listed and never called, with the size of their descriptions
    #[arg(long, conflicts_with = "by")]
    unused: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs `tamis savings`.
pub(crate) fn run(args: &SavingsArgs) -> Exit {
    let console = Console::default();
    let by = SavingsBy::ALL.into_iter().find(|(word, _)| *word == args.by);
    let mut savings = Savings::by(by.map(|(_, by)| by).unwrap_or_default());
    if args.log.is_empty() {
        let Some(log) = UserLog::of_user() else {
            console.usage(&Usage::new("no home folder; name a log, or set TAMIS_STATE_DIR"));
            return Exit::Usage;
        };
        let logs = std::iter::once(log).chain(UserLog::of_sandboxes());
        for path in logs.flat_map(|log| log.files()) {
            match savings.read_file(&path) {
                // Nothing was logged yet.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                read => {
                    if let Err(error) = read {
                        return console.fail(&path.display().to_string(), error);
                    }
                }
            }
        }
    }
    for path in &args.log {
        if let Err(error) = read(&mut savings, path) {
            return console.fail(&path.display().to_string(), error);
        }
    }
    if savings.skipped() > 0 {
        let skipped = savings.skipped();
        let lines = match skipped {
            1 => "line that is not the record of a call",
            _ => "lines that are not records of calls",
        };
        console.note(format_args!("skipped {skipped} {lines}"));
    }
    if args.unused { unused(&savings, args.json) } else { sums(&savings, args.json) }
}

/// Prints the sums.
fn sums(savings: &Savings, as_json: bool) -> Exit {
    if as_json {
        return match savings.json() {
            Ok(text) => print::print(format!("{text}\n").as_bytes()),
            Err(error) => Console::default().fail("savings", error),
        };
    }
    let table = if colour::on_stdout() {
        let (red, plain) = (colour::ERROR.render(), colour::ERROR.render_reset());
        savings.table_with([&red.to_string(), &plain.to_string()])
    } else {
        savings.table()
    };
    let redacted = savings.redacted_table();
    let gap = if redacted.is_empty() { "" } else { "\n" };
    print::print(format!("{table}{gap}{redacted}").as_bytes())
}

/// Prints the tools that were never called.
fn unused(savings: &Savings, as_json: bool) -> Exit {
    let unused = savings.unused();
    if as_json {
        return match print::json(&unused) {
            Ok(text) => print::print(&text),
            Err(error) => Console::default().fail("savings", error),
        };
    }
    if unused.is_empty() {
        Console::default().note("no tool that was listed is unused");
    }
    let mut text = String::new();
    for tool in unused {
        _ = writeln!(text, "{}  ~{} tokens in every session", tool.tool, tool.bytes.div_ceil(4));
    }
    print::print(text.as_bytes())
}

fn read(savings: &mut Savings, path: &Path) -> io::Result<()> {
    if path.as_os_str() == "-" { savings.read(io::stdin().lock()) } else { savings.read_file(path) }
}
