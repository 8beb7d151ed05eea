//! The service `agentgateway.dev.ext_mcp.ExtMcp`: agentgateway asks it about requests and responses of MCP.
//!
//! agentgateway does not say which tool a response belongs to. So the request phase returns the name and our parameters
//! as metadata, which the configuration of agentgateway has to give back (`metadata: {tamis: mcpGuardrails.tamis}`).
//! Without it, a response is refused if any filter removes for safety.
//!
//! Each phase builds the JSON-RPC message that the proxy would have seen, and asks a [`Session`](tamis_mcp::Session) about
//! it. Nothing is kept between the two phases: another replica may get the response.

mod decide;
mod list;
mod message;
pub mod pb;

use std::sync::{Arc, PoisonError};

use tonic::{Request, Response, Status};

use super::ext_proc::CurrentTable;
use super::failures::ResponseLog;
use super::table::Table;
use decide::{Decision, decide_request, decide_response, proxy};
use message::CallMetadata;
use pb::authorization_error::Code;
use pb::mcp_request_result::Result as RequestResult;
use pb::mcp_response_result::Result as ResponseResult;

/// The most bytes of a message.
pub(super) const MOST: usize = 64 << 20;

/// The server for agentgateway.
#[derive(Clone, Debug)]
pub(crate) struct ExtMcpServer {
    table: CurrentTable,
}

impl ExtMcpServer {
    pub(crate) fn new(table: CurrentTable) -> Self {
        Self { table }
    }

    fn table(&self) -> Arc<Table> {
        Arc::clone(&*self.table.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns whether a message belongs to our own server. Its results were filtered before they were stored.
fn is_recall(table: &Table, services: &[String]) -> bool {
    matches!(services, [server] if table.is_recall(server))
}

#[tonic::async_trait]
impl pb::ext_mcp_server::ExtMcp for ExtMcpServer {
    async fn check_request(
        &self,
        request: Request<pb::McpRequest>,
    ) -> Result<Response<pb::McpRequestResult>, Status> {
        let request = request.into_inner();
        let table = self.table();
        if is_recall(&table, &request.service_names) {
            let result = Some(RequestResult::Pass(pb::Pass {}));
            return Ok(Response::new(pb::McpRequestResult { result, ..Default::default() }));
        }
        let metadata = CallMetadata::of_request(&request, table.config.store_settings().scope());
        let decision = match &metadata {
            Some(call) if request.method == "tools/call" => {
                let params = request.mcp_request.as_deref().unwrap_or(b"{}");
                decide_request(
                    &proxy(&table, &request.service_names)?,
                    call,
                    params,
                    &table.observer,
                )
                .await
            }
            _ => Decision::Pass,
        };
        let result = match decision {
            Decision::Pass => RequestResult::Pass(pb::Pass {}),
            Decision::Change(params) => RequestResult::Mutated(params),
            Decision::Refuse(code, reason) => {
                RequestResult::Error(refusal(&table, &request.method, code, &reason))
            }
        };
        Ok(Response::new(pb::McpRequestResult {
            result: Some(result),
            header_mutation: None,
            metadata: metadata.as_ref().map(CallMetadata::to_struct),
        }))
    }

    async fn check_response(
        &self,
        request: Request<pb::McpResponse>,
    ) -> Result<Response<pb::McpResponseResult>, Status> {
        let response = request.into_inner();
        let table = self.table();
        if is_recall(&table, &response.service_names) {
            let result = Some(ResponseResult::Pass(pb::Pass {}));
            return Ok(Response::new(pb::McpResponseResult { result }));
        }
        let proxy = proxy(&table, &response.service_names)?;
        let decision = match response.method.as_str() {
            "tools/list" => {
                list::decide(&table, &response.service_names, response.mcp_response).await?
            }
            "tools/call" | "resources/read" => {
                match CallMetadata::of_response(&response) {
                    Some(call) => decide_response(&proxy, &call, response.mcp_response, &table.observer).await,
                    None if proxy.removes_for_safety() => Decision::Refuse(
                        Code::PermissionDenied,
                        "the name of the tool is missing (metadata: {tamis: mcpGuardrails.tamis}), so the response is withheld"
                            .to_owned(),
                    ),
                    None => {
                        let call = CallMetadata::unknown(&response.method);
                        decide_response(&proxy, &call, response.mcp_response, &table.observer).await
                    }
                }
            }
            // It is not known which tool the task belongs to.
            method if method.starts_with("tasks/") => {
                let call = CallMetadata::unknown(method);
                decide_response(&proxy, &call, response.mcp_response, &table.observer).await
            }
            _ => Decision::Pass,
        };
        let result = match decision {
            Decision::Pass => ResponseResult::Pass(pb::Pass {}),
            Decision::Change(result) => ResponseResult::Mutated(result),
            Decision::Refuse(code, reason) => {
                ResponseResult::Error(refusal(&table, &response.method, code, &reason))
            }
        };
        Ok(Response::new(pb::McpResponseResult { result: Some(result) }))
    }
}

/// Returns the refusal of a message, and logs it.
fn refusal(table: &Table, method: &str, code: Code, reason: &str) -> pb::AuthorizationError {
    let log = ResponseLog::new(Arc::clone(&table.failures));
    log.message(method);
    log.refused(Some(reason));
    log.end();
    pb::AuthorizationError {
        code: code.into(),
        reason: format!("tamis: {reason}"),
        mcp_error: None,
    }
}
