//! The limit for the bytes that all responses together hold.

use std::collections::BTreeMap;

use crate::envoy::Exchange;
use crate::server::TestServer;

/// Bytes that each response holds: none of its members was found yet.
const HELD: usize = 20_000;

const RULES: &str = "version: 1\ndefault: refuse\npool: {memory: 100k, spill: 500k}\nroutes:\n- when: {path: /a}\n  spec: {select: [id], root: auto}\n";

/// Reads the bytes that responses hold now.
fn held(server: &TestServer) -> BTreeMap<&'static str, u64> {
    let text = server.observer.metrics().text();
    let figure = |place: &str| {
        let name = format!(r#"tamis_held_bytes{{place="{place}"}} "#);
        let found = text.lines().find_map(|line| line.strip_prefix(name.as_str()));
        found.unwrap_or_else(|| panic!("{text}")).parse().unwrap()
    };
    BTreeMap::from([("memory", figure("memory")), ("disk", figure("disk"))])
}

#[tokio::test(flavor = "multi_thread")]
async fn all_responses_together_stay_below_the_pool() {
    let server = TestServer::start(RULES).await;
    let json = [(":status", "200"), ("content-type", "application/json")];
    let mut open = Vec::new();
    for _ in 0..100 {
        let mut exchange = Exchange::begin(&server.channel, "GET", "/a", &[], true).await;
        exchange.request_headers().await;
        exchange.response(&json, false).await;
        let text = "x".repeat(HELD);
        exchange.body(format!(r#"{{"text": "{text}""#), false).await;
        let now = held(&server);
        assert!(now["memory"] <= 100 << 10 && now["disk"] <= 500 << 10, "{now:?}");
        open.push(exchange);
    }
    // The server refuses responses that do not fit into the pool, and the others continue.
    let mut statuses = BTreeMap::new();
    for mut exchange in open {
        exchange.body("}", true).await;
        let received = exchange.received().await.unwrap();
        let status = received.status.unwrap_or_default();
        if status == "502" {
            assert!(received.body.contains(r#""kind":"limit""#), "{}", received.body);
        } else {
            assert!(received.body.len() > HELD, "{}", received.body.len());
        }
        *statuses.entry(status).or_insert(0) += 1;
    }
    // At least as many as the pool has room for, not many more: a response holds a little more than its text.
    let passed = statuses[""];
    assert!((25..=31).contains(&passed) && statuses["502"] == 100 - passed, "{statuses:?}");
    // Everything is given back.
    for _ in 0..100 {
        if held(&server).values().all(|bytes| *bytes == 0) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("{:?}", held(&server));
}
