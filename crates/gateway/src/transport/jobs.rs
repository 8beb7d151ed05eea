//! Routes and filters of asynchronous transports: short filters run where they are, long ones on the pool for blocking
//! work.

use tamis_mcp::spool::Spool;
use tamis_mcp::{Action, DropReason, Job, Outcome, Route};

use crate::observe::Observer;

/// Messages up to this size are filtered at once: that takes less time than a change of threads.
const SHORT: u64 = 256 << 10;

/// Runs a job. Returns its outcome and the message.
///
/// If the filter panics, the message is dropped: it is not known what the filter would have removed.
pub(crate) async fn run(job: Box<Job>, message: Spool) -> (Outcome, Spool) {
    if message.len() <= SHORT && !job.is_slow() {
        return (job.run(&message), message);
    }
    let done = tokio::task::spawn_blocking(move || (job.run(&message), message)).await;
    done.unwrap_or_else(|_| {
        let action = Action::Drop(DropReason::FailedClosed);
        (Outcome { action, records: Default::default() }, Spool::from_vec(Vec::new()))
    })
}

/// Follows a route, and rewrites the message if it asks for that. Returns the message to send, and the original message.
/// The status of a refusal is lost.
pub(crate) async fn follow(route: Route, message: Spool, observer: &Observer) -> (Action, Spool) {
    match route {
        Route::Forward => (Action::Original, message),
        Route::Run(job) => {
            let (outcome, message) = run(job, message).await;
            observer.record_all(&outcome.records);
            (outcome.action, message)
        }
        Route::Answer(body) | Route::Reject { body, .. } => {
            (Action::Answer(Spool::from_vec(body)), message)
        }
        Route::Drop(reason) => (Action::Drop(reason), message),
    }
}
