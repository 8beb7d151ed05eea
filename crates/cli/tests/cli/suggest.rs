//! `tamis suggest`: suggestions, their savings, the comparison with a filter, and samples that cannot be read.

use super::*;

const ISSUES: &str = "corpus/github-list-issues.json";

/// A folder with a sample of the corpus.
fn folder() -> Folder {
    let folder = Folder::new();
    std::fs::copy(root().join(ISSUES), folder.path("issues.json")).unwrap();
    folder
}

#[test]
fn a_suggestion_is_a_manifest() {
    let folder = folder();
    let ran = folder.tamis(&["suggest", "issues.json", "--name", "github.issues"], b"");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("  github.issues:\n    root: first  # 15 items"), "{}", ran.out);
    assert!(ran.out.contains("      - user.node_id  # for programs; 15 values, "), "{}", ran.out);
    assert!(ran.err.starts_with("tamis: 49,254 bytes (14,5"), "{}", ran.err);
    ran.one_line();
    folder.write("suggested.yaml", &ran.out);
    let checked = folder.tamis(&["check", "suggested.yaml", "--deny-warnings"], b"");
    assert_eq!(checked.code, 0, "{}", checked.err);
    let filtered = folder.run(["--manifest", "suggested.yaml", "issues.json"]);
    assert_eq!((filtered.code, filtered.err.as_str()), (0, ""));
    let again = folder.tamis(&["suggest", "issues.json", "--name", "github.issues"], b"");
    assert_eq!(again.out, ran.out);
}

#[test]
fn tight_suggestions_select() {
    let folder = folder();
    let ran = folder.tamis(&["suggest", "issues.json", "--tight", "--name", "github.issues"], b"");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("      title: title  # title: 15 values, "), "{}", ran.out);
    assert!(ran.out.contains("    # Left out:\n"), "{}", ran.out);
    ran.one_line();
    folder
        .tamis(&["suggest", "a.json", "--tight", "--drift", "b.yaml"], b"")
        .refused(2, &["--tight"]);
}

/// The message is what a line of a log is about, and most of its bytes.
#[test]
fn messages_of_a_log_are_kept() {
    let folder = Folder::new();
    let line = |n: usize, name: &str| {
        let text = format!("request {n} of tenant {} took {} ms in the worker", n * 7, n * 13);
        format!(
            "{{\"level\":\"info\",\"ts\":17000{n:05},\"{name}\":\"{text}\",\"pid\":{n},\"host\":\"h\"}}\n"
        )
    };
    for name in ["msg", "message", "log"] {
        let lines: String = (0..200).map(|n| line(n, name)).collect();
        folder.write("app.log", lines);
        let ran = folder.tamis(&["suggest", "--ndjson", "--tight", "app.log"], b"");
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.out.contains(&format!("      {name}: {name}  #")), "{}", ran.out);
    }
}

#[test]
fn lines_are_samples() {
    let folder = Folder::new();
    folder.write(
        "log.ndjson",
        "{\"id\":1,\"node_id\":\"MDU6SXNzdWUx\"}\n\nnot JSON\n  {\"id\":2,\"node_id\":\"MDU6SXNzdWUy\"}",
    );
    let ran = folder.tamis(&["suggest", "log.ndjson", "--ndjson"], b"");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("from 2 samples of "), "{}", ran.out);
    assert!(ran.out.contains("- node_id  # for programs; 2 values"), "{}", ran.out);
    assert!(ran.err.contains("1 line that is not JSON left out"), "{}", ran.err);
    folder.write("suggested.yaml", &ran.out);
    folder.write("good.ndjson", "{\"id\":3,\"node_id\":\"c\"}\n");
    let args = ["filter", "--manifest", "suggested.yaml", "--ndjson", "good.ndjson"];
    folder.tamis(&args, b"").done("{\"id\":3}\n");
    folder.write("none.ndjson", "no\nlines\n");
    folder
        .tamis(&["suggest", "none.ndjson", "--ndjson"], b"")
        .refused(1, &["none.ndjson", "no line is a JSON document"]);
}

#[test]
fn the_name_is_that_of_the_file() {
    let folder = folder();
    assert!(folder.tamis(&["suggest", "issues.json"], b"").out.contains("\n  issues:\n"));
    let piped = folder.tamis(&["suggest", "-"], br#"[{"id":1,"name":"a"}]"#);
    assert!(piped.out.contains("\n  suggested:\n"), "{}", piped.out);
    folder.tamis(&["suggest", "-", "-"], b"").refused(2, &["given twice"]);
}

/// Names cannot reorder the lines of the manifest.
#[test]
fn names_that_are_hostile() {
    let folder = Folder::new();
    let sample = "[{\"id\":1,\"\u{202e}cba\":2,\"\u{1b}[31m\":3}]".replace('\u{1b}', "\\u001b");
    let ran = folder.tamis(&["suggest", "-", "--tight"], sample.as_bytes());
    assert!(!ran.out.contains(['\u{202e}', '\u{1b}']), "{}", ran.out);
    assert!(ran.out.contains("\\U0000202ecba"), "{}", ran.out);
    folder.write("suggested.yaml", &ran.out);
    let filtered = folder.tamis(&["filter", "--manifest", "suggested.yaml"], sample.as_bytes());
    assert_eq!(filtered.code, 0, "{}", filtered.err);
    assert!(filtered.out.contains("\"\u{202e}cba\":2"), "{}", filtered.out);
}

#[test]
fn suggestions_as_json_and_in_a_file() {
    let folder = folder();
    let ran = folder.tamis(&["suggest", "issues.json", "--json"], b"");
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["suggestion"]["root"], "first");
    assert_eq!(json["suggestion"]["items"], 15);
    assert_eq!(json["bytes_in"], 49_254);
    let members = json["suggestion"]["members"].as_array().unwrap();
    let title = members.iter().find(|member| member["path"] == "title").unwrap();
    assert_eq!((&title["kept"], &title["kind"]), (&Value::from(true), &Value::from("title")));
    let avatar = members.iter().find(|member| member["path"] == "user.avatar_url").unwrap();
    assert_eq!(avatar["kept"], false);
    let ran = folder.tamis(&["suggest", "issues.json", "-o", "out.yaml"], b"");
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(folder.read("out.yaml").starts_with("# Suggested by"));
}

#[test]
fn suggestions_with_the_type_of_the_output() {
    let folder = folder();
    let ran = folder.tamis(&["suggest", "issues.json", "--tight", "--schema"], b"");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("\ntyped: true\nfilters:\n"), "{}", ran.out);
    ran.one_line();
    folder.write("suggested.yaml", &ran.out);
    let checked = folder.tamis(&["check", "suggested.yaml", "--deny-warnings"], b"");
    assert_eq!(checked.code, 0, "{}", checked.err);
    let json = folder.tamis(&["suggest", "issues.json", "--tight", "--schema", "--json"], b"");
    let json: Value = serde_json::from_str(&json.out).unwrap();
    let schema = &json["output_schema"];
    assert_eq!(schema["items"]["properties"]["number"]["type"], "number");
    assert_eq!(schema["items"]["properties"]["labels"]["items"]["type"], "object");
    let required = schema["items"]["required"].as_array().unwrap();
    assert!(required.contains(&"title".into()) && !required.contains(&"draft".into()), "{schema}");

    // Lines are documents, and names are not shown as they are.
    let lines = "{\"id\":1,\"\u{202e}a\":\"x\"}\n{\"id\":2}\n";
    let ran = folder.tamis(&["suggest", "-", "--ndjson", "--schema"], lines.as_bytes());
    let schema = ran.out.lines().last().unwrap();
    assert_eq!(
        schema,
        "    output_schema: {\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"number\"},\
         \"\\u202ea\":{\"type\":\"string\"}},\"required\":[\"id\"]}"
    );
    folder
        .tamis(&["suggest", "a.json", "--schema", "--drift", "b.yaml"], b"")
        .refused(2, &["--schema"]);
}

#[test]
fn drift() {
    let folder = Folder::new();
    folder.write("same.json", r#"[{"id":1,"title":"one"}]"#);
    folder.write("other.json", r#"[{"id":1,"name":"one"}]"#);
    folder.write("tools.yaml", "version: 1\nfilters:\n  list: {select: [id, title]}\n");
    let drift = |sample: &str| folder.tamis(&["suggest", sample, "--drift", "tools.yaml"], b"");
    let same = drift("same.json");
    assert_eq!((same.code, same.out.as_str()), (0, ""), "{}", same.err);
    let other = drift("other.json");
    assert_eq!((other.code, other.out.as_str()), (1, "no sample has title\n"), "{}", other.err);
    let json = folder.tamis(&["suggest", "other.json", "--drift", "tools.yaml", "--json"], b"");
    let json: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["missing"], serde_json::json!(["title"]));
    folder.write("two.yaml", "version: 1\nfilters:\n  a: {select: [id]}\n  b: {select: [id]}\n");
    folder
        .tamis(&["suggest", "same.json", "--drift", "two.yaml"], b"")
        .refused(2, &["2 filters", "--tool"]);
    folder.tamis(&["suggest", "same.json", "--tool", "a"], b"").refused(2, &["--drift"]);
}

#[test]
fn samples_that_cannot_be_read() {
    let folder = Folder::new();
    for (name, content) in
        [("empty.json", ""), ("cut.json", "[{"), ("deep.json", &*"[".repeat(2000))]
    {
        folder.write(name, content);
        folder.tamis(&["suggest", name], b"").refused(1, &[name]);
    }
    // The advice names only flags that the command has.
    folder
        .tamis(&["suggest", "-"], b"{}\n{}\n")
        .refused(1, &["--ndjson", "give each in a file of its own)"]);
    assert!(!folder.tamis(&["suggest", "deep.json"], b"").err.contains("--max-depth"));
    folder.tamis(&["suggest", "absent.json"], b"").refused(1, &["absent.json"]);
    folder.tamis(&["suggest"], b"").refused(2, &["FILE"]);
}

#[test]
fn credentials_are_left_out_with_a_note() {
    let folder = Folder::new();
    let sample = r#"[{"id":1,"name":"a","password":"hunter2hunter2","ssn":"078-05-1120"},
        {"id":2,"name":"b","password":"correcthorse","ssn":"078-05-1121"}]"#;
    let ran = folder.tamis(&["suggest", "-"], sample.as_bytes());
    assert!(
        ran.err.contains("credentials or personal numbers left out: password, ssn"),
        "{}",
        ran.err
    );
    assert!(ran.out.contains("    redact: secrets  # "), "{}", ran.out);
    let json = folder.tamis(&["suggest", "-", "--json"], sample.as_bytes());
    for text in [&ran.out, &ran.err, &json.out] {
        assert!(!text.contains("hunter2") && !text.contains("078-"), "{text}");
    }
    folder.write("suggested.yaml", &ran.out);
    let filtered = folder.tamis(&["filter", "--manifest", "suggested.yaml"], sample.as_bytes());
    assert_eq!(filtered.out.trim_end(), r#"[{"id":1,"name":"a"},{"id":2,"name":"b"}]"#);
}

/// A map from ids has more members than a filter may have rules.
#[test]
fn a_map_with_many_ids_gets_a_filter() {
    let folder = Folder::new();
    let members = |count: usize| {
        let members = (0..count).map(|id| format!("\"id{id}\":{{\"name\":\"n{id}\",\"v\":{id}}}"));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    };
    for count in [900, 12_000] {
        folder.write("map.json", members(count));
        let ran = folder.tamis(&["suggest", "map.json", "-o", "tools.yaml"], b"");
        assert_eq!(ran.code, 0, "{count}: {}", ran.err);
        let ran = folder.tamis(&["filter", "--manifest", "tools.yaml", "map.json"], b"");
        assert_eq!(ran.code, 0, "{count}: {}", ran.err);
    }
}

#[test]
fn samples_of_two_kinds_are_refused_and_names_lose_their_endings() {
    let folder = Folder::new();
    folder.write("list.json", r#"[{"id":1,"name":"a"}]"#);
    folder.write("one.json", r#"{"items":[{"id":1,"name":"a"}]}"#);
    let ran = folder.tamis(&["suggest", "list.json", "one.json"], b"");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("give each kind in a run of its own"), "{}", ran.err);
    folder.write("app.log", "{\"id\":1,\"level\":\"info\"}\n{\"id\":2,\"level\":\"info\"}\n");
    let ran = folder.tamis(&["suggest", "--ndjson", "app.log"], b"");
    assert!(ran.out.contains("\n  app:\n"), "{}", ran.out);
    let ran = folder.tamis(&["suggest", "file:///list.json"], b"");
    assert!(ran.err.contains("a path has no scheme: /list.json"), "{}", ran.err);
}
