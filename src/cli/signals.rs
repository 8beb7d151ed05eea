//! Signals. Those that tamis gets while a command runs are forwarded to it, and tamis ends as the command did. A signal that
//! ends tamis leaves no temporary file, and `tamis text` first writes the output that it holds.
//!
//! Must not know what the command does. Handlers are installed when the command runs, so that it starts with those that
//! tamis was started with: what `nohup` ignores stays ignored.

use std::fs::File;
use std::io::{PipeReader, Result, Write};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

#[cfg(target_os = "linux")]
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::process::{Pid, Resource, Rlimit, getpgid, getpgrp, setrlimit};
use rustix::termios::tcgetpgrp;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::os::unix::process::ExitStatusExt;
use tamis::CommandHandle;
use tempfile::NamedTempFile;

use crate::diagnostics::Exit;

/// Those that ask a process for something. What stops and continues, a terminal sends to both.
const FORWARDED: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// Makes sure that the end of a command can be waited for: where tamis is started with SIGCHLD ignored, the system would
/// forget how it ended. The command starts with the default, as it does where nothing is ignored.
pub(crate) fn wait_for_children() -> Result<()> {
    signal_hook::flag::register(SIGCHLD, Arc::default()).map(|_| ())
}

/// Sends signals on, from now on.
pub(crate) fn forward(controls: CommandHandle) -> Result<()> {
    let mut signals = Signals::new(FORWARDED)?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            if !is_from_terminal(signal, &controls) {
                // If it is not allowed (the command is another user's now) there is nobody to tell.
                _ = controls.signal(signal);
            }
        }
    })?;
    Ok(())
}

/// Creates a file, and removes it if a signal ends tamis, which then ends by that signal. Signals that are ignored stay ignored.
///
/// A signal that comes while the file is created waits until its path is known. Where signals cannot be waited for, the file
/// only stays after one.
pub(crate) fn create_until_ended(
    create: impl FnOnce() -> Result<NamedTempFile>,
) -> Result<NamedTempFile> {
    let path = Arc::new(Mutex::new(None));
    let mut known = path.lock().unwrap_or_else(PoisonError::into_inner);
    _ = remove_when_ended(Arc::clone(&path));
    let file = create()?;
    *known = Some(file.path().to_path_buf());
    drop(known);
    Ok(file)
}

fn remove_when_ended(path: Arc<Mutex<Option<PathBuf>>>) -> Result<()> {
    let mut signals = Signals::new(ending())?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let path = path.lock().unwrap_or_else(PoisonError::into_inner).take();
            // It has another name by now if the output is complete.
            _ = path.map(std::fs::remove_file);
            _ = emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

/// A signal that is to end this process, once what is held is written.
#[derive(Debug)]
pub(crate) struct Stop {
    signal: Arc<AtomicI32>,
    /// Becomes readable with the signal.
    pub(crate) came: PipeReader,
}

impl Stop {
    /// How long writing what is held may take: whoever reads the output may not take it. A second signal waits for nothing.
    const PATIENCE: Duration = Duration::from_secs(10);

    /// Waits for the signals that end a process.
    pub(crate) fn new() -> Result<Self> {
        let mut signals = Signals::new(ending())?;
        let (came, mut comes) = std::io::pipe()?;
        let signal = Arc::new(AtomicI32::new(0));
        let received = Arc::clone(&signal);
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in signals.forever() {
                let first = received.swap(signal, Ordering::SeqCst) == 0;
                let waits = first && comes.write_all(b"!").is_ok();
                let end = move || {
                    if waits {
                        thread::sleep(Self::PATIENCE);
                    }
                    _ = emulate_default_handler(signal);
                };
                if thread::Builder::new().spawn(end).is_err() {
                    _ = emulate_default_handler(signal);
                }
            }
        })?;
        Ok(Self { signal, came })
    }

    /// Ends as the signal does that came, if one did.
    pub(crate) fn end(&self) {
        match self.signal.load(Ordering::SeqCst) {
            0 => {}
            signal => _ = emulate_default_handler(signal),
        }
    }

    /// Whether one came.
    pub(crate) fn has_come(&self) -> bool {
        self.signal.load(Ordering::SeqCst) != 0
    }
}

/// The signals that end a process, except those that tamis was started with ignored.
fn ending() -> impl Iterator<Item = i32> {
    [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| !is_ignored(*signal))
}

/// Returns whether tamis was started with a signal ignored, as `nohup` does, and as a shell does for background jobs. Without
/// `/proc` this is unknown, and only a hangup is assumed to be ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.map_or(signal == SIGHUP, |mask| mask >> (signal - 1) & 1 == 1)
}

/// Whether a terminal has sent it to the command as well. Where both are in the foreground, Ctrl-C and Ctrl-\ reach both,
/// and many programs understand a second one as "at once".
fn is_from_terminal(signal: i32, controls: &CommandHandle) -> bool {
    let both = || -> Option<bool> {
        let foreground = tcgetpgrp(File::open("/dev/tty").ok()?).ok()?;
        let command = Pid::from_raw(i32::try_from(controls.id()).ok()?)?;
        Some(foreground == getpgrp() && getpgid(Some(command)).ok()? == foreground)
    };
    [SIGINT, SIGQUIT].contains(&signal) && both().unwrap_or(false)
}

/// Ends as a command did: with its exit code, or by the signal that killed it.
pub(crate) fn end_as(status: ExitStatus) -> Exit {
    let Some(signal) = status.signal() else {
        return status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .map_or(Exit::Failed, Exit::Code);
    };
    // The command has left its memory where it is wanted; ours is not.
    _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    #[cfg(target_os = "linux")]
    {
        _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
    // It does not return, but for signals that it does not know.
    _ = emulate_default_handler(signal);
    Exit::Code(u8::try_from(128 + signal).unwrap_or(u8::MAX))
}
