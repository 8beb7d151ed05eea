//! Where this differs from what reShapr ships, on purpose; each a test.

use tamis::spec::{Condition, OnTestFailure, PatchOp, WhenFallback};
use tamis::{ErrorKind, Program, Spec, filter_slice};

fn filtered(spec: &Spec, document: &str) -> Result<String, tamis::Error> {
    let program = Program::compile(spec).unwrap();
    let (output, _) = filter_slice(&program, document.as_bytes())?;
    Ok(String::from_utf8(output).unwrap())
}

/// reShapr lets the response pass unchanged when an operation cannot be applied: what was to be removed leaves with it.
#[test]
fn a_failure_does_not_let_the_response_pass() {
    let spec =
        Spec::new().patch(PatchOp::remove("/user/nickname")).patch(PatchOp::remove("/user/ssn"));
    let error = filtered(&spec, r#"{"user": {"ssn": "1"}}"#).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Patch);
    assert_eq!(error.message(), "patches[0], remove /user/nickname: no value at /user/nickname");
}

/// reShapr's text says that a test that fails ends the sequence. Outside of its artifacts the sequence fails, as RFC
/// 6902 says.
#[test]
fn a_failed_test_fails_the_sequence() {
    let spec = Spec::new()
        .patch(PatchOp::remove("/user/nickname"))
        .patch(PatchOp::test("/version", 2))
        .patch(PatchOp::remove("/user/ssn"));
    let document = r#"{"version": 1, "user": {"nickname": "a", "ssn": "1"}}"#;
    let error = filtered(&spec, document).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Patch);
    assert_eq!(error.message(), "patches[1], test /version: test failed: the value is different");
    let stops = spec.on_test_failure(OnTestFailure::Stop);
    assert_eq!(filtered(&stops, document).unwrap(), r#"{"version":1,"user":{"ssn":"1"}}"#);
}

/// reShapr loses one of two retained paths into one array.
#[test]
fn two_retained_paths_into_one_array_are_both_kept() {
    let spec = Spec::new().retain("/items/0/id").retain("/items/0/name").retain("/items/1/id");
    let document =
        r#"{"items": [{"id": 1, "name": "a", "x": 2}, {"id": 3, "name": "b"}, {"id": 4}]}"#;
    assert_eq!(filtered(&spec, document).unwrap(), r#"{"items":[{"id":1,"name":"a"},{"id":3}]}"#);
}

/// reShapr takes `~1` in a path for itself, so that nothing names the member `a/b`.
#[test]
fn escapes_in_pointers_are_unescaped() {
    let spec = Spec::new()
        .retain("/a~1b")
        .retain("/c~0d")
        .patch(PatchOp::remove("/c~0d"))
        .patch(PatchOp::add("/e~1f", true));
    let document = r#"{"a/b": 1, "c~d": 2, "a~1b": 3}"#;
    assert_eq!(filtered(&spec, document).unwrap(), r#"{"a/b":1,"e/f":true}"#);
}

/// Where no branch holds the response passes, as reShapr's text says; here another end can be chosen, and is if nothing
/// is said outside of its artifacts.
#[test]
fn no_branch_holds() {
    let spec = Spec::new().when(Condition::new("/type", "a"), Spec::new().retain("/a"));
    let document = r#"{"type":"c","secret":1}"#;
    assert_eq!(filtered(&spec, document).unwrap_err().kind(), ErrorKind::Miss);
    assert_eq!(filtered(&spec.clone().otherwise(WhenFallback::Pass), document).unwrap(), document);
    assert_eq!(filtered(&spec.otherwise(WhenFallback::Drop), document).unwrap(), "{}");
}
