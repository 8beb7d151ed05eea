//! The rules of `ext_proc`: the replies to Envoy, and how failures end.

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::envoy::{Exchange, Received};
use crate::server::TestServer;

const RULES: &str = r#"
version: 1
default: refuse
idle_seconds: 1
routes:
- when: {path: /health}
  action: pass
- when: {path: /teapot}
  action: 418
- name: tenants
  when: {path: /users, header: {x-tenant: acme}}
  spec: {exclude: [ssn, name], root: object}
- name: users
  when: {path: ["/users", "/users/**"]}
  spec: {exclude: [ssn], root: object}
- when: {path: /mixed, status: 2xx}
  spec: {exclude: [ssn], root: object}
- when: {path: /mixed, status: 404}
  action: pass
- when: {path: /mcp}
  mcp: {profile: lossless}
"#;

const SECRET: &str = "078-05-1120";

fn user() -> String {
    format!(r#"{{"id": 1, "name": "Ann", "ssn": "{SECRET}"}}"#)
}

const JSON: [(&str, &str); 2] = [(":status", "200"), ("content-type", "application/json")];

/// Sends a GET and its response in pieces.
async fn get(
    server: &TestServer,
    path: &str,
    response: &[(&str, &str)],
    pieces: &[&[u8]],
) -> Result<Received, tonic::Status> {
    let mut exchange = Exchange::begin(&server.channel, "GET", path, &[], true).await;
    exchange.request_headers().await;
    exchange.response(response, pieces.is_empty()).await;
    for (at, piece) in pieces.iter().enumerate() {
        exchange.body(*piece, at + 1 == pieces.len()).await;
    }
    exchange.received().await
}

#[tokio::test]
async fn documents_lines_and_events_are_filtered() {
    let server = TestServer::start(RULES).await;
    for (media_type, input, expected) in [
        ("application/json", user(), r#"{"id":1,"name":"Ann"}"#.to_owned()),
        ("application/problem+json", user(), r#"{"id":1,"name":"Ann"}"#.to_owned()),
        (
            "application/x-ndjson",
            format!("{}\n{}\n", user(), user()),
            "{\"id\":1,\"name\":\"Ann\"}\n{\"id\":1,\"name\":\"Ann\"}\n".to_owned(),
        ),
        (
            "text/event-stream",
            format!("data: {}\n\ndata: [DONE]\n\n", user()),
            "data: {\"id\":1,\"name\":\"Ann\"}\n\ndata: [DONE]\n\n".to_owned(),
        ),
    ] {
        let head = [(":status", "200"), ("content-type", media_type)];
        let (start, end) = input.as_bytes().split_at(9);
        for pieces in [vec![input.as_bytes()], vec![start, end], vec![start, end, b""]] {
            let received = get(&server, "/users", &head, &pieces).await.unwrap();
            assert_eq!(received.body, expected, "{media_type}");
            assert!(received.ended && received.status.is_none());
        }
    }
}

#[tokio::test]
async fn the_first_route_decides_and_others_are_refused() {
    let server = TestServer::start(RULES).await;
    let mut exchange =
        Exchange::begin(&server.channel, "GET", "/users", &[("x-tenant", "acme")], true).await;
    exchange.request_headers().await;
    exchange.response(&JSON, false).await;
    exchange.body(user(), true).await;
    let received = exchange.received().await.unwrap();
    assert_eq!(received.body, r#"{"id":1}"#);
    assert_eq!(received.header("vary"), Some("x-tenant"));

    for (path, status) in [("/other", "403"), ("/teapot", "418"), ("/users%2f..", "403")] {
        let mut exchange = Exchange::begin(&server.channel, "GET", path, &[], true).await;
        let received = exchange.received().await.unwrap();
        assert!(received.immediate, "{path}");
        assert_eq!(received.status.as_deref(), Some(status), "{path}");
        assert_eq!(received.header("vary"), Some("x-tenant"), "{path}");
    }
    // A cache must not send a response that passes to a caller whose responses are filtered.
    let passed = get(&server, "/health", &JSON, &[user().as_bytes()]).await.unwrap();
    assert_eq!((passed.body.as_str(), passed.header("vary")), (user().as_str(), Some("x-tenant")));
    let missing = [(":status", "404"), ("content-type", "text/plain")];
    let missing = get(&server, "/mixed", &missing, &[b"no"]).await.unwrap();
    assert_eq!((missing.body.as_str(), missing.header("vary")), ("no", Some("x-tenant")));
    let moved = [(":status", "500"), ("content-type", "text/plain")];
    let refused = get(&server, "/mixed", &moved, &[SECRET.as_bytes()]).await.unwrap();
    assert_eq!(refused.status.as_deref(), Some("403"));
    assert!(!refused.body.contains(SECRET));
}

#[tokio::test]
async fn failures_before_the_first_byte_become_a_response() {
    let server = TestServer::start(RULES).await;
    let html = [(":status", "200"), ("content-type", "text/html")];
    let partial = [(":status", "206"), ("content-type", "application/json")];
    let brotli_of_brotli =
        [(":status", "200"), ("content-type", "application/json"), ("content-encoding", "br, br")];
    for (head, body) in [
        (&JSON[..], format!("<html>{SECRET}")),
        (&html, format!("<html>{SECRET}")),
        (&partial, user()),
        (&brotli_of_brotli, user()),
    ] {
        let received = get(&server, "/users", head, &[body.as_bytes()]).await.unwrap();
        assert_eq!(received.status.as_deref(), Some("502"), "{body}");
        assert!(!received.body.contains(SECRET));
    }
}

#[tokio::test]
async fn failures_after_the_first_byte_are_errors_of_the_stream() {
    let server = TestServer::start(RULES).await;
    let long = format!(r#"{{"id": 1, "text": "{}", "ssn": {SECRET}"#, "x".repeat(200_000));
    let error = get(&server, "/users", &JSON, &[long.as_bytes()]).await.unwrap_err();
    assert_eq!(error.code(), Code::Internal);
    assert!(!error.message().contains(SECRET));
}

#[tokio::test]
async fn codings_are_decoded() {
    let server = TestServer::start(RULES).await;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(user().as_bytes()).unwrap();
    let body = encoder.finish().unwrap();
    let head =
        [(":status", "200"), ("content-type", "application/json"), ("content-encoding", "gzip")];
    let received = get(&server, "/users", &head, &[&body]).await.unwrap();
    assert_eq!(received.body, r#"{"id":1,"name":"Ann"}"#);
    assert_eq!(received.removed, ["content-encoding"]);
}

#[tokio::test]
async fn responses_without_a_body_have_none() {
    let server = TestServer::start(RULES).await;
    for (method, status) in [("HEAD", "200"), ("GET", "204"), ("GET", "304")] {
        let mut exchange = Exchange::begin(&server.channel, method, "/users", &[], true).await;
        exchange.request_headers().await;
        exchange.response(&[(":status", status), ("content-type", "application/json")], true).await;
        let reply = exchange.reply().await.unwrap();
        assert!(format!("{reply:?}").starts_with("Some(ResponseHeaders"), "{reply:?}");
        exchange.end();
        assert_eq!(exchange.reply().await.unwrap(), None, "{method} {status}");
    }
}

#[tokio::test]
async fn trailers_end_a_body() {
    let server = TestServer::start(RULES).await;
    let mut exchange = Exchange::begin(&server.channel, "GET", "/users", &[], true).await;
    exchange.request_headers().await;
    exchange.response(&JSON, false).await;
    exchange.body(user(), false).await;
    exchange.trailers(&[("x-took", "3"), ("digest", "sha-256=aa")]).await;
    let received = exchange.received().await.unwrap();
    assert_eq!(received.body, r#"{"id":1,"name":"Ann"}"#);
    assert!(received.trailers && !received.ended);
}

#[tokio::test]
async fn requests_pass_and_a_repeated_end_is_ignored() {
    let server = TestServer::start(RULES).await;
    let headers = [("accept-encoding", "gzip"), ("if-none-match", "\"a\""), ("range", "bytes=0-1")];
    let mut exchange = Exchange::begin(&server.channel, "POST", "/users", &headers, false).await;
    exchange.request_body("{\"q\":", false).await;
    exchange.request_body("1}", true).await;
    exchange.request_body("", true).await;
    let changed = exchange.request_headers().await;
    assert_eq!(changed.header("accept-encoding"), Some("identity"));
    // A POST keeps its conditions.
    assert_eq!(changed.removed, [""; 0]);
    assert_eq!(exchange.sent_body().await, "{\"q\":1}");
    let head = [(":status", "200"), ("content-type", "application/json"), ("etag", "\"v\"")];
    exchange.response(&head, false).await;
    exchange.body(user(), true).await;
    let received = exchange.received().await.unwrap();
    assert_eq!(received.body, r#"{"id":1,"name":"Ann"}"#);
    let tag = received.header("etag").unwrap();
    assert!(tag.starts_with("W/\"v.t-"), "{tag}");

    let mut exchange = Exchange::begin(&server.channel, "GET", "/users", &headers, true).await;
    let mut removed = exchange.request_headers().await.removed;
    removed.sort();
    assert_eq!(removed, ["if-none-match", "range"]);

    // The tag is that of the current rules, so the server is asked with its own.
    let headers = [("if-none-match", tag)];
    let mut exchange = Exchange::begin(&server.channel, "GET", "/users", &headers, true).await;
    assert_eq!(exchange.request_headers().await.header("if-none-match"), Some("W/\"v\""));
}

#[tokio::test]
async fn a_stream_never_ends_with_ok_while_a_response_is_open() {
    let server = TestServer::start(RULES).await;
    // Envoy ends its side within the body.
    let mut exchange = Exchange::begin(&server.channel, "GET", "/users", &[], true).await;
    exchange.request_headers().await;
    exchange.response(&JSON, false).await;
    exchange.body(&user().as_bytes()[..20], false).await;
    exchange.end();
    let received = exchange.received().await;
    match received {
        Ok(received) => assert_eq!(received.status.as_deref(), Some("502")),
        Err(status) => assert_ne!(status.code(), Code::Ok),
    }
    // No progress.
    let mut exchange = Exchange::begin(&server.channel, "GET", "/users", &[], true).await;
    exchange.request_headers().await;
    exchange.response(&JSON, false).await;
    exchange.body(&user().as_bytes()[..20], false).await;
    let error = exchange.received().await.unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded);
}

#[tokio::test]
async fn open_streams_are_drained() {
    // The stream has no time of its own. A third of the time for the drain accepts new streams; this one must also outlive that part.
    let rules = RULES.replace("idle_seconds: 1", "idle_seconds: 60");
    let mut server = TestServer::start(&format!("{rules}drain_seconds: 9\n")).await;
    let mut exchange = Exchange::begin(&server.channel, "GET", "/users", &[], true).await;
    exchange.request_headers().await;
    server.stop.take().unwrap().send(()).unwrap();
    tokio::time::sleep(Duration::from_millis(3500)).await;
    exchange.response(&JSON, false).await;
    exchange.body(user(), true).await;
    assert_eq!(exchange.received().await.unwrap().body, r#"{"id":1,"name":"Ann"}"#);
    exchange.end();
    assert_eq!(exchange.reply().await.unwrap(), None);
    drop(exchange);
    server.ended.await.unwrap();
}

#[tokio::test]
async fn new_streams_are_accepted_until_gateways_know_of_the_end() {
    let mut server = TestServer::start(&format!("{RULES}drain_seconds: 3\n")).await;
    server.stop.take().unwrap().send(()).unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let request =
        HealthCheckRequest { service: "envoy.service.ext_proc.v3.ExternalProcessor".to_owned() };
    let health = HealthClient::new(server.channel.clone()).check(request).await.unwrap();
    assert_eq!(health.into_inner().status(), ServingStatus::NotServing);
    let received = get(&server, "/users", &JSON, &[user().as_bytes()]).await.unwrap();
    assert_eq!(received.body, r#"{"id":1,"name":"Ann"}"#);
    drop(server.channel);
    tokio::time::timeout(Duration::from_secs(3), server.ended).await.unwrap().unwrap();
}

#[tokio::test]
async fn messages_of_mcp_are_filtered() {
    let server = TestServer::start(RULES).await;
    let headers = [("content-type", "application/json"), ("accept", "application/json")];
    let mut exchange = Exchange::begin(&server.channel, "POST", "/mcp", &headers, false).await;
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"list"}}"#;
    exchange.request_body(call, true).await;
    exchange.request_headers().await;
    assert_eq!(exchange.sent_body().await, call);
    exchange.response(&JSON, false).await;
    let result =
        r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"[1,  2]"}]}}"#;
    exchange.body(result, true).await;
    let received = exchange.received().await.unwrap();
    assert!(received.body.contains(r#""text":"[1,2]""#), "{}", received.body);

    // The response to a call of our own tool is immediate.
    let mut exchange = Exchange::begin(&server.channel, "POST", "/mcp", &headers, false).await;
    let call = r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"tamis_retrieve","arguments":{"handle":"tm_x"}}}"#;
    exchange.request_body(call, true).await;
    let received = exchange.received().await.unwrap();
    assert!(
        received.immediate && received.body.contains("unknown or expired"),
        "{}",
        received.body
    );
}

#[tokio::test]
async fn requests_of_mcp_may_have_trailers() {
    let server = TestServer::start(RULES).await;
    let headers = [("content-type", "application/json"), ("accept", "application/json")];
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"list"}}"#;
    for (method, body, sent) in [("POST", call, call), ("GET", "ignored", "")] {
        let mut exchange = Exchange::begin(&server.channel, method, "/mcp", &headers, false).await;
        exchange.request_body(body, false).await;
        exchange.request_trailers(&[("x-took", "3")]).await;
        exchange.request_headers().await;
        assert_eq!(exchange.sent_body_before_trailers().await, sent, "{method}");
        // The time of the service does not count.
        tokio::time::sleep(Duration::from_millis(1500)).await;
        exchange.response(&JSON, false).await;
        exchange.body(r#"{"jsonrpc":"2.0","method":"x"}"#, true).await;
        let received = exchange.received().await.unwrap();
        assert!(received.ended, "{method}");
    }
}

#[tokio::test]
async fn requests_of_mcp_have_to_make_progress() {
    let server = TestServer::start(RULES).await;
    for method in ["POST", "GET"] {
        let headers = [("content-type", "application/json")];
        let mut exchange = Exchange::begin(&server.channel, method, "/mcp", &headers, false).await;
        for _ in 0..4 {
            exchange.request_body(" ", false).await;
            tokio::time::sleep(Duration::from_millis(400)).await;
        }
        let error = loop {
            match exchange.reply().await {
                Ok(reply) => assert!(reply.is_some(), "{method}"),
                Err(error) => break error,
            }
        };
        assert_eq!(error.code(), Code::DeadlineExceeded, "{method}");
    }
}

#[tokio::test]
async fn the_end_of_a_complete_response_is_no_failure() {
    let server = TestServer::start(RULES).await;
    let failed = || {
        let text = server.observer.metrics().text();
        let line = text.lines().find(|line| line.contains(r#"event="failed_stream""#));
        line.map(|line| line.rsplit(' ').next().unwrap().to_owned())
    };
    for (path, pieces) in [("/users", 1), ("/users", 0), ("/health", 1), ("/other", 1)] {
        let mut exchange = Exchange::begin(&server.channel, "GET", path, &[], true).await;
        if path != "/other" {
            exchange.request_headers().await;
            exchange.response(&JSON, pieces == 0).await;
        }
        if pieces == 0 {
            exchange.reply().await.unwrap();
        } else {
            exchange.body(user(), true).await;
            exchange.received().await.unwrap();
        }
        exchange.reset();
        _ = exchange.reply().await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(failed(), None, "{path}");
    }
    let mut exchange = Exchange::begin(&server.channel, "GET", "/users", &[], true).await;
    exchange.request_headers().await;
    exchange.response(&JSON, false).await;
    exchange.body(&user().as_bytes()[..20], false).await;
    exchange.reset();
    _ = exchange.reply().await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(failed().as_deref(), Some("1"));
}

#[tokio::test]
async fn a_response_without_headers_is_refused() {
    let server = TestServer::start(RULES).await;
    for trailers in [false, true] {
        let mut exchange = Exchange::begin(&server.channel, "GET", "/users", &[], true).await;
        exchange.request_headers().await;
        if trailers {
            exchange.trailers(&[("x-took", "3")]).await;
        } else {
            exchange.body(user(), true).await;
        }
        let error = exchange.received().await.unwrap_err();
        assert_eq!(error.code(), Code::FailedPrecondition);
        assert!(error.message().contains("response_header_mode"), "{error}");
    }
}

#[tokio::test]
async fn responses_of_envoy_itself_keep_their_status() {
    let server = TestServer::start(RULES).await;
    for (status, expected) in [("400", "400"), ("431", "431"), ("503", "503"), ("200", "502")] {
        let head = [(":status", status), ("content-type", "text/plain"), ("x-secret", SECRET)];
        let mut exchange = Exchange::begin_at_response(&server.channel, &head).await;
        let received = exchange.received().await.unwrap();
        assert!(received.immediate, "{status}");
        assert_eq!(received.status.as_deref(), Some(expected));
        assert!(received.body.starts_with(r#"{"error":"#), "{}", received.body);
        assert_eq!(received.header("content-type"), Some("application/json"));
        assert_eq!(received.header("x-secret"), None);
    }
}

#[tokio::test]
async fn a_refused_upgrade_has_no_headers_of_one() {
    let server = TestServer::start(RULES).await;
    let head = [(":status", "101"), ("upgrade", "websocket"), ("connection", "upgrade")];
    let received = get(&server, "/users", &head, &[SECRET.as_bytes()]).await.unwrap();
    assert!(received.immediate);
    assert_eq!(received.status.as_deref(), Some("502"));
    assert_eq!((received.header("upgrade"), received.header("connection")), (None, None));
    assert!(!received.body.contains(SECRET));
}

#[tokio::test]
async fn rules_are_replaced_only_by_valid_ones() {
    let server = TestServer::start(RULES).await;
    let path = server.path().join("gateway.yaml");
    std::fs::write(&path, "version: 1\ndefault: open\n").unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let received = get(&server, "/users", &JSON, &[user().as_bytes()]).await.unwrap();
    assert_eq!(received.body, r#"{"id":1,"name":"Ann"}"#);
    std::fs::write(&path, RULES.replace("exclude: [ssn]", "exclude: [ssn, id]")).unwrap();
    for _ in 0..50 {
        let received = get(&server, "/users", &JSON, &[user().as_bytes()]).await.unwrap();
        if received.body == r#"{"name":"Ann"}"# {
            let text = server.observer.metrics().text();
            assert!(
                text.contains(r#"tamis_serve_events_total{event="refused_reload"} "#),
                "{text}"
            );
            return;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("the rules were not replaced");
}
