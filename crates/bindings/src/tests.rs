//! Tests of errors, options and streams; the packages themselves run the cases of the repository.

use super::{BindingCall, BindingManifest, BindingProgram, BindingPrune, filter_output};

#[test]
fn options_that_are_not_known_are_refused() {
    for (text, message) in [
        (r#"{"slect": ["id"]}"#, "unknown field `slect`"),
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
    assert_eq!(filter_output("ls", b"", None, r#"{"max_line": 1}"#).unwrap_err().kind, "spec");
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
    assert_eq!(stream.end().unwrap_err().kind, "failed");
}

#[test]
fn lines_that_fail_write_nothing() {
    let program = BindingProgram::compile(r#"{"select": ["id"]}"#).unwrap();
    let lines = b"{\"id\": 1}\noops\n{\"id\": 2}\n";
    let error = program.filter_lines(&BindingCall::default(), lines).unwrap_err();
    assert_eq!(String::from_utf8(error.into_members().output).unwrap(), "{\"id\":1}\n{\"id\":2}\n");
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
fn filters_of_the_catalog_only_save() {
    let catalog = BindingManifest::catalog().unwrap();
    assert!(!catalog.program("github.list-issues").unwrap().removes_for_safety());
    assert!(BindingProgram::compile(r#"{"exclude": ["a"]}"#).unwrap().removes_for_safety());
}
