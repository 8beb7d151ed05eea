//! Runs a job: opens files, filters, closes them, prints diagnostics and writes the report.
//!
//! This module must not depend on flags: a job has everything.

use std::fs::File;
use std::io::{IsTerminal, Read, Seek, SeekFrom, Write};

use tamis::{
    BadLines, EncodeSkip, Error, ErrorKind, FactorSkip, FailedRun, FailureReport, MissedPath,
    PrettyWriter, Program, Report, SkipReason, TeeReader, filter_documents, filter_events,
    filter_file, filter_lenient, filter_ndjson, filter_reader,
};

use tamis::spec::Whitespace;

use crate::console::json_colours::JsonColours;
use crate::console::print::is_closed_pipe;
use crate::console::progress::Bar;
use crate::console::remedies::{Remedied, advised};
use crate::console::{Console, Exit, Usage, colour};
use crate::figures::report::ReportFile;
use crate::figures::stats::Stats;
use crate::figures::tokens::{Tally, Tokens};
use crate::files::gzip::{self, Decoded};
use crate::files::head::{self, Head};
use crate::files::misspelled::NameWatch;
use crate::files::place::Place;
use crate::files::watched::WatchedFile;
use crate::files::{self, Output, conflicts};
use crate::flags::habits;
use crate::job::bad_records::BadRecords;
use crate::job::resolve::{Form, Job};
use crate::job::unquote::Unquote;
use crate::job::why;

/// The reason why a run failed.
struct Failure {
    /// The file or stream that the error is about; `None` if there is none, or if the error was printed already.
    name: Option<String>,
    error: Error,
    /// The form of an input that is not JSON, with a remedy.
    advice: Option<String>,
}

/// Runs a job.
pub(crate) fn run(job: &Job) -> Exit {
    let console = Console::default();
    if let Err(usage) = conflicts::check(&job.places()) {
        return console.refuse(&usage);
    }
    let report_to = match ReportFile::open(&console, job.report.as_ref()) {
        Ok(file) => file,
        Err(exit) => return exit,
    };
    let tally = Tallies::new(job.stats);
    let (report, result, names) = filter(job, &tally);
    let exit = conclude(job, &report, result, &names);
    if let Some(file) = report_to
        && let Err(failed) = file.write(&console, &report)
    {
        return if exit == Exit::Done { failed } else { exit };
    }
    // There is output even if some of many documents were bad.
    if job.stats && (report.error.is_none() || job.form.is_many()) {
        let consumed = report.original_bytes;
        // The tokens are those of the text with its comments, so the bytes must be as well.
        let read = tally.input.bytes().filter(|_| job.form == Form::Lenient);
        let stops = job.selected.options.max_documents().is_some();
        let tokens = tally.tokens(job.form, consumed, stops);
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

    /// Returns the tokens of the consumed input and of the output. A final newline is not counted. `stops`: input may be
    /// left over after many documents.
    fn tokens(&self, form: Form, consumed: u64, stops: bool) -> [Option<Tokens>; 2] {
        match form {
            Form::Document => [self.input.first(consumed), self.output.all()],
            // The report counts bytes without comments, which are not offsets in the input.
            Form::Lenient => [self.input.without_newline(), self.output.all()],
            // The last read has more than was consumed.
            Form::Lines | Form::Documents | Form::Events if stops => {
                [self.input.first(consumed), self.output.without_newline()]
            }
            Form::Lines | Form::Documents | Form::Events => {
                [self.input.without_newline(), self.output.without_newline()]
            }
        }
    }
}

fn filter(job: &Job, tally: &Tallies) -> (Report, Result<(), Failure>, NameWatch) {
    match open(job) {
        Err(failure) => {
            let mut report = Report::default();
            report.error = Some(FailureReport::from(&failure.error));
            (report, Err(failure), NameWatch::default())
        }
        Ok(opened) => {
            let names = match job.selected.is_of_catalog() {
                true => NameWatch::default(),
                false => NameWatch::new(opened.program.spec()),
            };
            let (mut report, result) = opened.run(job, tally, &names);
            if let Err(failure) = &result
                && report.error.is_none()
            {
                report.error = Some(FailureReport::from(&failure.error));
            }
            (report, result, names)
        }
    }
}

/// A job with everything open.
struct Opened {
    program: Program,
    input: File,
    /// The input is a regular file that is compressed.
    is_compressed: bool,
    /// The same file and where the document begins in it, to explain the run.
    again: Option<(File, u64)>,
    tee: Option<File>,
    output: Output,
    form: Shown,
    bar: Bar,
}

fn open(job: &Job) -> Result<Opened, Failure> {
    let fault = |name: String, error: Error| Failure { name: Some(name), error, advice: None };
    let of_rules = |error| Failure { name: None, error, advice: None };
    let program = job.selected.program().map_err(of_rules)?;
    check_text(job, &program).map_err(of_rules)?;
    let mut input = files::open(&job.input).map_err(|error| match job.input_habit(&error) {
        Some(habit) => fault(job.input_name(), Error::read(std::io::Error::other(habit))),
        None => fault(job.input_name(), Error::read(error)),
    })?;
    let mut again = None;
    let is_regular = files::is_regular(&input);
    let is_compressed = is_regular && gzip::is_compressed(&mut input).unwrap_or(false);
    if job.why.is_some() {
        let limits = job.selected.options.limits();
        let file = why::rereadable(input, limits).and_then(|(file, begin)| {
            again = Some((file.try_clone()?, begin));
            Ok(file)
        });
        input = file.map_err(|error| fault(job.input_name(), Error::read(error)))?;
    }
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
    // Its length is not that of the text.
    let size = size.filter(|_| !is_compressed);
    let is_compressed = is_compressed && job.why.is_none();
    let to_terminal = job.output == Place::Standard && std::io::stdout().is_terminal();
    let form = Shown::new(job, &program, to_terminal);
    let bar = Bar::new(size, to_terminal);
    Ok(Opened { program, input, is_compressed, again, tee, output, form, bar })
}

/// How the output is shown.
#[derive(Clone, Copy, Debug)]
struct Shown {
    /// Indented, because it was asked for or because people read it.
    pretty: bool,
    colours: bool,
    /// A line that is not complete is ended before an error is printed.
    to_terminal: bool,
}

impl Shown {
    fn new(job: &Job, program: &Program, to_terminal: bool) -> Self {
        let is_json = !(program.is_text() || program.is_encoded() || program.has_summary());
        let keeps_white = program.spec().whitespace == Whitespace::Keep;
        let is_plain = job.minified || job.unquotes || keeps_white || !is_json;
        let is_lines = job.form.is_many() || job.lines;
        let passes_lines = job.selected.options.bad_lines() == BadLines::Pass;
        let of_json = job.output == Place::Standard && job.form != Form::Events && is_json;
        Self {
            pretty: job.pretty || (to_terminal && !is_plain && !is_lines),
            colours: of_json && !job.unquotes && !passes_lines && colour::on_data(),
            to_terminal,
        }
    }
}

/// A writer that knows whether anything was written, and whether its last line is complete.
struct Written<W> {
    inner: W,
    any: bool,
    is_open: bool,
}

impl<W: Write> Write for Written<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.any |= !bytes.is_empty();
        self.is_open = bytes.last().map_or(self.is_open, |last| *last != b'\n');
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

/// Refuses flags for JSON if the program produces text, and flags for elements if it produces a summary.
fn check_text(job: &Job, program: &Program) -> Result<(), Error> {
    if job.lines && program.has_summary() {
        let message = "--lines: the filter of this tool writes a summary, which has no elements; leave --lines out";
        return Err(Error::spec(message));
    }
    let flag = match job.form {
        Form::Lines => "--ndjson",
        Form::Documents => "--docs",
        Form::Events => "--events",
        Form::Lenient => "--lenient",
        Form::Document if job.pretty => "--pretty",
        Form::Document if job.lines => "--lines",
        Form::Document if job.unquotes => "-r",
        Form::Document => return Ok(()),
    };
    if program.is_encoded() && job.form != Form::Lenient {
        let message = format!(
            "{flag}: the filter of this tool does not write JSON; leave {flag} out, or add --format json"
        );
        return Err(Error::spec(message));
    }
    if !program.is_text() {
        return Ok(());
    }
    Err(Error::spec(format!("{flag}: the response of this tool may not be JSON; leave {flag} out")))
}

/// Returns the warning for a document that remained JSON, with what to add.
fn not_encoded(why: EncodeSkip) -> String {
    let (reason, remedy) = match why {
        EncodeSkip::DuplicateKey => ("an object has two members of one name", "use --format json"),
        EncodeSkip::LoneSurrogate => ("a string has half a surrogate pair", "use --format json"),
        EncodeSkip::Number => ("a number would lose digits", "use --format json"),
        EncodeSkip::Size => ("it is too large, or too deeply nested", "select less"),
        EncodeSkip::Empty => ("the items have no members", "use --format json"),
        EncodeSkip::Sparse => {
            ("most cells of the table would be empty", "select members that all items have")
        }
        EncodeSkip::Siblings => ("the items have siblings", "add --siblings drop"),
        EncodeSkip::NotAList => ("the payload is not an array", "name it with --root"),
        _ => ("the items are not objects with scalar members", "select such members"),
    };
    format!("the output remains JSON, because {reason}; {remedy}")
}

/// Returns the warning that no document was factored, with the reason of the report.
fn not_factored(why: FactorSkip) -> String {
    let reason = match why {
        FactorSkip::Names => {
            "it has a member that only factored documents have, such as `_all` or `$ref`"
        }
        FactorSkip::Size => "it is too large (--held, --spill)",
        FactorSkip::StopEarly => "--stop-early leaves it incomplete",
        FactorSkip::Whitespace => "its white space is kept",
        FactorSkip::Lines => "its elements are lines",
        FactorSkip::Compact => "it becomes a summary",
        FactorSkip::Strings => "-r writes plain text",
        _ => "it is not written as JSON",
    };
    format!("the output is not factored, because {reason}")
}

impl Opened {
    fn run(self, job: &Job, tally: &Tallies, names: &NameWatch) -> (Report, Result<(), Failure>) {
        let Self { program, input, is_compressed, again, tee, output, form, bar } = self;
        let console = Console::new(bar.clone());
        let head = Head::default();
        let around = |reader: Box<dyn Read>| {
            // A regular file that is not compressed may be read twice, so its bytes are those of the document.
            let reader = head.around(Box::new(Decoded::new(bar.around(reader))));
            let reader = names.around(tally.input.around(reader));
            match tee {
                Some(tee) => Box::new(TeeReader::new(reader, tee)) as Box<dyn Read>,
                None => reader,
            }
        };
        let input = match WatchedFile::new(input, around) {
            Ok(input) => input,
            Err(error) => return (Report::default(), Err(job.blame(Error::read(error)))),
        };
        let call = program.with_options(&job.selected.options);
        let treatment = job.selected.options.bad_lines();
        let mut bad = BadRecords::new(&console, job.input_name(), head.clone(), treatment);
        let go = |writer: &mut dyn Write| match job.form {
            Form::Document if is_compressed => filter_reader(call, input, writer),
            Form::Document => filter_file(call, input, writer),
            Form::Lenient => filter_lenient(call, input, writer),
            Form::Lines => filter_ndjson(call, input, writer, |line, error| bad.line(line, error)),
            Form::Documents => filter_documents(call, input, writer, |number, error| {
                bad.document(number, error);
            }),
            Form::Events => filter_events(call, input, writer, |number, error| {
                bad.event(number, error);
            }),
        };
        let mut output = Written { inner: output, any: false, is_open: false };
        let mut unquoted = Unquote::new(&mut output, job.lines || job.form.is_many());
        let writer: &mut dyn Write = if job.unquotes { &mut unquoted } else { unquoted.get_mut() };
        let mut colours = JsonColours::new(writer);
        let writer: &mut dyn Write = if form.colours { &mut colours } else { colours.get_mut() };
        // The counted output is the minified one.
        let result = match (form.pretty, job.stats) {
            (true, _) => go(&mut tally.output.through(PrettyWriter::new(writer))),
            (false, true) => go(&mut tally.output.through(writer)),
            (false, false) => go(writer),
        };
        let ended = colours.finish();
        bad.conclude(job.form.unit());
        let Written { inner: mut output, any, is_open } = output;
        let (report, result) = FailedRun::split(result);
        let result = match (result, ended) {
            (Err(error), _) => {
                if form.to_terminal && is_open {
                    // If this fails, the run has failed already.
                    _ = output.write_all(b"\n").and_then(|()| output.flush());
                }
                let advice = head.advice().filter(|_| head::explains(&error)).map(str::to_owned);
                let advice = advice.or_else(|| job.input_habit(error.io_error()?));
                Err(Failure { advice, ..job.blame(error) })
            }
            (Ok(()), Err(error)) => Err(job.blame(Error::write(error))),
            (Ok(()), Ok(())) => {
                // A payload without elements has no lines.
                let ends = !job.form.is_many() && (any || !job.lines);
                let ended = if ends { output.write_all(b"\n") } else { Ok(()) };
                ended.and_then(|()| output.finish()).map_err(|error| job.blame(Error::write(error)))
            }
        };
        let result = result.and_then(|()| job.explain(&program, again));
        (report, result)
    }
}

impl Job {
    /// Prints which rule removed which bytes, if that was asked for.
    fn explain(&self, program: &Program, input: Option<(File, u64)>) -> Result<(), Failure> {
        let (Some(asked), Some((mut file, begin))) = (&self.why, input) else { return Ok(()) };
        let explained = file
            .seek(SeekFrom::Start(begin))
            .map_err(Error::read)
            .and_then(|_| asked.explain(program.with_options(&self.selected.options), file));
        explained.map(|text| why::print(&text)).map_err(|error| self.blame(error))
    }

    /// Returns what was probably meant by an input that does not exist or is a folder.
    fn input_habit(&self, error: &std::io::Error) -> Option<String> {
        let Place::Path(path) = &self.input else { return None };
        let is_missing =
            matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::IsADirectory);
        is_missing.then(|| habits::of_file(path)).flatten()
    }

    fn input_name(&self) -> String {
        self.input.name("standard input")
    }

    fn output_name(&self) -> String {
        self.output.name("standard output")
    }

    /// Adds the name of the file or stream that an error of a run is about.
    fn blame(&self, error: Error) -> Failure {
        let name = match error.kind() {
            ErrorKind::Write => Some(self.output_name()),
            ErrorKind::Read => Some(self.input_name()),
            // Bad documents were printed one by one.
            _ if self.form.is_many() => None,
            _ => Some(self.input_name()),
        };
        Failure { name, error, advice: None }
    }
}

/// Prints how the run ended and returns the exit code.
fn conclude(job: &Job, report: &Report, result: Result<(), Failure>, names: &NameWatch) -> Exit {
    let console = Console::default();
    let input = job.input_name();
    if job.selected.raw && report.skipped != Some(SkipReason::RawMode) && result.is_ok() {
        console.warn(&input, "--raw is ignored: the filter of this tool does not allow it");
    }
    if let Some(why) = &report.fallback
        && result.is_ok()
    {
        console.warn(&input, why);
    }
    if report.skipped == Some(SkipReason::Shape) && result.is_ok() && job.selected.is_by_name() {
        let why = "the filter of this tool is for another document, so this one is unchanged (tamis explain --tool shows what it requires)";
        console.warn(&input, why);
    }
    // A failed run has not seen all items. Of many documents, the good ones were seen.
    if !job.selected.is_of_catalog() && (result.is_ok() || job.form.is_many()) {
        let (item, document) = match job.form {
            Form::Lines => ("line", "line"),
            Form::Documents => ("document", "document"),
            Form::Events => ("event", "event"),
            Form::Document | Form::Lenient => ("item", "document"),
        };
        if let Some(root) = &report.root {
            names.set_root(root.as_str());
        }
        let mut others = names.missed();
        // An item that lacks the path of a condition is dropped, and so are all of them.
        if report.where_dropped > 0 {
            let unfulfilled = names.unfulfilled();
            others.retain(|one| unfulfilled.iter().all(|other| other.path != one.path));
            others.splice(..0, unfulfilled);
        }
        let of_select =
            (!report.missed.is_empty()).then(|| missed(item, &report.missed, "selected paths"));
        let of_others = (!others.is_empty()).then(|| missed(document, &others, "paths"));
        let all = [of_select, of_others, names.misspelled_kind()];
        let all: Vec<String> = all.into_iter().flatten().collect();
        if !all.is_empty() {
            console.warn(&input, all.join("; "));
        }
    }
    if let Some(root) = &job.selected.counted_at
        && result.is_ok()
        && report.applied
        && report.root.is_some()
        && report.items_seen.or(report.items_at_least).is_none()
    {
        console.warn(
            &input,
            format!("the value at `{root}` is not an array: --max-items has no effect"),
        );
    }
    if job.form.is_many()
        && job.selected.counts_items
        && job.selected.counted_at.is_none()
        && result.is_ok()
        && report.applied
        && report.items_seen.or(report.items_at_least).is_none()
    {
        let unit = job.form.unit();
        let message = format!(
            "no {unit} is a list of items: --max-items has no effect (--max-docs N stops after N {unit}s)"
        );
        console.warn(&input, message);
    }
    if let Some(why) = &report.compact_error
        && result.is_ok()
    {
        console.warn(&input, format!("no summary: {why}; the items are unchanged"));
    }
    if let Some(why) = report.encode_skipped
        && result.is_ok()
    {
        console.warn(&input, not_encoded(why));
    }
    if let Some(why) = report.factor_skipped.filter(|why| *why != FactorSkip::Gain)
        && result.is_ok()
    {
        console.warn(&input, not_factored(why));
    }
    if report.budget_exceeded && result.is_ok() {
        let message = "the output exceeds its budget and cannot be shortened further";
        console.warn(&input, message);
    }
    let Err(Failure { name, error, advice }) = result else { return Exit::Done };
    if error.kind() == ErrorKind::Spec {
        return console.refuse(&Usage::from(&error));
    }
    if is_closed_pipe(&error) {
        return Exit::Done;
    }
    if let Some(name) = name {
        match advice {
            Some(advice) => console.say(&name, advised(Remedied(&error), &advice)),
            None => console.say(&name, Remedied(&error)),
        }
    } else if let Place::Path(path) = &job.output {
        console.say(
            &path.display().to_string(),
            format_args!("not written, because {}s of the input failed", job.form.unit()),
        );
    }
    Exit::Failed
}

/// Describes paths that no item, line or document had.
fn missed(unit: &str, paths: &[MissedPath], kind: &str) -> String {
    const LISTED: usize = 5;
    let listed = paths.iter().take(LISTED).map(|missed| match &missed.meant {
        Some(meant) if meant.strip_suffix("[]") == Some(missed.path.as_str()) => {
            format!("`{}` other than as an array (did you mean `{meant}`?)", missed.path)
        }
        Some(meant) => format!("`{}` (did you mean `{meant}`?)", missed.path),
        None => format!("`{}`", missed.path),
    });
    let mut listed = listed.collect::<Vec<_>>().join(", ");
    if paths.len() > LISTED {
        listed.push_str(&format!(" and {} more of the {kind}", paths.len() - LISTED));
    }
    format!("no {unit} has {listed}")
}
