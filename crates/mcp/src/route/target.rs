//! The routes of a message.

use crate::rewrite::{DropReason, Job};

/// Where a message goes.
#[derive(Debug)]
pub enum Route {
    /// On to its receiver, as the bytes that came.
    Forward,
    /// It has to be rewritten, or its response is read from the store: run the job, outside of the session's lock.
    Run(Box<Job>),
    /// Nowhere. This message goes back to the client.
    Answer(Vec<u8>),
    /// Nowhere. The HTTP request is refused with this status and body.
    Reject {
        /// The status of the HTTP response.
        status: u16,
        /// Its body, of type `application/json`.
        body: Vec<u8>,
    },
    /// Nowhere.
    Drop(DropReason),
}
