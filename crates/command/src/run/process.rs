//! [`RunningCommand`]: a child process whose two output streams arrive through one pipe.
//!
//! Invariants: the output ends soon after the command, even if a process started by it keeps the pipe open. Everything
//! that was written before the command ended is read. A signal never reaches another process that got the command's id.
//!
//! Why a pipe and not a terminal: one pipe keeps the two streams in the order in which they were written. A pseudo
//! terminal would too, but it makes programs use colours, pagers, prompts and redraws, and it needs a process group, a
//! window size and echo handling.

use std::io::{ErrorKind, PipeReader, Read, Result};
use std::process::{Command, ExitStatus};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionread};
use shared_child::SharedChild;
use shared_child::unix::SharedChildExt;

/// How many times `linger` is waited for at most, if the output never falls silent.
const MAX_LINGERS: u32 = 10;

/// A running command and its output: what it writes to standard output and standard error, in that order.
///
/// [`Read`] reads the output. It ends when no process has the pipe open any more, or some time after the command's end:
/// see [`with_linger`](RunningCommand::with_linger). Standard input and all other settings are those of [`Command`].
///
/// Dropping the value closes the pipe and leaves the command running.
///
/// ```
/// use std::io::Read;
/// use std::process::Command;
/// use tamis_command::RunningCommand;
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
    handle: CommandHandle,
    output: Option<PipeReader>,
    /// A pipe that is closed when the command has ended. Nothing is written to it.
    end: PipeReader,
    waiter: JoinHandle<Result<ExitStatus>>,
    linger: Duration,
    ended: Option<CommandEnd>,
    left_open: bool,
    /// The output, if another process had it open when reading stopped.
    rest: Option<PipeReader>,
}

/// State after the command has ended, while another process may keep its output open.
#[derive(Clone, Copy, Debug)]
struct CommandEnd {
    at: Instant,
    /// Bytes that were in the pipe at that time and are not read yet. All remaining output of the command is among
    /// them.
    unread: u64,
    /// Whether the pipe was not polled since those bytes were read.
    unpolled: bool,
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
        let (end, ending) = std::io::pipe()?;
        command.stdout(input.try_clone()?).stderr(input);
        // The thread is created first: every started command must have a thread that waits for it.
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
        // The thread is receiving.
        _ = sender.send(Arc::clone(&child));
        Ok(Self {
            handle: CommandHandle(child),
            output: Some(output),
            end,
            waiter,
            linger: Self::LINGER,
            ended: None,
            left_open: false,
            rest: None,
        })
    }

    /// Sets how long the output may be silent after the command's end before reading stops; ten times as long if it is
    /// never silent.
    ///
    /// A process that the command started, such as a server or daemon, may keep the output open. Without a limit,
    /// reading to the end would wait for that process.
    ///
    /// ### Default
    /// [`LINGER`](Self::LINGER).
    #[must_use]
    pub fn with_linger(mut self, silence: Duration) -> Self {
        self.linger = silence;
        self
    }

    /// Returns a handle that signals the command from any thread.
    #[must_use]
    pub fn handle(&self) -> CommandHandle {
        self.handle.clone()
    }

    /// Waits until there is output, or its end. Returns `false` after `time` without either.
    ///
    /// # Errors
    /// The errors of poll(2).
    pub fn wait(&self, time: Duration) -> Result<bool> {
        let Some(output) = &self.output else { return Ok(true) };
        if self.ended.is_some() && self.linger <= time {
            // `read` waits no longer than this.
            return Ok(true);
        }
        let end = self.ended.is_none().then_some(&self.end);
        let PipeEvents { output, end } = ready(output, end, Some(time))?;
        Ok(output || end)
    }

    /// Closes the pipe. Processes that write to it from now on get an error or SIGPIPE.
    pub fn close(&mut self) {
        self.output = None;
        self.rest = None;
    }

    /// Returns whether another process still had the output open when reading stopped.
    #[must_use]
    pub fn is_left_open(&self) -> bool {
        self.left_open
    }

    /// Returns the pipe, if another process still had it open when reading stopped. If it is dropped, that process gets
    /// an error or SIGPIPE when it next writes.
    pub fn take_rest(&mut self) -> Option<PipeReader> {
        self.rest.take()
    }

    /// Closes the pipe and waits for the command's end.
    ///
    /// # Errors
    /// The status is not available, because other code has waited for the process.
    pub fn finish(mut self) -> Result<ExitStatus> {
        self.close();
        match self.waiter.join() {
            Ok(status) => status,
            Err(_) => Err(ErrorKind::Other.into()),
        }
    }

    /// Returns how long to wait for more output: `Some(None)` is without a limit, while the command runs; `None` means
    /// that reading stops.
    fn timeout(&self) -> Option<Option<Duration>> {
        let Some(CommandEnd { at, unread, unpolled }) = self.ended else { return Some(None) };
        if unread > 0 || unpolled {
            return Some(Some(self.linger));
        }
        let most = self.linger.saturating_mul(MAX_LINGERS);
        let left = most.checked_sub(at.elapsed()).filter(|left| !left.is_zero())?;
        Some(Some(left.min(self.linger)))
    }
}

impl Read for RunningCommand {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            let timeout = self.timeout();
            let Some(output) = &mut self.output else { return Ok(0) };
            let end = self.ended.is_none().then_some(&self.end);
            let ready = match timeout {
                Some(time) => ready(output, end, time)?,
                None => PipeEvents::default(),
            };
            if let Some(ended) = &mut self.ended {
                ended.unpolled = false;
            }
            if ready.end {
                // Counted after the end, so that everything the command wrote is included.
                self.ended = Some(CommandEnd {
                    at: Instant::now(),
                    unread: ioctl_fionread(&*output)?,
                    unpolled: true,
                });
            }
            if ready.output {
                let count = output.read(buffer)?;
                if count == 0 && !buffer.is_empty() {
                    self.output = None;
                }
                if let Some(ended) = &mut self.ended {
                    ended.unpolled |= ended.unread > 0;
                    ended.unread = ended.unread.saturating_sub(count as u64);
                }
                return Ok(count);
            }
            if !ready.end {
                self.left_open = true;
                self.rest = self.output.take();
            }
        }
    }
}

/// Events on the pipes. Both are `false` after a timeout.
#[derive(Clone, Copy, Debug, Default)]
struct PipeEvents {
    /// There is output, or it has ended.
    output: bool,
    /// The command has ended.
    end: bool,
}

/// Waits for an event, up to `time`.
fn ready(
    output: &PipeReader,
    end: Option<&PipeReader>,
    time: Option<Duration>,
) -> Result<PipeEvents> {
    let until = time.and_then(|time| Instant::now().checked_add(time));
    loop {
        let time = until.map(|until| until.saturating_duration_since(Instant::now()));
        let time = time.map(|time| Timespec {
            // Some systems refuse larger values; this is more than three weeks.
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
                return Ok(PipeEvents { output, end });
            }
        }
    }
}

/// Signals a running command. Cheap to clone and usable from any thread.
#[derive(Clone, Debug)]
pub struct CommandHandle(Arc<SharedChild>);

impl CommandHandle {
    /// Returns the command's process id. It may belong to another process once the command has ended.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Sends a signal, given by its number. Does nothing if the command has ended.
    ///
    /// # Errors
    /// The signal does not exist, or is not permitted because the command has changed its user.
    pub fn signal(&self, signal: i32) -> Result<()> {
        self.0.send_signal(signal)
    }
}
