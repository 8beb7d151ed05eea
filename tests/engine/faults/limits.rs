//! Limits of 0 and 1: a run gives what it gives without, or says which limit it met; and each limit is met by runs of
//! each kind that it is for.

use std::collections::{BTreeMap, BTreeSet};

use tamis::content::Content;
use tamis::http::{ContentCoding, DecodeOptions, Transform};
use tamis::spec::{Compact, Condition, PatchOp};
use tamis::text::TextSpec;
use tamis::{Error, ErrorKind, Limits, Spec};
use tamis_command::{FilterResult, OutputFilter, OutputFilterRegistry};
use tamis_testkit::text::model;

use super::drivers::{
    self, Driver, EVENTS, Ended, LINES, TEXT, build, command, compiled, document, history, lenient,
    plain, records,
};
use super::polls;

/// A limit, how it is made small, and the limits that are small then.
type Row = (&'static str, fn(Limits, u64) -> Limits, &'static [&'static str]);

fn small(bound: u64) -> usize {
    usize::try_from(bound).expect("it is small")
}

const ROWS: [Row; 6] = [
    ("depth", |limits, bound| limits.with_depth(small(bound)), &["depth"]),
    ("key", |limits, bound| limits.with_key(small(bound)), &["key"]),
    ("held", |limits, bound| limits.with_held(bound).with_spill(0), &["held", "spill"]),
    ("spill", |limits, bound| limits.with_held(0).with_spill(bound), &["held", "spill"]),
    ("item", |limits, bound| limits.with_item(bound), &["item"]),
    ("line", |limits, bound| limits.with_line(small(bound)), &["line"]),
];

/// A new limit is to be tried as well.
#[test]
fn no_limit_is_forgotten() {
    let shown = format!("{:?}", Limits::new());
    let (_, fields) = shown.split_once('{').expect("a struct");
    let fields = fields.split(',').filter_map(|field| Some(field.split_once(':')?.0.trim()));
    let fields: BTreeSet<&str> = fields.collect();
    assert_eq!(fields, ROWS.iter().map(|(name, ..)| *name).collect::<BTreeSet<_>>());
}

/// Drivers of JSON and of histories, by what they are, over inputs that are more than any limit of 1 allows.
fn uses() -> Vec<(&'static str, Vec<Driver>)> {
    let mut json = Vec::new();
    for (name, program) in drivers::programs() {
        json.extend(drivers::json(name, &program, &document()));
    }
    let twice = Spec::new().select("x").select_as("one", "x[]");
    let branch = Spec::new().when(Condition::new("/total", 40), Spec::new().exclude("x"));
    let tree = Spec::new().patch(PatchOp::move_from("/items/0", "/first"));
    let item = Compact::new("{{.id}}");
    for (name, spec) in [
        ("needed by more than one output", twice),
        ("when", branch),
        ("a tree", tree),
        ("compact", Spec::new().compact(item)),
        ("white space", Spec::new().whitespace(tamis::spec::Whitespace::Keep)),
        ("extract", Spec::new().extract("items[0].x")),
    ] {
        json.extend(drivers::json(name, &compiled(&spec), &document()));
    }
    let wrapped = br#"{"page": {"title": "Tides", "text": "They rise and fall. Then they rise."}}"#;
    let content = Spec::new().content(Content::new().extract("page.title").extract("page.text"));
    let content = drivers::json("content", &compiled(&content), wrapped);
    let select = compiled(&Spec::new().select("id").select_as("one", "id.id"));
    vec![
        ("json", json),
        ("content", content),
        ("records", records("select", &select, LINES, EVENTS)),
        // Of which no filter holds anything, so that all that waits is the record's output.
        ("records, whole", records("minified", &compiled(&Spec::new()), LINES, EVENTS)),
        ("lenient", vec![lenient("select", &select, b"[{\"id\": {\"id\": 1}, /* */ \"x\": 2,}]")]),
        ("prune", drivers::histories(&history())),
    ]
}

/// Which limit each kind has of those in [`ROWS`], by the documentation of each. A key over the limit `key` matches nothing, or is held.
const MET: [(&str, &[&str]); 6] = [
    ("json", &["depth", "held", "spill", "item"]),
    ("content", &["depth", "held", "spill", "item"]),
    ("records", &["depth", "held", "spill", "item"]),
    ("records, whole", &["depth", "held", "spill"]),
    ("lenient", &["depth", "key", "held", "spill", "item"]),
    ("prune", &["depth", "held", "spill"]),
];

fn run(driver: &Driver, limits: &Limits) -> (Vec<u8>, Ended) {
    let mut output = Vec::new();
    let ended = driver.run_within(limits, &plain, &mut output);
    (output, ended)
}

/// The limits that an error names, or the report of a run whose summary failed.
fn named(error: Option<&Error>, told: &serde_json::Value) -> BTreeSet<&'static str> {
    let message = match error {
        Some(error) if error.kind() == ErrorKind::Limit => error.to_string(),
        Some(_) => String::new(),
        None => told["compact_error"].as_str().unwrap_or_default().to_owned(),
    };
    let names = ROWS.iter().map(|(name, ..)| *name);
    names.filter(|name| message.contains(&format!("`{name}`"))).collect()
}

#[test]
fn limits_of_zero() {
    let mut met: BTreeMap<(&str, &str, u64), usize> = BTreeMap::new();
    for (kind, drivers) in uses() {
        for driver in drivers {
            let (right, (right_end, right_told)) = run(&driver, &Limits::new());
            for (row, limit, tightened) in ROWS {
                for bound in [0, 1] {
                    let said = format!("{}, {row} {bound}", driver.name);
                    let (output, (end, told)) = run(&driver, &limit(Limits::new(), bound));
                    let names = named(end.as_ref().err(), &told);
                    if !names.is_empty() {
                        assert!(
                            names.iter().all(|name| tightened.contains(name)),
                            "{said}: {names:?}"
                        );
                        assert!(names.contains(row) || row == "spill", "{said}: {names:?}");
                        *met.entry((kind, row, bound)).or_default() += 1;
                        let records = ["lines", "documents", "events"]
                            .iter()
                            .any(|form| driver.name.contains(form));
                        let begins = right.starts_with(&output) || end.is_ok() || records;
                        assert!(begins, "{said}: {}", output.escape_ascii());
                        continue;
                    }
                    let words =
                        |end: &Result<(), Error>| end.as_ref().err().map(ToString::to_string);
                    assert_eq!(words(&end), words(&right_end), "{said}");
                    assert!(output == right, "{said}: a wrong success: {}", output.escape_ascii());
                    if end.is_ok() {
                        assert_eq!(told, right_told, "{said}");
                    }
                }
            }
        }
    }
    let mut wrong = Vec::new();
    for (kind, limits) in MET {
        for (row, ..) in ROWS {
            for bound in [0, 1] {
                let count = met.get(&(kind, row, bound)).copied().unwrap_or_default();
                if (count > 0) != limits.contains(&row) {
                    wrong.push(format!("{kind}, {row} {bound}: met {count} times"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn text_filters() -> Vec<(&'static str, model::Declared)> {
    use model::{Declared, Dedup, Pattern};
    let secret = Pattern { text: "secret", sure: true, exact_from: usize::MAX };
    let ready = Pattern { text: "ready", sure: true, exact_from: usize::MAX };
    vec![
        ("strip", Declared { strip: vec![secret], ..Declared::default() }),
        ("keep", Declared { keep: vec![ready], ..Declared::default() }),
        ("fold", Declared { strip_ansi: true, dedup: Dedup::Neighbours, ..Declared::default() }),
        (
            "all",
            Declared {
                strip: vec![secret],
                dedup: Dedup::Everywhere,
                on_empty: Some("nothing\n"),
                ..Declared::default()
            },
        ),
    ]
}

/// A line that is too long is not an error. It is removed if lines are selected by patterns; otherwise it passes and
/// does not equal any other line. The report counts it.
#[test]
fn limits_of_lines() {
    let mut changed = 0;
    for (name, declared) in text_filters() {
        let filter: TextSpec = declared.filter();
        let driver = drivers::text(name, &filter, TEXT);
        let (right, _) = run(&driver, &Limits::new());
        assert_eq!(right, model::run(&declared, TEXT, usize::MAX), "{name}");
        for bound in [0, 1] {
            let limits = Limits::new().with_line(bound);
            let (output, (end, told)) = run(&driver, &limits);
            end.expect("text has no errors");
            let wanted = model::run(&declared, TEXT, bound);
            assert_eq!(output, wanted, "{name}, line {bound}: {}", output.escape_ascii());
            assert!(told["lines_too_long"].as_u64() > Some(0), "{name}, line {bound}: {told}");
            changed += usize::from(output != right);

            // The same line inside a document is not an error either.
            let raw = serde_json::json!({"raw": String::from_utf8_lossy(TEXT)}).to_string();
            let program = compiled(&Spec::new().text_filter(filter.clone()));
            for driver in drivers::json(name, &program, raw.as_bytes()) {
                let (output, (end, _)) = run(&driver, &limits);
                end.expect("the document is right");
                let output: serde_json::Value = serde_json::from_slice(&output).expect("JSON");
                let wanted = String::from_utf8_lossy(&wanted).into_owned();
                assert_eq!(output["raw"], wanted, "{}, line {bound}", driver.name);
            }
        }
    }
    assert!(changed >= 6, "{changed} outputs");
}

/// Keeps the last line.
struct Last;

impl OutputFilter for Last {
    fn matches(&self, command: &str) -> bool {
        command == "make"
    }

    fn filter(&self, _: &str, raw: &str, _: i32) -> FilterResult {
        FilterResult::new(raw, raw.lines().next_back().unwrap_or_default())
    }
}

/// The output of a command stays where too little may be looked at: a line that is too long, all of it where a filter
/// needs the whole; and then the report says why.
#[test]
fn limits_of_commands() {
    let builtin = command("cargo build", OutputFilterRegistry::builtin(), &build());
    let whole = command("make", OutputFilterRegistry::new().register(Last), &build());
    for driver in [builtin, whole] {
        let (right, (_, right_told)) = run(&driver, &Limits::new());
        assert!(right.len() < driver.input.len() / 2, "{}: {right_told}", driver.name);
        let mut met = Vec::new();
        for (row, limit, _) in ROWS {
            for bound in [0, 1] {
                let said = format!("{}, {row} {bound}", driver.name);
                let (output, (end, told)) = run(&driver, &limit(Limits::new(), bound));
                end.expect("output of commands has no errors");
                if output == right {
                    assert_eq!(told, right_told, "{said}");
                    continue;
                }
                // Too little of each line may be looked at to know that it is not a notice.
                let marked: String = String::from_utf8_lossy(&driver.input)
                    .split_inclusive('\n')
                    .map(|line| format!("| {line}"))
                    .collect();
                let kept = if row == "line" { marked.as_bytes() } else { &driver.input };
                assert!(output == kept, "{said}: {}", output.escape_ascii());
                assert_eq!(told["changed"], row == "line", "{said}: {told}");
                assert_eq!(told["passed"] == "too_long", row != "line", "{said}: {told}");
                met.push((row, bound));
            }
        }
        let wanted: &[_] = if driver.name == "make" {
            &[("held", 0), ("held", 1), ("spill", 0), ("spill", 1)]
        } else {
            &[("line", 0), ("line", 1)]
        };
        assert_eq!(met, wanted, "{}", driver.name);
    }
}

/// Decoded bodies have separate limits.
#[test]
fn limits_of_bodies() {
    let runtime = polls::runtime();
    let program = compiled(&Spec::new());
    // The ratio of a short body is not asked.
    let long = format!("[{}1]", "1,".repeat(1 << 20)).into_bytes();
    let with_bytes: fn(u64) -> DecodeOptions = |bound| DecodeOptions::new().with_max_bytes(bound);
    let with_ratio: fn(u64) -> DecodeOptions = |bound| DecodeOptions::new().with_max_ratio(bound);
    for (name, decoding, text) in
        [("max_bytes", with_bytes, &document()), ("max_ratio", with_ratio, &long)]
    {
        let body = polls::gzip(text);
        for bound in [0, 1] {
            for adapter in polls::ADAPTERS {
                let transform =
                    Transform::json(&program).with_decoding(ContentCoding::Gzip, &decoding(bound));
                let run = polls::through(adapter, transform, &body, 1_000);
                let (output, result) = runtime.block_on(run);
                let error = result.expect_err("there is a limit");
                assert_eq!(error.kind(), ErrorKind::Limit, "{name} {bound}: {error}");
                assert_eq!(error.limit(), Some(name), "{bound}: {error}");
                assert!(output.len() < text.len(), "{name} {bound}");
            }
        }
    }
}
