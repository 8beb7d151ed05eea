//! The signals that end the proxy.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for SIGTERM, SIGINT or SIGHUP; on other systems, for Ctrl-C.
#[derive(Debug)]
pub struct Shutdown {
    #[cfg(unix)]
    signals: [(Signal, u8); 3],
}

impl Shutdown {
    /// Begins to receive the signals, which do not end the process any more.
    ///
    /// # Errors
    /// The error of the system, if no handler can be installed.
    pub fn on_signals() -> io::Result<Self> {
        #[cfg(unix)]
        return Ok(Self {
            signals: [
                (signal(SignalKind::terminate())?, 143),
                (signal(SignalKind::interrupt())?, 130),
                (signal(SignalKind::hangup())?, 129),
            ],
        });
        #[cfg(not(unix))]
        return Ok(Self {});
    }

    /// Waits for a signal and returns the exit code that a shell would report for it.
    pub async fn requested(&mut self) -> u8 {
        #[cfg(unix)]
        {
            let [(term, term_code), (int, int_code), (hup, hup_code)] = &mut self.signals;
            tokio::select! {
                _ = term.recv() => *term_code,
                _ = int.recv() => *int_code,
                _ = hup.recv() => *hup_code,
            }
        }
        #[cfg(not(unix))]
        {
            // Without a handler, the signal ends the process at once.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
            130
        }
    }
}
