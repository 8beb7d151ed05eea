//! Reads input with a timeout: reports when no input has arrived for a while, and when a signal should end the process.
//!
//! This module must not depend on what is read. On systems that cannot wait for input with a timeout, an input is never
//! silent.

use std::fs::File;
use std::io::{ErrorKind, Read, Result};
#[cfg(unix)]
use {crate::system::signals::Stop, std::time::Duration};

/// How long an input may be silent before its buffered output is written.
#[cfg(unix)]
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// The result of reading an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// The number of bytes read; 0 at the end.
    Bytes(usize),
    /// No input for [`PATIENCE`]. Reported once per pause.
    #[cfg_attr(not(unix), allow(dead_code, reason = "an input is never silent there"))]
    Silence,
    /// A signal should end the process.
    #[cfg(unix)]
    Stop,
}

#[derive(Debug)]
pub(crate) struct Input {
    file: File,
    /// Input has arrived, and no silence has been reported since.
    waits: bool,
    #[cfg(unix)]
    stop: Option<Stop>,
}

impl Input {
    pub(crate) fn new(file: File) -> Self {
        Self {
            file,
            waits: false,
            // Without a handler, signals end the process at once.
            #[cfg(unix)]
            stop: Stop::new().ok(),
        }
    }

    /// Reads available input, or waits for it.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<Given> {
        loop {
            #[cfg(unix)]
            if let Some(other) = self.wait() {
                return Ok(other);
            }
            match self.file.read(buffer) {
                Ok(count) => {
                    self.waits = count > 0;
                    return Ok(Given::Bytes(count));
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for input. Returns `None` if there is some, else what happened instead.
    #[cfg(unix)]
    fn wait(&mut self) -> Option<Given> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        use rustix::io::Errno;
        let time = Timespec { tv_sec: PATIENCE.as_secs().cast_signed(), tv_nsec: 0 };
        let mut ends = vec![PollFd::new(&self.file, PollFlags::IN)];
        ends.extend(self.stop.as_ref().map(|stop| PollFd::new(&stop.came, PollFlags::IN)));
        // After an interruption the signal may not be recorded yet: the pipe becomes readable when it is.
        let waited = loop {
            match poll(&mut ends, self.waits.then_some(&time)) {
                Err(Errno::INTR) => {}
                waited => break waited,
            }
        };
        if self.stop.as_ref().is_some_and(Stop::has_come) {
            return Some(Given::Stop);
        }
        if waited == Ok(0) {
            self.waits = false;
            return Some(Given::Silence);
        }
        // If waiting failed, reading fails as well.
        None
    }

    /// Ends the process if a signal arrived that should end it.
    pub(crate) fn end(&self) {
        #[cfg(unix)]
        self.stop.iter().for_each(Stop::end);
    }
}
