//! Sample responses in `tamis check` and `tamis explain`.

use super::*;

const TOOLS: &str = "\
version: 1
filters:
  list: {select: {id: id, login: owner.login}, max_items: 2}
  small: {select: [id], budget: {bytes: 10}}
  get-?: {root: object, select: [name]}
";

fn folder(samples: &[(&str, &str)]) -> Folder {
    let folder = Folder::new();
    folder.write("tools.yaml", TOOLS);
    std::fs::create_dir(folder.path("samples")).unwrap();
    for (name, text) in samples {
        folder.write(format!("samples/{name}"), text);
    }
    folder
}

fn check(folder: &Folder) -> Ran {
    folder.tamis(&["check", "tools.yaml", "--samples", "samples"], b"")
}

#[test]
fn samples_are_listed_with_what_is_kept() {
    let folder = folder(&[
        ("list.json", "[{\"id\": 1, \"x\": 2}, {\"id\": 3}, {\"id\": 4}]\n"),
        ("list.expected.json", "[{\"id\":1},{\"id\":3}]\n"),
        ("list~2.json", "[{\"id\":1,\"owner\":{\"login\":\"mira\"}}]"),
        ("get-a.json", "{\"name\": \"a\", \"b\": 1}"),
        ("notes.txt", "not a sample"),
    ]);
    let ran = check(&folder);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(
        ran.out,
        "\
tools.yaml: 3 filters (tamis)
  list: saves: select, max_items
  small: saves: select, budget
  get-?: saves: select
sample  bytes    tokens   items   missed paths
get-a   21 → 12  12 → 5   -       -
list    41 → 19  25 → 10  2 of 3  owner.login
list~2  35 → 25  14 → 12  1 of 1  -
"
    );
    assert_eq!(ran.err, "tamis: no sample for small\n");
}

/// Rules that remove are listed as rules that keep are: a misspelled one removes nothing.
#[test]
fn paths_of_all_rules_are_listed_if_a_sample_lacks_them() {
    let folder = folder(&[]);
    folder.write(
        "tools.yaml",
        "\
version: 1
filters:
  t: {root: object, exclude: [token, tokn], redact: {paths: [mail]}}
  w: {where: [{path: state, equals: 1}, {path: gone, exists: false}]}
",
    );
    folder.write("samples/t.json", r#"{"token":1,"id":2}"#);
    folder.write("samples/w.json", r#"[{"id":1}]"#);
    let ran = check(&folder);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for row in ["  tokn, mail\n", "  state, gone\n"] {
        assert!(ran.out.contains(row), "{}", ran.out);
    }
    let ran = folder.tamis(&["explain", "--exclude", "tokn", "samples/t.json"], b"");
    assert!(ran.out.ends_with("  no item has tokn\n"), "{}", ran.out);
}

#[test]
fn samples_may_be_compressed() {
    let folder = folder(&[("list~a.expected.json", "[{\"id\":1}]")]);
    folder.write("samples/list~a.json.gz", gzip(b"[{\"id\": 1, \"x\": 2}]"));
    let ran = check(&folder);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("\nlist~a  19 "), "{}", ran.out);
}

#[test]
fn output_that_is_wrong_is_an_error() {
    let folder = folder(&[
        ("list.json", "[{\"id\": 1}]"),
        ("list.expected.json", "[{\"id\":2}]"),
        ("small.json", "[{\"id\": \"a long text without an end\"}]"),
        ("get-a.json", "{\"b\": 1}"),
        ("get-b.json", "{\"name\": 1"),
        ("get-c.expected.json", "{}"),
        ("other.json", "{}"),
    ]);
    let ran = check(&folder);
    assert_eq!(ran.code, 2, "{}", ran.err);
    for words in [
        "get-a.json: no item has any of the selected paths",
        "get-b.json: byte 10",
        "get-c.expected.json: warning: there is no sample get-c.json",
        &format!(
            "list.json: the output differs from samples{}list.expected.json at byte 7",
            std::path::MAIN_SEPARATOR
        ),
        "other.json: warning: no filter for the tool `other`",
        "small.json: the output exceeds its budget",
    ] {
        assert!(ran.err.contains(words), "{words:?} is not in {}", ran.err);
    }
    assert!(ran.out.contains("\nsmall "), "{}", ran.out);
    folder.tamis(&["check", "tools.yaml", "--samples", "none"], b"").refused(1, &["none: "]);
}

#[test]
fn a_sample_is_explained() {
    let folder = folder(&[("list.json", "[{\"id\": 1, \"x\": 2}, {\"id\": 3}, {\"id\": 4}]\n")]);
    let args = ["explain", "--manifest", "tools.yaml", "--tool", "list"];
    let plain = folder.tamis(&args, b"");
    let ran = folder.tamis(&[&args[..], &["samples/list.json"]].concat(), b"");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let rest = ran.out.strip_prefix(&plain.out).unwrap();
    assert!(rest.starts_with("\nsamples/list.json: 41 bytes ("), "{rest}");
    assert!(rest.ends_with("; 2 of 3 items\n  no item has owner.login\n"), "{rest}");
    folder.tamis(&[&args[..], &["none.json"]].concat(), b"").refused(1, &["none.json"]);
}

#[test]
fn one_sample_may_be_a_file() {
    let folder = folder(&[("list.json", "[{\"id\": 1, \"x\": 2}]")]);
    let check =
        |manifest: &str, file: &str| folder.tamis(&["check", manifest, "--samples", file], b"");
    let ran = check("tools.yaml", "samples/list.json");
    assert!(ran.code == 0 && ran.out.contains("\nlist    "), "{} {}", ran.out, ran.err);
    // The only filter is meant, whatever the name of the file is.
    folder.write("one.yaml", "version: 1\nfilters: {x: {select: [id]}}\n");
    folder.write("any.json", "[{\"id\": 1, \"x\": 2}]");
    let ran = check("one.yaml", "any.json");
    assert!(ran.code == 0 && ran.out.contains("\nany     "), "{} {}", ran.out, ran.err);
}
