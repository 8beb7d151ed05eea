//! The parts of a run that are those of Windows: how a program is found, where its output is kept, and how it ended.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};

use tamis_agents::recorder::StoreRecorder;
use tamis_command::{CommandRunner, RunReport};
use tamis_store::process::windows_shell::command_of_cmd;
use tamis_store::process::with_extension;

use super::args::RunArgs;
use crate::files::console::ConsoleText;
pub(super) use crate::system::console_events as signals;

/// Returns why the arguments do not work on this system.
pub(super) fn refused(args: &RunArgs) -> Option<String> {
    args.overflow_dir.is_some().then(|| {
        "--overflow-dir is not available on Windows yet; leave it out, and read the full output with tamis recall".to_owned()
    })
}

/// Returns the writer of standard output.
pub(super) fn output() -> io::Result<ConsoleText> {
    ConsoleText::standard_output()
}

/// Sets where the full output is kept: in the store.
pub(super) fn with_place(
    runner: CommandRunner,
    _: Option<&Path>,
    limit: Option<u64>,
    store: StoreRecorder,
) -> CommandRunner {
    runner.with_overflow(store.with_limit(limit.unwrap_or(FILE_LIMIT)))
}

/// The most bytes of a full output that are kept, as on Unix.
const FILE_LIMIT: u64 = 256 << 20;

/// Starts a program by `run`. Batch files, as npm installs them, are found by their names, too.
pub(super) fn start(
    program: &OsStr,
    arguments: &[OsString],
    variables: &[(&OsStr, &OsStr)],
    run: &mut impl FnMut(Command) -> io::Result<RunReport>,
) -> io::Result<RunReport> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut command = Command::new(with_extension(program, &folders));
    command.args(arguments).envs(variables.iter().copied());
    run(command)
}

/// Splits `NAME=VALUE` at the `=`. `None`: it is not Unicode.
pub(super) fn split_at(word: &OsStr, at: usize) -> Option<(&OsStr, &OsStr)> {
    let (name, value) = word.to_str()?.split_at_checked(at)?;
    Some((name.as_ref(), value.strip_prefix('=').unwrap_or(value).as_ref()))
}

/// Returns a hint if the command is a command of the shell, such as `dir`, or a command line in one word.
pub(super) fn shell_hint(command: &[OsString]) -> Option<String> {
    let words = command.iter().map(|word| word.to_str()).collect::<Option<Vec<_>>>()?;
    let first = words.first()?.to_ascii_lowercase();
    let is_line = words.len() == 1 && first.contains([' ', '\t', '|', '&', '<', '>']);
    (is_line || BUILTIN.contains(&first.as_str())).then(|| match command_of_cmd(&words) {
        Some(command) => format!("; to run a command of the shell: tamis run -- {command}"),
        None => "; to run a command of the shell: tamis run -- cmd /c, and the command in quotes"
            .to_owned(),
    })
}

/// Commands of `cmd.exe` that print.
const BUILTIN: [&str; 9] = ["assoc", "dir", "echo", "ftype", "mklink", "set", "type", "ver", "vol"];

/// Returns `None`: no signal kills a command here.
pub(super) fn signal(_: ExitStatus) -> Option<i32> {
    None
}
