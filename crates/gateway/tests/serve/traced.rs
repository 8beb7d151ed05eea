//! Spans of exchanges, for the crate `tracing`.

use std::io::{Result, Write};
use std::sync::{Arc, Mutex};

use tracing::Level;
use tracing::dispatcher::Dispatch;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::envoy::Exchange;
use crate::server::TestServer;

const RULES: &str = "version: 1
default: refuse
routes:
- name: chat
  when: {path: /mcp}
  mcp: {profile: lossless}
- name: users
  when: {path: /users}
  spec: {exclude: [ssn]}
";

/// The output of a subscriber.
#[derive(Clone, Default)]
struct Printed(Arc<Mutex<Vec<u8>>>);

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Printed {
    /// Returns a subscriber that prints each span of the server when it closes.
    fn subscriber(&self) -> Dispatch {
        let printed = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(Level::DEBUG)
            .with_span_events(FmtSpan::CLOSE)
            .with_ansi(false)
            .with_writer(move || printed.clone());
        subscriber.finish().into()
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

#[tokio::test]
async fn exchanges_have_spans_with_their_route() {
    let printed = Printed::default();
    let _guard = tracing::dispatcher::set_default(&printed.subscriber());
    let server = TestServer::start(RULES).await;
    let json = ("content-type", "application/json");
    let call =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list","x":"secret"}}"#;
    for (method, path, request, response) in [
        ("GET", "/users", None, r#"[{"id": 1, "ssn": "secret"}]"#),
        ("POST", "/mcp", Some(call), r#"{"jsonrpc":"2.0","id":1,"result":{"content":["secret"]}}"#),
    ] {
        let whole = request.is_none();
        let mut exchange = Exchange::begin(&server.channel, method, path, &[json], whole).await;
        if let Some(request) = request {
            exchange.request_body(request, true).await;
        }
        exchange.request_headers().await;
        if let Some(request) = request {
            assert_eq!(exchange.sent_body().await, request);
        }
        exchange.response(&[(":status", "200"), json], false).await;
        exchange.body(response, true).await;
        exchange.received().await.unwrap();
    }
    let text = printed.text();
    let span = |method, route| format!("exchange{{method=\"{method}\" route=\"{route}\"}}:");
    let closed = |span: String| {
        text.lines().any(|line| line.contains(&format!("{span} tamis::serve: close")))
    };
    assert!(closed(span("GET", "users")), "{text}");
    assert!(closed(span("POST", "chat")), "{text}");
    // The span of the tower layer is within it.
    assert!(text.contains(&format!("{}filter_response{{", span("GET", "users"))), "{text}");
    assert!(!text.contains("secret"), "{text}");
}
