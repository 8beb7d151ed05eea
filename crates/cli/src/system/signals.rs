//! Signals. While a command runs, signals are forwarded to it, and tamis ends like the command. A signal that ends
//! tamis leaves no temporary file, and `tamis text` first writes its buffered output.
//!
//! This module must not depend on what the command does. Handlers are installed after the command was started, so that
//! it inherits the dispositions of tamis: signals that `nohup` ignores stay ignored.

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
use tamis_command::CommandHandle;
use tempfile::NamedTempFile;

use crate::console::Exit;

/// The signals that are forwarded. Signals that stop and continue are sent to both processes by a terminal.
const FORWARDED: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// Makes sure that tamis can wait for the end of a command: if tamis was started with SIGCHLD ignored, the system would
/// discard the exit status. The command starts with the default disposition.
pub(crate) fn wait_for_children() -> Result<()> {
    signal_hook::flag::register(SIGCHLD, Arc::default()).map(|_| ())
}

/// Forwards signals from now on.
pub(crate) fn forward(controls: CommandHandle) -> Result<()> {
    let mut signals = Signals::new(FORWARDED)?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            if !is_from_terminal(signal, &controls) {
                // Not permitted if the command changed its user; there is no one to report this to.
                _ = controls.signal(signal);
            }
        }
    })?;
    Ok(())
}

/// Creates a file and removes it if a signal ends tamis, which then ends by that signal. Ignored signals stay ignored.
///
/// A signal that arrives while the file is created is handled when its path is known. If no handler can be installed, a
/// signal leaves the file behind.
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
            // A complete output has been renamed already.
            _ = path.map(std::fs::remove_file);
            _ = emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

/// A signal that ends this process after its buffered output is written.
#[derive(Debug)]
pub(crate) struct Stop {
    signal: Arc<AtomicI32>,
    /// Becomes readable when the signal arrives.
    pub(crate) came: PipeReader,
}

impl Stop {
    /// The time for writing buffered output, whose reader may not read it. A second signal ends the process at once.
    const PATIENCE: Duration = Duration::from_secs(10);

    /// Installs handlers for the signals that end a process.
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

    /// Ends the process by the signal that arrived, if any.
    pub(crate) fn end(&self) {
        match self.signal.load(Ordering::SeqCst) {
            0 => {}
            signal => _ = emulate_default_handler(signal),
        }
    }

    /// Returns whether a signal arrived.
    pub(crate) fn has_come(&self) -> bool {
        self.signal.load(Ordering::SeqCst) != 0
    }
}

/// Returns the signals that end a process, except those that were ignored when tamis was started.
fn ending() -> impl Iterator<Item = i32> {
    [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| !is_ignored(*signal))
}

/// Returns whether tamis was started with a signal ignored, as `nohup` does, and as a shell does for background jobs.
/// Without `/proc` this is unknown, and only a hangup is assumed to be ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.map_or(signal == SIGHUP, |mask| mask >> (signal - 1) & 1 == 1)
}

/// Returns whether a terminal has also sent the signal to the command. If both are in the foreground, Ctrl-C and Ctrl-\
/// reach both, and many programs take a second signal as a request to end at once.
fn is_from_terminal(signal: i32, controls: &CommandHandle) -> bool {
    let both = || -> Option<bool> {
        let foreground = tcgetpgrp(File::open("/dev/tty").ok()?).ok()?;
        let command = Pid::from_raw(i32::try_from(controls.id()).ok()?)?;
        Some(foreground == getpgrp() && getpgid(Some(command)).ok()? == foreground)
    };
    [SIGINT, SIGQUIT].contains(&signal) && both().unwrap_or(false)
}

/// Ends like a command: returns its exit code, or ends by the signal that killed it.
pub(crate) fn end_as(status: ExitStatus) -> Exit {
    let Some(signal) = status.signal() else {
        return status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .map_or(Exit::Failed, Exit::Code);
    };
    // The command has written its core dump; tamis must not write another one.
    _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    #[cfg(target_os = "linux")]
    {
        _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
    // Returns only for unknown signals.
    _ = emulate_default_handler(signal);
    Exit::Code(u8::try_from(128 + signal).unwrap_or(u8::MAX))
}
