//! `PreToolUse` of Codex: a known, simple command gets `tamis run --` before it.
//!
//! Codex has no way to replace the output of a command after it ran, so the command itself is rewritten. It takes a
//! rewritten command only with the permission `allow`, which lifts neither its sandbox nor its rules: these judge the new
//! command. So a command is rewritten only if the rules judge both commands equally; see [`codex_rules`].

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tamis_command::CommandLine;

use super::codex_rules::{self, RuleLayers, RulePlaces};
use super::endless::goes_on;
use super::event::written;
use super::settings::HookSettings;

#[derive(Debug, Deserialize)]
struct PreToolUse<'a> {
    hook_event_name: String,
    tool_name: String,
    #[serde(borrow)]
    tool_input: &'a RawValue,
    cwd: String,
    permission_mode: String,
    turn_id: String,
    transcript_path: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ShellInput {
    command: String,
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    #[serde(rename = "hookSpecificOutput")]
    output: HookOutput<'a>,
}

#[derive(Debug, Serialize)]
struct HookOutput<'a> {
    #[serde(rename = "hookEventName")]
    event: &'static str,
    #[serde(rename = "permissionDecision")]
    decision: &'static str,
    #[serde(rename = "updatedInput")]
    input: UpdatedInput<'a>,
}

#[derive(Debug, Serialize)]
struct UpdatedInput<'a> {
    command: &'a str,
}

/// The longest command that is rewritten, in bytes.
const LONGEST_COMMAND: usize = 4 << 10;

/// Programs whose commands are rewritten: those that the command filters know. Codex has two lists of its own. The commands in its list of
/// safe ones (`is_safe_command.rs` of its public sources) run unasked in sessions that ask for every other one, and in those nothing is
/// rewritten: see [`codex_rules::session`]. A command in its list of dangerous ones (`is_dangerous_command.rs`) would not be recognised after
/// `tamis run`, so none of them may be rewritten: these are `rm` and `sudo`, and in earlier versions some commands of Git: see [`GIT`].
const PROGRAMS: [&str; 119] = [
    "ack",
    "ag",
    "ansible",
    "ansible-playbook",
    "apt",
    "apt-get",
    "aptitude",
    "aws",
    "basedpyright",
    "bazel",
    "bazelisk",
    "black",
    "brew",
    "buildah",
    "bun",
    "bundle",
    "c++",
    "cargo",
    "cargo-nextest",
    "cat",
    "cc",
    "clang",
    "clang++",
    "cmake",
    "composer",
    "ctest",
    "curl",
    "df",
    "dmesg",
    "docker",
    "docker-compose",
    "dotnet",
    "du",
    "egrep",
    "eslint",
    "fd",
    "fdfind",
    "fgrep",
    "find",
    "flake8",
    "g++",
    "gcc",
    "gcloud",
    "gh",
    "glab",
    "gmake",
    "go",
    "golangci-lint",
    "gotest",
    "gotestsum",
    "gradle",
    "grep",
    "gsutil",
    "head",
    "helm",
    "jest",
    "journalctl",
    "kubectl",
    "ls",
    "make",
    "mocha",
    "mvn",
    "mypy",
    "next",
    "ninja",
    "node",
    "npm",
    "npx",
    "nx",
    "oc",
    "pest",
    "php",
    "phpunit",
    "pip",
    "pip3",
    "playwright",
    "pnpm",
    "podman",
    "podman-compose",
    "poetry",
    "pre-commit",
    "prek",
    "prettier",
    "ps",
    "psql",
    "pulumi",
    "pylint",
    "pyright",
    "pytest",
    "python",
    "python3",
    "rg",
    "rspec",
    "rubocop",
    "ruff",
    "rustfmt",
    "shellcheck",
    "standardrb",
    "swift",
    "systemctl",
    "tail",
    "terraform",
    "tofu",
    "tox",
    "tree",
    "tsc",
    "turbo",
    "uv",
    "uvx",
    "vite",
    "vitest",
    "vue-tsc",
    "webpack",
    "webpack-cli",
    "wget",
    "xcodebuild",
    "yarn",
    "zcat",
    "zgrep",
];

/// Subcommands of Git that were in no version's list of dangerous commands. Forced `push`es were: see [`decides_equally`]. So were
/// `reset`, `rm`, `clean` and forms of `branch`.
const GIT: [&str; 26] = [
    "add",
    "checkout",
    "cherry-pick",
    "clone",
    "commit",
    "diff",
    "fetch",
    "grep",
    "log",
    "ls-files",
    "merge",
    "mv",
    "pull",
    "push",
    "rebase",
    "remote",
    "restore",
    "revert",
    "show",
    "stash",
    "status",
    "submodule",
    "switch",
    "tag",
    "whatchanged",
    "worktree",
];

/// How Codex starts a line in a shell: the shell and its flag.
const SHELLS: [[&str; 2]; 12] = [
    ["bash", "-lc"],
    ["bash", "-c"],
    ["/bin/bash", "-lc"],
    ["/bin/bash", "-c"],
    ["/usr/bin/bash", "-lc"],
    ["/usr/bin/bash", "-c"],
    ["zsh", "-lc"],
    ["zsh", "-c"],
    ["/bin/zsh", "-lc"],
    ["/bin/zsh", "-c"],
    ["sh", "-lc"],
    ["/bin/sh", "-lc"],
];

/// Variables that decide which program runs, or what tamis does.
const DECIDING: [&str; 9] =
    ["BASH_ENV", "ENV", "HOME", "IFS", "PATH", "PWD", "SHELL", "TMPDIR", "ZDOTDIR"];

/// Returns the response to an event. `None`: nothing is printed, and the command runs as it is.
pub(super) fn response(event: &[u8], settings: &HookSettings) -> Option<Vec<u8>> {
    let event: PreToolUse<'_> = serde_json::from_slice(event).ok()?;
    if event.hook_event_name != "PreToolUse" || event.tool_name != "Bash" {
        return None;
    }
    if !["default", "acceptEdits", "bypassPermissions"].contains(&event.permission_mode.as_str()) {
        return None;
    }
    let input: ShellInput = serde_json::from_str(event.tool_input.get()).ok()?;
    if settings.leaves_alone(&input.command) {
        return None;
    }
    // The cheapest tests come first: most commands are not rewritten.
    let line = PlainLine::read(&input.command)?;
    let runner = runner(&line.words, settings)?;
    if goes_on(&input.command) {
        return None;
    }
    // `tamis run` knows no other profile.
    let filters = settings.command_filters().filter(|_| settings.shortens_commands())?;
    filters.filter_for(&CommandLine::parse(&input.command))?;
    let places = RulePlaces {
        home: settings.places.codex_home.clone()?,
        system: settings.places.codex_system.clone(),
        working: Path::new(&event.cwd).to_owned(),
    };
    let layers = RuleLayers::read(&places).ok()?;
    let command = format!("{}{runner} run -- {}", line.before, line.command);
    let mut after = vec![runner, "run".to_owned(), "--".to_owned()];
    after.extend(line.words.iter().cloned());
    if !layers.judge_equally(&line.words, &after) {
        return None;
    }
    // Codex reads no commands in a line with an assignment: its rules are held against the shell and the line.
    let equal_as_line = |shell: &[&str; 2]| {
        let whole = |line: &str| [shell[0], shell[1], line].map(str::to_owned);
        layers.judge_equally(&whole(&input.command), &whole(&command))
    };
    if line.assigns && !SHELLS.iter().all(equal_as_line) {
        return None;
    }
    let transcript = event.transcript_path?;
    if !codex_rules::session::may_write(Path::new(&transcript), &event.turn_id) {
        return None;
    }
    let input = UpdatedInput { command: &command };
    let (event, decision) = ("PreToolUse", "allow");
    written(&Answer { output: HookOutput { event, decision, input } })
}

/// Splits a command into words, if every shell and Codex read the same words in it: bare words and quoted ones without
/// anything that is expanded, no assignment, no operator, no redirection.
///
/// ```
/// use tamis_agents::hook::codex::simple_words;
///
/// assert_eq!(simple_words("cargo test 'a b'").unwrap(), ["cargo", "test", "a b"]);
/// for command in ["cargo test && ls", "A=1 cargo test", "cargo test > x", "cargo test $X", "echo *"] {
///     assert_eq!(simple_words(command), None);
/// }
/// ```
#[must_use]
pub fn simple_words(command: &str) -> Option<Vec<String>> {
    if command.len() > LONGEST_COMMAND {
        return None;
    }
    let mut words = Vec::new();
    let mut chars = command.trim_matches([' ', '\t']).chars().peekable();
    while chars.peek().is_some() {
        let mut word = String::new();
        // Codex reads a word of several parts only if it is not empty.
        let mut parts = 0_usize;
        while let Some(char) = chars.next_if(|char| !matches!(char, ' ' | '\t')) {
            match char {
                '\'' => {
                    parts += 1;
                    loop {
                        match chars.next()? {
                            '\'' => break,
                            '\n' | '\r' => return None,
                            char => word.push(char),
                        }
                    }
                }
                '"' => {
                    parts += 1;
                    loop {
                        match chars.next()? {
                            '"' => break,
                            '$' | '`' | '\\' | '!' | '\n' | '\r' => return None,
                            char => word.push(char),
                        }
                    }
                }
                char if is_bare(char) => {
                    parts += usize::from(parts == 0);
                    word.push(char);
                }
                _ => return None,
            }
        }
        if word.is_empty() && parts > 1 {
            return None;
        }
        words.push(word);
        while chars.next_if(|char| matches!(char, ' ' | '\t')).is_some() {}
    }
    let first = command.trim_matches([' ', '\t']).split([' ', '\t']).next()?;
    // The name of the program is bare, and no assignment, keyword or number.
    let is_program = first.starts_with(|char: char| char.is_ascii_alphabetic())
        && first.chars().all(|char| char.is_ascii_alphanumeric() || "-_.".contains(char));
    is_program.then_some(words)
}

/// A command line of one simple command, which may follow `cd FOLDER &&` and assignments.
struct PlainLine<'a> {
    /// The text before the command, which stays.
    before: &'a str,
    command: &'a str,
    /// The words of the command.
    words: Vec<String>,
    assigns: bool,
}

impl<'a> PlainLine<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let mut command = line.trim_matches([' ', '\t']);
        let start = line.len() - line.trim_start_matches([' ', '\t']).len();
        let all = command;
        if command.starts_with("cd ") {
            let (folder, rest) = command.split_once("&&")?;
            let words = simple_words(folder)?;
            let [_, folder] = words.as_slice() else { return None };
            // `cd -` prints, and an option changes what the folder means.
            if folder.is_empty() || folder.starts_with('-') {
                return None;
            }
            command = rest.trim_start_matches([' ', '\t']);
        }
        let mut assigns = false;
        while let Some(rest) = after_assignment(command) {
            assigns = true;
            command = rest;
        }
        let words = simple_words(command)?;
        let before = line.get(start..start + all.len() - command.len())?;
        Some(Self { before, command, words, assigns })
    }
}

/// Returns what follows `NAME=VALUE `, if the value is a bare word and does not decide which program runs.
fn after_assignment(command: &str) -> Option<&str> {
    let (word, rest) = command.split_once([' ', '\t'])?;
    let (name, value) = word.split_once('=')?;
    let is_name = name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
        && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    let is_deciding = DECIDING.contains(&name)
        || ["BASH_FUNC", "DYLD_", "LD_", "TAMIS", "XDG_"]
            .iter()
            .any(|start| name.starts_with(start));
    let is_plain = is_name && !is_deciding && value.chars().all(is_bare);
    is_plain.then(|| rest.trim_start_matches([' ', '\t']))
}

/// Returns whether the hook may rewrite a command: it is simple, it ends by itself, and its program is one of those for which that is safe. Whether it does
/// depends on the rules of the user as well.
///
/// ```
/// use tamis_agents::hook::codex::may_rewrite;
///
/// for command in ["cargo test", "cd app && cargo test", "RUST_LOG=debug cargo test", "git status", "ls -la"] {
///     assert!(may_rewrite(command));
/// }
/// for command in ["rm -rf app", "git reset --hard", "git push -f", "cargo test | tail", "PATH=/tmp cargo test", "cd - && cargo test", "tail -f x"] {
///     assert!(!may_rewrite(command));
/// }
/// ```
#[must_use]
pub fn may_rewrite(command: &str) -> bool {
    PlainLine::read(command).is_some_and(|line| decides_equally(&line.words)) && !goes_on(command)
}

/// Whether Codex decides equally about a command and its rewritten form if no rule matches them.
fn decides_equally(words: &[String]) -> bool {
    let is_plain = |word: &String| !word.starts_with(['-', '+', ':']);
    match words {
        [git, name, rest @ ..] if git == "git" => {
            GIT.contains(&name.as_str()) && (name != "push" || rest.iter().all(is_plain))
        }
        [program, ..] => PROGRAMS.contains(&program.as_str()),
        [] => false,
    }
}

/// Whether a character means itself outside of quotes, in every shell and at every place of a word.
fn is_bare(char: char) -> bool {
    char.is_ascii_alphanumeric() || "-_./:@%+,=".contains(char)
}

/// Returns the word that starts tamis in the rewritten command: the path of this program. A name would be looked up in
/// folders that a command in the sandbox may write to.
fn runner(words: &[String], settings: &HookSettings) -> Option<String> {
    let program = words.first().filter(|_| decides_equally(words))?;
    let places = &settings.places;
    // A function of the user's shell may have the name of a program that is not there.
    let mut files = places.path.iter().filter(|path| path.is_absolute());
    files.find(|folder| is_executable(&folder.join(program)))?;
    let path = places.program.as_deref().filter(|path| is_executable(path))?.to_str()?;
    (path.starts_with('/') && path.chars().all(is_bare)).then(|| path.to_owned())
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Commands are run only on Unix.
#[cfg(not(unix))]
fn is_executable(_path: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::{PlainLine, simple_words};

    #[test]
    fn words_that_everybody_reads_alike() {
        for (command, expected) in [
            ("cargo test", Some(vec!["cargo", "test"])),
            ("  cargo\ttest  ", Some(vec!["cargo", "test"])),
            (
                "cargo test --features='a b' \"c d\"",
                Some(vec!["cargo", "test", "--features=a b", "c d"]),
            ),
            ("cargo test ''", Some(vec!["cargo", "test", ""])),
            ("cargo test '*' '$x'", Some(vec!["cargo", "test", "*", "$x"])),
            ("cargo test ''''", None),
            ("cargo test \"$x\"", None),
            ("cargo test \"a\\b\"", None),
            ("cargo test a\\ b", None),
            ("cargo test ~", None),
            ("cargo test #x", None),
            ("cargo test {a,b}", None),
            ("cargo test\nls", None),
            ("cargo test; ls", None),
            ("cargo test | cat", None),
            ("cargo test &", None),
            ("cargo test 2>&1", None),
            ("FOO=1 cargo test", None),
            ("'cargo' test", None),
            ("./cargo test", None),
            ("cargo test 'a", None),
            ("cargo test é", None),
            ("", None),
        ] {
            let words = simple_words(command);
            let expected = expected.map(|words| words.into_iter().map(str::to_owned).collect());
            assert_eq!(words, expected, "{command}");
        }
    }

    #[test]
    fn what_may_precede_a_command_stays() {
        for (line, expected) in [
            ("cargo test", Some(("", "cargo test"))),
            (" cd app && cargo test", Some(("cd app && ", "cargo test"))),
            ("cd 'a b'&&CI=1 A=b,c npm test", Some(("cd 'a b'&&CI=1 A=b,c ", "npm test"))),
            ("cd app; cargo test", None),
            ("cd - && cargo test", None),
            ("cd a b && cargo test", None),
            ("cd a && cd b && cargo test", None),
            ("cd $HOME && cargo test", None),
            ("PATH=/tmp cargo test", None),
            ("LD_PRELOAD=x.so cargo test", None),
            ("TAMIS=off cargo test", None),
            ("A=$(id) cargo test", None),
            ("A='b c' cargo test", None),
            ("A=1", None),
        ] {
            let found = PlainLine::read(line);
            let found = found.as_ref().map(|line| (line.before, line.command));
            assert_eq!(found, expected, "{line}");
        }
    }
}
