//! Which rule removed which bytes: sums over every case of `tests/cases/filter/`, and over every response of the corpus.

use std::collections::HashSet;
use std::io::Cursor;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;
use serde_json::value::RawValue;
use tamis::{CallOptions, ErrorKind, Limits, Program, factor, filter_slice};
use tamis_insight::why::{ValueOutcome, Why, why};
use tamis_manifest::Manifest;
use tamis_testkit::cases::CaseTest;
use tamis_testkit::paths;

use crate::catalog;
use crate::filter::{self, Subject};

/// The number of values of a document that are followed.
const FOLLOWED: usize = 40;

pub(crate) fn tests() -> Vec<CaseTest> {
    let mut tests = Vec::new();
    for file in paths::names("tests/cases/filter", "toml") {
        let name = format!("why::filter::{}", file.trim_end_matches(".toml"));
        tests.push(CaseTest::new(name, move || {
            let subjects = filter::subjects(&format!("tests/cases/filter/{file}"));
            let wrong: Vec<String> = subjects.iter().filter_map(|one| one.check().err()).collect();
            if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
        }));
    }
    tests.push(CaseTest::of_all("why::responses_of_the_catalog", catalog_adds_up));
    tests.push(CaseTest::of_all("why::all_tools_on_one_response", other_tools_add_up));
    tests
}

impl Subject {
    fn check(&self) -> Result<(), String> {
        let Self { place, program, options, document } = self;
        check(program, options, document).map_err(|problem| format!("{place}: {problem}"))
    }
}

/// Explains a run, and compares all sums with it.
fn check(program: &Program, options: &CallOptions, document: &[u8]) -> Result<(), String> {
    let call = || program.with_options(options);
    let explained = why(call(), Cursor::new(document), None);
    let (output, _) = match (filter_slice(call(), document), &explained) {
        (Ok(ran), Ok(_)) => ran,
        // The outputs of the first rules are longer than the last one.
        (Ok(_), Err(error)) if error.kind() == ErrorKind::Limit => return Ok(()),
        (Ok(_), Err(error)) => return Err(format!("not explained: {error}")),
        (Err(_), Err(_)) => return Ok(()),
        (Err(run), Ok(_)) => return Err(format!("explained, but fails: {}", run.error)),
    };
    let Ok(explained) = explained else { return Ok(()) };
    adds_up(&explained, document, &output)?;
    // If rules stop early, the rest may be invalid. Then there is no document without rules.
    let is_whole = serde_json::from_slice::<&RawValue>(document.trim_ascii()).is_ok();
    let undivided = explained
        .rules
        .iter()
        .find(|rule| rule.rule.contains(" together") || rule.rule.contains(" + "));
    if let Some(rule) = undivided.filter(|_| is_whole) {
        return Err(format!("{} is not divided:\n{explained}", rule.rule));
    }
    // If members share a name, the JSON library takes another one.
    let is_unique = serde_json::from_slice::<Unique>(document).is_ok();
    // Pointers name values of the documents before they were factored.
    let restored = |document: &[u8]| {
        factor::restore(document, &Limits::new()).unwrap_or_else(|_| document.to_vec())
    };
    if is_unique
        && let Ok(input) = serde_json::from_slice::<Json>(&restored(document))
        && let Ok(output) = serde_json::from_slice::<Json>(&restored(&output))
    {
        let mut pointers = Vec::new();
        collect(&input, "", &mut pointers);
        for pointer in pointers {
            follows(call(), document, &pointer, &input, &output)?;
        }
    }
    Ok(())
}

fn adds_up(why: &Why, document: &[u8], output: &[u8]) -> Result<(), String> {
    let shown = || format!("{}\n{why}", String::from_utf8_lossy(output));
    let whole = (why.input_bytes, why.output_bytes);
    if whole != (document.len() as u64, output.len() as u64) {
        return Err(format!("{whole:?} are not {} and {}", document.len(), output.len()));
    }
    if why.input_bytes + why.added_bytes != why.output_bytes + why.removed_bytes {
        return Err(format!("the sum is wrong: {}", shown()));
    }
    let (mut removed, mut added) = (0, 0);
    for rule in &why.rules {
        removed += rule.removed_bytes;
        added += rule.added_bytes;
        let of_paths = rule.paths.iter().fold((0, 0), |(removed, added), path| {
            (removed + path.removed_bytes, added + path.added_bytes)
        });
        if !rule.paths.is_empty() && of_paths != (rule.removed_bytes, rule.added_bytes) {
            return Err(format!("the paths of {} are wrong: {}", rule.rule, shown()));
        }
    }
    if (removed, added) != (why.removed_bytes, why.added_bytes) {
        return Err(format!("the rules do not add up: {}", shown()));
    }
    Ok(())
}

/// Follows one value: what is kept is the same value.
fn follows(
    call: tamis::Call<'_>,
    document: &[u8],
    pointer: &str,
    input: &Json,
    output: &Json,
) -> Result<(), String> {
    let why = why(call, Cursor::new(document), Some(pointer)).map_err(|error| error.to_string())?;
    let value = why.value.ok_or("no value")?;
    let fault = |what: &str| Err(format!("{value}: {what}: {output}"));
    match value.outcome {
        ValueOutcome::Missing => fault("the input has it"),
        ValueOutcome::Kept | ValueOutcome::Changed => {
            let at = value.output_pointer.as_deref().unwrap_or_default();
            let (Some(kept), Some(was)) = (output.pointer(at), input.pointer(pointer)) else {
                return fault("the output has no such value");
            };
            let is_scalar = !was.is_object() && !was.is_array();
            if value.outcome == ValueOutcome::Kept && is_scalar && kept != was {
                return fault("the output has another value");
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Collects the pointers of the first values.
fn collect(value: &Json, pointer: &str, found: &mut Vec<String>) {
    if found.len() >= FOLLOWED {
        return;
    }
    found.push(pointer.to_owned());
    match value {
        Json::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                collect(value, &format!("{pointer}/{index}"), found);
            }
        }
        Json::Object(map) => {
            for (name, value) in map {
                let name = name.replace('~', "~0").replace('/', "~1");
                collect(value, &format!("{pointer}/{name}"), found);
            }
        }
        _ => {}
    }
}

/// A document whose objects have no two members with one name.
struct Unique;

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct UniqueVisitor;
        impl<'de> Visitor<'de> for UniqueVisitor {
            type Value = Unique;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a value")
            }

            fn visit_bool<E>(self, _: bool) -> Result<Unique, E> {
                Ok(Unique)
            }

            fn visit_i64<E>(self, _: i64) -> Result<Unique, E> {
                Ok(Unique)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Unique, E> {
                Ok(Unique)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Unique, E> {
                Ok(Unique)
            }

            fn visit_str<E>(self, _: &str) -> Result<Unique, E> {
                Ok(Unique)
            }

            fn visit_unit<E>(self) -> Result<Unique, E> {
                Ok(Unique)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Unique, A::Error> {
                while list.next_element::<Unique>()?.is_some() {}
                Ok(Unique)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unique, A::Error> {
                let mut names = HashSet::new();
                while let Some((name, _)) = map.next_entry::<String, Unique>()? {
                    if !names.insert(name) {
                        return Err(A::Error::custom("a name occurs twice"));
                    }
                }
                Ok(Unique)
            }
        }
        deserializer.deserialize_any(UniqueVisitor)
    }
}

fn catalog_adds_up() {
    let manifest = Manifest::catalog().expect("the catalog");
    for (tool, file) in catalog::responses() {
        let program = manifest.program(&tool).expect("a tool of the catalog");
        let document = paths::read(&format!("corpus/{file}"));
        let (output, _) = filter_slice(&program, &document).expect("the response is filtered");
        let why = why(&program, Cursor::new(&document), None).expect("the run is explained");
        if let Err(problem) = adds_up(&why, &document, &output) {
            panic!("{tool}: {problem}");
        }
    }
}

/// Every tool on a response of another one: mostly total misses.
fn other_tools_add_up() {
    let manifest = Manifest::catalog().expect("the catalog");
    let document = paths::read("corpus/github-list-repos.json");
    for tool in manifest.names() {
        let program = manifest.program(tool).expect("a tool of the catalog");
        let Ok((output, _)) = filter_slice(&program, &document) else { continue };
        let why = why(&program, Cursor::new(&document), None).expect("the run is explained");
        if let Err(problem) = adds_up(&why, &document, &output) {
            panic!("{tool}: {problem}");
        }
    }
}
