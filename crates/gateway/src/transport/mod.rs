//! Carries messages between the client and the server.
//!
//! A transport collects a message in a [`Spool`](spool::Spool), hands it to a [`MessageHandler`], and follows the
//! [`Route`](crate::mcp::Route) that the handler returns. It knows how messages are framed and how processes and
//! connections end. It does not know what a message means.
//!
//! | module | for |
//! |---|---|
//! | [`spool`] | a message, in memory or in a temporary file |
//! | [`lines`] | messages as lines of standard input and output |
//! | [`sse`] | messages as events of an event stream |
//! | [`child`] | the server's process, from its start to its end |
//! | [`stdio`] | a client and a server on standard input and output |
//! | [`http`] | a client and a server over streamable HTTP |
//! | [`bridge`] | a client on standard input and output, a server over HTTP |

#[cfg(feature = "mcp")]
pub mod bridge;
#[cfg(feature = "mcp")]
pub mod child;
#[cfg(feature = "mcp")]
mod handler;
#[cfg(feature = "mcp")]
pub mod http;
#[cfg(feature = "mcp")]
pub(crate) mod jobs;
#[cfg(feature = "mcp")]
pub mod lines;
#[cfg(feature = "mcp")]
pub mod pipe;
#[cfg(feature = "mcp")]
pub mod shutdown;
mod spare;
pub mod spool;
#[cfg(feature = "mcp")]
pub mod sse;
#[cfg(feature = "mcp")]
pub mod stdio;

#[cfg(feature = "mcp")]
use std::process::ExitStatus;

#[cfg(feature = "mcp")]
pub use handler::{HandlerFactory, MessageHandler, PassThrough};

/// Reports on standard error, as a line of its own. Nothing can be done if that fails.
#[cfg(feature = "mcp")]
pub(crate) fn report(message: impl std::fmt::Display) {
    use std::io::Write as _;
    // One write, so that lines of several processes are not mixed.
    _ = std::io::stderr().lock().write_all(format!("tamis: {message}\n").as_bytes());
}

/// Describes how a process ended, for messages to the client.
#[cfg(feature = "mcp")]
fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("signal {signal}");
    }
    status.code().map_or_else(|| String::from("unknown status"), |code| format!("status {code}"))
}

/// Returns the exit code that a shell would report for a process.
#[cfg(feature = "mcp")]
fn exit_code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(1);
    }
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
