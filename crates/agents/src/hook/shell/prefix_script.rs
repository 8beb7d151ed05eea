//! The script that `tamis install claude-code` writes and `CLAUDE_CODE_SHELL_PREFIX` names.
//!
//! A script and not the program: if the program of the variable is missing, every command of the agent fails. The script
//! needs nothing but a POSIX shell, and without tamis it starts the shell that Claude Code would have used.

use std::path::Path;

use tamis_mcp::config::ConfigFiles;
use tamis_store::process::shell_word;

/// Returns the text of the script. `files` is the configuration that the hook reads, `program` the file that it starts.
///
/// ```
/// use std::path::Path;
///
/// use tamis_agents::hook::shell::prefix_script;
/// use tamis_mcp::config::ConfigFiles;
///
/// let script = prefix_script(ConfigFiles::User, Path::new("/usr/bin/tamis"));
/// assert!(script.starts_with("#!/bin/sh\n"));
/// assert!(script.contains("tamis=/usr/bin/tamis\n"));
/// assert!(script.contains("exec \"$tamis\" hook shell --config user \"$1\"\n"));
/// ```
#[must_use]
pub fn prefix_script(files: ConfigFiles, program: &Path) -> String {
    let config = if files == ConfigFiles::User { "user" } else { "project" };
    include_str!("tamis-shell.sh")
        .replace("@CONFIG@", config)
        .replace("@PROGRAM@", &shell_word(&program.to_string_lossy()))
}
