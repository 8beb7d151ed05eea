//! The operator's view: the log of responses that failed, the metrics, and the health.

use std::sync::Arc;
use std::time::Duration;

use envoy_types::pb::envoy::extensions::filters::http::ext_proc::v3::processing_mode::BodySendMode;
use serde_json::{Value, json};
use tamis_gateway::observe::endpoint;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::envoy::Exchange;
use crate::server::TestServer;

const SECRET: &str = "078-05-1120";

const RULES: &str = "
version: 1
default: 451
manifests: [tamis.yaml]
routes:
- name: health
  when: {path: /health}
  action: pass
- name: users
  when: {path: /users}
  tool: users
- name: selected
  when: {path: /selected}
  spec: {select: [id], root: object}
- name: tools
  when: {path: /mcp}
  mcp: {profile: lossless}
";

async fn start() -> TestServer {
    let filters = "version: 1\nfilters:\n  users: {exclude: [ssn], root: object}\n";
    TestServer::start_with(RULES, &[("tamis.yaml", filters)]).await
}

/// Sends a GET and its response. A response whose stream fails is one as well.
async fn get(server: &TestServer, path: &str, head: &[(&str, &str)], body: &str) {
    let mut exchange = Exchange::begin(&server.channel, "GET", path, &[], true).await;
    if !["/other", "/users/..%2fhealth"].contains(&path) {
        exchange.request_headers().await;
        exchange.response(&[&[(":status", "200")], head].concat(), false).await;
        exchange.body(body, true).await;
    }
    _ = exchange.received().await;
}

/// Returns the lines of the log once there are as many, without their times.
async fn lines(server: &TestServer, count: usize) -> Vec<Value> {
    for _ in 0..200 {
        if server.log().len() >= count {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut lines = server.log();
    for line in &mut lines {
        assert!(line.as_object_mut().unwrap().remove("time").is_some(), "{line}");
    }
    lines
}

/// The path of a request, the headers and the body of its response, and members of the line.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, Value);

#[tokio::test]
async fn each_response_that_fails_is_a_line() {
    const TYPE: (&str, &str) = ("content-type", "application/json");
    const LINES: (&str, &str) = ("content-type", "application/x-ndjson");
    let server = start().await;
    let user = format!(r#"{{"id": 1, "name": "Ann", "ssn": "{SECRET}"}}"#);
    let syntax = format!(r#"{{"id": 1, "of": {{"ssn": "{SECRET}", ]}}}}"#);
    let cut = format!("{user}\n{{\"id\": [}}\n");
    let cases: [Case<'_>; 7] = [
        ("/other", &[], "", json!({"outcome": "refused", "route": "default", "status": 451})),
        (
            "/users/..%2fhealth",
            &[],
            "",
            json!({"outcome": "refused", "status": 400, "reason": "the path can be read in several ways"}),
        ),
        (
            "/users?id=1",
            &[TYPE],
            &syntax,
            json!({"outcome": "refused", "route": "users", "status": 502, "kind": "syntax", "byte": 39,
                "json_path": "/*", "filter": "users", "path": "/users", "reason": "expected a key in double quotes"}),
        ),
        (
            "/users",
            &[TYPE, ("content-encoding", "lz4")],
            &user,
            json!({"outcome": "refused", "route": "users", "status": 502, "kind": "encoding", "filter": "users",
                "coding": "lz4", "reason": "expected the content coding gzip, br or zstd, not `lz4`"}),
        ),
        (
            "/users",
            &[("content-type", "image/png")],
            "\u{89}PNG",
            json!({"outcome": "refused", "route": "users", "status": 502, "filter": "users",
                "reason": "the filter does not read bodies of this type"}),
        ),
        (
            "/users",
            &[LINES],
            &cut,
            json!({"outcome": "cut_off", "route": "users", "status": 200, "kind": "syntax", "filter": "users"}),
        ),
        (
            "/selected",
            &[TYPE],
            r#"{"message": "Not Found"}"#,
            json!({"outcome": "passed", "route": "selected", "status": 200}),
        ),
    ];
    get(&server, "/users", &[TYPE], &user).await;
    get(&server, "/health", &[TYPE], &user).await;
    for (at, (path, head, body, expected)) in cases.iter().enumerate() {
        get(&server, path, head, body).await;
        let lines = lines(&server, at + 1).await;
        assert_eq!(lines.len(), at + 1, "{path}: {lines:?}");
        let line = &lines[at];
        assert!(!line.to_string().contains(SECRET), "{line}");
        assert_eq!(line["method"], "GET");
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(line[name], *value, "{name} of {line}");
        }
    }
}

#[tokio::test]
async fn a_mode_that_cannot_be_filtered_is_named() {
    let server = start().await;
    let mut exchange = Exchange::begin_in_mode(&server.channel, BodySendMode::Buffered).await;
    exchange.received().await.unwrap_err();
    let lines = lines(&server, 1).await;
    let expected = "expected response_body_mode: FULL_DUPLEX_STREAMED";
    assert_eq!(lines, [json!({"outcome": "cut_off", "reason": expected})]);
}

#[tokio::test]
async fn lines_are_few_and_the_others_are_counted() {
    let server = start().await;
    for _ in 0..35 {
        get(&server, "/other", &[], "").await;
    }
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let lines = server.log();
    let (counts, lines): (Vec<_>, Vec<_>) =
        lines.iter().partition(|line| line["outcome"] == "not_logged");
    let counted: u64 = counts.iter().map(|line| line["count"].as_u64().unwrap()).sum();
    assert_eq!(lines.len() as u64 + counted, 35);
    assert!(counted > 0 && !counts.is_empty(), "{counts:?}");
}

#[tokio::test]
async fn every_route_is_a_series() {
    let server = start().await;
    let before = server.observer.metrics().text();
    for line in [
        r#"tamis_responses_total{route="default",outcome="refused"} 0"#,
        r#"tamis_responses_total{route="health",outcome="passed"} 0"#,
        r#"tamis_responses_total{route="users",outcome="filtered"} 0"#,
        r#"tamis_responses_total{route="tools",outcome="relayed"} 0"#,
        "tamis_sessions 0",
        concat!(r#"tamis_build_info{version=""#, env!("CARGO_PKG_VERSION"), r#""} 1"#),
    ] {
        assert!(before.contains(line), "{line}\n{before}");
    }
    for path in ["/health", "/other", "/users/..%2fhealth"] {
        get(&server, path, &[("content-type", "application/json")], "{}").await;
    }
    let after = server.observer.metrics().text();
    assert!(after.contains(r#"{route="default",outcome="refused"} 2"#), "{after}");
    assert!(after.contains(r#"{route="health",outcome="passed"} 1"#), "{after}");

    let without = TestServer::start("version: 1\ndefault: refuse\n").await;
    let text = without.observer.metrics().text();
    assert!(!text.contains("tamis_sessions") && !text.contains("tamis_call_latency"), "{text}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_process_has_the_usual_figures() {
    let server = start().await;
    let text = server.observer.metrics().text();
    for name in [
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "process_virtual_memory_bytes",
        "process_start_time_seconds",
        "process_open_fds",
        "process_max_fds",
    ] {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let value: f64 = line.unwrap_or_else(|| panic!("{name}\n{text}")).parse().unwrap();
        assert!(value >= 0.0, "{name} {value}");
    }
}

#[tokio::test]
async fn the_endpoint_says_whether_the_server_is_ready() {
    let mut server = start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(endpoint::serve(listener, Arc::clone(&server.observer)));
    let ask = async |head: &str| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("{head}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        response
    };
    for (head, status, body) in [
        ("GET /healthz HTTP/1.1\r\nHost: localhost", "200 OK", "\r\n\r\nok"),
        ("HEAD /healthz HTTP/1.1\r\nHost: localhost", "200 OK", "\r\n\r\n"),
        ("GET /metrics HTTP/1.1\r\nHost: localhost", "200 OK", "# EOF\n"),
        ("HEAD /metrics HTTP/1.1\r\nHost: localhost", "200 OK", "\r\n\r\n"),
        ("POST /metrics HTTP/1.1\r\nHost: localhost", "405 ", "expected GET or HEAD"),
        ("GET / HTTP/1.1\r\nHost: localhost", "404 ", "/healthz"),
        // A page whose name was given the address of this machine.
        ("GET /metrics HTTP/1.1\r\nHost: evil.example", "403 ", "does not name this machine"),
        (
            "GET /metrics HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example",
            "403 ",
            "may not use this address",
        ),
        ("GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost", "403 ", "this machine"),
        ("GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil.example", "403 ", "this machine"),
    ] {
        let response = ask(head).await;
        assert!(response.starts_with(&format!("HTTP/1.1 {status}")), "{head}: {response}");
        assert!(response.ends_with(body), "{head}: {response}");
    }
    server.stop.take().unwrap().send(()).unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let response = ask("GET /healthz HTTP/1.1\r\nHost: localhost").await;
    assert!(response.starts_with("HTTP/1.1 503 ") && response.ends_with("stopping"), "{response}");
}
