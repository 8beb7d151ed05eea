//! Runs the examples of the guide, and checks that links between documents lead somewhere.

use std::collections::BTreeSet;

use super::documented::{
    differences, source, store_documented_result, with_files, write_shown_files,
};
use super::shell::examples;
use super::*;

/// The Markdown files below a folder, as paths from the root of the repository.
pub(crate) fn pages(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            found.extend(pages(&path));
        } else if path.ends_with(".md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn examples_of_the_guide_run() {
    let (mut count, mut failed) = (0, String::new());
    for name in pages("docs/src") {
        let page = source(&name);
        if !examples(&page).is_empty() {
            let folder = with_files();
            write_shown_files(&folder, &page);
            store_documented_result(&folder);
            if name == "docs/src/insight.md" {
                write_large_response(&folder);
            }
            let differences = differences(&folder, &name, &page);
            if !differences.is_empty() {
                failed += &format!("\n{name}:{differences}");
            }
            count += examples(&page).len();
        }
    }
    assert!(failed.is_empty(), "{failed}");
    assert!(count > 60, "{count} examples");
}

/// Writes the response that the page on insight examines: 5 MB of repositories.
fn write_large_response(folder: &Folder) {
    let repos = folder.read("corpus/github-list-repos.json");
    let repos = repos.trim().strip_prefix('[').unwrap().strip_suffix(']').unwrap();
    let response = format!(r#"{{"total_count":820,"results":[{}]}}"#, [repos; 41].join(","));
    assert!(response.len() > 5_000_000, "{}", response.len());
    std::fs::create_dir(folder.path("samples")).unwrap();
    folder.write("samples/list-repos.json", response);
}

/// The relative targets of the links of a page.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let targets = page.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    let targets = targets.filter(|target| !target.contains("://") && !target.starts_with('#'));
    targets.map(|target| target.split('#').next().unwrap())
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut names = pages("docs/src");
    names.extend(pages("corpus"));
    let others = ["README.md", "CONTRIBUTING.md", "benches/README.md", "fuzz/README.md"];
    names.extend(others.map(str::to_owned));
    let mut count = 0;
    for name in names {
        let page = source(&name);
        let folder = root().join(&name).parent().unwrap().to_owned();
        for link in links(&page) {
            assert!(folder.join(link).exists(), "{name}: {link}");
            count += 1;
        }
    }
    assert!(count > 60, "{count} links");
}

#[test]
fn the_summary_lists_every_page() {
    let summary = source("docs/src/SUMMARY.md");
    let listed: BTreeSet<_> = links(&summary).map(|link| format!("docs/src/{link}")).collect();
    let mut pages: BTreeSet<_> = pages("docs/src").into_iter().collect();
    pages.remove("docs/src/SUMMARY.md");
    assert_eq!(listed, pages);
}

#[test]
fn the_guide_lists_every_topic() {
    let page = source("docs/src/reference.md");
    for path in pages("crates/cli/src/topics") {
        assert_eq!(
            page.matches(&format!("../../{path}")).count(),
            2,
            "{path}: a link and an include"
        );
    }
}

/// The paths in code spans of a page, such as `src/lib.rs`: one word that begins with a folder of the repository.
fn paths(page: &str) -> impl Iterator<Item = &str> {
    const FOLDERS: [&str; 9] =
        ["src/", "tests/", "crates/", "benches/", "fuzz/", "docs/", "corpus/", "examples/", ".ci/"];
    let spans = page.split('`').skip(1).step_by(2);
    let plain = |span: &&str| !span.contains([' ', '*', '{', '\n']);
    spans.filter(plain).filter(|span| FOLDERS.iter().any(|folder| span.starts_with(folder)))
}

#[test]
fn paths_in_documents_exist() {
    let mut names = pages("docs/src");
    names.extend(pages("corpus"));
    names.extend(["README.md", "CONTRIBUTING.md"].map(str::to_owned));
    let (mut count, mut missing) = (0, Vec::new());
    for name in names {
        let page = source(&name);
        // Blocks of code have other backticks.
        let text: String = page.split("```").step_by(2).collect();
        for path in paths(&text) {
            count += 1;
            if !root().join(path).exists() {
                missing.push(format!("{name}: {path}"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(count > 60, "{count} paths");
}
