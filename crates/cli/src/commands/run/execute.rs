//! Runs the command of `tamis run` and reports how it ended.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind as IoKind};
use std::path::is_separator;
use std::process::Command;

use serde::Serialize;
use tamis::ErrorKind;
use tamis_agents::recorder::StoreRecorder;
use tamis_command::{
    CommandLine, CommandReport, CommandRunner, OutputCap, OutputFilterRegistry, RecordPlace,
    RunReport,
};
use tamis_mcp::program::check_writable;
use tamis_store::calls::{CallLine, ShownBy, TextSize, UserLog};
use tamis_store::process::is_off;
use tamis_store::{Store, StoreConfig};

use super::args::RunArgs;
#[cfg(unix)]
use super::program_unix::{self as program, signals};
#[cfg(not(unix))]
use super::program_windows::{self as program, signals};
use crate::commands::recall;
use crate::console::{Console, Exit, Usage};
use crate::figures::report::ReportFile;
use crate::figures::stats;
use crate::figures::tokens::{Tally, Tokens};
use crate::files::conflicts::{self, Places};
use crate::files::place::Place;
use crate::filters::command_rules;

/// Runs `tamis run`.
pub(crate) fn run(args: &RunArgs) -> Exit {
    if args.last {
        return recall::print_last(args.lines.as_ref(), args.grep.as_ref(), args.context);
    }
    let console = Console::default();
    let place = args.report.clone().map(Place::from);
    let all = Places {
        rules: args.manifest.iter().map(|path| ("--manifest", path.as_path())).collect(),
        report: place.as_ref(),
        ..Places::default()
    };
    if let Err(usage) = conflicts::check(&all) {
        return console.refuse(&usage);
    }
    let report_to = match ReportFile::open(&console, place.as_ref()) {
        Ok(file) => file,
        Err(exit) => return exit,
    };
    if args.manifest.iter().any(|path| path.as_os_str() == "-") {
        console.usage(&Usage::new(
            "--manifest - would take the command's standard input; give the rules as a file",
        ));
        return Exit::Usage;
    }
    if assignments(&args.command).len() == args.command.len() {
        return console.refuse(&Usage::new("expected a command after the variables"));
    }
    if let Some(why) = program::refused(args) {
        return console.refuse(&Usage::new(why));
    }
    let registry = match command_rules::registry(&args.manifest) {
        Ok(registry) if args.raw => registry.with_enabled(false),
        Ok(registry) => registry,
        Err(error) => {
            command_rules::print_problems(&console, &error);
            return Exit::Usage;
        }
    };
    if let Err(error) = check_writable(io::stdout()) {
        return console.fail("standard output", format_args!("cannot write the output: {error}"));
    }
    let tally = Tally::new(args.stats);
    let begun = std::time::Instant::now();
    let result = execute(args, registry, &tally, &console);
    if let Ok(report) = &result {
        log(args, report, begun.elapsed());
    }
    let unreported = report_to.is_some_and(|file| report(args, &console, &result, file).is_err());
    let name = name(args);
    let exit = match result {
        Err(error) => {
            let (code, why) = not_started(&error);
            let hint = shell_hint(args).filter(|_| code == 127).unwrap_or_default();
            console.say(&name, format_args!("{why}{hint}"));
            Exit::Code(code)
        }
        Ok(report) => conclude(args, &console, &name, &report, &tally),
    };
    if unreported && exit == Exit::Code(0) { Exit::Failed } else { exit }
}

/// Appends the run to the log of savings.
fn log(args: &RunArgs, report: &RunReport, time: std::time::Duration) {
    let Some(log) = UserLog::to_append() else { return };
    let line = CommandLine::from_args(args.command.iter().map(|word| word.to_string_lossy()));
    let name = name(args);
    let program = line.program_name();
    let program = program.unwrap_or_else(|| name.rsplit(is_separator).next().unwrap_or_default());
    let CommandReport { filter, exit_code, bytes_in, bytes_out, chars_in, chars_out, .. } =
        &report.output;
    let sizes = [(*bytes_in, *chars_in), (*bytes_out, *chars_out)]
        .map(|(bytes, chars)| TextSize { bytes, chars });
    let handle = report.record.as_ref().and_then(StoreRecorder::handle);
    let mut call =
        CallLine::new(program, filter.as_deref().unwrap_or_default(), [*bytes_in, *bytes_out])
            .with_handle(handle)
            .with_redacted(&report.output.redacted)
            .with_times(report.filter_time, Some(time))
            .with_exit_code(*exit_code)
            .with_command_shown(
                ShownBy::of_process(),
                exit_code.is_some_and(|code| code != 0),
                sizes,
            );
    if report.record_failed {
        call = call.with_outcome("failed_open", Some("record"));
    }
    // No run fails for its log.
    _ = log.append(&call);
}

/// Returns the name of the command in diagnostics.
fn name(args: &RunArgs) -> String {
    let name = args.command.get(assignments(&args.command).len());
    name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn execute(
    args: &RunArgs,
    registry: OutputFilterRegistry,
    tally: &Tally,
    console: &Console,
) -> io::Result<RunReport> {
    let name = name(args);
    // Redaction stays: it does not save.
    let is_off = is_off();
    let registry = if is_off { registry.with_enabled(false) } else { registry };
    let cap = if is_off { OutputCap::new() } else { args.cap.cap() };
    // Output that is printed whole needs no copy.
    let records = !args.no_overflow && (args.keep || !args.raw || !cap.is_unlimited());
    let mut runner = CommandRunner::new(registry)
        .with_cap(cap)
        .with_query(args.cap.query())
        .with_keep(args.keep)
        .with_redact(args.redact.is_some())
        .with_token_count(args.stats);
    if records {
        let words = args.command.iter().map(|word| word.to_string_lossy());
        let command = words.collect::<Vec<_>>().join(" ");
        let recorder = StoreRecorder::new(StoreConfig::of_user().map(Store::open), command);
        runner = program::with_place(
            runner,
            args.overflow_dir.as_deref(),
            args.overflow_limit,
            recorder,
        );
    }
    if let Some(quiet) = args.linger {
        runner = runner.with_linger(quiet);
    }
    if let Err(error) = signals::wait_for_children() {
        console.warn(&name, error);
    }
    let mut run = |command: Command| {
        runner.run(
            command,
            tally.through(program::output()?),
            |controls| {
                if let Err(error) = signals::forward(controls) {
                    console.warn(&name, format_args!("signals do not reach the command: {error}"));
                }
            },
            |notice| console.warn(&name, notice),
        )
    };
    let assigned = assignments(&args.command);
    let command = args.command.get(assigned.len()..).unwrap_or_default();
    let (program, arguments) = command.split_first().ok_or(IoKind::InvalidInput)?;
    program::start(program, arguments, &assigned, &mut run)
}

/// Returns the variables that the first words set, as those of env(1) do: `NAME=VALUE`.
fn assignments(words: &[OsString]) -> Vec<(&OsStr, &OsStr)> {
    let mut found = Vec::new();
    for word in words {
        let Some(at) = end_of_name(word.as_encoded_bytes()) else { break };
        let Some(pair) = program::split_at(word, at) else { break };
        found.push(pair);
    }
    found
}

/// Returns the index of the `=` after the name of a variable.
fn end_of_name(word: &[u8]) -> Option<usize> {
    let at = word.iter().position(|byte| *byte == b'=')?;
    let name = word.get(..at)?;
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let is_name = name.first().is_some_and(is_letter)
        && name.iter().all(|byte| is_letter(byte) || byte.is_ascii_digit());
    is_name.then_some(at)
}

/// Returns a hint if only a shell can run the command.
fn shell_hint(args: &RunArgs) -> Option<String> {
    program::shell_hint(&args.command)
}

/// Returns the exit code that shells use for a command that does not start, and the reason.
fn not_started(error: &io::Error) -> (u8, String) {
    match error.kind() {
        IoKind::NotFound => (127, String::from("not found")),
        IoKind::NotADirectory => (127, error.to_string()),
        _ => (126, format!("cannot be executed: {error}")),
    }
}

/// Prints how the run ended and returns its exit code, or ends by the signal that killed the command.
fn conclude(
    args: &RunArgs,
    console: &Console,
    name: &str,
    report: &RunReport,
    tally: &Tally,
) -> Exit {
    if let Some(record) = report.record.as_ref().filter(|_| args.keep) {
        match record {
            RecordPlace::Command(command) => {
                console.note(format_args!("{name}: to print the full output: {command}"));
            }
            place => console.note(format_args!("{name}: the full output is in {place}")),
        }
    }
    if args.stats {
        let filter = report.output.filter.as_deref().unwrap_or("no filter");
        let tokens = [report.tokens_in.map(Tokens::from), tally.all()];
        let saved = stats::saved([report.output.bytes_in, report.output.bytes_out], tokens);
        console.note(format_args!("{filter}: {saved}"));
    }
    if let Some(error) = &report.error
        && error.io_error().is_none_or(|error| error.kind() != IoKind::BrokenPipe)
    {
        let kept = report.record.as_ref();
        let kept = kept.map(|place| match place {
            RecordPlace::Command(command) => {
                format!("; to print the output read so far: {command}")
            }
            place => format!("; the output read so far is in {place}"),
        });
        let about = if error.kind() == ErrorKind::Write { "standard output" } else { name };
        return console.fail(about, format_args!("{error}{}", kept.unwrap_or_default()));
    }
    signals::end_as(report.status)
}

/// The report of a run: the report on the output, and how the command ended.
#[derive(Serialize)]
struct WrittenReport<'a> {
    command: Vec<String>,
    #[serde(flatten)]
    output: &'a CommandReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    full_output_complete: Option<bool>,
    full_output_failed: bool,
    left_open: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

fn report(
    args: &RunArgs,
    console: &Console,
    result: &io::Result<RunReport>,
    to: ReportFile,
) -> Result<(), Exit> {
    let nothing = RunReport::default();
    let (report, error) = match result {
        Err(error) => (&nothing, Some(not_started(error).1)),
        Ok(report) => (report, report.error.as_ref().map(ToString::to_string)),
    };
    let written = WrittenReport {
        command: args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        output: &report.output,
        signal: program::signal(report.status),
        full_output_complete: report.record.as_ref().map(|_| report.record_complete),
        full_output_failed: report.record_failed,
        left_open: report.left_open,
        error,
    };
    to.write(console, &written)
}
