//! The flags of `tamis mcp` and `tamis serve`, and the check of the standard streams.
//!
//! Two programs use them. `tamis` has the flags for its help, its manual pages and its completions, and passes the command
//! line on to `tamis-gateway`, which uses the values.

mod mcp_args;
mod serve_args;
#[cfg(unix)]
mod streams;

pub use mcp_args::{MCP_HELP, MCP_HELP_SHORT, McpArgs};
pub use serve_args::{SERVE_HELP, ServeArgs};
#[cfg(unix)]
pub use streams::check_writable;

/// Always succeeds: this system cannot query the mode of a stream.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn check_writable<S>(_: S) -> std::io::Result<()> {
    Ok(())
}
