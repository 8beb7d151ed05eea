//! The service `agentgateway.dev.ext_mcp.ExtMcp`: agentgateway asks it about requests and responses of MCP.
//!
//! agentgateway does not say which tool a response belongs to. So the request phase returns the name and our parameters
//! as metadata, which the configuration of agentgateway has to give back (`metadata: {tamis: mcpGuardrails.tamis}`).
//! Without it, a response is refused if any filter removes for safety.
//!
//! Each phase builds the JSON-RPC message that the proxy would have seen, and asks a [`Session`] about it. Nothing is
//! kept between the two phases: another replica may get the response.

mod list;
mod message;

use std::sync::{Arc, PoisonError};

use tamis_mcp::spool::Spool;
use tamis_mcp::{Action, Exchange, Proxy, Route, Session};
use tamis_store::Scope;
use tonic::{Request, Response, Status};

use super::ext_proc::CurrentTable;
use super::table::Table;
use crate::transport::jobs;
use message::{CallMetadata, response, result_of};
use pb::authorization_error::Code;
use pb::mcp_request_result::Result as RequestResult;
use pb::mcp_response_result::Result as ResponseResult;

/// The messages, generated from `ext_mcp.proto`.
#[allow(
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::doc_markdown,
    reason = "the file is generated"
)]
pub mod pb {
    include!(concat!(env!("OUT_DIR"), "/agentgateway.dev.ext_mcp.rs"));
}

/// The most bytes of a message.
pub(super) const MOST: usize = 64 << 20;

/// The server for agentgateway.
#[derive(Clone, Debug)]
pub(crate) struct ExtMcpServer {
    table: CurrentTable,
}

/// The decision about a message.
enum Decision {
    Pass,
    Change(Vec<u8>),
    Refuse(Code, String),
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

/// Returns the proxy of the server that a message belongs to.
fn proxy(table: &Table, services: &[String]) -> Result<Arc<Proxy>, Status> {
    let server = services.first().map(String::as_str).unwrap_or_default();
    table.ext_mcp(server).map_err(|_error| Status::internal("the rules cannot be used"))
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
                decide_request(&proxy(&table, &request.service_names)?, call, params).await
            }
            _ => Decision::Pass,
        };
        let result = match decision {
            Decision::Pass => RequestResult::Pass(pb::Pass {}),
            Decision::Change(params) => RequestResult::Mutated(params),
            Decision::Refuse(code, reason) => RequestResult::Error(refusal(code, &reason)),
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
                    Some(call) => decide_response(&proxy, &call, response.mcp_response).await,
                    None if proxy.removes_for_safety() => Decision::Refuse(
                        Code::PermissionDenied,
                        "the name of the tool is missing (metadata: {tamis: mcpGuardrails.tamis}), so the response is withheld"
                            .to_owned(),
                    ),
                    None => {
                        let call = CallMetadata::unknown(&response.method);
                        decide_response(&proxy, &call, response.mcp_response).await
                    }
                }
            }
            // It is not known which tool the task belongs to.
            method if method.starts_with("tasks/") => {
                let call = CallMetadata::unknown(method);
                decide_response(&proxy, &call, response.mcp_response).await
            }
            _ => Decision::Pass,
        };
        let result = match decision {
            Decision::Pass => ResponseResult::Pass(pb::Pass {}),
            Decision::Change(result) => ResponseResult::Mutated(result),
            Decision::Refuse(code, reason) => ResponseResult::Error(refusal(code, &reason)),
        };
        Ok(Response::new(pb::McpResponseResult { result: Some(result) }))
    }
}

fn refusal(code: Code, reason: &str) -> pb::AuthorizationError {
    pb::AuthorizationError {
        code: code.into(),
        reason: format!("tamis: {reason}"),
        mcp_error: None,
    }
}

/// Why a call of our own tool is refused.
const ANSWERED: &str = "stored results are read through a target of their own";

/// Removes our parameters from a call.
async fn decide_request(proxy: &Arc<Proxy>, call: &CallMetadata, params: &[u8]) -> Decision {
    let invalid = |why: &str| Decision::Refuse(Code::Invalid, why.to_owned());
    let message = Spool::from_vec(message::request("tools/call", params));
    let mut exchange = exchange_of(call);
    match Session::new(proxy).from_client(&message, &mut exchange) {
        Route::Forward => Decision::Pass,
        Route::Run(job) => match jobs::run(job, message).await.0.action {
            Action::Original => Decision::Pass,
            Action::Send(message) => {
                match message.into_vec().ok().and_then(|it| message::params_of(&it)) {
                    Some(params) => Decision::Change(params),
                    None => invalid("the request cannot be read"),
                }
            }
            Action::Answer(_) => invalid(ANSWERED),
            Action::Drop(_) => invalid("the request cannot be read"),
        },
        // Something is wrong with the request.
        Route::Answer(answer) => {
            invalid(&message::error_of(&answer).unwrap_or_else(|| ANSWERED.to_owned()))
        }
        Route::Reject { .. } | Route::Drop(_) => invalid("the request cannot be read"),
    }
}

fn exchange_of(call: &CallMetadata) -> Exchange {
    let scope = call.scope.as_deref().and_then(Scope::parse);
    Exchange::http().with_scope(scope.unwrap_or_else(|| Scope::authorization(None)))
}

/// Filters the result of a request.
async fn decide_response(proxy: &Arc<Proxy>, call: &CallMetadata, result: Vec<u8>) -> Decision {
    let withheld = || {
        Decision::Refuse(Code::PermissionDenied, "the response could not be filtered".to_owned())
    };
    let mut session = Session::new(proxy);
    let mut exchange = exchange_of(call);
    let request = Spool::from_vec(message::request(&call.method, call.params.as_bytes()));
    match session.from_client(&request, &mut exchange) {
        Route::Forward | Route::Run(_) => {}
        Route::Answer(_) | Route::Reject { .. } | Route::Drop(_) => return withheld(),
    }
    let message = Spool::from_vec(response(&result));
    match session.from_server(&message, &exchange) {
        Route::Forward => Decision::Pass,
        Route::Run(job) => match jobs::run(job, message).await.0.action {
            Action::Original => Decision::Pass,
            Action::Send(message) => {
                let result = message.into_vec().ok().and_then(|message| result_of(&message));
                result.map_or_else(withheld, Decision::Change)
            }
            Action::Answer(_) | Action::Drop(_) => withheld(),
        },
        Route::Answer(_) | Route::Reject { .. } | Route::Drop(_) => withheld(),
    }
}
