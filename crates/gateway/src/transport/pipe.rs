//! Standard input and output as files, without the buffers of the standard library.
//!
//! Messages are written in one piece and read into a buffer of their own. Another buffer between would only copy them.

use std::fs::File;
use std::io::{self, IoSlice, Read, Write};

/// A size for pipes between the proxy and the server. With the usual 64 KiB, a message of 100 KB makes both processes
/// wait for each other.
#[cfg(target_os = "linux")]
const PIPE: usize = 1 << 20;

/// Returns standard input.
///
/// # Errors
/// The error of the system, if the descriptor cannot be duplicated.
pub fn standard_input() -> io::Result<Patient<File>> {
    #[cfg(unix)]
    return Ok(Patient(std::os::fd::AsFd::as_fd(&io::stdin()).try_clone_to_owned()?.into()));
    #[cfg(windows)]
    return Ok(Patient(
        std::os::windows::io::AsHandle::as_handle(&io::stdin()).try_clone_to_owned()?.into(),
    ));
}

/// Returns standard output.
///
/// # Errors
/// The error of the system, if the descriptor cannot be duplicated.
pub fn standard_output() -> io::Result<Patient<File>> {
    #[cfg(unix)]
    return Ok(Patient(std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned()?.into()));
    #[cfg(windows)]
    return Ok(Patient(
        std::os::windows::io::AsHandle::as_handle(&io::stdout()).try_clone_to_owned()?.into(),
    ));
}

/// Enlarges a pipe, if the system can and the user may.
#[cfg(target_os = "linux")]
pub(super) fn widen(pipe: &impl std::os::fd::AsFd) {
    // With a smaller pipe everything works, only slower.
    _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE);
}

/// Leaves the pipe alone: other systems choose its size themselves.
#[cfg(not(target_os = "linux"))]
pub(super) fn widen<T>(_: &T) {}

/// Waits where a descriptor would report that it is not ready.
///
/// A descriptor may be in non-blocking mode because another process that shares it has set that.
#[derive(Debug)]
pub struct Patient<T>(T);

/// Repeats an operation until the descriptor is ready for it.
#[cfg(unix)]
fn patiently<T: std::os::fd::AsFd>(
    file: &mut T,
    ready: rustix::event::PollFlags,
    mut operation: impl FnMut(&mut T) -> io::Result<usize>,
) -> io::Result<usize> {
    loop {
        match operation(file) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let mut waited = [rustix::event::PollFd::new(&*file, ready)];
                // If this fails, the next attempt fails as well.
                _ = rustix::event::poll(&mut waited, None);
            }
            done => return done,
        }
    }
}

#[cfg(unix)]
impl<T: Read + std::os::fd::AsFd> Read for Patient<T> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        patiently(&mut self.0, rustix::event::PollFlags::IN, |file| file.read(into))
    }
}

#[cfg(unix)]
impl<T: Write + std::os::fd::AsFd> Write for Patient<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        patiently(&mut self.0, rustix::event::PollFlags::OUT, |file| file.write(bytes))
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        patiently(&mut self.0, rustix::event::PollFlags::OUT, |file| file.write_vectored(slices))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(not(unix))]
impl<T: Read> Read for Patient<T> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

#[cfg(not(unix))]
impl<T: Write> Write for Patient<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
