//! Requests and responses that try to get around the rules.

use crate::envoy::{Exchange, Received};
use crate::server::TestServer;

const SECRET: &str = "078-05-1120";
const TOKEN: &str = "ghp_R2mW8qKx4TnZ6vYb1LdHc3JfPs5AgE0u9oQi";

async fn get(server: &TestServer, path: &str, media_type: &str, body: &str) -> Received {
    let mut exchange = Exchange::begin(&server.channel, "GET", path, &[], true).await;
    exchange.request_headers().await;
    exchange.response(&[(":status", "200"), ("content-type", media_type)], false).await;
    exchange.body(body, true).await;
    exchange.received().await.unwrap()
}

#[tokio::test]
async fn text_passes_only_rules_that_can_read_it() {
    let server = TestServer::start(
        "version: 1
default: refuse
routes:
- when: {path: /removes}
  spec: {exclude: [ssn], redact: secrets, text_filter: {strip_ansi: true}, root: object}
- when: {path: /closed}
  spec: {select: [id], on_error: closed, text_filter: {strip_ansi: true}}
- when: {path: /redacts}
  spec: {redact: secrets, text_filter: {strip_lines_matching: ['^DEBUG'], strip_ansi: true}}
- when: {path: /saves}
  spec: {text_filter: {strip_lines_matching: ['^DEBUG']}}
- when: {path: /paths}
  spec: {redact: {paths: [ssn], secrets: true}, root: object}
",
    )
    .await;
    let json = format!(r#"{{"id": 1, "ssn": "{SECRET}", "token": "{TOKEN}"}}"#);
    for path in ["/removes", "/closed"] {
        let received = get(&server, path, "text/plain", &json).await;
        assert_eq!(received.status.as_deref(), Some("502"), "{path}");
        assert!(!received.body.contains(SECRET) && !received.body.contains(TOKEN), "{path}");
    }
    let log = format!("DEBUG a\nusing {TOKEN}\nDEBUG b\n");
    for media_type in ["text/plain", "text/plain; charset=ISO-8859-1", "text/log;charset=\"UTF-8\""]
    {
        let received = get(&server, "/redacts", media_type, &log).await;
        assert!(received.body.starts_with("using ") && received.ended, "{received:?}");
        assert!(!received.body.contains(TOKEN), "{received:?}");
    }
    let received = get(&server, "/redacts", "text/plain; charset=utf-16", &log).await;
    assert_eq!(received.status.as_deref(), Some("502"));
    let received = get(&server, "/saves", "text/plain; charset=utf-16", &log).await;
    assert_eq!(received.body, format!("using {TOKEN}\n"));

    let received = get(&server, "/paths", "application/json", &json).await;
    assert!(!received.body.contains(SECRET) && !received.body.contains(TOKEN), "{received:?}");

    let text = server.observer.metrics().text();
    assert!(!text.contains(r#"kind="path""#), "{text}");
    for line in [
        r#"tamis_response_redacted_values_total{route="route 5",kind="github-token"} 1"#,
        r#"tamis_responses_total{route="route 1",outcome="refused"} 1"#,
        r#"tamis_responses_total{route="route 3",outcome="filtered"} 3"#,
        r#"tamis_response_redacted_values_total{route="route 3",kind="github-token"} 3"#,
        &format!(r#"tamis_response_bytes_total{{route="route 3",stage="in"}} {}"#, 3 * log.len()),
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[tokio::test]
async fn a_path_with_two_meanings_is_refused() {
    let server = TestServer::start(
        "version: 1
default: pass
routes:
- when: {path: /health}
  action: pass
- when: {path: '/public/**'}
  action: pass
- when: {path: '/users/**'}
  spec: {exclude: [ssn], root: object}
",
    )
    .await;
    for path in [
        "/users/..%2fhealth",
        "/users/x%2f..%2f..%2fhealth",
        "/users/1%5c..%5c..%5chealth",
        "/users/%2e%2e/health",
        "/users/../health",
        "/users/%252e%252e/health",
        "/public/..;/users/1",
        "/public/../users/1",
        "/public/..%2fusers/1",
        "/users;x=1/1",
        "//users/1",
    ] {
        let mut exchange = Exchange::begin(&server.channel, "GET", path, &[], true).await;
        let received = exchange.received().await.unwrap();
        assert!(received.immediate, "{path}");
        assert_eq!(received.status.as_deref(), Some("400"), "{path}");
    }
    let json = format!(r#"{{"id":1,"ssn":"{SECRET}"}}"#);
    for path in ["/users/1", "/users/%31", "/users/a%2fb?x=%2f..", "/users/100%25;x"] {
        assert_eq!(
            get(&server, path, "application/json", &json).await.body,
            r#"{"id":1}"#,
            "{path}"
        );
    }
}
