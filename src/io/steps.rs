//! A run in steps, each short enough for a thread on which others wait, or on a thread for blocking work.
//!
//! ```text
//!            feed, finish                     Output | Input | Over
//! adapter ──────────────────▶ input ─▶ step ─▶ gathered ──────────▶ adapter
//!                                       │ ▲
//!                what takes long, or    ▼ │
//!                the disk:         spawn_blocking
//! ```
//!
//! Knows tasks and wakers; nothing of streams and bodies. The adapter asks for the next thing; input is wanted while less output waits
//! than is worth handing on, so that a slow receiver slows the sender, and a little output does not go out alone where more comes at
//! once. Invariants: between two times that a task lets others have their turn it reads no more than [`STEPS`] steps do, however
//! its source is cut and however ready that always is; of a run that is dropped at most [`STEPS_AWAY`] steps go on, on a thread
//! for blocking work.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::transform::{Outcome, Pace, Transform};
use crate::error::{Error, ErrorKind};
use crate::filter::hold;

/// Full steps of one turn.
const STEPS: usize = 4;
/// What a step and a chunk cost at least, in bytes: a source may give chunks without end that have none.
const CALL: usize = 1 << 10;
/// Steps of one visit to a thread for blocking work, which is longer than the way there.
const STEPS_AWAY: usize = 16;
/// Output that is worth handing on before all input is read.
const WORTH: usize = 8 << 10;
/// Bytes that wait: reading so many again, or counting or cutting them, takes long.
const MUCH: u64 = 64 << 10;

/// What an adapter has to do next.
#[derive(Debug)]
pub(super) enum Next {
    /// Hand this on.
    Output(Bytes),
    /// [`feed`](Steps::feed), [`finish`](Steps::finish) or [`fail`](Steps::fail); if the source has nothing now, hand on
    /// what there [is](Steps::take).
    Input,
    /// Nothing: all is handed on.
    Over,
}

#[derive(Debug)]
pub(super) struct Steps {
    state: State,
    /// Bytes that were read on the task's thread, since others had their turn.
    turn: usize,
    /// The source had nothing when it was last asked, and is asked once more.
    asked: bool,
    /// How often it may still be, before the output that waits is handed on.
    patience: u8,
}

#[derive(Debug)]
enum State {
    Here(Box<Work>),
    /// On a thread for blocking work.
    Away(JoinHandle<Box<Work>>),
    /// It never comes back.
    Lost,
}

/// The run, and what it has not read yet.
#[derive(Debug)]
struct Work {
    transform: Transform,
    input: Bytes,
    /// No more input comes.
    complete: bool,
    /// More input is needed.
    hungry: bool,
    /// Steps are for a thread that may wait.
    away: bool,
    state: Reading,
}

#[derive(Debug)]
enum Reading {
    Running,
    /// Told, but what was gathered before is handed on first.
    Failed(Option<Error>),
    Ended,
}

impl Steps {
    pub(super) fn new(transform: Transform) -> Self {
        let away = transform.pace == Pace::Work;
        let patience = patience(&transform);
        let input = Bytes::new();
        let state = Reading::Running;
        let work = Work { transform, input, complete: false, hungry: true, away, state };
        Self { state: State::Here(Box::new(work)), turn: 0, asked: false, patience }
    }

    /// Takes the next chunk; `last`: it is known that no other follows. To be called when [`Next::Input`] was asked for.
    pub(super) fn feed(&mut self, chunk: Bytes, last: bool) {
        self.turn += CALL;
        self.asked = false;
        if let State::Here(work) = &mut self.state {
            work.hungry = chunk.is_empty() && !last;
            work.input = chunk;
            work.complete = last;
        }
    }

    /// No more input comes.
    pub(super) fn finish(&mut self) {
        self.feed(Bytes::new(), true);
    }

    /// The input cannot be read: the run fails.
    pub(super) fn fail(&mut self, error: Error) {
        if let State::Here(work) = &mut self.state {
            work.fail(error);
        }
    }

    /// The output cannot be handed on: the run fails, and the adapter knows.
    pub(super) fn give_up(&mut self, error: &Error) {
        if let State::Here(work) = &mut self.state {
            work.failed(error);
            work.state = Reading::Failed(None);
        }
    }

    /// The source has nothing now: the output that waits, worth it or not. `Pending`: the source is to be asked once more, at once.
    ///
    /// A body of HTTP is read by another task, which reads on when it is asked, so what has arrived already comes a moment
    /// later. Therefore little output waits until others had their turn, a few times at most, as long as more does come; each
    /// piece that goes out alone costs the receiver's waking.
    pub(super) fn take(&mut self, cx: &Context<'_>) -> Poll<Option<Bytes>> {
        let State::Here(work) = &mut self.state else { return Poll::Ready(None) };
        let gather = work.transform.filter.sink_mut();
        if gather.is_empty() {
            // The adapter waits, so others have their turn.
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
        if let State::Here(work) = &self.state {
            self.patience = patience(&work.transform);
        }
    }

    /// What is to be done next. An error is told once; behind it is [`Next::Over`].
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Next, Error>> {
        loop {
            let work = match &mut self.state {
                State::Here(work) => work,
                State::Away(handle) => match ready!(Pin::new(handle).poll(cx)) {
                    Ok(work) => {
                        self.state = State::Here(work);
                        continue;
                    }
                    Err(error) => {
                        self.state = State::Lost;
                        let message = format!("the worker task was lost: {error}");
                        return Poll::Ready(Err(Error::new(ErrorKind::Internal, message)));
                    }
                },
                State::Lost => return Poll::Ready(Ok(Next::Over)),
            };
            let next = work.next();
            let is_work = matches!(next, None | Some(Ok(Next::Input)));
            if is_work && self.turn >= STEPS * work.transform.pace.step() {
                // Others have their turn.
                self.turn = 0;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if let Some(next) = next {
                if matches!(next, Ok(Next::Output(_))) {
                    self.handed_on();
                }
                return Poll::Ready(next);
            }
            let unread = work.input.len();
            match Handle::try_current() {
                Ok(runtime) if work.away => {
                    let State::Here(mut work) = std::mem::replace(&mut self.state, State::Lost)
                    else {
                        continue;
                    };
                    self.state = State::Away(runtime.spawn_blocking(move || {
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

    /// Whether nothing is left: no output, no error.
    #[cfg(feature = "http-body")]
    pub(super) fn is_over(&self) -> bool {
        match &self.state {
            State::Here(work) => work.is_over(),
            State::Away(_) => false,
            State::Lost => true,
        }
    }

    /// The error of a run that has failed already, in front of what it emitted before.
    #[cfg(feature = "tower")]
    pub(super) fn take_error(&mut self) -> Option<Error> {
        let State::Here(work) = &mut self.state else { return None };
        match &mut work.state {
            Reading::Failed(error) => error.take(),
            Reading::Running | Reading::Ended => None,
        }
    }

    /// The report so far. `None` while a step is under way elsewhere.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        match &self.state {
            State::Here(work) => Some(work.transform.filter.outcome()),
            State::Away(_) | State::Lost => None,
        }
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        if let State::Away(handle) = &self.state {
            // What has not begun never does.
            handle.abort();
        }
    }
}

impl Work {
    /// What the adapter has to do; `None`: a step is to be taken.
    fn next(&mut self) -> Option<Result<Next, Error>> {
        let running = matches!(self.state, Reading::Running);
        let gather = self.transform.filter.sink_mut();
        if (!running || gather.len() >= WORTH)
            && let Some(output) = gather.take()
        {
            return Some(Ok(Next::Output(output)));
        }
        match &mut self.state {
            Reading::Running if self.hungry => Some(Ok(Next::Input)),
            Reading::Running => None,
            Reading::Failed(error) => Some(error.take().map_or(Ok(Next::Over), Err)),
            Reading::Ended => Some(Ok(Next::Over)),
        }
    }

    #[cfg(feature = "http-body")]
    fn is_over(&self) -> bool {
        matches!(self.state, Reading::Ended | Reading::Failed(None))
            && self.transform.filter.sink().is_empty()
    }

    /// A step that keeps away from the disk.
    fn step_here(&mut self) {
        let ((), wanted) = hold::off_disk(|| self.step());
        self.away |= wanted || self.transform.filter.held_peak() > MUCH;
    }

    /// Some steps, until there is output enough.
    fn steps(&mut self) {
        for _ in 0..STEPS_AWAY {
            self.step();
            let running = matches!(self.state, Reading::Running);
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
        // What follows is not read.
        self.input = Bytes::new();
        self.transform.end()?;
        self.state = Reading::Ended;
        self.transform.report_end(Ok(()));
        Ok(())
    }

    fn fail(&mut self, error: Error) {
        self.failed(&error);
        self.state = Reading::Failed(Some(error));
    }

    fn failed(&mut self, error: &Error) {
        self.input = Bytes::new();
        self.transform.filter.fail(error);
        self.transform.report_end(Err(error));
    }
}

/// How often little output waits for more input, at most: most answers are a few reads, and records are awaited.
fn patience(transform: &Transform) -> u8 {
    if transform.is_endless() { 1 } else { 4 }
}

/// The error of an adapter whose source fails, whatever the source's own is.
pub(super) fn unreadable<E>(error: E) -> Error
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match error.into().downcast::<std::io::Error>() {
        Ok(error) => Error::read(*error),
        Err(error) => Error::read(std::io::Error::other(error)),
    }
}
