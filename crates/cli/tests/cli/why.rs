//! `--why` of `tamis filter` and `tamis explain`: which rule removed which bytes.

use super::*;

const ITEMS: &str = r#"{"n": 1, "items": [{"id": 1, "url": "u1", "by": {"id": 7, "x": null}}, {"id": 2, "url": "u2"}]}"#;
const RULES: [&str; 6] = ["--select", "id,who=by.id", "--exclude", "none", "--max-items", "1"];
const OUTPUT: &str = "{\"n\":1,\"items\":[{\"id\":1,\"who\":7}]}\n";
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("a.json", ITEMS);
    folder
}

fn ask(args: &[&str]) -> Ran {
    let args: Vec<&str> = RULES.iter().chain(args).copied().collect();
    folder().run(args.iter().chain(&["a.json"]))
}

#[test]
fn the_table_is_on_standard_error() {
    let ran = ask(&["--why"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, OUTPUT));
    for line in [
        "rule and path",
        "white space",
        "max_items: 1",
        "  items[]",
        "select: id, by.id",
        "  items[].url",
    ] {
        assert!(ran.err.lines().any(|shown| shown.starts_with(line)), "{line}: {}", ran.err);
    }
    assert!(ran.err.ends_with("\n95 bytes in, 34 bytes out\n"), "{}", ran.err);
}

#[test]
fn a_pipe_is_read_again() {
    let file = ask(&["--why"]);
    let args: Vec<&str> = RULES.iter().chain(&["--why"]).copied().collect();
    assert_eq!(file, piped(&args, ITEMS));
    let ran = piped(&["--why", "--held", "10", "--spill", "10"], ITEMS);
    ran.refused(1, &["--why reads the input several times", "20 bytes"]);
}

#[test]
fn one_value() {
    for (pointer, shown) in [
        ("/items/0/id", "/items/0/id: kept, at /items/0/id\n"),
        ("/items/0/by/id", "/items/0/by/id: no longer there after select (id, by.id)\n"),
        ("/items/0/by", "/items/0/by: no longer there after select (id, by.id)\n"),
        ("/items/0/url", "/items/0/url: no longer there after select (id, by.id)\n"),
        ("/items/1", "/items/1: no longer there after max_items (1)\n"),
        ("/items/2", "/items/2: the input has no such value\n"),
    ] {
        let ran = ask(&[&format!("--why={pointer}")]);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, OUTPUT, shown), "{pointer}");
    }
    ask(&["--why=items"]).refused(2, &["--why=items: expected a JSON Pointer"]);
}

#[test]
fn json() {
    let ran = ask(&["--why", "--json"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.lines().count()), (0, OUTPUT, 1));
    let shown: Value = serde_json::from_str(&ran.err).unwrap();
    let number = |key: &str| shown[key].as_u64().unwrap();
    assert_eq!(number("input_bytes"), ITEMS.len() as u64);
    assert_eq!(number("output_bytes"), OUTPUT.trim_end().len() as u64);
    assert_eq!(
        number("input_bytes") + number("added_bytes"),
        number("output_bytes") + number("removed_bytes")
    );
    let rules: Vec<&str> = shown["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule["rule"].as_str().unwrap())
        .collect();
    assert_eq!(rules, ["white space", "max_items", "select", "exclude[0]"]);
    let ran = ask(&["--why=/items/0/url", "--json"]);
    let shown: Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!(
        (&shown["value"]["outcome"], &shown["value"]["rule"]),
        (&"removed".into(), &"select".into())
    );
}

#[test]
fn explain_prints_it_alone() {
    let args: Vec<&str> =
        ["explain", "--why"].iter().chain(&RULES).chain(&["a.json"]).copied().collect();
    let ran = folder().tamis(&args, b"");
    let filtered = ask(&["--why"]);
    ran.done(&filtered.err);
    let args = ["explain", "--why=/n", "--json", "--exclude", "n", "--root", "object", "a.json"];
    let ran = folder().tamis(&args, b"");
    assert!(
        ran.out.contains(
            r#""value":{"pointer":"/n","outcome":"removed","rule":"exclude[0]","text":"n"}"#
        ),
        "{ran:?}"
    );
    folder().tamis(&["explain", "--why", "--select", "id"], b"").refused(2, &["SAMPLE"]);
    folder().tamis(&["explain", "--json", "--select", "id", "a.json"], b"").refused(2, &["--why"]);
}

#[test]
fn it_is_for_one_document() {
    for flag in ["--ndjson", "--docs", "--lenient"] {
        ask(&["--why", flag]).refused(2, &["--why explains a single document"]);
    }
    ask(&["--json"]).refused(2, &["--why"]);
}

#[test]
fn a_failed_run_is_not_explained() {
    let ran = piped(&["--why", "--select", "id", "--on-error", "closed"], r#"{"a":1}"#);
    assert_eq!((ran.code, ran.err.lines().count()), (1, 1), "{}", ran.err);
}

#[test]
fn a_manifest_is_explained_by_its_places() {
    let folder = folder();
    folder.write(
        "tools.yaml",
        "version: 1\nfilters:\n  a.list:\n    when:\n      - test: {path: /n, value: 1}\n        exclude: [url, by.x]\n",
    );
    let ran = folder.run(["--manifest", "tools.yaml", "--why=/items/0/by/x", "a.json"]);
    assert_eq!(ran.err, "/items/0/by/x: no longer there after when[0].exclude[1] (by.x)\n");
}
