//! A client and a server on standard input and output, with the proxy between their pipes.
//!
//! ```text
//!            standard input                     pipe
//!   client ─────────────────▶ client thread ─────────────▶ server
//!          ◀───────────────── server thread ◀─────────────
//!            standard output        ▲            pipe
//!                                   │
//!                               supervisor: signals, the end of either side
//! ```
//!
//! Each direction is a thread that reads a message, asks the handler, and writes. Filters run in the thread, so messages
//! of one direction cannot overtake each other, and a slow reader slows its writer down through the pipe. Only the
//! supervisor is asynchronous, because it waits for several things at once.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tamis_mcp::spool::{Spool, SpoolLimits};
use tamis_mcp::{Action, DropReason, Exchange, Route};
use tamis_store::Scope;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::child::{self, NotStarted, ServerCommand, ServerProcess};
use super::lines::{Line, LineReader, write_line};
use super::pipe::{self, Patient};
use super::shutdown::Shutdown;
use super::{MessageHandler, describe, exit_code};
use crate::observe::{Direction, Observer};
use crate::report::report;

/// How long output of a server that has ended may be awaited without any progress. Other processes can keep the pipe open.
const DRAIN_PAUSE: Duration = Duration::from_millis(250);

/// How long a client may take to read the responses to its open requests after the server ended.
const PATIENCE: Duration = Duration::from_secs(10);

/// Longest part of a line that is not a message in a report.
const NOISE: usize = 200;

/// Connects a client on standard input and output with a server that is started here.
#[derive(Debug)]
pub struct StdioProxy {
    command: ServerCommand,
    limits: SpoolLimits,
    observer: Arc<Observer>,
    scope: Scope,
}

impl StdioProxy {
    /// Creates a proxy. `limits` apply to each line; longer ones are refused.
    #[must_use]
    pub fn new(command: ServerCommand, limits: SpoolLimits, observer: Arc<Observer>) -> Self {
        Self { command, limits, observer, scope: Scope::process() }
    }

    /// Sets who may read a stored result. Default: this process.
    #[must_use]
    pub fn with_scope(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// Starts the server, forwards messages until either side ends, and returns the exit code for this process.
    ///
    /// Must be called in the main thread, from a future that `block_on` runs: see [`child`].
    ///
    /// # Errors
    /// [`NotStarted`] if the server cannot be started.
    pub async fn run(
        self,
        handler: Box<dyn MessageHandler>,
        shutdown: Shutdown,
    ) -> Result<u8, NotStarted> {
        let (server_input, to_server) = io::pipe().map_err(|error| self.no_pipe(error))?;
        let (from_server, server_output) = io::pipe().map_err(|error| self.no_pipe(error))?;
        pipe::widen(&to_server);
        pipe::widen(&from_server);
        let server =
            child::spawn(&self.command, Stdio::from(server_input), Stdio::from(server_output))?;
        let (events, received) = unbounded_channel();
        let relay = Arc::new(Relay {
            handler: Mutex::new(handler),
            to_client: Mutex::new(pipe::standard_output().map_err(|error| self.no_pipe(error))?),
            to_server: Mutex::new(Some(to_server)),
            reads: AtomicU64::new(0),
            observer: self.observer,
            limits: self.limits,
            scope: self.scope,
            events,
        });
        relay.start(from_server);
        Ok(Supervisor { relay, server, events: received, shutdown }.run().await)
    }

    fn no_pipe(&self, error: io::Error) -> NotStarted {
        NotStarted::new(&self.command, error)
    }
}

/// An event that the threads report to the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// The client closed its side, of either pipe.
    ClientEnded,
    /// The server's output ended, or cannot be read.
    ServerOutputEnded,
}

/// The part of the proxy that the two threads share.
struct Relay {
    handler: Mutex<Box<dyn MessageHandler>>,
    /// Locked for a whole message. Both threads write to it, since some requests are responded to here.
    to_client: Mutex<Patient<File>>,
    /// `None` after the server's input was closed.
    to_server: Mutex<Option<PipeWriter>>,
    /// Counts the beginnings and ends of reads from the server. An odd number means that the server thread waits for
    /// bytes.
    reads: AtomicU64,
    observer: Arc<Observer>,
    limits: SpoolLimits,
    scope: Scope,
    events: UnboundedSender<Event>,
}

/// Locks a mutex. A thread that panicked while it held one has printed its message; the other direction goes on.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Relay {
    /// Starts the threads. They are not joined: one may wait in a read that only the end of the process ends.
    fn start(self: &Arc<Self>, from_server: PipeReader) {
        let relay = Arc::clone(self);
        thread::spawn(move || {
            let guard = Reported(&relay.events, Event::ClientEnded);
            if let Ok(input) = pipe::standard_input() {
                relay.serve_client(LineReader::new(input, relay.limits));
            }
            relay.close_server_input();
            drop(guard);
        });
        let relay = Arc::clone(self);
        thread::spawn(move || {
            let guard = Reported(&relay.events, Event::ServerOutputEnded);
            let input = Counted { input: from_server, count: &relay.reads };
            relay.serve_server(LineReader::new(input, relay.limits));
            drop(guard);
        });
    }

    /// Forwards messages of the client until its input ends or the server's input is closed.
    fn serve_client(&self, mut lines: LineReader<impl io::Read>) {
        let mut exchange = Exchange::stdio().with_scope(self.scope.clone());
        loop {
            let line = match lines.next_line() {
                Ok(Some(line)) => line,
                Ok(None) => return,
                Err(error) => return report(format_args!("cannot read standard input: {error}")),
            };
            let done = match line {
                Line::Message { spool, ended } => {
                    self.observer.message(Direction::FromClient, spool.len());
                    self.client_message(&spool, ended, &mut exchange)
                }
                Line::TooLong(scan) => {
                    self.observer.too_long(Direction::FromClient);
                    let response = lock(&self.handler).from_client_overflow(scan);
                    self.send_to_client(&Spool::from_vec(response))
                }
            };
            if done.is_err() {
                return;
            }
        }
    }

    fn client_message(
        &self,
        message: &Spool,
        ended: bool,
        exchange: &mut Exchange,
    ) -> Result<(), Closed> {
        let route = lock(&self.handler).from_client(message, exchange);
        match self.action(route, message) {
            Action::Original => self.send_to_server(message, ended),
            Action::Send(rewritten) => self.send_to_server(&rewritten, ended),
            Action::Answer(response) => {
                lock(&self.handler).responded(exchange);
                self.send_to_client(&response)
            }
            Action::Drop(reason) => self.dropped(reason),
        }
    }

    /// Follows a route, and rewrites the message if it asks for that.
    fn action(&self, route: Route, message: &Spool) -> Action {
        match route {
            Route::Forward => Action::Original,
            Route::Run(job) => {
                let outcome = job.run(message);
                self.observer.record_all(&outcome.records);
                outcome.action
            }
            Route::Answer(body) | Route::Reject { body, .. } => {
                Action::Answer(Spool::from_vec(body))
            }
            Route::Drop(reason) => Action::Drop(reason),
        }
    }

    /// Forwards messages of the server until its output ends or the client is gone.
    fn serve_server(&self, mut lines: LineReader<impl io::Read>) {
        let exchange = Exchange::stdio().with_scope(self.scope.clone());
        loop {
            let line = match lines.next_line() {
                Ok(Some(line)) => line,
                Ok(None) => return,
                Err(error) => return report(format_args!("cannot read from the server: {error}")),
            };
            let done = match line {
                Line::Message { spool, .. } => {
                    self.observer.message(Direction::FromServer, spool.len());
                    self.server_message(&spool, &exchange)
                }
                Line::TooLong(scan) => {
                    self.observer.too_long(Direction::FromServer);
                    let response = lock(&self.handler).from_server_overflow(scan, &exchange, false);
                    match response {
                        Some(response) => self.send_to_client(&Spool::from_vec(response)),
                        None => Ok(()),
                    }
                }
            };
            if done.is_err() {
                _ = self.events.send(Event::ClientEnded);
                return;
            }
        }
    }

    fn server_message(&self, message: &Spool, exchange: &Exchange) -> Result<(), Closed> {
        let route = lock(&self.handler).from_server(message, exchange);
        match self.action(route, message) {
            Action::Original => self.send_to_client(message),
            Action::Send(rewritten) | Action::Answer(rewritten) => self.send_to_client(&rewritten),
            Action::Drop(reason) => {
                if reason == DropReason::NotJson {
                    let quotes = !lock(&self.handler).may_remove_for_safety();
                    report_noise(message, quotes);
                }
                self.dropped(reason)
            }
        }
    }

    fn dropped(&self, reason: DropReason) -> Result<(), Closed> {
        self.observer.dropped(reason.as_str());
        Ok(())
    }

    fn send_to_client(&self, message: &Spool) -> Result<(), Closed> {
        write_line(&mut *lock(&self.to_client), message)
            .map_err(|error| Closed::by(&error, "standard output"))
    }

    /// Sends a message to the server. A last line without an end is forwarded without one.
    fn send_to_server(&self, message: &Spool, ended: bool) -> Result<(), Closed> {
        let mut output = lock(&self.to_server);
        let Some(pipe) = output.as_mut() else { return Err(Closed) };
        let written = if ended {
            write_line(pipe, message)
        } else {
            super::lines::write_spool(pipe, message)
        };
        written.map_err(|error| Closed::by(&error, "the server"))
    }

    /// Closes the server's input, unless the client thread is writing to it: signals end such a server.
    fn close_server_input(&self) {
        if let Ok(mut output) = self.to_server.try_lock() {
            *output = None;
        }
    }
}

/// The receiver of a message is gone.
struct Closed;

impl Closed {
    /// Reports an error that is not the usual one.
    fn by(error: &io::Error, name: &str) -> Self {
        if error.kind() != io::ErrorKind::BrokenPipe {
            report(format_args!("cannot write to {name}: {error}"));
        }
        Self
    }
}

/// Sends an event when its scope ends, also by a panic.
struct Reported<'a>(&'a UnboundedSender<Event>, Event);

impl Drop for Reported<'_> {
    fn drop(&mut self) {
        // The supervisor may have finished.
        _ = self.0.send(self.1);
    }
}

/// Counts the beginnings and ends of reads.
struct Counted<'a, R> {
    input: R,
    count: &'a AtomicU64,
}

impl<R: io::Read> io::Read for Counted<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.count.fetch_add(1, Ordering::Relaxed);
        let read = self.input.read(into);
        self.count.fetch_add(1, Ordering::Relaxed);
        read
    }
}

/// Reports a line of the server that is not a message.
///
/// A line that begins like a message may be one whose rest is missing. The rest of one may begin like any text. So only
/// the size is reported of the former, and of all lines if a filter removes for safety. Other lines are what a library
/// printed.
fn report_noise(line: &Spool, quotes: bool) {
    let start = 0..line.len().min(NOISE as u64);
    let bytes = line.to_vec(start, NOISE).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim();
    match text.bytes().next() {
        None => {}
        Some(first) if !quotes || matches!(first, b'{' | b'[') => {
            let size = line.len();
            report(format_args!(
                "dropped a line of the server that is not valid JSON: {size} bytes"
            ));
        }
        Some(_) => {
            let plain: String =
                text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            let cut = if line.len() > NOISE as u64 { "…" } else { "" };
            report(format_args!("from the server: {plain}{cut}"));
        }
    }
}

/// Waits for the end of the client, the server or the proxy, and sees to it that all of them end.
struct Supervisor {
    relay: Arc<Relay>,
    server: ServerProcess,
    events: UnboundedReceiver<Event>,
    shutdown: Shutdown,
}

/// Who ended the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndedBy {
    Client,
    Server,
    /// A signal, with the exit code for it.
    Signal(u8),
}

impl Supervisor {
    /// Waits for the first end, ends the others, and returns the exit code.
    async fn run(&mut self) -> u8 {
        let mut output_ended = false;
        let (by, status) = tokio::select! {
            status = self.server.wait() => (EndedBy::Server, status),
            event = self.events.recv() => {
                output_ended = event == Some(Event::ServerOutputEnded);
                let by = if output_ended { EndedBy::Server } else { EndedBy::Client };
                (by, self.end_server().await)
            }
            code = self.shutdown.requested() => (EndedBy::Signal(code), self.end_server().await),
        };
        if !output_ended {
            self.drain(by != EndedBy::Server).await;
        }
        let (described, code) = match &status {
            Ok(status) => (describe(*status), exit_code(*status)),
            Err(error) => (error.to_string(), 1),
        };
        self.respond_to_open_requests(described, by != EndedBy::Server).await;
        match by {
            EndedBy::Server => code,
            // The server ended by the signal that was sent to it: for the client the session ended as it should.
            EndedBy::Client if status.is_ok_and(|status| status.code().is_none()) => 0,
            EndedBy::Client => code,
            EndedBy::Signal(code) => code,
        }
    }

    async fn end_server(&mut self) -> io::Result<ExitStatus> {
        self.relay.close_server_input();
        self.server.shut_down().await
    }

    /// Waits until the server thread has forwarded the rest of the output.
    ///
    /// The server has ended, but a process that it started may keep the pipe open. So if the thread only waits for more,
    /// the group is ended too. As long as the thread filters, or the client reads slowly, it has time, unless the
    /// client is gone.
    async fn drain(&mut self, client_gone: bool) {
        let mut before = 0;
        let mut silent = 0;
        let mut hurry = client_gone;
        let mut pauses = 0;
        while !(hurry && pauses > 4) {
            let next = async {
                tokio::select! {
                    event = self.events.recv() => event,
                    _ = self.shutdown.requested() => Some(Event::ClientEnded),
                }
            };
            match timeout(DRAIN_PAUSE, next).await {
                Ok(Some(Event::ServerOutputEnded) | None) => return,
                Ok(Some(Event::ClientEnded)) => hurry = true,
                Err(_) => {
                    pauses += 1;
                    let reads = self.relay.reads.load(Ordering::Relaxed);
                    if reads % 2 == 1 && reads == before {
                        silent += 1;
                        match silent {
                            1 => self.server.terminate_group(),
                            2 => self.server.kill_group(),
                            // A process outside of the group has the pipe.
                            _ => return,
                        }
                    }
                    before = reads;
                }
            }
        }
    }

    /// Responds to the requests that the server did not respond to. A client that does not read is not waited for.
    async fn respond_to_open_requests(&mut self, status: String, client_gone: bool) {
        let relay = Arc::clone(&self.relay);
        let (finished, done) = oneshot::channel::<()>();
        thread::spawn(move || {
            let responses = lock(&relay.handler).upstream_ended(&status);
            for response in responses {
                if relay.send_to_client(&Spool::from_vec(response)).is_err() {
                    break;
                }
            }
            drop(finished);
        });
        let patience = if client_gone { DRAIN_PAUSE } else { PATIENCE };
        tokio::select! {
            _ = timeout(patience, done) => {}
            _ = self.shutdown.requested() => {}
        }
    }
}
