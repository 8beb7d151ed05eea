//! Large messages and many clients over HTTP.

use serde_json::json;

use crate::support::{HttpServer, KillOnDrop, post, request, send};

/// A result that fills the buffers and the part of a message that is held in memory, in bytes.
const SMALL: u64 = 20_000_000;
const LARGE: u64 = 200_000_000;

/// How much more memory the proxy may have used for the large result than for the small one, in MiB. A tenth of it would be 18.
const MORE: u64 = 16;

#[test]
fn a_result_of_200_mb_takes_little_memory() {
    let server = HttpServer::start();
    let (proxy, address) = server.proxy(&["--pass-through"]);
    let proxy = KillOnDrop(proxy);
    let peaks = [SMALL, LARGE].map(|bytes| {
        let mut response = post(address, &[], &request(1, "big", json!({"bytes": bytes})));
        assert!(response.count() > bytes);
        proxy.0.peak_memory()
    });
    assert!(peaks[1] < peaks[0] + MORE, "{peaks:?} MiB");
}

#[test]
fn a_filtered_result_of_200_mb_takes_little_memory() {
    let server = HttpServer::start();
    for (flags, shortened) in
        [(&[][..], true), (&["--profile", "lossless"], false), (&["--store", "off"], false)]
    {
        let (proxy, address) = server.proxy(flags);
        let proxy = KillOnDrop(proxy);
        let peaks = [SMALL, LARGE].map(|bytes| {
            let call = json!({"name": "x", "arguments": {"bytes": bytes}});
            let received = post(address, &[], &request(1, "tools/call", call)).count();
            assert_eq!(received < 100_000, shortened, "{flags:?}: {received}");
            proxy.0.peak_memory()
        });
        assert!(peaks[1] < peaks[0] + MORE, "{flags:?}: {peaks:?} MiB");
    }
}

#[test]
fn a_message_beyond_the_limits_is_forwarded_if_nothing_forbids_it() {
    let server = HttpServer::start();
    let (proxy, address) = server.proxy(&["--pass-through", "--held", "64k", "--spill", "1M"]);
    let proxy = KillOnDrop(proxy);
    let peaks = [1 << 20, (1 << 20) + (64 << 10), 5_000_000_u64, 80_000_000].map(|bytes| {
        let mut response = post(address, &[], &request(1, "big", json!({"bytes": bytes})));
        assert!(response.body().len() as u64 > bytes);
        proxy.0.peak_memory()
    });
    assert!(peaks[3] < peaks[2] + MORE, "{peaks:?} MiB");
}

#[test]
fn a_thousand_sessions_with_open_streams() {
    const SESSIONS: usize = 1_000;
    let server = HttpServer::start();
    let (proxy, address) = server.proxy(&["--profile", "off", "--store", "off"]);
    let proxy = KillOnDrop(proxy);
    let mut open = Vec::new();
    let mut first = 0;
    for number in 0..SESSIONS {
        let initialize = request(0, "initialize", json!({"name": number}));
        let mut response = post(address, &[], &initialize);
        let id = response.headers["mcp-session-id"].clone();
        response.body();
        let events = json!({"texts": ["id: 1\ndata:\n\n"], "end": "hold"});
        let mut stream = post(address, &[("Mcp-Session-Id", &id)], &request(1, "events", events));
        assert_eq!(stream.piece().unwrap(), b"id: 1\ndata:\n\n");
        open.push((id, stream));
        if number == SESSIONS / 10 {
            first = proxy.0.peak_memory();
        }
    }
    for (id, _) in &open {
        let mut response =
            post(address, &[("Mcp-Session-Id", id)], &request(2, "echo", json!({"id": id})));
        assert_eq!(response.json()["result"]["id"], **id);
    }
    let grown = proxy.0.peak_memory() - first;
    assert!(grown < 150, "{grown} MiB for {} sessions", SESSIONS * 9 / 10);
    open.truncate(SESSIONS / 2);
    server.wait_for_disconnects(SESSIONS as u64 / 2);
    for (id, _) in &open {
        let headers = [("Mcp-Session-Id", &**id)];
        assert_eq!(send(address, "DELETE", "/mcp", &headers, b"").status, 204);
    }
}
