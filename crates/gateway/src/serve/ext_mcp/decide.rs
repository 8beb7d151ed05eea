//! Decides about messages: builds those that the proxy would have seen, and asks a session.

use std::sync::Arc;

use tamis_mcp::spool::Spool;
use tamis_mcp::{Action, Exchange, Proxy, Route, Session};
use tamis_store::Scope;
use tonic::Status;

use super::message::{self, CallMetadata, response, result_of};
use super::pb::authorization_error::Code;
use crate::observe::Observer;
use crate::serve::table::Table;
use crate::transport::jobs;

/// The decision about a message.
pub(super) enum Decision {
    Pass,
    Change(Vec<u8>),
    Refuse(Code, String),
}

/// Returns the proxy of the server that a message belongs to.
pub(super) fn proxy(table: &Table, services: &[String]) -> Result<Arc<Proxy>, Status> {
    let server = services.first().map(String::as_str).unwrap_or_default();
    table.ext_mcp(server).map_err(|_error| Status::internal("the rules cannot be used"))
}

/// Why a call of our own tool is refused.
const ANSWERED: &str = "stored results are read through a target of their own";

/// Removes our parameters from a call.
pub(super) async fn decide_request(
    proxy: &Arc<Proxy>,
    call: &CallMetadata,
    params: &[u8],
    observer: &Observer,
) -> Decision {
    let invalid = |why: &str| Decision::Refuse(Code::Invalid, why.to_owned());
    let message = Spool::from_vec(message::request("tools/call", params));
    let mut exchange = exchange_of(call);
    let route = Session::new(proxy).from_client(&message, &mut exchange);
    match jobs::follow(route, message, observer).await.0 {
        Action::Original => Decision::Pass,
        Action::Send(message) => {
            match message.into_vec().ok().and_then(|it| message::params_of(&it)) {
                Some(params) => Decision::Change(params),
                None => invalid("the request cannot be read"),
            }
        }
        // Something is wrong with the request.
        Action::Answer(answer) => {
            let why = answer.into_vec().ok().and_then(|answer| message::error_of(&answer));
            invalid(why.as_deref().unwrap_or(ANSWERED))
        }
        Action::Drop(_) => invalid("the request cannot be read"),
    }
}

fn exchange_of(call: &CallMetadata) -> Exchange {
    let scope = call.scope.as_deref().and_then(Scope::parse);
    Exchange::http().with_scope(scope.unwrap_or_else(|| Scope::authorization(None)))
}

/// Filters the result of a request.
pub(super) async fn decide_response(
    proxy: &Arc<Proxy>,
    call: &CallMetadata,
    result: Vec<u8>,
    observer: &Observer,
) -> Decision {
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
    let route = session.from_server(&message, &exchange);
    match jobs::follow(route, message, observer).await.0 {
        Action::Original => Decision::Pass,
        Action::Send(message) => {
            let result = message.into_vec().ok().and_then(|message| result_of(&message));
            result.map_or_else(withheld, Decision::Change)
        }
        Action::Answer(_) | Action::Drop(_) => withheld(),
    }
}
