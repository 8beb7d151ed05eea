//! Cases as data. Each case is a test: `cargo test --test cases -- filter::budget` runs those of one file.
//!
//! A theme has a folder of TOML files and a module that runs a case. Both have the name of the theme; the module documents the
//! fields of a case. Tests of properties that all cases of a theme must have together are in the same modules.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test states what must hold, also in its helpers"
)]

mod catalog;
mod commands;
mod content;
mod explain;
mod filter;
mod history;
mod manifests;
mod pages;
mod templates;
mod text;
mod transcripts;
mod why;

use std::collections::BTreeMap;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use tamis_testkit::cases::{CaseTest, catch_panics};

/// The minimum number of tests of each theme, so that a folder that is not found is an error.
const LEAST: [(&str, usize); 12] = [
    ("catalog", 25),
    ("commands", 70),
    ("content", 50),
    ("explain", 55),
    ("filter", 700),
    ("history", 75),
    ("manifests", 95),
    ("pages", 13),
    ("templates", 460),
    ("text", 130),
    ("transcripts", 75),
    ("why", 30),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    catch_panics();
    let tests = [
        catalog::tests(),
        commands::tests(),
        content::tests(),
        explain::tests(),
        filter::tests(),
        history::tests(),
        manifests::tests(),
        pages::tests(),
        templates::tests(),
        text::tests(),
        transcripts::tests(),
        why::tests(),
    ];
    let mut tests: Vec<CaseTest> = tests.into_iter().flatten().collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for test in &tests {
        let theme = test.name.split("::").next().unwrap_or_default();
        *counts.entry(theme.to_owned()).or_default() += 1;
    }
    tests.push(CaseTest::new("every_theme_has_its_cases", move || {
        for (theme, least) in LEAST {
            let count = counts.get(theme).copied().unwrap_or_default();
            assert!(count >= least, "{theme} has {count} tests, fewer than {least}");
        }
        assert_eq!(counts.len(), LEAST.len(), "{counts:?}");
        Ok(())
    }));
    let trial = |test: CaseTest| {
        let name = test.name.clone();
        Trial::test(name, move || test.run().map_err(Failed::from))
    };
    libtest_mimic::run(&arguments, tests.into_iter().map(trial).collect()).exit_code()
}
