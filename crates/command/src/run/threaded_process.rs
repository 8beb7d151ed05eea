//! [`RunningCommand`] for systems without poll(2): a thread reads the pipe, and another one waits for the command.
//!
//! The interface and the invariants are those of `process.rs`. Two things differ. Bytes that are still in the pipe when the
//! command ends cannot be counted. Instead, the thread that waits for the command writes an [`EndMark`] into the pipe. All output
//! of the command is before it, however late the other thread reads it. A pipe that another process keeps open cannot be handed
//! over, because a thread is reading it.

use std::cell::RefCell;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{ErrorKind, PipeReader, Read, Result, Write as _};
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::READ;

/// How many times `linger` is waited for at most, if the output never falls silent.
const MAX_LINGERS: u32 = 10;

/// The shortest silence after the command's end that ends reading: the thread needs time to see that the pipe was closed.
const SETTLE: Duration = Duration::from_millis(100);

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
    /// When the last output of the command was received, while another process may keep the pipe open.
    ended: Option<Instant>,
    left_open: bool,
}

#[derive(Debug)]
enum Event {
    Output(Vec<u8>),
    OutputEnded(Result<()>),
    /// All output of the command has been sent.
    CommandEnded,
}

/// Bytes that no command knows.
type EndMark = [u8; 16];

impl RunningCommand {
    /// The default of [`with_linger`](Self::with_linger).
    pub const LINGER: Duration = Duration::from_millis(250);

    /// Starts a command. Its standard output and standard error are replaced by the pipe.
    ///
    /// # Errors
    /// The errors of [`Command::spawn`], and of creating a pipe or a thread.
    pub fn start(mut command: Command) -> Result<Self> {
        let (output, input) = std::io::pipe()?;
        let mut ending = input.try_clone()?;
        command.stdout(input.try_clone()?).stderr(input);
        let mark = end_mark();
        // One piece waits at most, so that memory does not grow with the output.
        let (events, receiver) = mpsc::sync_channel(1);
        // The threads are created first: every started command must have a thread that waits for it.
        let (sender, child) = mpsc::channel::<std::process::Child>();
        let waiter = thread::Builder::new().name("wait".to_owned()).spawn(move || {
            let mut child = child.recv().map_err(|_gone| ErrorKind::NotFound)?;
            let status = child.wait();
            // This fails if the output is not read to its end.
            _ = ending.write_all(&mark);
            status
        })?;
        let read = move || read_all(output, mark, &events);
        thread::Builder::new().name("read".to_owned()).spawn(read)?;
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
        let Some(at) = self.ended else {
            return Some(events.recv().unwrap_or_else(|_gone| ended()));
        };
        let linger = self.linger.max(SETTLE);
        let left = linger.saturating_mul(MAX_LINGERS).checked_sub(at.elapsed())?;
        let time = left.min(linger);
        match events.recv_timeout(time) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Disconnected) => Some(ended()),
            Err(RecvTimeoutError::Timeout) => None,
        }
    }
}

fn end_mark() -> EndMark {
    let random = || RandomState::new().hash_one(0).to_ne_bytes();
    let mut mark = [0; 16];
    mark.iter_mut().zip(random().into_iter().chain(random())).for_each(|(to, byte)| *to = byte);
    mark
}

/// Sends the output until it ends or nobody receives it, and the command's end in the place of the mark.
fn read_all(mut output: PipeReader, mark: EndMark, events: &SyncSender<Event>) {
    let mut buffer = vec![0; READ];
    let mut pieces = Pieces { mark, held: Vec::new(), is_found: false };
    let end = loop {
        match output.read(&mut buffer) {
            Ok(0) => break Ok(()),
            Ok(count) => {
                for event in pieces.events(buffer.get(..count).unwrap_or_default()) {
                    let is_empty = matches!(&event, Event::Output(piece) if piece.is_empty());
                    if !is_empty && events.send(event).is_err() {
                        return;
                    }
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::BrokenPipe => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    _ = events.send(Event::Output(pieces.held));
    _ = events.send(Event::OutputEnded(end));
}

/// The output, without the mark.
#[derive(Debug)]
struct Pieces {
    mark: EndMark,
    /// The last bytes that were read, if the mark may begin with them.
    held: Vec<u8>,
    is_found: bool,
}

impl Pieces {
    fn events(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        if self.is_found {
            return vec![Event::Output(all)];
        }
        if let Some(at) = memchr::memmem::find(&all, &self.mark) {
            self.is_found = true;
            let mut after = all.split_off(at);
            after.drain(..self.mark.len());
            return vec![Event::Output(all), Event::CommandEnded, Event::Output(after)];
        }
        let is_end =
            |count: &usize| self.mark.get(..*count).is_some_and(|part| all.ends_with(part));
        let count = (1..self.mark.len()).rev().find(is_end).unwrap_or(0);
        self.held = all.split_off(all.len().saturating_sub(count));
        vec![Event::Output(all)]
    }
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
                }
                Some(Event::CommandEnded) => {
                    self.ended = Some(Instant::now());
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
    fn output_that_is_read_late_is_whole() {
        // As if the thread that reads got no time: the pipe still has everything when the command has long ended.
        let mut running = shell("seq 3000").with_linger(Duration::ZERO);
        thread::sleep(Duration::from_millis(500));
        let mut buffer = [0; 100];
        let mut output = Vec::new();
        while let count @ 1.. = running.read(&mut buffer).unwrap() {
            output.extend_from_slice(&buffer[..count]);
            thread::sleep(Duration::from_millis(2));
        }
        assert!(output.starts_with(b"1\n") && output.ends_with(b"\n3000\n"), "{}", output.len());
    }

    #[test]
    fn the_mark_is_found_wherever_a_piece_ends_and_is_never_output() {
        let mark: EndMark = *b"0123456789abcdef";
        let whole = [b"out 0123", &mark[..], b"other"].concat();
        for cut in 0..=whole.len() {
            let mut pieces = Pieces { mark, held: Vec::new(), is_found: false };
            let (mut before, mut after, mut is_ended) = (Vec::new(), Vec::new(), false);
            let (first, second) = whole.split_at(cut);
            for event in pieces.events(first).into_iter().chain(pieces.events(second)) {
                match event {
                    Event::Output(bytes) if is_ended => after.extend(bytes),
                    Event::Output(bytes) => before.extend(bytes),
                    _ => is_ended = true,
                }
            }
            assert_eq!((&before[..], &after[..]), (&b"out 0123"[..], &b"other"[..]), "{cut}");
            assert!(pieces.held.is_empty());
        }
    }

    #[test]
    fn a_command_that_does_not_start_is_reported() {
        let error = RunningCommand::start(Command::new("/no/such/program")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}
