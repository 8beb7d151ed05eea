//! Kinds, paths and counts of documents of any size, however they are cut; never a name or a value that was found.

use super::places::{MAX_PATH_BYTES, MAX_PLACES};
use super::{SensitivePlace, SensitiveReport, SensitiveScan};

fn token() -> String {
    ["gh", "p_", &"a1B2".repeat(9)].concat()
}

fn places(document: &str) -> Vec<(String, String, u64)> {
    let report = SensitiveReport::of(document.as_bytes());
    report.places.into_iter().map(|one| (one.path, one.kind, one.count)).collect()
}

#[test]
fn places_have_paths_and_kinds() {
    let token = token();
    let document = format!(
        r#"{{"by":[{{"mail":"mira@example.org"}},{{"mail":"x"}}],"log":"use {token}","card":4111111111111111,"api_key":null,"note":"\u0031\u00392.0.2.7"}}"#
    );
    let report = SensitiveReport::of(document.as_bytes());
    let places: Vec<_> =
        report.places.iter().map(|one| (one.path.as_str(), one.kind.as_str(), one.count)).collect();
    assert_eq!(
        places,
        [
            ("by[].mail", "email", 1),
            ("card", "card", 1),
            ("log", "github-token", 1),
            ("note", "ip-address", 1)
        ]
    );
    assert_eq!(report.kinds()["email"], 1);
    let text = SensitiveReport::of(format!("{token} and {token}").as_bytes());
    assert_eq!(text.places[0].count, 2);
    assert!(SensitiveReport::of(b"[1, {\"a\": \"b\"}]").places.is_empty());
}

/// A path never has a name that was found: at any depth, however it is escaped, whole or in part.
#[test]
fn names_that_were_found_are_marks() {
    let token = token();
    let document = format!(
        r#"{{"mira@example.org":{{"password":"tide"}},"{token}":[{{"mail":"noor@example.org"}}],"by":{{"\u006dira@example.org":{{"pin":7}},"use {token} for noor@example.org":{{"pin":7}},"4111111111111111":{{"pin":7}}}}}}"#
    );
    let found = places(&document);
    for (path, kind) in [
        ("", "email"),
        ("", "github-token"),
        ("[redacted:email].password", "named"),
        ("[redacted:github-token][].mail", "email"),
        ("by.[redacted:email].pin", "named"),
        ("by.[redacted:card].pin", "named"),
    ] {
        let has = found.iter().any(|(at, what, _)| at == path && what == kind);
        assert!(has, "{path} {kind}: {found:?}");
    }
    for (path, ..) in &found {
        assert!(!path.contains("a1B2") && !path.contains('@') && !path.contains("4111"), "{path}");
    }
}

/// A document of few bytes cannot have paths of many: names are cut, and paths are bounded.
#[test]
fn paths_are_bounded() {
    let long = "é".repeat(20_000);
    let found = places(&format!(r#"{{"{long}":{{"a":"mira@example.org"}}}}"#));
    assert!(found[0].0.len() < 200 && found[0].0.ends_with("….a"), "{found:?}");

    // Deep, with a long path to each of many members.
    let name = "n".repeat(120);
    let members: Vec<String> =
        (0..MAX_PLACES).map(|number| format!(r#""m{number}":"mira@example.org""#)).collect();
    let depth = 60;
    let document = format!(
        "{}{{{}}}{}",
        format!(r#"{{"{name}":"#).repeat(depth),
        members.join(","),
        "}".repeat(depth)
    );
    let found = places(&document);
    let bytes: usize = found.iter().map(|(path, ..)| path.len()).sum();
    assert!(bytes <= MAX_PATH_BYTES + 8, "{bytes}");
    assert_eq!(found.iter().map(|(.., count)| count).sum::<u64>(), MAX_PLACES as u64);
    let last = found.last().unwrap();
    assert!(last.0 == "…" && last.2 > 1, "{last:?}");
}

#[test]
fn any_depth_and_a_byte_order_mark() {
    let deep =
        |depth: usize| format!("{}\"mira@example.org\"{}", "[".repeat(depth), "]".repeat(depth));
    for depth in [0, 1, 63, 64, 65, 1000] {
        let found = places(&deep(depth));
        assert_eq!(found.len(), 1, "{depth}: {found:?}");
        assert_eq!(found[0].0, "[]".repeat(depth.min(64)), "{depth}");
    }
    assert_eq!(places("\u{feff}{\"password\":\"tide\"}")[0].0, "password");
}

/// The report does not depend on how the input was cut, whether it is JSON or not.
#[test]
fn chunks_may_be_cut_anywhere() {
    let token = token();
    let json = format!(
        r#"{{"use {token}":[{{"password":"tide","mail":"mira\u0040example.org"}}],"card":4111111111111111,"text":"{token} é"}}"#
    );
    for document in [format!("\u{feff}{json}"), json.clone(), json[..json.len() - 1].to_owned()] {
        let whole = SensitiveReport::of(document.as_bytes());
        assert!(whole.places.len() >= 2, "{whole:?}");
        for size in [1, 2, 3, 7, 64] {
            let mut scan = SensitiveScan::new();
            document.as_bytes().chunks(size).for_each(|chunk| scan.write(chunk));
            scan.end();
            assert_eq!(scan.into_report(), whole, "{size}: {document}");
        }
    }
}

/// Documents are counted together, and one that is not JSON does not disturb the others.
#[test]
fn several_documents() {
    let mut scan = SensitiveScan::new();
    for document in [
        r#"{"mail":"mira@example.org"}"#,
        r#"{"mail":"mira@example.org","#,
        "",
        "mail noor@example.org",
        r#"{"mail":"noor@example.org"}"#,
    ] {
        scan.write(document.as_bytes());
        scan.end();
    }
    let place =
        |path: &str, count| SensitivePlace { path: path.into(), kind: "email".into(), count };
    assert_eq!(scan.into_report().places, [place("", 2), place("mail", 2)]);
}

/// Values and names that are longer than any buffer are searched to their end.
#[test]
fn long_values_and_names() {
    let (token, long) = (token(), "lorem ipsum ".repeat(100_000));
    for (document, path) in [
        (format!(r#"{{"a":["{long}{token}"]}}"#), "a[]"),
        (format!(r#"{{"a":["{token} {long}"]}}"#), "a[]"),
        (format!("{long}{token}"), ""),
        // A name over the limit: the document is read as a text.
        (format!(r#"{{"{long}{token}":7}}"#), ""),
    ] {
        assert_eq!(places(&document), [(path.into(), "github-token".into(), 1)]);
    }
    let found = places(&format!(r#"{{"{} {token}":{{"pin":7}}}}"#, &long[..12_000]));
    assert_eq!(found[1], ("[redacted:github-token].pin".into(), "named".into(), 1));
}

/// The name of an array holds for its elements, also of arrays in it, but not for the members of objects in it. Amounts of tokens
/// and marks are not counted.
#[test]
fn values_that_their_names_show() {
    for (document, expected) in [
        (r#"{"password":["Tr0ub4dor-99x","b"],"x":["c"]}"#, &[("password[]", 2)][..]),
        (
            r#"{"secrets":[["a"],[],{"b":"c","pin":7},null,""]}"#,
            &[("secrets[].pin", 1), ("secrets[][]", 1)],
        ),
        (r#"[{"password":[]},"a",["b"]]"#, &[]),
        (r#"{"password":{"a":["b"]},"a":["c"]}"#, &[]),
        (
            r#"{"usage":{"prompt_tokens":12,"totalTokens":1.5e3,"max_tokens_to_sample":9},"max_tokens":4096}"#,
            &[],
        ),
        (
            r#"{"tokens":[101,2023,"a"],"refresh_tokens":"b","token":7,"pin":8}"#,
            &[("pin", 1), ("refresh_tokens", 1), ("token", 1), ("tokens[]", 1)],
        ),
        (r#"{"password":"[redacted]","pin":"[redacted:pin]","token":["[redacted:jwt 2]"]}"#, &[]),
        (
            r#"{"password":"[redacte","pin":"redacted","token":"\"[redacted]"}"#,
            &[("password", 1), ("pin", 1), ("token", 1)],
        ),
    ] {
        let expected: Vec<_> = expected
            .iter()
            .map(|(path, count)| ((*path).to_owned(), "named".to_owned(), *count))
            .collect();
        assert_eq!(places(document), expected, "{document}");
        let mut scan = SensitiveScan::new();
        document.as_bytes().chunks(1).for_each(|chunk| scan.write(chunk));
        scan.end();
        let found: Vec<_> = scan
            .into_report()
            .places
            .into_iter()
            .map(|one| (one.path, one.kind, one.count))
            .collect();
        assert_eq!(found, expected, "{document}");
    }
}
