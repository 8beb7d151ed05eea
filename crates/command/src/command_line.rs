//! [`CommandLine`]: finds the command that prints the output, without what only wraps it.
//!
//! The module knows the positions of global flags; `wrappers` knows what wraps a command. If the command is not certain, it is unknown, and its output is passed through.

use super::printing::{EchoLine, PrintingCommand, RunCondition, printing};
use super::shell::{quote, split};
use super::wrappers::{Unwrapped, skip_flags, unwrap};

/// A command line, parsed to find the one command that prints the output.
///
/// Wrappers are left out: assignments and `env`, `sudo`, `timeout`, `nice`, `time`, `nohup`, `npx`, `uv run`, `python
/// -m`, `bash -c`, `docker run`, `kubectl exec`, `ssh`, `mise exec`, the directory of a program (`/usr/bin/git`), a toolchain
/// (`cargo +nightly`), and flags before a subcommand (`git -C dir status`).
///
/// Commands that print nothing are left out: `cd x && cargo test` is `cargo test`. If several commands print, as in `cargo
/// build && npm test`, there is no [command](Self::command), but a registry may still find their filters: the one that they
/// share, or that of each if their outputs can be told apart. In a pipeline, the last command writes the output, so `cargo
/// test | tail` is `tail`; a final `| cat` or `| tee` is ignored. Loops, conditions and background commands are unknown.
///
/// ```
/// use tamis_command::CommandLine;
///
/// for (typed, command) in [
///     ("cd app && RUST_LOG=debug timeout 60 cargo +nightly test -p core", Some("cargo test -p core")),
///     ("/usr/bin/git -C .. --no-pager diff --stat", Some("git diff --stat")),
///     ("bash -lc 'python3 -m pytest -q 2>&1 | tee log'", Some("pytest -q")),
///     ("cargo test | tail -5", Some("tail -5")),
///     ("cargo build && cargo test", None),
/// ] {
///     assert_eq!(CommandLine::parse(typed).command(), command, "{typed}");
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    typed: String,
    words: Vec<String>,
    /// Flags before the subcommand.
    global: Vec<String>,
    command: Option<String>,
    /// The commands that print, if there are several.
    parts: Vec<CommandPart>,
}

/// A command of a compound command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandPart {
    pub(super) line: CommandLine,
    pub(super) runs: RunCondition,
    /// The line that the command prints, if it is an `echo`.
    pub(super) echo: Option<EchoLine>,
}

/// Maximum nesting of `sh -c`.
const DEEPEST: usize = 4;
/// Maximum number of commands that print.
const PARTS: usize = 32;

impl CommandLine {
    /// Parses a command line as it is typed into a shell.
    #[must_use]
    pub fn parse(typed: &str) -> Self {
        let commands = split(typed).and_then(printing).and_then(|commands| expand(commands, 0));
        Self::of(typed.to_owned(), commands.unwrap_or_default())
    }

    /// Parses a program and its arguments, which are started without a shell.
    ///
    /// ```
    /// let line = tamis_command::CommandLine::from_args(["nice", "git", "log", "--grep", "a b"]);
    /// assert_eq!(line.typed(), "nice git log --grep 'a b'");
    /// assert_eq!(line.command(), Some("git log --grep 'a b'"));
    /// ```
    #[must_use]
    pub fn from_args<I>(args: I) -> Self
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let words: Vec<String> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        let typed = join(&words);
        let command = PrintingCommand { words, runs: RunCondition::Always };
        Self::of(typed, expand(vec![command], 0).unwrap_or_default())
    }

    /// Returns the command line as it was typed. For a list of arguments, it is quoted for a shell.
    #[must_use]
    pub fn typed(&self) -> &str {
        &self.typed
    }

    /// Returns the command without wrappers, its words separated by single spaces, or `None` if it is not certain.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        self.command.as_deref()
    }

    /// Returns the name of the program that prints, without its folder, or `None` if it is not certain.
    ///
    /// ```
    /// let line = tamis_command::CommandLine::parse("cd app && timeout 60 /usr/bin/make -j4");
    /// assert_eq!(line.program_name(), Some("make"));
    /// ```
    #[must_use]
    pub fn program_name(&self) -> Option<&str> {
        self.words.first().map(String::as_str)
    }

    /// Returns the words of the last command as it was typed, with what wraps it, but without redirections, comments, and flags before a
    /// subcommand. `None`: the syntax is not understood.
    ///
    /// It decides the exit code if all commands run.
    ///
    /// ```
    /// let line = tamis_command::CommandLine::parse("cd x; cat a | git -C .. grep 'a|b' 2>&1 # all");
    /// assert_eq!(line.last_words().unwrap(), ["git", "grep", "a|b"]);
    /// ```
    #[must_use]
    pub fn last_words(&self) -> Option<Vec<String>> {
        let words = split(&self.typed)?.pop()?.words;
        Some(without_global(words, &mut Vec::new()))
    }

    /// Returns the words after the program, and the flags before a subcommand.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &str> {
        self.global.iter().chain(self.words.iter().skip(1)).map(String::as_str)
    }

    /// Returns the program.
    pub(super) fn program(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// Returns the commands that print, if there are several, or none.
    pub(super) fn parts(&self) -> &[CommandPart] {
        &self.parts
    }

    /// Creates the line of commands without wrappers.
    fn of(typed: String, mut commands: Vec<PrintingCommand>) -> Self {
        let mut line =
            Self { typed, words: Vec::new(), global: Vec::new(), command: None, parts: Vec::new() };
        match commands.pop() {
            Some(PrintingCommand { words, .. }) if commands.is_empty() => {
                line.words = without_global(words, &mut line.global);
                line.command = Some(join(&line.words));
            }
            None => {}
            Some(last) => {
                commands.push(last);
                let part = |command: PrintingCommand| CommandPart {
                    runs: command.runs,
                    echo: EchoLine::of(&command.words),
                    line: Self::of(join(&command.words), vec![command]),
                };
                line.parts = commands.into_iter().map(part).collect();
            }
        }
        line
    }
}

fn join(words: &[String]) -> String {
    words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

/// Removes the wrappers of commands. A command line that a shell is given becomes its commands. Returns `None` if one of
/// them is unknown. `depth` is the number of shells around the commands.
fn expand(commands: Vec<PrintingCommand>, depth: usize) -> Option<Vec<PrintingCommand>> {
    let mut found = Vec::new();
    for PrintingCommand { words, runs } in commands {
        match unwrap(words, |words| without_global(words.to_vec(), &mut Vec::new()))? {
            Unwrapped::Words(words) => found.push(PrintingCommand { words, runs }),
            Unwrapped::Script(_) if depth == DEEPEST => return None,
            Unwrapped::Script(script) => {
                let mut inner = expand(printing(split(&script)?)?, depth + 1)?;
                inner.first_mut()?.runs = runs;
                found.append(&mut inner);
            }
        }
        if found.len() > PARTS {
            return None;
        }
    }
    Some(found)
}

/// Programs with subcommands, and their global flags that take a value.
const GLOBAL: &[(&str, &[&str])] = &[
    ("cargo", &["--config", "-C", "-Z", "--color", "--manifest-path"]),
    ("git", &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env"]),
    ("go", &["-C"]),
    ("npm", &["--prefix", "-C", "-w", "--workspace", "--loglevel"]),
    ("pnpm", &["-C", "--dir", "--filter", "-F", "--loglevel"]),
    ("yarn", &["--cwd"]),
    ("pip", &["--python", "--log", "--proxy", "--timeout", "--cache-dir"]),
    ("pip3", &["--python", "--log", "--proxy", "--timeout", "--cache-dir"]),
    ("uv", &["--directory", "--project", "--color", "--python"]),
    ("apt", &["-o", "-c", "-t"]),
    ("apt-get", &["-o", "-c", "-t"]),
    ("docker", &["-c", "--context", "-H", "--host", "--config", "-l", "--log-level"]),
    ("kubectl", &["-n", "--namespace", "--context", "--kubeconfig", "--cluster", "--user", "-s"]),
    ("terraform", &[]),
    ("ruff", &["--config"]),
];

/// Global flags that stay a part of the command, because they decide how it prints.
const PRINTING: &[&str] = &["-r", "--recursive", "--parallel", "--stream"];

/// Removes the flags before a subcommand, and a toolchain. Flags are added to `global`.
fn without_global(mut words: Vec<String>, global: &mut Vec<String>) -> Vec<String> {
    let program = words.first().map_or("", String::as_str);
    let Some((_, valued)) = GLOBAL.iter().find(|(name, _)| *name == program) else { return words };
    let from = 1 + usize::from(words.get(1).is_some_and(|word| word.starts_with('+')));
    let to = skip_flags(&words, from, valued).min(words.len());
    // Without a subcommand, the flags are the command.
    if to < words.len() {
        let is_pnpm = program == "pnpm";
        let rest = words.split_off(to);
        let flags = words.split_off(1).into_iter();
        let (kept, dropped): (Vec<_>, Vec<_>) =
            flags.partition(|flag| is_pnpm && PRINTING.contains(&flag.as_str()));
        global.extend(dropped);
        words.extend(kept.into_iter().chain(rest));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::CommandLine;

    #[test]
    fn commands() {
        for (typed, expected) in [
            ("cargo test", Some("cargo test")),
            ("X=1 Y='a b' cargo test", Some("cargo test")),
            ("env -u A X=1 cargo test", Some("cargo test")),
            ("sudo -u root -E X=1 apt install jq", Some("apt install jq")),
            ("timeout -k 5 60s cargo test", Some("cargo test")),
            ("timeout --signal=KILL 60 nice -n 15 cargo test", Some("cargo test")),
            ("nice -15 time -p nohup cargo test", Some("cargo test")),
            ("cargo +nightly --offline test --lib", Some("cargo test --lib")),
            ("cargo --version", Some("cargo --version")),
            ("/usr/local/bin/git -c a=b -C x --no-pager log", Some("git log")),
            ("./node_modules/.bin/jest --ci", Some("jest --ci")),
            ("npx --yes jest", Some("jest")),
            ("npm exec -- tsc -p .", Some("tsc -p .")),
            ("yarn jest --ci", Some("jest --ci")),
            ("pnpm run vitest --run", Some("vitest --run")),
            ("pnpm -C x -r --filter y run build", Some("pnpm -r run build")),
            ("yarn build", Some("yarn build")),
            ("uv run --with rich pytest -q", Some("pytest -q")),
            ("python3.12 -X dev -m pytest tests", Some("pytest tests")),
            ("python3 run.py -m x", Some("python3 run.py -m x")),
            ("bash -c 'cd x && make'", Some("make")),
            ("bash -euo pipefail -c 'make -j'", Some("make -j")),
            ("sh -c \"bash -lc 'make all'\"", Some("make all")),
            ("bash run.sh", Some("bash run.sh")),
            ("cd x && cargo test", Some("cargo test")),
            ("cd x; export A=b; set -e; cargo test || true", Some("cargo test")),
            ("cd - && cargo test", None),
            ("cargo test 2>&1 | tee log.txt", Some("cargo test")),
            ("cargo test 2>&1 | cat", Some("cargo test")),
            ("cargo test | tail -20", Some("tail -20")),
            ("cat x | grep -n y", Some("grep -n y")),
            ("cargo build && cargo test", None),
            ("cargo test; echo $?", None),
            ("cat > x <<'E'\necho\nE\ncargo test", Some("cargo test")),
            ("(cd x && cargo test) 2>&1 | tee log", Some("cargo test")),
            ("(cargo build; cargo test) | tail -3", Some("tail -3")),
            ("$CARGO test", None),
            ("cargo test -- \"$NAME\"", Some("cargo test -- '$NAME'")),
            ("docker run --rm -it -v $PWD:/app -w /app node:20 npm test", Some("npm test")),
            ("docker --context ci run -e A=1 --name x img sh -c 'cd a && make'", Some("make")),
            (
                "docker run --entrypoint git alpine/git log",
                Some("docker run --entrypoint git alpine/git log"),
            ),
            ("docker run hello-world", Some("docker run hello-world")),
            ("docker run img --help", Some("docker run img --help")),
            ("docker compose run --rm web bundle exec rspec", Some("rspec")),
            ("kubectl -n prod exec -it api-0 -c app -- pytest -q", Some("pytest -q")),
            ("kubectl exec api-0", Some("kubectl exec api-0")),
            ("ssh -p 22 -o BatchMode=yes host 'cd app && cargo test'", Some("cargo test")),
            ("ssh host -t docker ps", Some("ssh host -t docker ps")),
            ("ssh build@host git log --oneline", Some("git log --oneline")),
            ("ssh host", Some("ssh host")),
            ("mise exec node@20 -- npm test", Some("npm test")),
            ("mise x -- go test ./...", Some("go test ./...")),
            ("nix develop .#ci -c cargo test", Some("cargo test")),
            ("nix-shell -p gnumake --run 'make -j4'", Some("make -j4")),
            ("direnv exec . npm ci", Some("npm ci")),
            ("su - app -c 'cd x; mvn test'", Some("mvn test")),
            ("script -qec 'pytest -q' /dev/null", Some("pytest -q")),
            ("conda run -n ml --no-capture-output pytest", Some("pytest")),
            ("flock -w 5 /tmp/lock make", Some("make")),
            ("flock /tmp/lock -c 'make -j4'", Some("make -j4")),
            ("runuser -u app -- make", Some("make")),
            ("runuser -l git -c 'cargo test'", Some("cargo test")),
            ("runuser git", Some("runuser git")),
            ("docker run --memory-swap 1g --cpu-shares 2 img make", Some("make")),
            ("rustup run nightly cargo build", Some("cargo build")),
            ("npm --prefix web exec -- jest", Some("jest")),
            ("true", None),
            ("A=1", None),
            ("sudo", Some("sudo")),
            ("", None),
        ] {
            assert_eq!(CommandLine::parse(typed).command(), expected, "{typed}");
        }
    }

    #[test]
    fn shells_in_shells_have_an_end() {
        let mut typed = "make".to_owned();
        for _ in 0..8 {
            typed = format!("sh -c {}", super::quote(&typed));
        }
        assert_eq!(CommandLine::parse(&typed).command(), None);
        let typed = format!("{}make", "nice ".repeat(1000));
        assert_eq!(CommandLine::parse(&typed).command(), None);
    }
}
