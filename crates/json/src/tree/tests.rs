//! Operations on trees, one by one; sequences and documents of any kind are in `tests/engine/patch`.

use super::Tree;
use super::patch::{EditOutcome, TreeEdit};
use crate::error::ErrorKind;
use crate::path::Path;

fn path(text: &str) -> Path {
    Path::pointer(text).unwrap()
}

fn edit(op: &str, at: &str, with: &str) -> TreeEdit {
    let path_of = path;
    let value = || with.as_bytes().into();
    let path = path(at);
    match op {
        "add" => TreeEdit::Add { path, value: value() },
        "remove" => TreeEdit::Remove { path },
        "replace" => TreeEdit::Replace { path, value: value() },
        "move" => TreeEdit::Move { from: path_of(with), path },
        "copy" => TreeEdit::Copy { from: path_of(with), path },
        _ => TreeEdit::Test { path, value: value() },
    }
}

fn patched(document: &str, edits: &[(&str, &str, &str)]) -> Result<String, String> {
    let mut tree = Tree::new(document.as_bytes().to_vec(), 1 << 20).unwrap();
    for (op, at, with) in edits {
        match tree.apply(&edit(op, at, with), false) {
            Ok(EditOutcome::Differs | EditOutcome::Lacks) => break,
            Ok(_) => {}
            Err(raise) => {
                assert_eq!(raise.kind, ErrorKind::Patch);
                return Err(raise.message.into_owned());
            }
        }
    }
    let mut out = Vec::new();
    tree.write(|bytes| out.extend_from_slice(bytes));
    Ok(String::from_utf8(out).unwrap())
}

#[track_caller]
fn check(document: &str, edits: &[(&str, &str, &str)], expected: Result<&str, &str>) {
    let patched = patched(document, edits);
    assert_eq!(patched.as_deref().map_err(String::as_str), expected);
}

#[test]
fn untouched_values_are_verbatim() {
    let document = r#"{"a":{"x":1.10,"y":"\u0041\/"},"b":[1E400,{"k":-0}],"\u0063":[]}"#;
    check(document, &[], Ok(document));
    check(
        document,
        &[("remove", "/a/x", ""), ("replace", "/b/1/k", "{}"), ("add", "/c/-", "7")],
        Ok(r#"{"a":{"y":"\u0041\/"},"b":[1E400,{"k":{}}],"\u0063":[7]}"#),
    );
}

#[test]
fn duplicate_members() {
    let document = r#"{"a":{"b":1},"x":0,"\u0061":{"b":2,"c":3}}"#;
    check(document, &[("remove", "/a", "")], Ok(r#"{"x":0}"#));
    check(document, &[("remove", "/a/b", "")], Ok(r#"{"a":{},"x":0,"\u0061":{"c":3}}"#));
    check(document, &[("remove", "/a/c", "")], Ok(r#"{"a":{"b":1},"x":0,"\u0061":{"b":2}}"#));
    check(document, &[("replace", "/a", "9")], Ok(r#"{"a":9,"x":0}"#));
    check(
        document,
        &[("replace", "/a/c", "9")],
        Ok(r#"{"a":{"b":1},"x":0,"\u0061":{"b":2,"c":9}}"#),
    );
    check(document, &[("replace", "/a/b", "9")], Ok(r#"{"a":{"b":9},"x":0,"\u0061":{"c":3}}"#));
    check(document, &[("add", "/a/c", "9")], Ok(r#"{"a":{"b":1,"c":9},"x":0,"\u0061":{"b":2}}"#));
    check(document, &[("move", "/y", "/a/b")], Ok(r#"{"a":{},"x":0,"\u0061":{"c":3},"y":1}"#));
    check(
        document,
        &[("copy", "/y", "/a/b")],
        Ok(r#"{"a":{"b":1},"x":0,"\u0061":{"b":2,"c":3},"y":1}"#),
    );
    check(document, &[("move", "/y", "/a/c")], Err("no value at /a/c"));
    check(document, &[("test", "/a/b", "2"), ("remove", "/x", "")], Ok(document));
}

#[test]
fn moves_into_and_out_of() {
    let document = r#"{"a":{"b":{"c":1}},"d":[0,1,2]}"#;
    check(document, &[("move", "/a/b/x", "/a/b")], Err("a value cannot be moved into itself"));
    check(document, &[("move", "/a/b", "/a/b")], Ok(document));
    check(document, &[("move", "/a", "/a/b")], Ok(r#"{"a":{"c":1},"d":[0,1,2]}"#));
    check(document, &[("move", "", "/a/b")], Ok(r#"{"c":1}"#));
    check(
        document,
        &[("copy", "/a/b/d", "/a")],
        Ok(r#"{"a":{"b":{"c":1,"d":{"b":{"c":1}}}},"d":[0,1,2]}"#),
    );
    check(document, &[("move", "/d/0", "/d/2")], Ok(r#"{"a":{"b":{"c":1}},"d":[2,0,1]}"#));
    check(document, &[("move", "/d/2", "/d/0")], Ok(r#"{"a":{"b":{"c":1}},"d":[1,2,0]}"#));
    check(
        document,
        &[("move", "/d/3", "/d/0")],
        Err("the array has 2 elements, so that index is out of range"),
    );
}

#[test]
fn errors_name_the_first_missing_step() {
    let document = r#"{"a":{"b":[1]}}"#;
    check(document, &[("remove", "/a/x/y", "")], Err("no value at /a/x"));
    check(document, &[("replace", "/a/b/1", "0")], Err("no value at /a/b/1"));
    check(document, &[("remove", "/a/b/-", "")], Err("no value at /a/b/-"));
    check(
        document,
        &[("add", "/a/b/01", "0")],
        Err("the target is an array, which takes an index or `-`"),
    );
    check(
        document,
        &[("add", "/a/b/0/x", "0")],
        Err("the parent of the target is neither an object nor an array"),
    );
    check(document, &[("add", "/x/y", "0")], Err("no value at /x"));
    check(document, &[("remove", "", "")], Err("the document itself cannot be removed"));
}

#[test]
fn growth_is_charged() {
    let mut tree = Tree::new(br#"{"a":[1,2,3]}"#.to_vec(), 4096).unwrap();
    let double = TreeEdit::Copy { from: path("/a"), path: path("/a/0") };
    let failed = (0..100).find_map(|_| tree.apply(&double, false).err()).unwrap();
    assert_eq!(failed.kind, ErrorKind::Limit);
    assert!(tree.peak() <= 4096);
    assert_eq!(Tree::new(vec![b' '; 5000], 4096).unwrap_err().kind, ErrorKind::Limit);
}
