//! `tamis savings`: sums logs of calls per tool.
//!
//! This module must not depend on how a log is written.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use tamis_store::calls::{Savings, UserLog};

use crate::console::{Console, Exit, Usage, print};

pub(crate) const HELP: &str = "\
Examples:
  tamis savings
  tamis savings calls.jsonl
  tamis savings monday.jsonl tuesday.jsonl

tamis run and the hooks of agents append a line for each call to calls.jsonl in the state folder: $TAMIS_STATE_DIR, else
$XDG_STATE_HOME/tamis, else ~/.local/state/tamis. It has names, sizes and durations, and no data. TAMIS_LOG=off turns it
off.

Tokens are estimated at four bytes each.

Exit codes: 0 done, 1 a log cannot be read, 2 the command line is wrong.";

#[derive(Debug, clap::Args)]
pub(crate) struct SavingsArgs {
    /// A file that `tamis mcp --log` wrote; `-` is standard input [default: the log of the user]
    #[arg(value_name = "LOG")]
    log: Vec<PathBuf>,
}

/// Runs `tamis savings`.
pub(crate) fn run(args: &SavingsArgs) -> Exit {
    let console = Console::default();
    let mut savings = Savings::default();
    if args.log.is_empty() {
        let Some(log) = UserLog::of_user() else {
            console.usage(&Usage::new("no home folder; name a log, or set TAMIS_STATE_DIR"));
            return Exit::Usage;
        };
        for path in log.files() {
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
    print::print(savings.table().as_bytes())
}

fn read(savings: &mut Savings, path: &Path) -> io::Result<()> {
    if path.as_os_str() == "-" { savings.read(io::stdin().lock()) } else { savings.read_file(path) }
}
