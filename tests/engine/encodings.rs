//! The table in `corpus/README.md` with the tokens of each encoding of its responses.
//!
//! `TAMIS_BLESS=1 cargo test --test engine encodings` writes it again.

use std::fmt::Write as _;

use tamis::Program;
use tamis::spec::{Encode, Siblings};
use tamis_manifest::Manifest;
use tamis_testkit::cases::bless;
use tamis_testkit::paths;

const PAGE: &str = "corpus/README.md";
const HEADING: &str = "## Tokens of each encoding";
const FORMS: [Encode; 4] = [Encode::Json, Encode::Toon, Encode::Csv, Encode::Markdown];

/// Returns the responses of the corpus, as pairs of the tool and the name of the file.
fn responses(catalog: &Manifest) -> Vec<(String, String)> {
    let folder = std::fs::read_dir(paths::root().join("corpus")).unwrap();
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut responses: Vec<_> = names
        .filter_map(|name| {
            let stem = name.strip_suffix(".json")?;
            let stem = stem.strip_suffix(".2").unwrap_or(stem);
            let tool = catalog.names().find(|tool| tool.replace('.', "-") == stem)?;
            Some((tool.to_owned(), name))
        })
        .collect();
    responses.sort();
    responses
}

/// Returns the tokens of a response after the filter of its tool, or `None` if the form cannot carry it.
fn tokens(catalog: &Manifest, tool: &str, document: &[u8], form: Encode) -> Option<u64> {
    let mut spec = catalog.spec(tool).unwrap().clone().encode(form);
    if matches!(form, Encode::Csv | Encode::Markdown) {
        spec = spec.siblings(Siblings::Drop);
    }
    let program = Program::compile(&spec).unwrap();
    let (output, report) = tamis::filter_slice(&program, document).unwrap();
    if report.encode_skipped.is_some() {
        return None;
    }
    let mut counter = tamis_tokens::counter();
    counter.push(output.trim_ascii_end());
    Some(counter.end().tokens)
}

#[test]
fn tokens_of_the_corpus() {
    let catalog = Manifest::catalog().unwrap();
    let responses = responses(&catalog);
    assert!(responses.len() >= 75, "{} responses", responses.len());
    let mut table =
        String::from("| file | JSON | TOON | CSV | Markdown |\n|---|---:|---:|---:|---:|\n");
    for (tool, name) in &responses {
        let document = std::fs::read(paths::root().join("corpus").join(name)).unwrap();
        let counts = FORMS.map(|form| tokens(&catalog, tool, &document, form));
        assert!(counts[0].is_some(), "{name} is not written as JSON");
        write!(table, "| `{name}` |").unwrap();
        for count in counts {
            match count {
                Some(count @ ..1000) => write!(table, " {count} |").unwrap(),
                Some(count) => write!(table, " {},{:03} |", count / 1000, count % 1000).unwrap(),
                None => table.push_str(" – |"),
            }
        }
        table.push('\n');
    }
    let page = paths::text(PAGE);
    let (before, section) = page.split_once(HEADING).expect("the section of the encodings");
    let (text, rest) = section.split_once("| file |").expect("the table");
    let end = rest.find("\n\n").map_or(rest.len(), |end| end + 1);
    if bless() {
        let text = format!("{before}{HEADING}{text}{table}{}", &rest[end..]);
        std::fs::write(paths::root().join(PAGE), text).unwrap();
    } else {
        let found = format!("| file |{}", &rest[..end]);
        assert_eq!(
            found, table,
            "`TAMIS_BLESS=1 cargo test --test engine encodings` writes it again"
        );
    }
}
