//! Requests to the object store, and what is known of the place.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use object_store::ObjectStore;
use object_store::path::Path;

use super::usage::{self, Usage};
use super::worker::Worker;
use crate::backend::StoreError;
use crate::handle::Handle;

/// How long one request may take, with a second attempt. A response waits for a reservation and for the last request;
/// agentgateway waits 10 seconds for a response.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The parts that entries use as well.
#[derive(Debug)]
pub(super) struct CloudShared {
    pub(super) objects: Arc<dyn ObjectStore>,
    pub(super) prefix: Path,
    /// The last bytes of an object can be requested without its length.
    pub(super) reads_ends: bool,
    pub(super) usage: Arc<Usage>,
    pub(super) worker: Worker,
}

impl CloudShared {
    /// Returns the name of the object of an entry.
    pub(super) fn path(&self, handle: Handle) -> Path {
        self.prefix.clone().join(handle.to_string())
    }

    /// Waits for a request, and remembers whether the place could be reached.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        request: impl Future<Output = object_store::Result<T>> + Send + 'static,
    ) -> io::Result<T> {
        self.wait_at_most(PATIENCE, request)
    }

    pub(super) fn wait_at_most<T: Send + 'static>(
        &self,
        limit: Duration,
        request: impl Future<Output = object_store::Result<T>> + Send + 'static,
    ) -> io::Result<T> {
        let done = self.worker.run(limit, request);
        let done = done.and_then(|done| done.map_err(of_objects));
        match &done {
            Err(error) if error.kind() != ErrorKind::NotFound => self.usage.failed(error),
            _ => self.usage.reached(),
        }
        done
    }

    /// Waits for a request that writes.
    pub(super) fn send<T: Send + 'static>(
        &self,
        request: impl Future<Output = object_store::Result<T>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.wait(request).map_err(StoreError::Unreachable)
    }

    /// Counts entries again if that was long ago, and waits for it if nothing is known yet.
    pub(super) fn refresh(self: &Arc<Self>, needed: u64, now: SystemTime) {
        if !self.usage.begins_refresh(needed) {
            return;
        }
        let shared = Arc::clone(self);
        self.worker.spawn(async move {
            let done = usage::refresh(&shared.usage, &*shared.objects, &shared.prefix, now, needed);
            let done = tokio::time::timeout(usage::LONGEST, done).await;
            let error = match done {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(of_objects(error)),
                Err(_) => Some(ErrorKind::TimedOut.into()),
            };
            shared.usage.end_refresh(error.as_ref());
        });
    }
}

/// Translates an error, with the kind that callers tell apart. It names neither the bucket nor the object.
fn of_objects(error: object_store::Error) -> io::Error {
    match error {
        object_store::Error::NotFound { .. } => ErrorKind::NotFound.into(),
        object_store::Error::PermissionDenied { .. }
        | object_store::Error::Unauthenticated { .. } => {
            io::Error::new(ErrorKind::PermissionDenied, "the object store denies access")
        }
        error => io::Error::other(error),
    }
}
