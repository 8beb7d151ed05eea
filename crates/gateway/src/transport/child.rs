//! The process of a server: how it is started, how it is asked to end, and how it is made to end.
//!
//! The server must not outlive the proxy, whichever of the two dies first and however.
//!
//! - It gets a process group of its own. Clients signal the proxy only, or the group of the proxy; the proxy passes the
//!   end on to the whole group of the server, which includes what `npx` or a shell started.
//! - On Linux the kernel sends it SIGTERM when the proxy dies, even by SIGKILL. A process can only ask that for itself,
//!   between `fork` and `exec`, and the standard library runs code there only through an unsafe function. So the proxy
//!   starts itself again with [`LAUNCH`] as its first argument; that process makes the request and replaces itself with
//!   the server ([`launch`]). The request survives `exec`.
//! - The kernel counts the end of the *thread* that started the server as the end of its parent. [`spawn`] must therefore
//!   be called from the main thread.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::time::timeout;

/// The first argument of a process that becomes the server.
pub const LAUNCH: &str = "launch-mcp-server";

/// How long a server may take to end after its standard input was closed. Clients give the proxy two seconds in all.
pub const CLOSE_GRACE: Duration = Duration::from_secs(1);

/// How long a server may take to end after SIGTERM.
pub const TERM_GRACE: Duration = Duration::from_millis(500);

/// The program of a server and its arguments.
#[derive(Clone, Debug)]
pub struct ServerCommand {
    program: OsString,
    arguments: Vec<OsString>,
    /// Whether the current executable handles [`LAUNCH`].
    launcher: bool,
}

impl ServerCommand {
    /// Creates a command that is run directly, without a shell.
    #[must_use]
    pub fn new(program: OsString, arguments: Vec<OsString>) -> Self {
        Self { program, arguments, launcher: false }
    }

    /// States that the current executable calls [`launch`] if its first argument is [`LAUNCH`].
    ///
    /// Without it, a server survives if the proxy is killed by SIGKILL and the server ignores the end of its input.
    #[must_use]
    pub fn with_launcher(self, launcher: bool) -> Self {
        Self { launcher, ..self }
    }

    /// Returns the name of the program, for messages.
    #[must_use]
    pub fn name(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }
}

/// The reason why a server did not start.
#[derive(Debug)]
pub struct NotStarted {
    program: String,
    error: io::Error,
}

impl NotStarted {
    /// Creates the error of a command.
    pub(super) fn new(command: &ServerCommand, error: io::Error) -> Self {
        Self { program: command.name(), error }
    }

    /// Returns the exit code that shells use: 127 if the program was not found, 126 if it cannot be executed.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self.error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => 127,
            _ => 126,
        }
    }
}

impl std::fmt::Display for NotStarted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.error.kind() == io::ErrorKind::NotFound {
            return write!(f, "{}: command not found", self.program);
        }
        write!(f, "{}: cannot be executed: {}", self.program, self.error)
    }
}

impl std::error::Error for NotStarted {}

/// Starts a server that reads from `input` and writes to `output`. Its standard error is inherited.
///
/// # Errors
/// [`NotStarted`] if the program is not found or not executable.
pub fn spawn(
    command: &ServerCommand,
    input: Stdio,
    output: Stdio,
) -> Result<ServerProcess, NotStarted> {
    let fail = |error| NotStarted::new(command, error);
    // The launcher would find the same error, but too late: the client has sent its first request by then.
    let program = find(&command.program).map_err(fail)?;
    let mut process = prepare(command, &program);
    process.stdin(input).stdout(output).kill_on_drop(true);
    #[cfg(unix)]
    process.process_group(0);
    let child = process.spawn().map_err(fail)?;
    Ok(ServerProcess { group: Group::of(&child), child })
}

/// Returns the command that is executed: the server, or this executable as its launcher.
fn prepare(command: &ServerCommand, program: &Path) -> Command {
    if command.launcher && cfg!(target_os = "linux") {
        // The link also works after an update replaced the file.
        let mut process = Command::new("/proc/self/exe");
        process.arg(LAUNCH).arg(std::process::id().to_string()).arg(program);
        process.args(&command.arguments);
        return process;
    }
    let mut process = Command::new(program);
    process.args(&command.arguments);
    process
}

/// Finds the file that a name refers to.
#[cfg(windows)]
fn find(program: &OsStr) -> io::Result<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    Ok(tamis_store::process::with_extension(program, &folders))
}

/// Finds the file that a name refers to, as `execvp` does.
#[cfg(not(windows))]
fn find(program: &OsStr) -> io::Result<PathBuf> {
    if program.as_encoded_bytes().contains(&b'/') {
        let path = PathBuf::from(program);
        return executable(&path).map(|()| path);
    }
    let folders = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
    let mut denied = None;
    for folder in std::env::split_paths(&folders) {
        let path = folder.join(program);
        match executable(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => denied = Some(error),
            Err(_) => {}
        }
    }
    Err(denied.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
}

/// Checks that a path is a file that may be executed by somebody.
#[cfg(not(windows))]
fn executable(path: &Path) -> io::Result<()> {
    let metadata = std::fs::metadata(path)?;
    #[cfg(unix)]
    let may_run = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let may_run = true;
    if metadata.is_file() && may_run { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// Becomes the server: the second half of [`spawn`], in a new process.
///
/// `arguments` are those after [`LAUNCH`]: the id of the proxy, the program and its arguments. Returns only on failure.
#[cfg(target_os = "linux")]
pub fn launch(mut arguments: impl Iterator<Item = OsString>) -> io::Error {
    use std::os::unix::process::CommandExt;

    use rustix::process::{Signal, getppid, set_parent_process_death_signal};

    let parent = arguments.next().and_then(|id| id.to_str()?.parse::<i32>().ok());
    let Some(program) = arguments.next() else { return io::ErrorKind::InvalidInput.into() };
    if let Err(error) = set_parent_process_death_signal(Some(Signal::TERM)) {
        return error.into();
    }
    // The proxy may have died before the request.
    if getppid().map(|id| id.as_raw_nonzero().get()) != parent {
        return io::ErrorKind::BrokenPipe.into();
    }
    std::process::Command::new(program).args(arguments).exec()
}

/// A running server.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    group: Group,
}

impl ServerProcess {
    /// Waits for the end of the process. May be called again after a call that was cancelled.
    ///
    /// # Errors
    /// The error of the system, if the process cannot be waited for.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Ends a process whose standard input was closed: waits, then sends SIGTERM to its group, then SIGKILL.
    ///
    /// # Errors
    /// The error of the system, if the process cannot be waited for.
    pub async fn shut_down(&mut self) -> io::Result<ExitStatus> {
        if let Ok(status) = timeout(CLOSE_GRACE, self.child.wait()).await {
            return status;
        }
        self.group.terminate();
        if let Ok(status) = timeout(TERM_GRACE, self.child.wait()).await {
            return status;
        }
        self.group.kill();
        self.child.kill().await?;
        self.child.wait().await
    }

    /// Asks what is left of the process group to end. Called after the process itself ended.
    pub fn terminate_group(&self) {
        self.group.terminate();
    }

    /// Kills what is left of the process group.
    pub fn kill_group(&self) {
        self.group.kill();
    }
}

/// The process group of a server. It may outlive the server, as long as a process that the server started runs.
#[derive(Clone, Copy, Debug)]
struct Group(Option<u32>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id())
    }

    #[cfg(unix)]
    fn terminate(self) {
        self.signal(rustix::process::Signal::TERM);
    }

    #[cfg(unix)]
    fn kill(self) {
        self.signal(rustix::process::Signal::KILL);
    }

    #[cfg(unix)]
    fn signal(self, signal: rustix::process::Signal) {
        let id = self.0.and_then(|id| i32::try_from(id).ok());
        if let Some(group) = id.and_then(rustix::process::Pid::from_raw) {
            // An error means that the group has ended.
            _ = rustix::process::kill_process_group(group, signal);
        }
    }

    /// Windows has no such signal. The process is killed at the end of [`ServerProcess::shut_down`].
    #[cfg(not(unix))]
    fn terminate(self) {
        _ = self.0;
    }

    #[cfg(not(unix))]
    fn kill(self) {
        _ = self.0;
    }
}
