//! `tamis mcp` and `tamis serve`: started from the binary `tamis-gateway`, which has a runtime and TLS.
//!
//! This module must not depend on what the command does.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use tamis_agents::install::as_started;

use crate::console::{Console, Exit, Usage, print};

/// Installs the program from a checkout.
const INSTALL: &str = "cargo install --path crates/gateway --profile dist";

/// Replaces this process with `tamis-gateway`, with the same arguments. `features` are the flags with which it is installed.
///
/// Clients send their signals to the process that they started, so on Unix it becomes the proxy instead of starting it.
pub(crate) fn run<'a>(args: impl Iterator<Item = &'a OsString>, features: &str) -> Exit {
    let console = Console::default();
    // The other program cannot see that it was closed: the standard library has opened `/dev/null` in its place.
    if !print::can_print() {
        return Exit::Failed;
    }
    let path = match found() {
        Ok(path) => path,
        Err(path) => {
            console.usage(&Usage::new(format!(
                "tamis-gateway, which has this command, is not at {}; install it from a checkout with: {INSTALL}{features}",
                path.display()
            )));
            return Exit::Usage;
        }
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

/// Finds the binary in the folder of this one, which has the same version. A name is not looked up: `PATH` may have folders to
/// which a command in a sandbox can write.
///
/// # Errors
/// It is not there; the path of where it would be.
pub(crate) fn found() -> Result<PathBuf, PathBuf> {
    let name = format!("tamis-gateway{EXE_SUFFIX}");
    let started = as_started();
    // Packages may link only one of them into a folder of programs.
    let files = started.into_iter().chain(std::env::current_exe().ok());
    let mut candidates = files.map(|file| file.with_file_name(&name)).collect::<Vec<_>>();
    match candidates.iter().find(|file| file.is_file()) {
        Some(found) => Ok(found.clone()),
        None => Err(candidates.pop().unwrap_or_else(|| PathBuf::from(name))),
    }
}

#[cfg(unix)]
fn become_process(command: &mut Command) -> io::Result<Exit> {
    Err(std::os::unix::process::CommandExt::exec(command))
}

#[cfg(not(unix))]
fn become_process(command: &mut Command) -> io::Result<Exit> {
    use crate::system::console_events::{end_as, ignore_interrupts};
    // The other program ends in an orderly way.
    _ = ignore_interrupts();
    command.status().map(end_as)
}
