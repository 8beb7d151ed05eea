//! Clients and a server over HTTP.

use serde_json::{Value, json};

use crate::support::{HttpServer, KillOnDrop, post, request, send};

const OFF: [&str; 4] = ["--profile", "off", "--store", "off"];

#[test]
fn requests_and_responses_are_forwarded_with_their_headers() {
    let server = HttpServer::start();
    let (proxy, address) = server.proxy(&OFF);
    let _proxy = KillOnDrop(proxy);
    let headers = [
        ("Authorization", "Bearer client"),
        ("Mcp-Session-Id", "s"),
        ("Connection", "x-hop"),
        ("X-Hop", "1"),
    ];
    let mut response = post(address, &headers, &request(1, "headers", json!({})));
    assert_eq!(response.status, 200);
    assert_eq!(response.headers["x-from-server"], "1");
    let echo = response.json()["result"].clone();
    assert_eq!(echo["path"], "/server/mcp?key=1");
    let sent = &echo["headers"];
    assert_eq!(sent["authorization"], "Bearer client");
    assert_eq!(sent["mcp-session-id"], "s");
    assert_eq!(sent["accept"], "application/json, text/event-stream");
    assert_eq!(sent["accept-encoding"], "identity");
    assert_eq!(sent["host"], server.address.to_string());
    assert_eq!(sent["x-hop"], Value::Null);
}

#[test]
fn headers_are_added_from_the_environment() {
    let server = HttpServer::start();
    let url = format!("http://{}/mcp", server.address);
    let args = [
        "--upstream",
        &url,
        "--listen",
        "127.0.0.1:0",
        "--header",
        "Authorization=@env:TEST_TOKEN",
    ];
    let mut proxy = crate::support::Proxy::start_with(&args, |command| {
        command.env("TEST_TOKEN", "Bearer secret");
    });
    let address = proxy.address("tamis: listening at http://");
    let _proxy = KillOnDrop(proxy);
    let mut response =
        post(address, &[("Authorization", "Bearer client")], &request(1, "headers", json!({})));
    assert_eq!(response.json()["result"]["headers"]["authorization"], "Bearer secret");
}

#[test]
fn statuses_and_bodies_of_other_responses_are_unchanged() {
    let server = HttpServer::start();
    let (proxy, address) = server.proxy(&OFF);
    let _proxy = KillOnDrop(proxy);
    let cases = [
        (
            401,
            json!({"WWW-Authenticate": "Bearer realm=\"x\"", "Content-Type": "application/json"}),
            r#"{"error":"invalid_token"}"#,
        ),
        (404, json!({"Content-Type": "text/plain"}), "Session not found"),
        (202, json!({}), ""),
        (
            400,
            json!({"Content-Type": "application/json"}),
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}"#,
        ),
    ];
    for (status, headers, body) in cases {
        let params = json!({"status": status, "headers": headers, "body": body});
        // A notification: the proxy owes nothing.
        let message = json!({"jsonrpc": "2.0", "method": "status", "params": params});
        let mut response = post(address, &[], &message);
        assert_eq!(response.status, status);
        for (name, value) in headers.as_object().unwrap() {
            assert_eq!(response.headers[&name.to_ascii_lowercase()], *value);
        }
        assert_eq!(response.text(), body);
    }
}

#[test]
fn other_methods_reach_the_server() {
    let server = HttpServer::start();
    let (proxy, address) = server.proxy(&OFF);
    let _proxy = KillOnDrop(proxy);
    let cases = [("GET", 405), ("DELETE", 204), ("OPTIONS", 200), ("PUT", 405)];
    for (method, status) in cases {
        let headers = [("Mcp-Session-Id", "s"), ("Accept", "text/event-stream")];
        assert_eq!(send(address, method, "/mcp", &headers, b"").status, status, "{method}");
    }
    assert_eq!(send(address, "POST", "/elsewhere", &[], b"{}").status, 404);
    let seen = server.seen();
    assert_eq!(seen.as_array().unwrap().len(), 3, "{seen}");
}

#[test]
fn callers_from_elsewhere_are_refused() {
    let server = HttpServer::start();
    let (proxy, address) = server.proxy(&["--allow-origin", "https://app.example"]);
    let _proxy = KillOnDrop(proxy);
    let message = request(1, "echo", json!({}));
    let cases: [(&[(&str, &str)], u16); 5] = [
        (&[("Host", "evil.example")], 403),
        (&[("Origin", "http://evil.example")], 403),
        (&[("Origin", "null")], 403),
        (&[("Origin", "http://localhost:3000")], 200),
        (&[("Origin", "https://app.example")], 200),
    ];
    for (headers, status) in cases {
        assert_eq!(post(address, headers, &message).status, status, "{headers:?}");
    }
    assert_eq!(server.seen().as_array().unwrap().len(), 2);
}

#[test]
fn pages_of_allowed_origins_may_read_responses() {
    let server = HttpServer::start();
    let (proxy, address) = server.proxy(&["--allow-origin", "https://app.example"]);
    let _proxy = KillOnDrop(proxy);
    let preflight = |origin| {
        let asked = [
            ("Origin", origin),
            ("Access-Control-Request-Method", "POST"),
            ("Access-Control-Request-Headers", "authorization,content-type,mcp-session-id"),
        ];
        send(address, "OPTIONS", "/mcp", &asked, b"")
    };
    let response = preflight("https://app.example");
    assert_eq!(response.status, 204);
    let headers = &response.headers;
    assert_eq!(headers["access-control-allow-origin"], "https://app.example");
    assert_eq!(headers["access-control-allow-methods"], "GET, POST, DELETE");
    assert_eq!(
        headers["access-control-allow-headers"],
        "authorization,content-type,mcp-session-id"
    );
    let refused = preflight("https://evil.example");
    assert_eq!(refused.status, 403);
    assert!(!refused.headers.contains_key("access-control-allow-origin"));
    assert_eq!(server.seen().as_array().unwrap().len(), 0);

    let message = request(1, "echo", json!({}));
    let response = post(address, &[("Origin", "https://app.example")], &message);
    assert_eq!(response.headers["access-control-allow-origin"], "https://app.example");
    assert_eq!(
        response.headers["access-control-expose-headers"],
        "mcp-session-id, www-authenticate"
    );
    assert!(!post(address, &[], &message).headers.contains_key("access-control-allow-origin"));
}

#[test]
fn each_event_is_sent_when_it_is_complete() {
    let server = HttpServer::start();
    let (proxy, address) = server.proxy(&OFF);
    let _proxy = KillOnDrop(proxy);
    let notification = |number: u64| json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"n": number}});
    let texts = json!([
        "id: 1\ndata:\n\n",
        format!(
            ": keep-alive\n\nid: 2\r\nretry: 10\r\nevent: message\r\ndata: {}\r\n\r\n",
            notification(1)
        ),
        format!("data:{}\rfoo: bar\r\r", notification(2)),
        format!("data: {}\n\n", json!({"jsonrpc": "2.0", "id": 1, "result": {}})),
    ]);
    let message = request(1, "events", json!({"texts": texts, "steps": true}));
    let mut response = post(address, &[], &message);
    assert_eq!(response.headers["content-type"], "text/event-stream");
    assert_eq!(response.headers["x-accel-buffering"], "no");
    for text in texts.as_array().unwrap() {
        // The next text is sent only after the step, so this one cannot have waited for it.
        let text = text.as_str().unwrap();
        let mut received = String::new();
        while received.len() < text.len() {
            received.push_str(&String::from_utf8(response.piece().unwrap()).unwrap());
        }
        assert_eq!(received, text);
        server.step();
    }
    assert_eq!(response.piece().unwrap(), b"");
}

#[test]
fn a_stream_that_breaks_is_not_ended_cleanly() {
    let server = HttpServer::start();
    let (proxy, address) = server.proxy(&["--pass-through"]);
    let _proxy = KillOnDrop(proxy);
    let texts = json!([
        "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n",
        "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
    ]);
    let message = request(1, "events", json!({"texts": texts, "end": "break"}));
    let mut response = post(address, &[], &message);
    assert_eq!(response.piece().unwrap(), texts[0].as_str().unwrap().as_bytes());
    // The second event lacks its end.
    response.piece().unwrap_err();
}

#[test]
fn a_body_that_breaks_is_not_forwarded() {
    let server = HttpServer::start();
    let (proxy, address) = server.proxy(&["--pass-through"]);
    let _proxy = KillOnDrop(proxy);
    let mut response = post(address, &[], &request(1, "half", json!({})));
    assert_eq!(response.status, 502);
    assert!(response.json()["error"]["code"].is_i64());
}

#[test]
fn a_client_that_disconnects_cancels_the_request() {
    let server = HttpServer::start();
    let (proxy, address) = server.proxy(&OFF);
    let _proxy = KillOnDrop(proxy);
    let events = json!({"texts": ["id: 1\ndata:\n\n"], "end": "hold"});
    let mut response = post(address, &[], &request(1, "events", events));
    response.piece().unwrap();
    drop(response);
    server.wait_for_disconnects(1);
    // While the server has not responded at all.
    let body = request(2, "hang", json!({})).to_string();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
    // The request has arrived when the server has seen it.
    while server.seen().as_array().unwrap().len() < 2 {
        std::thread::yield_now();
    }
    drop(stream);
    server.wait_for_disconnects(2);
}

#[test]
fn a_stream_is_resumed_with_the_last_event() {
    let server = HttpServer::start();
    let (proxy, address) = server.proxy(&OFF);
    let _proxy = KillOnDrop(proxy);
    let session = [("Mcp-Session-Id", "s")];
    let message = request(1, "events", json!({"texts": ["id: 8\nretry: 10\ndata:\n\n"]}));
    let mut response = post(address, &session, &message);
    assert_eq!(response.text(), "id: 8\nretry: 10\ndata:\n\n");
    let headers =
        [("Mcp-Session-Id", "s"), ("Last-Event-ID", "8"), ("Accept", "text/event-stream")];
    let resumed = send(address, "GET", "/mcp", &headers, b"").text();
    assert!(resumed.contains("\"resumed\":true"), "{resumed}");
}

#[test]
fn a_server_that_cannot_be_reached_is_an_error_of_the_request() {
    let server = HttpServer::start();
    let (proxy, address) = server.proxy(&["--pass-through"]);
    let _proxy = KillOnDrop(proxy);
    drop(server);
    let mut response = post(address, &[], &request(1, "echo", json!({})));
    assert!(response.status == 200 || response.status == 502);
    assert!(response.json()["error"]["message"].as_str().unwrap().contains("cannot be reached"));
}

#[test]
fn a_compressed_request_is_refused() {
    let server = HttpServer::start();
    let (proxy, address) = server.proxy(&[]);
    let _proxy = KillOnDrop(proxy);
    let response = post(address, &[("Content-Encoding", "gzip")], &request(1, "echo", json!({})));
    assert_eq!(response.status, 415);
}

#[test]
fn a_signal_ends_the_proxy_while_a_stream_is_open() {
    let server = HttpServer::start();
    let (proxy, address) = server.proxy(&[]);
    let events = json!({"texts": ["id: 1\ndata:\n\n"], "end": "hold"});
    let mut response = post(address, &[], &request(1, "events", events));
    response.piece().unwrap();
    proxy.signal(rustix::process::Signal::TERM);
    assert_eq!(proxy.rest().0, Some(143));
    server.wait_for_disconnects(1);
    response.piece().unwrap_err();
}

#[test]
fn redirects_within_the_origin_are_followed() {
    let server = HttpServer::start();
    let (proxy, address) = server.proxy(&OFF);
    let _proxy = KillOnDrop(proxy);
    let mut response = post(address, &[], &request(1, "slash", json!({})));
    assert_eq!(response.status, 200);
    assert_eq!(response.json()["result"]["path"], "/server/mcp/?key=1");
    // Others are errors that name neither the address nor anything of the response.
    let again = format!("http://{}/server/mcp", server.address);
    for (status, location) in [
        (307, "http://evil.example/mcp"),
        (308, "https://127.0.0.1/mcp"),
        (307, again.as_str()),
        (302, "/server/mcp/"),
        (303, "/other"),
        (301, again.as_str()),
    ] {
        let headers = json!({"Location": location, "Content-Type": "application/json"});
        let params = json!({"status": status, "headers": headers, "body": "\"CANARY\""});
        let mut response = post(address, &[], &request(2, "status", params));
        assert_eq!(response.status, 200, "{location}");
        assert!(!response.headers.contains_key("location"), "{location}");
        let text = response.json().to_string();
        assert!(text.contains("redirect") && text.contains("\"error\""), "{text}");
        for word in ["CANARY", "evil", "127.0.0.1", "/server", "/other"] {
            assert!(!text.contains(word), "{location}: {text}");
        }
    }
}

#[test]
fn plain_requests_go_through_the_proxy_of_the_environment() {
    // The test server serves as the proxy: the path of a request to a proxy is the whole address.
    let server = HttpServer::start();
    let by_proxy = format!("http://mira:tide@{}", server.address);
    for (variable, is_used) in [("HTTP_PROXY", true), ("ALL_PROXY", true), ("HTTPS_PROXY", false)] {
        for no_proxy in ["", "other.example", "mcp.invalid"] {
            let args = ["--upstream", "http://mcp.invalid/mcp/", "--listen", "127.0.0.1:0"];
            let mut proxy = crate::support::Proxy::start_with(&args, |command| {
                command.env(variable, &by_proxy).env("NO_PROXY", no_proxy);
            });
            let address = proxy.address("tamis: listening at http://");
            let _proxy = KillOnDrop(proxy);
            let mut response = post(address, &[], &request(1, "slash", json!({})));
            let echo = response.json();
            let is_used = is_used && no_proxy != "mcp.invalid";
            let credential = if is_used { json!("Basic bWlyYTp0aWRl") } else { Value::Null };
            assert_eq!(echo["result"]["proxy"], credential, "{variable} {no_proxy} {echo}");
        }
    }
    // A server on this machine is reached directly.
    let url = format!("http://{}/mcp/", server.address);
    let args = ["--upstream", &url, "--listen", "127.0.0.1:0"];
    let mut proxy = crate::support::Proxy::start_with(&args, |command| {
        command.env("HTTP_PROXY", "http://127.0.0.1:9").env("ALL_PROXY", "http://127.0.0.1:9");
    });
    let address = proxy.address("tamis: listening at http://");
    let _proxy = KillOnDrop(proxy);
    let mut response = post(address, &[], &request(1, "slash", json!({})));
    assert_eq!(response.json()["result"]["path"], "/mcp/");
}
