//! Large messages and many clients over HTTP.

use serde_json::json;

use crate::support::{HttpServer, KillOnDrop, post, request, send};

#[test]
fn a_result_of_200_mb_takes_little_memory() {
    let server = HttpServer::start();
    let (proxy, address) = server.proxy(&["--pass-through"]);
    let proxy = KillOnDrop(proxy);
    let bytes = 200_000_000;
    let mut response = post(address, &[], &request(1, "big", json!({"bytes": bytes})));
    assert!(response.count() > bytes);
    assert!(proxy.0.peak_memory() < 40, "{} MiB", proxy.0.peak_memory());
}

#[test]
fn a_filtered_result_of_200_mb_takes_little_memory() {
    let server = HttpServer::start();
    let bytes = 200_000_000_u64;
    for (flags, shortened) in
        [(&[][..], true), (&["--profile", "lossless"], false), (&["--store", "off"], false)]
    {
        let (proxy, address) = server.proxy(flags);
        let proxy = KillOnDrop(proxy);
        let call = json!({"name": "x", "arguments": {"bytes": bytes}});
        let received = post(address, &[], &request(1, "tools/call", call)).count();
        assert_eq!(received < 100_000, shortened, "{flags:?}: {received}");
        assert!(proxy.0.peak_memory() < 64, "{flags:?}: {} MiB", proxy.0.peak_memory());
    }
}

#[test]
fn a_message_beyond_the_limits_is_forwarded_if_nothing_forbids_it() {
    let server = HttpServer::start();
    let (proxy, address) = server.proxy(&["--pass-through", "--held", "64k", "--spill", "1M"]);
    let proxy = KillOnDrop(proxy);
    for bytes in [1 << 20, (1 << 20) + (64 << 10), 50_000_000_u64] {
        let mut response = post(address, &[], &request(1, "big", json!({"bytes": bytes})));
        assert!(response.body().len() as u64 > bytes);
    }
    assert!(proxy.0.peak_memory() < 40, "{} MiB", proxy.0.peak_memory());
}

#[test]
fn a_thousand_sessions_with_open_streams() {
    const SESSIONS: usize = 1_000;
    let server = HttpServer::start();
    let (proxy, address) = server.proxy(&["--profile", "off", "--store", "off"]);
    let proxy = KillOnDrop(proxy);
    let mut open = Vec::new();
    for number in 0..SESSIONS {
        let initialize = request(0, "initialize", json!({"name": number}));
        let mut response = post(address, &[], &initialize);
        let id = response.headers["mcp-session-id"].clone();
        response.body();
        let events = json!({"texts": ["id: 1\ndata:\n\n"], "end": "hold"});
        let mut stream = post(address, &[("Mcp-Session-Id", &id)], &request(1, "events", events));
        assert_eq!(stream.piece().unwrap(), b"id: 1\ndata:\n\n");
        open.push((id, stream));
    }
    for (id, _) in &open {
        let mut response =
            post(address, &[("Mcp-Session-Id", id)], &request(2, "echo", json!({"id": id})));
        assert_eq!(response.json()["result"]["id"], **id);
    }
    assert!(proxy.0.peak_memory() < 200, "{} MiB", proxy.0.peak_memory());
    open.truncate(SESSIONS / 2);
    server.wait_for_disconnects(SESSIONS as u64 / 2);
    for (id, _) in &open {
        let headers = [("Mcp-Session-Id", &**id)];
        assert_eq!(send(address, "DELETE", "/mcp", &headers, b"").status, 204);
    }
}
