//! Reading what was left out of results: the MCP server for agentgateway, and routes with `recall`.

use std::net::SocketAddr;
use std::time::Duration;

use tamis_gateway::serve::ext_mcp::pb;
use tamis_gateway::serve::ext_mcp::pb::ext_mcp_client::ExtMcpClient;
use tamis_gateway::serve::ext_mcp::pb::mcp_request_result::Result as RequestResult;
use tamis_gateway::serve::ext_mcp::pb::mcp_response_result::Result as ResponseResult;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::envoy::{Exchange, Received};
use crate::server::TestServer;

const RULES: &str = "version: 1
default: refuse
store: memory
ext_mcp: {profile: standard}
recall: {listen: 127.0.0.1:0, target: tamis}
routes:
- recall: /results/
- when: {path: /results}
  action: pass
";

/// Sends a request and returns the response, with its headers.
async fn http(address: SocketAddr, method: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "{method} /mcp HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\naccept: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).await.unwrap();
    String::from_utf8(response).unwrap()
}

fn header(value: &str) -> Vec<pb::McpHeader> {
    vec![pb::McpHeader { key: "authorization".to_owned(), value: value.as_bytes().to_vec() }]
}

/// Sends a call of a tool and its result, as agentgateway does.
async fn called(server: &TestServer, service: &str, result: &str) -> ResponseResult {
    let mut client = ExtMcpClient::new(server.channel.clone());
    let request = pb::McpRequest {
        service_names: vec![service.to_owned()],
        method: "tools/call".to_owned(),
        mcp_request: Some(br#"{"name":"list"}"#.to_vec()),
        headers: header("Bearer a"),
        ..Default::default()
    };
    let checked = client.check_request(request).await.unwrap().into_inner();
    assert!(matches!(checked.result, Some(RequestResult::Pass(_))), "{checked:?}");
    let response = pb::McpResponse {
        service_names: vec![service.to_owned()],
        method: "tools/call".to_owned(),
        metadata_context: checked.metadata,
        mcp_response: result.as_bytes().to_vec(),
    };
    client.check_response(response).await.unwrap().into_inner().result.unwrap()
}

fn long_result() -> String {
    let item = |at| serde_json::json!({"id": at, "title": format!("item {at} of many")});
    let items: Vec<_> = (0..2000).map(item).collect();
    let text = serde_json::to_string(&items).unwrap();
    serde_json::json!({"content": [{"type": "text", "text": text}]}).to_string()
}

/// Calls a tool whose result is cut, and returns the handle of the whole result.
async fn stored(server: &TestServer) -> String {
    let ResponseResult::Mutated(body) = called(server, "crm", &long_result()).await else {
        panic!()
    };
    let body = String::from_utf8(body).unwrap();
    assert!(!body.contains("item 1999"), "{body}");
    let at = body.find("tm_").unwrap_or_else(|| panic!("{body}"));
    body[at..at + 29].to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_left_out_is_read_through_another_target() {
    let server = TestServer::start(RULES).await;
    let handle = stored(&server).await;
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"tamis_retrieve","arguments":{{"handle":"{handle}","items":"1990-1999"}}}}}}"#
    );
    let recall = server.recall;
    let read = http(recall, "POST", "authorization: Bearer a\r\n", &call).await;
    assert!(read.starts_with("HTTP/1.1 200") && read.contains("item 1999"), "{read}");
    let foreign = http(recall, "POST", "authorization: Bearer b\r\n", &call).await;
    assert!(foreign.contains("unknown or expired"), "{foreign}");
    // The same result from our own target is not cut again.
    assert!(matches!(called(&server, "tamis", &long_result()).await, ResponseResult::Pass(_)));
}

/// Sends a GET through Envoy.
async fn get(server: &TestServer, path: &str, headers: &[(&str, &str)]) -> Received {
    let mut exchange = Exchange::begin(&server.channel, "GET", path, headers, true).await;
    exchange.received().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_route_reads_stored_results() {
    let server = TestServer::start(RULES).await;
    let (handle, caller) = (stored(&server).await, [("authorization", "Bearer a")]);
    let read = async |query: &str, headers: &[(&str, &str)]| {
        let read = get(&server, &format!("/results/{handle}{query}"), headers).await;
        assert!(read.immediate, "{read:?}");
        assert_eq!(read.header("cache-control"), Some("no-store"));
        read
    };
    let items = read("?items=1990-1991&select=id&select=title", &caller).await;
    assert_eq!(items.status.as_deref(), Some("200"));
    assert_eq!(
        items.body,
        r#"[{"id":1990,"title":"item 1990 of many"},{"id":1991,"title":"item 1991 of many"}]"#
    );
    let found = read("?grep=item%2019%5B9%5D9+of", &caller).await;
    assert!(found.body.contains("item 1999 of many"), "{}", found.body);
    assert_eq!(found.header("content-type"), Some("text/plain; charset=utf-8"));
    let start = read("", &caller).await;
    assert!(
        start.header("x-tamis-remark").is_some_and(|text| text.contains("offset")),
        "{start:?}"
    );

    for headers in [&[("authorization", "Bearer b")][..], &[]] {
        let foreign = read("", headers).await;
        assert_eq!(foreign.status.as_deref(), Some("404"));
        assert_eq!(foreign.body, "unknown or expired; call the tool again\n");
    }
    for query in ["?itmes=1", "?items=x", "?items=1&items=2", "?grep=%2", "?grep=%ff", "?handle=x"]
    {
        assert_eq!(read(query, &caller).await.status.as_deref(), Some("400"), "{query}");
    }
    let unknown = get(&server, "/results/tm_aaaaaaaaaaaaaaaaaaaaaaaaaa", &caller).await;
    assert_eq!(unknown.status.as_deref(), Some("404"));
    // Only GET reads, and only below the prefix.
    let path = format!("/results/{handle}");
    let mut posted = Exchange::begin(&server.channel, "POST", &path, &caller, true).await;
    assert_eq!(posted.received().await.unwrap().status.as_deref(), Some("403"));
    let deeper = get(&server, &format!("/results/a/{handle}"), &caller).await;
    assert_eq!(deeper.status.as_deref(), Some("403"));
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_a_server_with_one_tool() {
    let server = TestServer::start(RULES).await;
    let ask = async |message: &str| http(server.recall, "POST", "", message).await;
    let greeting = ask(r#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#).await;
    assert!(greeting.contains(r#""id":"a""#) && greeting.contains("2025-06-18"), "{greeting}");
    let noted = ask(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    assert!(noted.starts_with("HTTP/1.1 202"), "{noted}");
    let listed = ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#).await;
    assert_eq!(listed.matches(r#""inputSchema""#).count(), 1, "{listed}");
    assert!(listed.contains(r#""name":"tamis_retrieve""#), "{listed}");
    let other = ask(r#"{"jsonrpc":"2.0","id":3,"method":"resources/list"}"#).await;
    assert!(other.contains("-32601"), "{other}");
    let get = http(server.recall, "GET", "", "").await;
    assert!(get.starts_with("HTTP/1.1 405"), "{get}");
    let page = http(server.recall, "POST", "origin: http://evil.example\r\n", "{}").await;
    assert!(page.starts_with("HTTP/1.1 403"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn stalled_requests_are_ended() {
    let server = TestServer::start(&format!("{RULES}idle_seconds: 1\n")).await;
    let head = "POST /mcp HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{";
    for (sent, status) in [(head, "HTTP/1.1 4"), ("", ""), ("PRI * HTTP", "")] {
        let mut stream = TcpStream::connect(server.recall).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        let mut response = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut response));
        read.await.expect("the end of the connection").unwrap();
        let response = String::from_utf8(response).unwrap();
        assert!(response.starts_with(status), "{response}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn its_tool_is_listed_once() {
    let server = TestServer::start(RULES).await;
    let list = async |services: &[&str], tools: serde_json::Value| {
        let response = pb::McpResponse {
            service_names: services.iter().map(|&name| name.to_owned()).collect(),
            method: "tools/list".to_owned(),
            metadata_context: None,
            mcp_response: serde_json::json!({ "tools": tools }).to_string().into_bytes(),
        };
        let mut client = ExtMcpClient::new(server.channel.clone());
        client.check_response(response).await.unwrap().into_inner().result.unwrap()
    };
    let tool = |name: &str| serde_json::json!({"name": name, "inputSchema": {"type": "object"}});
    let alone = list(&["crm"], serde_json::json!([tool("list")])).await;
    assert!(!format!("{alone:?}").contains("tamis_retrieve"), "{alone:?}");
    let both = serde_json::json!([tool("crm_list"), tool("tamis_tamis_retrieve")]);
    let merged = list(&["crm", "tamis"], both.clone()).await;
    if let ResponseResult::Mutated(bytes) = merged {
        let merged: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(merged["tools"][1], both[1]);
        assert_eq!(merged["tools"].as_array().unwrap().len(), 2);
    }
}
