//! The built-in catalog on the responses of `corpus/`: the members that are kept, the savings, and readable errors.
//!
//! The tables are the files of `tests/cases/catalog/`. They have every tool of the catalog. Every filter must name its root, and may
//! hold only values that two of its outputs share.

use std::collections::BTreeSet;

use serde::Deserialize;
use tamis::{Filter, Program, SkipReason, filter_slice};
use tamis_manifest::Manifest;
use tamis_testkit::cases::{self, CaseTest};
use tamis_testkit::{paths, tokens};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    tool: String,
    file: String,
    items: String,
    count: usize,
    first: Vec<String>,
    #[serde(default)]
    siblings: Vec<String>,
    least: f64,
    says: Vec<String>,
    never: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Failure {
    tools: String,
    document: String,
    #[serde(default = "yes")]
    reported: bool,
}

fn yes() -> bool {
    true
}

/// The first file describes the keys and has the errors of all services.
const FILES: [&str; 7] = [
    "tests/cases/catalog/catalog.toml",
    "tests/cases/catalog/forges.toml",
    "tests/cases/catalog/documents.toml",
    "tests/cases/catalog/operations.toml",
    "tests/cases/catalog/clouds.toml",
    "tests/cases/catalog/business.toml",
    "tests/cases/catalog/development.toml",
];

pub(crate) fn tests() -> Vec<CaseTest> {
    let answers = FILES.into_iter().flat_map(|file| cases::read(file, "answer"));
    let mut tests: Vec<CaseTest> =
        answers.map(|case| cases::test("catalog::answer", case, run_answer)).collect();
    let errors = cases::read(FILES[0], "error").into_iter();
    tests.extend(errors.map(|case| cases::test("catalog::error", case, run_error)));
    for (name, run) in [
        ("catalog::every_tool_is_in_the_table", every_tool_is_in_the_table as fn()),
        ("catalog::no_filter_has_a_warning", no_filter_has_a_warning),
        ("catalog::documented_savings", documented_savings),
    ] {
        tests.push(CaseTest::of_all(name, run));
    }
    tests
}

fn answers() -> Vec<Answer> {
    let cases = FILES.into_iter().flat_map(|file| cases::read(file, "answer"));
    cases.map(|case| case.data).collect()
}

/// Every tool with a response.
pub(crate) fn responses() -> Vec<(String, String)> {
    answers().into_iter().map(|answer| (answer.tool, answer.file)).collect()
}

fn corpus(file: &str) -> Vec<u8> {
    paths::read(&format!("corpus/{file}"))
}

fn program(tool: &str) -> Program {
    let catalog = Manifest::catalog().expect("the catalog");
    catalog.program(tool).expect("a tool of the catalog")
}

/// The names of an object's members, in order. The map of serde_json would sort them.
fn names(object: &str) -> Vec<String> {
    struct Names(Vec<String>);
    impl<'de> Deserialize<'de> for Names {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visitor;
            impl<'de> serde::de::Visitor<'de> for Visitor {
                type Value = Names;
                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("an object")
                }
                fn visit_map<A: serde::de::MapAccess<'de>>(
                    self,
                    mut map: A,
                ) -> Result<Names, A::Error> {
                    let mut names = Vec::new();
                    while let Some((name, _)) = map.next_entry::<_, serde::de::IgnoredAny>()? {
                        names.push(name);
                    }
                    Ok(Names(names))
                }
            }
            deserializer.deserialize_map(Visitor)
        }
    }
    serde_json::from_str::<Names>(object).expect("an object").0
}

/// The text of the value at a pointer without escapes, as it is written in the document.
fn at<'a>(mut text: &'a str, pointer: &str) -> &'a str {
    use serde_json::value::RawValue;
    for name in pointer.split('/').skip(1) {
        let object: std::collections::HashMap<String, &'a RawValue> =
            serde_json::from_str(text).expect("an object on the way");
        text = object[name].get();
    }
    text
}

fn every_tool_is_in_the_table() {
    let catalog = Manifest::catalog().expect("the catalog");
    let tools: BTreeSet<_> = catalog.names().collect();
    assert_eq!(tools, answers().iter().map(|answer| answer.tool.as_str()).collect());
    let errors: Vec<cases::Case<Failure>> = cases::read(FILES[0], "error");
    for tool in tools {
        let service = tool.split('.').next().unwrap_or_default();
        let prefix = format!("{service}.*");
        assert!(errors.iter().any(|failure| failure.data.tools == prefix), "{tool}: no error");
    }
}

fn run_answer(case: &cases::Case<Answer>) -> Result<(), String> {
    let answer = &case.data;
    let document = corpus(&answer.file);
    let program = program(&answer.tool);
    let (output, report) = filter_slice(&program, &document).expect(&answer.tool);
    let (tool, text) = (&answer.tool, std::str::from_utf8(&output).expect("UTF-8"));

    assert!(report.applied, "{tool}");
    // Printed as a manifest of its own, the filter does the same.
    let printed = Manifest::catalog_yaml(tool).expect(tool);
    let printed = Manifest::parse("printed.yaml", &printed).expect(tool);
    let (again, _) = filter_slice(&printed.program(tool).expect(tool), &document).expect(tool);
    assert_eq!(again, output, "{tool}");
    let items = at(text, &answer.items);
    let first = match serde_json::from_str::<Vec<&serde_json::value::RawValue>>(items) {
        Ok(items) => {
            assert_eq!(items.len(), answer.count, "{tool}");
            items[0].get()
        }
        Err(_) => items,
    };
    assert_eq!(names(first), answer.first, "{tool}");
    if let Some((around, member)) = answer.items.rsplit_once('/') {
        let mut siblings = names(at(text, around));
        siblings.retain(|name| name != member);
        assert_eq!(siblings, answer.siblings, "{tool}");
    }

    let less = 100.0 * (1.0 - output.len() as f64 / document.len() as f64);
    assert!(less >= answer.least, "{tool}: {less:.2} % less, not {}", answer.least);
    for says in &answer.says {
        assert!(text.contains(says), "{tool}: {says} is gone");
    }
    for never in &answer.never {
        assert!(!text.contains(never), "{tool}: {never} is there");
    }

    let pretty = paths::path(&format!("corpus/{}", answer.file.replace(".json", ".pretty.json")));
    if let Ok(pretty) = std::fs::read(pretty) {
        assert!(filter_slice(&program, &pretty).expect(tool).0 == output, "{tool}, indented");
    }

    // No filter may hold its root or more than one item: a list can be long, and its first item is needed now. The members
    // that identify the shape are in the first item, and are waited for.
    let shape = match program.spec().requires.as_slice() {
        [] => 0,
        _ => 2 * document.len() / answer.count.max(1),
    };
    let mut filter = Filter::new(&program, Vec::new());
    for chunk in document.chunks(64) {
        filter.write(chunk).expect(tool);
    }
    let held = filter.end().expect(tool).held_peak_bytes;
    assert!(held <= 4096 + shape as u64, "{held} bytes are held");
    Ok(())
}

fn run_error(case: &cases::Case<Failure>) -> Result<(), String> {
    let failure = &case.data;
    let catalog = Manifest::catalog().expect("the catalog");
    let prefix = failure.tools.strip_suffix('*').expect("a prefix and a star");
    let tools: Vec<_> = catalog.names().filter(|name| name.starts_with(prefix)).collect();
    assert!(!tools.is_empty(), "{prefix}");
    for tool in tools {
        let (output, report) =
            filter_slice(&program(tool), failure.document.as_bytes()).expect(tool);
        assert_eq!(std::str::from_utf8(&output), Ok(failure.document.as_str()), "{tool}");
        let is_other_shape = report.skipped == Some(SkipReason::Shape);
        let missed = !report.applied && (report.fallback.is_some() || is_other_shape);
        assert!(missed || !failure.reported, "{tool}");
    }
    Ok(())
}

fn no_filter_has_a_warning() {
    let catalog = Manifest::catalog().expect("the catalog");
    for entry in catalog.entries() {
        assert!(entry.warnings().is_empty(), "{}: {:?}", entry.name(), entry.warnings());
    }
}

/// Compares the table of the guide with the output. The table of the corpus has a row for each response.
fn documented_savings() {
    let answers = answers();
    let guide = paths::text("docs/src/numbers.md");
    let mut rows = 0;
    for cells in table(&guide) {
        let tool = cells[0].trim_matches('`');
        let answer = answers.iter().find(|answer| answer.tool == tool);
        compare_row(&cells, answer.expect("a tool of the table"));
        rows += 1;
    }
    assert_eq!(rows, 4, "the seed's four");

    let corpus = paths::text("corpus/README.md");
    let files: Vec<_> = table(&corpus).map(|cells| cells[1].trim_matches('`').to_owned()).collect();
    assert_eq!(files.len(), answers.len(), "a row for each response");
    let listed: BTreeSet<_> = files.into_iter().collect();
    assert_eq!(listed, answers.into_iter().map(|answer| answer.file).collect());
}

/// The cells of the rows that begin with a tool and end with a percentage.
fn table(page: &str) -> impl Iterator<Item = Vec<&str>> {
    let rows = page.lines().filter(|line| line.starts_with("| `") && line.ends_with("% |"));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
}

fn compare_row(cells: &[&str], answer: &Answer) {
    let number = |cell: &str| -> f64 {
        let digits: String =
            cell.chars().filter(|char| char.is_ascii_digit() || *char == '.').collect();
        digits.parse().expect("a number")
    };
    let file = &answer.file;
    let document = String::from_utf8(corpus(file)).expect("a text");
    let document = document.trim_end();
    let (output, _) = filter_slice(&program(&answer.tool), document.as_bytes()).expect(file);
    let output = String::from_utf8(output).expect("text");
    let tokens = |text: &str| tokens::count(text) as f64;
    for (said, before, after) in [
        (&cells[2..5], document.len() as f64, output.len() as f64),
        (&cells[5..8], tokens(document), tokens(&output)),
    ] {
        assert_eq!((number(said[0]), number(said[1])), (before, after), "{file}");
        let percent = (1.0 - after / before) * 100.0;
        // Rounded down, as `--stats` does.
        assert!((0.0..0.1).contains(&(percent - number(said[2]))), "{file}: {percent}");
    }
}
