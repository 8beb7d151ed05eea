//! `tamis explain`: flags and errors. The explanations are tested in `tests/cases/explain`.

use super::*;

fn explain(args: &[&str]) -> Ran {
    let args: Vec<&str> = ["explain"].iter().chain(args).copied().collect();
    Folder::new().tamis(&args, b"")
}

#[test]
fn it_takes_the_rules_of_a_filter() {
    let ran = explain(&["--root", "/items", "--exclude", "a,b.c", "--max-items", "1000"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    for line in ["plan: stream", "1. root: stream", "   the value at /items", "   └─ b.c  remove"]
    {
        assert!(ran.out.lines().any(|shown| shown == line), "{line}: {}", ran.out);
    }
    assert!(ran.out.contains("the first 1,000 items are kept"), "{}", ran.out);
}

#[test]
fn json() {
    let ran =
        explain(&["--json", "--select", "id,who=owner.login", "--held", "1k", "--max-depth", "9"]);
    assert_eq!((ran.code, ran.err.as_str(), ran.out.lines().count()), (0, "", 1));
    let shown: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&shown["version"], &shown["mode"]), (&1.into(), &"hold".into()));
    assert_eq!(shown["stages"][1]["paths"][1]["key"], "who");
    assert_eq!((&shown["limits"]["held"], &shown["limits"]["depth"]), (&1024.into(), &9.into()));
}

#[test]
fn json_is_stable() {
    let ran = explain(&["--json", "--root", "/items", "--max-items", "3", "--exclude", "body"]);
    let expected = concat!(
        r#"{"version":1,"mode":"stream","validation":"full","whitespace":"minify","duplicate_keys":"first","stages":["#,
        r#"{"stage":"root","root":"/items","siblings":"keep","mode":"stream","holds":[]},"#,
        r#"{"stage":"max_items","count":3,"stop_early":false,"mode":"stream","holds":[]},"#,
        r#"{"stage":"exclude","paths":[{"path":"body"}],"mode":"stream","holds":[]}],"#,
        r#""total_miss":{"on_error":"raw","default":true,"effect":"the rules on items have no effect, with a warning"},"#,
        r#""limits":{"depth":1024,"key":65536,"held":4194304,"spill":1073741824,"item":16777216}}"#,
        "\n"
    );
    ran.done(expected);
}

#[test]
fn the_call_is_explained_too() {
    let ran = explain(&["--select", "id", "--raw"]);
    assert!(ran.out.contains("\nskipped: raw output"), "{}", ran.out);
    let ran = explain(&["--select", "id", "--is-error"]);
    assert!(ran.out.contains("\nskipped: the call failed"), "{}", ran.out);
    let ran = explain(&["--retain", "/id", "--raw"]);
    assert!(ran.out.contains("\nskipped: raw output"), "{}", ran.out);
    let ran = explain(&["--retain", "/id", "--is-error"]);
    assert!(ran.out.contains("1. retain: stream"), "{}", ran.out);
}

#[test]
fn invalid_rules_are_refused() {
    for args in [&["--select", "a..b"][..], &["--stop-early"], &["--pretty"], &["a.json", "--json"]]
    {
        let ran = explain(args);
        ran.refused(2, &[]);
        ran.one_line();
    }
}

#[test]
fn the_same_flags_select_a_filter_for_both() {
    let folder = Folder::new();
    let flags = |command: &str, headings: &[&str]| {
        let help = folder.tamis(&[command, "-h"], b"").out;
        let mut heading = "";
        let mut flags = Vec::new();
        for line in help.lines() {
            if line.ends_with(':') && !line.starts_with(' ') {
                heading = line;
            } else if line.trim_start().starts_with("--") && headings.contains(&heading) {
                flags.push(line.split_whitespace().next().unwrap().to_owned());
            }
        }
        flags
    };
    let headings = ["Rules:", "Limits:"];
    assert_eq!(flags("filter", &headings), flags("explain", &headings));
    assert!(flags("explain", &headings).len() > 12);
}
