//! Tests of errors, options and streams; the packages themselves run the cases of the repository.

use super::{
    BindingCall, BindingCommands, BindingManifest, BindingProgram, BindingPrune, BindingText,
};

#[test]
fn options_that_are_not_known_are_refused() {
    for (text, message) in [
        (r#"{"slect": ["id"]}"#, "unknown field `slect`; did you mean `select`?"),
        (r#"{"frobnicate": 1}"#, "unknown field `frobnicate`, expected one of `"),
        (r#"{"max_items": "3"}"#, "invalid type: string \"3\""),
        (r#"{"select": ["a..b"]}"#, "select"),
        ("[", "EOF while parsing"),
    ] {
        let error = BindingProgram::compile(text).unwrap_err();
        assert_eq!((error.kind, error.fault), ("spec", "spec"), "{text}");
        assert!(error.message.contains(message), "{text}: {error}");
        assert!(!error.message.contains(" at line "), "{text}: {error}");
    }
    assert_eq!(BindingCall::parse(r#"{"raw": 1}"#).unwrap_err().kind, "spec");
    assert_eq!(BindingPrune::compile(r#"{"keep_turn": 1}"#).unwrap_err().kind, "spec");
    let commands = BindingCommands::builtin();
    assert_eq!(commands.filter("ls", b"", None, r#"{"max_line": 1}"#).unwrap_err().kind, "spec");
    let text = BindingText::compile("{}").unwrap();
    assert_eq!(text.filter(r#"{"lines": 1}"#, b"").unwrap_err().kind, "spec");
    assert_eq!(BindingText::compile(r#"{"keep_lines_matching": []}"#).unwrap_err().kind, "spec");
}

#[test]
fn an_error_has_kind_offset_path_and_report() {
    let program = BindingProgram::compile(r#"{"select": ["id"]}"#).unwrap();
    let error =
        program.filter(&BindingCall::default(), br#"[{"id": 1}, {"id": oops}]"#).unwrap_err();
    assert_eq!((error.kind, error.fault, error.offset), ("syntax", "input", Some(19)));
    assert_eq!(error.path, "/1/id");
    assert!(error.report.as_ref().unwrap().contains(r#""kind":"syntax""#));

    let call = BindingCall::parse(r#"{"depth": 1}"#).unwrap();
    let error = program.filter(&call, b"[[]]").unwrap_err();
    assert_eq!((error.kind, error.limit), ("limit", Some("depth")));
}

#[test]
fn a_stream_returns_what_is_ready_and_stays_failed() {
    let program = BindingProgram::compile(r#"{"select": ["id"], "root": "items"}"#).unwrap();
    let mut stream = program.stream(&BindingCall::default());
    let mut output = Vec::new();
    for chunk in [r#"{"items": [{"id": 1, "x""#, r#": 2}, {"id""#, ": 3}"] {
        output.extend(stream.write(chunk.as_bytes()).unwrap());
    }
    let error = stream.write(b", ]").unwrap_err();
    output.extend(&error.output);
    assert_eq!(String::from_utf8(output).unwrap(), r#"{"items":[{"id":1},{"id":3}"#);
    assert_eq!(error.kind, "syntax");
    assert_eq!(stream.end(None).unwrap_err().kind, "failed");
}

#[test]
fn lines_that_fail_write_nothing() {
    let program = BindingProgram::compile(r#"{"select": ["id"]}"#).unwrap();
    let lines = b"{\"id\": 1}\noops\n{\"id\": 2}\n";
    let error = program.filter_lines(&BindingCall::default(), lines).unwrap_err();
    assert_eq!(String::from_utf8(error.into_members().output).unwrap(), "{\"id\":1}\n{\"id\":2}\n");
}

#[test]
fn events_that_fail_write_nothing() {
    let program = BindingProgram::compile(r#"{"select": ["id"]}"#).unwrap();
    let events = b": ping\n\ndata: {\"id\": 1}\n\ndata: oops\n\ndata: {\"id\": 2}\n\n";
    let error = program.filter_events(&BindingCall::default(), events).unwrap_err();
    assert_eq!(
        String::from_utf8(error.into_members().output).unwrap(),
        ": ping\n\ndata: {\"id\":1}\n\ndata: {\"id\":2}\n\n"
    );
}

#[test]
fn a_manifest_reports_all_problems_with_their_places() {
    let text = "version: 1\nfilters:\n  a: {slect: [id]}\n  b: {max_itms: 1}\n";
    let error = BindingManifest::parse("m.yaml", text).unwrap_err();
    let places: Vec<_> =
        error.problems.iter().map(|problem| (problem.line, problem.column)).collect();
    assert_eq!((error.kind, places), ("manifest", vec![(3, 7), (4, 7)]));
    assert_eq!(BindingManifest::load("/no/such/file").unwrap_err().kind, "read");
}

#[test]
fn a_service_that_no_artifact_has_is_an_error() {
    let text = "apiVersion: reshapr.io/v1alpha1\nkind: ToolsFilters\nservice: {name: Crm, version: '1'}\n\
                filters: {get: {retain: [/a]}}\n";
    let manifest = BindingManifest::parse("a.yaml", text).unwrap();
    assert_eq!(manifest.for_service("Crm@1").unwrap().names(), ["get"]);
    assert_eq!(manifest.for_service("Crm@2").unwrap_err().kind, "unknown_service");
}

#[test]
fn streams_of_text_and_of_commands_have_a_report_at_their_end() {
    let text = BindingText::compile(r#"{"dedup": true}"#).unwrap();
    let mut stream = text.stream("{}").unwrap();
    let mut output = stream.write(b"retrying\nretrying\nretrying\nCont").unwrap();
    assert_eq!(stream.report(), "{}");
    output.extend(stream.release());
    assert_eq!(String::from_utf8_lossy(&output), "retrying (x3)\nCont");
    output.extend(stream.write(b"inue?\n").unwrap());
    output.extend(stream.end(None).unwrap());
    assert!(output.ends_with(b"\nContinue?\n") && !stream.is_done());
    assert!(stream.report().contains(r#""lines_folded":2"#));
    assert_eq!(stream.end(None).unwrap_err().kind, "failed");

    let commands = BindingCommands::builtin();
    let mut stream = commands.stream("cargo build", "{}").unwrap();
    let raw = "   Compiling ryu v1.0.18\n".repeat(30) + "error[E0425]: no `x`\n";
    let mut output = stream.write(raw.as_bytes()).unwrap();
    output.extend(stream.end(Some(101)).unwrap());
    assert!(output.starts_with(b"error[E0425]"), "{}", String::from_utf8_lossy(&output));
    assert!(stream.report().contains(r#""exit_code":101"#));
}

#[test]
fn rules_for_commands_report_problems_with_their_places() {
    let wrong = "[[rules]]\nname = \"a\"\nmatch = { prefix = \"a\" }\nstripp = [\"x\"]\n";
    let error = BindingCommands::parse("x.toml", wrong).unwrap_err();
    assert_eq!(
        (error.kind, error.problems.first().map(|problem| problem.line)),
        ("manifest", Some(4))
    );
    assert_eq!(BindingCommands::load("/no/such/file").unwrap_err().kind, "read");
    assert!(BindingCommands::builtin().run_examples().is_empty());
    assert_eq!(
        BindingCommands::builtin().filter_for("cargo build").as_deref(),
        Some("cargo-build")
    );
}

#[test]
fn only_rules_that_were_given_as_json_have_a_source() {
    let rules = r#"{"select": ["id"], "root": "object"}"#;
    let program = BindingProgram::compile(rules).unwrap();
    assert_eq!(program.source(), Some(rules));
    assert!(program.plan(&BindingCall::default()).contains(r#""mode":"stream""#));
    assert_eq!(
        BindingManifest::catalog().unwrap().program("github.list-issues").unwrap().source(),
        None
    );
}

#[test]
fn text_that_is_not_json_is_redacted_or_withheld() {
    let secret = "see https://mira:tide@example.org/\nDEBUG x\n";
    let redacted = "see https://mira:[redacted:url-password]@example.org/\n";
    let keep =
        "\n  c: {exclude: [user], text_beside: keep}\n  d: {exclude: [user], error_text: keep}\n";
    let text = format!("version: 1\nfilters:{keep}");
    let manifest = BindingManifest::parse("m.yaml", &text).unwrap();
    let compiled = |rules: &str| BindingProgram::compile(rules).unwrap();
    for (program, result, message) in [
        (compiled(r#"{"select": ["id"]}"#), Some(secret), Some(secret)),
        (
            compiled(
                r#"{"redact": "secrets", "text_filter": {"strip_lines_matching": ["^DEBUG"]}}"#,
            ),
            Some(redacted),
            Some(redacted),
        ),
        (compiled(r#"{"redact": {"paths": ["ssn"], "secrets": true}}"#), None, None),
        (compiled(r#"{"redact": "secrets", "exclude": ["user"]}"#), None, None),
        (manifest.program("c").unwrap(), Some(secret), None),
        (manifest.program("d").unwrap(), None, Some(secret)),
    ] {
        for (is_error, wanted) in [(false, result), (true, message)] {
            let found = program.filter_plain(secret.as_bytes(), is_error);
            let found = found.map(|text| String::from_utf8(text).unwrap());
            assert_eq!(found.as_deref(), wanted, "{program:?}");
        }
        assert!(program.filter_plain(b"", true).is_some());
    }
}

#[test]
fn filters_of_the_catalog_only_save() {
    let catalog = BindingManifest::catalog().unwrap();
    assert!(!catalog.program("github.list-issues").unwrap().removes_for_safety());
    assert!(BindingProgram::compile(r#"{"exclude": ["a"]}"#).unwrap().removes_for_safety());
}

#[test]
fn small_documents_take_turns_with_one_run() {
    let documents = [
        r#"[{"id": 1, "x": null}, {"id": 2, "note": "https://m:tide@example.org/"}]"#,
        r#"{"items": [{"id": 3}, {"id": 4}], "next": "n"}"#,
        r#"[{"id": oops}]"#,
        r#"[{"id": 5}"#,
        r#"{"data": "{\"id\": 6}"}"#,
        "",
        "7",
    ];
    for rules in [
        "{}",
        r#"{"select": ["id"], "max_items": 1}"#,
        r#"{"select": ["id"], "root": "items", "stop_early": true, "max_items": 1}"#,
        r#"{"select": ["none"], "on_error": "closed"}"#,
        r#"{"exclude": ["next"], "root": "auto", "redact": "secrets"}"#,
        r#"{"extract": "/items", "budget": {"bytes": 12}}"#,
        r#"{"budget": {"tokens": 6}}"#,
        r#"{"json_strings": [{"at": "/data", "apply": {"exclude": ["id"]}}]}"#,
        r#"{"when": [{"test": {"path": "/next", "value": "n"}, "retain": ["/items"]}], "otherwise": "drop"}"#,
    ] {
        let program = BindingProgram::compile(rules).unwrap();
        let check = || {
            for document in documents.iter().chain(documents.iter().rev()) {
                let found = program.output(document.as_bytes());
                let wanted = program.filter(&BindingCall::default(), document.as_bytes());
                match (found, wanted) {
                    (Ok(found), Ok(wanted)) => assert_eq!(found, wanted.output, "{rules}"),
                    (Err(found), Err(wanted)) => assert_eq!(found.display, wanted.display),
                    (found, wanted) => panic!("{rules} {document}: {found:?} {wanted:?}"),
                }
            }
        };
        std::thread::scope(|threads| {
            for _ in 0..3 {
                threads.spawn(check);
            }
        });
    }
}
