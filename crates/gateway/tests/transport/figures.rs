//! The metrics, the log and the table of savings.

use serde_json::json;
use tamis_store::calls::Savings;

use crate::support::{Proxy, script, send};

#[test]
fn metrics_are_served_while_the_proxy_runs() {
    let mut proxy = Proxy::of_server(&["--metrics", "127.0.0.1:0"], &[]);
    let address = proxy.address("tamis: metrics at http://");
    proxy.call(1, "echo", json!({}));
    let mut response = send(address, "GET", "/metrics", &[], b"");
    assert_eq!(response.status, 200);
    let text = response.text();
    for line in [
        "tamis_messages_total{from=\"client\"} 1",
        "tamis_messages_total{from=\"server\"} 1",
        "tamis_call_latency_seconds_bucket{le=\"+Inf\"} 0",
        "# EOF",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert_eq!(send(address, "GET", "/", &[], b"").status, 404);
}

#[test]
fn a_call_is_logged_counted_and_summed_without_its_data() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("calls.jsonl");
    let log_flag = log.to_str().unwrap();
    let mut proxy = Proxy::of_server(&["--metrics", "127.0.0.1:0", "--log", log_flag], &[]);
    let address = proxy.address("tamis: metrics at http://");
    let items: Vec<_> =
        (0..5_000).map(|id| json!({"id": id, "secret": "canary", "none": null})).collect();
    let text = json!({"items": items}).to_string();
    let result = json!({"content": [{"type": "text", "text": text}]});
    let call = json!({"name": "search", "arguments": {"result": result}});
    let filtered = proxy.call(1, "tools/call", call).to_string();
    assert!(filtered.len() < text.len() / 2, "{}", filtered.len());
    let metrics = send(address, "GET", "/metrics", &[], b"").text();
    let calls = "tamis_calls_total{tool=\"search\",rule=\"profile\",outcome=\"filtered\"} 1";
    for part in [
        calls,
        "tamis_call_latency_seconds_count 1",
        "tamis_result_bytes_total{tool=\"search\",stage=\"in\"}",
    ] {
        assert!(metrics.contains(part), "{part}\n{metrics}");
    }
    assert_eq!(proxy.close().0, Some(0));
    let logged = std::fs::read_to_string(&log).unwrap();
    assert_eq!(logged.lines().count(), 1, "{logged}");
    assert!(!logged.contains("canary"), "{logged}");
    let line: serde_json::Value = serde_json::from_str(&logged).unwrap();
    assert_eq!((&line["tool"], &line["outcome"]), (&json!("search"), &json!("filtered")));
    assert!(line["handle"].as_str().unwrap().starts_with("tm_"));
    assert!(line["latency_ms"].as_f64() >= line["duration_ms"].as_f64());
    assert!(line["bytes_in"].as_u64().unwrap() > 100_000);
    let mode = std::os::unix::fs::PermissionsExt::mode(&log.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let mut savings = Savings::default();
    savings.read_file(&log).unwrap();
    let table = savings.table();
    assert!(table.lines().nth(1).unwrap().starts_with("search      1       0"), "{table}");
}

#[test]
fn filters_that_match_no_tool_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = folder.path().join("m.yaml");
    let filters = "version: 1\nfilters:\n  search: {select: [id]}\n  serach: {exclude: [ssn]}\n";
    std::fs::write(&manifest, filters).unwrap();
    let mut proxy = Proxy::of_server(&["--manifest", manifest.to_str().unwrap()], &[]);
    for id in [1, 2] {
        proxy.call(id, "tools/list", json!({}));
    }
    let (_, _, errors) = proxy.close();
    let warning = "tamis: the server lists no tool for these filters of the manifest: `serach`\n";
    assert_eq!(errors.matches(warning).count(), 1, "{errors}");
}

/// An installer puts the proxy before servers that people rely on.
#[test]
fn an_installed_proxy_runs_without_filters_that_only_save_and_are_not_valid() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("tamis")).unwrap();
    let server = script("server.py");
    let args = ["--config", "user", "--", "python3", server.to_str().unwrap()];
    let start = |file: &str, args: &[&str]| {
        std::fs::write(folder.path().join("tamis/tamis.yaml"), file).unwrap();
        Proxy::start_with(args, |command| _ = command.env("XDG_CONFIG_HOME", folder.path()))
    };
    let saves = "version: 1\nfilters:\n  a: {select: [id]\n";
    let mut proxy = start(saves, &args);
    proxy.call(1, "echo", json!({}));
    let (code, _, errors) = proxy.close();
    assert_eq!(code, Some(0));
    assert!(errors.contains("tamis: the filters of the file are not used: "), "{errors}");
    let protects = "version: 1\nfilters:\n  a: {exclude: [id]\n";
    for (file, args) in [(protects, args.as_slice()), (saves, args.get(2..).unwrap())] {
        let (code, _, errors) = start(file, args).close();
        assert!(code == Some(2) && errors.contains("tamis.yaml:3:"), "{errors}");
    }
}

#[test]
fn messages_about_the_command_line_say_what_to_write() {
    for (args, expected) in [
        (&[] as &[&str], "or its address with --upstream URL"),
        (&["cat"], "tamis mcp -- cat"),
        (
            &["--service", "nope", "--", "cat"],
            "no filter is known for the service `nope`; the catalog has ",
        ),
    ] {
        let (code, _, errors) = Proxy::start(args).close();
        assert_eq!(code, Some(2));
        assert!(errors.contains(expected), "{errors}");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let (_, _, errors) = Proxy::start(&["--store", path, "--", "true"]).close();
    let expected = format!(
        "they cannot be stored in {path}: cannot write to the store: the folder of the store is a symbolic link or a file"
    );
    assert!(errors.contains(&expected), "{errors}");
}

#[test]
fn wrong_command_lines_are_reported() {
    let cases: [&[&str]; 6] = [
        &[],
        &["--upstream", "ftp://x/"],
        &["--upstream", "http://127.0.0.1:1/", "--header", "Authorization=secret"],
        &["--upstream", "http://127.0.0.1:1/", "--", "cat"],
        &["--profile", "huge", "--", "cat"],
        &["--log", "/nonexistent/log", "--", "cat"],
    ];
    for args in cases {
        let (code, output, errors) = Proxy::start(args).close();
        assert_eq!((code, output.as_str()), (Some(2), ""), "{args:?}");
        assert!(!errors.is_empty() && !errors.contains("secret"), "{errors}");
    }
}

/// Kinds and counts of replaced values are in the log, the metrics and the sums; no value is.
#[test]
fn replaced_values_are_counted_by_tool_and_kind() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("calls.jsonl");
    let log_flag = log.to_str().unwrap();
    let flags = ["--metrics", "127.0.0.1:0", "--log", log_flag, "--redact", "secrets,personal"];
    let mut proxy = Proxy::of_server(&flags, &[]);
    let address = proxy.address("tamis: metrics at http://");
    let token = ["gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let text = format!("{token} of mira@example.org and nils@example.org");
    let result = json!({"content": [{"type": "text", "text": text}]});
    let call = json!({"name": "list_env", "arguments": {"result": result}});
    proxy.call(1, "tools/call", call);
    let metrics = send(address, "GET", "/metrics", &[], b"").text();
    for (kind, count) in [("email", 2), ("github-token", 1)] {
        let line =
            format!("tamis_redacted_values_total{{tool=\"list_env\",kind=\"{kind}\"}} {count}");
        assert!(metrics.contains(&line), "{line}\n{metrics}");
    }
    assert_eq!(proxy.close().0, Some(0));
    let logged = std::fs::read_to_string(&log).unwrap();
    let line: serde_json::Value = serde_json::from_str(&logged).unwrap();
    assert_eq!(line["redacted"], json!({"email": 2, "github-token": 1}));
    let mut savings = Savings::default();
    savings.read_file(&log).unwrap();
    let table = savings.redacted_table();
    assert!(table.contains("list_env  email             2\n"), "{table}");
    for shown in [metrics, logged, table] {
        assert!(!shown.contains("ghp_") && !shown.contains("example.org"), "{shown}");
    }
}
