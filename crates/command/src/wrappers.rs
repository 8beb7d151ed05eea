//! Removes what wraps a command: `sudo`, `timeout`, `npx`, `python -m`, `bash -c`, `docker run`, `ssh`.
//!
//! The positions are those of the usage that each program prints or of its manual. Where the wrapped command is not certain, the
//! wrapper stays.

use super::printing::{base, is_assignment};

/// Maximum number of wrappers around a command.
const WRAPPERS: usize = 32;

/// A command without its wrappers.
pub(super) enum Unwrapped {
    Words(Vec<String>),
    /// The command line for a shell.
    Script(String),
}

/// Where a wrapper has the command. Flags of the wrapper come before it.
enum Inside {
    /// After a number of arguments.
    After(usize),
    /// After one of these words.
    AfterWord(&'static [&'static str]),
    /// A command line for a shell follows one of these flags, which may be the last letter of several.
    Script(&'static [&'static str]),
    /// The rest, after a number of arguments, is joined to a command line for a shell.
    Joined(usize),
}

/// A wrapper.
struct CommandWrapper {
    words: &'static [&'static str],
    /// The flags that take a value.
    valued: &'static [&'static str],
    inside: Inside,
}

const fn wrapper(
    words: &'static [&'static str],
    valued: &'static [&'static str],
    takes: usize,
) -> CommandWrapper {
    CommandWrapper { words, valued, inside: Inside::After(takes) }
}

const fn after(
    words: &'static [&'static str],
    separators: &'static [&'static str],
) -> CommandWrapper {
    CommandWrapper { words, valued: &[], inside: Inside::AfterWord(separators) }
}

const fn script(words: &'static [&'static str], flags: &'static [&'static str]) -> CommandWrapper {
    CommandWrapper { words, valued: &[], inside: Inside::Script(flags) }
}

const UV: &[&str] = &[
    "--with",
    "--python",
    "-p",
    "--extra",
    "--group",
    "--project",
    "--directory",
    "--env-file",
    "--from",
    "--package",
];

const EXEC: &[&str] =
    &["-e", "--env", "--env-file", "-u", "--user", "-w", "--workdir", "--index", "--detach-keys"];

/// Flags of `docker run` (20.10) and `podman run` (4.3) that take a value, as `--help` lists them. `--entrypoint` is another command: the
/// words after the image are its arguments.
const RUN: &[&str] = &[
    "-a",
    "--add-host",
    "--annotation",
    "--arch",
    "--attach",
    "--authfile",
    "--blkio-weight",
    "--blkio-weight-device",
    "-c",
    "--cap-add",
    "--cap-drop",
    "--cgroup-conf",
    "--cgroup-parent",
    "--cgroupns",
    "--cgroups",
    "--chrootdirs",
    "--cidfile",
    "--conmon-pidfile",
    "--cpu-period",
    "--cpu-quota",
    "--cpu-rt-period",
    "--cpu-rt-runtime",
    "--cpu-shares",
    "--cpus",
    "--cpuset-cpus",
    "--cpuset-mems",
    "--detach-keys",
    "--device",
    "--device-cgroup-rule",
    "--device-read-bps",
    "--device-read-iops",
    "--device-write-bps",
    "--device-write-iops",
    "--dns",
    "--dns-option",
    "--dns-search",
    "--domainname",
    "-e",
    "--env",
    "--env-file",
    "--env-merge",
    "--expose",
    "--gidmap",
    "--gpus",
    "--group-add",
    "-h",
    "--health-cmd",
    "--health-interval",
    "--health-on-failure",
    "--health-retries",
    "--health-start-period",
    "--health-timeout",
    "--hostname",
    "--hostuser",
    "--image-volume",
    "--init-path",
    "--ip",
    "--ipc",
    "--isolation",
    "--kernel-memory",
    "-l",
    "--label",
    "--label-file",
    "--link",
    "--link-local-ip",
    "--log-driver",
    "--log-opt",
    "-m",
    "--mac-address",
    "--memory",
    "--memory-reservation",
    "--memory-swap",
    "--memory-swappiness",
    "--mount",
    "--name",
    "--net",
    "--network",
    "--network-alias",
    "--oom-score-adj",
    "-p",
    "--passwd",
    "--passwd-entry",
    "--personality",
    "--pid",
    "--pidfile",
    "--pids-limit",
    "--platform",
    "--pod",
    "--pod-id-file",
    "--preserve-fds",
    "--publish",
    "--pull",
    "--requires",
    "--restart",
    "--runtime",
    "--sdnotify",
    "--seccomp-policy",
    "--secret",
    "--security-opt",
    "--shm-size",
    "--stop-signal",
    "--stop-timeout",
    "--storage-opt",
    "--subgidname",
    "--subuidname",
    "--sysctl",
    "--systemd",
    "--timeout",
    "--tmpfs",
    "--tz",
    "-u",
    "--uidmap",
    "--ulimit",
    "--umask",
    "--unsetenv",
    "--user",
    "--userns",
    "--uts",
    "-v",
    "--volume",
    "--volume-driver",
    "--volumes-from",
    "-w",
    "--workdir",
];

const SSH: &[&str] = &[
    "-B", "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-o", "-P",
    "-p", "-R", "-S", "-W", "-w",
];

const NIX: &[&str] = &["-c", "--command"];
const DASHES: &[&str] = &["--"];

const TABLE: &[CommandWrapper] = &[
    // The container, the pod or the image follows the flags.
    wrapper(&["docker", "exec"], EXEC, 1),
    wrapper(&["docker", "container", "exec"], EXEC, 1),
    wrapper(&["docker", "compose", "exec"], EXEC, 1),
    wrapper(&["docker-compose", "exec"], EXEC, 1),
    wrapper(&["podman", "exec"], EXEC, 1),
    wrapper(&["podman-compose", "exec"], EXEC, 1),
    wrapper(&["docker", "run"], RUN, 1),
    wrapper(&["docker", "container", "run"], RUN, 1),
    wrapper(&["docker", "compose", "run"], RUN, 1),
    wrapper(&["docker-compose", "run"], RUN, 1),
    wrapper(&["podman", "run"], RUN, 1),
    wrapper(&["podman-compose", "run"], RUN, 1),
    wrapper(&["nerdctl", "run"], RUN, 1),
    wrapper(&["nerdctl", "exec"], EXEC, 1),
    after(&["kubectl", "exec"], DASHES),
    after(&["kubectl", "run"], DASHES),
    after(&["oc", "exec"], DASHES),
    after(&["oc", "rsh"], DASHES),
    after(&["devcontainer", "exec"], DASHES),
    after(&["distrobox", "enter"], DASHES),
    wrapper(&["toolbox", "run"], &["-c", "--container", "-d", "--distro", "-r", "--release"], 0),
    wrapper(&["ddev", "exec"], &["-s", "--service", "-d", "--dir"], 0),
    CommandWrapper { words: &["ssh"], valued: SSH, inside: Inside::Joined(1) },
    script(&["vagrant", "ssh"], &["-c", "--command"]),
    script(&["su"], &["-c", "--command"]),
    script(&["nix-shell"], &["--run", "--command"]),
    script(&["script"], &["-c", "--command"]),
    // Environments and versions of tools.
    after(&["nix", "develop"], NIX),
    after(&["nix", "shell"], NIX),
    after(&["guix", "shell"], DASHES),
    after(&["mise", "exec"], DASHES),
    after(&["mise", "x"], DASHES),
    after(&["devbox", "run"], DASHES),
    after(&["devenv", "shell"], DASHES),
    after(&["dotenv"], DASHES),
    after(&["dotenvx", "run"], DASHES),
    after(&["doppler", "run"], DASHES),
    after(&["infisical", "run"], DASHES),
    after(&["op", "run"], DASHES),
    after(&["aws-vault", "exec"], DASHES),
    after(&["fnm", "exec"], DASHES),
    after(&["systemd-run"], DASHES),
    after(&["cross-env-shell"], DASHES),
    wrapper(&["direnv", "exec"], &[], 1),
    wrapper(&["asdf", "exec"], &[], 0),
    wrapper(&["rbenv", "exec"], &[], 0),
    wrapper(&["pyenv", "exec"], &[], 0),
    wrapper(&["nodenv", "exec"], &[], 0),
    wrapper(&["volta", "run"], &["--node", "--npm", "--pnpm", "--yarn"], 0),
    wrapper(&["rustup", "run"], &[], 1),
    wrapper(&["conda", "run"], &["-n", "--name", "-p", "--prefix", "--cwd"], 0),
    wrapper(&["mamba", "run"], &["-n", "--name", "-p", "--prefix", "--cwd"], 0),
    wrapper(&["micromamba", "run"], &["-n", "--name", "-p", "--prefix", "--cwd"], 0),
    wrapper(&["cross-env"], &[], 0),
    wrapper(&["corepack"], &[], 0),
    // Conditions of a run.
    wrapper(&["xvfb-run"], &["-s", "-e", "-f", "-n", "-p", "-w"], 0),
    wrapper(&["env"], &["-u", "--unset", "-C", "--chdir"], 0),
    wrapper(
        &["sudo"],
        &["-u", "-g", "-h", "-p", "-C", "-D", "-r", "-t", "-T", "-U", "--user", "--group"],
        0,
    ),
    wrapper(&["doas"], &["-u", "-C"], 0),
    script(&["runuser"], &["-c", "--command"]),
    after(&["runuser"], DASHES),
    script(&["flock"], &["-c", "--command"]),
    wrapper(&["chroot"], &[], 1),
    wrapper(&["timeout"], &["-k", "-s", "--kill-after", "--signal"], 1),
    wrapper(&["gtimeout"], &["-k", "-s", "--kill-after", "--signal"], 1),
    wrapper(&["nice"], &["-n", "--adjustment"], 0),
    wrapper(&["ionice"], &["-c", "-n", "--class", "--classdata"], 0),
    wrapper(&["taskset"], &[], 1),
    wrapper(&["chrt"], &[], 1),
    wrapper(&["numactl"], &["-m", "-N", "-C", "-i", "-p"], 0),
    wrapper(&["caffeinate"], &["-t", "-w"], 0),
    wrapper(&["arch"], &[], 0),
    wrapper(&["setarch"], &[], 1),
    wrapper(&["flock"], &["-w", "-E", "--timeout", "--conflict-exit-code"], 1),
    wrapper(&["time"], &["-o", "-f", "--output", "--format"], 0),
    wrapper(&["gtime"], &["-o", "-f", "--output", "--format"], 0),
    wrapper(&["nohup"], &[], 0),
    wrapper(&["chronic"], &[], 0),
    wrapper(&["setsid"], &[], 0),
    wrapper(&["stdbuf"], &["-i", "-o", "-e"], 0),
    wrapper(&["unbuffer"], &[], 0),
    wrapper(&["exec"], &["-a"], 0),
    // Programs of packages.
    wrapper(&["npx"], &["-p", "--package"], 0),
    wrapper(&["bunx"], &[], 0),
    wrapper(&["bun", "x"], &[], 0),
    wrapper(&["pnpx"], &[], 0),
    wrapper(&["uvx"], UV, 0),
    wrapper(&["uv", "run"], UV, 0),
    wrapper(&["uv", "tool", "run"], UV, 0),
    wrapper(&["pipx", "run"], &["--spec", "--python", "--pip-args", "--index-url"], 0),
    wrapper(&["poetry", "run"], &[], 0),
    wrapper(&["pipenv", "run"], &[], 0),
    wrapper(&["pdm", "run"], &[], 0),
    wrapper(&["hatch", "run"], &[], 0),
    wrapper(&["rye", "run"], &[], 0),
    wrapper(&["pixi", "run"], &["-e", "--environment"], 0),
    wrapper(&["npm", "exec"], &["-p", "--package"], 0),
    wrapper(&["pnpm", "exec"], &[], 0),
    wrapper(&["pnpm", "dlx"], &[], 0),
    wrapper(&["yarn", "exec"], &[], 0),
    wrapper(&["yarn", "dlx"], &[], 0),
    wrapper(&["bundle", "exec"], &[], 0),
];

/// Removes wrappers, the outermost first. Returns `None` if the command is unknown. `flags` says which flags a program takes
/// before its subcommand.
pub(super) fn unwrap(
    mut words: Vec<String>,
    without_flags: impl Fn(&[String]) -> Vec<String>,
) -> Option<Unwrapped> {
    for _ in 0..WRAPPERS {
        let from = words.iter().position(|word| !is_assignment(word))?;
        words.drain(..from);
        if let Some(first) = words.first_mut() {
            // A program given by a variable is unknown.
            if first.contains('$') {
                return None;
            }
            *first = base(first).to_owned();
        }
        if let Some(script) = within_shell(&words)? {
            return Some(Unwrapped::Script(script));
        }
        if let Some(module) = module_of(&words) {
            words.drain(..module);
            continue;
        }
        if let Some(binary) = package_binary(&words) {
            words.drain(..binary);
            continue;
        }
        let plain = without_flags(&words);
        let is_wrapped = |wrapper: &&CommandWrapper| {
            let own = plain.get(..wrapper.words.len()).unwrap_or_default();
            own.iter().map(String::as_str).eq(wrapper.words.iter().copied())
        };
        // Some have several forms.
        match TABLE.iter().filter(is_wrapped).find_map(|wrapper| wrapper.command(&plain)) {
            Some(Unwrapped::Words(inner)) => words = inner,
            Some(script) => return Some(script),
            None => return Some(Unwrapped::Words(words)),
        }
    }
    None
}

impl CommandWrapper {
    /// Returns the command inside. `None` if there is none, or if it is not certain.
    fn command(&self, words: &[String]) -> Option<Unwrapped> {
        let own = self.words.len();
        let arguments = words.get(own..)?;
        let after = |takes: usize| {
            let at = skip_flags(words, own, self.valued);
            let flags = words.get(own..at)?;
            if flags.iter().any(|flag| flag.starts_with("--entrypoint")) {
                return None;
            }
            let rest = words.get(at + takes..)?;
            // An image or a program may have arguments of its own in this place.
            rest.first().is_some_and(|word| !word.starts_with('-')).then_some(rest)
        };
        match self.inside {
            Inside::After(takes) => after(takes).map(|rest| Unwrapped::Words(rest.to_vec())),
            Inside::AfterWord(separators) => {
                let at = arguments.iter().position(|word| separators.contains(&word.as_str()))?;
                let rest = arguments.get(at + 1..).filter(|rest| !rest.is_empty())?;
                Some(Unwrapped::Words(rest.to_vec()))
            }
            Inside::Script(flags) => {
                let is_flag = |word: &String| {
                    let short = !word.starts_with("--") && word.starts_with('-');
                    flags.contains(&word.as_str())
                        || short && word.ends_with('c') && flags.contains(&"-c")
                };
                let at = arguments.iter().position(is_flag)?;
                arguments.get(at + 1).cloned().map(Unwrapped::Script)
            }
            Inside::Joined(takes) => after(takes).map(|rest| Unwrapped::Script(rest.join(" "))),
        }
    }
}

/// Returns the index of the first word after the flags that begin at `at`.
pub(super) fn skip_flags(words: &[String], mut at: usize, valued: &[&str]) -> usize {
    while let Some(word) = words.get(at) {
        if word == "--" {
            return at + 1;
        }
        if !word.starts_with('-') || word == "-" {
            break;
        }
        at += 1 + usize::from(valued.contains(&word.as_str()));
    }
    at
}

/// Returns the command line that a shell is given with `-c`. The outer `None` means that it is unknown, the inner one
/// that the program is not a shell or has no `-c`.
fn within_shell(words: &[String]) -> Option<Option<String>> {
    let Some((program, rest)) = words.split_first() else { return Some(None) };
    if !["sh", "bash", "zsh", "dash", "ksh", "ash"].contains(&program.as_str()) {
        return Some(None);
    }
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        let Some(letters) = word.strip_prefix('-').filter(|word| !word.starts_with('-')) else {
            if word.starts_with('-') {
                continue;
            }
            return Some(None);
        };
        if letters.contains('c') {
            // `-o pipefail` may precede the command line.
            let mut text = rest.next()?;
            while text == "-o" || text == "--" {
                if text == "-o" {
                    rest.next()?;
                }
                text = rest.next()?;
            }
            return Some(Some(text.clone()));
        }
        if letters.ends_with('o') {
            rest.next();
        }
    }
    Some(None)
}

/// Returns the index of the module in `python -m module`.
fn module_of(words: &[String]) -> Option<usize> {
    let program = words.first()?;
    let version = program.strip_prefix("python").or_else(|| program.strip_prefix("pypy"));
    let is_python = program == "py"
        || version.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'));
    if !is_python {
        return None;
    }
    let mut at = 1;
    loop {
        match words.get(at).map(String::as_str) {
            Some("-m") => return words.get(at + 1).map(|_| at + 1),
            Some("-W" | "-X") => at += 2,
            Some(word) if word.starts_with('-') && word.len() > 1 => at += 1,
            _ => return None,
        }
    }
}

/// Programs of packages that yarn and pnpm start by their bare names. Other names are scripts.
const BINARIES: [&str; 11] = [
    "eslint",
    "jest",
    "mocha",
    "next",
    "playwright",
    "prettier",
    "tsc",
    "vite",
    "vitest",
    "vue-tsc",
    "webpack",
];

/// Returns the index of the program in `yarn jest` and `pnpm run jest`.
fn package_binary(words: &[String]) -> Option<usize> {
    if !["yarn", "pnpm"].contains(&words.first()?.as_str()) {
        return None;
    }
    let at = 1 + usize::from(words.get(1)? == "run");
    BINARIES.contains(&words.get(at)?.as_str()).then_some(at)
}
