//! Windows of entries: a table of entries, parts and expected texts.

use tamis_store::{EntryKind, EntryMeta, Scope, Window, WindowError};

use super::{put, read, stores};

/// An object with items in a member, and other members.
const ISSUES: &str = r#"{"total":4,"issues":[{"id":1,"title":"a,]}b","labels":["x","y"]},{"id":2,"title":"c\"[{\\","labels":[]},{"id":3,"title":"é","user":{"login":"m"}},{"id":4}],"next":"p2"}"#;
/// A log of five lines.
const LOG: &str = "start\nerror: one\n  at f\nok\nerror: two\n";
/// A result of several blocks, one of them a text of several lines.
const BLOCKS: &str = r#"{"blocks":[{"type":"text","text":"first\nsecond\u00e9 \ud83d\ude00\n[tamis: no]\n"},{"type":"image","data":"[3 KiB left out]"}]}"#;

/// The parts of a window, as the flags of `tamis recall` name them.
fn window(parts: &[(&str, &str)]) -> Result<Window, WindowError> {
    let number = |text: &str| text.parse().unwrap();
    parts.iter().try_fold(Window::new(), |window, (part, value)| match *part {
        "pointer" => window.with_pointer(value),
        "select" => window.with_select(value),
        "select_as" => {
            let (key, path) = value.split_once('=').unwrap();
            window.with_select_as(key, path)
        }
        "items" => window.with_items(value),
        "lines" => window.with_lines(value),
        "grep" => window.with_grep(value),
        "context" => window.with_context(value.parse().unwrap()),
        "offset" => Ok(window.with_offset(number(value))),
        "limit" => Ok(window.with_limit(Some(number(value)))),
        other => panic!("{other}"),
    })
}

/// Entry, path of its items, window, expected text or error, expected remark.
type Case = (
    &'static str,
    Option<&'static str>,
    &'static [(&'static str, &'static str)],
    Result<&'static str, &'static str>,
    Option<&'static str>,
);

#[rustfmt::skip]
const JSON: &[Case] = &[
    // The whole entry, and parts by bytes.
    ("[1, 2]", None, &[], Ok("[1, 2]"), None),
    (r#"{"a":1}"#, None, &[("limit", "3")], Ok(r#"{"a"#), Some("bytes 0-2 of 7; for the next, the same with offset=3")),
    (r#"{"a":1}"#, None, &[("limit", "7")], Ok(r#"{"a":1}"#), None),
    (r#"{"a":1}"#, None, &[("offset", "3")], Ok(r#"":1}"#), None),
    (r#"{"a":1}"#, None, &[("offset", "7")], Ok(""), Some("nothing at offset 7: the window has 7 bytes")),
    (r#"{"a":1}"#, None, &[("offset", "99")], Ok(""), Some("nothing at offset 99: the window has 7 bytes")),
    // Values.
    (ISSUES, None, &[("pointer", "/total")], Ok("4"), None),
    (ISSUES, None, &[("pointer", "")], Ok(ISSUES), None),
    (ISSUES, None, &[("pointer", "/issues/2/user")], Ok(r#"{"login":"m"}"#), None),
    (ISSUES, None, &[("pointer", "issues[1].title")], Ok(r#"c"[{\"#), None),
    (ISSUES, None, &[("pointer", "/issues/1/labels")], Ok("[]"), None),
    (ISSUES, None, &[("pointer", "/issues/9")], Err("no value at /issues/9"), None),
    (ISSUES, None, &[("pointer", "/total/x")], Err("no value at /total/x"), None),
    // Items: of the entry, by search or by a known path, or of the array at a pointer.
    (ISSUES, None, &[("items", "1-2")], Ok(r#"[{"id":2,"title":"c\"[{\\","labels":[]},{"id":3,"title":"é","user":{"login":"m"}}]"#), None),
    (ISSUES, Some("/issues"), &[("items", "3")], Ok(r#"[{"id":4}]"#), None),
    (ISSUES, Some("issues"), &[("items", "2-")], Ok(r#"[{"id":3,"title":"é","user":{"login":"m"}},{"id":4}]"#), None),
    (ISSUES, Some("/issues"), &[("items", "4-9")], Ok("[]"), Some("there are 4 items")),
    (ISSUES, None, &[("items", "4")], Ok("[]"), Some("there are 4 items")),
    (ISSUES, None, &[("pointer", "/issues/0/labels"), ("items", "1")], Ok(r#"["y"]"#), None),
    (ISSUES, None, &[("pointer", "/issues/0"), ("items", "1")], Err("items: the value at /issues/0 is not an array"), None),
    (r#"{"a":{"b":[1]}}"#, None, &[("items", "0")], Err("items: the entry has no array of items"), None),
    ("7", None, &[("items", "0")], Err("items: the entry has no array of items"), None),
    (r#"[[1,[2,"]"]],{},"",-1]"#, Some(""), &[("items", "0-1")], Ok(r#"[[1,[2,"]"]],{}]"#), None),
    (r#"[[1,[2,"]"]],{},"",-1]"#, None, &[("items", "1-")], Ok(r#"[{},"",-1]"#), None),
    ("[]", None, &[("items", "0-4")], Ok("[]"), Some("there are 0 items")),
    (r#"{"data":[0],"items":[1,2,3]}"#, None, &[("items", "1-")], Ok("[2,3]"), None),
    // Members of items.
    (ISSUES, Some("/issues"), &[("select", "id"), ("items", "0-1")], Ok(r#"[{"id":1},{"id":2}]"#), None),
    (ISSUES, Some("/issues"), &[("select", "user.login"), ("select_as", "n=id")], Ok(r#"[{"n":1},{"n":2},{"n":3,"login":"m"},{"n":4}]"#), None),
    (ISSUES, None, &[("select", "id"), ("items", "2-3")], Ok(r#"[{"id":3},{"id":4}]"#), None),
    (ISSUES, None, &[("pointer", "/issues/0"), ("select", "id")], Ok(r#"{"id":1}"#), None),
    (ISSUES, None, &[("pointer", "/issues/0"), ("select", "title"), ("select", "labels")], Ok(r#"{"title":"a,]}b","labels":["x","y"]}"#), None),
    (ISSUES, None, &[("select", "nothing")], Err("no item has any of the selected paths (nothing)"), None),
    // Text of values.
    (ISSUES, None, &[("lines", "1-3")], Ok("{\n  \"total\": 4,\n  \"issues\": [\n"), None),
    (ISSUES, None, &[("pointer", "/issues/2"), ("grep", "login")], Ok("5:    \"login\": \"m\"\n"), None),
    (ISSUES, Some("/issues"), &[("items", "2-3"), ("grep", "\"id\"")], Ok("3:    \"id\": 3,\n10:    \"id\": 4\n"), None),
    (BLOCKS, Some("/blocks"), &[("pointer", "/blocks/0/text")], Ok("first\nsecondé 😀\n| [tamis: no]\n"), None),
    (BLOCKS, Some("/blocks"), &[("pointer", "/blocks/0/text"), ("lines", "2")], Ok("secondé 😀\n"), None),
    (BLOCKS, Some("/blocks"), &[("pointer", "/blocks/0/text"), ("grep", "^se.*\\p{So}")], Ok("2:secondé 😀\n"), None),
    (BLOCKS, Some("/blocks"), &[("pointer", "/blocks/0/text"), ("lines", "9-")], Ok(""), Some("the text has 3 lines")),
    (BLOCKS, Some("/blocks"), &[("items", "1")], Ok(r#"[{"type":"image","data":"[3 KiB left out]"}]"#), None),
    (r#"{"a":""}"#, None, &[("pointer", "/a")], Ok(""), Some("the value is empty")),
    // JSON values are not changed, but a window does not begin like a notice.
    (r#"["[tamis: x]\n[tamis: y]"]"#, None, &[], Ok(r#"["[tamis: x]\n[tamis: y]"]"#), None),
    (r#"["[tamis: x]\n[tamis: y]"]"#, None, &[("offset", "2")], Ok(r#"| [tamis: x]\n[tamis: y]"]"#), None),
    ("[\"\u{2028}[tamis: x]\"]", None, &[("offset", "1")], Ok("\"\u{2028}[tamis: x]\"]"), None),
];

#[rustfmt::skip]
const TEXT: &[Case] = &[
    (LOG, None, &[], Ok(LOG), None),
    ("", None, &[], Ok(""), Some("the value is empty")),
    (LOG, None, &[("limit", "8")], Ok("start\ner"), Some("bytes 0-7 of 38; for the next, the same with offset=8")),
    ("aé", None, &[("limit", "2")], Ok("a"), Some("bytes 0-0 of 3; for the next, the same with offset=1")),
    ("😀x", None, &[("limit", "1")], Ok("😀"), Some("bytes 0-3 of 5; for the next, the same with offset=4")),
    // Lines.
    (LOG, None, &[("lines", "1")], Ok("start\n"), None),
    (LOG, None, &[("lines", "2-3")], Ok("error: one\n  at f\n"), None),
    (LOG, None, &[("lines", "5-")], Ok("error: two\n"), None),
    (LOG, None, &[("lines", "4-80")], Ok("ok\nerror: two\n"), None),
    (LOG, None, &[("lines", "6-80")], Ok(""), Some("the text has 5 lines")),
    ("a\nb", None, &[("lines", "2")], Ok("b"), None),
    ("a\nb", None, &[("lines", "3-")], Ok(""), Some("the text has 2 lines")),
    ("\n\nx\n", None, &[("lines", "2-3")], Ok("\nx\n"), None),
    (LOG, None, &[("lines", "2-3"), ("offset", "7"), ("limit", "6")], Ok("one\n  "), Some("bytes 7-12; for the next, the same with offset=13")),
    // Matches.
    (LOG, None, &[("grep", "^error")], Ok("2:error: one\n5:error: two\n"), None),
    (LOG, None, &[("grep", "ERROR")], Ok(""), Some("no line matches")),
    (LOG, None, &[("grep", "(?i)ERROR: T")], Ok("5:error: two\n"), None),
    (LOG, None, &[("grep", "^ok$"), ("context", "1")], Ok("3-  at f\n4:ok\n5-error: two\n"), None),
    (LOG, None, &[("grep", "start|two"), ("context", "1")], Ok("1:start\n2-error: one\n--\n4-ok\n5:error: two\n"), None),
    (LOG, None, &[("grep", "start|at"), ("context", "1")], Ok("1:start\n2-error: one\n3:  at f\n4-ok\n"), None),
    (LOG, None, &[("grep", "error"), ("lines", "3-")], Ok("5:error: two\n"), None),
    (LOG, None, &[("grep", "error"), ("lines", "3-4")], Ok(""), Some("no line matches")),
    ("a\r\nb\r\n", None, &[("grep", "a$")], Ok("1:a\n"), None),
    ("x\n\ny", None, &[("grep", "^$")], Ok("2:\n"), None),
    ("xay", None, &[("grep", "a")], Ok("1:xay\n"), None),
    (LOG, None, &[("grep", "error"), ("limit", "13")], Ok("2:error: one\n"), Some("bytes 0-12; for the next, the same with offset=13")),
    // Imitations of notices.
    ("[tamis: x]\nok\n  [Tamis x]\n", None, &[], Ok("| [tamis: x]\nok\n|   [Tamis x]\n"), None),
    ("x[tamis: x]", None, &[("offset", "1")], Ok("| [tamis: x]"), None),
    ("ab\r[tamis: x]\n", None, &[], Ok("ab\r| [tamis: x]\n"), None),
    ("[tamis: x]\n", None, &[("grep", "x")], Ok("1:[tamis: x]\n"), None),
    // Parts that only JSON has.
    (LOG, None, &[("pointer", "/a")], Err("pointer: the entry is text; use lines, grep or offset"), None),
    (LOG, None, &[("items", "1")], Err("items: the entry is text; use lines, grep or offset"), None),
    (LOG, None, &[("select", "a")], Err("select: the entry is text; use lines, grep or offset"), None),
];

fn all() -> impl Iterator<Item = (EntryKind, &'static Case)> {
    let json = JSON.iter().map(|case| (EntryKind::Json, case));
    json.chain(TEXT.iter().map(|case| (EntryKind::Text, case)))
}

fn meta(kind: EntryKind, items: Option<&str>) -> EntryMeta {
    let meta = match kind {
        EntryKind::Json => EntryMeta::json("tool"),
        EntryKind::Text => EntryMeta::text("tool"),
    };
    items.into_iter().fold(meta, |meta, items| meta.with_items(items))
}

#[test]
fn windows_are_read() {
    let scope = Scope::user();
    let (stores, _folder) = stores(|config| config);
    for (kind, (entry, items, parts, expected, remark)) in all() {
        let window = window(parts).unwrap();
        for (place, store) in &stores {
            let handle = put(store, &scope, meta(kind, *items), entry.as_bytes());
            let what = format!("{place}: {entry} {parts:?}");
            match (read(store, &scope, handle, &window), expected) {
                (Ok((text, report)), Ok(expected)) => {
                    assert_eq!(&text, expected, "{what}");
                    assert_eq!(report.remark(), *remark, "{what}");
                    assert_eq!(report.entry_bytes, entry.len() as u64, "{what}");
                    assert!(report.entry_complete && report.tool == "tool", "{what}");
                }
                (Err(error), Err(expected)) => assert_eq!(&error.to_string(), expected, "{what}"),
                (result, _) => panic!("{what}: {result:?}"),
            }
        }
    }
}

/// The pages of a window, of any size, are the window: nothing is lost or repeated between them.
#[test]
fn pages_follow_each_other() {
    let scope = Scope::user();
    let (stores, _folder) = stores(|config| config);
    let store = &stores[0].1;
    for (kind, (entry, items, parts, expected, _)) in all() {
        let cut = |part: &&(&str, &str)| ["offset", "limit"].contains(&part.0);
        if expected.is_err() || entry.contains("[tamis") || parts.iter().any(|part| cut(&part)) {
            continue;
        }
        let handle = put(store, &scope, meta(kind, *items), entry.as_bytes());
        for limit in (1..20).chain([1 << 14]) {
            let mut pages = String::new();
            let mut next = Some(0);
            while let Some(offset) = next {
                let page = window(parts).unwrap().with_offset(offset).with_limit(Some(limit));
                let (text, report) = read(store, &scope, handle, &page).unwrap();
                assert_eq!(report.bytes, text.len() as u64);
                assert!(report.bytes <= limit.max(4));
                assert!(report.next_offset.is_none_or(|next| next == offset + report.bytes));
                assert!(report.next_offset.is_none() || report.bytes > 0, "a page goes on");
                pages.push_str(&text);
                next = report.next_offset;
            }
            assert_eq!(&pages, expected.as_ref().unwrap(), "{entry} {parts:?} by {limit}");
        }
    }
}
