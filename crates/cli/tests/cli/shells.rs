//! Scripts of Claude Code, run by its shell directly and through the prefix: nothing may differ.
//!
//! The commands are in `crates/agents/tests/shells/*.toml`. Each is wrapped as Claude Code does it, and run three times: by the
//! shell itself, by the script that `tamis install claude-code` writes, and by that script without tamis. Output, exit code,
//! the file with the working folder and the names of the files that were made must be the same.
//!
//! bash must be installed. The test names the other shells that it ran.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::Deserialize;
use tamis_agents::hook::shell::prefix_script;
use tamis_mcp::config::ConfigFiles;
use tamis_testkit::cases::read;

use super::*;

/// The most time that a command may take.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    name: String,
    script: String,
    /// A program that the script starts.
    needs: Option<String>,
}

/// A script in a shell. `login` is `SHELL`, `shell` the one that Claude Code takes then.
#[derive(Clone, Debug)]
struct Job {
    place: String,
    script: String,
    login: PathBuf,
    shell: PathBuf,
}

/// The preparation before the command, in the forms that were seen in Claude Code 2.1.330 and 2.1.332.
#[derive(Clone, Copy, Debug)]
enum Form {
    Ordinary,
    /// In its sandbox.
    Sandbox,
    /// With the user's environment file in it.
    EnvironmentFile,
    /// No form that is known, so that nothing is filtered.
    Unknown,
}

const FORMS: [Form; 4] = [Form::Ordinary, Form::Sandbox, Form::EnvironmentFile, Form::Unknown];

#[derive(PartialEq, Eq)]
struct Outcome {
    code: Option<i32>,
    signal: Option<i32>,
    output: Vec<u8>,
    cwd: Option<String>,
    files: Vec<String>,
}

impl std::fmt::Debug for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { code, signal, output, cwd, files } = self;
        let output = String::from_utf8_lossy(output);
        write!(f, "{code:?} {signal:?} {output:?}\n    cwd {cwd:?}\n    files {files:?}")
    }
}

#[test]
fn the_shell_of_claude_code_alone_and_through_the_prefix() {
    let found = ["bash", "zsh", "fish", "dash"].map(|name| (name, installed(name)));
    let jobs = jobs(&found);
    let names = |is_there: bool| {
        let names = found.iter().filter(|(_, path)| path.is_some() == is_there);
        names.map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    };
    // Not captured, so that a gate without a shell is seen.
    let line = format!(
        "shells: {} scripts in {}; not installed: {}\n",
        jobs.len(),
        names(true),
        names(false)
    );
    _ = std::io::stderr().write_all(line.as_bytes());
    let (next, jobs, faults) = (AtomicUsize::new(0), Arc::new(jobs), Mutex::new(String::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let world = World::new();
                while let Some((number, job)) = Some(next.fetch_add(1, Ordering::Relaxed))
                    .and_then(|number| Some((number, jobs.get(number)?)))
                {
                    // The other forms take turns, and so does the absence of tamis: that halves the time.
                    let other = (number % 2 == 0).then(|| FORMS[1 + number / 2 % 3]);
                    for form in [Form::Ordinary].into_iter().chain(other) {
                        if let Some(fault) = world.differs(job, form, number % 2 == 1) {
                            faults.lock().unwrap().push_str(&fault);
                        }
                    }
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{faults}");
}

/// Returns every script in every shell that it is for.
fn jobs(found: &[(&str, Option<PathBuf>); 4]) -> Vec<Job> {
    let path = |name: &str| {
        found.iter().find(|(shell, _)| *shell == name).and_then(|(_, path)| path.clone())
    };
    let Some(bash) = path("bash") else { panic!("bash must be installed") };
    let mut jobs = Vec::new();
    for (file, shells) in [
        ("bash", &["bash"][..]),
        ("zsh", &["zsh"]),
        ("both", &["bash", "zsh"]),
        ("other", &["bash", "zsh"]),
        ("login", &["fish", "dash"]),
    ] {
        for case in read::<Script>(&format!("crates/agents/tests/shells/{file}.toml"), "case") {
            let Script { name, script, needs } = case.data;
            if needs.is_some_and(|program| path(&program).is_none()) {
                continue;
            }
            for login in shells.iter().filter_map(|name| path(name)) {
                // Claude Code takes zsh, or bash from the folders of the system, if `SHELL` is neither.
                let shell = match file {
                    "login" => path("zsh").unwrap_or_else(|| PathBuf::from("/bin/bash")),
                    _ => login.clone(),
                };
                let place = format!("{} {name:?} in {}", case.place, login.display());
                jobs.push(Job { place, script: script.clone(), login, shell });
            }
        }
    }
    assert!(jobs.iter().filter(|job| job.shell == bash).count() > 200);
    jobs
}

/// Finds a shell in the folders of [`PATH`].
fn installed(name: &str) -> Option<PathBuf> {
    PATH.split(':').map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Folders in which scripts run, one at a time.
struct World {
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let world = Self { folder };
        let snapshots = world.path("home/.claude/shell-snapshots");
        std::fs::create_dir_all(&snapshots).unwrap();
        let functions = "myfn () { echo fn \"$@\"; }\n";
        let end = "alias -- myalias='echo from-alias'\nexport PATH=/usr/local/bin:/usr/bin:/bin\n";
        let bash = format!(
            "unalias -a 2>/dev/null || true\nshopt -s globstar\nshopt -u extglob\n{functions}set -o monitor\n\
             set -o noclobber\nshopt -s expand_aliases\n{end}"
        );
        let zsh = format!(
            "unalias -a 2>/dev/null || true\n{functions}setopt noclobber\nsetopt extendedglob\nsetopt nohashdirs\n{end}"
        );
        for (shell, text) in [("bash", bash), ("zsh", zsh)] {
            std::fs::write(
                snapshots.join(format!("snapshot-{shell}-1795773355472-fkjbgr.sh")),
                text,
            )
            .unwrap();
        }
        for (name, program) in
            [("tamis-shell", env!("CARGO_BIN_EXE_tamis")), ("without", "/nowhere/tamis")]
        {
            let path = world.path(format!("home/.claude/{name}"));
            std::fs::write(&path, prefix_script(ConfigFiles::User, Path::new(program))).unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        world
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns what differs. `without`: also without tamis.
    fn differs(&self, job: &Job, form: Form, without: bool) -> Option<String> {
        let script = self.wrapped(job, form);
        let alone = self.run(job, &[job.shell.to_str().unwrap(), "-c", &script]);
        let is_seen =
            !alone.output.is_empty() || alone.code != Some(0) || job.script.trim().len() < 20;
        let mut fault = String::new();
        if !is_seen {
            write!(fault, "\n{}: shows nothing\n", job.place).unwrap();
        }
        for name in ["tamis-shell", "without"].into_iter().take(1 + usize::from(without)) {
            let prefix = self.path(format!("home/.claude/{name}"));
            let through = self.run(job, &[prefix.to_str().unwrap(), &script]);
            if through != alone {
                write!(
                    fault,
                    "\n{}, {form:?}: {}\n  alone   {alone:?}\n  {name} {through:?}\n",
                    job.place, job.script
                )
                .unwrap();
            }
        }
        (!fault.is_empty()).then_some(fault)
    }

    /// Returns the script that Claude Code makes of a command.
    fn wrapped(&self, job: &Job, form: Form) -> String {
        let bare = |char: char| char.is_ascii_alphanumeric() || "_-./:=,@%+".contains(char);
        let command = match &job.script {
            word if word.chars().all(bare) && !word.is_empty() => word.clone(),
            script => format!("'{}'", script.replace('\'', "'\"'\"'")),
        };
        let reads = job.script.contains("<<") && !job.script.contains("<<<");
        let input = if reads { "" } else { " < /dev/null" };
        let shell = if job.shell.ends_with("zsh") { "zsh" } else { "bash" };
        let home = self.path("home");
        let home = home.display();
        let preparation = match form {
            Form::Ordinary => "",
            Form::Sandbox => {
                "export TMPDIR=/tmp && export GIT_CONFIG_PARAMETERS=\"${GIT_CONFIG_PARAMETERS:+${GIT_CONFIG_PARAMETERS} }\
                 'credential.http://127.0.0.1:3128.helper='\" && "
            }
            Form::EnvironmentFile => {
                "# it's the user's\nexport FOO=\"$(printf 'a b')\"\neval \"$(echo export BAR=1)\"\ncat <<'E' >/dev/null\n\
                 it's\nE\n: && "
            }
            Form::Unknown => "export FOO=\"$(printf 'a b')\" && eval 'BAR=1' && ",
        };
        format!(
            "source {home}/.claude/shell-snapshots/snapshot-{shell}-1795773355472-fkjbgr.sh 2>/dev/null || true && \
             {preparation}{{ \\builtin shopt -u extglob || \\builtin setopt NO_EXTENDED_GLOB NO_BARE_GLOB_QUAL NO_BRACE_CCL \
             NO_MAGIC_EQUAL_SUBST NO_RC_QUOTES NO_EQUALS; }} >/dev/null 2>&1 || true && {{ \\builtin unalias -- 'which'; \
             \\builtin unset -f -- 'which'; }} >/dev/null 2>&1 || true && eval {command}{input} && pwd -P >| {}",
            self.path("cwd").display(),
        )
    }

    /// Runs a command line in a new folder, with both streams in one file.
    fn run(&self, job: &Job, words: &[&str]) -> Outcome {
        let work = self.path("work");
        _ = std::fs::remove_dir_all(&work);
        _ = std::fs::remove_file(self.path("cwd"));
        std::fs::create_dir_all(work.join("sub/deep")).unwrap();
        for (name, text) in [
            ("a.txt", "alpha\nbeta\ngamma\n"),
            ("b.txt", "one\n"),
            ("sp ace.txt", "blank\n"),
            ("sub/x.rs", "fn x() {}\n"),
            ("sub/deep/y.rs", "fn y() {}\n"),
            ("run.sh", "#!/bin/sh\necho \"run $*\"\n"),
        ] {
            std::fs::write(work.join(name), text).unwrap();
        }
        std::fs::set_permissions(work.join("run.sh"), std::fs::Permissions::from_mode(0o755))
            .unwrap();
        std::fs::write(self.path("in"), "from the agent\n").unwrap();
        let file = File::create(self.path("out")).unwrap();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(&work).env_clear();
        command.env("HOME", self.path("home")).env("PATH", PATH).env("SHELL", &job.login);
        command.env("LANG", "C.UTF-8").env("PWD", &work).env("TAMIS_STATE_DIR", self.path("state"));
        command.stdin(File::open(self.path("in")).unwrap());
        command.stdout(file.try_clone().unwrap()).stderr(file).process_group(0);
        let mut child = command.spawn().unwrap();
        let begun = Instant::now();
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if begun.elapsed() > PATIENCE => {
                    panic!("{}: {words:?} does not end", job.place)
                }
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        let mut files = std::fs::read_dir(&work).map_or_else(
            |_| Vec::new(),
            |entries| {
                entries
                    .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
                    .collect()
            },
        );
        files.sort();
        Outcome {
            code: status.code(),
            signal: status.signal(),
            output: std::fs::read(self.path("out")).unwrap(),
            cwd: std::fs::read_to_string(self.path("cwd")).ok(),
            files,
        }
    }
}
