//! Runs a transform in steps: on the task's thread if they are short, otherwise on a thread for blocking work.
//!
//! ```text
//!            feed, finish                     Output | Input | Over
//! adapter ──────────────────▶ input ─▶ step ─▶ gathered ──────────▶ adapter
//!                                       │ ▲
//!              long steps and disk      ▼ │
//!              access:           spawn_blocking
//! ```
//!
//! This module handles tasks and wakers; streams and bodies are handled by the adapter, which asks for the next action.
//! Input is requested only while little output is pending, so that a slow receiver slows the sender. A little output is
//! not sent on its own if more arrives at once.
//!
//! Invariants: between two yields, a task reads no more than [`STEPS`] steps, however its source is cut and however
//! fast it is. After a run is dropped, at most [`STEPS_AWAY`] of its steps are still executed, on a thread for blocking
//! work.

#[cfg(feature = "http-body")]
pub(super) mod of_body;

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tamis_json::error::{Error, ErrorKind};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::transform::{Outcome, Pace, Transform};

/// Number of full steps between two yields of the task.
const STEPS: usize = 4;
/// Minimum cost of a step and of a chunk, in bytes: a source may return empty chunks forever.
const CALL: usize = 1 << 10;
/// Number of steps per visit to a thread for blocking work, so that they take longer than the switch.
const STEPS_AWAY: usize = 16;
/// Size of the pending output that is returned before all input is read.
const WORTH: usize = 8 << 10;
/// Size of the held bytes from which steps are long, because those bytes are read again, counted or cut.
const MUCH: u64 = 64 << 10;

/// The next action of an adapter.
#[derive(Debug)]
pub(super) enum NextAction {
    /// Send this output.
    Output(Bytes),
    /// Call [`feed`](Steps::feed), [`finish`](Steps::finish) or [`fail`](Steps::fail). If the source is not ready, send
    /// the pending output, which [`take`](Steps::take) returns.
    Input,
    /// Nothing: everything was sent.
    Over,
}

#[derive(Debug)]
pub(super) struct Steps {
    state: StepsState,
    /// Bytes read on the task's thread since its last yield.
    turn: usize,
    /// The source was not ready and is polled once more.
    asked: bool,
    /// How often that may be repeated before pending output is sent.
    patience: u8,
}

#[derive(Debug)]
enum StepsState {
    Here(Box<TransformRun>),
    /// On a thread for blocking work.
    Away(JoinHandle<Box<TransformRun>>),
    /// The task on that thread panicked or was cancelled.
    Lost,
}

/// The run, and its unread input.
#[derive(Debug)]
struct TransformRun {
    transform: Transform,
    input: Bytes,
    /// The input is the last.
    complete: bool,
    /// More input is needed.
    hungry: bool,
    /// Steps run on a thread for blocking work.
    away: bool,
    state: RunState,
}

#[derive(Debug)]
enum RunState {
    Running,
    /// The run failed; pending output is sent before the error.
    Failed(Option<Error>),
    Ended,
}

impl Steps {
    pub(super) fn new(transform: Transform) -> Self {
        let away = transform.pace == Pace::Work;
        let patience = patience(&transform);
        let input = Bytes::new();
        let state = RunState::Running;
        let work = TransformRun { transform, input, complete: false, hungry: true, away, state };
        Self { state: StepsState::Here(Box::new(work)), turn: 0, asked: false, patience }
    }

    /// Takes the next chunk, after [`NextAction::Input`]. `last` if it is known that no other follows.
    pub(super) fn feed(&mut self, chunk: Bytes, last: bool) {
        self.turn += CALL;
        self.asked = false;
        if let StepsState::Here(work) = &mut self.state {
            work.hungry = chunk.is_empty() && !last;
            work.input = chunk;
            work.complete = last;
        }
    }

    /// Ends the input.
    pub(super) fn finish(&mut self) {
        self.feed(Bytes::new(), true);
    }

    /// Ends the run with an error of the source.
    pub(super) fn fail(&mut self, error: Error) {
        if let StepsState::Here(work) = &mut self.state {
            work.fail(error);
        }
    }

    /// Ends the run with an error of the receiver, which the adapter reports itself.
    pub(super) fn give_up(&mut self, error: &Error) {
        if let StepsState::Here(work) = &mut self.state {
            work.failed(error);
            work.state = RunState::Failed(None);
        }
    }

    /// Takes the pending output, however little, because the source is not ready. `Pending`: poll the source once more,
    /// at once.
    ///
    /// An HTTP body is read by another task, which continues when it is polled, so input that has arrived already
    /// becomes available a moment later. Therefore little output stays pending until other tasks have run, a few times
    /// at most, while more input arrives. Each separately sent piece costs a wake-up of the receiver.
    pub(super) fn take(&mut self, cx: &Context<'_>) -> Poll<Option<Bytes>> {
        let StepsState::Here(work) = &mut self.state else { return Poll::Ready(None) };
        let gather = work.transform.filter.sink_mut();
        if gather.is_empty() {
            // The adapter waits, which is a yield.
            self.turn = 0;
            return Poll::Ready(None);
        }
        if !self.asked && self.patience > 0 {
            self.turn = 0;
            self.asked = true;
            self.patience -= 1;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let piece = gather.take();
        self.handed_on();
        Poll::Ready(piece)
    }

    fn handed_on(&mut self) {
        self.asked = false;
        if let StepsState::Here(work) = &self.state {
            self.patience = patience(&work.transform);
        }
    }

    /// Returns what to do next. An error is returned once, then [`NextAction::Over`].
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<NextAction, Error>> {
        loop {
            let work = match &mut self.state {
                StepsState::Here(work) => work,
                StepsState::Away(handle) => match ready!(Pin::new(handle).poll(cx)) {
                    Ok(work) => {
                        self.state = StepsState::Here(work);
                        continue;
                    }
                    Err(error) => {
                        self.state = StepsState::Lost;
                        let message = format!("worker task panicked or was cancelled: {error}");
                        return Poll::Ready(Err(Error::new(ErrorKind::Internal, message)));
                    }
                },
                StepsState::Lost => return Poll::Ready(Ok(NextAction::Over)),
            };
            let next = work.next();
            let is_work = matches!(next, None | Some(Ok(NextAction::Input)));
            if is_work && self.turn >= STEPS * work.transform.pace.step() {
                // Yields to other tasks.
                self.turn = 0;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if let Some(next) = next {
                if matches!(next, Ok(NextAction::Output(_))) {
                    self.handed_on();
                }
                return Poll::Ready(next);
            }
            let unread = work.input.len();
            match Handle::try_current() {
                Ok(runtime) if work.away => {
                    let StepsState::Here(mut work) =
                        std::mem::replace(&mut self.state, StepsState::Lost)
                    else {
                        continue;
                    };
                    self.state = StepsState::Away(runtime.spawn_blocking(move || {
                        work.steps();
                        work
                    }));
                }
                runtime => {
                    // Without a runtime there is no other thread.
                    if runtime.is_ok() {
                        work.step_here()
                    } else {
                        work.step()
                    }
                    self.turn += CALL.max(unread - work.input.len());
                }
            }
        }
    }

    /// Returns the report so far. `None` while a step runs on another thread.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        match &self.state {
            StepsState::Here(work) => Some(work.transform.filter.outcome()),
            StepsState::Away(_) | StepsState::Lost => None,
        }
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        if let StepsState::Away(handle) = &self.state {
            // Cancels the task if it has not started.
            handle.abort();
        }
    }
}

/// Reports the end of a run whose receiver has left.
impl Drop for TransformRun {
    fn drop(&mut self) {
        if matches!(self.state, RunState::Running) {
            let message = "the run was dropped before its end";
            self.transform.report_end(Err(&Error::new(ErrorKind::Write, message)));
        }
    }
}

impl TransformRun {
    /// Returns what the adapter has to do; `None` if a step is due.
    fn next(&mut self) -> Option<Result<NextAction, Error>> {
        let running = matches!(self.state, RunState::Running);
        let gather = self.transform.filter.sink_mut();
        if (!running || gather.len() >= WORTH)
            && let Some(output) = gather.take()
        {
            return Some(Ok(NextAction::Output(output)));
        }
        match &mut self.state {
            RunState::Running if self.hungry => Some(Ok(NextAction::Input)),
            RunState::Running => None,
            RunState::Failed(error) => Some(error.take().map_or(Ok(NextAction::Over), Err)),
            RunState::Ended => Some(Ok(NextAction::Over)),
        }
    }

    /// Runs a step that does not access the disk.
    fn step_here(&mut self) {
        self.transform.spill_gate.close();
        self.step();
        let needs_disk = self.transform.spill_gate.open();
        self.away |= needs_disk || self.transform.filter.held_peak() > MUCH;
    }

    /// Runs steps until there is enough output.
    fn steps(&mut self) {
        for _ in 0..STEPS_AWAY {
            self.step();
            let running = matches!(self.state, RunState::Running);
            if !running || self.hungry || self.transform.filter.sink().len() >= WORTH {
                return;
            }
        }
    }

    fn step(&mut self) {
        if let Err(error) = self.advance() {
            self.fail(error);
        }
    }

    fn advance(&mut self) -> Result<(), Error> {
        if !self.transform.filter.is_done() {
            if let Some(piece) = self.transform.piece(&mut self.input, self.complete)? {
                let filter = &mut self.transform.filter;
                filter.sink_mut().begin(piece.clone());
                let written = filter.write(&piece);
                filter.sink_mut().forget();
                self.hungry = self.transform.is_hungry(&self.input) && !self.complete;
                return written;
            }
            if !self.complete {
                self.hungry = true;
                return Ok(());
            }
        }
        // The rest of the input is not read.
        self.input = Bytes::new();
        self.transform.end()?;
        self.state = RunState::Ended;
        self.transform.report_end(Ok(()));
        Ok(())
    }

    fn fail(&mut self, error: Error) {
        self.failed(&error);
        self.state = RunState::Failed(Some(error));
    }

    fn failed(&mut self, error: &Error) {
        self.input = Bytes::new();
        self.transform.filter.fail(error);
        self.transform.report_end(Err(error));
    }
}

/// Returns how often little output waits for more input: most responses are a few reads, and records are awaited.
fn patience(transform: &Transform) -> u8 {
    if transform.is_endless() { 1 } else { 4 }
}

/// Converts the error of a source, of any type.
pub(super) fn unreadable<E>(error: E) -> Error
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match error.into().downcast::<std::io::Error>() {
        Ok(error) => Error::read(*error),
        Err(error) => Error::read(std::io::Error::other(error)),
    }
}
