//! The metrics, the log and the table of savings.

use std::process::Command;

use serde_json::json;

use crate::support::{Proxy, send};

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
fn savings_reads_logs_and_reports_what_it_cannot_read() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("calls.jsonl");
    let line = json!({"tool": "a\u{1b}[1m", "outcome": "filtered", "bytes_in": 4000, "bytes_out": 1000, "tokens_in": 1000, "tokens_out": 250});
    std::fs::write(&log, format!("{line}\nnot a record\n{line}\n")).unwrap();
    let savings = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_tamis-gateway")).arg("savings").args(args).output();
        let output = output.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, table, errors) = savings(&[log.to_str().unwrap()]);
    assert_eq!(code, Some(0));
    assert!(table.contains("a\u{fffd}[1m      2       0     8,000      2,000          1,500    75%"), "{table}");
    assert_eq!(errors, "tamis: skipped 1 lines that are not records of calls\n");
    let (code, table, errors) = savings(&["/nonexistent"]);
    assert_eq!((code, table.as_str()), (Some(1), ""));
    assert!(errors.starts_with("tamis: /nonexistent: "), "{errors}");
    assert_eq!(savings(&[]).0, Some(2));
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
