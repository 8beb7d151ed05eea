//! The proxy in front of a server that reads and writes pages: it hides tools, inserts stored values, and refuses to write notices.

use serde_json::{Value, json};

use crate::support::{Proxy, script};

/// Starts the proxy for `pages.py` with a manifest, and says hello.
fn proxy(folder: &std::path::Path, manifest: &str) -> Proxy {
    let file = folder.join("tamis.yaml");
    std::fs::write(&file, format!("version: 1\nfilters: {{}}\n{manifest}\n")).unwrap();
    let (file, server, log) =
        (file.to_str().unwrap(), script("pages.py"), folder.join("log.jsonl"));
    let log = log.to_str().unwrap();
    let mut proxy = Proxy::start(&[
        "--manifest",
        file,
        "--log",
        log,
        "--",
        "python3",
        server.to_str().unwrap(),
    ]);
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    assert_eq!(proxy.call(1, "initialize", hello)["serverInfo"]["name"], "pages");
    proxy
}

fn tool(proxy: &mut Proxy, id: u64, name: &str, arguments: &Value) -> Value {
    proxy.call(id, "tools/call", json!({"name": name, "arguments": arguments}))
}

fn text(result: &Value) -> &str {
    result["content"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap()
}

#[test]
fn hidden_tools_are_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let mut proxy = proxy(folder.path(), "tools: {deny: ['delete_*']}");
    let listed = proxy.call(2, "tools/list", json!({}));
    let names: Vec<&str> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["read_page", "write_page", "tamis_retrieve"]);
    proxy.send(&crate::support::request(3, "tools/call", json!({"name": "delete_page"})));
    let error = proxy.receive()["error"].clone();
    assert_eq!(error, json!({"code": -32602, "message": "Unknown tool: delete_page"}));
    assert_eq!(
        tool(&mut proxy, 4, "write_page", &json!({"path": "/dev/null", "text": ""}))["isError"],
        Value::Null
    );
}

#[test]
fn a_long_page_is_changed_by_its_handle() {
    let folder = tempfile::tempdir().unwrap();
    let mut proxy = proxy(folder.path(), "handles: use");
    proxy.call(2, "tools/list", json!({}));
    let page = tool(&mut proxy, 3, "read_page", &json!({}));
    let notice = text(&page).to_owned();
    let at = notice.find("tm_").unwrap();
    let handle = &notice[at..at + 29];
    let written = folder.path().join("page.md");
    let arguments = json!({"path": written, "text": {"$tamis": handle, "edits": [
        {"old": "# Title é\n", "new": "# Another title\n"},
        {"old": "02222 The quick brown fox", "new": "02222 The slow brown fox"},
        {"old": "no line end", "new": "the end\n"},
    ]}});
    // The model writes only this.
    let tokens = tamis_tokens_of(&arguments);
    assert!(tokens < 200, "{tokens} tokens");
    assert_eq!(text(&tool(&mut proxy, 4, "write_page", &arguments)), "written");
    let lines = (0..4500).map(|number| {
        let fox = if number == 2222 { "slow" } else { "quick" };
        format!("{number:05} The {fox} brown fox jumps over the lazy dog, and then it rests.\r\n")
    });
    let expected = format!("# Another title\n{}the end\n", lines.collect::<String>());
    assert!(std::fs::read_to_string(&written).unwrap() == expected, "byte for byte");
    // A copy of the notice is refused, and does not end the session.
    let copied = json!({"path": written, "text": notice});
    let refused = tool(&mut proxy, 5, "write_page", &copied);
    assert_eq!(refused["isError"], true);
    assert!(text(&refused).contains("the call was not sent"), "{refused}");
    assert!(std::fs::read_to_string(&written).unwrap() == expected);
    let unknown = format!("tm_{}", "a".repeat(26));
    let refused =
        tool(&mut proxy, 5, "write_page", &json!({"path": written, "text": {"$tamis": unknown}}));
    assert!(text(&refused).contains("unknown or expired"), "{refused}");
    proxy.close();
    let log = std::fs::read_to_string(folder.path().join("log.jsonl")).unwrap();
    let outcomes: Vec<String> = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["tool"] == "write_page")
        .map(|line| line["outcome"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(outcomes, ["inserted", "unchanged", "refused", "refused"], "{log}");
    assert!(!log.contains("fox"), "a log has no data");
}

/// Returns an upper bound of the tokens of a JSON value: one for three bytes.
fn tamis_tokens_of(value: &Value) -> usize {
    value.to_string().len() / 3
}
