//! The explanation of a program: `tests/cases/explain/*.toml`, and that the program runs as explained.
//!
//! A case has a spec and the exact text of its explanation. If the program is explained as holding, the case has documents of
//! which something is held. If it is explained as streaming, no document is held.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value as Json;
use tamis::{CallOptions, ExecutionMode, Filter, Program, Spec, filter_slice};
use tamis_testkit::cases::{self, CaseTest};
use tamis_testkit::options::Options;
use tamis_testkit::paths;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExplainCase {
    name: String,
    #[serde(default)]
    spec: toml::Table,
    #[serde(default)]
    options: Options,
    /// The whole explanation.
    text: String,
    /// Parts of the JSON that must be there.
    #[serde(default)]
    json: toml::Table,
    /// Documents of which something is held if they arrive in single bytes.
    #[serde(default)]
    holds: Vec<String>,
    /// Whether nothing of these documents is held if they arrive as one slice.
    #[serde(default)]
    slice_holds_nothing: bool,
}

pub(crate) fn tests() -> Vec<CaseTest> {
    let mut tests = cases::tests("explain", |case: &cases::Case<ExplainCase>| {
        let case = &case.data;
        let explained = program(case).explain(&case.options.call()).to_string();
        if explained != case.text {
            return Err(format!("--- expected\n{}--- found\n{explained}", case.text));
        }
        json_agrees(case);
        runs_as_explained(case);
        plan_of_a_report_agrees(case);
        Ok(())
    });
    tests.push(CaseTest::of_all("explain::every_key_is_documented", every_key_is_documented));
    let name = "explain::every_stage_and_every_reason_has_a_case";
    tests.push(CaseTest::of_all(name, every_stage_and_every_reason_has_a_case));
    tests
}

fn all() -> Vec<ExplainCase> {
    let all: Vec<(String, cases::Case<ExplainCase>)> =
        cases::read_folder("tests/cases/explain", "case");
    let names: BTreeSet<&str> = all.iter().map(|(_, case)| case.data.name.as_str()).collect();
    assert_eq!(names.len(), all.len(), "no two cases have the same name");
    all.into_iter().map(|(_, case)| case.data).collect()
}

fn program(case: &ExplainCase) -> Program {
    let spec: Spec = case.spec.clone().try_into().expect("the spec can be read");
    Program::compile(&spec).expect("the spec compiles")
}

/// Files of the corpus, and short documents on which rules make a decision.
fn documents() -> Vec<Vec<u8>> {
    let mut documents: Vec<Vec<u8>> = paths::names("corpus", "json")
        .iter()
        .map(|name| paths::read(&format!("corpus/{name}")))
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

/// The maximum of held bytes while a document arrives in pieces of `piece` bytes.
fn held(program: &Program, options: &CallOptions, document: &[u8], piece: usize) -> u64 {
    let mut filter = Filter::new(program.with_options(options), Vec::new());
    for chunk in document.chunks(piece) {
        // A miss may be an error. The bytes held until then count.
        if filter.write(chunk).is_err() {
            return filter.report().held_peak_bytes;
        }
    }
    _ = filter.end();
    filter.report().held_peak_bytes
}

fn json_agrees(case: &ExplainCase) {
    let explanation = program(case).explain(&case.options.call());
    let actual = serde_json::to_value(&explanation).expect("an explanation is JSON");
    let wanted = serde_json::to_value(&case.json).expect("a table is JSON");
    contains(&case.name, &actual, &wanted);
    assert_eq!(actual["version"], 1);
    let stages = actual["stages"].as_array().expect("there are stages");
    let holds = |stage: &Json| stage["holds"].as_array().is_some_and(|holds| !holds.is_empty());
    for stage in stages {
        let tree = !stage["tree"].is_null();
        let mode = match (tree, holds(stage)) {
            (true, _) => "tree",
            (false, true) => "hold",
            (false, false) => "stream",
        };
        assert_eq!(stage["mode"], mode, "{}: {stage}", case.name);
        // Each line of the text is a stage of the JSON, in the same order.
        let name = stage["stage"].as_str().expect("a stage has a name");
        assert!(case.text.contains(&format!(". {name}: {mode}\n")), "{}: {name}", case.name);
    }
    let branches = actual["branches"].as_array().into_iter().flatten();
    let modes = stages.iter().chain(branches).map(|part| part["mode"].as_str());
    let modes: BTreeSet<_> = modes.flatten().collect();
    let mode = ["tree", "hold", "stream"].into_iter().find(|mode| modes.contains(mode));
    assert_eq!(actual["mode"].as_str(), mode, "{}", case.name);
}

fn every_key_is_documented() {
    let docs = paths::text("src/filter/explain/explanation.rs");
    let docs: String = docs.lines().filter(|line| line.starts_with("///")).collect();
    let mut keys = BTreeSet::new();
    for case in all() {
        let explanation = program(&case).explain(&case.options.call());
        collect(&serde_json::to_value(&explanation).expect("an explanation is JSON"), &mut keys);
    }
    assert!(keys.len() > 20, "{keys:?}");
    for key in keys {
        assert!(docs.contains(&format!("`{key}`")), "{key}");
    }
}

fn collect(actual: &Json, keys: &mut BTreeSet<String>) {
    match actual {
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
fn contains(name: &str, actual: &Json, wanted: &Json) {
    match (actual, wanted) {
        (Json::Object(actual), Json::Object(wanted)) => {
            for (key, wanted) in wanted {
                contains(name, actual.get(key).unwrap_or(&Json::Null), wanted);
            }
        }
        (Json::Array(actual), Json::Array(wanted)) if actual.len() == wanted.len() => {
            for (actual, wanted) in actual.iter().zip(wanted) {
                contains(name, actual, wanted);
            }
        }
        _ => assert_eq!(actual, wanted, "{name}"),
    }
}

fn runs_as_explained(case: &ExplainCase) {
    let (program, options) = (program(case), case.options.call());
    if program.explain(&options).mode() == ExecutionMode::Stream {
        assert!(case.holds.is_empty(), "{}: it streams", case.name);
        for document in documents() {
            for piece in [1, 64, usize::MAX] {
                let held = held(&program, &options, &document, piece);
                assert_eq!(held, 0, "{}: {}", case.name, String::from_utf8_lossy(&document));
            }
        }
        return;
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

fn plan_of_a_report_agrees(case: &ExplainCase) {
    let (program, options) = (program(case), case.options.call());
    let (_, report) = match filter_slice(program.with_options(&options), b"[]") {
        Ok(ran) => ran,
        Err(_) => return,
    };
    let holds = report.plan.iter().any(|step| step.mode() == ExecutionMode::Hold);
    let mode = program.explain(&options).mode();
    assert_eq!(mode == ExecutionMode::Hold, holds, "{}: {:?}", case.name, report.plan);
}

fn every_stage_and_every_reason_has_a_case() {
    let text: String = all().into_iter().map(|case| case.text).collect();
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
    assert!(all().len() >= 15);
}
