//! Suggested filters for the responses of the corpus, compared with the filters of the catalog for the same tools.
//!
//! `TAMIS_BLESS=1 cargo test --test engine suggest` writes `tests/engine/suggest/table.md` again.

mod members;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;
use tamis::{Program, filter_slice};
use tamis_insight::suggest::{Samples, Suggestion};
use tamis_manifest::Manifest;
use tamis_testkit::cases::{self, bless};
use tamis_testkit::{paths, tokens};

use members::{Marked, is_compared};

const TABLE: &str = "tests/engine/suggest/table.md";

/// The least that the tables of first and second responses must show, in percent: the median of the saved tokens, and the kept
/// members. With 95 % of the members kept in the first table, the tight filters would save 52 % in the second one. They always
/// keep cursors and totals, and never members that are null in the first response.
const CAREFUL: [(f64, f64); 2] = [(12.0, 99.5), (12.0, 99.5)];
const TIGHT: [(f64, f64); 2] = [(69.5, 89.5), (70.0, 87.7)];

/// Responses whose payload is found elsewhere: the catalog's filter is about the headers of the message, or its output has the
/// hits one level higher.
const OTHER_ROOTS: [(&str, &str); 3] = [
    ("gmail-get-message.json", "object"),
    ("brave-search-web-search.json", "web.results"),
    ("brave-search-web-search.2.json", "web.results"),
];

/// A response of a tool of the catalog.
#[derive(Deserialize)]
struct Answer {
    tool: String,
    file: String,
    items: String,
}

impl Answer {
    fn document(&self) -> String {
        let text = paths::text(&format!("corpus/{}", self.file));
        text.trim_end().to_owned()
    }

    /// The root that the suggestion must have.
    fn root(&self) -> String {
        if let Some((_, root)) = OTHER_ROOTS.iter().find(|(file, _)| *file == self.file) {
            return (*root).to_owned();
        }
        match self.items.strip_prefix('/') {
            Some(names) => names.replace('/', "."),
            None if self.document().starts_with('[') => "first".to_owned(),
            None => "object".to_owned(),
        }
    }

    /// The first response of the same tool, if this is the second one.
    fn first(&self) -> Option<String> {
        Some(format!("{}.json", self.file.strip_suffix(".2.json")?))
    }
}

fn answers() -> Vec<Answer> {
    let mut answers = Vec::new();
    for name in paths::names("tests/cases/catalog", "toml") {
        answers.extend(
            cases::read::<Answer>(&format!("tests/cases/catalog/{name}"), "answer")
                .into_iter()
                .map(|case| case.data),
        );
    }
    answers.sort_by(|one, other| (&one.tool, &one.file).cmp(&(&other.tool, &other.file)));
    answers
}

/// The careful and the tight filter for a document.
fn suggest(document: &str) -> [(Suggestion, Program); 2] {
    let mut samples = Samples::new();
    samples.read(document.as_bytes()).unwrap();
    [samples.suggest("service.tool"), samples.suggest_tight("service.tool")].map(compiled)
}

fn compiled(suggestion: Suggestion) -> (Suggestion, Program) {
    let manifest = Manifest::parse("suggested.yaml", suggestion.manifest())
        .unwrap_or_else(|error| panic!("{error}\n{}", suggestion.manifest()));
    let entry = manifest.entries().next().unwrap();
    assert!(entry.warnings().is_empty(), "{:?}", entry.warnings());
    (suggestion, entry.program().clone())
}

/// How a suggested filter compares with that of the catalog.
struct Row {
    tool: String,
    file: String,
    root: String,
    tokens: [u64; 2],
    /// The compared members that the suggestion keeps, and all of them.
    kept: [usize; 2],
    lost: Vec<String>,
}

impl Row {
    fn new(answer: &Answer, root: &str, program: &Program, catalog: &Program) -> Self {
        let document = answer.document();
        let (output, _) = filter_slice(program, document.as_bytes()).unwrap();
        let output = String::from_utf8(output).unwrap();
        let marked = Marked::new(&document);
        let (by_catalog, by_suggestion) = (marked.kept(catalog), marked.kept(program));
        let mut members: BTreeMap<&str, (Vec<&str>, bool)> = BTreeMap::new();
        for mark in by_catalog {
            let value = marked.value(mark);
            let (values, is_kept) = members.entry(&value.path).or_insert((Vec::new(), true));
            values.push(&value.text);
            *is_kept &= by_suggestion.contains(&mark);
        }
        members.retain(|path, (values, _)| is_compared(path, values));
        let lost = members.iter().filter(|(_, (_, is_kept))| !is_kept);
        let lost: Vec<String> = lost.map(|(path, _)| (*path).to_owned()).collect();
        Self {
            tool: answer.tool.clone(),
            file: answer.file.clone(),
            root: root.to_owned(),
            tokens: [tokens::count(&document), tokens::count(&output)],
            kept: [members.len() - lost.len(), members.len()],
            lost,
        }
    }

    fn saved(&self) -> f64 {
        let [before, after] = self.tokens;
        100.0 * (1.0 - after as f64 / before as f64)
    }
}

/// The median of the saved tokens and the kept members, in percent.
fn figures(rows: &[Row]) -> (f64, f64) {
    let mut saved: Vec<f64> = rows.iter().map(Row::saved).collect();
    saved.sort_by(f64::total_cmp);
    let [kept, all] =
        rows.iter().fold([0, 0], |[kept, all], row| [kept + row.kept[0], all + row.kept[1]]);
    (saved[saved.len() / 2], 100.0 * kept as f64 / all as f64)
}

fn write_table(text: &mut String, heading: &str, rows: &[Row]) {
    let (saved, kept) = figures(rows);
    let sum = |at: usize| rows.iter().map(|row| row.kept[at]).sum::<usize>();
    write!(
        text,
        "\n## {heading}\n\n{} responses: {saved:.1} % of tokens saved in the median; {} of {} members kept, {kept:.1} %.\n\n\
         | tool | file | root | tokens in | tokens out | saved | kept | lost |\n|---|---|---|---:|---:|---:|---:|---|\n",
        rows.len(),
        sum(0),
        sum(1),
    )
    .unwrap();
    for row in rows {
        let Row { tool, file, root, tokens: [before, after], kept: [kept, all], lost } = row;
        let lost: Vec<String> = lost.iter().map(|path| format!("`{path}`")).collect();
        let (saved, lost) = (row.saved(), lost.join(", "));
        writeln!(
            text,
            "| `{tool}` | `{file}` | `{root}` | {before} | {after} | {saved:.1} % | {kept} of {all} | {lost} |"
        )
        .unwrap();
    }
}

#[test]
fn suggestions_for_the_corpus() {
    let (answers, catalog) = (answers(), Manifest::catalog().unwrap());
    assert!(answers.len() >= 75, "{} responses", answers.len());
    let mut tables: [[Vec<Row>; 2]; 2] = Default::default();
    let mut wrong = Vec::new();
    for answer in &answers {
        let by_hand = catalog.program(&answer.tool).unwrap();
        let mut add = |document: &str, part: usize| {
            for ((suggestion, program), table) in suggest(document).iter().zip(&mut tables) {
                if suggestion.root() != answer.root() {
                    let root = suggestion.root();
                    wrong.push(format!("{}: {root}, not {}", answer.file, answer.root()));
                }
                table[part].push(Row::new(answer, suggestion.root(), program, &by_hand));
            }
        };
        add(&answer.document(), 0);
        if let Some(first) = answer.first() {
            add(paths::text(&format!("corpus/{first}")).trim_end(), 1);
        }
    }
    assert!(wrong.is_empty(), "roots: {wrong:#?}");
    assert!(tables[0][1].len() >= 15, "{} second responses", tables[0][1].len());
    let mut text = String::from(
        "# Suggested filters\n\nEach response of the corpus through the filter that `tamis suggest` proposes for it. The last columns count the\n\
         members that the filter of the catalog keeps as identifier, title, state, person, date or amount: those that the\n\
         suggested filter keeps as well, and the paths of the others. Tokens are those of `o200k_base`.\n",
    );
    for ([first, second], level) in tables.iter().zip(["careful", "tight"]) {
        write_table(&mut text, &format!("First responses, {level} filter"), first);
        let heading =
            format!("Second responses, with the {level} filter that the first one suggests");
        write_table(&mut text, &heading, second);
    }
    if bless() {
        std::fs::write(paths::path(TABLE), &text).unwrap();
    } else {
        let same = paths::text(TABLE) == text;
        assert!(same, "`TAMIS_BLESS=1 cargo test --test engine suggest` writes {TABLE} again");
    }
    for (table, least) in tables.iter().zip([CAREFUL, TIGHT]) {
        for (rows, (saved, kept)) in table.iter().zip(least) {
            let found = figures(rows);
            assert!(found.0 >= saved && found.1 >= kept, "{found:?}, not {saved} % and {kept} %");
        }
    }
}
