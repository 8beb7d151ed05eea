//! `tamis look --secrets`: which credentials and personal data are in documents, and which of them a filter lets through.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read;

use serde::Serialize;
use tamis::filter_slice;
use tamis_insight::sensitive::{SensitivePlace, SensitiveReport};

use super::args::LookArgs;
use super::measure::has_rules;
use crate::console::print::{self, print};
use crate::console::{Console, Exit, Usage};
use crate::files;
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
    let mut places: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut after: BTreeMap<String, u64> = BTreeMap::new();
    for file in &args.files {
        let place = Place::from(file.clone());
        let name = place.name("standard input");
        let mut document = Vec::new();
        let read = files::open(&place).and_then(|mut input| input.read_to_end(&mut document));
        if let Err(error) = read {
            return console.fail(&name, error);
        }
        for found in SensitiveReport::of(&document).places {
            *places.entry((found.path, found.kind)).or_default() += found.count;
        }
        let Some(program) = &program else { continue };
        match filter_slice(program, &document) {
            Ok((output, _)) => {
                for (kind, count) in SensitiveReport::of(&output).kinds() {
                    *after.entry(kind.to_owned()).or_default() += count;
                }
            }
            Err(failed) => return console.fail(&name, failed),
        }
    }
    let places: Vec<SensitivePlace> = places
        .into_iter()
        .map(|((path, kind), count)| SensitivePlace { path, kind, count })
        .collect();
    let after = program.is_some().then_some(&after);
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
