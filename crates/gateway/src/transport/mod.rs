//! Carries messages between the client and the server.
//!
//! A transport collects a message in a [`Spool`](tamis_mcp::spool::Spool), hands it to a [`MessageHandler`], and follows the
//! [`Route`](tamis_mcp::Route) that the handler returns. It knows how messages are framed and how processes and
//! connections end. It does not know what a message means.
//!
//! | module | for |
//! |---|---|
//! | [`lines`] | messages as lines of standard input and output |
//! | [`sse`] | messages as events of an event stream |
//! | [`child`] | the server's process, from its start to its end |
//! | [`stdio`] | a client and a server on standard input and output |
//! | [`http`] | a client and a server over streamable HTTP |
//! | [`bridge`] | a client on standard input and output, a server over HTTP |

pub mod bridge;
pub mod child;
mod handler;
pub mod http;
pub(crate) mod jobs;
pub mod lines;
pub mod pipe;
pub mod shutdown;
pub mod sse;
pub mod stdio;

use std::process::ExitStatus;

pub use handler::{HandlerFactory, MessageHandler, PassThrough};

/// Describes how a process ended, for messages to the client.
fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("signal {signal}");
    }
    status.code().map_or_else(|| String::from("unknown status"), |code| format!("status {code}"))
}

/// Returns the exit code that a shell would report for a process.
fn exit_code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(1);
    }
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
