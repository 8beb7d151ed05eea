//! The service `envoy.service.ext_proc.v3.ExternalProcessor`: one stream for each request of a client.
//!
//! ```text
//!            request headers, body ──▶ exchange ──▶ (Envoy sends the request)
//!  Envoy ──▶ response headers, body ─▶ PieceBody ─▶ FilterLayer or Relay ─▶ emit ──▶ Envoy
//! ```
//!
//! A request is handled by the same code as in a service of this process: the layer of [`tamis::http`] or the relay of
//! the MCP proxy. The "server" which that code calls is Envoy.
//!
//! Invariants: a stream ends with OK only after Envoy has ended it, because Envoy forwards the rest of a response
//! unfiltered otherwise. The reply to headers comes before that to the body, and the end of a body is sent once.

mod body;
mod emit;
mod exchange;
mod headers;
mod hook;
mod recalled;
mod refusal;
mod reply;

use std::sync::{Arc, PoisonError, RwLock};

use envoy_types::pb::envoy::service::ext_proc::v3::ProcessingRequest;
use envoy_types::pb::envoy::service::ext_proc::v3::external_processor_server::ExternalProcessor;
use tonic::{Request, Response, Status, Streaming};

use super::failures::ResponseLog;
use super::table::Table;
use reply::Replies;
pub(crate) use reply::ReplyStream;

/// The table that is in force.
pub(crate) type CurrentTable = Arc<RwLock<Arc<Table>>>;

/// The server for Envoy.
#[derive(Clone, Debug)]
pub(crate) struct ExtProc {
    table: CurrentTable,
}

impl ExtProc {
    pub(crate) fn new(table: CurrentTable) -> Self {
        Self { table }
    }
}

#[tonic::async_trait]
impl ExternalProcessor for ExtProc {
    type ProcessStream = ReplyStream;

    async fn process(
        &self,
        request: Request<Streaming<ProcessingRequest>>,
    ) -> Result<Response<ReplyStream>, Status> {
        let table = Arc::clone(&*self.table.read().unwrap_or_else(PoisonError::into_inner));
        let log = ResponseLog::new(Arc::clone(&table.failures));
        let (replies, stream) = Replies::channel(log.clone());
        tokio::spawn(async move {
            let open = table.metrics.stream();
            let metrics = Arc::clone(&table.metrics);
            match exchange::run(request.into_inner(), replies.clone(), table).await {
                Ok(()) => replies.complete(),
                Err(ended) => {
                    if ended.is_failure {
                        metrics.event("failed_stream");
                        log.cut_off(ended.status.message());
                    }
                    replies.fail(ended.status).await;
                }
            }
            log.end();
            drop(open);
        });
        Ok(Response::new(stream))
    }
}
