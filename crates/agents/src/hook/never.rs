//! Commands whose output the user wants unchanged: the lists `never` of `tamis.yaml`, and `tamis run --raw`.

use tamis_command::CommandLine;

/// The characters that end a command. Those in quotes count too: then more commands are left alone than the list names.
const ENDS: [char; 9] = [';', '|', '&', '\n', '(', ')', '{', '}', '`'];

/// Words of the shell that a command may follow.
const BEFORE_COMMANDS: [&str; 13] = [
    "!", "if", "then", "elif", "else", "while", "until", "do", "time", "command", "builtin",
    "exec", "coproc",
];

/// Returns whether a part of a command line begins with the words of a pattern.
///
/// ```
/// use tamis_agents::hook::never::is_never;
///
/// let patterns = ["git diff".to_owned(), "curl *".to_owned()];
/// assert!(is_never("cd x && git -C y diff --stat", &patterns));
/// assert!(is_never("A=1 timeout 9 /usr/bin/curl -s x", &patterns));
/// assert!(!is_never("git difftool; git log", &patterns));
/// ```
#[must_use]
pub fn is_never(typed: &str, patterns: &[String]) -> bool {
    !patterns.is_empty()
        && typed.split(ENDS).any(|part| {
            let inner = without_keywords(part);
            let line = CommandLine::parse(inner);
            let forms = [line.command().unwrap_or_default(), inner, part];
            forms.iter().any(|form| patterns.iter().any(|pattern| begins_with(form, pattern)))
        })
}

/// Returns a part of a command line without the words of the shell at its beginning.
fn without_keywords(part: &str) -> &str {
    let mut rest = part.trim();
    while let Some((word, after)) = rest.split_once(|it: char| it.is_ascii_whitespace())
        && BEFORE_COMMANDS.contains(&word)
    {
        rest = after.trim_start();
    }
    rest
}

fn begins_with(command: &str, pattern: &str) -> bool {
    let mut words = command.split_ascii_whitespace();
    let pattern: Vec<&str> = pattern.split_ascii_whitespace().collect();
    let pattern = pattern.strip_suffix(&["*"]).unwrap_or(&pattern);
    let mut is_first = true;
    pattern.iter().all(|expected| {
        let Some(word) = words.next() else { return false };
        // Programs are named with or without their folder.
        let base = word.rsplit('/').next().filter(|_| is_first).unwrap_or(word);
        is_first = false;
        match expected.strip_suffix('*') {
            Some(begin) => word.starts_with(begin) || base.starts_with(begin),
            None => word == *expected || base == *expected,
        }
    })
}

/// Returns whether a command line asks for the output as it is: `tamis run --raw -- COMMAND`.
#[must_use]
pub fn is_raw(typed: &str) -> bool {
    let words: Vec<&str> = typed.split_ascii_whitespace().collect();
    words.windows(2).enumerate().any(|(at, pair)| {
        let is_run = pair.first().is_some_and(|word| word.rsplit('/').next() == Some("tamis"))
            && pair.get(1) == Some(&"run");
        let flags = words.iter().skip(at + 2).take_while(|word| word.starts_with("--"));
        is_run && flags.take_while(|word| **word != "--").any(|flag| *flag == "--raw")
    })
}

#[cfg(test)]
mod tests {
    use super::{is_never, is_raw};

    #[test]
    fn leading_words_of_every_part_count() {
        for (typed, pattern, expected) in [
            ("git diff", "git diff", true),
            ("git diff --stat | cat", "git diff", true),
            ("echo a; git diff", "git diff", true),
            ("x=$(git diff)", "git diff", true),
            ("sudo -u x git diff", "git diff", true),
            ("git  diff", "git diff", true),
            ("git log", "git diff", false),
            ("gitdiff", "git diff", false),
            ("curl", "curl *", true),
            ("curl-x", "curl *", false),
            ("/usr/bin/curl x", "curl", true),
            ("npm run lint:css", "npm run lint*", true),
            ("npm run build", "npm run lint*", false),
            ("for i in 1 2; do git diff $i; done", "git diff", true),
            ("if ! git diff; then command git diff; fi", "git diff", true),
            ("time git diff", "time", true),
            ("do", "git diff", false),
            ("anything", "*", true),
        ] {
            assert_eq!(is_never(typed, &[pattern.to_owned()]), expected, "{typed} {pattern}");
        }
        assert!(!is_never("git diff", &[]));
    }

    #[test]
    fn raw_runs_are_recognised() {
        for (typed, expected) in [
            ("tamis run --raw -- git diff", true),
            ("cd x && /opt/tamis run --raw -- git diff", true),
            ("tamis run --stats --raw -- a", true),
            ("tamis run -- a --raw", false),
            ("tamis run a --raw", false),
            ("tamis text --raw", false),
        ] {
            assert_eq!(is_raw(typed), expected, "{typed}");
        }
    }
}
