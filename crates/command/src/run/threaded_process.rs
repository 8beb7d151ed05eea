//! [`RunningCommand`] for systems without poll(2): a thread reads the pipe, and another one waits for the command.
//!
//! The interface and the invariants are those of `process.rs`. Two things differ. Bytes that are still in the pipe when the
//! command ends cannot be counted, so the first pieces after the end are always read, and silence lasts at least [`SETTLE`].
//! A pipe that another process keeps open cannot be handed over, because a thread is reading it.

use std::cell::RefCell;
use std::io::{ErrorKind, PipeReader, Read, Result};
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::READ;

/// How many times `linger` is waited for at most, if the output never falls silent.
const MAX_LINGERS: u32 = 10;

/// The shortest silence after the command's end that ends reading: the thread may not have read the last bytes.
const SETTLE: Duration = Duration::from_millis(100);

/// Pieces that are read after the command's end in any case: one in the channel, one in the hands of the thread, and those
/// that a pipe holds.
const PIECES_AT_END: u32 = 4;

/// A running command and its output: what it writes to standard output and standard error, in that order.
///
/// [`Read`] reads the output. It ends when no process has the pipe open any more, or some time after the command's end:
/// see [`with_linger`](RunningCommand::with_linger). Standard input and all other settings are those of [`Command`].
///
/// Dropping the value leaves the command running. The pipe is closed after the next byte arrives.
#[derive(Debug)]
pub struct RunningCommand {
    handle: CommandHandle,
    /// `None`: reading has ended.
    events: Option<Receiver<Event>>,
    /// An event that was waited for and is not handled yet.
    next: RefCell<Option<Event>>,
    /// Output that was received, and how much of it was read.
    piece: (Vec<u8>, usize),
    waiter: JoinHandle<Result<ExitStatus>>,
    linger: Duration,
    ended: Option<CommandEnd>,
    left_open: bool,
}

/// State after the command has ended, while another process may keep its output open.
#[derive(Clone, Copy, Debug)]
struct CommandEnd {
    at: Instant,
    /// Pieces that may still be output of the command.
    pieces: u32,
}

#[derive(Debug)]
enum Event {
    Output(Vec<u8>),
    OutputEnded(Result<()>),
    CommandEnded,
}

impl RunningCommand {
    /// The default of [`with_linger`](Self::with_linger).
    pub const LINGER: Duration = Duration::from_millis(250);

    /// Starts a command. Its standard output and standard error are replaced by the pipe.
    ///
    /// # Errors
    /// The errors of [`Command::spawn`], and of creating a pipe or a thread.
    pub fn start(mut command: Command) -> Result<Self> {
        let (output, input) = std::io::pipe()?;
        command.stdout(input.try_clone()?).stderr(input);
        // One piece waits at most, so that memory does not grow with the output.
        let (events, receiver) = mpsc::sync_channel(1);
        let ends = events.clone();
        // The threads are created first: every started command must have a thread that waits for it.
        let (sender, child) = mpsc::channel::<std::process::Child>();
        let waiter = thread::Builder::new().name("wait".to_owned()).spawn(move || {
            let mut child = child.recv().map_err(|_gone| ErrorKind::NotFound)?;
            let status = child.wait();
            // This fails if the output is not read to its end.
            _ = ends.send(Event::CommandEnded);
            status
        })?;
        thread::Builder::new().name("read".to_owned()).spawn(move || read_all(output, &events))?;
        let child = command.spawn()?;
        let handle = CommandHandle(child.id());
        // The thread is receiving.
        _ = sender.send(child);
        Ok(Self {
            handle,
            events: Some(receiver),
            next: RefCell::new(None),
            piece: (Vec::new(), 0),
            waiter,
            linger: Self::LINGER,
            ended: None,
            left_open: false,
        })
    }

    /// Sets how long the output may be silent after the command's end before reading stops; ten times as long if it is
    /// never silent.
    ///
    /// A process that the command started, such as a server, may keep the output open. Without a limit, reading to the end
    /// would wait for that process.
    ///
    /// ### Default
    /// [`LINGER`](Self::LINGER).
    #[must_use]
    pub fn with_linger(mut self, silence: Duration) -> Self {
        self.linger = silence;
        self
    }

    /// Returns a handle that names the command.
    #[must_use]
    pub fn handle(&self) -> CommandHandle {
        self.handle.clone()
    }

    /// Waits until there is output, or its end. Returns `false` after `time` without either.
    ///
    /// # Errors
    /// None.
    pub fn wait(&self, time: Duration) -> Result<bool> {
        let Some(events) = &self.events else { return Ok(true) };
        if self.piece.1 < self.piece.0.len() || (self.ended.is_some() && self.linger <= time) {
            return Ok(true);
        }
        let next = self.next.take().map_or_else(|| events.recv_timeout(time), Ok);
        match next {
            Err(RecvTimeoutError::Timeout) => return Ok(false),
            // `read` finds the end.
            Err(RecvTimeoutError::Disconnected) => {}
            Ok(event) => *self.next.borrow_mut() = Some(event),
        }
        Ok(true)
    }

    /// Stops reading. Processes that write to the pipe get an error after the next byte.
    pub fn close(&mut self) {
        self.events = None;
        self.next.take();
        self.piece = (Vec::new(), 0);
    }

    /// Returns whether another process still had the output open when reading stopped.
    #[must_use]
    pub fn is_left_open(&self) -> bool {
        self.left_open
    }

    /// Returns `None`: the pipe cannot be handed over on this system.
    pub fn take_rest(&mut self) -> Option<PipeReader> {
        None
    }

    /// Stops reading and waits for the command's end.
    ///
    /// # Errors
    /// The status is not available.
    pub fn finish(mut self) -> Result<ExitStatus> {
        self.close();
        match self.waiter.join() {
            Ok(status) => status,
            Err(_) => Err(ErrorKind::Other.into()),
        }
    }

    /// Returns the next event. `None`: the output is silent for so long after the command's end that reading stops.
    fn next_event(&mut self) -> Option<Event> {
        if let Some(event) = self.next.take() {
            return Some(event);
        }
        let events = self.events.as_ref()?;
        let ended = || Event::OutputEnded(Ok(()));
        let Some(CommandEnd { at, pieces }) = self.ended else {
            return Some(events.recv().unwrap_or_else(|_gone| ended()));
        };
        let linger = self.linger.max(SETTLE);
        let most = linger.saturating_mul(MAX_LINGERS).checked_sub(at.elapsed());
        let time = match most {
            _ if pieces > 0 => linger,
            Some(left) => left.min(linger),
            None => return None,
        };
        match events.recv_timeout(time) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Disconnected) => Some(ended()),
            Err(RecvTimeoutError::Timeout) => None,
        }
    }
}

/// Sends the output, until it ends or nobody receives it.
fn read_all(mut output: PipeReader, events: &SyncSender<Event>) {
    let mut buffer = vec![0; READ];
    let end = loop {
        match output.read(&mut buffer) {
            Ok(0) => break Ok(()),
            Ok(count) => {
                let piece = buffer.get(..count).unwrap_or_default().to_vec();
                if events.send(Event::Output(piece)).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::BrokenPipe => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    _ = events.send(Event::OutputEnded(end));
}

impl Read for RunningCommand {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            let (piece, read) = &mut self.piece;
            let mut left = piece.get(*read..).unwrap_or_default();
            if !left.is_empty() {
                let count = left.read(buffer)?;
                *read += count;
                return Ok(count);
            }
            if self.events.is_none() {
                return Ok(0);
            }
            match self.next_event() {
                Some(Event::Output(piece)) => {
                    self.piece = (piece, 0);
                    if let Some(ended) = &mut self.ended {
                        ended.pieces = ended.pieces.saturating_sub(1);
                    }
                }
                Some(Event::CommandEnded) => {
                    self.ended = Some(CommandEnd { at: Instant::now(), pieces: PIECES_AT_END });
                }
                Some(Event::OutputEnded(result)) => {
                    self.close();
                    result?;
                }
                None => {
                    self.left_open = true;
                    self.close();
                }
            }
        }
    }
}

/// Names a running command. Cheap to clone and usable from any thread. There are no signals on this system.
#[derive(Clone, Debug)]
pub struct CommandHandle(u32);

impl CommandHandle {
    /// Returns the command's process id. It may belong to another process once the command has ended.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.0
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn shell(script: &str) -> RunningCommand {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        RunningCommand::start(command).unwrap()
    }

    #[test]
    fn both_streams_arrive_in_order_and_whole() {
        let mut running = shell("echo one; echo two >&2; seq 100000; exit 3");
        let mut output = String::new();
        // In small pieces, so that the command ends long before its output was read.
        let mut buffer = [0; 1000];
        while let count @ 1.. = running.read(&mut buffer).unwrap() {
            output.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
        }
        assert!(output.starts_with("one\ntwo\n1\n2\n"), "{:?}", output.get(..20));
        assert!(output.ends_with("\n99999\n100000\n"));
        assert!(!running.is_left_open());
        assert_eq!(running.finish().unwrap().code(), Some(3));
    }

    #[test]
    fn reading_ends_although_another_process_keeps_the_output_open() {
        let mut running = shell("echo one; sleep 60 & echo two").with_linger(Duration::ZERO);
        let mut output = String::new();
        running.read_to_string(&mut output).unwrap();
        assert_eq!(output, "one\ntwo\n");
        assert!(running.is_left_open());
        assert!(running.finish().unwrap().success());
        // One that is never silent.
        let script = "(while echo x; do sleep .01; done) & echo one";
        let mut running = shell(script).with_linger(Duration::ZERO);
        let begun = Instant::now();
        running.read_to_string(&mut String::new()).unwrap();
        assert!(running.is_left_open() && begun.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn waiting_says_whether_there_is_output_and_loses_none() {
        let mut running = shell("sleep 2; printf ab");
        assert!(!running.wait(Duration::from_millis(1)).unwrap());
        assert!(running.wait(Duration::from_secs(60)).unwrap());
        assert!(running.wait(Duration::from_secs(60)).unwrap());
        let mut byte = [0];
        assert_eq!((running.read(&mut byte).unwrap(), byte), (1, *b"a"));
        assert!(running.wait(Duration::ZERO).unwrap());
        assert_eq!((running.read(&mut byte).unwrap(), byte), (1, *b"b"));
        assert_eq!(running.read(&mut byte).unwrap(), 0);
        assert!(running.wait(Duration::ZERO).unwrap());
    }

    #[test]
    fn a_command_that_does_not_start_is_reported() {
        let error = RunningCommand::start(Command::new("/no/such/program")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}
