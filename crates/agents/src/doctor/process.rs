//! Runs a program for a short time.

use std::fmt;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The longest time that a program gets.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most that is read of an output.
const MAX_BYTES: u64 = 1 << 20;

/// How a program ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// With this exit code and this output.
    Code { code: i32, out: Vec<u8> },
    /// By a signal.
    Signal,
    /// It was stopped, for it took too long.
    Late,
    /// It was not started.
    Never(String),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code { code, .. } => write!(f, "ended with exit code {code}"),
            Self::Signal => f.write_str("was ended by a signal"),
            Self::Late => write!(f, "did not end within {} s", PATIENCE.as_secs()),
            Self::Never(error) => write!(f, "cannot be started: {error}"),
        }
    }
}

/// Runs a program with this standard input and returns its standard output. `state` is the folder in which tamis keeps
/// outputs, instead of that of the user.
pub(super) fn ask(program: &Path, args: &[&str], input: &[u8], state: Option<&Path>) -> Ended {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    if let Some(state) = state {
        command.env("TAMIS_STATE_DIR", state).env("TAMIS_LOG", "off");
    }
    match command.spawn() {
        Ok(child) => wait(child, input.to_vec()),
        Err(error) => Ended::Never(error.to_string()),
    }
}

fn wait(mut child: Child, input: Vec<u8>) -> Ended {
    let stdin = child.stdin.take();
    thread::spawn(move || {
        // A program that does not read its input closes the pipe.
        _ = stdin.map(|mut stdin| stdin.write_all(&input));
    });
    let (sender, receiver) = std::sync::mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            let mut out = Vec::new();
            _ = stdout.take(MAX_BYTES).read_to_end(&mut out);
            _ = sender.send(out);
        });
    }
    let begin = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                // A process that it left behind may keep the pipe open.
                let out = receiver.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
                return status.code().map_or(Ended::Signal, |code| Ended::Code { code, out });
            }
            Ok(None) if begin.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(5)),
            Ok(None) => {
                _ = child.kill();
                _ = child.wait();
                return Ended::Late;
            }
            Err(error) => return Ended::Never(error.to_string()),
        }
    }
}
