//! `tamis text`: filters the saved output of a command.
//!
//! This module must not depend on rules: a registry has them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tamis::text::TextRedactor;
use tamis::{Error, Limits, WriteSink};
use tamis_command::{CommandLine, CommandReport, CutReport, OutputFilterRegistry, TextKind};

use crate::console::print::is_closed_pipe;
use crate::console::{Console, Exit};
use crate::figures::report::ReportFile;
use crate::figures::stats::saved;
use crate::figures::tokens::Tally;
use crate::files::conflicts::{self, Places};
use crate::files::head;
use crate::files::place::{Place, read_once};
use crate::files::{self, Output};
use crate::filters::command_rules;
use crate::flags::caps::CapArgs;
use crate::flags::{habits, lists};
use crate::system::silence::{Given, Input};

/// The number of bytes by which compressed files, and texts in UTF-16, are recognised.
const HEAD: usize = 8;

pub(crate) const HELP: &str = "\
Examples:
  tamis text --command 'cargo test' --exit-code 101 test.log
  git log | tamis text --command 'git log' --stats
  tamis text --command ./build --max-tokens 2000 make.log
  tamis text --command make --manifest rules.toml --report report.json make.log

Rules and their format: tamis help commands.

Exit codes: 0 done, 1 the input or the run failed, 2 the command line or a file of rules is wrong.";

#[derive(Debug, clap::Args)]
pub(crate) struct TextArgs {
    /// The output of the command; `-` is standard input
    #[arg(value_name = "FILE|-", default_value = "-", hide_default_value = true)]
    file: PathBuf,

    /// The command line that produced the output
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    command: String,

    /// The exit code of the command; some rules depend on it
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    exit_code: Option<i32>,

    /// Rules in TOML, which take precedence over the built-in rules; may be repeated
    #[arg(long, value_name = "RULES.toml")]
    manifest: Vec<PathBuf>,

    /// Replace credentials by [redacted:KIND] before any rule applies
    #[arg(long, value_name = "WHAT", value_parser = ["secrets"])]
    redact: Option<String>,

    #[command(flatten)]
    cap: CapArgs,

    /// Bytes to buffer in memory at most (k, M, G: powers of 1024) [default: 4M]
    #[arg(long, value_name = "BYTES", value_parser = lists::bytes, allow_negative_numbers = true)]
    held: Option<u64>,

    /// Write a report of the run as JSON; `-` is standard error
    #[arg(long, value_name = "PATH|-")]
    report: Option<PathBuf>,

    /// Print on standard error which filter ran and how much was saved
    #[arg(long)]
    stats: bool,

    /// Print on standard error which lines a limit kept, and why
    #[arg(long)]
    why: bool,

    /// Write to a file, which may be FILE itself
    #[arg(short, long = "output", value_name = "OUT")]
    output: Option<PathBuf>,
}

/// Runs `tamis text`.
pub(crate) fn run(args: &TextArgs) -> Exit {
    let console = Console::default();
    let read = args.manifest.iter().chain(Some(&args.file));
    if let Err(usage) = read_once(read) {
        return console.refuse(&usage);
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
    if let Err(usage) = conflicts::check(&all) {
        return console.refuse(&usage);
    }
    let registry = match command_rules::registry(&args.manifest) {
        Ok(registry) => registry,
        Err(error) => {
            command_rules::print_problems(&console, &error);
            return Exit::Usage;
        }
    };
    let report_to = match ReportFile::open(&console, place.as_ref()) {
        Ok(file) => file,
        Err(exit) => return exit,
    };
    let tallies = [Tally::new(args.stats), Tally::new(args.stats)];
    let (report, stopped) = match filter(args, &registry, &tallies) {
        Ok(done) => done,
        // The reader of the output has enough.
        Err((_, error)) if is_closed_pipe(&error) => return Exit::Done,
        Err((name, error)) => return console.fail(&name, error),
    };
    if let Some(file) = report_to
        && let Err(exit) = file.write(&console, &report)
    {
        return exit;
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

/// Prints the lines that a limit kept.
fn print_why(cut: Option<&CutReport>) {
    let console = Console::default();
    let Some(cut) = cut else { return console.note("no limit left anything out") };
    let kind = cut.kind.map_or("other", TextKind::name);
    let (lines, places) = (cut.lines, cut.gaps);
    let of = if lines == 1 { "line" } else { "lines" };
    let in_places = if places == 1 { "place" } else { "places" };
    console.note(format_args!(
        "cut as {kind}: {} of {lines} {of} left out in {places} {in_places}",
        cut.lines_left_out
    ));
    for kept in &cut.kept {
        let (first, last) = kept.lines;
        let lines =
            if first == last { format!("line {first}") } else { format!("lines {first}-{last}") };
        console.note(format_args!("kept {lines}: {}", kept.reasons()));
    }
}

/// Runs the filter. Returns the report, and the input if a signal arrived that should end the process. An error has the
/// name of the file or stream that it is about.
fn filter(
    args: &TextArgs,
    registry: &OutputFilterRegistry,
    [tally_in, tally_out]: &[Tally; 2],
) -> Result<(CommandReport, Option<Input>), (String, Error)> {
    let input = Place::from(args.file.clone());
    let output = args.output.clone().map_or(Place::Standard, Place::from);
    let (from, to) = (input.name("standard input"), output.name("standard output"));
    let reader = files::open(&input)
        .map_err(|error| (from.clone(), Error::read(habits::explained(&args.file, error))))?;
    let mut reader = Input::new(reader);
    let mut writer = Output::open(&output).map_err(|error| (to.clone(), Error::write(error)))?;
    let mut limits = Limits::new();
    if let Some(bytes) = args.held {
        limits = limits.with_held(bytes);
    }
    let line = CommandLine::parse(&args.command);
    let sink = WriteSink::new(tally_out.through(&mut writer));
    let run = registry.start(&line, &limits, sink).with_query(args.cap.query());
    let mut run = run.with_cap(args.cap.cap());
    let mut redactor = args.redact.as_ref().map(|_| TextRedactor::with_limits(&limits));
    // The text without credentials.
    let mut safe = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    let mut head = Vec::new();
    #[cfg(unix)]
    let mut stopped = false;
    loop {
        match reader.read(&mut buffer).map_err(|error| (from.clone(), Error::read(error)))? {
            // The input has ended.
            Given::Bytes(0) => break,
            #[cfg(unix)]
            Given::Stop => {
                stopped = true;
                break;
            }
            Given::Bytes(count) => {
                let read = buffer.get(..count).unwrap_or_default();
                tally_in.push(read);
                if head.len() < HEAD {
                    head.extend(read.iter().take(HEAD - head.len()));
                    if let Some(advice) = head::not_text(&head) {
                        let error = std::io::Error::other(format!("not a text ({advice})"));
                        return Err((from, Error::read(error)));
                    }
                }
                let read = match &mut redactor {
                    None => read,
                    Some(redactor) => {
                        safe.clear();
                        redactor.write(read, &mut safe);
                        &safe
                    }
                };
                run.write(read).map_err(|error| (from.clone(), error))?;
            }
            Given::Silence => {
                if let Some(redactor) = &mut redactor {
                    safe.clear();
                    redactor.release(&mut safe);
                    run.write(&safe).map_err(|error| (from.clone(), error))?;
                }
                run.release();
            }
        }
        run.sink_mut().flush().map_err(|error| (to.clone(), error))?;
    }
    let mut redacted = BTreeMap::new();
    if let Some(redactor) = &mut redactor {
        safe.clear();
        redacted = redactor.end(&mut safe);
        run.write(&safe).map_err(|error| (from.clone(), error))?;
    }
    // The full output is in the input file, unless that is replaced.
    let full = match &input {
        Place::Path(path) if args.output.as_ref() != Some(path) => path.to_str(),
        _ => None,
    };
    run.set_exit_code(args.exit_code);
    if let Some(full) = full {
        run.set_full_output(full);
    }
    let mut report = run.end().map_err(|error| (from.clone(), error))?;
    if let Some(redactor) = &redactor {
        report.add_redaction(redactor.text_report(), redacted);
    }
    run.sink_mut().flush().map_err(|error| (to.clone(), error))?;
    if args.why {
        print_why(run.cut());
    }
    drop(run);
    #[cfg(unix)]
    if stopped {
        // A file that would be replaced is left unchanged.
        drop(writer);
        return Ok((report, Some(reader)));
    }
    // Windows does not replace an open file, and the output may replace the input.
    drop(reader);
    writer.finish().map_err(|error| (to, Error::write(error)))?;
    Ok((report, None))
}
