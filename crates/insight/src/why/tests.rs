//! Explanations of small documents. Sums over all cases are tested in `tests/cases/why.rs`.

use std::io::{Cursor, Read, Seek, SeekFrom};

use super::{ValueOutcome, Why, why};
use tamis::{CallOptions, Limits, Program, Spec};

fn program(spec: &str) -> Program {
    let spec: Spec = serde_json::from_str(spec).unwrap();
    Program::compile(&spec).unwrap()
}

fn explain(spec: &str, document: &str, pointer: Option<&str>) -> Why {
    let why = why(&program(spec), Cursor::new(document), pointer).unwrap();
    let output = tamis::filter_slice(&program(spec), document.as_bytes()).unwrap().0;
    assert_eq!(why.output_bytes, output.len() as u64, "{spec}");
    assert_eq!(
        why.input_bytes + why.added_bytes,
        why.output_bytes + why.removed_bytes,
        "{spec}: {why}"
    );
    why
}

/// The effects of a spec, one a line: the rule, then each path with values, removed and added bytes.
fn effects(spec: &str, document: &str) -> String {
    let why = explain(spec, document, None);
    let mut text = String::new();
    for rule in why.rules.iter().filter(|rule| rule.rule != "white space") {
        text.push_str(&rule.rule);
        if rule.paths.is_empty() && rule.removed_bytes + rule.added_bytes > 0 {
            text.push_str(&format!(" -{}+{}", rule.removed_bytes, rule.added_bytes));
        }
        for path in &rule.paths {
            let added =
                if path.added_bytes > 0 { format!("+{}", path.added_bytes) } else { String::new() };
            text.push_str(&format!(" {}×{}-{}{added}", path.path, path.count, path.removed_bytes));
        }
        text.push('\n');
    }
    text
}

#[test]
fn rules_and_paths() {
    for (spec, document, expected) in [
        ("{}", "[1, 2]", ""),
        // The comma after the first member, and the comma before the others.
        (
            r#"{"exclude":["a"]}"#,
            r#"[{"a":1,"b":2},{"b":2,"a":1},{"a":1}]"#,
            "exclude[0] [].a×3-17\n",
        ),
        (
            r#"{"exclude":["a","b.c"]}"#,
            r#"{"items":[{"a":1,"b":{"c":2,"d":3}}]}"#,
            "exclude[0] items[].a×1-6\nexclude[1] items[].b.c×1-6\n",
        ),
        (r#"{"select":["id"]}"#, r#"[{"id":1,"u":2},{"u":3,"id":4}]"#, "select [].u×2-12\n"),
        // A value that moves is removed at one path, and added at another.
        (
            r#"{"select":{"login":"owner.login"}}"#,
            r#"[{"owner":{"login":"a","id":1}}]"#,
            "select [].owner×1-28 [].login×0-0+11\n",
        ),
        (r#"{"select":{"k":"id"}}"#, r#"[{"id":1}]"#, "select [].id×1-6 [].k×0-0+5\n"),
        (
            r#"{"select":["l[].n"]}"#,
            r#"[{"l":[{"n":1,"x":2},{"n":3}]}]"#,
            "select [].l×1-27 [].n×0-0+9\n",
        ),
        (
            r#"{"select":["l[]{n}"]}"#,
            r#"[{"l":[{"n":1,"x":2},{"n":3}],"y":0}]"#,
            "select [].l[].x×1-6 [].y×1-6\n",
        ),
        (r#"{"max_items":1}"#, r#"{"items":[{"a":1},{"a":2}]}"#, "max_items items[]×1-8\n"),
        (
            r#"{"where":[{"path":"s","equals":"b"}],"max_items":1}"#,
            r#"[{"s":"a"},{"s":"b"},{"s":"b"}]"#,
            "where[0] []×1-10\nmax_items []×1-10\n",
        ),
        (
            r#"{"retain":["/items/id"]}"#,
            r#"{"n":1,"items":[{"x":1},{"id":2,"x":3}]}"#,
            "retain items[]×1-14 n×1-6\n",
        ),
        (
            r#"{"patches":[{"op":"remove","path":"/a"},{"op":"add","path":"/c","value":7}]}"#,
            r#"{"a":1,"b":2}"#,
            "patches[0] a×1-6\npatches[1] c×0-0+6\n",
        ),
        (r#"{"patches":[{"op":"remove","path":"/0"}]}"#, "[1,2,3]", "patches[0] []×1-2\n"),
        (
            r#"{"extract":"a.b"}"#,
            r#"{"x":1,"a":{"b":[1],"c":2}}"#,
            "extract x×1-6 ×0-2 a×0-6 a.b×0-4 a.c×1-6\n",
        ),
        (
            r#"{"drop_nulls":true}"#,
            r#"[{"a":null,"b":{"a":null}}]"#,
            "drop_nulls [].a×1-9 [].b.a×1-8\n",
        ),
        (
            r#"{"budget":{"bytes":60},"min_items":0}"#,
            r#"{"items":[{"a":1},{"a":2},{"a":3},{"a":4},{"a":5},{"a":6},{"a":7},{"a":8}],"n":1}"#,
            "budget items[]×7-56 _omitted×0-0+30\n",
        ),
        (
            r#"{"siblings":"drop","select":["a"]}"#,
            r#"{"n":1,"items":[{"a":1}]}"#,
            "siblings n×1-6\nselect\n",
        ),
        (r#"{"encode":"toon"}"#, r#"{"a":1}"#, "encode -3+0\n"),
    ] {
        let sorted = |text: &str| {
            let line = |line: &str| {
                let mut words: Vec<&str> = line.split(' ').collect();
                words.retain(|word| !word.ends_with("-0+0"));
                let mut words: Vec<String> =
                    words.iter().map(|word| word.trim_end_matches("+0").to_owned()).collect();
                if let Some(rest) = words.get_mut(1..) {
                    rest.sort();
                }
                words.join(" ")
            };
            text.lines().map(line).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(sorted(&effects(spec, document)), sorted(expected), "{spec}");
    }
}

#[test]
fn branches_are_named() {
    let spec = r#"{"when":[{"test":{"path":"/t","value":1},"exclude":["a"]},{"test":{"path":"/t","value":2},"retain":["/b"]}],"otherwise":"drop"}"#;
    assert_eq!(effects(spec, r#"{"t":1,"a":2}"#), "when[0].exclude[0] a×1-6\n");
    assert_eq!(effects(spec, r#"{"t":2,"b":2}"#), "when[1].retain t×1-6\n");
    assert_eq!(effects(spec, r#"{"t":3}"#), "otherwise t×1-5\n");
}

#[test]
fn one_value_is_followed() {
    let document =
        r#"{"n": 1, "items": [{"id": 1, "owner": {"login": "a", "id": 2}, "s": "x"}, {"id": 2}]}"#;
    let spec =
        r#"{"select":{"id":"id","who":"owner.login","s":"s"},"exclude":["s"],"max_items":1}"#;
    for (pointer, outcome, rule, at) in [
        ("/n", ValueOutcome::Kept, None, Some("/n")),
        ("/items/0/id", ValueOutcome::Kept, None, Some("/items/0/id")),
        ("/items/0/owner/login", ValueOutcome::Removed, Some("select"), None),
        ("/items/0/owner", ValueOutcome::Removed, Some("select"), None),
        ("/items/0/owner/id", ValueOutcome::Removed, Some("select"), None),
        ("/items/0/s", ValueOutcome::Removed, Some("exclude[0]"), None),
        ("/items/1/id", ValueOutcome::Removed, Some("max_items"), None),
        ("/items/2", ValueOutcome::Missing, None, None),
        ("/items/x", ValueOutcome::Missing, None, None),
        ("", ValueOutcome::Kept, None, Some("")),
    ] {
        let value = explain(spec, document, Some(pointer)).value.unwrap();
        assert_eq!(
            (value.outcome, value.rule.as_deref(), value.output_pointer.as_deref()),
            (outcome, rule, at),
            "{pointer}"
        );
    }
    let budget = r#"{"budget":{"bytes":30}}"#;
    let long = format!(r#"{{"text":"{}"}}"#, "a".repeat(100));
    let value = explain(budget, &long, Some("/text")).value.unwrap();
    assert_eq!((value.outcome, value.rule.as_deref()), (ValueOutcome::Changed, Some("budget")));
    let value = explain(r#"{"encode":"toon"}"#, r#"{"a":1}"#, Some("/a")).value.unwrap();
    assert_eq!((value.outcome, value.rule.as_deref()), (ValueOutcome::Rewritten, Some("encode")));
    let error = why(&program("{}"), Cursor::new("1"), Some("a")).unwrap_err();
    assert!(error.to_string().contains("a JSON Pointer starts with `/`"), "{error}");
}

/// A reader that returns one byte at a time.
struct Slow(Cursor<Vec<u8>>);

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(1);
        self.0.read(&mut buffer[..most])
    }
}

impl Seek for Slow {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.0.seek(to)
    }
}

#[test]
fn chunks_and_places_make_no_difference() {
    let item = |id: usize| format!(r#"{{"id":{id},"url":"https://example.com/{id}","t":[1,2]}}"#);
    let items: Vec<String> = (0..4000).map(item).collect();
    let document = format!(r#"{{"total": 4000, "items": [{}]}}"#, items.join(", "));
    let program = program(r#"{"select":["id","t"],"exclude":["t[0]"],"budget":{"bytes":9000}}"#);
    let whole = why(&program, Cursor::new(&document), None).unwrap();
    let slow = why(&program, Slow(Cursor::new(document.clone().into_bytes())), None).unwrap();
    assert_eq!(whole, slow);
    let options = CallOptions::new().with_limits(Limits::new().with_held(20_000));
    let spilled = why(program.with_options(&options), Cursor::new(&document), None).unwrap();
    assert_eq!(whole, spilled);
    let mut later = Cursor::new(format!("skipped{document}"));
    later.set_position(7);
    assert_eq!(whole, why(&program, later, None).unwrap());
    // The outputs of the first rules are longer than what may be held. They need not be.
    let options = CallOptions::new().with_limits(Limits::new().with_held(20_000).with_spill(0));
    let unheld = why(program.with_options(&options), Cursor::new(&document), None).unwrap();
    assert_eq!(whole, unheld);
}

#[test]
fn many_paths_are_merged() {
    let member = |id: usize| format!(r#""k{id}":1"#);
    let members: Vec<String> = (0..30_000).map(member).collect();
    let document = format!("{{{}}}", members.join(","));
    let why = explain(r#"{"retain":["/k7"]}"#, &document, None);
    let rule = &why.rules[1];
    assert_eq!(rule.count, 29_999);
    assert!(rule.paths.len() <= 10_001, "{}", rule.paths.len());
    let deep = format!("{}{}", "[".repeat(900), "]".repeat(900));
    explain(r#"{"retain":["/a"]}"#, &deep, None);
}

#[test]
fn a_table() {
    let spec = r#"{"select":["id"],"exclude":["none"]}"#;
    let table = explain(spec, r#"[{"id": 1, "x": "a"}, {"id": 2}]"#, None).to_string();
    let lines: Vec<&str> = table.lines().map(str::trim_end).collect();
    assert!(lines[0].starts_with("rule and path"), "{table}");
    assert!(lines[1].starts_with("white space"), "{table}");
    assert!(lines[2].starts_with("select: id"), "{table}");
    assert!(lines[3].starts_with("  [].x"), "{table}");
    assert!(lines[4].starts_with("exclude[0]: none"), "{table}");
    assert_eq!(lines.last(), Some(&"32 bytes in, 19 bytes out"), "{table}");
}
