//! The templates of `corpus/templates`, compared with the results of Go.
//!
//! A case has Go's output, `go`, or its error, `go_error`. If tamis differs, `ours` or `ours_error` is its result, and `why` is the
//! beginning of a row in the table of differences in the documentation of `Templates`.

use serde::Deserialize;
use tamis::template::{Templates, Totals};
use tamis_testkit::cases::{self, CaseTest};
use tamis_testkit::paths;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TemplateCase {
    #[expect(dead_code, reason = "the name is read before")]
    name: String,
    template: String,
    data: Option<String>,
    go: Option<String>,
    go_error: Option<String>,
    ours: Option<String>,
    ours_error: Option<String>,
    why: Option<String>,
}

pub(crate) fn tests() -> Vec<CaseTest> {
    let mut tests = Vec::new();
    for name in paths::names("corpus/templates", "toml") {
        let file = format!("corpus/templates/{name}");
        let data = cases::shared(&file, "data");
        let group = format!("templates::{}", name.trim_end_matches(".toml"));
        for mut case in cases::read::<TemplateCase>(&file, "case") {
            case.data.data.get_or_insert_with(|| data.clone());
            tests.push(cases::test(&group, case, run));
        }
    }
    let name = "templates::fields_of_parentheses_are_of_any_operand";
    tests.push(CaseTest::of_all(name, fields_of_parentheses_are_of_any_operand));
    let name = "templates::differences_are_those_of_the_documentation";
    tests.push(CaseTest::of_all(name, differences_are_those_of_the_documentation));
    tests
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

/// Go has an output or an error. Where tamis differs, the case has a reason, and the results do differ.
fn run(case: &cases::Case<TemplateCase>) -> Result<(), String> {
    let TemplateCase { template, data, go, go_error, ours, ours_error, why, .. } = &case.data;
    let result = render(template, data.as_deref().unwrap_or_default());
    assert!(go.is_some() != go_error.is_some(), "either `go` or `go_error`");
    let differs = ours.is_some() || ours_error.is_some();
    assert_eq!(differs, why.is_some(), "a difference has a reason");
    let is_right = match (ours, ours_error) {
        (Some(ours), None) => {
            assert_ne!(go.as_ref(), Some(ours), "there is no difference any more");
            result.as_ref() == Ok(ours)
        }
        (None, Some(part)) => {
            assert!(go.is_some(), "there is no difference any more");
            result.as_ref().is_err_and(|error| error.contains(part.as_str()))
        }
        (None, None) => result.as_ref().ok() == go.as_ref(),
        (Some(_), Some(_)) => panic!("either `ours` or `ours_error`"),
    };
    if is_right {
        return Ok(());
    }
    let go = go.as_ref().or(go_error.as_ref());
    Err(format!("{template}\n  ours: {result:?}\n  Go:   {go:?}"))
}

/// The table in the documentation has every difference of a case, and no other.
fn differences_are_those_of_the_documentation() {
    let text = paths::text("crates/template/src/lib.rs");
    let table =
        text.split("# Differences from Go").nth(1).unwrap().split("# Limits").next().unwrap();
    let rows: Vec<&str> =
        table.lines().filter_map(|line| line.strip_prefix("/// | ")).skip(1).collect();
    assert!(rows.len() > 5, "the table is found");
    let cases = cases::read_folder::<TemplateCase>("corpus/templates", "case");
    let cases: Vec<String> = cases.into_iter().filter_map(|(_, case)| case.data.why).collect();
    for why in &cases {
        assert!(rows.iter().any(|row| row.starts_with(why.as_str())), "no row for {why:?}");
    }
    for row in rows {
        assert!(cases.iter().any(|why| row.starts_with(why.as_str())), "no case for {row:?}");
    }
}
