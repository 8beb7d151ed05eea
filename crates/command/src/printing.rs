//! Finds the commands of a command line that print: those that are not silent, and do not write into a pipe or a file.

use super::shell::{CommandJoin, SimpleCommand};

/// Maximum number of commands that print.
const MOST: usize = 32;

/// When a command of a compound command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunCondition {
    /// In any case.
    Always,
    /// If the one before succeeds.
    Success,
    /// If the one before fails.
    Failure,
}

/// A command that prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PrintingCommand {
    pub(super) words: Vec<String>,
    pub(super) runs: RunCondition,
}

/// Returns the name of a program, without its directory.
pub(super) fn base(program: &str) -> &str {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    name.strip_suffix(".exe")
        .or_else(|| name.strip_suffix(".cmd"))
        .or_else(|| name.strip_suffix(".bat"))
        .unwrap_or(name)
}

/// Returns the commands that print, in order. `None` if there are too many of them.
pub(super) fn printing(commands: Vec<SimpleCommand>) -> Option<Vec<PrintingCommand>> {
    let mut found: Vec<PrintingCommand> = Vec::new();
    let mut pipeline: Vec<SimpleCommand> = Vec::new();
    let mut runs = RunCondition::Always;
    for command in without_copies(commands) {
        let join = command.join;
        if command.is_piped {
            continue;
        }
        pipeline.push(command);
        if join == CommandJoin::Pipe {
            continue;
        }
        while pipeline.len() > 1 && pipeline.last().is_some_and(|command| hands_on(&command.words))
        {
            pipeline.pop();
        }
        let last = pipeline.pop()?;
        // Commands earlier in the pipeline may print to standard error, but their output usually goes into the pipe.
        pipeline.clear();
        if !is_silent(&last) {
            found.push(PrintingCommand { words: last.words, runs });
            if found.len() > MOST {
                return None;
            }
        }
        runs = match join {
            CommandJoin::And => RunCondition::Success,
            CommandJoin::Or => RunCondition::Failure,
            CommandJoin::Then | CommandJoin::Pipe | CommandJoin::End => RunCondition::Always,
        };
    }
    Some(found)
}

/// Removes commands that only copy the output of brackets: `(a; b) | tee log` is `a; b`.
fn without_copies(mut commands: Vec<SimpleCommand>) -> Vec<SimpleCommand> {
    let mut at = 0;
    while at < commands.len() {
        let is_piped = |place: usize| commands.get(place).is_some_and(|command| command.is_piped);
        if !is_piped(at) || is_piped(at + 1) {
            at += 1;
            continue;
        }
        let rest = commands.get(at + 1..).unwrap_or_default();
        let length =
            1 + rest.iter().take_while(|command| command.join == CommandJoin::Pipe).count();
        let pipeline = rest.get(..length).unwrap_or(rest);
        let only_copies = !pipeline.is_empty() && pipeline.iter().all(|one| hands_on(&one.words));
        if only_copies {
            let join = pipeline.last().map_or(CommandJoin::End, |last| last.join);
            let from = (0..=at).rev().take_while(|place| is_piped(*place)).last().unwrap_or(at);
            commands.drain(at + 1..at + 1 + length);
            for command in commands.iter_mut().take(at + 1).skip(from) {
                command.is_piped = false;
            }
            if let Some(last) = commands.get_mut(at) {
                last.join = join;
            }
        }
        at += 1;
    }
    commands
}

/// Whether a command prints its input unchanged.
fn hands_on(words: &[String]) -> bool {
    match words.split_first() {
        Some((program, rest)) => match base(program) {
            "cat" => rest.is_empty() || rest == ["-"],
            "tee" => true,
            _ => false,
        },
        None => false,
    }
}

/// Whether a command prints nothing if it succeeds.
fn is_silent(command: &SimpleCommand) -> bool {
    const SILENT: [&str; 22] = [
        "cd", "export", "set", "unset", "source", ".", "true", "false", ":", "exit", "return",
        "sleep", "mkdir", "umask", "ulimit", "shopt", "alias", "touch", "trap", "wait", "test",
        "[",
    ];
    let words = &command.words;
    let program = words.iter().find(|word| !is_assignment(word));
    // `cd -` prints the new directory, and `set` without arguments all variables.
    match program.map(String::as_str) {
        None => true,
        Some("cd") => !words.iter().any(|word| word == "-"),
        Some(program @ ("set" | "export" | "alias" | "trap" | "ulimit" | "umask" | "shopt")) => {
            words.last().is_some_and(|last| last != program)
        }
        Some("cat" | "echo" | "printf") if command.is_to_file => true,
        Some(program) => SILENT.contains(&program),
    }
}

/// Whether a word is an assignment: `NAME=value`.
pub(super) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
        && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
}

/// The line that `echo` prints, with the places of exit codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EchoLine(Vec<String>);

impl EchoLine {
    /// Returns the line that a command prints, if it is an `echo` of plain text and `$?`.
    pub(super) fn of(words: &[String]) -> Option<Self> {
        let (program, rest) = words.split_first()?;
        if program != "echo" || rest.first()?.starts_with('-') {
            return None;
        }
        let text = rest.join(" ");
        // `?` is a pattern for files, except in `$?`.
        if text.replace("$?", "").contains(['\\', '*', '?', '[', '{', '~', '`', '\n', '\r']) {
            return None;
        }
        let parts: Vec<String> = text.split("$?").map(str::to_owned).collect();
        let is_known = !text.trim().is_empty() && !parts.iter().any(|part| part.contains('$'));
        is_known.then_some(Self(parts))
    }

    /// Whether a line is this one.
    pub(super) fn matches(&self, line: &[u8]) -> bool {
        let Some((first, rest)) = self.0.split_first() else { return false };
        let Some(mut line) = line.strip_prefix(first.as_bytes()) else { return false };
        for part in rest {
            let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let after = line.get(digits..).and_then(|line| line.strip_prefix(part.as_bytes()));
            match after.filter(|_| digits > 0) {
                Some(after) => line = after,
                None => return false,
            }
        }
        line.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{EchoLine, printing};
    use crate::shell::split;

    #[test]
    fn commands_that_print() {
        for (text, expected) in [
            ("cd x && a; b", vec!["Success a", "Always b"]),
            ("a && b || c", vec!["Always a", "Success b", "Failure c"]),
            ("cd x && a", vec!["Success a"]),
            ("(a; b) | c", vec!["Always c"]),
            ("(a; b) 2>&1 | tee x; c", vec!["Always a", "Always b", "Always c"]),
            ("(a; b) | tee x | c", vec!["Always c"]),
            ("cat > x <<E\n1\nE\na", vec!["Always a"]),
            ("echo x > y && a | cat", vec!["Success a"]),
            ("true", vec![]),
        ] {
            let found = printing(split(text).unwrap()).unwrap();
            let found: Vec<_> =
                found.iter().map(|one| format!("{:?} {}", one.runs, one.words.join(" "))).collect();
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(printing(split(&"a;".repeat(100)).unwrap()), None);
    }

    #[test]
    fn lines_of_echo() {
        let echo = |text: &str| EchoLine::of(&split(text).unwrap()[0].words);
        let line = echo("echo \"=== exit: $? ===\"").unwrap();
        assert!(line.matches(b"=== exit: 101 ==="));
        assert!(!line.matches(b"=== exit:  ===") && !line.matches(b"=== exit: 1 === "));
        assert!(echo("echo a  b").unwrap().matches(b"a b"));
        for text in ["echo", "echo -n x", "echo *", "echo $x", "echo a?", "echo ''", "printf x"] {
            assert_eq!(echo(text), None, "{text}");
        }
    }
}
