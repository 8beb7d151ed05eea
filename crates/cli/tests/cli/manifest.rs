//! Filters by name, `tamis check` and `tamis tools`.

use super::*;

const TOOLS: &str = "\
version: 1
filters:
  crm.list-users:
    select: {id: id, login: owner.login}
    max_items: 25
  mail.*: {root: object, exclude: [body]}
";

/// The lines of `check` about the filters of [`TOOLS`].
const EFFECTS: &str = "  crm.list-users: saves: select, max_items\n  mail.*: protects: exclude\n";

const USERS: &str = r#"[{"id": 1.10, "owner": {"login": "mira"}, "x": 2}]"#;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("tools.yaml", TOOLS);
    folder.write("users.json", USERS);
    folder
}

#[test]
fn a_filter_by_name() {
    let folder = folder();
    let by = |args: &[&str]| folder.run([&["--manifest", "tools.yaml"], args].concat());
    let users = "[{\"id\":1.10,\"login\":\"mira\"}]\n";
    by(&["--tool", "crm.list-users", "users.json"]).done(users);
    by(&["--tool", "mail.get", "users.json"])
        .done("[{\"id\":1.10,\"owner\":{\"login\":\"mira\"},\"x\":2}]\n");
    let args =
        ["--tool", "crm.list-users", "users.json", "--pretty", "--tee", "t", "--max-depth", "9"];
    let ran = by(&args);
    assert_eq!((ran.code, folder.read("t").as_str()), (0, USERS));
    by(&["--tool", "crm.list-users", "users.json", "--raw"])
        .done("[{\"id\":1.10,\"owner\":{\"login\":\"mira\"},\"x\":2}]\n");
    by(&[
        "--tool",
        "crm.list-users",
        "--whitespace",
        "keep",
        "--validation",
        "structure",
        "users.json",
    ])
    .done("[{\"id\": 1.10,\"login\": \"mira\"}]\n");
    let lines = folder.pipe(
        ["--manifest", "tools.yaml", "--tool", "crm.list-users", "--ndjson"],
        b"{\"id\":1,\"x\":0}\n{\"id\":2}\n",
    );
    assert_eq!((lines.code, lines.out.as_str()), (0, "{\"id\":1}\n{\"id\":2}\n"));
    assert_eq!(lines.err, "tamis: standard input: warning: no line has `owner.login`\n");
}

#[test]
fn a_summary_that_fails_is_a_warning() {
    let folder = folder();
    folder.write("sum.yaml", "actions: {list: {response: {compact: {item: '{{index .id 0}}'}}}}");
    for (input, flags, place) in [
        ("[{\"id\":1}]\n", &["--manifest", "sum.yaml"][..], "item:1:"),
        ("[]\n[{\"id\":1}]\n", &["--manifest", "sum.yaml", "--ndjson"], "line 2: item:1:"),
    ] {
        let ran = folder.pipe(flags.to_vec(), input.as_bytes());
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.out.ends_with("[{\"id\":1}]\n"), "{}", ran.out);
        ran.one_line();
        assert!(
            ran.err.contains("warning: no summary: ") && ran.err.contains(place),
            "{}",
            ran.err
        );
    }
}

#[test]
fn several_manifests_and_standard_input() {
    let folder = folder();
    folder.write(
        "crm.yaml",
        "actions: {get-user: {response: {type: object, filter: {select: {id: id}}}}}",
    );
    folder.write("user.json", r#"{"id": 1, "x": 2, "stderr": ""}"#);
    let args = [
        "--manifest",
        "tools.yaml",
        "--manifest",
        "crm.yaml",
        "--tool",
        "crm.get-user",
        "user.json",
    ];
    folder.run(args).done("{\"id\":1,\"stderr\":\"\"}\n");
    folder.run(["--manifest", "crm.yaml", "user.json"]).done("{\"id\":1,\"stderr\":\"\"}\n");
    folder
        .pipe(["--manifest", "-", "--tool", "crm.list-users", "users.json"], TOOLS.as_bytes())
        .done("[{\"id\":1.10,\"login\":\"mira\"}]\n");
    folder
        .run(["--manifest", "-", "--tool", "x"])
        .refused(2, &["--manifest -", "standard input", "as a file"]);
    folder.write("twice.yaml", "version: 1\nfilters: {crm.get-user: {}}\n");
    let ran = folder.run(["--manifest", "crm.yaml", "--manifest", "twice.yaml", "user.json"]);
    ran.refused(
        2,
        &["tamis: twice.yaml:2:11: `crm.get-user` has a filter already, at crm.yaml:1:11"],
    );
}

#[test]
fn the_built_in_catalog() {
    let folder = Folder::new();
    let repository = r#"[{"id": 1, "full_name": "a/b", "node_id": "x", "license": null}]"#;
    let ran = folder.pipe(["--tool", "github.list-repos"], repository.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("\"full_name\":\"a/b\"") && !ran.out.contains("node_id"),
        "{}",
        ran.out
    );
    let ran = folder.run(["--tool", "github.list-repo"]);
    ran.refused(
        2,
        &["tamis: the built-in catalog: no filter for the tool `github.list-repo`; did you mean `github.list-repos`? \
           (`tamis tools` lists all; --manifest FILE uses your own)\n"],
    );
    ran.one_line();

    let listed = folder.tamis(&["tools"], b"");
    assert_eq!((listed.code, listed.err.as_str()), (0, ""));
    assert!(
        listed
            .out
            .lines()
            .any(|line| line.starts_with("github.list-repos  ") && line.contains("full_name"))
    );
    // Columns are as wide as what is in them.
    let rows = |text: &str| -> Vec<Vec<String>> {
        let lines = text.lines().filter(|line| line.starts_with("github."));
        lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
    };
    let github = folder.tamis(&["tools", "github."], b"").out;
    assert_eq!((rows(&github), github.lines().count()), (rows(&listed.out), 10));
    folder
        .tamis(&["tools", "gihub"], b"")
        .refused(2, &["no tool begins with `gihub`", "`tamis tools`"]);
}

#[test]
fn tools_of_a_manifest() {
    let folder = folder();
    folder
        .tamis(&["tools", "--manifest", "tools.yaml"], b"")
        .done("crm.list-users  id, login; at most 25 items\nmail.*          all but body\n");
    folder
        .tamis(&["tools", "--manifest", "none.yaml"], b"")
        .refused(2, &["none.yaml: cannot be read"]);
}

#[test]
fn standard_input_is_read_once() {
    let folder = folder();
    for args in [
        &["filter", "--manifest", "-", "--manifest", "-", "--tool", "a", "users.json"][..],
        &["explain", "--manifest", "-", "--manifest", "-", "--tool", "a"],
        &["tools", "--manifest", "-", "--manifest", "-"],
        &["check", "-", "-"],
        &["check", "-", "--tools", "-"],
    ] {
        let ran = folder.tamis(args, TOOLS.as_bytes());
        ran.refused(2, &["standard input can be read only once; give the others as files"]);
        ran.one_line();
    }
}

#[test]
fn errors_of_names_and_manifests() {
    let folder = folder();
    let by =
        |args: &[&str]| folder.run([&["--manifest", "tools.yaml", "users.json"], args].concat());
    let ran = by(&["--tool", "crm.list-user"]);
    ran.refused(2, &["tamis: tools.yaml: no filter for the tool `crm.list-user`; did you mean `crm.list-users`?"]);
    ran.one_line();
    by(&[]).refused(
        2,
        &["tamis: tools.yaml: there are 2 filters; name one with --tool: crm.list-users, mail.*\n"],
    );
    let ran = folder.pipe(["--manifest", "-", "users.json"], b"version: 1\nfilters: {}\n");
    ran.refused(2, &["tamis: standard input: no filter; add one under `filters:`"]);
    ran.one_line();
    for flag in [
        &["--select", "id"][..],
        &["--exclude", "id"],
        &["--retain", "/id"],
        &["--root", "first"],
        &["--siblings", "drop"],
        &["--max-items", "3"],
        &["--stop-early"],
        &["--drop-nulls"],
        &["--drop-empty"],
        &["--on-error", "raw"],
        &["--duplicate-keys", "first"],
    ] {
        by(&[&["--tool", "crm.list-users"], flag].concat())
            .refused(2, &[flag[0], "--tool", "leave"]);
        by(flag).refused(2, &[flag[0], "--manifest", "leave"]);
    }
    folder
        .run(["--manifest", "none.yaml", "users.json"])
        .refused(2, &["tamis: none.yaml: cannot be read: "]);
    folder.write("bad.yaml", "version: 1\nfilters:\n  a: {select: [id, a..b]}\n");
    let ran = folder.run(["--manifest", "bad.yaml", "users.json", "--report", "r.json"]);
    ran.refused(2, &["tamis: bad.yaml:3:22: a: select: a path cannot search"]);
    ran.one_line();
    let report: Value = serde_json::from_str(&folder.read("r.json")).unwrap();
    assert_eq!(report["error"]["kind"], "spec");
    for flag in ["--tee", "--report", "-o"] {
        by(&["--tool", "crm.list-users", flag, "tools.yaml"])
            .refused(2, &["--manifest", "same file"]);
        assert_eq!(folder.read("tools.yaml"), TOOLS, "{flag}");
    }
}

#[test]
fn raw_is_ignored_where_the_filter_says_so() {
    let folder = folder();
    folder.write(
        "closed.yaml",
        "version: 1\nfilters: {a: {retain: [/id], allow_raw: false}, b: {select: [id], allow_raw: false}}\n",
    );
    for tool in ["a", "b"] {
        let args = ["--manifest", "closed.yaml", "--tool", tool, "--raw"];
        let ran = folder.pipe(args, br#"{"id":1,"x":2}"#);
        assert_eq!((ran.code, ran.out.as_str()), (0, "{\"id\":1}\n"));
        ran.one_line();
        assert!(ran.err.contains("warning: --raw is ignored"), "{}", ran.err);
    }
    let args = ["--manifest", "closed.yaml", "--tool", "a", "--raw", "--is-error"];
    let ran = folder.pipe(args, br#"{"id":1,"x":2}"#);
    assert_eq!((ran.code, ran.out.as_str()), (0, "{\"id\":1}\n"));
    assert!(ran.err.contains("warning: --raw is ignored"), "{}", ran.err);
}

#[test]
fn check() {
    let folder = folder();
    let check = |args: &[&str]| folder.tamis(&[&["check"], args].concat(), b"");
    check(&["tools.yaml"]).done(&format!("tools.yaml: 2 filters (tamis)\n{EFFECTS}"));
    folder.write("crm.yaml", "actions: {get-user: {}}");
    check(&["tools.yaml", "crm.yaml"])
        .done(&format!(
            "tools.yaml: 2 filters (tamis)\n{EFFECTS}crm.yaml: 1 filter (kimbap)\n  crm.get-user: no rules\n"
        ));
    folder
        .tamis(&["check", "-"], TOOLS.as_bytes())
        .done(&format!("standard input: 2 filters (tamis)\n{EFFECTS}"));

    folder
        .write("bad.yaml", "version: 1\nfilters:\n  a:\n    slect: [id]\n  b: {max_items: many}\n");
    folder.write("worse.yaml", "x: [");
    let ran = check(&["bad.yaml", "tools.yaml", "worse.yaml", "none.yaml"]);
    ran.refused(2, &[
        "tamis: bad.yaml:4:5: a: unknown key `slect`; did you mean `select`?\n",
        "bad.yaml:5:18: b: `max_items` must be a whole number of at least 0, such as 25, not the text \"many\"\n",
        "tamis: worse.yaml:",
        "tamis: none.yaml: cannot be read",
    ]);
    check(&[]).refused(2, &["MANIFEST"]);
    check(&["tools.yaml", "tools.yaml"])
        .refused(2, &["`crm.list-users` has a filter already, at tools.yaml:3:3"]);
}

/// Text and budgets in the manifest of a service.
#[test]
fn check_reads_templates_and_patterns() {
    let folder = Folder::new();
    let check = |text: &str| {
        folder.write("crm.yaml", text);
        folder.tamis(&["check", "crm.yaml"], b"")
    };
    let good = "\
actions:
  list:
    response:
      text_filter: {strip_ansi: true, strip_lines_matching: ['^\\s*$']}
      compact:
        header: '{{.Total}} users'
        item: |-
          {{.id}}
            {{.name}}
";
    check(good).done("crm.yaml: 1 filter (kimbap)\n  crm.list: saves: text_filter, compact\n");
    folder
        .tamis(&["tools", "--manifest", "crm.yaml"], b"")
        .done("crm.list  all; text by lines; as lines of text\n");
    for (from, to, why) in [
        ("{{.name}}", "{{.name | n}}", "crm.yaml:9:23: crm.list: item: there is no function \"n\""),
        (
            "{{.Total}}",
            "{{.Total | n}}",
            "crm.yaml:6:29: crm.list: header: there is no function \"n\"",
        ),
        ("\\s*$", "(x", "crm.yaml:4:64: crm.list: strip_lines_matching: unclosed group"),
        ("item: |-", "entry: |-", "crm.yaml:7:9: crm.list: unknown key `entry`"),
        (
            "compact:",
            "budget: {bytes: 1}\n      compact:",
            "crm.yaml:5:7: crm.list: unknown key `budget`",
        ),
    ] {
        let ran = check(&good.replace(from, to));
        ran.refused(2, &[&format!("tamis: {why}")]);
        ran.one_line();
    }
}

#[test]
fn check_warns() {
    let folder = Folder::new();
    folder.write(
        "w.yaml",
        "version: 1\nfilters: {a: {exclude: [x]}, b: {select: [x], on_error: closed}}\n",
    );
    let ran = folder.tamis(&["check", "w.yaml"], b"");
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (
            0,
            "w.yaml: 2 filters (tamis)\n  a: protects: exclude\n  b: protects: select, on_error; retrieve: cut\n"
        )
    );
    for words in [
        "tamis: w.yaml:2:15: warning: a: `exclude` with an automatic root",
        "tamis: w.yaml:2:47: warning: b: fails on a miss",
    ] {
        assert!(ran.err.contains(words), "{}", ran.err);
    }
    let ran = folder.tamis(&["check", "w.yaml", "--deny-warnings"], b"");
    ran.refused(2, &["warning: a: ", "tamis: 2 warnings, which --deny-warnings refuses"]);
    folder.write("fine.yaml", TOOLS);
    folder
        .tamis(&["check", "fine.yaml", "--deny-warnings"], b"")
        .done(&format!("fine.yaml: 2 filters (tamis)\n{EFFECTS}"));
}

#[test]
fn check_compares_with_a_list_of_tools() {
    let folder = folder();
    let lists = [
        ("lines.txt", "\u{feff}crm.list-users\r\n\n  mail.get  \nmail.put\n"),
        ("names.json", r#" ["crm.list-users", "mail.get", "mail.put"]"#),
        (
            "mcp.json",
            r#"{"tools": [{"name": "crm.list-users", "inputSchema": {"type": "object"}}, {"name": "mail.get"}, {"name": "mail.put"}], "nextCursor": null}"#,
        ),
        (
            "rpc.json",
            r#"{"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "crm.list-users"}, {"name": "mail.get"}]}}"#,
        ),
    ];
    for (name, list) in lists {
        folder.write(name, list);
        folder
            .tamis(&["check", "tools.yaml", "--tools", name], b"")
            .done(&format!("tools.yaml: 2 filters (tamis)\n{EFFECTS}"));
    }
    let ran = folder.tamis(&["check", "tools.yaml", "--tools", "-"], b"crm.list-user\nother\n");
    assert_eq!((ran.code, ran.out), (0, format!("tools.yaml: 2 filters (tamis)\n{EFFECTS}")));
    for words in [
        "tamis: standard input: warning: no filter for the tool `crm.list-user`; did you mean `crm.list-users`?\n",
        "tamis: standard input: warning: no filter for the tool `other`; expected one of crm.list-users, mail.*\n",
        "tamis: tools.yaml:3: warning: `crm.list-users` matches no tool of standard input\n",
        "tamis: tools.yaml:6: warning: `mail.*` matches no tool of standard input\n",
    ] {
        assert!(ran.err.contains(words), "{words} is not in {}", ran.err);
    }
    let ran = folder.tamis(&["check", "tools.yaml", "--tools", "-", "--deny-warnings"], b"other\n");
    ran.refused(2, &["tamis: 3 warnings"]);
    folder.write("tie.yaml", "version: 1\nfilters: {crm.*: {}, \"*.get\": {}}\n");
    folder
        .tamis(&["check", "tie.yaml", "--tools", "-"], b"crm.get\n")
        .refused(2, &["equally well"]);
    for (wrong, why) in [
        ("{\"tools\": 3}", "not a list of tools: expected one name per line"),
        ("[1]", "not a list of tools: expected one name per line"),
        ("[\"a\"", "not a list of tools (byte 4: the document ends too early): expected one"),
        ("[\"a\"] x", "not a list of tools (byte 6: trailing characters after the document"),
    ] {
        let ran = folder.tamis(&["check", "tools.yaml", "--tools", "-"], wrong.as_bytes());
        ran.refused(1, &["tamis: standard input: ", why, "tools/list"]);
        ran.one_line();
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    folder
        .tamis(&["check", "tools.yaml", "--tools", "-"], deep.as_bytes())
        .refused(1, &["not a list of tools"]);
    folder
        .tamis(&["check", "tools.yaml", "--tools", "none"], b"")
        .refused(1, &["none: cannot be read"]);
    folder
        .tamis(&["check", "-", "--tools", "-"], b"")
        .refused(2, &["standard input can be read only once"]);
}

#[test]
fn check_prints_the_schema() {
    let ran = Folder::new().tamis(&["check", "--schema"], b"");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let schema: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(schema["properties"]["version"]["const"], 1);
}
