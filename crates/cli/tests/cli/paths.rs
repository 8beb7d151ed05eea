//! Paths that cannot be meant, and paths that nothing has.

use super::*;

/// Each list, and what the one line says to write.
const REFUSED: [(&str, &str); 16] = [
    (".[].name", "write `name`"),
    ("[].name", "write `name`"),
    ("$.name", "write `name`"),
    ("$", "name a member"),
    ("[ ].name", "write `name`"),
    ("$ .name", "write `name`"),
    (". [].name", "write `name`"),
    ("deps[]?.name", "leave out the `?`"),
    ("deps.[].name", "leave out the `.`"),
    ("name|length", "[\"|\"]"),
    ("[?license==MIT].name", "cannot test values"),
    ("[?(@.license=='MIT')].name", "cannot test values"),
    ("a[(@.length-1)]", "write an index"),
    ("a?.b", "write `.`"),
    ("na*", "\\*"),
    ("tags[0:3]", "no slices"),
];

#[test]
fn invalid_paths_have_the_same_error_everywhere() {
    let folder = Folder::new();
    for (list, remedy) in REFUSED {
        let ran = folder.pipe(["--select", list], b"[]");
        ran.refused(2, &["tamis: select: ", remedy, "(character "]);
        ran.one_line();
        assert_eq!(folder.tamis(&["explain", "--select", list], b"").err, ran.err, "{list}");
        folder
            .pipe(["--exclude", list.trim_start_matches("name,deps=")], b"[]")
            .refused(2, &[remedy]);
        // In a manifest each path is an element of a list.
        let path = list.trim_start_matches("name,deps=").replace('\\', "\\\\").replace('"', "\\\"");
        folder.write("m.yaml", format!("version: 1\nfilters: {{t: {{select: [\"{path}\"]}}}}\n"));
        let ran = folder.tamis(&["check", "m.yaml"], b"");
        ran.refused(2, &["tamis: m.yaml:2:", "t: select: "]);
    }
    // Only a select has projections.
    for (list, remedy) in [
        ("deps[].{name,req}", "leave out the `.`"),
        ("name,deps=dependencies[]{name,req", "(character 24 of `dependencies[]{name,req`)"),
        ("owner{login.name}", "write a nested one"),
    ] {
        folder.pipe(["--select", list], b"[]").refused(2, &["tamis: select: ", remedy]);
        let ran = folder.pipe(["--exclude", list.trim_start_matches("name,deps=")], b"[]");
        ran.refused(2, &["exclude: ", "only `select` in a native spec has projections"]);
    }
    piped(&["--root", "$.items"], "[]").refused(2, &["root: ", "write `items`"]);
    let content = Folder::new().tamis(&["content", "--extract", "$.text"], b"{}");
    content.refused(2, &["extract: ", "write `text`"]);
}

#[test]
fn unusual_characters_are_part_of_a_name() {
    let input = r#"[{"$ref":1,"a?":2,"(b)":3,"{c":4,"d ":5,"e f":6,"*g":7,"x":0}]"#;
    piped(&["--select", r#"$ref , a?, (b),["{c"],["d "],  e f ,\*g"#], input)
        .done("[{\"$ref\":1,\"a?\":2,\"(b)\":3,\"{c\":4,\"d \":5,\"e f\":6,\"*g\":7}]\n");
    let input = r#"{"items":[{"name":"a","version":1,"x":0}],"{id}":2,"n":3}"#;
    piped(&["--select", "name, v = version", "--siblings", "drop"], input)
        .done("{\"items\":[{\"name\":\"a\",\"v\":1}]}\n");
    piped(&["--retain", "/items/x, /{id}"], input).done("{\"items\":[{\"x\":0}],\"{id}\":2}\n");
}

#[test]
fn foreign_manifests_are_warned_of() {
    let folder = Folder::new();
    folder.write(
        "k.yaml",
        "name: k\nactions: {list: {response: {filter: {select: {n: '$.name', d: 'deps[].{name'}}}}}\n",
    );
    folder
        .write("tool-registry.yaml", "tools: {t: {filter: {type: schema, fields: [id, 'a|b']}}}\n");
    let ran = folder.tamis(&["check", "k.yaml"], b"");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 2, "{}", ran.err);
    assert!(
        ran.err.contains("k.yaml:2:51: warning: k.list: select: a path begins without `$`"),
        "{}",
        ran.err
    );
    let ran = folder.tamis(&["check", "tool-registry.yaml"], b"");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("warning: t: fields: a path has no pipes"), "{}", ran.err);
    // Both are read as before.
    let input = br#"[{"$":{"name":1},"deps":[{"{name":2}]}]"#;
    folder.pipe(["--manifest", "k.yaml"], input).done("[{\"n\":1,\"d\":[2]}]\n");
    let input = br#"{"id":1,"a|b":2,"x":0}"#;
    folder
        .pipe(["--manifest", "tool-registry.yaml", "--tool", "t"], input)
        .done("{\"id\":1,\"a|b\":2}\n");
}

#[track_caller]
fn warned(args: &[&str], input: &str, out: &str, warning: &str) {
    let ran = piped(args, input);
    let printed = format!("tamis: standard input: warning: {warning}\n");
    assert_eq!((ran.code, ran.out.as_str(), ran.err), (0, out, printed), "{args:?}");
}

#[test]
fn a_path_that_no_item_has_is_a_warning() {
    let input = r#"[{"name":"a","owner":{"login":"b","id":1}},{"version":1}]"#;
    let miss = |select: &str, out: &str, warning: &str| {
        warned(&["--select", select], input, out, warning);
    };
    let out = "[{\"version\":1}]\n";
    piped(&["--select", "version"], "[{\"version\":1}]").done(out);
    miss("nmae,version", "[{},{\"version\":1}]\n", "no item has `nmae` (did you mean `name`?)");
    let out = "[{\"name\":\"a\"},{}]\n";
    miss("name,owner.logni", out, "no item has `owner.logni` (did you mean `owner.login`?)");
    miss("name,/owner/logni", out, "no item has `/owner/logni` (did you mean `/owner/login`?)");
    miss(
        "name,ownr.login,zzz",
        out,
        "no item has `ownr.login` (did you mean `owner.login`?), `zzz`",
    );
    miss(
        "name,a,b,c,d,e,f,g",
        out,
        "no item has `a`, `b`, `c`, `d`, `e` and 2 more of the selected paths",
    );
    let printed =
        "no item has any of the selected paths (nmae; did you mean `name`?): select does not apply";
    miss("nmae", &format!("{input}\n"), printed);
    // A total miss that is an error says it as well.
    let ran = piped(&["--select", "nmae", "--on-error", "closed"], input);
    ran.refused(1, &["(nmae; did you mean `name`?)"]);
    ran.one_line();
    // Nothing is missed where there is nothing, or where select does not apply.
    piped(&["--select", "name"], "[]").done("[]\n");
    piped(&["--select", "name,x", "--raw"], input).done(&format!("{input}\n"));
    piped(&["--select", "name,x", "--is-error"], input).done(&format!("{input}\n"));
}

#[test]
fn only_paths_missing_in_every_line_are_reported() {
    let lines = "{\"name\":\"a\",\"id\":1}\n{\"id\":2}\n[]\n";
    piped(&["--ndjson", "--select", "name,id"], lines)
        .done("{\"name\":\"a\",\"id\":1}\n{\"id\":2}\n[]\n");
    let out = "{\"id\":1}\n{\"id\":2}\n[]\n";
    let warning = "no line has `nmae` (did you mean `name`?)";
    warned(&["--ndjson", "--select", "nmae,id"], lines, out, warning);
}

#[test]
fn a_path_that_is_selected_twice_is_named_once() {
    let select = ["--ndjson", "--select", "id,a=name,b=name"];
    let out = "{\"id\":1,\"a\":1,\"b\":1}\n{\"id\":2}\n";
    piped(&select, "{\"id\":1,\"name\":1}\n{\"id\":2}\n").done(out);
    let lines = "{\"id\":1}\n{\"id\":2}\n";
    warned(&select, lines, lines, "no line has `name`");
    warned(
        &["--select", "id,a=name,b=name"],
        "[{\"id\":1}]",
        "[{\"id\":1}]\n",
        "no item has `name`",
    );
}

/// Blanks before a JSON Pointer are trimmed, blanks after it belong to it.
#[test]
fn a_blank_at_the_end_of_a_pointer_is_its_own() {
    let input = r#"{"b":1,"b ":2}"#;
    piped(&["--exclude", "/b ", "--root", "object"], input).done("{\"b\":1}\n");
    piped(&["--retain", "/x, /b "], input).done("{\"b \":2}\n");
    piped(&["--select", " k = /b ", "--root", "object"], input).done("{\"k\":2}\n");
    piped(&["--exclude", " b ", "--root", "object"], input).done("{\"b \":2}\n");
}

#[test]
fn an_equals_sign_in_a_quoted_name_ends_no_key() {
    let input = r#"[{"k=v":1,"x":0}]"#;
    piped(&["--select", r#"["k=v"]"#], input).done("[{\"k=v\":1}]\n");
    piped(&["--select", r#"n=["k=v"]"#], input).done("[{\"n\":1}]\n");
    let out = "[{\"x\":0}]\n";
    warned(&["--select", "x,k:v"], input, out, "no item has `k:v` (did you mean `[\"k=v\"]`?)");
}

#[test]
fn another_word_is_not_suggested() {
    let input = r#"[{"metadata":{"creationTimestamp":1,"b":2},"x":0}]"#;
    let out = "[{\"x\":0}]\n";
    let missed = "no item has `metadata.deletionTimestamp`, `metadata.a`";
    warned(&["--select", "x,metadata.deletionTimestamp,metadata.a"], input, out, missed);
}

/// The catalog selects members that an item need not have.
#[test]
fn missed_paths_of_the_catalog_are_only_in_the_report() {
    let folder = Folder::new();
    let by = ["filter", "--tool", "github.list-repos", "--report", "report.json"];
    let ran = folder.tamis(&by, br#"[{"full_name":"a"}]"#);
    ran.done("[{\"full_name\":\"a\"}]\n");
    assert!(folder.read("report.json").contains("\"filter_partial_miss\":["));
}

/// An error of a manifest names the rule as it is there.
#[test]
fn a_rule_of_a_manifest_is_no_flag() {
    let folder = Folder::new();
    folder.write("m.yaml", "version: 1\nfilters: {t: {select: [\"deps[]{name,req\"]}}\n");
    for command in ["filter", "explain"] {
        let ran = folder.tamis(&[command, "--manifest", "m.yaml"], b"[]");
        ran.refused(2, &["m.yaml:2:", "expected `}` here"]);
    }
}

#[test]
fn a_misspelled_path_of_a_rule_that_removes_is_a_warning() {
    let input = r#"[{"id":1,"owner":{"login":"b"},"to\u006ben":"t","secrecy":2}]"#;
    let out = "[{\"id\":1,\"owner\":{\"login\":\"b\"},\"to\\u006ben\":\"t\",\"secrecy\":2}]\n";
    let miss = |flag: &str, path: &str, intended: &str| {
        let warning = format!("no document has `{path}` (did you mean `{intended}`?)");
        warned(&[flag, path], input, out, &warning);
    };
    for flag in ["--exclude", "--redact"] {
        miss(flag, "ownr.login", "owner.login");
        miss(flag, "owner.logni", "owner.login");
        miss(flag, "/ownr/logn", "/owner/login");
        miss(flag, "tokn", "token");
        miss(flag, "Owner", "owner");
        // Not a misspelling.
        for path in ["ssn", "owner.email", "customer.address"] {
            piped(&[flag, path], input).done(out);
        }
    }
    let ran = piped(&["--retain", "/id,/ownr/login"], input);
    assert_eq!((ran.code, ran.out.as_str()), (0, "[{\"id\":1}]\n"));
    assert!(ran.err.contains("`/ownr/login` (did you mean `/owner/login`?)"), "{}", ran.err);
    ran.one_line();
    let ran = piped(&["--where", "ownr.login=b"], input);
    assert!(ran.err.contains("`ownr.login` (did you mean `owner.login`?)"), "{}", ran.err);
    ran.one_line();
    // Output keys are names as well.
    piped(&["--select", "own=id", "--exclude", "own"], input).done("[{}]\n");
    // One warning for all rules.
    let ran = piped(&["--select", "id,nme", "--exclude", "ownr", "--redact", "secret"], input);
    ran.one_line();
    for part in ["no item has `nme`", "`ownr` (did you mean `owner`?)", "did you mean `secrets`"] {
        assert!(ran.err.contains(part), "{}", ran.err);
    }
    for (form, unit) in [("--ndjson", "line"), ("--docs", "document")] {
        let ran = piped(&[form, "--exclude", "ownr"], "{\"owner\":1}\n{\"x\":2}\n");
        assert_eq!((ran.code, ran.out.as_str()), (0, "{\"owner\":1}\n{\"x\":2}\n"));
        assert!(ran.err.contains(&format!("no {unit} has `ownr`")), "{}", ran.err);
        let both = "{\"owner\":1}\n{\"ownr\":2}\n";
        piped(&[form, "--exclude", "ownr"], both).done("{\"owner\":1}\n{}\n");
    }
    let folder = Folder::new();
    folder.write("m.yaml", "version: 1\nfilters:\n  t: {redact: {paths: [ownr]}, root: object}\n");
    let ran = folder.pipe(["--manifest", "m.yaml"], br#"{"owner":1}"#);
    assert!(ran.err.contains("`ownr` (did you mean `owner`?)"), "{}", ran.err);
}

/// No item can fulfil a condition on a member that is nowhere.
#[test]
fn a_condition_on_a_member_that_is_nowhere_is_a_warning() {
    let input = r#"[{"id":1,"stars":5},{"id":2}]"#;
    for (flags, path) in [
        (&["--where", "zzz=1"][..], "zzz"),
        (&["--where", "user.zzz~^a", "--select", "id"], "user.zzz"),
        (&["--where", "zzz>4", "--select", "zzz=id"], "zzz"),
    ] {
        warned(flags, input, "[]\n", &format!("no document has `{path}`"));
    }
    piped(&["--where", "!zzz=1"], input).done(&format!("{input}\n"));
    piped(&["--where", "stars>7"], input).done("[]\n");
    piped(&["--where", "zzz=1"], "[]").done("[]\n");
}

/// A name after that of an array is never found by a condition, although exclude and redact find it.
#[test]
fn a_condition_on_a_member_of_an_array_is_a_warning() {
    let input = r#"[{"id":1,"labels":[{"name":"ui"}],"tags": ["a"],"owner":{"login":"b"}},{"id":2,"labels":[],"tags":null}]"#;
    let all = format!("{input}\n").replace("\"tags\": ", "\"tags\":");
    for (condition, intended, out) in [
        ("labels.name=ui", "labels[].name", "[]\n"),
        ("/labels/name=ui", "labels[].name", "[]\n"),
        ("labels.nme~u", "labels[].name", "[]\n"),
        ("!labels.name=ui", "labels[].name", all.as_str()),
    ] {
        let path = condition.trim_start_matches('!').split(['=', '~']).next().unwrap();
        let missed = format!("no document has `{path}` (did you mean `{intended}`?)");
        warned(&["--where", condition], input, out, &missed);
    }
    let missed = "no document has `tags` other than as an array (did you mean `tags[]`?)";
    warned(&["--where", "tags=a"], input, "[]\n", missed);
    // An element, a member of an object, and a value that is not always an array.
    for condition in ["labels[0].name=ux", "labels[].name=ux", "owner.login=c"] {
        piped(&["--where", condition], input).done("[]\n");
    }
    let mixed = r#"[{"a":[{"b":1}],"c":[1]},{"a":{"b":2},"c":1}]"#;
    piped(&["--where", "a.b=1"], mixed).done("[]\n");
    piped(&["--where", "c=2"], mixed).done("[]\n");
    let rooted = r#"{"items":[{"id":1}]}"#;
    let missed = "no document has `items.id` (did you mean `id`?)";
    warned(&["--where", "items.id=1"], rooted, "{\"items\":[]}\n", missed);
    piped(&["--exclude", "labels.name"], input).done(&all.replace("{\"name\":\"ui\"}", "{}"));
}

/// Paths that are right from the top of the document, or in other languages.
#[test]
fn a_path_of_the_document_and_one_without_brackets_are_corrected() {
    let input = r#"{"items":[{"id":1,"users":[{"name":"a"}]}]}"#;
    for (path, intended) in [
        ("users.name", "users[].name"),
        ("items.users", "users"),
        ("items[].users[].name", "users[].name"),
    ] {
        let ran = piped(&["--select", &format!("id,x={path}")], input);
        let said = format!("no item has `{path}` (did you mean `{intended}`?)");
        assert!(ran.err.contains(&said), "{}", ran.err);
    }
    for path in ["..name", "users..name", "**.name", "users.**"] {
        let ran = piped(&["--select", path], input);
        ran.refused(2, &["cannot search at every depth", "write its levels"]);
    }
}

#[test]
fn a_word_that_is_almost_secrets_is_a_warning() {
    for word in ["secret", "secrts", "Secrets"] {
        let ran = piped(&["--redact", word], r#"{"id":1}"#);
        assert_eq!((ran.code, ran.out.as_str()), (0, "{\"id\":1}\n"), "{word}");
        assert!(
            ran.err.contains("did you mean `secrets`, which finds credentials?"),
            "{}",
            ran.err
        );
        ran.one_line();
    }
    let ran = piped(&["--redact", "pii"], r#"{"id":1}"#);
    assert!(ran.err.contains("did you mean `personal`, which finds personal data?"), "{}", ran.err);
    piped(&["--redact", "personal"], r#"{"a":"zoe@example.org"}"#)
        .done("{\"a\":\"[redacted:email]\"}\n");
    piped(&["--redact", "secret"], r#"{"secret":1}"#).done("{\"secret\":\"[redacted]\"}\n");
    piped(&["--redact", "secrets"], r#"{"id":1}"#).done("{\"id\":1}\n");
}
