//! Plain questions about responses, and whether the levels of the catalog and the profile keep the values that they ask for:
//! `tests/golden/SERVICE.toml`.
//!
//! The value is a scalar of the response. It is kept if the output has it as a scalar of its own, or inside a longer text.
//! [`reading`] has the same questions, and others, for a reader of factored text.
//! `TAMIS_BLESS=1 cargo test -p tamis-testkit --features full --test engine golden` writes `tests/golden/README.md` and
//! `tests/golden/READING.md` again.

mod reader;
mod reading;
mod variations;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;
use tamis::{Program, Spec, filter_slice};
use tamis_manifest::{Level, Manifest};
use tamis_testkit::cases::bless;
use tamis_testkit::{paths, tokens};

const TABLE: &str = "tests/golden/README.md";

/// The least that all responses together must show, in percent: values kept, and bytes saved.
const CAREFUL: [f64; 2] = [97.0, 0.0];
const FACTORED: [f64; 2] = [97.0, 61.0];
const TIGHT: [f64; 2] = [85.0, 70.0];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    response: Vec<Response>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Response {
    tool: String,
    /// In `corpus/`, or with `inputs/` before its name in `tests/golden/`.
    file: String,
    /// Each with the pointer of the value and, if that is a long text, the part that is asked for.
    questions: Vec<Vec<String>>,
}

/// A scalar that a question asks for.
struct Asked {
    /// The last name on its path, for values that say nothing without one.
    name: String,
    value: Value,
}

/// The sums for one way to filter.
#[derive(Clone, Copy, Default)]
struct Sums {
    kept: usize,
    bytes: usize,
    tokens: u64,
}

/// The ways to filter, in the order of the table.
const WAYS: [&str; 4] = ["careful", "careful and factored", "tight", "profile"];

struct Row {
    tool: String,
    file: String,
    asked: usize,
    before: Sums,
    ways: [Sums; 4],
    /// The tight level with `factor`, and the profile with it.
    bounds: [Sums; 2],
    /// Questions whose value the careful level does not keep.
    lost: Vec<String>,
}

impl Asked {
    fn of(response: &Value, pointer: &str, part: Option<&String>) -> Option<Self> {
        let value = response.pointer(pointer)?;
        let value = match part {
            Some(part) if value.as_str()?.contains(part.as_str()) => Value::String(part.clone()),
            None if !value.is_object() && !value.is_array() => value.clone(),
            _ => return None,
        };
        let name = pointer.rsplit('/').next().unwrap_or_default();
        Some(Self { name: name.to_owned(), value })
    }

    fn is_in(&self, output: &Scalars) -> bool {
        output.has(&self.name, &self.value)
    }
}

/// The scalars of a document.
#[derive(Default)]
struct Scalars {
    texts: BTreeSet<String>,
    numbers: BTreeSet<String>,
    /// Names and values of members that are neither.
    members: BTreeSet<(String, String)>,
}

impl Scalars {
    fn of(document: &[u8]) -> Self {
        let mut scalars = Self::default();
        match serde_json::from_slice(document) {
            Ok(document) => scalars.add("", &document),
            // The lines of a text filter.
            Err(_) => _ = scalars.texts.insert(String::from_utf8_lossy(document).into_owned()),
        }
        scalars
    }

    /// Returns whether there is such a scalar, or a text that contains it. For a truth value or null, the name counts too.
    fn has(&self, name: &str, value: &Value) -> bool {
        match value {
            Value::Bool(_) | Value::Null => {
                self.members.contains(&(name.to_owned(), value.to_string()))
            }
            Value::String(text) if text.is_empty() => true,
            Value::String(text) => self.texts.iter().any(|found| found.contains(text.as_str())),
            number => {
                let number = number.to_string();
                self.numbers.contains(&number)
                    || self.texts.iter().any(|found| found.contains(&number))
            }
        }
    }

    fn add(&mut self, name: &str, value: &Value) {
        match value {
            Value::Object(members) => {
                members.iter().for_each(|(name, value)| self.add(name, value))
            }
            Value::Array(elements) => elements.iter().for_each(|element| self.add(name, element)),
            Value::String(text) => _ = self.texts.insert(text.clone()),
            Value::Number(number) => _ = self.numbers.insert(number.to_string()),
            other => _ = self.members.insert((name.to_owned(), other.to_string())),
        }
    }
}

/// The rules that the profile `standard` adds to each filter of the catalog, without its limit.
fn of_profile(spec: Spec) -> Program {
    Program::compile(&spec.drop_nulls(true).drop_empty(true).omit_base64_over(256)).unwrap()
}

fn sums(document: &[u8], values: &[Asked]) -> Sums {
    let scalars = Scalars::of(document);
    let kept = values.iter().filter(|value| value.is_in(&scalars)).count();
    let tokens = tokens::count(&String::from_utf8_lossy(document));
    Sums { kept, bytes: document.len(), tokens }
}

/// Returns the path of a file of a [`Response`].
fn path_of(file: &str) -> String {
    match file.strip_prefix("inputs/") {
        Some(_) => format!("tests/golden/{file}"),
        None => format!("corpus/{file}"),
    }
}

/// Reads the questions. Returns them with the names of the services.
fn files() -> BTreeMap<String, File> {
    let mut files = BTreeMap::new();
    for file in std::fs::read_dir(paths::path("tests/golden")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        if let Some(service) = name.strip_suffix(".toml") {
            let text = paths::text(&format!("tests/golden/{name}"));
            let file = toml::from_str(&text).unwrap_or_else(|error| panic!("{service}: {error}"));
            files.insert(service.to_owned(), file);
        }
    }
    files
}

fn row(response: Response, catalog: &Manifest) -> Row {
    let Response { tool, file, questions } = response;
    let document = paths::text(&path_of(&file)).into_bytes();
    let parsed: Value = serde_json::from_slice(&document)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&document).into_owned()));
    let values: Vec<Asked> = questions
        .iter()
        .map(|question| {
            let [asked, pointer, part @ ..] = question.as_slice() else {
                panic!("{file}: {question:?}: expected a question and a pointer")
            };
            Asked::of(&parsed, pointer, part.first())
                .unwrap_or_else(|| panic!("{file}: {asked}: no such scalar at {pointer}"))
        })
        .collect();
    let entry = catalog.entry(&tool).unwrap();
    let run = |program: &Program| filter_slice(program, &document).unwrap().0;
    let careful = run(&of_profile(entry.program_at(Level::Careful).spec().clone()));
    let factored = entry.program_at(Level::Careful).spec().clone().factor(true);
    let factored = run(&of_profile(factored));
    let tight = run(entry.program_at(Level::Tight));
    let profile = run(&of_profile(Spec::new()));
    let bounds = [entry.program_at(Level::Tight).spec().clone(), Spec::new()]
        .map(|spec| sums(&run(&of_profile(spec.factor(true))), &values));
    let scalars = Scalars::of(&careful);
    let lost = questions.iter().zip(&values).filter(|(_, value)| !value.is_in(&scalars));
    let lost = lost.filter_map(|(question, _)| question.first().cloned()).collect();
    Row {
        tool,
        file,
        asked: values.len(),
        before: sums(&document, &values),
        ways: [&careful, &factored, &tight, &profile].map(|output| sums(output, &values)),
        bounds,
        lost,
    }
}

fn percent(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 100.0 } else { part / whole * 100.0 }
}

/// Writes the cells of the columns that a table has for each way.
fn write_cells(text: &mut String, ways: &[Sums], before: Sums, asked: usize) {
    for way in ways {
        let saved = 100.0 - percent(way.tokens as f64, before.tokens as f64);
        write!(text, " {}/{asked} | {saved:.0} % |", way.kept).unwrap();
    }
    text.push('\n');
}

#[test]
fn questions_about_responses() {
    let catalog = Manifest::catalog().unwrap();
    let responses = files().into_values().flat_map(|file| file.response);
    let rows: Vec<Row> = responses.map(|response| row(response, &catalog)).collect();
    let asked_of: BTreeSet<&str> = rows.iter().map(|row| row.tool.as_str()).collect();
    let unasked: Vec<&str> = catalog.names().filter(|name| !asked_of.contains(name)).collect();
    assert!(unasked.is_empty(), "no questions about {unasked:?}");

    let mut text = String::from(
        "# Questions about responses\n\n\
         Questions to a model about the responses of the catalog's tools, and whether the values that they ask for are in the\n\
         output: of the careful level of the catalog, the same with `factor`, the tight level, and the profile without the catalog. Tokens are those of `o200k_base`,\n\
         without the limit of the profile. The questions are in `SERVICE.toml`; a test writes this file.\n\n\
         | tool | response | tokens | careful | saved | factored | saved | tight | saved | profile | saved |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let (mut asked, mut before, mut all) = (0, Sums::default(), [Sums::default(); WAYS.len()]);
    let mut bounds = [Sums::default(); 2];
    for row in &rows {
        write!(text, "| `{}` | `{}` | {} |", row.tool, row.file, row.before.tokens).unwrap();
        write_cells(&mut text, &row.ways, row.before, row.asked);
        asked += row.asked;
        let ways = all.iter_mut().zip(&row.ways).chain(bounds.iter_mut().zip(&row.bounds));
        for (sum, own) in ways.chain([(&mut before, &row.before)]) {
            sum.kept += own.kept;
            sum.bytes += own.bytes;
            sum.tokens += own.tokens;
        }
    }
    write!(text, "| all | {} | {} |", rows.len(), before.tokens).unwrap();
    write_cells(&mut text, &all, before, asked);
    let saved = |way: Sums| 100.0 - percent(way.bytes as f64, before.bytes as f64);
    let [careful, factored, tight, profile] = all.map(saved);
    let [tight_factored, profile_factored] = bounds.map(saved);
    write!(
        text,
        "\nThe responses have {} bytes. The careful level saves {careful:.1} % of them, and {factored:.1} % with `factor`; the tight level\n\
         {tight:.1} %, and {tight_factored:.1} % with `factor`; the profile {profile:.1} %, and {profile_factored:.1} % with `factor`. These responses are harder than\n\
         recorded ones: their lists are short, and names and texts differ in each item.\n",
        before.bytes
    )
    .unwrap();
    text.push_str("\nNot kept at the careful level, but fetchable:\n\n");
    for Row { tool, file, lost, .. } in rows.iter().filter(|row| !row.lost.is_empty()) {
        writeln!(text, "- `{tool}` (`{file}`): {}", lost.join("; ")).unwrap();
    }
    if bless() {
        std::fs::write(paths::path(TABLE), &text).unwrap();
    } else {
        assert!(paths::text(TABLE) == text, "set TAMIS_BLESS=1 to write {TABLE} again");
    }
    assert_eq!(before.kept, asked, "every value is in its response");
    for ((way, sum), [kept, saved]) in
        WAYS.iter().zip(&all).zip([CAREFUL, FACTORED, TIGHT, [97.0, 0.0]])
    {
        let share = percent(sum.kept as f64, asked as f64);
        let gain = 100.0 - percent(sum.bytes as f64, before.bytes as f64);
        assert!(share >= kept && gain >= saved, "{way}: {share:.1} % kept, {gain:.1} % saved");
    }
}
