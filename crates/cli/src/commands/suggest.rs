//! `tamis suggest`: suggests a filter from sample responses, or compares samples with a filter.
//!
//! This module must not depend on how a filter is suggested: the library does that.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use struson::writer::{JsonStreamWriter, JsonWriter};
use tamis::spec::{Encode, RawJson};
use tamis::{
    CallOptions, Error, ErrorKind, FailedRun, Program, Report, filter_file, filter_ndjson,
};
use tamis_insight::look::{Look, LookOptions};
use tamis_insight::suggest::{Drift, DriftReport, SampleReader, Samples, Suggestion};
use tamis_manifest::{Manifest, ManifestError};

use crate::console::print::one_line;
use crate::console::remedies::Hinted;
use crate::console::{Console, Exit, Usage};
use crate::figures::stats::saved;
use crate::figures::tokens::Tally;
use crate::files::gzip::{self, Decoded};
use crate::files::place::{Place, called, read_once};
use crate::files::watched::WatchedFile;
use crate::files::{self, Output};
use crate::filters::by_name::load_all;
use crate::flags::habits;

/// The most members with credentials that are named.
const MOST_NAMES: usize = 10;

/// The largest samples whose tokens are counted, in bytes.
const COUNTED: u64 = 16 << 20;

pub(crate) const HELP_SHORT: &str = "For more and for examples see --help.";

pub(crate) const HELP: &str = "\
It reads responses of one tool and writes a manifest with one filter. The filter omits what is known to be noise: ids for
programs, addresses of an API that follow from other members, pictures, files in base64 and nulls. With --tight it selects
identifiers, titles, states, people, dates and amounts, and leaves out the rest. It never keeps credentials and personal
numbers, such as passwords, tokens and card numbers, and always has `redact: secrets`. Each line has a comment with the
reason and the measured effect. Standard error has the savings of the filter over the samples. --schema adds the JSON
Schema of the output, so that a proxy with `typed: true` can declare it.

With --drift it compares samples with the filter of a manifest: selected paths that no sample has, and large members of
the output that are addresses, hashes or base64.

Examples:
  tamis suggest corpus/github-list-issues.json
  tamis suggest corpus/github-list-commits.json --tight --name github.commits -o commits.yaml
  tamis suggest corpus/github-list-issues.json --json
  tamis suggest corpus/github-list-issues.json --tight --schema
  tamis suggest users.json --drift tools.yaml --tool crm.list-users

Exit codes: 0 done, 1 a sample cannot be read or the samples differ from the filter, 2 the command line or the manifest
is wrong.";

#[derive(Debug, clap::Args)]
pub(crate) struct SuggestArgs {
    /// Responses of one tool; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// The name of the filter [default: the name of the first file]
    #[arg(long, value_name = "NAME", conflicts_with = "drift")]
    name: Option<String>,

    /// Select the members that matter most, instead of omitting noise
    #[arg(long, conflicts_with = "drift")]
    tight: bool,

    /// Add the type of the output, for a proxy with `typed: true`: the JSON Schema that the samples fit
    #[arg(long, conflicts_with = "drift")]
    schema: bool,

    /// Each line of a file is a response
    #[arg(long, conflicts_with = "drift")]
    ndjson: bool,

    /// Compare the samples with a filter of this manifest (exit code 1 if they differ)
    #[arg(long, value_name = "MANIFEST")]
    drift: Option<PathBuf>,

    /// The tool whose filter the samples are compared with; not needed if the manifest has only one
    #[arg(long, value_name = "NAME", requires = "drift")]
    tool: Option<String>,

    /// Print it as JSON, on one line
    #[arg(long)]
    json: bool,

    /// Write to OUT instead of standard output
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

/// The reason why a command ends early.
enum Stop {
    Usage(Usage),
    /// A file or stream, and its error.
    Failed(String, Error),
}

impl From<ManifestError> for Stop {
    fn from(error: ManifestError) -> Self {
        Self::Usage(Usage::new(error.to_string()))
    }
}

/// Runs `tamis suggest`.
pub(crate) fn run(args: &SuggestArgs) -> Exit {
    let console = Console::default();
    let done = match &args.drift {
        None => suggest(&console, args),
        Some(manifest) => compare(&console, args, manifest),
    };
    match done {
        Ok(exit) => exit,
        Err(Stop::Usage(usage)) => console.refuse(&usage),
        Err(Stop::Failed(name, error)) => {
            let documents = "(more than one document? --ndjson reads one from each line; else give each in a file of its own)";
            console.fail(&name, Hinted { error: &error, documents, has_limits: false })
        }
    }
}

/// The suggestion, as JSON.
#[derive(Serialize)]
struct Suggested<'a> {
    suggestion: &'a Suggestion,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<RawJson>,
    bytes_in: u64,
    bytes_out: u64,
}

fn suggest(console: &Console, args: &SuggestArgs) -> Result<Exit, Stop> {
    read_once(&args.files).map_err(Stop::Usage)?;
    let mut inputs = Vec::new();
    let mut samples = Samples::new();
    let mut bad_lines = 0;
    for path in &args.files {
        let mut input = SampleFile::open(path, args.ndjson)?;
        bad_lines += input.count(&mut samples)?;
        inputs.push(input);
    }
    if bad_lines > 0 {
        let lines = if bad_lines == 1 { "line that is" } else { "lines that are" };
        console.note(format_args!("{bad_lines} {lines} not JSON left out"));
    }
    if samples.is_mixed() {
        let why = "some samples are arrays and others are objects, which one filter cannot have as its root; give each kind in a run of its own";
        return Err(Stop::Usage(Usage::new(why.to_owned())));
    }
    let name = args.name.clone().unwrap_or_else(|| default_name(args.files.first()));
    let suggestion = if args.tight { samples.suggest_tight(&name) } else { samples.suggest(&name) };
    let program = Manifest::parse("the suggestion", suggestion.manifest())?.program(&name)?;
    let counts = samples.bytes() <= COUNTED;
    let tallies = [Tally::new(counts), Tally::new(counts)];
    let mut bytes = [0_u64; 2];
    let mut outputs = args.schema.then(|| Look::new(&LookOptions::new()));
    for input in &mut inputs {
        let report = match &mut outputs {
            None => input.filter(&program, &tallies, &mut io::sink())?,
            Some(look) => {
                let mut output = OutputWriter { look, is_open: false };
                let report = input.filter(&program, &tallies, &mut output)?;
                output.end().map_err(|error| input.fail(error))?;
                report
            }
        };
        let [before, after] = &mut bytes;
        *before += report.original_bytes;
        *after += report.output_bytes.unwrap_or(report.result_bytes);
    }
    let output_schema = outputs.and_then(|outputs| outputs.into_tree().to_schema());
    let text = match output_schema {
        output_schema if args.json => {
            let [bytes_in, bytes_out] = bytes;
            let output_schema = output_schema.and_then(|schema| schema.parse().ok());
            json(&Suggested { suggestion: &suggestion, output_schema, bytes_in, bytes_out })
        }
        Some(schema) => typed(suggestion.manifest(), &schema).into_bytes(),
        None => suggestion.manifest().as_bytes().to_vec(),
    };
    let exit = write(console, args.output.as_deref(), &text);
    let credentials = suggestion.members().iter().filter(|member| member.is_credential);
    let credentials: Vec<String> = credentials.map(|member| one_line(&member.path)).collect();
    if !credentials.is_empty() {
        let shown = credentials.get(..MOST_NAMES).unwrap_or(&credentials).join(", ");
        let more = match credentials.len().saturating_sub(MOST_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        console.note(format_args!("credentials or personal numbers left out: {shown}{more}"));
    }
    console.note(saved(bytes, tallies.map(|tally| tally.all())));
    Ok(exit)
}

/// Returns a manifest of one filter with the type of its output.
fn typed(manifest: &str, schema: &str) -> String {
    let manifest = manifest.replacen("filters:", "typed: true\nfilters:", 1);
    let manifest = manifest.trim_end();
    format!("{manifest}\n    output_schema: {schema}\n")
}

fn compare(console: &Console, args: &SuggestArgs, manifest: &Path) -> Result<Exit, Stop> {
    read_once(args.files.iter().chain(&args.drift)).map_err(Stop::Usage)?;
    let manifest = load_all(&[manifest.to_path_buf()])?;
    let spec = match &args.tool {
        Some(name) => manifest.find(name)?.spec().clone(),
        None => match manifest.entries().collect::<Vec<_>>().as_slice() {
            [only] => only.spec().clone(),
            entries => {
                let count = entries.len();
                let message = format!("the manifest has {count} filters; name one with --tool");
                return Err(Stop::Usage(Usage::new(message)));
            }
        },
    };
    // The output is compared, so it must be JSON.
    let program = Program::compile(&spec.encode(Encode::Json));
    let program = program.map_err(|error| Stop::Usage(Usage::from(&error)))?;
    let mut drift = Drift::new();
    for path in &args.files {
        let mut input = SampleFile::open(path, false)?;
        let mut output = SampleWriter(drift.outputs().document());
        let report = input.filter(&program, &[Tally::default(), Tally::default()], &mut output)?;
        output.0.end().map_err(|error| Stop::Failed(called(path), error))?;
        drift.add(&report);
    }
    let report = drift.report();
    let text = if args.json { json(&report) } else { lines(&report).into_bytes() };
    let written = write(console, args.output.as_deref(), &text);
    let samples = if args.files.len() == 1 { "sample" } else { "samples" };
    if report.is_drift() {
        console.note(format_args!("{} {samples}, which differ from the filter", args.files.len()));
        return Ok(Exit::Failed);
    }
    console.note(format_args!("{} {samples}, as the filter expects", args.files.len()));
    Ok(written)
}

/// Returns the differences, one on each line.
fn lines(report: &DriftReport) -> String {
    let mut text = String::new();
    for path in &report.missing {
        text += &format!("no sample has {}\n", one_line(path));
    }
    for heavy in &report.heavy {
        let (path, percent, reason) = (one_line(&heavy.path), heavy.percent, &heavy.reason);
        text += &format!("{percent} % of the output is {path} ({reason})\n");
    }
    if report.unfiltered > 0 {
        text += &format!("the filter found nothing in {} samples\n", report.unfiltered);
    }
    text
}

fn json(value: &impl Serialize) -> Vec<u8> {
    let mut writer = JsonStreamWriter::new(Vec::new());
    // Writing to memory cannot fail.
    if writer.serialize_value(value).is_err() {
        return Vec::new();
    }
    let mut text = writer.finish_document().unwrap_or_default();
    text.push(b'\n');
    text
}

fn write(console: &Console, output: Option<&Path>, text: &[u8]) -> Exit {
    let place = output.map_or(Place::Standard, |path| Place::from(path.to_path_buf()));
    let written = Output::open(&place).and_then(|mut output| {
        output.write_all(text)?;
        output.finish()
    });
    match written {
        Ok(()) => Exit::Done,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => {
            let name = place.name("standard output");
            console.fail(&name, format_args!("cannot write the output: {error}"))
        }
    }
}

/// Returns the name of a file without `.json`, as the name of a filter.
fn default_name(path: Option<&PathBuf>) -> String {
    let name = path.and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    let name = name.as_deref().unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let name = [".json", ".ndjson", ".jsonl", ".log", ".txt"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(name);
    // `*` and `?` would make a pattern.
    let name: String =
        name.chars().map(|char| if matches!(char, '*' | '?') { '-' } else { char }).collect();
    if name.is_empty() || name == "-" { "suggested".to_owned() } else { name }
}

/// A sample that can be read twice.
struct SampleFile {
    name: String,
    file: File,
    /// Each line is a sample.
    is_ndjson: bool,
}

impl SampleFile {
    /// Opens a sample. A stream, and a compressed file, are copied to a temporary file.
    fn open(path: &Path, is_ndjson: bool) -> Result<Self, Stop> {
        let name = called(path);
        let open = || {
            let mut file = files::open(&Place::from(path.to_path_buf()))?;
            if files::is_regular(&file) {
                file.rewind()?;
                if !gzip::is_compressed(&mut file)? {
                    return Ok(file);
                }
            }
            let mut copy = tempfile::tempfile()?;
            io::copy(&mut Decoded::new(file), &mut copy)?;
            copy.rewind()?;
            Ok(copy)
        };
        match open() {
            Ok(file) => Ok(Self { name, file, is_ndjson }),
            Err(error) => Err(Stop::Failed(name, Error::read(habits::explained(path, error)))),
        }
    }

    fn fail(&self, error: Error) -> Stop {
        Stop::Failed(self.name.clone(), error)
    }

    /// Counts what the sample has. Returns the number of lines that are not JSON.
    fn count(&mut self, samples: &mut Samples) -> Result<u64, Stop> {
        let mut input = BufReader::with_capacity(64 << 10, &self.file);
        let failed = |error| Stop::Failed(self.name.clone(), error);
        if !self.is_ndjson {
            return read_document(&mut input, samples).map(|()| 0).map_err(failed);
        }
        let (mut lines, mut bad) = (0, 0);
        while let Some(read) =
            read_line(&mut input, samples).map_err(Error::read).map_err(failed)?
        {
            lines += 1;
            bad += u64::from(read.is_err());
        }
        if lines == bad {
            let error = io::Error::new(io::ErrorKind::InvalidData, "no line is a JSON document");
            return Err(failed(Error::read(error)));
        }
        Ok(bad)
    }

    /// Filters the sample.
    fn filter(
        &mut self,
        program: &Program,
        [before, after]: &[Tally; 2],
        output: &mut impl Write,
    ) -> Result<Report, Stop> {
        let file = self.file.rewind().and_then(|()| self.file.try_clone());
        let file = file.map_err(|error| self.fail(Error::read(error)))?;
        let source = WatchedFile::new(file, |reader| before.around(reader));
        let source = source.map_err(|error| self.fail(Error::read(error)))?;
        let writer = &mut after.through(output);
        let options = CallOptions::new().with_token_counter(tamis_tokens::o200k_base());
        let call = program.with_options(&options);
        let mut bad = 0;
        let (report, result) = FailedRun::split(if self.is_ndjson {
            filter_ndjson(call, source, writer, |_, _| bad += 1)
        } else {
            filter_file(call, source, writer)
        });
        // Lines that are not JSON were counted before.
        let result = result.or_else(|error| match error.kind() {
            ErrorKind::Read | ErrorKind::Write | ErrorKind::Internal => Err(error),
            _ if bad > 0 => Ok(()),
            _ => Err(error),
        });
        result.map_err(|error| self.fail(error))?;
        Ok(report)
    }
}

/// The longest line that is a sample.
const LONGEST_LINE: usize = 64 << 20;

/// Reads the next line that is not blank as a sample. Returns `None` at the end. Counts nothing of a line that is not JSON.
fn read_line(
    input: &mut impl BufRead,
    samples: &mut Samples,
) -> io::Result<Option<Result<(), Error>>> {
    if !skip_blank(input)? {
        return Ok(None);
    }
    let mut line = Vec::new();
    let mut is_too_long = false;
    loop {
        let chunk = fill(input)?;
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
        is_too_long |= line.len() + part.len() > LONGEST_LINE;
        if !is_too_long {
            line.extend_from_slice(part);
        }
        let is_last = chunk.is_empty() || end.is_some();
        let length = part.len() + usize::from(end.is_some());
        input.consume(length);
        if is_last {
            break;
        }
    }
    if is_too_long {
        let message = format!("a line is longer than {LONGEST_LINE} bytes");
        return Ok(Some(Err(Error::read(io::Error::new(io::ErrorKind::InvalidData, message)))));
    }
    Ok(Some(Samples::new().read(&line).and_then(|()| samples.read(&line))))
}

/// Reads everything as one sample.
fn read_document(input: &mut impl BufRead, samples: &mut Samples) -> Result<(), Error> {
    let mut sample = samples.document();
    loop {
        let chunk = fill(input).map_err(Error::read)?;
        if chunk.is_empty() {
            return sample.end();
        }
        sample.write(chunk)?;
        let length = chunk.len();
        input.consume(length);
    }
}

/// Skips white space. Returns whether anything follows.
fn skip_blank(input: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let chunk = fill(input)?;
        if chunk.is_empty() {
            return Ok(false);
        }
        let begin = chunk.iter().position(|byte| !byte.is_ascii_whitespace());
        let blank = begin.unwrap_or(chunk.len());
        input.consume(blank);
        if begin.is_some() {
            return Ok(true);
        }
    }
}

/// Returns the next bytes, which are empty at the end.
fn fill(input: &mut impl BufRead) -> io::Result<&[u8]> {
    while let Err(error) = input.fill_buf() {
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // The bytes are there: this does not read again.
    input.fill_buf()
}

/// Counts an output while it is written.
struct SampleWriter<'a>(SampleReader<'a>);

impl Write for SampleWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Counts outputs of a filter, which are minified: each line is a document.
struct OutputWriter<'a> {
    look: &'a mut Look,
    /// Whether a document has begun.
    is_open: bool,
}

impl OutputWriter<'_> {
    /// Ends the document that has begun.
    fn end(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.is_open) { self.look.end() } else { Ok(()) }
    }
}

impl Write for OutputWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if number > 0 {
                self.end().map_err(io::Error::other)?;
            }
            if !line.is_empty() {
                self.look.write(line).map_err(io::Error::other)?;
                self.is_open = true;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
