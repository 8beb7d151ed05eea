//! Unit tests of the names that are kept for suggestions.

use tamis_json::test_work::done;

use super::{OF_ALL, OF_ONE};
use crate::filter::Filter;
use crate::filter::options::CallOptions;
use crate::{Program, Report, Spec};

fn run(select: &[&str], pieces: &[&[u8]]) -> Report {
    let spec = select.iter().fold(Spec::new(), |spec, path| spec.select(*path));
    let program = Program::compile(&spec).unwrap();
    let options = CallOptions::new().with_suggestions(true);
    let mut filter = Filter::new(program.with_options(&options), Vec::new());
    for piece in pieces {
        filter.write(piece).unwrap();
    }
    let mut report = filter.end().unwrap();
    report.held_peak_bytes = 0;
    report
}

#[test]
fn suggestions_do_not_depend_on_chunks() {
    let documents: [&[u8]; 4] = [
        br#"{"items":[7,{"id":1,"owner":{"x":[0],"login":"a"},"name":"b"},{"nmea":0}]}"#,
        br#"{"na\u006de":"a","id":1,"owner":{}}"#,
        br#"[{"x":{"y":[{"name":1}]},"full_name":2},{"name":3,"id":1}]"#,
        br#"[{},{"id":1}]"#,
    ];
    let paths =
        [&["nmae", "owner.logn", "id"][..], &["nmae", "owner.logn"], &["id", "onwer.x", "nam"]];
    for document in documents {
        for select in paths {
            let whole = run(select, &[document]);
            let single: Vec<&[u8]> = document.chunks(1).collect();
            assert_eq!(run(select, &single), whole);
            for cut in 0..document.len() {
                let (one, other) = document.split_at(cut);
                assert_eq!(run(select, &[one, other]), whole, "{cut}");
            }
        }
    }
    let report = run(paths[0], &[documents[0]]);
    let meant = report.missed.iter().map(|missed| missed.meant.as_deref());
    assert!(meant.eq([Some("name"), Some("owner.login")]), "{:?}", report.missed);
    let report = run(paths[1], &[documents[1]]);
    assert!(report.fallback.unwrap().contains("did you mean `name`?"));
}

#[test]
fn a_value_that_is_needed_twice_has_names_too() {
    let report = run(&["owner", "owner.logn", "id"], &[br#"[{"owner":{"login":1},"id":2}]"#]);
    assert_eq!(report.missed[0].meant.as_deref(), Some("owner.login"));
}

#[test]
fn few_names_are_kept() {
    let many = |count: usize| {
        let members: Vec<_> = (0..count).map(|n| format!("\"member_{n:05}\":{n}")).collect();
        format!("{{{},\"last\":0}}", members.join(","))
    };
    let near = |document: &str| {
        let report = run(&["lastt", "member_00000"], &[document.as_bytes()]);
        report.missed[0].meant.clone()
    };
    assert_eq!(near(&many(OF_ONE - 1)).as_deref(), Some("last"));
    assert_eq!(near(&many(OF_ONE)), None);
    // Objects in objects share what is kept.
    let depth = 2 * OF_ALL;
    let path = vec!["a"; depth].join(".");
    let document =
        format!("{}{{\"b\":1}}{},\"c\":0}}", "{\"a\":".repeat(depth - 1), "}".repeat(depth - 2));
    let missed = run(&[&path, "c"], &[document.as_bytes()]).missed;
    assert_eq!((missed.len(), missed[0].meant.as_deref()), (1, None));
}

/// Suggestions are for the few paths that a message names, however many are missed.
#[test]
fn suggestions_are_cheap() {
    let cost = |paths: usize, names: usize| {
        let name = |number: usize| format!("{}{number:05}", "a".repeat(90));
        let select = (0..paths).map(|path| name(path).replace('a', "b"));
        let spec = select.fold(Spec::new().select("id"), |spec, path| spec.select(path));
        let program = Program::compile(&spec).unwrap();
        let options = CallOptions::new().with_suggestions(true);
        let members: Vec<_> = (0..names).map(|n| format!("\"{}\":0", name(n))).collect();
        let document = format!("{{\"id\":1,{}}}", members.join(","));
        let mut filter = Filter::new(program.with_options(&options), Vec::new());
        filter.write(document.as_bytes()).unwrap();
        filter.run.end(&mut Vec::new()).unwrap();
        done();
        let report = filter.report();
        assert_eq!(report.missed.len(), paths);
        done().iter().sum::<u64>()
    };
    assert!(cost(10, 60) > 2 * cost(10, 6), "comparisons are counted");
    let (some, more) = (cost(500, 60), cost(1000, 60));
    assert!(more - some < 10_000, "{some}, {more}");
    assert!(more < 3_000_000, "{more}");
}

#[test]
fn a_number_is_close_to_none() {
    let report = run(&["id", "ports.81"], &[br#"[{"id":1,"ports":{"80":1,"443":2}}]"#]);
    assert_eq!(report.missed[0].meant, None);
}

/// Paths that are right in another language, or from the top of the document.
#[test]
fn paths_of_arrays_and_of_the_document() {
    let document = br#"{"items":[{"id":1,"users":[{"name":1}],"meta":{"name":{"ports":[[1]]}}}]}"#;
    for (path, meant) in [
        ("users.name", Some("users[].name")),
        ("/users/name", Some("users[].name")),
        ("meta.name.ports.x", Some("meta.name.ports[].x")),
        ("items.meta.name", Some("meta.name")),
        ("/items/meta/name", Some("/meta/name")),
        ("items[].users[].name", Some("users[].name")),
        ("items[].id", Some("id")),
        ("items.other", None),
        ("users[1].name", None),
    ] {
        let report = run(&["meta", path], &[document]);
        assert_eq!(report.missed[0].meant.as_deref(), meant, "{path}");
        let report = run(&[path], &[document]);
        let said = report.fallback.unwrap();
        assert_eq!(meant.is_some(), said.contains("did you mean"), "{path}: {said}");
    }
}

/// A suggestion can be pasted into a list of paths.
#[test]
fn suggestions_are_quoted_for_a_list() {
    let document = br#"[{"id":1,"first,name":2,"size=big":3,"first,nome":4}]"#;
    for (path, meant) in [
        (r#"["first.name"]"#, r#"["first,name"]"#),
        ("/first.name", r#"["first,name"]"#),
        ("size:big", r#"["size=big"]"#),
    ] {
        let report = run(&["id", path], &[document]);
        assert_eq!(report.missed[0].meant.as_deref(), Some(meant), "{path}");
    }
}

#[test]
fn names_are_kept_only_where_that_was_asked_for() {
    let program = Program::compile(&Spec::new().select("id").select("nmae")).unwrap();
    let mut filter = Filter::new(&program, Vec::new());
    filter.write(br#"{"id":1,"name":2}"#).unwrap();
    let report = filter.end().unwrap();
    assert_eq!((report.missed[0].path.as_str(), &report.missed[0].meant), ("nmae", &None));
}
