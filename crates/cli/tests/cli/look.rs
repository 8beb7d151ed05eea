//! `tamis look` as a process: tables, JSON, pages, pictures, chats and outputs of commands.

use super::documented::with_files;
use super::*;

fn look(folder: &Folder, args: &[&str], input: &str) -> Ran {
    let args: Vec<&str> = ["look"].iter().chain(args).copied().collect();
    folder.tamis(&args, input.as_bytes())
}

fn json(folder: &Folder, args: &[&str], input: &str) -> Value {
    let args: Vec<&str> = args.iter().chain(&["--json"]).copied().collect();
    let ran = look(folder, &args, input);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
    serde_json::from_str(&ran.out).unwrap()
}

const ITEMS: &str =
    r#"{"items": [{"id": 1, "url": "https://example.com/1"}, {"id": 2, "url": null}]}"#;

#[test]
fn a_table_of_paths() {
    let folder = Folder::new();
    folder.write("a.json", ITEMS);
    let table = "a.json: 78 bytes, ~18 tokens, 1 document; 8 bytes of white space are not counted
  tokens  bytes  count    share              path
     ~18     70      1  100.0 %  ██████████  (document)
     ~17     68      1   97.1 %  █████████▊  items
     ~15     57      2   81.4 %  ████████▎   items[]
     ~10     39      2   55.7 %  █████▋      items[].url
      ~3     12      2   17.1 %  █▊          items[].id
";
    look(&folder, &["a.json"], "").done(table);
    look(&folder, &[], ITEMS).done(&table.replace("a.json", "standard input"));
    let short = look(&folder, &["a.json", "--top", "1"], "").out;
    assert!(short.ends_with("  items\n  … 3 more paths: --top 0 shows all\n"), "{short}");
    let flat = look(&folder, &["a.json", "--depth", "1"], "").out;
    assert!(flat.contains("  items\n") && !flat.contains("items[]"), "{flat}");
    assert_eq!(look(&folder, &["a.json", "--top", "0"], "").out, table);
}

#[test]
fn figures_as_json() {
    let folder = Folder::new();
    let found = json(&folder, &["--select", "id"], ITEMS);
    assert_eq!(found["version"], 1);
    assert_eq!((&found["documents"], &found["bytes_read"]), (&1.into(), &78.into()));
    let before = &found["before"];
    assert_eq!((&before["kind"], &before["tokens_estimated"]), (&"json".into(), &true.into()));
    let url = serde_json::json!({
        "path": "items[].url", "count": 2, "bytes": 39, "own_bytes": 39, "tokens": 10,
        "types": ["string", "null"]
    });
    assert_eq!(before["paths"][3], url);
    assert_eq!(found["after"]["bytes"], r#"{"items":[{"id":1},{"id":2}]}"#.len());
    let exact = json(&folder, &["--exact"], ITEMS);
    assert_eq!(exact["before"]["tokens_estimated"], false);
    // The output of a filter may be a text.
    let table = json(&folder, &["--select", "id", "--budget", "20", "--omitted", "silent"], ITEMS);
    assert_eq!(table["after"]["kind"], "json");
}

#[test]
fn several_documents() {
    let folder = Folder::new();
    folder.write("a.json", r#"{"id":1}"#);
    folder.write("b.json", r#"{"id":2,"name":"b"}"#);
    let found = json(&folder, &["a.json", "b.json"], "");
    assert_eq!(
        (&found["documents"], &found["before"]["paths"][1]["count"]),
        (&2.into(), &2.into())
    );
    let lines = "{\"id\":1}\n\n  \n{\"id\":2}\r\n{\"id\":3}";
    let found = json(&folder, &["--ndjson"], lines);
    assert_eq!(
        (&found["documents"], &found["before"]["paths"][1]["count"]),
        (&3.into(), &3.into())
    );
    let found = json(&folder, &["--ndjson", "--exclude", "id"], lines);
    assert_eq!(found["after"]["bytes"], 6);
}

#[test]
fn lines_that_are_not_json_are_left_out() {
    let folder = Folder::new();
    let good = "{\"id\":1}\n{\"id\":2}";
    let bad = "{\"id\":1}\n  at main.rs:7\n\n{\"id\":\n{\"id\":2}";
    let expected = look(&folder, &["--ndjson", "--json"], good);
    let ran = look(&folder, &["--ndjson", "--json"], bad);
    let tree = |ran: &Ran| serde_json::from_str::<Value>(&ran.out).unwrap()["before"].clone();
    assert_eq!((ran.code, tree(&ran)), (0, tree(&expected)));
    ran.one_line();
    assert!(
        ran.err.ends_with("warning: 2 lines are not JSON, the first of them line 2: left out\n")
    );
}

#[test]
fn errors() {
    let folder = Folder::new();
    folder.write("a.json", ITEMS);
    folder.write("bad.json", "{\"a\": [1,]}");
    look(&folder, &["bad.json"], "").refused(1, &["tamis: bad.json: byte 9 at /a/1: "]);
    look(&folder, &["--ndjson"], "oops\n\n{\"id\":}\n").refused(1, &["no line is a JSON document"]);
    look(&folder, &["missing.json"], "").refused(1, &["tamis: missing.json: cannot read"]);
    look(&folder, &["a.json", "--html", "no/a.html"], "").refused(1, &["no/a.html: cannot write"]);
    look(&folder, &["-", "-"], "").refused(2, &["`-` is given twice"]);
    look(&folder, &["a.json", "--html", "a.json"], "")
        .refused(2, &["--html and a.json are the same file"]);
    look(&folder, &["a.json", "--html", "x", "--svg", "x"], "").refused(2, &["the same file"]);
    look(&folder, &["a.json", "--select", "a..b"], "").refused(2, &["a..b"]);
    look(&folder, &["a.json", "bad.json", "--chat"], "")
        .refused(2, &["--chat needs one input, found 2"]);
    look(&folder, &["a.json", "--chat", "--exact"], "").refused(2, &["cannot be used with"]);
    look(&folder, &["a.json", "--json", "--svg", "-"], "")
        .refused(2, &["--json and --svg - both write to standard output"]);
    look(&folder, &["--select", "id"], "a line\n")
        .refused(1, &["expected JSON, found text, and the rules of a filter are for JSON"]);
    look(&folder, &["--exact"], "a line\n").refused(1, &["--exact is for JSON"]);
    // The advice names only flags that the command has.
    let several = look(&folder, &[], "{}\n{}\n");
    assert!(several.err.ends_with("(more than one document? try --ndjson for one per line)\n"));
    assert_eq!(folder.read("a.json"), ITEMS);
    assert_eq!(folder.names(), ["a.json", "bad.json"]);
}

/// The rest of a chat is as long as the output of `tamis prune`.
#[test]
fn chats_are_pruned_as_prune_does() {
    let folder = Folder::new();
    let text = "a long text ".repeat(50);
    let user = r#"{"role":"user","content":"go on"}"#;
    let chats = [
        format!(
            r#"{{"model":"m","messages":[{{"role":"assistant","tool_calls":[{{"id":"c1","function":{{"name":"read"}}}}]}},
               {{"role":"tool","tool_call_id":"c1","content":"{text}"}},{user},{user}]}}"#
        ),
        format!(
            r#"{{"messages":[{{"role":"assistant","content":[{{"type":"tool_use","id":"t1","name":"read","input":{{}}}}]}},
               {{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t1","content":"{text}"}}]}},{user},{user}]}}"#
        ),
        format!(
            r#"{{"input":[{{"type":"function_call","call_id":"c","name":"read"}},
               {{"type":"function_call_output","call_id":"c","output":"{text}"}},{user},{user}]}}"#
        ),
        format!(
            r#"{{"contents":[{{"role":"model","parts":[{{"functionCall":{{"name":"read"}}}}]}},
               {{"role":"user","parts":[{{"functionResponse":{{"name":"read","response":{{"result":"{text}"}}}}}}]}},
               {{"role":"user","parts":[{{"text":"a"}}]}},{{"role":"user","parts":[{{"text":"b"}}]}}]}}"#
        ),
    ];
    for chat in chats {
        let found = json(&folder, &[], &chat);
        let pruned = folder.tamis(&["prune"], chat.as_bytes()).out;
        assert_eq!(found["before"]["kind"], "chat", "{chat}");
        assert_eq!(found["before"]["bytes"], chat.len());
        assert_eq!(found["after"]["bytes"], pruned.len(), "{chat}");
        let paths = found["before"]["paths"].as_array().unwrap();
        assert_eq!(paths[2]["path"], "tool results / read");
        assert_eq!(paths[2]["count"], 1);
        let messages = found["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 4);
        let removed = messages[1]["removed"].as_u64().unwrap();
        assert_eq!(removed as usize, chat.len() - pruned.len(), "{chat}");
        assert!(messages[1]["results"].as_u64() >= Some(text.len() as u64));
        assert_eq!(messages[3]["role"], "user");
        assert_eq!(json(&folder, &["--chat"], &chat), found);
        let table = look(&folder, &[], &chat).out;
        assert!(
            table.contains("tool results / read") && table.contains("after tamis prune: "),
            "{table}"
        );
        assert!(table.contains("heaviest messages:\n"), "{table}");
        let first = look(&folder, &["--top", "1"], &chat).out;
        assert!(first.contains("  … 3 more messages: --top 0 shows all\n"), "{first}");
        assert!(!table.contains("more messages"), "{table}");
        // With rules, a chat is a document.
        assert_eq!(json(&folder, &["--exclude", "x"], &chat)["before"]["kind"], "json");
    }
    // People are not messages.
    let people = r#"[{"role":"user","content":null,"id":1}]"#.replace("user", "owner");
    assert_eq!(json(&folder, &[], &people)["before"]["kind"], "json");
}

#[test]
fn lines_of_commands() {
    let folder = with_files();
    let log = "corpus/commands/cargo-test-fail.txt";
    let found = json(&folder, &[log, "--command", "cargo test"], "");
    let text = folder.read(log);
    assert_eq!(found["before"]["kind"], "lines");
    assert_eq!(found["before"]["bytes"], text.len());
    assert_eq!(found["documents"], text.lines().count());
    assert!(found["after"]["bytes"].as_u64() < found["before"]["bytes"].as_u64());
    let shown = look(&folder, &[log, "--command", "cargo test"], "").out;
    assert!(shown.contains("test … ok") && shown.contains("after cargo-test: "), "{shown}");
    // Text is recognised by its first byte, and then has no filter.
    let found = json(&folder, &[log], "");
    assert_eq!((&found["before"]["kind"], &found["after"]), (&"lines".into(), &Value::Null));
    assert_eq!(json(&folder, &[], "[INFO] a\n[INFO] b\n")["documents"], 2);
}

/// Text may begin as a value of JSON does.
#[test]
fn text_is_distinguished_from_json() {
    let folder = Folder::new();
    for text in [
        "2026-11-25 12:00 started\n",
        "[2026-11-25] started\n",
        "[main] started\n",
        "-rw-r--r-- 1 root\n",
        "trueish\n",
        "12 passed\n",
        "--- a/file\n",
    ] {
        assert_eq!(json(&folder, &[], text)["before"]["kind"], "lines", "{text}");
    }
    for document in [
        "12\n",
        " -1.5e3",
        "true",
        "[]",
        "[1, 2]",
        "[ 1\n]",
        "[true,null]",
        "\u{feff}[\n{}]",
        "\"12 passed\"",
        "{\"a\":1}",
    ] {
        assert_eq!(json(&folder, &[], document)["before"]["kind"], "json", "{document}");
    }
}

/// Names cannot move the cursor, begin a line or reorder the text, in any form of the output.
#[test]
fn names_that_are_hostile() {
    let folder = Folder::new();
    let names = "{\"\\u001b[31mred\":1,\"a\\nb\":2,\"\u{202e}cba\":3,\"\u{2028}\":4,\"日本\":5}";
    let args = ["--html", "a.html", "--svg", "a.svg"];
    let table = look(&folder, &args, names).out;
    let picture = folder.read("a.svg");
    for text in [&table, &picture] {
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{2028}']), "{text}");
        assert!(text.contains("\u{fffd}cba") && text.contains("日本"), "{text}");
    }
    assert_eq!(table.lines().count(), 8, "{table}");
    let found = json(&folder, &[], names);
    let paths = found["before"]["paths"].as_array().unwrap();
    assert!(paths.iter().any(|path| path["path"] == "\u{202e}cba"), "{paths:?}");
}

#[test]
fn a_page_on_standard_output() {
    let folder = Folder::new();
    let page = look(&folder, &["--html", "-"], ITEMS).out;
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{page}");
    let picture = look(&folder, &["--svg", "-"], ITEMS).out;
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"), "{picture}");
}

#[test]
fn redaction_is_compared() {
    let folder = Folder::new();
    let found = json(&folder, &["--redact", "id"], ITEMS);
    assert_ne!(found["after"]["bytes"], found["before"]["bytes"]);
}

#[test]
fn a_page_has_everything_inside() {
    let folder = with_files();
    let hostile = r#"[{"</script><script>alert(1)</script>": 1, "<!--": {"&\"'": "x"}}]"#;
    folder.write("hostile.json", hostile);
    for (file, more) in [
        ("hostile.json", &[][..]),
        ("corpus/github-list-repos.json", &["--tool", "github.list-repos"]),
    ] {
        let args = [&[file, "--html", "a.html", "--svg", "a.svg"], more].concat();
        assert_eq!(look(&folder, &args, "").code, 0);
        let page = folder.read("a.html");
        for outside in ["http://", "https://", "src=", "href=", "@import", "url("] {
            let page = page.replace("\\u003c", "<");
            assert!(!page.contains(outside), "{file}: {outside}");
        }
        assert_eq!((page.matches("<script").count(), page.matches("</script>").count()), (2, 2));
        assert!(!page.contains("<!--"), "{file}");
        let data = page.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
        let data: Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["after"].is_null(), more.is_empty());
        let found = json(&folder, &[file], "");
        assert_eq!(
            data["before"]["nodes"].as_array().unwrap().len(),
            found["before"]["paths"].as_array().unwrap().len()
        );
        let picture = folder.read("a.svg");
        assert!(
            picture.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"")
                && picture.ends_with("</svg>\n")
        );
        assert!(!picture.contains("<script"), "{file}");
    }
}

/// The pages of a chat and of a command name the filter, and have what it leaves out at each path.
#[test]
fn pages_of_chats_and_commands_have_the_filter() {
    let folder = with_files();
    let chat = format!(
        r#"[{{"role":"user","content":"a"}},{{"role":"assistant","tool_calls":[{{"id":"1","function":{{"name":"read"}}}}]}},
        {{"role":"tool","tool_call_id":"1","content":"{}"}},{{"role":"user","content":"b"}},{{"role":"user","content":"c"}},
        {{"role":"user","content":"d"}},{{"role":"user","content":"e"}}]"#,
        "text ".repeat(200)
    );
    folder.write("chat.json", &chat);
    let log = "corpus/commands/cargo-test-fail.txt";
    for (args, name) in [
        (&["chat.json", "--chat"][..], "tamis prune"),
        (&[log, "--command", "cargo test"], "cargo-test"),
    ] {
        let page = look(&folder, &[args, &["--html", "-"]].concat(), "").out;
        let data = page.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
        let data: Value = serde_json::from_str(data).unwrap();
        assert_eq!((&data["filter"], &data["rules"][0][0]), (&name.into(), &name.into()));
        let paths = data["rules"][0][1].as_array().unwrap();
        let removed: u64 = paths.iter().map(|path| path[1].as_u64().unwrap()).sum();
        assert_eq!(data["rules"][0][2], removed);
        assert!(removed > 0 && !paths.is_empty(), "{data}");
        if name == "tamis prune" {
            assert_eq!(paths[0][0], "tool results / read");
        }
    }
}

/// The picture of the README. `TAMIS_BLESS=1` writes it again.
#[test]
fn the_picture_of_the_readme() {
    let folder = with_files();
    let args =
        ["corpus/github-list-repos.json", "--tool", "github.list-repos", "--svg", "look.svg"];
    assert_eq!(look(&folder, &args, "").code, 0);
    let path = root().join("docs/src/look.svg");
    let picture = folder.read("look.svg");
    if std::env::var_os("TAMIS_BLESS").is_some() {
        std::fs::write(&path, &picture).unwrap();
    }
    assert!(
        std::fs::read_to_string(path).unwrap() == picture,
        "run with TAMIS_BLESS=1, then read the diff"
    );
}

/// Kinds and paths, and what a filter lets through; never values.
#[test]
fn credentials_and_personal_data() {
    let folder = Folder::new();
    let token = ["gh", "p_", &"a1B2".repeat(9)].concat();
    let users = format!(
        r#"{{"users":[{{"id":1,"mail":"mira@example.org","note":"use {token}","password":"tide"}}]}}"#
    );
    let table = "       1  email         users[].mail
       1  github-token  users[].note
       1  named         users[].password
";
    look(&folder, &["--secrets"], &users).done(table);
    let after = look(&folder, &["--secrets", "--root", "/users", "--select", "id,note"], &users);
    after.done(&format!("{table}after the filter: 1 github-token\n"));
    let found = json(&folder, &["--secrets", "--root", "/users", "--select", "id"], &users);
    assert_eq!(
        (&found["places"][0]["kind"], &found["after"]),
        (&"email".into(), &Value::Object(Default::default()))
    );
    look(&folder, &["--secrets"], "nothing here").done("no credentials or personal data found\n");
}

/// A name that is a credential or personal is shown as a mark: in tables, in JSON and in errors.
#[test]
fn names_that_are_credentials() {
    let folder = Folder::new();
    let token = ["gh", "p_", &"a1B2".repeat(9)].concat();
    let document = format!(
        r#"{{"mira@example.org":{{"pin":7}},"{token}":["noor@example.org"],"\u006dira@example.org":{{"pin":7}}}}"#
    );
    let table = "       2  email         (text)
       1  github-token  (text)
       2  named         [redacted:email].pin
       1  email         [redacted:github-token][]
";
    look(&folder, &["--secrets"], &document).done(table);
    let found = json(&folder, &["--secrets", "--exclude", "a"], &document).to_string();
    assert!(found.contains("[redacted:github-token][]"), "{found}");
    assert!(!found.contains('@') && !found.contains(&token), "{found}");
    // An error has the place, and no path: names are escaped in it, and long ones shortened.
    let long = format!("{token}{}", "a1B2".repeat(100));
    for (name, value) in [
        ("mira@example.org", "[1,}"),
        ("postgres://u:Zq9xKp2mVb@h/db", "tru}"),
        (&token, "[1,}"),
        (&long, "[1,}"),
        (&format!("see {long}"), "tru}"),
    ] {
        // The last byte is the wrong one.
        let offset = name.len() + 7;
        let document = format!(r#"{{"{name}":{value}"#);
        for flags in [&["--secrets", "--select", "id"][..], &["--secrets", "--exclude", "id"]] {
            let failed = look(&folder, flags, &document);
            assert_eq!((failed.code, failed.out.as_str()), (1, ""));
            let place = format!("tamis: standard input: byte {offset}: ");
            assert!(failed.err.starts_with(&place), "{offset}: {}", failed.err);
            for part in ["@", "Zq9", "a1B2", "mira", " at /"] {
                assert!(!failed.err.contains(part), "{part}: {}", failed.err);
            }
        }
    }
}

/// The options of the filter that apply to one call hold for the search, too.
#[test]
fn credentials_and_the_options_of_a_call() {
    let folder = Folder::new();
    let users = r#"[{"id":1,"mail":"mira@example.org"}]"#;
    let after = |flags: &[&str]| {
        let flags = [&["--secrets"], flags].concat();
        json(&folder, &flags, users)["after"].clone()
    };
    let (none, email) = (serde_json::json!({}), serde_json::json!({"email": 1}));
    for (flags, expected) in [
        (&["--select", "id"][..], &none),
        (&["--select", "id", "--raw"], &email),
        (&["--select", "id", "--is-error"], &email),
        (&["--exclude", "mail", "--is-error"], &none),
        (&["--select", "id", "--requires", "[].nothing"], &email),
        (&["--requires", "[].id"], &email),
        (&["--raw"], &Value::Null),
    ] {
        assert_eq!(after(flags), *expected, "{flags:?}");
    }
    // So do limits.
    let failed = look(&folder, &["--secrets", "--select", "id", "--max-depth", "1"], users);
    assert_eq!(failed.code, 1, "{}", failed.out);
}

/// The places of lines and files are counted together.
#[test]
fn credentials_in_lines_and_files() {
    let folder = Folder::new();
    let lines = "{\"mail\":\"mira@example.org\"}\n\n{\"mail\":\"noor@example.org\",\"pin\":7}\n";
    folder.write("a.ndjson", lines);
    folder.write("b.ndjson", "{\"pin\":[7]}\nnot JSON: mira@example.org");
    let table = "       1  email  (text)
       2  email  mail
       1  named  pin
       1  named  pin[]
";
    look(&folder, &["--secrets", "--ndjson", "a.ndjson", "b.ndjson"], "").done(table);
    let filtered = ["--secrets", "--ndjson", "a.ndjson", "--exclude", "mail"];
    let table = "       2  email  mail\n       1  named  pin\nafter the filter: 1 named\n";
    look(&folder, &filtered, "").done(table);
    let failed = look(&folder, &["--secrets", "--ndjson", "b.ndjson", "--exclude", "mail"], "");
    assert_eq!(failed.code, 1);
    assert!(failed.err.starts_with("tamis: b.ndjson: line 2: "), "{}", failed.err);
    // Without the flag, lines are one text.
    look(&folder, &["--secrets", "a.ndjson"], "").done("       2  email  (text)\n");
    folder.write("a.json", r#"{"mail":"mira@example.org"}"#);
    look(&folder, &["--secrets", "a.json", "-"], r#"{"mail":"noor@example.org"}"#)
        .done("       2  email  mail\n");
}

/// `--requires` is a rule: it decides whether the others apply, and is compared with the input like them.
#[test]
fn requires_is_a_rule() {
    let found = json(&Folder::new(), &["--requires", "items[].id"], ITEMS);
    assert_eq!(found["after"]["bytes"], found["before"]["bytes"]);
}

#[test]
fn a_list_of_tools_has_the_cost_of_each() {
    let folder = Folder::new();
    let list = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[
        {"name":"get","description":"Reads a page.","inputSchema":{"type":"object"}},
        {"name":"put","description":"Writes a page, and returns its number.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}}"#;
    let ran = look(&folder, &[], list);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!((ran.code, lines.len()), (0, 5), "{}", ran.out);
    assert!(lines[0].starts_with("2 tools: ") && lines[0].ends_with(" tokens in every request"));
    assert!(lines[3].ends_with("  put") && lines[4].ends_with("  get"), "{}", ran.out);
    let costs = json(&folder, &[], list);
    assert_eq!(costs["tools"][0]["name"], "put");
    let sum = |tool: &Value| tool["tokens"].as_u64().unwrap();
    let tools = costs["tools"].as_array().unwrap();
    assert_eq!(tools.iter().map(sum).sum::<u64>(), costs["tokens"].as_u64().unwrap());
    // A picture shows the document.
    let svg = look(&folder, &["--svg", "-"], list).out;
    assert!(svg.contains("inputSchema"), "{svg}");
}
