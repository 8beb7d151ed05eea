//! The corpus: of each page, what is the content stays, and what is around it goes.

use std::path::Path;

use serde::Deserialize;
use tamis::{CallOptions, Content, ContentFormat, ContentSource};

use super::{program, run};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    page: Vec<Page>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    file: String,
    from: String,
    /// Phrases of the text, in their order.
    keeps: Vec<String>,
    /// The same of the Markdown.
    #[serde(default)]
    markdown: Vec<String>,
    /// Phrases that are in neither, though the page has them.
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

#[test]
fn content_stays_and_the_rest_goes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/pages");
    let file: File = toml::from_str(include_str!("pages.toml")).unwrap();
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".html"))
        .collect();
    files.sort();
    let mut named: Vec<_> = file.page.iter().map(|page| page.file.clone()).collect();
    named.sort();
    assert_eq!(files, named, "every page is checked");
    assert!(files.len() >= 12);
    for page in &file.page {
        let document = std::fs::read(folder.join(&page.file)).unwrap();
        let mut outputs = Vec::new();
        for (format, phrases) in
            [(ContentFormat::Text, &page.keeps), (ContentFormat::Markdown, &page.markdown)]
        {
            let program = program(Content::new().format(format));
            let (output, report) = run(&program, &CallOptions::new(), &document);
            assert_eq!(
                report.content_from.map(ContentSource::as_str),
                Some(page.from.as_str()),
                "{}",
                page.file
            );
            in_order(&output, phrases, &page.file);
            for phrase in &page.drops {
                assert!(!output.contains(phrase), "{}: {phrase:?} is in\n{output}", page.file);
            }
            assert!(!output.contains("\n\n\n"), "{}", page.file);
            assert_eq!(output.trim(), output, "{}", page.file);
            outputs.push(output);
        }
        // What is looked for in vain is there to be found.
        let text = String::from_utf8_lossy(&document);
        for phrase in &page.drops {
            assert!(text.contains(phrase), "{}: {phrase:?}", page.file);
        }
    }
}

#[test]
fn pages_are_cut_within_their_tokens() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/pages");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "html") {
            continue;
        }
        let document = std::fs::read(&path).unwrap();
        for max in [1, 5, 20, 60, 150, 400] {
            for format in [ContentFormat::Text, ContentFormat::Markdown] {
                let program = program(Content::new().max_tokens(max).format(format));
                let (output, report) = tamis::filter_slice(&program, &document).unwrap();
                super::parts::within(std::str::from_utf8(&output).unwrap(), &report, max);
            }
        }
    }
}
