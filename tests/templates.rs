//! The templates of `corpus/templates`, with what Go makes of them.
//!
//! A case has Go's output, `go`, or its error, `go_error`. Where we differ, `ours` or `ours_error` says what we do, and
//! `why` begins the row of the table of differences in the documentation of `Templates`.

#![cfg(feature = "template")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

use std::fs;
use std::path::Path;

use serde::Deserialize;
use tamis::{Templates, Totals};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    data: String,
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    template: String,
    data: Option<String>,
    go: Option<String>,
    go_error: Option<String>,
    ours: Option<String>,
    ours_error: Option<String>,
    why: Option<String>,
}

fn files() -> Vec<(String, File)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/templates");
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let text = fs::read_to_string(&path).unwrap();
            let file = toml::from_str(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            files.push((path.file_stem().unwrap().to_str().unwrap().to_owned(), file));
        }
    }
    files
}

fn render(template: &str, data: &str) -> Result<String, String> {
    let templates = Templates::compile(None, template, None).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    let rendered = templates
        .item(data.as_bytes(), &Totals::default(), 1 << 20, &mut out)
        .map_err(|error| error.to_string())?;
    assert!(rendered, "the data is an object");
    Ok(String::from_utf8(out).expect("text is UTF-8"))
}

#[test]
fn fields_of_parentheses_are_of_any_operand() {
    let item = r#"{"a":1,"b":[{"c":1}],"m":{"1":"x"},"k":[{"c":"1"}],"l":[{"x":1},{"x":2}],"d":{"e":{"f":7}}}"#;
    for (template, text) in [
        ("{{eq .a (index .b 0).c}}", "true"),
        ("{{printf \"%v %v\" .a (index .b 0).c}}", "1 1"),
        ("{{index .m (index .k 0).c}}", "x"),
        ("{{if and .a (eq .a (index .b 0).c)}}y{{end}}", "y"),
        ("{{and .a .b (index .b 0).c}}", "1"),
        ("{{or false (index .b 0).c .a}}", "1"),
        ("{{print (index .l 0).x (index .l 1).x}}", "1 2"),
        ("{{print 1 2 3 (.d).e.f .a (index .b 0).c .a}}", "1 2 3 7 1 1 1"),
        ("{{(index .b 0).c | printf \"%v %v\" (index .l 1).x}}", "2 1"),
    ] {
        assert_eq!(render(template, item).unwrap(), text, "{template}");
    }
}

#[test]
fn what_go_renders() {
    let mut wrong = Vec::new();
    let mut cases = 0;
    for (file, File { data, case }) in files() {
        for case in case {
            cases += 1;
            let name = format!("{file}: {}: {}", case.name, case.template);
            let result = render(&case.template, case.data.as_deref().unwrap_or(&data));
            let go = match (&case.go, &case.go_error) {
                (Some(text), None) => Some(text),
                (None, Some(_)) => None,
                _ => panic!("{name}: Go has one answer"),
            };
            let differs = case.ours.is_some() || case.ours_error.is_some();
            assert_eq!(differs, case.why.is_some(), "{name}: a difference has a reason");
            let is_right = match (&case.ours, &case.ours_error) {
                (Some(ours), None) => {
                    assert_ne!(go, Some(ours), "{name}: no difference any more");
                    result.as_ref() == Ok(ours)
                }
                (None, Some(part)) => {
                    assert!(go.is_some(), "{name}: no difference any more");
                    result.as_ref().is_err_and(|error| error.contains(part.as_str()))
                }
                (None, None) => result.as_ref().ok() == go,
                _ => panic!("{name}: we have one answer"),
            };
            if !is_right {
                let go = case.go.or(case.go_error);
                wrong.push(format!("{name}\n    ours: {result:?}\n    Go:   {go:?}"));
            }
        }
    }
    assert!(cases > 400, "the cases are found");
    assert!(wrong.is_empty(), "{} of {cases}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Each difference that a case shows is in the table of the documentation, and the table has no other.
#[test]
fn differences_are_those_of_the_documentation() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/template/mod.rs");
    let text = fs::read_to_string(source).unwrap();
    let table =
        text.split("# Differences from Go").nth(1).unwrap().split("# Limits").next().unwrap();
    let rows: Vec<&str> =
        table.lines().filter_map(|line| line.strip_prefix("/// | ")).skip(1).collect();
    assert!(rows.len() > 9, "the table is found");
    let cases: Vec<String> =
        files().into_iter().flat_map(|(_, file)| file.case).filter_map(|case| case.why).collect();
    for why in &cases {
        assert!(rows.iter().any(|row| row.starts_with(why.as_str())), "no row for {why:?}");
    }
    for row in rows {
        assert!(cases.iter().any(|why| row.starts_with(why.as_str())), "no case for {row:?}");
    }
}
