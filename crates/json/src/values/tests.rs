//! Tests of the finder: which values are found and where, at every cut; errors; limits; and the work for hostile input.

use super::{FoundValue, JsonKind, ValueFinder, ValuePaths};
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;

/// Feeds a document in chunks that end at `cuts`, and a last one. Also returns the values that were found before an error.
fn run(paths: &ValuePaths, document: &[u8], cuts: &[usize]) -> (Vec<FoundValue>, Option<Error>) {
    let mut finder = ValueFinder::new(paths);
    let mut begin = 0;
    let mut failed = None;
    for end in cuts.iter().copied().chain([document.len()]) {
        if let Err(error) = finder.write(&document[begin..end]) {
            assert_eq!(finder.write(b"").unwrap_err().kind(), ErrorKind::Failed);
            failed = Some(error);
            break;
        }
        begin = end;
    }
    if failed.is_none() {
        failed = finder.end().err();
    }
    assert_eq!(finder.end().unwrap_err().kind(), ErrorKind::Failed);
    let found: Vec<FoundValue> = finder.found().cloned().collect();
    assert_eq!(finder.into_found(), found);
    (found, failed)
}

/// The result of a run as text: `path[indices] value`, with `key:` before the value of a member, then the error.
fn shown(document: &[u8], (found, failed): (Vec<FoundValue>, Option<Error>)) -> Vec<String> {
    let text = |from: u64, to: u64| {
        String::from_utf8_lossy(&document[from as usize..to as usize]).into_owned()
    };
    let show = |value: &FoundValue| {
        let key = value.key.as_ref().map(|key| format!("{}:", text(key.start, key.end)));
        let literal = text(value.span.start, value.span.end);
        let kind = match literal.as_bytes()[0] {
            b'{' => JsonKind::Object,
            b'[' => JsonKind::Array,
            b'"' => JsonKind::String,
            b't' | b'f' => JsonKind::Bool,
            b'n' => JsonKind::Null,
            _ => JsonKind::Number,
        };
        assert_eq!(value.kind, kind, "{literal}");
        let indices = value.indices();
        format!("{}{indices:?} {}{literal}", value.path, key.unwrap_or_default())
    };
    let mut lines: Vec<String> = found.iter().map(show).collect();
    lines.extend(failed.map(|error| format!("error: {error}")));
    lines
}

/// Runs a document whole, at every cut in two, and byte by byte; the result is always the same.
fn find_all(paths: &ValuePaths, document: &[u8]) -> Vec<String> {
    let whole = shown(document, run(paths, document, &[]));
    for cut in 0..=document.len() {
        let cut_in_two = shown(document, run(paths, document, &[cut]));
        assert_eq!(cut_in_two, whole, "{} at {cut}", document.escape_ascii());
    }
    let bytes: Vec<usize> = (1..document.len()).collect();
    assert_eq!(shown(document, run(paths, document, &bytes)), whole, "{}", document.escape_ascii());
    whole
}

#[test]
fn values_are_found_with_their_places() {
    // Paths, a document, and what is found in it.
    let cases: &[(&[&str], &str, &[&str])] = &[
        (
            &["id", "method"],
            r#"{"id": 1.0 , "method":"x"}"#,
            &[r#"0[] "id":1.0"#, r#"1[] "method":"x""#],
        ),
        (&["id"], r#"{"a":{"id":1},"b":[{"id":2}]}"#, &[]),
        (&["id"], r#" [{"id":1}] "#, &[]),
        (&["id"], "7", &[]),
        (&["", "a"], " {\"a\" : [ ] } ", &[r#"0[] {"a" : [ ] }"#, r#"1[] "a":[ ]"#]),
        (&[""], " 12 ", &["0[] 12"]),
        (&[""], "\"\"", &["0[] \"\""]),
        (&[""], "\u{feff}null", &["0[] null"]),
        // Names are compared after unescaping, and every duplicate is found.
        (
            &["id"],
            r#"{"id":1,"\u0069d":"2","i\u0064":{},"Id":4,"id ":5,"id":[6]}"#,
            &[r#"0[] "id":1"#, r#"0[] "\u0069d":"2""#, r#"0[] "i\u0064":{}"#, r#"0[] "id":[6]"#],
        ),
        (&["\u{e9}"], r#"{"\u00e9":1,"é":2,"\ud800":3}"#, &[r#"0[] "\u00e9":1"#, r#"0[] "é":2"#]),
        // A container, values inside it, and a path twice.
        (
            &["r", "r.t", "r"],
            r#"{"r":{"t":true},"r":{"t":[{"t":0}]},"r":false}"#,
            &[
                r#"0[] "r":{"t":true}"#,
                r#"2[] "r":{"t":true}"#,
                r#"1[] "t":true"#,
                r#"0[] "r":{"t":[{"t":0}]}"#,
                r#"2[] "r":{"t":[{"t":0}]}"#,
                r#"1[] "t":[{"t":0}]"#,
                r#"0[] "r":false"#,
                r#"2[] "r":false"#,
            ],
        ),
        // Wildcards stand for elements, not for members.
        (
            &["c[].t", "c[]"],
            r#"{"c":[{"t":"x"},7,[{"t":0}],{"\u0074":null,"t":{}}],"c":{"k":{"t":1}}}"#,
            &[
                r#"1[0] {"t":"x"}"#,
                r#"0[0] "t":"x""#,
                "1[1] 7",
                r#"1[2] [{"t":0}]"#,
                r#"1[3] {"\u0074":null,"t":{}}"#,
                r#"0[3] "\u0074":null"#,
                r#"0[3] "t":{}"#,
            ],
        ),
        (&["[]"], r#"[1,"a",[2]]"#, &["0[0] 1", r#"0[1] "a""#, "0[2] [2]"]),
        (&["[].id", "*"], r#"[{"id":1}]"#, &[r#"1[0] {"id":1}"#, r#"0[0] "id":1"#]),
        (&["[]"], r#"{"a":1}"#, &[]),
        (&["m[][]"], r#"{"m":[[1,2],3,[],[4]]}"#, &["0[0, 0] 1", "0[0, 1] 2", "0[3, 0] 4"]),
        // An index is an element, or a member of that name.
        (
            &["a[1]", "a[]", "/a/1/x", "a[].x"],
            r#"{"a":[0,{"x":9}],"a":{"1":{"x":8}}}"#,
            &[
                "1[0] 0",
                r#"0[] {"x":9}"#,
                r#"1[1] {"x":9}"#,
                r#"2[] "x":9"#,
                r#"3[1] "x":9"#,
                r#"0[] "1":{"x":8}"#,
                r#"2[] "x":8"#,
            ],
        ),
        (
            &[r#"_meta["io.example/id"]"#, "/_meta/io.example~1id"],
            r#"{"_meta":{"io":{"example/id":0},"io.example/id":"v","io.example\/id":2}}"#,
            &[
                r#"0[] "io.example/id":"v""#,
                r#"1[] "io.example/id":"v""#,
                r#"0[] "io.example\/id":2"#,
                r#"1[] "io.example\/id":2"#,
            ],
        ),
        // White space, strings that look like JSON, and numbers at the end of a container.
        (
            &["a", "b", "c"],
            "\t{ \"a\"\n:\r\"{\\\"b\\\":1}\" , \"b\" : -1.5E+10 \n,\"c\":[ 1 , 2 ]\t}\n",
            &[r#"0[] "a":"{\"b\":1}""#, r#"1[] "b":-1.5E+10"#, r#"2[] "c":[ 1 , 2 ]"#],
        ),
        (&["a"], r#"{"a":12}"#, &[r#"0[] "a":12"#]),
        (&["-"], r#"{"-":1}"#, &[r#"0[] "-":1"#]),
    ];
    for (paths, document, expected) in cases {
        let found = find_all(&ValuePaths::new(*paths).unwrap(), document.as_bytes());
        assert_eq!(found, *expected, "{paths:?} in {document}");
    }
}

/// Values before an error stay readable. The error is that of the whole document, also far from any path.
#[test]
fn invalid_documents_are_refused() {
    let cases: &[(&str, &[&str])] = &[
        ("", &["error: byte 0: the document is empty"]),
        ("{\"id\":1", &["error: byte 7: the document ends too early"]),
        ("{\"id\":1,", &[r#"0[] "id":1"#, "error: byte 8: the document ends too early"]),
        ("{\"id\":{}", &[r#"0[] "id":{}"#, "error: byte 8: the document ends too early"]),
        ("{\"id\":{\"x\":[1,}}", &["error: byte 14 at /id/x/1: expected a value"]),
        ("{\"a\":{\"b\":[01]},\"id\":1}", &["error: byte 12 at /a/b/0: invalid number or literal"]),
        (
            "{\"id\":true,\"a\":\"\\x\"}",
            &[r#"0[] "id":true"#, "error: byte 17 at /a: invalid escape sequence"],
        ),
        (
            "{\"id\":1} {}",
            &[r#"0[] "id":1"#, "error: byte 9: trailing characters after the document"],
        ),
        ("{\"id\":nul}", &["error: byte 9 at /id: invalid number or literal"]),
    ];
    let paths = ValuePaths::new(["id"]).unwrap();
    for (document, expected) in cases {
        let found = find_all(&paths, document.as_bytes());
        let same = found.len() == expected.len()
            && found.iter().zip(*expected).all(|(found, expected)| found.starts_with(expected));
        assert!(same, "{document}: {found:#?}");
    }
}

#[test]
fn invalid_utf8_is_refused() {
    let paths = ValuePaths::new(["id"]).unwrap();
    for document in [b"{\"a\":\"\xFF\"}".as_slice(), b"{\"a\":\"\x01\"}", b"\xEF\xBB{}"] {
        assert!(paths.find(document).is_err());
        assert_eq!(find_all(&paths, document).len(), 1);
    }
}

#[test]
fn limits_are_named() {
    let deep = format!("{{\"id\":1,\"a\":{}{}}}", "[".repeat(2000), "]".repeat(2000));
    let paths = ValuePaths::new(["id"]).unwrap();
    let (found, failed) = run(&paths, deep.as_bytes(), &[]);
    assert_eq!((found.len(), failed.unwrap().limit()), (1, Some("depth")));
    let deeper = paths.with_limits(Limits::new().with_depth(10_000));
    assert_eq!(deeper.find(deep.as_bytes()).unwrap().len(), 1);

    let paths = ValuePaths::new(["[]", "[].a"]).unwrap().with_max_values(3);
    assert_eq!(paths.max_values(), 3);
    assert_eq!(paths.find(b"[1,2,3]").unwrap().len(), 3);
    for document in ["[1,2,3,4]", r#"[{"a":1},{"a":2}]"#] {
        let (found, failed) = run(&paths, document.as_bytes(), &[]);
        let failed = failed.unwrap();
        assert_eq!((failed.kind(), failed.limit()), (ErrorKind::Limit, Some("max_values")));
        assert!(found.len() < 4);
    }

    // A key over the limit is accepted if no path can have it.
    let long = format!("{{\"{}\":1,\"id\":2}}", "k".repeat(100_000));
    assert_eq!(ValuePaths::new(["id"]).unwrap().find(long.as_bytes()).unwrap().len(), 1);
}

#[test]
fn invalid_paths_are_refused() {
    for (path, message) in [
        ("a.", "path: expected a name here"),
        ("a..b", "path: a path cannot search"),
        ("a[", "path: expected an index"),
        ("/a~2", "path: `~` must be"),
        ("$.a", "path: a path begins without `$`"),
        ("a{b}", "path: only `select` in a native spec has projections"),
    ] {
        let error = ValuePaths::new(["id", path]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Spec);
        assert!(error.message().starts_with(message), "{path}: {error}");
        assert!(error.excerpt().is_some());
    }
}

/// Steps of the machine stay linear in the document, whatever its form.
#[test]
fn work_is_linear() {
    let paths = ValuePaths::new(["id", "content[].text", "m[][].x", "m[0][1].x"]).unwrap();
    let shapes: [fn(usize) -> String; 6] = [
        |n| format!("{{\"id\":\"{}\"}}", "a".repeat(n)),
        |n| format!("{{\"id\":{}{}}}", "[".repeat(n.min(1000)), "]".repeat(n.min(1000))),
        |n| format!("{{{}}}", vec!["\"id\":1"; n / 7].join(",")),
        |n| format!("{{\"content\":[{}]}}", vec!["{\"text\":\"\"}"; n / 12].join(",")),
        |n| format!("{{\"m\":[{}]}}", vec!["[{\"x\":0},{}]"; n / 13].join(",")),
        |n| format!("{{\"a\":[{}]}}", vec!["{\"id\":[[]]}"; n / 12].join(",")),
    ];
    for (number, shape) in shapes.iter().enumerate() {
        let document = shape(200_000);
        for size in [1, 63, 4096, document.len()] {
            let mut finder = ValueFinder::new(&paths);
            for chunk in document.as_bytes().chunks(size) {
                finder.write(chunk).unwrap();
            }
            finder.end().unwrap();
            let most = 4 * document.len() as u64 + 100;
            assert!(finder.machine.steps() <= most, "shape {number} in chunks of {size}");
        }
    }
}
