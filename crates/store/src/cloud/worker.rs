//! A thread that runs the requests to the object store.
//!
//! Calls of a store block, in threads with and without a runtime. So requests run on a runtime of their own, and the
//! callers wait for them.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The thread. It ends when the store was dropped. Requests that need the store keep it.
#[derive(Debug)]
pub(super) struct Worker(Option<UnboundedSender<Task>>);

impl Worker {
    /// Starts the thread. If it cannot be started, every request fails.
    pub(super) fn new() -> Self {
        let (sender, mut tasks) = unbounded_channel::<Task>();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return Self(None) };
        let thread = std::thread::Builder::new().name("tamis-store".into()).spawn(move || {
            runtime.block_on(async move {
                while let Some(task) = tasks.recv().await {
                    tokio::spawn(task);
                }
            });
        });
        Self(thread.is_ok().then_some(sender))
    }

    /// Starts a request, without waiting for it.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(sender) = &self.0 {
            // It only fails if the thread has ended, and then nobody waits.
            _ = sender.send(Box::pin(task));
        }
    }

    /// Runs a request and waits for it, but not longer than `limit`.
    pub(super) fn run<T: Send + 'static>(
        &self,
        limit: Duration,
        request: impl Future<Output = T> + Send + 'static,
    ) -> io::Result<T> {
        let (sender, receiver) = sync_channel(1);
        self.spawn(async move {
            if let Ok(done) = tokio::time::timeout(limit, request).await {
                // The caller may have given up.
                _ = sender.send(done);
            }
        });
        // The time of the thread ends first, unless the thread hangs.
        receiver.recv_timeout(limit + limit / 4).map_err(|error| match error {
            RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected => {
                io::Error::new(ErrorKind::TimedOut, "the object store does not respond")
            }
        })
    }
}
