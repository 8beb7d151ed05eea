//! The engine and what is around it: models, exhaustive worlds, faults, hostile input, layers. Cases as data are in `tests/cases`.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test states what must hold, also in its helpers"
)]

mod adapters;
mod allocation;
mod commands;
mod content;
mod encodings;
mod exhaustive;
mod factor;
mod faults;
mod fuzz;
mod golden;
mod grammar;
mod history;
mod json_strings;
mod layers;
mod manifests;
mod model;
mod patch;
mod redact;
mod report_types;
mod suggest;
mod tail;
mod text;

/// Runs the ignored tests whose names begin with `prefix` in another process, one after the other. There must be `count`.
fn run_ignored(prefix: &str, count: usize) {
    let program = std::env::current_exe().expect("this program");
    let mut tests = std::process::Command::new(program);
    tests.args([prefix, "--ignored", "--test-threads=1"]);
    let output = tests.output().expect("the tests start");
    let (printed, errors) = (&output.stdout, &output.stderr);
    let (printed, errors) = (String::from_utf8_lossy(printed), String::from_utf8_lossy(errors));
    let passed = printed.contains(&format!("{count} passed"));
    assert!(output.status.success() && passed, "{printed}\n{errors}");
}
