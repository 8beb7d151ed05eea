//! Pages of the corpus: phrases that the text keeps and phrases that it drops, in `tests/cases/pages/pages.toml`.

use serde::Deserialize;
use tamis::content::{Content, ContentFormat, ContentSource};
use tamis_testkit::cases::{self, CaseTest, expect};
use tamis_testkit::content::{program, run};
use tamis_testkit::paths;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    file: String,
    from: String,
    /// Phrases of the text, in order.
    keeps: Vec<String>,
    /// Phrases of the Markdown, in order.
    #[serde(default)]
    markdown: Vec<String>,
    /// Phrases of the page that neither output has.
    drops: Vec<String>,
}

fn in_order(text: &str, phrases: &[String], name: &str) {
    let mut at = 0;
    for phrase in phrases {
        let found = text[at..].find(phrase.as_str());
        let found =
            found.unwrap_or_else(|| panic!("{name}: {phrase:?} is not in\n{}", &text[at..]));
        at += found + phrase.len();
    }
}

pub(crate) fn tests() -> Vec<CaseTest> {
    let pages = cases::read("tests/cases/pages/pages.toml", "page");
    let mut tests: Vec<CaseTest> =
        pages.into_iter().map(|page| cases::test("pages", page, run_page)).collect();
    tests.push(CaseTest::of_all("pages::every_page_is_checked", every_page_is_checked));
    tests
}

fn every_page_is_checked() {
    let pages: Vec<cases::Case<Page>> = cases::read("tests/cases/pages/pages.toml", "page");
    let mut named: Vec<_> = pages.into_iter().map(|page| page.data.file).collect();
    named.sort();
    assert_eq!(paths::names("corpus/pages", "html"), named);
}

fn run_page(page: &cases::Case<Page>) -> Result<(), String> {
    let page = &page.data;
    let document = paths::read(&format!("corpus/pages/{}", page.file));
    for (format, phrases) in
        [(ContentFormat::Text, &page.keeps), (ContentFormat::Markdown, &page.markdown)]
    {
        let program = program(Content::new().format(format));
        let (output, report) = run(&program, &tamis_testkit::call_options(), &document);
        expect(
            "content_from",
            &report.content_from.map(ContentSource::as_str),
            &Some(page.from.as_str()),
        )?;
        in_order(&output, phrases, &page.file);
        for phrase in &page.drops {
            assert!(!output.contains(phrase), "{phrase:?} is in\n{output}");
        }
        assert!(!output.contains("\n\n\n"), "more than one empty line");
        expect("without white space around it", &output.as_str(), &output.trim())?;
    }
    // A phrase that must be dropped is in the page.
    let text = String::from_utf8_lossy(&document);
    for phrase in &page.drops {
        assert!(text.contains(phrase), "{phrase:?} is not in the page");
    }
    Ok(())
}
