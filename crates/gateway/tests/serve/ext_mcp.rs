//! ExtMcp, with a client that plays agentgateway's part: metadata of the request comes back with the response.

use prost_types::Struct;
use tamis_gateway::serve::ext_mcp::pb;
use tamis_gateway::serve::ext_mcp::pb::authorization_error::Code;
use tamis_gateway::serve::ext_mcp::pb::ext_mcp_client::ExtMcpClient;
use tamis_gateway::serve::ext_mcp::pb::mcp_request_result::Result as RequestResult;
use tamis_gateway::serve::ext_mcp::pb::mcp_response_result::Result as ResponseResult;
use tonic::transport::Channel;

use crate::server::TestServer;

const GATEWAY: &str = "version: 1\ndefault: refuse\n";
const SECRET: &str = "078-05-1120";

fn client(server: &TestServer) -> ExtMcpClient<Channel> {
    ExtMcpClient::new(server.channel.clone()).max_decoding_message_size(64 << 20)
}

/// Starts a server whose calls of `users` are redacted.
async fn redacting() -> TestServer {
    let yaml = format!("{GATEWAY}manifests: [tamis.yaml]\n");
    let filters = "version: 1\nfilters:\n  crm.users: {exclude: [ssn], root: object}\n  crm.small: {select: [id], root: object}\n";
    TestServer::start_with(&yaml, &[("tamis.yaml", filters)]).await
}

async fn asked(server: &TestServer, method: &str, params: Option<&str>) -> pb::McpRequestResult {
    let request = pb::McpRequest {
        service_names: vec!["crm".to_owned()],
        method: method.to_owned(),
        mcp_request: params.map(|params| params.as_bytes().to_vec()),
        ..Default::default()
    };
    client(server).check_request(request).await.unwrap().into_inner()
}

async fn answered(
    server: &TestServer,
    services: &[&str],
    method: &str,
    metadata: Option<Struct>,
    result: &str,
) -> ResponseResult {
    let response = pb::McpResponse {
        service_names: services.iter().map(|&name| name.to_owned()).collect(),
        method: method.to_owned(),
        metadata_context: metadata,
        mcp_response: result.as_bytes().to_vec(),
    };
    client(server).check_response(response).await.unwrap().into_inner().result.unwrap()
}

fn result(text: &str) -> String {
    serde_json::json!({"content": [{"type": "text", "text": text}]}).to_string()
}

fn text(result: &ResponseResult) -> String {
    let ResponseResult::Mutated(bytes) = result else { panic!("{result:?}") };
    let value: serde_json::Value = serde_json::from_slice(bytes).unwrap();
    value["content"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn calls_are_filtered_by_the_name_of_their_request() {
    let server = redacting().await;
    let user = format!(r#"{{"id": 1, "ssn": "{SECRET}"}}"#);
    for (tool, expected) in [("users", r#"{"id":1}"#), ("small", r#"{"id":1}"#)] {
        let params = format!(r#"{{"name":"{tool}","arguments":{{}}}}"#);
        let request = asked(&server, "tools/call", Some(&params)).await;
        assert_eq!(request.result, Some(RequestResult::Pass(pb::Pass {})));
        let response =
            answered(&server, &["crm"], "tools/call", request.metadata, &result(&user)).await;
        assert_eq!(text(&response), expected, "{tool}");
    }
}

#[tokio::test]
async fn our_parameters_are_removed_and_remembered() {
    let server = redacting().await;
    let params = r#"{"name":"small","arguments":{"q":1,"_output_mode":"raw"}}"#;
    let request = asked(&server, "tools/call", Some(params)).await;
    let Some(RequestResult::Mutated(new)) = &request.result else { panic!("{request:?}") };
    assert_eq!(String::from_utf8_lossy(new), r#"{"name":"small","arguments":{"q":1}}"#);
    let raw = r#"{"id":1,"b":2}"#;
    let response = answered(&server, &["crm"], "tools/call", request.metadata, &result(raw)).await;
    match response {
        ResponseResult::Pass(_) => {}
        changed => assert_eq!(text(&changed), raw),
    }
}

#[tokio::test]
async fn redacting_without_metadata_fails_closed() {
    let server = redacting().await;
    let user = result(&format!(r#"{{"ssn": "{SECRET}"}}"#));
    for (method, metadata) in
        [("tools/call", None), ("tools/call", Some(Struct::default())), ("resources/read", None)]
    {
        let response = answered(&server, &["crm"], method, metadata, &user).await;
        let ResponseResult::Error(error) = response else { panic!("{response:?}") };
        assert_eq!(error.code(), Code::PermissionDenied);
        assert!(error.reason.contains("mcpGuardrails") && !error.reason.contains(SECRET));
    }
    // Without rules that remove for safety, the profile applies.
    let server = TestServer::start(GATEWAY).await;
    let response = answered(&server, &["crm"], "tools/call", None, &result("[1,  2]")).await;
    assert_eq!(text(&response), "[1,2]");
}

#[tokio::test]
async fn results_of_tasks_are_withheld() {
    let server = redacting().await;
    let user = result(&format!(r#"{{"id": 1, "ssn": "{SECRET}"}}"#));
    let state = format!(r#"{{"taskId":"t","status":"completed","result":{user}}}"#);
    for (method, body) in [("tasks/result", &user), ("tasks/get", &state)] {
        let request = asked(&server, method, Some(r#"{"taskId":"t"}"#)).await;
        for metadata in [request.metadata, None] {
            let response = answered(&server, &["crm"], method, metadata, body).await;
            let sent = match &response {
                ResponseResult::Mutated(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                ResponseResult::Error(error) => error.reason.clone(),
                ResponseResult::Pass(_) => panic!("{method} passed"),
            };
            assert!(!sent.contains(SECRET), "{method}: {sent}");
        }
    }
}

#[tokio::test]
async fn what_cannot_be_filtered_is_withheld() {
    let server = redacting().await;
    let request = asked(&server, "tools/call", Some(r#"{"name":"users"}"#)).await;
    let response =
        answered(&server, &["crm"], "tools/call", request.metadata, &result(SECRET)).await;
    assert!(text(&response).contains("withheld"), "{response:?}");
}

#[tokio::test]
async fn lists_are_changed_under_the_names_of_clients() {
    let server = redacting().await;
    let schema = r#"{"type":"object"}"#;
    let list = |prefix: &str| {
        let tool = |name: &str| {
            format!(r#"{{"name":"{prefix}{name}","inputSchema":{schema},"outputSchema":{schema}}}"#)
        };
        format!(r#"{{"tools":[{},{}]}}"#, tool("small"), tool("other"))
    };
    for (services, prefix) in [(&["crm"][..], ""), (&["crm", "git"], "crm_")] {
        let response = answered(&server, services, "tools/list", None, &list(prefix)).await;
        let ResponseResult::Mutated(bytes) = response else { panic!("{response:?}") };
        let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let tools = value["tools"].as_array().unwrap();
        assert_eq!(tools.len(), 2, "{value}");
        assert_eq!(tools[0]["name"], format!("{prefix}small"));
        assert!(tools[0].get("outputSchema").is_none(), "{value}");
        assert_eq!(tools[1]["name"], format!("{prefix}other"));
    }
}

#[tokio::test]
async fn resources_and_other_methods_pass() {
    let server = redacting().await;
    let request = asked(&server, "resources/read", Some(r#"{"uri":"file:///a"}"#)).await;
    let contents = r#"{"contents":[{"uri":"file:///a","text":"x"}]}"#;
    let response = answered(&server, &["crm"], "resources/read", request.metadata, contents).await;
    assert_eq!(response, ResponseResult::Pass(pb::Pass {}));
    let response = answered(&server, &["crm"], "prompts/list", None, "{}").await;
    assert_eq!(response, ResponseResult::Pass(pb::Pass {}));
    assert_eq!(asked(&server, "tools/list", None).await.metadata, None);
}
