//! Documents and what the encodings make of them.

use super::toon::encode;
use crate::report::EncodeSkip;

#[track_caller]
fn check(json: &str, expected: &str) {
    assert_eq!(encode(json.as_bytes()).unwrap(), expected, "{json}");
}

#[test]
fn scalars() {
    check("{}", "");
    check("[]", "[]");
    check(r#""a b""#, "a b");
    check(r#""""#, r#""""#);
    check("\"\u{feff}a\"", "\"\u{feff}a\"");
    check(" null ", "null");
    check(
        r#"["true","1e3","+1","-","a:b","\u0001","x\ty"," a","a,b"]"#,
        r#"[9]: "true","1e3","+1","-","a:b","\u0001","x\ty"," a","a,b""#,
    );
}

#[test]
fn members() {
    check(r#"{"a":1,"b c":{"d":[]},"e":{}}"#, "a: 1\n\"b c\":\n  d: []\ne:");
    check(r#"{"t":["x","y"]}"#, "t[2]: x,y");
    check(r#"{"o":{"p":{"n":1},"q":{"n":2}}}"#, "o[2:]{n}:\n  p: 1\n  q: 2");
}

#[test]
fn tables_and_lists() {
    check(
        r#"[{"id":1,"o":{"n":"p","m":1}},{"o":{"m":2,"n":"q"},"id":2}]"#,
        "[2]{id,o{n,m}}:\n  1,p,1\n  2,q,2",
    );
    check(
        r#"{"l":[1,{"a":[{"b":1},{"b":2}],"c":{}},[2,[]],{},[]]}"#,
        "l[5]:\n  - 1\n  - a[2]{b}:\n      1\n      2\n    c:\n  - [2]:\n    - 2\n    - [0]:\n  -\n  - [0]:",
    );
}

#[test]
fn numbers() {
    check(
        "[1.5,100,-0,1.10,1e3,1E21,1e-7,1.5e-6,12345678901234567890]",
        "[9]: 1.5,100,0,1.1,1000,1e+21,1e-7,0.0000015,12345678901234567890",
    );
    for number in ["1e400", "1e-400", "1.00000000000000000001e0", "0.100000000000000000010"] {
        assert_eq!(encode(number.as_bytes()), Err(EncodeSkip::Number), "{number}");
    }
}

#[test]
fn documents_that_cannot_be_carried() {
    assert_eq!(encode(br#"{"a":1,"\u0061":2}"#), Err(EncodeSkip::DuplicateKey));
    assert_eq!(encode(br#"["\ud800"]"#), Err(EncodeSkip::LoneSurrogate));
}

#[test]
fn depth_does_not_recurse() {
    let depth = 1_000;
    for (open, close) in [("[1,", "]"), (r#"{"a":"#, "}"), (r#"[{"a":"#, "}]")] {
        let text = format!("{}1{}", open.repeat(depth), close.repeat(depth));
        assert!(encode(text.as_bytes()).is_ok());
    }
}

#[test]
fn indentation_does_not_grow_without_bound() {
    let rows = vec!["[1]"; 20_000].join(",");
    let text = format!("{}{rows}{}", "[".repeat(1_000), "]".repeat(1_000));
    assert_eq!(encode(text.as_bytes()), Err(EncodeSkip::Size));
}

/// Encodes the lines of the file in `TAMIS_TOON_INPUT` for a comparison with the reference. Each line of the output is
/// a JSON string, or `null` for a document that cannot be carried.
#[test]
#[ignore = "needs a file of documents; see crates/interop/toon"]
fn encode_lines_of_a_file() {
    let input = std::env::var_os("TAMIS_TOON_INPUT").unwrap();
    let output = std::env::var_os("TAMIS_TOON_OUTPUT").unwrap();
    let mut lines = String::new();
    for document in std::fs::read_to_string(input).unwrap().lines() {
        match encode(document.as_bytes()) {
            Ok(text) => lines.push_str(&as_json_string(&text)),
            Err(_) => lines.push_str("null"),
        }
        lines.push('\n');
    }
    std::fs::write(output, lines).unwrap();
}

fn as_json_string(text: &str) -> String {
    let mut string = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => string.extend(['\\', character]),
            '\0'..='\u{1f}' => string.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => string.push(character),
        }
    }
    string.push('"');
    string
}
