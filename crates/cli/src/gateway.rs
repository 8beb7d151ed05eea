//! `tamis mcp` and `tamis serve`: started from the binary `tamis-gateway`, which has a runtime and TLS.
//!
//! This module must not depend on what the command does.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use crate::diagnostics::{Console, Exit, Usage};

/// Replaces this process with `tamis-gateway`, with the same arguments.
///
/// Clients send their signals to the process that they started, so on Unix it becomes the proxy instead of starting it.
pub(crate) fn run<'a>(args: impl Iterator<Item = &'a OsString>) -> Exit {
    let console = Console::default();
    let Some(path) = find() else {
        console.usage(&Usage::new(
            "tamis-gateway, which has this command, is not installed; install it with: cargo install tamis-gateway",
        ));
        return Exit::Usage;
    };
    let mut command = Command::new(&path);
    command.args(args);
    match become_process(&mut command) {
        Ok(exit) => exit,
        Err(error) => {
            console.say(&path.display().to_string(), format_args!("cannot be executed: {error}"));
            Exit::Usage
        }
    }
}

/// Finds the binary next to this one, which has the same version, or on the path.
fn find() -> Option<PathBuf> {
    let name = format!("tamis-gateway{EXE_SUFFIX}");
    let own = std::env::current_exe().ok();
    let own = own.as_deref().and_then(std::path::Path::parent).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = own.into_iter().chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(&name)).find(|file| file.is_file())
}

#[cfg(unix)]
fn become_process(command: &mut Command) -> io::Result<Exit> {
    Err(std::os::unix::process::CommandExt::exec(command))
}

#[cfg(not(unix))]
fn become_process(command: &mut Command) -> io::Result<Exit> {
    let code = command.status()?.code();
    Ok(Exit::Code(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}
