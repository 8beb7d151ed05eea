//! A command that runs: both of its streams come through one pipe, and it can be signalled.
//!
//! Must not know what becomes of the output. Invariants: the output ends with the command, even if something that the
//! command started holds the pipe open; what was written before the command ended is read whole; a signal never reaches
//! another process that got the command's id.
//!
//! Why a pipe, and no terminal: one pipe keeps the two streams in the order in which they were written, which is what a
//! reader needs; a pseudo terminal would too, but it makes programs colour, page, prompt and redraw, and needs a process
//! group, a window size and an echo of its own.

use std::io::{ErrorKind, PipeReader, Read, Result};
use std::process::{Command, ExitStatus};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionread};
use shared_child::SharedChild;
use shared_child::unix::SharedChildExt;

/// Something that never falls silent is left after so many quiet times.
const AT_MOST: u32 = 10;

/// A command that runs, and its output: what it writes to standard output and standard error, in that order.
///
/// [`Read`] is the output. It ends when nothing has the pipe open any more, or some time after the command's end: see
/// [`linger`](RunningCommand::linger). Standard input and everything else are as [`Command`] says; without more, they are
/// inherited.
///
/// A value that is dropped leaves the command running, with a closed pipe.
///
/// ```
/// use std::io::Read;
/// use std::process::Command;
/// use tamis::RunningCommand;
///
/// let mut command = Command::new("sh");
/// command.args(["-c", "echo one; echo two >&2; echo three; exit 3"]);
/// let mut running = RunningCommand::start(command)?;
/// let mut output = String::new();
/// running.read_to_string(&mut output)?;
/// assert_eq!(output, "one\ntwo\nthree\n");
/// assert_eq!(running.finish()?.code(), Some(3));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct RunningCommand {
    controls: CommandHandle,
    output: Option<PipeReader>,
    /// Closed when the command has ended; nothing is written to it.
    end: PipeReader,
    waiter: JoinHandle<Result<ExitStatus>>,
    linger: Duration,
    ended: Option<Ended>,
    left_open: bool,
}

/// The command has ended, and something holds its output open.
#[derive(Clone, Copy, Debug)]
struct Ended {
    at: Instant,
    /// Bytes that were in the pipe then: the command's own are among them.
    owed: u64,
    /// Nobody has looked, since those were read, whether the pipe is closed.
    fresh: bool,
}

impl RunningCommand {
    /// How long output may be quiet after the command's end before it is over.
    pub const LINGER: Duration = Duration::from_millis(250);

    /// Starts a command. Its standard output and standard error are replaced by the pipe.
    ///
    /// # Errors
    /// Those of [`Command::spawn`]; or there can be no pipe or thread.
    pub fn start(mut command: Command) -> Result<Self> {
        let (output, input) = std::io::pipe()?;
        let (end, ending) = std::io::pipe()?;
        command.stdout(input.try_clone()?).stderr(input);
        // The thread first: a command that runs must have one.
        let (sender, receiver) = mpsc::channel::<Arc<SharedChild>>();
        let waiter = thread::Builder::new().name("wait".to_owned()).spawn(move || {
            let status = match receiver.recv() {
                Ok(child) => child.wait(),
                Err(_) => Err(ErrorKind::NotFound.into()),
            };
            drop(ending);
            status
        })?;
        let child = Arc::new(SharedChild::spawn(&mut command)?);
        // The thread waits for it.
        _ = sender.send(Arc::clone(&child));
        Ok(Self {
            controls: CommandHandle(child),
            output: Some(output),
            end,
            waiter,
            linger: Self::LINGER,
            ended: None,
            left_open: false,
        })
    }

    /// How long output may be quiet after the command's end before it is over; ten times as long if it is never quiet.
    ///
    /// What the command started may hold its output open: a server, a daemon. Whoever waits for the end of the output
    /// waits for those.
    ///
    /// ### Default
    /// [`LINGER`](Self::LINGER).
    #[must_use]
    pub fn linger(mut self, quiet: Duration) -> Self {
        self.linger = quiet;
        self
    }

    /// What signals it, from any thread.
    #[must_use]
    pub fn controls(&self) -> CommandHandle {
        self.controls.clone()
    }

    /// Waits for output, or its end. `false`: there was none for so long.
    ///
    /// # Errors
    /// Those of poll(2).
    pub fn wait(&self, time: Duration) -> Result<bool> {
        let Some(output) = &self.output else { return Ok(true) };
        if self.ended.is_some() && self.linger <= time {
            // Reading does not wait longer.
            return Ok(true);
        }
        let end = self.ended.is_none().then_some(&self.end);
        let Ready { output, end } = ready(output, end, Some(time))?;
        Ok(output || end)
    }

    /// Reads no more: what writes to the pipe from now on is told that nobody reads.
    pub fn close(&mut self) {
        self.output = None;
    }

    /// Whether something held the output open when reading stopped.
    #[must_use]
    pub fn is_left_open(&self) -> bool {
        self.left_open
    }

    /// Waits for the command's end.
    ///
    /// # Errors
    /// Nothing can be known about it: someone else has waited for it.
    pub fn finish(mut self) -> Result<ExitStatus> {
        self.close();
        match self.waiter.join() {
            Ok(status) => status,
            Err(_) => Err(ErrorKind::Other.into()),
        }
    }

    /// How long to wait for more: no time limit while the command runs. `None`: it is over.
    fn patience(&self) -> Option<Option<Duration>> {
        let Some(Ended { at, owed, fresh }) = self.ended else { return Some(None) };
        if owed > 0 || fresh {
            return Some(Some(self.linger));
        }
        let most = self.linger.saturating_mul(AT_MOST);
        let left = most.checked_sub(at.elapsed()).filter(|left| !left.is_zero())?;
        Some(Some(left.min(self.linger)))
    }
}

impl Read for RunningCommand {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            let patience = self.patience();
            let Some(output) = &mut self.output else { return Ok(0) };
            let end = self.ended.is_none().then_some(&self.end);
            let ready = match patience {
                Some(time) => ready(output, end, time)?,
                None => Ready::default(),
            };
            if let Some(ended) = &mut self.ended {
                ended.fresh = false;
            }
            if ready.end {
                // Counted after the end, so that all that was written before it is among them.
                self.ended = Some(Ended {
                    at: Instant::now(),
                    owed: ioctl_fionread(&*output)?,
                    fresh: true,
                });
            }
            if ready.output {
                let count = output.read(buffer)?;
                if count == 0 && !buffer.is_empty() {
                    self.output = None;
                }
                if let Some(ended) = &mut self.ended {
                    ended.fresh |= ended.owed > 0;
                    ended.owed = ended.owed.saturating_sub(count as u64);
                }
                return Ok(count);
            }
            if !ready.end {
                self.left_open = true;
                self.output = None;
            }
        }
    }
}

/// What there is; nothing, if time ran out.
#[derive(Clone, Copy, Debug, Default)]
struct Ready {
    /// There is output, or its end.
    output: bool,
    /// The command has ended.
    end: bool,
}

/// Waits until there is something.
fn ready(output: &PipeReader, end: Option<&PipeReader>, time: Option<Duration>) -> Result<Ready> {
    let until = time.and_then(|time| Instant::now().checked_add(time));
    loop {
        let time = until.map(|until| until.saturating_duration_since(Instant::now()));
        let time = time.map(|time| Timespec {
            // poll takes no more everywhere; that many seconds are weeks.
            tv_sec: time.as_secs().min(2_000_000).cast_signed(),
            tv_nsec: time.subsec_nanos().into(),
        });
        let mut both = [output, end.unwrap_or(output)].map(|pipe| PollFd::new(pipe, PollFlags::IN));
        let count = if end.is_some() { 2 } else { 1 };
        match poll(both.get_mut(..count).unwrap_or_default(), time.as_ref()) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => {
                let [output, end] = both.map(|pipe| !pipe.revents().is_empty());
                return Ok(Ready { output, end });
            }
        }
    }
}

/// Signals a command that runs.
#[derive(Clone, Debug)]
pub struct CommandHandle(Arc<SharedChild>);

impl CommandHandle {
    /// The command's process id, which may be another process's once the command has ended.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Sends a signal, by its number. Nothing happens if the command has ended.
    ///
    /// # Errors
    /// There is no such signal, or it is not allowed: the command has become another user's.
    pub fn signal(&self, signal: i32) -> Result<()> {
        self.0.send_signal(signal)
    }
}
