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

/// Programs whose commands are rewritten. They are in neither of the two lists that Codex
/// has, of safe and of dangerous commands: a listed command would not be recognised after `tamis run`.
const PROGRAMS: [&str; 24] = [
    "cargo",
    "docker",
    "eslint",
    "go",
    "jest",
    "make",
    "mypy",
    "npm",
    "npx",
    "pip",
    "pip3",
    "pnpm",
    "pytest",
    "python",
    "python3",
    "ruff",
    "terraform",
    "tsc",
    "uv",
    "vitest",
    "yarn",
    "bun",
    "mvn",
    "gradle",
];

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
    let words = simple_words(&input.command)?;
    // The cheapest tests come first: most commands are not rewritten.
    let runner = runner(&words, settings)?;
    // `tamis run` knows no other profile.
    let filters = settings.command_filters().filter(|_| settings.shortens_commands())?;
    filters.filter_for(&CommandLine::parse(&input.command))?;
    let places = RulePlaces {
        home: settings.places.codex_home.clone()?,
        system: settings.places.codex_system.clone(),
        working: Path::new(&event.cwd).to_owned(),
    };
    let layers = RuleLayers::read(&places).ok()?;
    let mut after = vec![runner.clone(), "run".to_owned(), "--".to_owned()];
    after.extend(words.iter().cloned());
    if !layers.judge_equally(&words, &after) {
        return None;
    }
    let transcript = event.transcript_path?;
    if !codex_rules::session::may_write(Path::new(&transcript), &event.turn_id) {
        return None;
    }
    let command = format!("{runner} run -- {}", input.command.trim());
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

/// Returns whether the hook may rewrite a command: it is simple, and its program is one of those for which that is safe. Whether it does
/// depends on the rules of the user as well.
///
/// ```
/// use tamis_agents::hook::codex::may_rewrite;
///
/// assert!(may_rewrite("cargo test"));
/// assert!(!may_rewrite("git status") && !may_rewrite("cd app && cargo test"));
/// ```
#[must_use]
pub fn may_rewrite(command: &str) -> bool {
    let words = simple_words(command);
    words.is_some_and(|words| words.first().is_some_and(|name| PROGRAMS.contains(&name.as_str())))
}

/// Whether a character means itself outside of quotes, in every shell and at every place of a word.
fn is_bare(char: char) -> bool {
    char.is_ascii_alphanumeric() || "-_./:@%+,=".contains(char)
}

/// Returns the word that starts tamis in the rewritten command: the path of this program. A name would be looked up in
/// folders that a command in the sandbox may write to.
fn runner(words: &[String], settings: &HookSettings) -> Option<String> {
    let program = words.first()?;
    if !PROGRAMS.contains(&program.as_str()) {
        return None;
    }
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
    use super::simple_words;

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
}
