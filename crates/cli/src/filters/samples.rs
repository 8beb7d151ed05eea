//! Filters sample responses: the table of `tamis check --samples`, and the sample of `tamis explain`.
//!
//! The files of a folder are filtered one by one. Only the output is held, for the comparison with the expected one.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use indicatif::HumanCount;
use tamis::{CallOptions, Error, FailedRun, Program, Report, filter_file, filter_reader};
use tamis_manifest::{Manifest, ManifestErrorKind};

use crate::console::print::one_line;
use crate::console::{Console, Exit};
use crate::figures::stats::Stats;
use crate::figures::tokens::{Tally, Tokens};
use crate::files::gzip::{self, Decoded};
use crate::files::misspelled::NameWatch;
use crate::files::place::called;
use crate::files::watched::WatchedFile;

/// The end of the name of an expected output.
const EXPECTED: &str = ".expected.json";

/// The ends of the names of samples.
const ENDINGS: [&str; 2] = [".json", ".json.gz"];

/// The results for the samples of a folder.
pub(crate) struct Samples {
    pub(crate) table: String,
    /// Number of warnings that were printed.
    pub(crate) warnings: usize,
    pub(crate) exit: Exit,
}

/// A filtered sample.
pub(crate) struct FilteredSample {
    pub(crate) output: Vec<u8>,
    pub(crate) report: Report,
    /// Paths that the sample lacks.
    missed: Vec<String>,
    /// Tokens of the sample and of the output.
    pub(crate) tokens: [Option<Tokens>; 2],
}

impl FilteredSample {
    /// Filters a file.
    ///
    /// # Errors
    /// The file cannot be read, or the run failed.
    pub(crate) fn new(
        program: &Program,
        options: &CallOptions,
        path: &Path,
    ) -> Result<Self, Error> {
        let mut file = File::open(path).map_err(Error::read)?;
        let is_compressed = gzip::is_compressed(&mut file).unwrap_or(false);
        let names = NameWatch::new(program.spec());
        let [before, after] = [Tally::new(true), Tally::new(true)];
        let around = |reader| names.around(before.around(Box::new(Decoded::new(reader))));
        let source = WatchedFile::new(file, around).map_err(Error::read)?;
        let mut output = Vec::new();
        let writer = &mut after.through(&mut output);
        let call = program.with_options(options);
        // The second reading of a file would not be decoded.
        let (report, result) = FailedRun::split(match is_compressed {
            true => filter_reader(call, source, writer),
            false => filter_file(call, source, writer),
        });
        result?;
        let missed = report.missed.iter().cloned().chain(names.absent()).map(|missed| missed.path);
        let missed = missed.collect();
        let tokens = [before.first(report.original_bytes), after.all()];
        Ok(Self { output, report, missed, tokens })
    }
}

impl FilteredSample {
    /// Describes what was kept, as lines of text.
    pub(crate) fn summary(&self, name: &str) -> String {
        let stats = Stats {
            report: &self.report,
            original: self.report.original_bytes,
            tokens: self.tokens,
        };
        let mut text = format!("{name}: {stats}\n");
        if !self.missed.is_empty() {
            text.push_str(&format!("  no item has {}\n", one_line(&self.missed.join(", "))));
        }
        for wrong in self.problems() {
            text.push_str(&format!("  {wrong}\n"));
        }
        text
    }

    /// Returns the reasons why the output is not what the filter is for.
    fn problems(&self) -> Vec<String> {
        let mut problems: Vec<String> = self.report.fallback.iter().cloned().collect();
        if self.report.budget_exceeded {
            problems
                .push("the output exceeds its budget and cannot be shortened further".to_owned());
        }
        problems
    }
}

/// One line of the table.
type Row = [String; 5];

/// Filters the samples of a folder, or one sample, with the filters that their names select.
///
/// # Errors
/// The folder cannot be read.
pub(crate) fn filter_all(
    console: &Console,
    manifest: &Manifest,
    place: &Path,
) -> io::Result<Samples> {
    let mut found: Vec<PathBuf> = Vec::new();
    let is_file = place.is_file();
    let folder = if is_file { place.parent().unwrap_or(Path::new("")) } else { place };
    if is_file {
        found.push(place.to_path_buf());
    } else {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if stem(&file_name(&path)).is_some() && path.is_file() {
                found.push(path);
            }
        }
    }
    found.sort_unstable();
    // The only filter is meant, whatever the name of the only sample is.
    let mut filters = manifest.names();
    let only = filters.next().filter(|_| is_file && filters.next().is_none());
    let names: Vec<String> = found.iter().map(|path| file_name(path)).collect();
    let mut all = Samples { table: String::new(), warnings: 0, exit: Exit::Done };
    let mut rows: Vec<Row> = Vec::new();
    let (mut with_sample, mut unknown) = (HashSet::new(), 0);
    for (path, name) in found.iter().zip(&names) {
        if let Some(stem) = name.strip_suffix(EXPECTED) {
            if !ENDINGS.iter().any(|ending| names.contains(&format!("{stem}{ending}"))) {
                console.warn(&called(path), format_args!("there is no sample {stem}.json"));
                all.warnings += 1;
            }
            continue;
        }
        let stem = stem(name).unwrap_or(name);
        let tool = tool_of(name);
        let entry = match manifest.find(only.unwrap_or(tool)) {
            Ok(entry) => entry,
            Err(error) => {
                let message = error.problems().first().map_or("", |problem| problem.message());
                console.warn(&called(path), message);
                unknown += usize::from(error.kind() == ManifestErrorKind::UnknownTool);
                all.warnings += 1;
                continue;
            }
        };
        with_sample.insert(entry.name().to_owned());
        let options = CallOptions::new()
            .with_token_counter(tamis_tokens::o200k_base())
            .with_suggestions(true);
        let sample = match FilteredSample::new(entry.program(), &options, path) {
            Ok(sample) => sample,
            Err(error) => {
                console.say(&called(path), error);
                all.exit = Exit::Usage;
                continue;
            }
        };
        for wrong in wrong(&sample, &folder.join(format!("{stem}{EXPECTED}"))) {
            console.say(&called(path), wrong);
            all.exit = Exit::Usage;
        }
        rows.push(row(stem, &sample));
    }
    if rows.is_empty() && unknown == 0 && all.exit == Exit::Done {
        let message = "no samples; TOOL.json is a response of TOOL";
        console.warn(&called(folder), message);
        all.warnings += 1;
    }
    let without: Vec<&str> = manifest.names().filter(|name| !with_sample.contains(*name)).collect();
    match without.as_slice() {
        [] => {}
        [one] => console.note(format_args!("no sample for {}", one_line(one))),
        several => console.note(format_args!("no sample for {} of the filters", several.len())),
    }
    all.table = table(&rows);
    Ok(all)
}

/// Returns what is wrong with the output for a sample.
fn wrong(sample: &FilteredSample, expected: &Path) -> Vec<String> {
    let mut wrong = sample.problems();
    match std::fs::read(expected) {
        Ok(expected) if expected.trim_ascii_end() == sample.output.trim_ascii_end() => {}
        Ok(content) => {
            let pairs = content.iter().zip(&sample.output);
            let same = pairs.take_while(|(content, output)| content == output).count();
            wrong.push(format!("the output differs from {} at byte {same}", called(expected)));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => wrong.push(format!("{} cannot be read: {error}", called(expected))),
    }
    wrong
}

/// Returns the columns of a sample.
fn row(name: &str, sample: &FilteredSample) -> Row {
    let Report { original_bytes, items_kept, items_seen, .. } = &sample.report;
    let missed = &sample.missed;
    let count = |tokens: Option<Tokens>| tokens.map_or_else(String::new, |count| count.to_string());
    let [before, after] = sample.tokens;
    let items = match (items_kept, items_seen) {
        (Some(kept), Some(seen)) => format!("{} of {}", HumanCount(*kept), HumanCount(*seen)),
        (Some(kept), None) => HumanCount(*kept).to_string(),
        (None, _) => "-".to_owned(),
    };
    [
        one_line(name),
        format!("{} → {}", HumanCount(*original_bytes), HumanCount(sample.output.len() as u64)),
        format!("{} → {}", count(before), count(after)),
        items,
        if missed.is_empty() { "-".to_owned() } else { one_line(&missed.join(", ")) },
    ]
}

/// Aligns rows under their titles.
fn table(rows: &[Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let title = ["sample", "bytes", "tokens", "items", "missed paths"].map(str::to_owned);
    let rows: Vec<&Row> = std::iter::once(&title).chain(rows).collect();
    let mut widths = [0; 5];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row.iter()) {
            *width = cell.chars().count().max(*width);
        }
    }
    let line = |row: &&Row| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the name of a sample's file without its ending, if it has one.
fn stem(name: &str) -> Option<&str> {
    ENDINGS.iter().find_map(|ending| name.strip_suffix(ending))
}

/// Returns the tool that a sample is a response of, by the name of its file.
pub(crate) fn tool_of(name: &str) -> &str {
    let stem = stem(name).unwrap_or(name);
    stem.split_once('~').map_or(stem, |(tool, _)| tool)
}

/// Returns whether a file of this name is a sample, and not an expected output.
pub(crate) fn is_sample(name: &str) -> bool {
    stem(name).is_some() && !name.ends_with(EXPECTED)
}
