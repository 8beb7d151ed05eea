//! Figures of paths: against a model, at any cut, for hostile documents.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use tamis_json::scan::Scanner;

use super::{Look, LookOptions, LookTree};
use tamis::{Program, Spec, filter_slice};

fn look_at(options: &LookOptions, document: &[u8], chunk: usize) -> LookTree {
    let mut look = Look::new(options);
    document.chunks(chunk).for_each(|chunk| look.write(chunk).unwrap());
    look.end().unwrap();
    look.into_tree()
}

fn look(document: &[u8]) -> LookTree {
    look_at(&LookOptions::new(), document, usize::MAX)
}

fn minified(document: &[u8]) -> Vec<u8> {
    let program = Program::compile(&Spec::new()).unwrap();
    filter_slice(&program, document).unwrap().0
}

fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| (path.display().to_string(), std::fs::read(path).unwrap()))
        .collect();
    found.sort();
    assert!(found.len() > 20, "the corpus is found");
    found
}

/// The count and the bytes of each path, from a tree of values.
fn model(value: &Value, path: &str, name: u64, found: &mut BTreeMap<String, (u64, u64)>) {
    let entry = found.entry(path.to_owned()).or_default();
    entry.0 += 1;
    entry.1 += name + value.to_string().len() as u64;
    match value {
        Value::Array(elements) => {
            for element in elements {
                model(element, &format!("{path}[]"), 0, found);
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                let dot = if path.is_empty() { "" } else { "." };
                let key = Value::from(name.as_str()).to_string().len() as u64 + 1;
                model(value, &format!("{path}{dot}{name}"), key, found);
            }
        }
        _ => {}
    }
}

#[test]
fn figures_are_those_of_the_model() {
    for document in [
        "1",
        "\"text\"",
        "[]",
        "{}",
        "[[],[[1,2],[3]],{}]",
        r#"{"a":{"b":[1,{"c":null}],"d":true},"e":[{"b":1},{"b":"x","f":false}]}"#,
        r#"[{"id":1,"b":{"x":1,"y":2}},{"b":{"y":3},"id":2},{"id":3,"z":[]}]"#,
        r#" { "a" : [ 1 , 2 ] , "b" : { } } "#,
        r#"[{"n1":1,"n2":2,"n3":3,"n4":4,"n5":5,"n6":6,"n7":7,"n8":8,"n9":9,"n10":10},{"n10":1,"n1":2}]"#,
    ] {
        let mut expected = BTreeMap::new();
        model(&serde_json::from_str(document).unwrap(), "", 0, &mut expected);
        let tree = look(document.as_bytes());
        let found: BTreeMap<_, _> =
            tree.nodes().map(|node| (node.path(), (node.count(), node.bytes()))).collect();
        assert_eq!(found, expected, "{document}");
    }
}

/// The sum of the children and the node's own bytes is the node; the sum of all is the minified document.
#[test]
fn sums_are_those_of_the_documents() {
    for (name, document) in corpus() {
        let tree = look(&document);
        assert_eq!(tree.bytes(), minified(&document).len() as u64, "{name}");
        for node in tree.nodes() {
            let children: u64 = node.children().map(|child| child.bytes()).sum();
            assert_eq!(node.bytes(), children + node.own_bytes(), "{name}: {}", node.path());
            let sorted = node.children().map(|child| child.bytes());
            assert!(sorted.is_sorted_by(|one, next| one >= next), "{name}");
            assert!(node.children().all(|child| child.parent().unwrap().path() == node.path()));
        }
    }
}

#[test]
fn exact_tokens_are_those_of_the_counter() {
    let options = LookOptions::new().with_exact(true);
    let documents = corpus().into_iter().take(12);
    let long = [b"[\"".as_slice(), &b"x".repeat(200_000), b"\",1]"].concat();
    for (name, document) in documents.chain([(String::from("long"), long)]) {
        let mut counter = tamis_tokens::counter();
        counter.push(&minified(&document));
        let count = counter.end();
        for chunk in [usize::MAX, 1000] {
            let tree = look_at(&options, &document, chunk);
            assert_eq!((tree.tokens(), tree.is_exact()), (count.tokens, count.exact), "{name}");
            let children: u64 = tree.node(0).unwrap().children().map(|node| node.tokens()).sum();
            assert!(children <= tree.tokens() && tree.tokens() - children < 10_000, "{name}");
        }
    }
    // Each of the names and values here is a token of its own, or several.
    let tree = look_at(&options, br#"{"a":"hello world","b":[1,2]}"#, usize::MAX);
    let tokens: Vec<_> = tree.nodes().map(|node| (node.path(), node.tokens())).collect();
    assert_eq!(
        tokens.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(),
        ["", "a", "b", "b[]"]
    );
    assert!(tokens[1].1 >= 4 && tokens[3].1 >= 2, "{tokens:?}");
}

#[test]
fn chunks_make_no_difference() {
    let document = "\u{feff}[{\"id\": 1.10, \"na\\u006de\": \"é\\\"\", \"tags\": [\"a\", \"b\"]}, \
                    {\"name\": null, \"tags\": []}]"
        .as_bytes();
    let whole = look(document);
    for chunk in 1..document.len() {
        assert_eq!(look_at(&LookOptions::new(), document, chunk), whole, "{chunk}");
    }
    let (_, large) = corpus().into_iter().max_by_key(|(_, document)| document.len()).unwrap();
    for chunk in [1, 63, 4096, 65_536] {
        assert_eq!(look_at(&LookOptions::new(), &large, chunk), look(&large), "{chunk}");
    }
}

#[test]
fn documents_are_counted_together() {
    let mut look = Look::new(&LookOptions::new());
    for document in [r#"{"id":1}"#, r#" {"id":2,"name":"b"}"#, "[7]"] {
        look.write(document.as_bytes()).unwrap();
        look.end().unwrap();
    }
    assert_eq!(look.bytes_read(), 31);
    let tree = look.into_tree();
    let found: Vec<_> =
        tree.nodes().map(|node| (node.path(), node.count(), node.bytes())).collect();
    let paths = [("", 3, 30), ("id", 2, 12), ("name", 1, 10), ("[]", 1, 1)];
    assert_eq!(found, paths.map(|(path, count, bytes)| (path.to_owned(), count, bytes)));
    assert_eq!(tree.node(0).unwrap().types(), ["object", "array"]);
}

#[test]
fn escaped_names_are_one_path() {
    let tree = look(br#"[{"ssn":1},{"\u0073sn":2},{"a\\b":3},{"a\tb.c":4},{"\ud800":5}]"#);
    let paths: Vec<_> = tree.nodes().map(|node| (node.path(), node.count())).collect();
    let expected =
        [("", 1), ("[]", 5), ("[].ssn", 2), ("[].a\\tb\\.c", 1), ("[].*", 1), ("[].a\\\\b", 1)];
    let expected = expected.map(|(path, count)| (path.replace("\\t", "\t"), count));
    assert_eq!(paths, expected);
}

#[test]
fn maps_are_merged() {
    let user = |number: usize| format!("\"u{number}\":{{\"name\":\"n\",\"age\":{}}}", number % 10);
    for (users, merged) in [(31, false), (32, true), (1001, true), (20_000, true)] {
        let document =
            format!("{{\"users\":{{{}}}}}", (0..users).map(user).collect::<Vec<_>>().join(","));
        let tree = look(document.as_bytes());
        assert_eq!(tree.bytes(), document.len() as u64);
        let path = if merged { "users.*.name" } else { "users.u7.name" };
        let node = tree.nodes().find(|node| node.path() == path);
        assert_eq!(node.unwrap().count(), if merged { users as u64 } else { 1 }, "{users}");
        assert_eq!(tree.nodes().len() < 10, merged, "{users}");
    }
    // Members of several kinds are those of a record, however many there are.
    let members: Vec<_> = (0..200).map(|n| format!("\"m{n}\":{}", ["1", "\"\""][n % 2])).collect();
    assert_eq!(look(format!("{{{}}}", members.join(",")).as_bytes()).nodes().len(), 201);
}

/// The number of paths is bounded, whatever the document is like, and no byte is lost.
#[test]
fn paths_are_bounded() {
    let distinct = |count: usize, value: &str| {
        let members: Vec<_> = (0..count).map(|n| format!("\"key{n}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    };
    let nested = |count: usize| {
        let members = (0..count).map(|n| format!("{{\"a{n}\":{{\"b{n}\":{{\"c{n}\":[{n}]}}}}}}"));
        format!("[{}]", members.collect::<Vec<_>>().join(","))
    };
    let records = |count: usize| {
        // Each object has its own names, of several kinds, below the limit of a map.
        let record = |n: usize| {
            let member = |m: usize| format!("\"m{n}_{m}\":{}", ["1", "\"x\"", "[]"][m % 3]);
            format!("\"r{n}\":{{{}}}", (0..20).map(member).collect::<Vec<_>>().join(","))
        };
        let record = |n: usize| [record(n), format!("\"s{n}\":{n}")].join(",");
        format!("{{{}}}", (0..count).map(record).collect::<Vec<_>>().join(","))
    };
    for document in [
        distinct(100_000, "1"),
        distinct(5_000, "{\"a\":[1,2]}"),
        nested(20_000),
        records(400),
        records(5_000),
        format!("{}1{}", "[".repeat(1000), "]".repeat(1000)),
        format!("{}1{}", "{\"a\":".repeat(1000), "}".repeat(1000)),
        format!("{{\"{}\":1}}", "k".repeat(60_000)),
    ] {
        for most in [1, 2, 10, 500, 10_000] {
            let options = LookOptions::new().with_max_paths(most);
            let tree = look_at(&options, document.as_bytes(), usize::MAX);
            assert_eq!(tree.bytes(), document.len() as u64, "{most} of {:.40}", document);
            assert!(tree.nodes().len() <= 2 * most, "{most}: {}", tree.nodes().len());
            assert!(tree.nodes().all(|node| node.level() <= super::paths::MOST_LEVELS));
            assert_eq!(look_at(&options, document.as_bytes(), 1 << 14), tree, "{most}");
        }
    }
}

/// The work is linear: four times the members take four times the steps.
#[test]
fn work_is_linear() {
    let steps = |count: usize| {
        let members: Vec<_> = (0..count).map(|n| format!("\"k{n}\":{{\"a{n}\":1}}")).collect();
        let mut look = Look::with(&LookOptions::new(), Scanner::new());
        look.write(format!("{{{}}}", members.join(",")).as_bytes()).unwrap();
        look.steps()
    };
    assert!(steps(40_000) < 5 * steps(10_000));
}

#[test]
fn invalid_documents_are_errors_with_an_offset() {
    for (document, offset) in [
        ("", 0),
        ("[1,]", 3),
        ("{\"a\":1", 6),
        ("{\"a\" 1}", 5),
        ("[1] 2", 4),
        ("[\"\\x\"]", 3),
        ("nulL", 3),
    ] {
        let mut look = Look::new(&LookOptions::new());
        let result = look.write(document.as_bytes()).and_then(|()| look.end());
        assert_eq!(result.unwrap_err().offset(), Some(offset), "{document}");
        assert!(look.write(b"1").is_err() && look.end().is_err(), "the run stays failed");
    }
    let mut look = Look::new(&LookOptions::new());
    let deep = look.write("[".repeat(2000).as_bytes()).unwrap_err();
    assert_eq!((deep.offset(), deep.limit()), (Some(1024), Some("depth")));
}
