//! `tamis text`: filters the saved output of a command.
//!
//! Must not know rules: a registry has them.

use std::path::{Path, PathBuf};

use tamis::{
    CommandLine, CommandReport, CommandRules, Error, Limits, ManifestError, OutputFilterRegistry,
    WriteSink,
};

use crate::diagnostics::{Console, Exit, Usage};
use crate::files::{self, Output};
use crate::lists;
use crate::places::{self, Places};
use crate::resolve::Place;
use crate::run::{cannot_report, is_closed_pipe, open_report, write_report};
use crate::silence::{Given, Input};
use crate::stats::saved;
use crate::tokens::Tally;
use crate::tool::{called, read_once};

pub(crate) const HELP: &str = "\
Examples:
  tamis text --command 'cargo test' --exit-code 101 test.log
  git log | tamis text --command 'git log' --stats
  tamis text --command make --manifest rules.toml --report report.json make.log

What is filtered, and how rules are written: tamis help commands.

Exit codes: 0 done, 1 the input or the run failed, 2 the command line or a file of rules is wrong.";

#[derive(Debug, clap::Args)]
pub(crate) struct TextArgs {
    /// The output; `-` is standard input
    #[arg(value_name = "FILE|-", default_value = "-", hide_default_value = true)]
    file: PathBuf,

    /// The command whose output it is, as it was typed
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    command: String,

    /// How the command ended; some rules ask
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    exit_code: Option<i32>,

    /// Rules in TOML, which go before those that come with tamis; may be repeated
    #[arg(long, value_name = "RULES.toml")]
    manifest: Vec<PathBuf>,

    /// Bytes that may wait in memory (k, M, G: powers of 1024) [default: 4M]
    #[arg(long, value_name = "BYTES", value_parser = lists::bytes, allow_negative_numbers = true)]
    held: Option<u64>,

    /// Write what the run did as JSON; `-` is standard error
    #[arg(long, value_name = "PATH|-")]
    report: Option<PathBuf>,

    /// Say on standard error which filter ran and how much was saved
    #[arg(long)]
    stats: bool,

    /// Write to a file, which may be FILE itself
    #[arg(short, long = "output", value_name = "OUT")]
    output: Option<PathBuf>,
}

/// Filters.
pub(crate) fn run(args: &TextArgs) -> Exit {
    let console = Console::default();
    let read = args.manifest.iter().chain(Some(&args.file));
    if let Err(usage) = read_once(read) {
        console.usage(&usage);
        return Exit::Usage;
    }
    let place = args.report.clone().map(Place::from);
    let input = Place::from(args.file.clone());
    let output = args.output.clone().map_or(Place::Standard, Place::from);
    let all = Places {
        input: Some(&input),
        rules: args.manifest.iter().map(|path| ("--manifest", path.as_path())).collect(),
        output: Some(&output),
        report: place.as_ref(),
        ..Places::default()
    };
    if let Err(usage) = places::check(&all) {
        console.usage(&usage);
        return Exit::Usage;
    }
    let registry = match registry(&args.manifest) {
        Ok(registry) => registry,
        Err(error) => {
            tell(&console, &error);
            return Exit::Usage;
        }
    };
    let report_to = match place.as_ref().map(open_report).transpose() {
        Ok(writer) => writer,
        Err(error) => {
            let name = place.map_or_else(String::new, |place| place.name("standard error"));
            console.say(&name, cannot_report(&error));
            return Exit::Failed;
        }
    };
    let tallies = [Tally::new(args.stats), Tally::new(args.stats)];
    let (report, stopped) = match filter(args, &registry, &tallies) {
        Ok(done) => done,
        // Whoever reads the output has enough of it.
        Err((_, error)) if is_closed_pipe(&error) => return Exit::Done,
        Err((name, error)) => {
            console.say(&name, error);
            return Exit::Failed;
        }
    };
    if let Some(writer) = report_to
        && let Err(error) = write_report(&report, writer)
    {
        console.say("report", cannot_report(&error));
        return Exit::Failed;
    }
    if args.stats {
        let filter = report.filter.as_deref().unwrap_or("no filter");
        let tokens = tallies.map(|tally| tally.all());
        let saved = saved([report.bytes_in, report.bytes_out], tokens);
        console.note(format_args!("{filter}: {saved}"));
    }
    if let Some(input) = stopped {
        input.end();
    }
    Exit::Done
}

/// The rules of files, and those that come with tamis behind them.
pub(crate) fn registry(manifests: &[PathBuf]) -> Result<OutputFilterRegistry, ManifestError> {
    let mut registry = OutputFilterRegistry::new();
    for path in manifests {
        registry = registry.register_rules(load(path)?);
    }
    Ok(registry.register_rules(CommandRules::builtin()))
}

/// Reads a file of rules.
pub(crate) fn load(path: &Path) -> Result<CommandRules, ManifestError> {
    if path.as_os_str() != "-" {
        return CommandRules::load(path);
    }
    let name = called(path);
    let input = files::standard_input().map_err(|error| ManifestError::read(&name, &error))?;
    CommandRules::read(&name, input)
}

/// Says each problem.
pub(crate) fn tell(console: &Console, error: &ManifestError) {
    for problem in error.problems() {
        console.usage(&Usage::new(problem.to_string()));
    }
    if error.more() > 0 {
        console.usage(&Usage::new(format!("{} more problems", error.more())));
    }
}

/// Runs the filter; on failure, what the error is about. With the report, the input if a signal came that is to end the process.
fn filter(
    args: &TextArgs,
    registry: &OutputFilterRegistry,
    [tally_in, tally_out]: &[Tally; 2],
) -> Result<(CommandReport, Option<Input>), (String, Error)> {
    let input = Place::from(args.file.clone());
    let output = args.output.clone().map_or(Place::Standard, Place::from);
    let (from, to) = (input.name("standard input"), output.name("standard output"));
    let reader = files::open(&input).map_err(|error| (from.clone(), Error::read(error)))?;
    let mut reader = Input::new(reader);
    let mut writer = Output::open(&output).map_err(|error| (to.clone(), Error::write(error)))?;
    let mut limits = Limits::new();
    if let Some(bytes) = args.held {
        limits = limits.with_held(bytes);
    }
    let line = CommandLine::parse(&args.command);
    let mut run = registry.start(&line, &limits, WriteSink::new(tally_out.through(&mut writer)));
    let mut buffer = vec![0; 64 << 10];
    #[cfg(unix)]
    let mut stopped = false;
    loop {
        match reader.read(&mut buffer).map_err(|error| (from.clone(), Error::read(error)))? {
            // What was filtered so far is all that there will be.
            Given::Bytes(0) => break,
            #[cfg(unix)]
            Given::Stop => {
                stopped = true;
                break;
            }
            Given::Bytes(count) => {
                let read = buffer.get(..count).unwrap_or_default();
                tally_in.push(read);
                run.write(read).map_err(|error| (from.clone(), error))?;
            }
            Given::Silence => run.release(),
        }
        run.sink_mut().flush().map_err(|error| (to.clone(), error))?;
    }
    // All of the output is where it was read.
    let full = match &input {
        Place::Path(path) if args.output.as_ref() != Some(path) => path.to_str(),
        _ => None,
    };
    run.set_exit_code(args.exit_code);
    if let Some(full) = full {
        run.set_full_output(full);
    }
    let report = run.end().map_err(|error| (from.clone(), error))?;
    run.sink_mut().flush().map_err(|error| (to.clone(), error))?;
    drop(run);
    #[cfg(unix)]
    if stopped {
        // A file that is to be replaced stays as it is.
        drop(writer);
        return Ok((report, Some(reader)));
    }
    writer.finish().map_err(|error| (to, Error::write(error)))?;
    Ok((report, None))
}
