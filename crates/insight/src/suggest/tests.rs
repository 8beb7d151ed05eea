//! Suggestions from small samples, and from hostile ones.

use tamis_json::error::ErrorKind;

use super::{Drift, Samples, Suggestion};
use tamis::filter_slice;
use tamis_manifest::Manifest;

/// Suggests a careful and a tight filter for a document, and applies them.
fn suggested(document: &str) -> [(String, String); 2] {
    let mut samples = Samples::new();
    samples.read(document.as_bytes()).unwrap();
    [samples.suggest("a.b"), samples.suggest_tight("a.b")]
        .map(|suggestion| applied(&suggestion, document))
}

fn applied(suggestion: &Suggestion, document: &str) -> (String, String) {
    let manifest = Manifest::parse("suggested.yaml", suggestion.manifest()).unwrap();
    let entry = manifest.entries().next().unwrap();
    assert!(entry.warnings().is_empty(), "{:?}", entry.warnings());
    let (output, _) = filter_slice(entry.program(), document.as_bytes()).unwrap();
    (suggestion.root().to_owned(), String::from_utf8(output).unwrap())
}

#[test]
fn roots() {
    let cases = [
        (r#"[{"id":1},{"id":2}]"#, "first"),
        (r#"{"total":2,"items":[{"id":1},{"id":2}]}"#, "items"),
        (
            r#"{"data":{"search":{"nodes":[{"id":1,"title":"one"},{"id":2,"title":"two"}]}}}"#,
            "data.search.nodes",
        ),
        (r#"{"id":1,"title":"one","labels":[{"name":"a"},{"name":"b"}]}"#, "object"),
        (r#"{"first":[{"name":"alpha"},{"name":"beta"}]}"#, "/first"),
        (r#"{"a.b":[{"name":"alpha"},{"name":"beta"}]}"#, "[\"a.b\"]"),
        // A list of one, and an object with a list.
        (r#"{"orders":[{"id":1,"lines":[{"sku":1},{"sku":2},{"sku":3}]}]}"#, "orders"),
        (r#"{"ok":true,"orders":[{"id":1,"lines":[1]}],"next_cursor":"b"}"#, "orders"),
        (r#"{"name":"a","containers":[{"image":"nginx","ports":[80]}]}"#, "object"),
        ("[]", "object"),
        ("{}", "object"),
        ("1", "object"),
    ];
    for (document, root) in cases {
        for (found, _) in suggested(document) {
            assert_eq!(found, root, "{document}");
        }
    }
}

#[test]
fn names_with_signs_are_quoted() {
    for name in [
        "a.b", "x\\\"y", "", "true", "null", "-", "a: b", "#", "\\u0007", "\\u2028", "*", "{", "é",
        "a|b", "[]",
    ] {
        let document =
            format!(r#"[{{"{name}":"one","z":{{"{name}":2,"state":"x"}}}},{{"{name}":"two"}}]"#);
        for (_, output) in suggested(&document) {
            assert!(output.contains("one") && output.contains("two"), "{name}: {output}");
        }
    }
}

#[test]
fn chunks_make_no_difference() {
    let document =
        br#"{"items":[{"id":1,"name":"a\u0062","url":"https://a.example/1"},{"id":2,"name":""}]}"#;
    let mut whole = Samples::new();
    whole.read(document).unwrap();
    for size in [1, 2, 7] {
        let mut samples = Samples::new();
        let mut reader = samples.document();
        for chunk in document.chunks(size) {
            reader.write(chunk).unwrap();
        }
        reader.end().unwrap();
        assert_eq!(samples.suggest("a"), whole.suggest("a"));
        assert_eq!(samples.suggest_tight("a"), whole.suggest_tight("a"));
    }
}

#[test]
fn many_paths_are_bounded() {
    let members: Vec<String> =
        (0..100_000).map(|at| format!(r#""key{at}":{{"name":"x{at}"}}"#)).collect();
    let mut samples = Samples::new();
    samples.read(format!("{{{}}}", members.join(",")).as_bytes()).unwrap();
    assert!(samples.nodes.len() <= 20_000);
    assert!(samples.uncounted >= 80_000);
    for suggestion in [samples.suggest("a"), samples.suggest_tight("a")] {
        Manifest::parse("suggested.yaml", suggestion.manifest()).unwrap();
    }
}

#[test]
fn deep_samples() {
    let depth = 1000;
    let document = format!("{}1{}", r#"{"a":["#.repeat(depth / 2), "]}".repeat(depth / 2));
    suggested(&document);
    let mut samples = Samples::new();
    let error = samples.read("[".repeat(2000).as_bytes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn invalid_samples() {
    for (document, kind) in [
        ("", ErrorKind::UnexpectedEnd),
        ("{", ErrorKind::UnexpectedEnd),
        ("{}x", ErrorKind::Syntax),
    ] {
        let mut samples = Samples::new();
        assert_eq!(samples.read(document.as_bytes()).unwrap_err().kind(), kind, "{document}");
        assert_eq!(samples.documents(), 0);
    }
}

#[test]
fn drift() {
    let manifest = Manifest::parse(
        "a.yaml",
        "version: 1\nfilters: {a: {select: [id, title, about], drop_nulls: true}}",
    )
    .unwrap();
    let program = manifest.program("a").unwrap();
    let find = |documents: &[&str]| {
        let mut drift = Drift::new();
        for document in documents {
            let (output, report) = filter_slice(&program, document.as_bytes()).unwrap();
            drift.add(&report);
            drift.outputs().read(&output).unwrap();
        }
        drift.report()
    };
    let same = find(&[r#"[{"id":1,"title":"a"}]"#, r#"[{"id":2,"title":"b","about":"c"}]"#]);
    assert!(!same.is_drift(), "{same:?}");
    let url = format!("https://a.example/{}", "x".repeat(100));
    let other = find(&[&format!(r#"[{{"id":1,"about":"{url}"}},{{"id":2,"about":"{url}"}}]"#)]);
    assert_eq!(other.missing, ["title"]);
    assert_eq!(other.heavy.iter().map(|heavy| heavy.path.as_str()).collect::<Vec<_>>(), ["about"]);
    assert_eq!(find(&[r#"[{"name":1}]"#]).unfiltered, 1);
}

/// Suggests a filter for a document, which must not show the values that begin with `hidden`.
fn shows_no_hidden_value(document: &str) {
    for (_, output) in suggested(document) {
        assert!(!output.contains("hidden"), "{document}\n{output}");
    }
    let mut samples = Samples::new();
    samples.read(document.as_bytes()).unwrap();
    for suggestion in [samples.suggest("a"), samples.suggest_tight("a")] {
        assert!(suggestion.manifest().contains("redact: secrets"), "{}", suggestion.manifest());
        assert!(!suggestion.manifest().contains("hidden"), "{}", suggestion.manifest());
        for member in suggestion.members().iter().filter(|member| member.is_credential) {
            assert!(!member.kept && member.example.is_none(), "{member:?}");
        }
    }
}

#[test]
fn credentials_are_never_selected() {
    for name in ["password", "secret", "client_secret", "apiKey", "ssn", "iban", "credit_card"] {
        for document in [
            format!(
                r#"[{{"id":1,"name":"a","{name}":"hidden1"}},{{"id":2,"name":"b","{name}":"hidden2"}}]"#
            ),
            format!(
                r#"{{"items":[{{"id":1,"user":{{"login":"a","{name}":"hidden1"}}}},{{"id":2}}]}}"#
            ),
            format!(
                r#"{{"items":[{{"id":1,"name":"a"}},{{"id":2,"name":"b"}}],"{name}":"hidden1"}}"#
            ),
            format!(r#"[{{"{name}":"hidden1"}},{{"{name}":"hidden2"}}]"#),
            format!(
                r#"[{{"id":1,"{name}":{{"value":"hidden1"}}}},{{"id":2,"{name}":{{"value":"hidden2"}}}}]"#
            ),
            format!(
                r#"[{{"id":1,"keys":[{{"{name}":"hidden1"}}]}},{{"id":2,"keys":[{{"{name}":"hidden2"}}]}}]"#
            ),
        ] {
            shows_no_hidden_value(&document);
        }
    }
    // Values that the redactor knows, under a name that says nothing.
    let token = |letter: &str| format!("gh{}_{}", "p", letter.repeat(18));
    let (one, two) = (token("a1"), token("b2"));
    let document = format!(r#"[{{"id":1,"code":"{one}"}},{{"id":2,"code":"{two}"}}]"#);
    for (_, output) in suggested(&document) {
        assert_eq!(output, r#"[{"id":1},{"id":2}]"#);
    }
}

#[test]
fn a_tight_filter_selects_no_personal_data() {
    let document = r#"[{"id":1,"name":"Mira","mail":"mira@example.org","tel":"+1 415 555 2671","at":"2026-05-04T09:12:44Z"},
        {"id":2,"name":"Noor","mail":"noor@example.org","tel":"+1 415 555 2672","at":"2026-05-05T09:12:44Z"}]"#;
    let mut samples = Samples::new();
    samples.read(document.as_bytes()).unwrap();
    let (careful, tight) = (samples.suggest("a"), samples.suggest_tight("a"));
    let (_, output) = applied(&tight, document);
    assert_eq!(
        output,
        r#"[{"id":1,"name":"Mira","at":"2026-05-04T09:12:44Z"},{"id":2,"name":"Noor","at":"2026-05-05T09:12:44Z"}]"#
    );
    assert!(tight.manifest().contains("# - mail: personal data"), "{}", tight.manifest());
    assert!(!careful.manifest().contains("mail"), "{}", careful.manifest());
}

#[test]
fn a_careful_filter_omits_only_noise() {
    let document = r#"{"total":812,"next_cursor":"c0ffee0123456789c0ffee0123456789","items":[
        {"id":1,"node_id":"MDU6SXNzdWUxMjM0NTY3","sha":"9c01e5c8a7d14f6e9c01e5c8a7d14f6e9c01e5c8","kind":"a","body":null,
         "url":"https://api.example/items/1","html_url":"https://www.example/items/1","file_url":"https://x.example/f3",
         "user":{"login":"mira","avatar_url":"https://img.example/u/7?v=4"}},
        {"id":2,"node_id":"MDU6SXNzdWUxMjM0NTY4","sha":"8c01e5c8a7d14f6e9c01e5c8a7d14f6e9c01e5c8","kind":"a","body":null,
         "url":"https://api.example/items/2","html_url":"https://www.example/items/2","file_url":"https://x.example/f9",
         "user":{"login":"sol","avatar_url":"https://img.example/u/9?v=4"}}]}"#;
    let [(root, output), _] = suggested(document);
    assert_eq!(root, "items");
    assert_eq!(
        output,
        r#"{"total":812,"next_cursor":"c0ffee0123456789c0ffee0123456789","items":[{"id":1,"sha":"9c01e5c8a7d14f6e9c01e5c8a7d14f6e9c01e5c8","kind":"a","html_url":"https://www.example/items/1","file_url":"https://x.example/f3","user":{"login":"mira"}},{"id":2,"sha":"8c01e5c8a7d14f6e9c01e5c8a7d14f6e9c01e5c8","kind":"a","html_url":"https://www.example/items/2","file_url":"https://x.example/f9","user":{"login":"sol"}}]}"#
    );
    let mut samples = Samples::new();
    samples.read(document.as_bytes()).unwrap();
    let manifest = samples.suggest("a").manifest().to_owned();
    for line in [
        "- url  # address, follows from https://api.example/items/{id}; 2 values",
        "- node_id  # for programs; ",
        "- user.avatar_url  # address; ",
    ] {
        assert!(manifest.contains(line), "{line}: {manifest}");
    }
}

#[test]
fn places_in_lists_are_kept_and_nulls_are_not() {
    let [_, (_, output)] = suggested(
        r#"{"total":812,"next_cursor":"c0ffee","items":[{"id":0,"name":"n0"},{"id":1,"name":"n1"}]}"#,
    );
    assert!(output.starts_with(r#"{"total":812,"next_cursor":"c0ffee","#), "{output}");
    let document = r#"[{"id":0,"title":"t","price":null,"cf":[{"key":"k","value":null}]},{"id":1,"title":"u","price":null,"cf":[{"key":"k","value":null}]}]"#;
    let mut samples = Samples::new();
    samples.read(document.as_bytes()).unwrap();
    let manifest = samples.suggest_tight("a").manifest().to_owned();
    let (selected, _) = manifest.split_once("# Left out:").unwrap();
    assert!(!selected.contains("price") && !selected.contains("value:"), "{manifest}");
    let [(_, careful), (_, tight)] = suggested(document);
    assert!(!tight.contains("null") && !careful.contains("null"), "{careful} {tight}");
}

#[test]
fn keys_say_what_they_hold() {
    let document = r#"[{"id":1,"owner":{"login":"mira"},"network":{"bytes_written":512}},{"id":2,"owner":{"login":"sol"},"network":{"bytes_written":1024}}]"#;
    let [_, (_, output)] = suggested(document);
    assert_eq!(
        output,
        r#"[{"id":1,"owner":"mira","network_bytes_written":512},{"id":2,"owner":"sol","network_bytes_written":1024}]"#
    );
}

/// Credentials next to the items, deep inside, and in maps, also of other documents.
#[test]
fn credentials_are_excluded_wherever_they_are() {
    let items = r#"[{"id":1,"name":"a fairly long name for one"},{"id":2,"name":"a fairly long name for two"}]"#;
    shows_no_hidden_value(&format!(
        r#"{{"total":5,"secrets":[{{"label":"db","value":"hidden1"}}],"items":{items}}}"#
    ));
    let document = format!(
        r#"{{"total":812,"next_cursor":"c0ffee","session_token":"hidden1","items":{items}}}"#
    );
    shows_no_hidden_value(&document);
    for (root, output) in suggested(&document) {
        assert_eq!(root, "object");
        assert!(output.contains("812") && output.contains("c0ffee"), "{output}");
    }
    let deep = format!(
        r#"[{{"id":1,"a":{}{{"password":"hidden1"}}{}}}]"#,
        r#"{"b":"#.repeat(20),
        "}".repeat(20)
    );
    shows_no_hidden_value(&deep);
    let users: Vec<String> = (0..5)
        .map(|id| format!(r#""u{id}":{{"name":"user {id}","password":"hidden{id}"}}"#))
        .collect();
    let document = format!(r#"{{"users":{{{}}}}}"#, users.join(","));
    shows_no_hidden_value(&document);
    let mut samples = Samples::new();
    samples.read(document.as_bytes()).unwrap();
    let other = r#"{"users":{"u9":{"name":"n","password":"hidden9"}}}"#;
    let (_, output) = applied(&samples.suggest("a"), other);
    assert_eq!(output, r#"{"users":{"u9":{"name":"n"}}}"#);
    // A template is printed without its query.
    let items: Vec<String> = (10..20)
        .map(|id| {
            format!(r#"{{"id":{id},"url":"https://api.example/items/{id}?api_key=hidden1"}}"#)
        })
        .collect();
    let mut samples = Samples::new();
    samples.read(format!("[{}]", items.join(",")).as_bytes()).unwrap();
    let suggestion = samples.suggest("a");
    assert!(suggestion.manifest().contains("https://api.example/items/{id};"));
    assert!(!format!("{suggestion:?}").contains("hidden"), "{suggestion:?}");
}

#[test]
fn values_that_only_look_useless_stay() {
    for document in [
        r#"{"id":4711,"name":"Report","download_url":"https://files.example/f/4711/report-q3.pdf"}"#,
        r#"[{"id":1,"dispute":"du_1RWKD2r3Pkor3zBDZwWAu9n8"},{"id":2,"dispute":null},{"id":3,"dispute":null}]"#,
        r#"[{"nodeId":"worker-0","cpu":1},{"nodeId":"worker-1","cpu":2}]"#,
        r#"[{"sku":"a1","link":"https://shop.example/p/a1"},{"sku":"a2","link":"https://shop.example/p/a2"}]"#,
        r#"[{"ETag":"9b2cf535f27731c974343645a3985328"},{"ETag":"8b2cf535f27731c974343645a3985328"}]"#,
    ] {
        let [(_, output), _] = suggested(document);
        let expected = document.replace(r#","dispute":null"#, "");
        assert_eq!(output, expected);
    }
}
