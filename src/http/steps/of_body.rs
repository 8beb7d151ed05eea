//! Parts of a run that only bodies use: the end of a run, its error before the output that precedes it, and a pause.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::{RunState, Steps, StepsState, TransformRun};

impl Steps {
    /// Returns whether neither output nor an error is left.
    pub(in crate::http) fn is_over(&self) -> bool {
        match &self.state {
            StepsState::Here(work) => work.is_over(),
            StepsState::Away(_) => false,
            StepsState::Lost => true,
        }
    }

    /// Takes the error of a run that has failed already, before the output that precedes it.
    #[cfg(feature = "tower")]
    pub(in crate::http) fn take_error(&mut self) -> Option<tamis_json::error::Error> {
        let StepsState::Here(work) = &mut self.state else { return None };
        match &mut work.state {
            RunState::Failed(error) => error.take(),
            RunState::Running | RunState::Ended => None,
        }
    }
}

impl TransformRun {
    fn is_over(&self) -> bool {
        matches!(self.state, RunState::Ended | RunState::Failed(None))
            && self.transform.filter.sink().is_empty()
    }
}

/// A time that passes on a thread for blocking work, so that the runtime needs no timer.
#[derive(Debug)]
pub(in crate::http) struct Pause(JoinHandle<()>);

impl Pause {
    /// Starts a pause. Returns `None` outside of a runtime.
    pub(in crate::http) fn start(time: Duration) -> Option<Self> {
        let runtime = Handle::try_current().ok()?;
        Some(Self(runtime.spawn_blocking(move || thread::sleep(time))))
    }

    /// Waits for its end.
    pub(in crate::http) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // A runtime that is shut down ends it early.
        Pin::new(&mut self.0).poll(cx).map(|_| ())
    }
}
