//! The pointers of RFC 6901, section 5, each as the path of a `copy` and of a `retain`.

use tamis::spec::PatchOp;
use tamis::{Program, Spec, filter_slice};

const DOCUMENT: &str = r#"{
    "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8
}"#;

#[test]
fn pointers_of_the_rfc() {
    let pointers = [
        ("/foo", r#"["bar","baz"]"#),
        ("/foo/0", r#""bar""#),
        ("/", "0"),
        ("/a~1b", "1"),
        ("/c%d", "2"),
        ("/e^f", "3"),
        ("/g|h", "4"),
        ("/i\\j", "5"),
        ("/k\"l", "6"),
        ("/ ", "7"),
        ("/m~0n", "8"),
    ];
    for (pointer, value) in pointers {
        let spec = Spec::new().patch(PatchOp::move_from(pointer, ""));
        let program = Program::compile(&spec).unwrap();
        let (output, _) = filter_slice(&program, DOCUMENT.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(output).unwrap(), value, "{pointer}");

        let program = Program::compile(&Spec::new().retain(pointer)).unwrap();
        let (output, _) = filter_slice(&program, DOCUMENT.as_bytes()).unwrap();
        let output = String::from_utf8(output).unwrap();
        assert!(
            output.ends_with(&format!(":{value}}}")) || pointer == "/foo/0",
            "{pointer}: {output}"
        );
    }
    // The whole document.
    let program = Program::compile(&Spec::new().patch(PatchOp::copy_from("", "/self"))).unwrap();
    let (output, _) = filter_slice(&program, br#"{"a":1}"#).unwrap();
    assert_eq!(output, br#"{"a":1,"self":{"a":1}}"#);
}
