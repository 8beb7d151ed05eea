//! Reports and records of the input.

use super::*;

fn report(text: &str) -> Value {
    assert!(text.ends_with("}\n") && text.lines().count() == 1, "{text}");
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_report_of_a_run() {
    let folder = Folder::new();
    folder.write("a.json", "[{\"id\":1,\"x\":2},{\"id\":3}]\n");
    let args = ["--select", "id", "--max-items", "1", "a.json", "--report", "report.json"];
    folder.run(args).done("[{\"id\":1}]\n");
    let found = report(&folder.read("report.json"));
    assert_eq!(found["filter_applied"], true);
    assert_eq!(found["filter_original_bytes"], 25);
    assert_eq!(found["filter_result_bytes"], 10, "without the final newline");
    assert_eq!(found["filter_items_truncated_from"], 2);
    assert_eq!(found["error"], Value::Null);
    let ran = folder.run(["a.json", "--pretty", "--report", "-"]);
    assert_eq!(ran.code, 0);
    assert_eq!(report(&ran.err)["filter_result_bytes"], 25, "minified");
}

#[test]
fn the_report_of_a_failure() {
    let folder = Folder::new();
    folder.write("a.json", "[1, oops]");
    let error = |args: &[&str]| {
        let ran = folder.run(args.iter().chain(&["--report", "report.json"]));
        (ran.code, report(&folder.read("report.json"))["error"].clone())
    };
    let (code, found) = error(&["a.json"]);
    assert_eq!(code, 1);
    assert_eq!((&found["kind"], &found["offset"]), (&"syntax".into(), &4.into()));
    assert_eq!(found["path"], "/1");
    let (code, found) = error(&["nothing.json"]);
    assert_eq!((code, &found["kind"]), (1, &"read".into()));
    let (code, found) = error(&["a.json", "-o", "."]);
    assert_eq!((code, &found["kind"]), (1, &"write".into()));
    let (code, found) = error(&["--select", "a..b", "a.json"]);
    assert_eq!((code, &found["kind"]), (2, &"spec".into()));
    folder.write("a.json", "[1]\n[\n[2]\n");
    let (code, found) = error(&["--ndjson", "a.json"]);
    assert_eq!((code, &found["offset"]), (1, &5.into()));
    assert!(found["message"].as_str().unwrap().starts_with("line 2: "), "{found}");
    folder.write("a.json", "[1 /*");
    let (code, found) = error(&["--lenient", "a.json"]);
    assert_eq!((code, &found["kind"]), (1, &"unexpected_end".into()));
}

#[test]
fn a_report_that_cannot_be_written_is_an_error_before_the_run() {
    let folder = Folder::new();
    folder.write("a.json", "[1]");
    let ran = folder.run(["a.json", "--report", "no/report.json"]);
    ran.refused(1, &["tamis: no/report.json: cannot write the report: "]);
}

#[test]
fn the_record_is_what_came_in() {
    let folder = Folder::new();
    let input = "[ {\"id\": 1, \"x\": 2} ]\n";
    folder.write("a.json", input);
    folder.write("old", "longer than what will be recorded");
    let args = ["--select", "id", "--tee"];
    folder.run(args.iter().chain(&["records/of/today.json", "a.json"])).done("[{\"id\":1}]\n");
    assert_eq!(folder.read("records/of/today.json"), input);
    folder.pipe(args.iter().chain(&["old"]), input.as_bytes()).done("[{\"id\":1}]\n");
    assert_eq!(folder.read("old"), input);
    // A document that is read twice is recorded once; a bad document is recorded as far as it was read.
    let data = "{\"x\": 1, \"data\": [{\"id\": 1}]}";
    folder.write("a.json", data);
    assert_eq!(folder.run(["--select", "id", "--tee", "old", "a.json"]).code, 0);
    assert_eq!(folder.read("old"), data);
    folder.write("a.json", "[1, oops, /* */]");
    assert_eq!(folder.run(["--tee", "old", "a.json"]).code, 1);
    assert_eq!(folder.read("old"), "[1, oops, /* */]");
    for form in ["--ndjson", "--lenient"] {
        folder.write("a.json", "[1]\n");
        folder.run([form, "--tee", "old", "a.json"]).done("[1]\n");
        assert_eq!(folder.read("old"), "[1]\n");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode =
            |name: &str| std::fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("records"), mode("records/of")), (0o700, 0o700));
        assert_eq!((mode("records/of/today.json"), mode("old")), (0o600, 0o600));
    }
}

#[test]
fn a_record_that_cannot_be_made_is_an_error_before_the_run() {
    let folder = Folder::new();
    folder.write("a.json", "[1]");
    let ran = folder.run(["--tee", "a.json/tee", "a.json"]);
    ran.refused(1, &["tamis: a.json/tee: "]);
    assert_eq!(folder.read("a.json"), "[1]");
}

#[test]
fn one_file_is_not_two_things() {
    let folder = Folder::new();
    folder.write("a.json", "[ 1 ]");
    folder.write("b", "");
    std::fs::create_dir(folder.path("sub")).unwrap();
    let cases: [(&[&str], &[&str]); 8] = [
        (&["a.json", "--tee", "a.json"], &["--tee and the input", "another path"]),
        (&["a.json", "--tee", "./a.json"], &["--tee and the input"]),
        (&["a.json", "--report", "a.json"], &["--report and the input"]),
        (&["a.json", "-o", "b", "--tee", "b"], &["--tee and the output"]),
        (&["a.json", "-o", "new", "--tee", "./new"], &["--tee and the output"]),
        (&["a.json", "-o", "b", "--report", "b"], &["--report and the output"]),
        (&["a.json", "--tee", "new", "--report", "new"], &["--tee and --report"]),
        (&["a.json", "--tee", "sub/../new", "--report", "new"], &["--tee and --report"]),
    ];
    for (args, words) in cases {
        let ran = folder.run(args);
        ran.refused(2, words);
        ran.one_line();
    }
    assert_eq!(folder.names(), ["a.json", "b", "sub"]);
    assert_eq!(folder.read("a.json"), "[ 1 ]");
}

#[cfg(unix)] // Only there does an open file have an identity.
#[test]
fn standard_output_is_not_the_input() {
    let folder = Folder::new();
    folder.write("a.json", "[ 1 ]");
    let file = File::options().append(true).open(folder.path("a.json")).unwrap();
    let output = folder.command().arg("a.json").stdout(file).output().unwrap();
    Ran::new(&output).refused(2, &["standard output would overwrite the input", "use -o"]);
    assert_eq!(folder.read("a.json"), "[ 1 ]");
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_is_the_file_that_it_names() {
    let folder = Folder::new();
    folder.write("a.json", "[1]");
    std::os::unix::fs::symlink("new", folder.path("link")).unwrap();
    let ran = folder.run(["a.json", "--tee", "link", "--report", "new"]);
    ran.refused(2, &["--tee and --report"]);
}

#[test]
fn errors_suggest_the_flags_for_many_documents() {
    let two = "{\"a\":1} {\"a\":2}\n";
    let ran = piped(&[], two);
    assert_eq!((ran.code, ran.out.as_str()), (1, "{\"a\":1}"));
    assert!(
        ran.err.contains("(more than one document? try --ndjson for one per line, or --docs)"),
        "{}",
        ran.err
    );
    let ran = piped(&["--ndjson"], two);
    ran.refused(1, &["line 1: byte 8: ", "(a line has one document; --docs reads several)"]);
    assert!(!ran.err.contains("--ndjson"), "{}", ran.err);
    let ran = piped(&["--ndjson"], "{\n \"a\": 1\n}\n");
    assert_eq!(ran.code, 1);
    let first = ran.err.lines().next().unwrap();
    assert!(first.ends_with("(a document over several lines? try --docs)"), "{first}");
}
