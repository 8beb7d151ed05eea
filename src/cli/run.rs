//! Does it: opens, filters, closes, tells, and reports.
//!
//! Must not know flags: a job has what it needs.

use std::fs::File;
use std::io::{ErrorKind as IoKind, IsTerminal, Read, Write};

use serde::Serialize;
use struson::writer::{JsonStreamWriter, JsonWriter};
use tamis::{
    Error, ErrorKind, FailureReport, MissedPath, Pretty, Program, Report, SkipReason, Tee,
    filter_file, filter_lenient, filter_ndjson,
};

use crate::diagnostics::{Console, Exit, Usage};
use crate::files::{self, Output};
use crate::places;
use crate::progress::Bar;
use crate::remedies::{InLine, Remedied};
use crate::resolve::{Form, Job, Place};
use crate::stats::Stats;
use crate::tokens::{Tally, Tokens};

/// Why a run failed, and whose fault it is.
struct Failure {
    /// The file or stream that the error is about; `None` if it is about none, or was told already.
    name: Option<String>,
    error: Error,
}

/// Runs a job.
pub(crate) fn run(job: &Job) -> Exit {
    let console = Console::default();
    if let Err(usage) = places::check(&job.places()) {
        console.usage(&usage);
        return Exit::Usage;
    }
    // Before the run, so that a run is not lost for a report that cannot be written.
    let report_to = match &job.report {
        None => None,
        Some(place) => match open_report(place) {
            Ok(writer) => Some((writer, place)),
            Err(error) => {
                console.say(&place.name("standard error"), cannot_report(&error));
                return Exit::Failed;
            }
        },
    };
    let tally = Tallies::new(job.stats);
    let (report, result) = filter(job, &tally);
    let exit = tell(job, &report, result);
    if let Some((writer, place)) = report_to
        && let Err(error) = write_report(&report, writer)
    {
        console.say(&place.name("standard error"), cannot_report(&error));
        return if exit == Exit::Done { Exit::Failed } else { exit };
    }
    // Of lines there is output, even if some were bad.
    if job.stats && (report.error.is_none() || job.form == Form::Lines) {
        let consumed = report.filter_original_bytes;
        // Comments are part of the text that was read, and whose tokens these are.
        let read = tally.input.bytes().filter(|_| job.form == Form::Lenient);
        let tokens = tally.tokens(job.form, consumed);
        console.note(Stats { report: &report, original: read.unwrap_or(consumed), tokens });
    }
    exit
}

/// Counts the tokens of the input and of the output.
struct Tallies {
    input: Tally,
    output: Tally,
}

impl Tallies {
    fn new(counts: bool) -> Self {
        Self { input: Tally::new(counts), output: Tally::new(counts) }
    }

    /// The tokens of what was consumed, and of the output. A final newline counts nowhere.
    fn tokens(&self, form: Form, consumed: u64) -> [Option<Tokens>; 2] {
        match form {
            Form::Document => [self.input.first(consumed), self.output.all()],
            // Offsets there are not those of the input.
            Form::Lenient => [self.input.without_newline(), self.output.all()],
            Form::Lines => [self.input.without_newline(), self.output.without_newline()],
        }
    }
}

fn filter(job: &Job, tally: &Tallies) -> (Report, Result<(), Failure>) {
    match open(job) {
        Err(failure) => {
            let mut report = Report::default();
            report.error = Some(FailureReport::from(&failure.error));
            (report, Err(failure))
        }
        Ok(opened) => {
            let (mut report, result) = opened.run(job, tally);
            if let Err(failure) = &result
                && report.error.is_none()
            {
                report.error = Some(FailureReport::from(&failure.error));
            }
            (report, result)
        }
    }
}

/// A job with everything open.
struct Opened {
    program: Program,
    input: File,
    tee: Option<File>,
    output: Output,
    bar: Bar,
}

fn open(job: &Job) -> Result<Opened, Failure> {
    let fault = |name: String, error: Error| Failure { name: Some(name), error };
    let program = job.selected.program().map_err(|error| Failure { name: None, error })?;
    check_text(job, &program).map_err(|error| Failure { name: None, error })?;
    let input =
        files::open(&job.input).map_err(|error| fault(job.input_name(), Error::read(error)))?;
    let output =
        Output::open(&job.output).map_err(|error| fault(job.output_name(), Error::write(error)))?;
    let tee = match &job.tee {
        None => None,
        Some(path) => Some(
            files::create_private(path)
                .map_err(|error| fault(path.display().to_string(), Error::write(error)))?,
        ),
    };
    let size = input.metadata().ok().filter(|metadata| metadata.is_file()).map(|file| file.len());
    let to_terminal = job.output == Place::Standard && std::io::stdout().is_terminal();
    Ok(Opened { program, input, tee, output, bar: Bar::new(size, to_terminal) })
}

/// Refuses what is for JSON alone.
fn check_text(job: &Job, program: &Program) -> Result<(), Error> {
    let flag = match job.form {
        Form::Lines => "--ndjson",
        Form::Lenient => "--lenient",
        Form::Document if job.pretty => "--pretty",
        Form::Document => return Ok(()),
    };
    if !program.is_text() {
        return Ok(());
    }
    Err(Error::spec(format!("{flag}: what this tool answers need not be JSON; leave {flag} out")))
}

impl Opened {
    fn run(self, job: &Job, tally: &Tallies) -> (Report, Result<(), Failure>) {
        let Self { program, input, tee, mut output, bar } = self;
        let console = Console::new(bar.clone());
        let around = |reader: Box<dyn Read>| {
            let reader = tally.input.around(bar.around(reader));
            match tee {
                Some(tee) => Box::new(Tee::new(reader, tee)) as Box<dyn Read>,
                None => reader,
            }
        };
        let go = |writer: &mut dyn Write| match job.form {
            Form::Document => filter_file(&program, &job.selected.options, input, writer, around),
            Form::Lenient => {
                filter_lenient(&program, &job.selected.options, around(Box::new(input)), writer)
            }
            Form::Lines => {
                let reader = around(Box::new(input));
                filter_ndjson(&program, &job.selected.options, reader, writer, |line, error| {
                    console.say(&job.input_name(), InLine(line, error));
                })
            }
        };
        // Figures are those of the minified output.
        let (report, result) = match (job.pretty, job.stats) {
            (true, _) => go(&mut tally.output.through(Pretty::new(&mut output))),
            (false, true) => go(&mut tally.output.through(&mut output)),
            (false, false) => go(&mut output),
        };
        let result = match result {
            Err(error) => Err(job.blame(error)),
            Ok(()) => {
                let ended = if job.form == Form::Lines { Ok(()) } else { output.write_all(b"\n") };
                ended.and_then(|()| output.finish()).map_err(|error| job.blame(Error::write(error)))
            }
        };
        (report, result)
    }
}

impl Job {
    fn input_name(&self) -> String {
        self.input.name("standard input")
    }

    fn output_name(&self) -> String {
        self.output.name("standard output")
    }

    /// Says which file an error of a run is about.
    fn blame(&self, error: Error) -> Failure {
        let name = match error.kind() {
            ErrorKind::Write => Some(self.output_name()),
            ErrorKind::Read => Some(self.input_name()),
            // Bad lines were told one by one.
            _ if self.form == Form::Lines => None,
            _ => Some(self.input_name()),
        };
        Failure { name, error }
    }
}

/// Says how the run ended.
fn tell(job: &Job, report: &Report, result: Result<(), Failure>) -> Exit {
    let console = Console::default();
    let input = job.input_name();
    if job.selected.raw && report.filter_skipped != Some(SkipReason::RawMode) && result.is_ok() {
        console.warn(&input, "--raw is ignored: the filter of this tool does not allow it");
    }
    if let Some(why) = &report.filter_error
        && result.is_ok()
    {
        console.warn(&input, why);
    }
    // A failed run has not seen all items. With `--ndjson`, the good lines were seen.
    if !report.missed.is_empty()
        && !job.selected.is_of_catalog()
        && (result.is_ok() || job.form == Form::Lines)
    {
        console.warn(&input, missed(job.form, &report.missed));
    }
    if let Some(root) = &job.selected.counted_at
        && result.is_ok()
        && report.filter_applied
        && report.root.is_some()
        && report.items_seen.or(report.items_at_least).is_none()
    {
        console.warn(&input, format!("what is at `{root}` is no array: --max-items has no effect"));
    }
    if let Some(why) = &report.compact_error
        && result.is_ok()
    {
        console.warn(&input, format!("no summary: {why}; the items are left as they are"));
    }
    if report.budget_exceeded && result.is_ok() {
        let message = "the output is longer than its budget, and nothing more can be left out";
        console.warn(&input, message);
    }
    let Err(Failure { name, error }) = result else { return Exit::Done };
    if error.kind() == ErrorKind::Spec {
        console.usage(&Usage::from(&error));
        return Exit::Usage;
    }
    if is_closed_pipe(&error) {
        return Exit::Done;
    }
    if let Some(name) = name {
        console.say(&name, Remedied(&error));
    } else if let Place::Path(path) = &job.output {
        console.say(&path.display().to_string(), "not written, for lines of the input failed");
    }
    Exit::Failed
}

/// Describes the selected paths that no item had.
fn missed(form: Form, paths: &[MissedPath]) -> String {
    const TOLD: usize = 5;
    let told = paths.iter().take(TOLD).map(|missed| match &missed.meant {
        Some(meant) => format!("`{}` (did you mean `{meant}`?)", missed.path),
        None => format!("`{}`", missed.path),
    });
    let mut told = told.collect::<Vec<_>>().join(", ");
    if paths.len() > TOLD {
        told.push_str(&format!(" and {} more of the selected paths", paths.len() - TOLD));
    }
    format!("no {} has {told}", if form == Form::Lines { "line" } else { "item" })
}

/// Whether whoever reads the output has enough of it.
pub(crate) fn is_closed_pipe(error: &Error) -> bool {
    error.kind() == ErrorKind::Write
        && error.io_error().is_some_and(|error| error.kind() == IoKind::BrokenPipe)
}

/// Opens the place of a report.
pub(crate) fn open_report(place: &Place) -> std::io::Result<Box<dyn Write>> {
    Ok(match place {
        Place::Standard => {
            let stream = std::io::stderr();
            files::check_writable(&stream)?;
            Box::new(stream)
        }
        Place::Path(path) => Box::new(files::create(path)?),
    })
}

/// Writes a report, as one line of JSON.
pub(crate) fn write_report(
    report: &impl Serialize,
    mut writer: Box<dyn Write>,
) -> std::io::Result<()> {
    let mut json = JsonStreamWriter::new(Vec::new());
    json.serialize_value(report).map_err(std::io::Error::other)?;
    let mut text = json.finish_document()?;
    text.push(b'\n');
    writer.write_all(&text)?;
    writer.flush()
}

/// Says that it was not written.
pub(crate) fn cannot_report(error: &std::io::Error) -> String {
    format!("cannot write the report: {error}")
}
