//! Filters of asynchronous transports: short ones run where they are, long ones on the pool for blocking work.

use tamis_mcp::spool::Spool;
use tamis_mcp::{Action, DropReason, Job, Outcome};

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
