//! A client on standard input and output, and a server over HTTP.

use serde_json::{Value, json};

use crate::support::{HttpServer, Proxy, request};

fn bridge(server: &HttpServer) -> Proxy {
    let url = format!("http://{}/mcp", server.address);
    Proxy::start(&["--stdio", "--upstream", &url, "--profile", "off", "--store", "off"])
}

fn initialized(server: &HttpServer) -> Proxy {
    let mut proxy = bridge(server);
    let params = json!({"protocolVersion": "2025-06-18", "name": "x"});
    proxy.call(0, "initialize", params);
    proxy.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    proxy
}

const MODERN: &str = "io.modelcontextprotocol/protocolVersion";

#[test]
fn a_legacy_session_has_its_id_and_version_on_all_requests() {
    let server = HttpServer::start();
    let mut proxy = initialized(&server);
    let headers = proxy.call(1, "headers", json!({}))["headers"].clone();
    assert_eq!(headers["mcp-session-id"], "session-x");
    assert_eq!(headers["mcp-protocol-version"], "2025-06-18");
    assert_eq!(headers["accept"], "application/json, text/event-stream");
    assert_eq!(headers["mcp-method"], Value::Null);
    // The stream for messages of the server is asked for, and refused. At the end the session is ended.
    while !server.seen().as_array().unwrap().contains(&json!(["GET", "/mcp"])) {
        std::thread::yield_now();
    }
    let (code, rest, errors) = proxy.close();
    assert_eq!((code, rest.as_str(), errors.as_str()), (Some(0), "", ""));
    let seen = server.seen();
    assert_eq!(seen.as_array().unwrap().last().unwrap(), &json!(["DELETE", "/mcp"]));
}

#[test]
fn a_modern_request_repeats_its_members_in_headers() {
    let server = HttpServer::start();
    let mut proxy = bridge(&server);
    let meta = json!({MODERN: "2026-07-28"});
    let list = json!({"tools": [{"name": "größe", "inputSchema": {"type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}}], "_meta": meta});
    // The server returns the parameters as the result.
    proxy.call(1, "tools/list", list);
    let call = json!({"name": "größe", "arguments": {"region": "süd"}, "headers_please": true, "_meta": meta});
    let headers = proxy.call(2, "tools/call", call)["headers"].clone();
    assert_eq!(headers["mcp-protocol-version"], "2026-07-28");
    assert_eq!(headers["mcp-method"], "tools/call");
    assert_eq!(headers["mcp-name"], "=?base64?Z3LDtsOfZQ==?=");
    assert_eq!(headers["mcp-param-region"], "=?base64?c8O8ZA==?=");
    let read = json!({"uri": "file:///a", "headers_please": true, "_meta": meta});
    let headers = proxy.call(3, "resources/read", read)["headers"].clone();
    assert_eq!(headers["mcp-name"], "file:///a");
}

#[test]
fn cancelling_a_modern_request_ends_its_connection() {
    let server = HttpServer::start();
    let mut proxy = bridge(&server);
    proxy.send(&request(5, "hang", json!({"_meta": {MODERN: "2026-07-28"}})));
    while server.seen().as_array().unwrap().is_empty() {
        std::thread::yield_now();
    }
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}});
    proxy.send(&cancel);
    server.wait_for_disconnects(1);
    assert_eq!(server.seen().as_array().unwrap().len(), 1);
    // The session goes on.
    assert_eq!(proxy.call(6, "echo", json!({"a": 1})), json!({"a": 1}));
}

#[test]
fn messages_of_a_stream_become_lines_at_once() {
    let server = HttpServer::start();
    let mut proxy = initialized(&server);
    let progress = |number: u64| json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"n": number}});
    let texts = json!([
        format!("id: 1\ndata:\n\n: ping\n\ndata: {}\n\n", progress(1)),
        format!("data:{}\r\n\r\n", progress(2)),
        "data: {\"jsonrpc\": \"2.0\",\ndata: \"id\":\ndata: 1, \"result\": {\"done\": true}}\n\n",
    ]);
    proxy.send(&request(1, "events", json!({"texts": texts, "steps": true})));
    for number in 1..=2 {
        assert_eq!(proxy.receive(), progress(number));
        server.step();
    }
    assert_eq!(proxy.receive(), json!({"jsonrpc": "2.0", "id": 1, "result": {"done": true}}));
}

#[test]
fn a_stream_that_ends_early_is_resumed() {
    let server = HttpServer::start();
    let mut proxy = initialized(&server);
    let message =
        request(1, "events", json!({"texts": ["id: 8\nretry: 1\ndata:\n\n"], "end": "break"}));
    proxy.send(&message);
    assert_eq!(proxy.receive(), json!({"jsonrpc": "2.0", "id": 1, "result": {"resumed": true}}));
}

#[test]
fn every_request_gets_a_response() {
    let server = HttpServer::start();
    let mut proxy = initialized(&server);
    let pretty = "{\n  \"jsonrpc\": \"2.0\",\r\n  \"id\": 9,\n  \"result\": {}\n}\n";
    let error = r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"x"}}"#;
    // Status, body, and a part of the response.
    let cases = [
        (200, pretty, "\"result\""),
        (400, error, "-32602"),
        (400, "not JSON", "status 400"),
        (401, "", "--header Authorization=@env:VAR"),
        (404, "Session not found", "does not know the session"),
        (500, "", "status 500"),
        (202, "", "not valid"),
    ];
    for (status, body, part) in cases {
        let headers = json!({"Content-Type": "application/json"});
        let params = json!({"status": status, "headers": headers, "body": body});
        proxy.send(&request(9, "status", params));
        let response = proxy.receive();
        assert_eq!(response["id"], 9);
        assert!(response.to_string().contains(part), "{status} {response}");
    }
    proxy.send(&request(10, "half", json!({})));
    let response = proxy.receive();
    assert!(response["id"] == 10 && response["error"]["code"] == -32603, "{response}");
    proxy.send(&request(11, "events", json!({"texts": ["data: {\"x\"\n"], "end": "break"})));
    assert_eq!(proxy.receive()["id"], 11);
    drop(server);
    proxy.send(&request(12, "echo", json!({})));
    let response = proxy.receive();
    let message = response["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("the upstream server http://127.0.0.1:"), "{message}");
    assert!(message.ends_with("/mcp cannot be reached: connection refused"), "{message}");
}

#[test]
fn a_request_that_never_ends_does_not_keep_the_proxy() {
    let server = HttpServer::start();
    let mut proxy = initialized(&server);
    proxy.send(&request(1, "hang", json!({})));
    // Waits for the proxy, which ends although the request does not.
    let (code, ..) = proxy.close();
    assert_eq!(code, Some(0));
    server.wait_for_disconnects(1);
}
