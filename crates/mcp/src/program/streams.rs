//! Which standard streams were closed when the process started (`>&-`).
//!
//! Before `main` the standard library opens `/dev/null` in the place of a closed stream, for reading and writing. Python and
//! Node.js open it in the same way for a caller that wants no output, so the open stream does not tell the two cases apart.
//! Therefore the streams are looked at earlier, before the standard library starts.

use std::io::Result;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::Errno;

/// A bit for each standard stream, by its number.
static CLOSED: AtomicU8 = AtomicU8::new(0);

ctor::declarative::ctor! {
    // SAFETY: it only reads the state of two streams and stores a number. Before `main`, there are no other threads.
    #[ctor(unsafe)]
    fn look() {
        let mut closed = 0;
        for stream in [rustix::stdio::stdout(), rustix::stdio::stderr()] {
            if rustix::io::fcntl_getfd(stream).is_err() {
                closed |= bit(stream);
            }
        }
        CLOSED.store(closed, Ordering::Relaxed);
    }
}

/// Fails if a standard stream is closed or not open for writing, which the standard library takes for success.
///
/// # Errors
/// The stream cannot be written to.
pub fn check_writable(stream: impl AsFd) -> Result<()> {
    let stream = stream.as_fd();
    if was_closed(stream) {
        return Err(Errno::BADF.into());
    }
    let flags = fcntl_getfl(stream)?;
    #[cfg(target_os = "linux")]
    let reference = flags.contains(OFlags::PATH);
    #[cfg(not(target_os = "linux"))]
    let reference = false;
    if reference || (flags & OFlags::RWMODE) == OFlags::RDONLY {
        return Err(Errno::BADF.into());
    }
    Ok(())
}

/// Whether a stream is a standard stream that was closed when the process started.
fn was_closed(stream: BorrowedFd<'_>) -> bool {
    CLOSED.load(Ordering::Relaxed) & bit(stream) != 0
}

fn bit(stream: BorrowedFd<'_>) -> u8 {
    let number = u32::try_from(stream.as_raw_fd()).ok();
    number.and_then(|number| 1_u8.checked_shl(number)).unwrap_or(0)
}
