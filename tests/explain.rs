//! What a program is said to do, as data: `tests/explain/*.toml`; and that it is what it does.
//!
//! A case has a spec, and the exact text of its explanation. One that is said to hold shows a document of which something
//! is held; one that is said to stream holds nothing of any document.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test states what must hold, also in its helpers"
)]

#[path = "common/options.rs"]
mod options;

use std::collections::BTreeSet;
use std::path::PathBuf;

use options::Options;
use serde::Deserialize;
use serde_json::Value as Json;
use tamis::{CallOptions, Filter, Mode, Program, Spec, filter_slice};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default)]
    spec: toml::Table,
    #[serde(default)]
    options: Options,
    /// All of it.
    text: String,
    /// Parts of the JSON that must be there.
    #[serde(default)]
    json: toml::Table,
    /// Documents of which something is held, if they come in single bytes.
    #[serde(default)]
    holds: Vec<String>,
    /// Of these nothing is held if they come as one slice.
    #[serde(default)]
    slice_holds_nothing: bool,
}

fn folder(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), name].iter().collect()
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(folder("tests/explain")).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        let file: File =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        cases.extend(file.case);
    }
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names.len(), cases.len(), "no two cases have one name");
    cases
}

fn program(case: &Case) -> Program {
    let spec: Spec = case.spec.clone().try_into().expect("the spec can be read");
    Program::compile(&spec).expect("the spec compiles")
}

/// Files of the corpus, and documents at which rules have something to decide.
fn documents() -> Vec<Vec<u8>> {
    let mut documents: Vec<Vec<u8>> = std::fs::read_dir(folder("corpus"))
        .expect("the folder can be read")
        .map(|entry| entry.expect("the entry can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| std::fs::read(path).expect("the file can be read"))
        .collect();
    assert!(documents.len() >= 4, "the corpus is found");
    let more = [
        "1",
        "{}",
        "[]",
        "[{}]",
        r#"{"data":[{"id":1}]}"#,
        r#"{"items":[{"x":1},{"id":2}]}"#,
        r#"{"id":null}"#,
        r#"[1,"",{"a":[{"b":{"c":[]}}]}]"#,
        r#"{"page":{"hits":[{"id":1,"x":2}]},"z":[]}"#,
    ];
    documents.extend(more.map(|text| text.as_bytes().to_vec()));
    documents
}

/// The most that waited while a document came in pieces of so many bytes.
fn held(program: &Program, options: &CallOptions, document: &[u8], piece: usize) -> u64 {
    let mut filter = Filter::new(program.with_options(options), Vec::new());
    for chunk in document.chunks(piece) {
        // A miss may be an error: what was held until then counts.
        if filter.write(chunk).is_err() {
            return filter.report().held_peak_bytes;
        }
    }
    _ = filter.end();
    filter.report().held_peak_bytes
}

#[test]
fn explanations_are_exactly_these() {
    let mut failed = String::new();
    for case in cases() {
        let told = program(&case).explain(&case.options.call()).to_string();
        if told != case.text {
            failed += &format!("\n{}:\n--- expected\n{}--- got\n{told}", case.name, case.text);
        }
    }
    assert!(failed.is_empty(), "{failed}");
}

#[test]
fn json_says_it_too() {
    for case in cases() {
        let explanation = program(&case).explain(&case.options.call());
        let told = serde_json::to_value(&explanation).expect("an explanation is JSON");
        let wanted = serde_json::to_value(&case.json).expect("a table is JSON");
        contains(&case.name, &told, &wanted);
        assert_eq!(told["version"], 1);
        let stages = told["stages"].as_array().expect("there are stages");
        let holds = |stage: &Json| stage["holds"].as_array().is_some_and(|holds| !holds.is_empty());
        for stage in stages {
            let tree = !stage["tree"].is_null();
            let mode = match (tree, holds(stage)) {
                (true, _) => "tree",
                (false, true) => "hold",
                (false, false) => "stream",
            };
            assert_eq!(stage["mode"], mode, "{}: {stage}", case.name);
            // What is a line in the text is a stage here, in the same order.
            let name = stage["stage"].as_str().expect("a stage has a name");
            assert!(case.text.contains(&format!(". {name}: {mode}\n")), "{}: {name}", case.name);
        }
        let branches = told["branches"].as_array().into_iter().flatten();
        let modes = stages.iter().chain(branches).map(|part| part["mode"].as_str());
        let modes: BTreeSet<_> = modes.flatten().collect();
        let mode = ["tree", "hold", "stream"].into_iter().find(|mode| modes.contains(mode));
        assert_eq!(told["mode"].as_str(), mode, "{}", case.name);
    }
}

#[test]
fn every_key_is_documented() {
    let docs = std::fs::read_to_string(folder("src/filter/explain/mod.rs")).expect("it is there");
    let docs: String = docs.lines().filter(|line| line.starts_with("///")).collect();
    let mut keys = BTreeSet::new();
    for case in cases() {
        let explanation = program(&case).explain(&case.options.call());
        collect(&serde_json::to_value(&explanation).expect("an explanation is JSON"), &mut keys);
    }
    assert!(keys.len() > 20, "{keys:?}");
    for key in keys {
        assert!(docs.contains(&format!("`{key}`")), "{key}");
    }
}

fn collect(told: &Json, keys: &mut BTreeSet<String>) {
    match told {
        Json::Object(members) => {
            for (key, value) in members {
                keys.insert(key.clone());
                collect(value, keys);
            }
        }
        Json::Array(elements) => elements.iter().for_each(|element| collect(element, keys)),
        _ => {}
    }
}

#[track_caller]
fn contains(name: &str, told: &Json, wanted: &Json) {
    match (told, wanted) {
        (Json::Object(told), Json::Object(wanted)) => {
            for (key, wanted) in wanted {
                contains(name, told.get(key).unwrap_or(&Json::Null), wanted);
            }
        }
        (Json::Array(told), Json::Array(wanted)) if told.len() == wanted.len() => {
            for (told, wanted) in told.iter().zip(wanted) {
                contains(name, told, wanted);
            }
        }
        _ => assert_eq!(told, wanted, "{name}"),
    }
}

#[test]
fn what_is_said_is_what_is_done() {
    let documents = documents();
    for case in cases() {
        let (program, options) = (program(&case), case.options.call());
        if program.explain(&options).mode() == ExecutionMode::Stream {
            assert!(case.holds.is_empty(), "{}: it streams", case.name);
            for document in &documents {
                for piece in [1, 64, usize::MAX] {
                    let held = held(&program, &options, document, piece);
                    assert_eq!(held, 0, "{}: {}", case.name, String::from_utf8_lossy(document));
                }
            }
            continue;
        }
        assert!(!case.holds.is_empty(), "{}: it holds nothing that is shown", case.name);
        for document in case.holds.iter().map(String::as_bytes) {
            assert!(held(&program, &options, document, 1) > 0, "{}", case.name);
            if case.slice_holds_nothing {
                let ran = filter_slice(program.with_options(&options), document);
                let (_, report) = ran.expect("the document passes");
                assert_eq!(report.held_peak_bytes, 0, "{}", case.name);
            }
        }
    }
}

#[test]
fn the_plan_of_a_report_agrees() {
    for case in cases() {
        let (program, options) = (program(&case), case.options.call());
        let (_, report) = match filter_slice(program.with_options(&options), b"[]") {
            Ok(ran) => ran,
            Err(_) => continue,
        };
        let holds = report.plan.iter().any(|line| line.contains("hold"));
        let mode = program.explain(&options).mode();
        assert_eq!(mode == ExecutionMode::Hold, holds, "{}: {:?}", case.name, report.plan);
    }
}

#[test]
fn every_stage_and_every_reason_has_a_case() {
    let text: String = cases().into_iter().map(|case| case.text).collect();
    for stage in [
        "validate",
        "extract",
        "when",
        "retain",
        "patches",
        "root",
        "max_items",
        "select",
        "exclude",
        "drop_nulls",
        "drop_empty",
        "text_filter",
        "budget",
        "compact",
    ] {
        assert!(text.contains(&format!(". {stage}: ")), "{stage}");
    }
    for words in [
        "holds the document until an array",
        "holds the document until one of these paths",
        "holds the document until the payload begins",
        "holds the payload until one of these paths",
        "holds the document until a branch is certain",
        "holds a value that a test asks for",
        "holds the output until all that the operations need was found",
        "holds the document until all that the operations need was found",
        "holds what retain leaves until it ends",
        "holds the document until it ends",
        "needs a tree: patches[0], move /a to /b",
        "holds a value that more than one output needs",
        "early skip on",
        "early skip off: duplicate_keys count",
        "early skip off: duplicate_keys reject",
        "early skip off: a path begins with a wildcard",
        "miss: raw (",
        "miss: raw\n",
        "miss: closed (",
        "miss: closed\n",
        "skipped: raw output was requested; no rule applies",
        "skipped: raw output was requested; no rule but extract applies",
        "skipped: the call failed",
    ] {
        assert!(text.contains(words), "{words}");
    }
    assert!(cases().len() >= 15);
}
