//! The parts of a run that are those of Unix: how a program is found, where its output is kept, and how it ended.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use tamis_agents::recorder::StoreRecorder;
use tamis_command::{CommandLine, CommandRunner, OverflowFolder, RunReport};

use super::args::RunArgs;
use crate::files;
pub(super) use crate::system::signals;

/// Returns why the arguments do not work on this system.
pub(super) fn refused(_: &RunArgs) -> Option<String> {
    None
}

/// Returns the writer of standard output.
pub(super) fn output() -> io::Result<files::Patient> {
    files::standard_output().map(files::Patient)
}

/// Sets where the full output is kept: in the folder, if one is given, or in the store.
pub(super) fn with_place(
    runner: CommandRunner,
    folder: Option<&Path>,
    limit: Option<u64>,
    store: StoreRecorder,
) -> CommandRunner {
    let limit = limit.unwrap_or(OverflowFolder::FILE_LIMIT);
    match folder {
        Some(folder) => runner.with_overflow(OverflowFolder::new(folder).with_file_limit(limit)),
        None => {
            let fallback = StoreRecorder::temporary_folder().with_file_limit(limit);
            runner.with_overflow(store.with_limit(limit).with_fallback(fallback))
        }
    }
}

/// Starts a program by `run`.
pub(super) fn start(
    program: &OsStr,
    arguments: &[OsString],
    variables: &[(&OsStr, &OsStr)],
    run: &mut impl FnMut(Command) -> io::Result<RunReport>,
) -> io::Result<RunReport> {
    let mut command = Command::new(program);
    command.args(arguments).envs(variables.iter().copied());
    match run(command) {
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
            // A script without a `#!` line is run by the shell, as execvp(3) does.
            let mut command = Command::new("/bin/sh");
            command.arg(found(program).ok_or(error)?).args(arguments);
            command.envs(variables.iter().copied());
            run(command)
        }
        ended => ended,
    }
}

/// Returns the file that is run for a name.
fn found(program: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(program));
    }
    let folders = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&folders).map(|folder| folder.join(program));
    files.find(|file| file.is_file())
}

/// Splits `NAME=VALUE` at the `=`.
pub(super) fn split_at(word: &OsStr, at: usize) -> Option<(&OsStr, &OsStr)> {
    let (name, value) = word.as_bytes().split_at(at);
    let value = value.strip_prefix(b"=").unwrap_or(value);
    Some((OsStr::from_bytes(name), OsStr::from_bytes(value)))
}

/// Returns a hint if the command is a command line in one word, which only a shell can run.
pub(super) fn shell_hint(command: &[OsString]) -> Option<String> {
    let [word] = command else { return None };
    let word = word.to_str()?;
    let line = CommandLine::from_args(["tamis", "run", "--", "sh", "-c", word]);
    word.contains([' ', '\t', '\n', '|', '&', ';', '<', '>'])
        .then(|| format!("; to run a command line: {}", line.typed()))
}

/// Returns the signal that killed a command.
pub(super) fn signal(status: ExitStatus) -> Option<i32> {
    status.signal()
}
