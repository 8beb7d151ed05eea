//! Flags that are rules, limits, or say how rules run.

use super::*;

#[test]
fn without_rules_it_validates_and_minifies() {
    piped(&[], " { \"a\" : [ 1.10 , \"\\u0041\" ] } \n").done("{\"a\":[1.10,\"\\u0041\"]}\n");
    piped(&["-"], "[]\n").done("[]\n");
    piped(&[], "\u{feff}1E400").done("1E400\n");
}

#[test]
fn select() {
    let input = r#"[{"id":1,"owner":{"login":"a","x":0},"a,b":2,"t":[3,4],"=":5}]"#;
    piped(&["--select", "id"], input).done("[{\"id\":1}]\n");
    piped(&["--select", "id,who=owner.login,t[0]"], input)
        .done("[{\"id\":1,\"who\":\"a\",\"t\":3}]\n");
    piped(&["--select", "id", "--select", "/owner/login"], input)
        .done("[{\"id\":1,\"login\":\"a\"}]\n");
    piped(&["--select", r#"["a,b"],k=["a,b"]"#], input).done("[{\"a,b\":2,\"k\":2}]\n");
    piped(&["--select", "k=/="], input).done("[{\"k\":5}]\n");
    piped(&["--select", "/="], input).done("[{\"=\":5}]\n");
    piped(&["--select=-x,id"], r#"[{"-x":1,"id":2,"y":3}]"#).done("[{\"-x\":1,\"id\":2}]\n");
    piped(&["--select", "-x"], r#"[{"-x":1,"y":3}]"#).done("[{\"-x\":1}]\n");
}

#[test]
fn exclude() {
    let input = r#"[{"id":1,"a":{"b":2,"c":3},"d":4,"e,f":5}]"#;
    piped(&["--exclude", "a.b,/d", "--exclude", r#"["e,f"]"#], input)
        .done("[{\"id\":1,\"a\":{\"c\":3}}]\n");
}

#[test]
fn retain() {
    let input = r#"{"items":[{"id":1,"x":2}],"n":3,"secret":4}"#;
    piped(&["--retain", "/items/id,/n"], input).done("{\"items\":[{\"id\":1}],\"n\":3}\n");
    piped(&["--retain", "/n", "--retain", "/items/0/x"], input)
        .done("{\"items\":[{\"x\":2}],\"n\":3}\n");
    piped(&["--retain", ""], "{\"a\": 1}").done("{\"a\":1}\n");
}

#[test]
fn root_and_siblings() {
    let input = r#"{"a":[{"id":1,"x":1}],"items":[{"id":2,"x":1}],"n":3}"#;
    piped(&["--select", "id"], input)
        .done("{\"a\":[{\"id\":1,\"x\":1}],\"items\":[{\"id\":2}],\"n\":3}\n");
    piped(&["--select", "id", "--root", "first"], input)
        .done("{\"a\":[{\"id\":1}],\"items\":[{\"id\":2,\"x\":1}],\"n\":3}\n");
    piped(&["--select", "id", "--root", "/a", "--siblings", "drop"], input)
        .done("{\"a\":[{\"id\":1}]}\n");
    piped(&["--select", "n", "--root", "object"], input).done("{\"n\":3}\n");
    piped(&["--select", "n", "--root", "object", "--siblings", "keep"], input).done("{\"n\":3}\n");
}

#[test]
fn items_and_drops() {
    piped(&["--max-items", "2"], "[1,2,3]").done("[1,2]\n");
    piped(&["--max-items", "0"], "[1,2,3]").done("[1,2,3]\n");
    piped(&["--max-items", "0", "--root", "object"], "{}").done("{}\n");
    piped(&["--max-items", "1", "--stop-early"], "[1,2,oops").done("[1]\n");
    let input = r#"[{"a":null,"b":"","c":[],"d":{"e":null}}]"#;
    piped(&["--drop-nulls"], input).done("[{\"b\":\"\",\"c\":[],\"d\":{}}]\n");
    piped(&["--drop-empty"], input).done("[{\"a\":null,\"d\":{\"e\":null}}]\n");
    piped(&["--drop-empty", "--drop-nulls"], input).done("[{}]\n");
}

#[test]
fn raw_and_errors_of_the_call() {
    let input = r#"[{"id":1,"x":2}]"#;
    piped(&["--select", "id", "--raw"], input).done("[{\"id\":1,\"x\":2}]\n");
    piped(&["--select", "id", "--is-error"], input).done("[{\"id\":1,\"x\":2}]\n");
}

#[test]
fn removing_rules_apply_to_a_failed_call() {
    let input = r#"{"id":1,"x":2}"#;
    piped(&["--retain", "/id", "--raw"], input).done("{\"id\":1,\"x\":2}\n");
    piped(&["--retain", "/id", "--is-error"], input).done("{\"id\":1}\n");
    piped(&["--exclude", "x", "--is-error"], input).done("{\"id\":1}\n");
    let ran = piped(&["--select", "id", "--on-error", "closed", "--is-error"], input);
    ran.refused(
        1,
        &["tamis: standard input: byte 0: cannot select from the response of a failed call"],
    );
}

#[test]
fn closed_is_closed() {
    let closed = |rules: &[&str], input: &str| {
        piped(&[&["--root", "users", "--on-error", "closed"], rules].concat(), input)
    };
    let nested = r#"{"users":[[{"ssn":"CANARY"}]]}"#;
    closed(&["--exclude", "ssn"], nested).done("{\"users\":[[{}]]}\n");
    for input in [nested, "\"CANARY\"", r#"{"users":"CANARY"}"#, r#"{"users":["CANARY"]}"#, "{}"] {
        let ran = closed(&["--select", "id"], input);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{input}");
        ran.one_line();
        assert!(!ran.err.contains("CANARY"), "{}", ran.err);
    }
}

#[test]
fn a_failed_test_of_a_patch() {
    let folder = Folder::new();
    folder
        .write("p.json", r#"[{"op":"test","path":"/v","value":2},{"op":"remove","path":"/ssn"}]"#);
    let input = br#"{"v":1,"ssn":"CANARY"}"#;
    for more in [&[][..], &["--on-error", "closed"]] {
        let ran = folder.tamis(&[&["filter", "--patch", "p.json"], more].concat(), input);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""));
        assert_eq!(
            ran.err,
            "tamis: standard input: byte 22: patches[0], test /v: test failed: the value is different\n"
        );
    }
    let ran = folder.tamis(&["filter", "--patch", "p.json", "--on-error", "raw"], input);
    assert_eq!((ran.code, ran.out.as_str()), (0, "{\"v\":1,\"ssn\":\"CANARY\"}\n"));
    assert!(ran.err.contains("warning: patches[0], test /v: test failed"), "{}", ran.err);
}

#[test]
fn a_total_miss_warns_or_fails() {
    let input = r#"[{"x":1}]"#;
    let ran = piped(&["--select", "id"], input);
    assert_eq!((ran.code, ran.out.as_str()), (0, "[{\"x\":1}]\n"));
    ran.one_line();
    assert!(ran.err.starts_with("tamis: standard input: warning: "), "{}", ran.err);
    assert_eq!(piped(&["--select", "id", "--on-error", "raw"], input), ran);
    let ran = piped(&["--select", "id", "--on-error", "closed"], input);
    ran.refused(1, &["tamis: standard input: byte "]);
    ran.one_line();
}

#[test]
fn validation_white_space_duplicates() {
    let input = r#"[{"id":1,"x":[01]}]"#;
    piped(&["--select", "id", "--validation", "structure"], input).done("[{\"id\":1}]\n");
    let full = piped(&["--select", "id", "--validation", "full"], input);
    assert_eq!(full.code, 1);
    piped(&["--whitespace", "keep"], " [ 1, 2 ] ").done("[ 1, 2 ]\n");
    piped(&["--whitespace", "minify"], " [ 1, 2 ] ").done("[1,2]\n");
    let input = r#"[{"id":1,"id":2}]"#;
    for how in ["first", "count"] {
        piped(&["--select", "id", "--duplicate-keys", how], input).done("[{\"id\":1}]\n");
    }
    let ran = piped(&["--select", "id", "--duplicate-keys", "reject"], input);
    assert_eq!(ran.code, 1);
    ran.one_line();
}

#[test]
fn limits() {
    piped(&["--max-depth", "2"], "[[1]]").done("[[1]]\n");
    let ran = piped(&["--max-depth", "2"], "[[[1]]]");
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("byte 2"), "{}", ran.err);
    let input = format!("{{\"a\":\"{}\",\"items\":[{{\"id\":1}}]}}", "x".repeat(5000));
    piped(&["--select", "id", "--held", "8k"], &input).done(&format!("{input}\n"));
    piped(&["--select", "id", "--held", "1k", "--spill", "1M"], &input).done(&format!("{input}\n"));
    let ran = piped(&["--select", "id", "--held", "1k", "--spill", "0"], &input);
    ran.refused(1, &["held", "spill"]);
}

#[test]
fn the_last_of_a_repeated_flag_counts() {
    piped(&["--max-items", "1", "--max-items", "2"], "[1,2,3]").done("[1,2]\n");
    piped(&["--drop-nulls", "--drop-nulls"], "[{\"a\":null}]").done("[{}]\n");
}

#[test]
fn budget() {
    let input = r#"[{"id":1},{"id":2},{"id":3}]"#;
    let silent = ["--omitted", "silent", "--prefer", "order"];
    let cut = |flags: &[&str]| piped(&[flags, &silent].concat(), input);
    cut(&["--budget", "19"]).done("[{\"id\":1},{\"id\":2}]\n");
    piped(&["--budget", "1k"], input).done(&format!("{input}\n"));
    cut(&["--budget-tokens", "12"]).done("[{\"id\":1},{\"id\":2}]\n");
    cut(&["--budget", "10", "--min-items", "0"]).done("[{\"id\":1}]\n");
    // A value that is not longer than a mark is kept.
    let ran = piped(&["--budget", "19"], input);
    assert_eq!((ran.code, ran.out), (0, format!("{input}\n")));
    assert!(ran.err.contains("warning: the output exceeds its budget"), "{}", ran.err);
    let ran = piped(&["--budget", "19", "--on-over", "error"], input);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    ran.one_line();
    piped(&["--max-items", "1", "--omitted", "mark"], input)
        .done("[{\"id\":1},{\"_omitted\":{\"items\":2,\"of\":3}}]\n");
    for flag in [["--on-over", "warn"], ["--omitted", "mark"], ["--prefer", "order"]] {
        let ran = piped(&flag, input);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains("needs --budget"), "{}", ran.err);
    }
    piped(&["--budget", "0"], input).done(&format!("{input}\n"));
    piped(&["--budget", "10", "--raw"], input).done(&format!("{input}\n"));
    // White space is not kept with a budget.
    piped(&["--budget", "20", "--whitespace", "keep"], "[ {\"id\": 1,\n\"x\": 2},\n 3 ]")
        .done("[{\"id\":1,\"x\":2},3]\n");
    let ran = piped(&["--min-items", "2"], input);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("--min-items needs --budget"), "{}", ran.err);
    // Each line has its own.
    let lines = "[1,2,3]\n[4]\n[5,6]\n";
    piped(&[&["--ndjson", "--budget", "5"][..], &silent].concat(), lines)
        .done("[1,2]\n[4]\n[5,6]\n");
    let ran = cut(&["--budget", "19", "--stats"]);
    assert_eq!(
        ran.err,
        "tamis: 28 bytes (14 tokens) in, 19 (10) out, 32.1 % saved; 2 of 3 items\n"
    );
    let ran = piped(&["--budget", "5", "--budget-tokens", "5"], input);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("--budget"), "{}", ran.err);
}

#[test]
fn what_a_budget_prefers() {
    let items: Vec<String> =
        (0..40).map(|id| format!("{{\"id\":{id},\"text\":\"the harbour is closed\"}}")).collect();
    let input = format!("{{\"items\":[{}]}}", items.join(","));
    // Items that are evenly spread, unless a flag says what the items are.
    let ran = piped(&["--budget", "300"], &input);
    assert!(ran.out.contains("\"kept\":\"0,"), "{}", ran.out);
    assert!(ran.out.len() <= 301, "{}", ran.out);
    for flags in [
        &["--prefer", "order"][..],
        &["--root", "items"],
        &["--select", "id,text"],
        &["--where", "text~harbour"],
        &["--max-items", "39"],
        &["--min-items", "1"],
    ] {
        let ran = piped(&[flags, &["--budget", "300"]].concat(), &input);
        assert!(!ran.out.contains("kept"), "{flags:?}: {}", ran.out);
    }
    let ran = piped(&["--root", "items", "--prefer", "information", "--budget", "300"], &input);
    assert!(ran.out.contains("\"kept\":\"0,"), "{}", ran.out);
}

/// Without a select, the members of an object are counted.
#[test]
fn a_limit_of_items_at_an_object() {
    let input = r#"{"a":{"x":1,"y":{"z":null}},"b":[1,2]}"#;
    piped(&["--root", "a", "--max-items", "1"], input).done("{\"a\":{\"x\":1},\"b\":[1,2]}\n");
    piped(&["--root", "a", "--max-items", "2", "--drop-nulls"], input)
        .done("{\"a\":{\"x\":1,\"y\":{}},\"b\":[1,2]}\n");
    let ran = piped(&["--root", "a", "--max-items", "1", "--stats"], input);
    assert!(ran.err.ends_with("; 1 of 2 items\n"), "{}", ran.err);
    // With a select, the object is the only item.
    let ran = piped(&["--root", "a", "--max-items", "1", "--select", "x,y"], input);
    assert_eq!((ran.code, ran.out), (0, format!("{input}\n")));
    let warning = "tamis: standard input: warning: the value at `a` is not an array: --max-items has no effect\n";
    assert_eq!(ran.err, warning);
    piped(&["--root", "b", "--max-items", "1"], input)
        .done("{\"a\":{\"x\":1,\"y\":{\"z\":null}},\"b\":[1]}\n");
    piped(&["--root", "b", "--max-items", "1", "--stop-early", "--siblings", "drop"], input)
        .done("{\"b\":[1]}\n");
    piped(&["--root", "a"], input).done(&format!("{input}\n"));
}

#[test]
fn extract() {
    let input = r#"{"ok":true,"data":{"users":[{"id":1,"x":2}],"total":3}}"#;
    piped(&["--extract", "data.users", "--select", "id"], input).done("[{\"id\":1}]\n");
    piped(&["--extract", "/data/users/0"], input).done("{\"id\":1,\"x\":2}\n");
    piped(&["--extract", "data.total", "--raw"], input).done("3\n");
    let ran = piped(&["--extract", "data.user"], input);
    ran.refused(1, &["byte ", "extract: no value at data.user"]);
    piped(&["--extract", "data[]"], input).refused(2, &["extract: "]);
    piped(&["--extract", ""], input).refused(2, &["extract: "]);
    piped(&["--extract", "a", "--tool", "github.list-repos"], input)
        .refused(2, &["--extract and --tool"]);
    let ran = piped(&["--ndjson", "--extract", "a"], "{\"a\":1}\n{\"b\":2}\n{\"a\":[3]}\n");
    assert_eq!((ran.code, ran.out.as_str()), (1, "1\n[3]\n"));
    assert!(ran.err.contains("line 2: byte"), "{}", ran.err);
}
