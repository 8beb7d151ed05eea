//! `tamis look --secrets`: which credentials and personal data are in documents, and which of them a filter lets through.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use tamis::{Error, Filter, Sink};
use tamis_insight::sensitive::{SensitivePlace, SensitiveScan};

use super::args::LookArgs;
use super::documents::{DocumentSink, FailedInput, read_documents};
use super::measure::{has_rules, hinted};
use crate::console::print::{self, print};
use crate::console::{Console, Exit, Usage};
use crate::files;
use crate::files::gzip::Decoded;
use crate::files::place::Place;
use crate::job::resolve;

/// The output of `--json`.
#[derive(Serialize)]
struct Json<'a> {
    version: u32,
    places: &'a [SensitivePlace],
    /// How many values of each kind remain after the filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<&'a BTreeMap<String, u64>>,
}

/// The search before and after the filter.
struct BothSides {
    before: SensitiveScan,
    filter: Option<Filter<Filtered>>,
}

/// The output of the filter.
struct Filtered(SensitiveScan);

impl Sink for Filtered {
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }
}

impl DocumentSink for BothSides {
    fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.before.write(chunk);
        match self.filter.as_mut().filter(|filter| !filter.is_done()) {
            Some(filter) => filter.write(chunk).map(drop),
            None => Ok(()),
        }
    }

    fn end_document(&mut self) -> Result<(), Error> {
        self.before.end();
        if let Some(filter) = &mut self.filter {
            filter.end()?;
            filter.sink_mut().0.end();
            filter.restart();
        }
        Ok(())
    }
}

/// Searches all inputs, and prints what was found.
pub(super) fn run(args: &LookArgs, console: &Console) -> Exit {
    let usage = |usage: Usage| console.refuse(&usage);
    let selected = match resolve::select(&args.selection) {
        Ok(selected) => selected,
        Err(wrong) => return usage(wrong),
    };
    let program = match has_rules(args).then(|| selected.program()).transpose() {
        Ok(program) => program,
        Err(error) => return usage(Usage::from(&error)),
    };
    let filter = program.map(|program| {
        Filter::new(program.with_options(&selected.options), Filtered(SensitiveScan::new()))
    });
    let mut sides = BothSides { before: SensitiveScan::new(), filter };
    for file in &args.files {
        let place = Place::from(file.clone());
        let name = place.name("standard input");
        let mut input = match files::open(&place) {
            Ok(input) => Decoded::new(input),
            Err(error) => return console.fail(&name, Error::read(error)),
        };
        if let Err(failed) = read_documents(&mut input, args.ndjson, false, &mut sides) {
            let FailedInput { error, line } = failed;
            let line = line.map_or_else(String::new, |line| format!("line {line}: "));
            // The path to the place may have names that are credentials: they are escaped and shortened there, so that they
            // are not found. The offset says where it is.
            let error = error.rephrased(String::new(), None);
            let error = SensitiveScan::redacted(&hinted(&error, false).to_string());
            return console.fail(&name, format_args!("{line}{error}"));
        }
    }
    let places = sides.before.into_report().places;
    let after = sides.filter.map(|filter| {
        let report = filter.into_sink().0.into_report();
        report.kinds().into_iter().map(|(kind, count)| (kind.to_owned(), count)).collect()
    });
    let after: Option<&BTreeMap<String, u64>> = after.as_ref();
    if args.json {
        return match print::json(&Json { version: 1, places: &places, after }) {
            Ok(text) => print(&text),
            Err(error) => console.fail("look", error),
        };
    }
    print(table(&places, after).as_bytes())
}

/// Returns the lines of the table: the places, and the kinds after the filter.
fn table(places: &[SensitivePlace], after: Option<&BTreeMap<String, u64>>) -> String {
    let mut text = String::new();
    if places.is_empty() {
        text += "no credentials or personal data found\n";
    }
    let width = places.iter().map(|place| place.kind.len()).max().unwrap_or(0);
    for SensitivePlace { path, kind, count } in places {
        let path =
            if path.is_empty() { "(text)".to_owned() } else { path.escape_debug().to_string() };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{count:>8}  {kind:<width$}  {path}");
    }
    if let Some(after) = after {
        let left: Vec<String> =
            after.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        text += "after the filter: ";
        text += if left.is_empty() { "none" } else { "" };
        text += &left.join(", ");
        text += "\n";
    }
    text
}
