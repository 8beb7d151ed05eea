//! Detects machine-readable formats. Output in them is never filtered, because a program may parse it.
//!
//! A format is detected by the flags that request it, and by the beginning of the output.

use super::command_line::CommandLine;

/// Flags that request such a format by themselves.
const FLAGS: [&str; 17] = [
    "--json",
    "-json",
    "--jsonl",
    "--ndjson",
    "--xml",
    "--yaml",
    "--csv",
    "--sarif",
    "--porcelain",
    "--null",
    "--print0",
    "-print0",
    "-z",
    "-0",
    "--null-data",
    "--zero",
    "--machine-readable",
];
/// Flags that take the name of a format, as the next word or after `=`.
const NAMING: [&str; 15] = [
    "--format",
    "--message-format",
    "--output-format",
    "--output",
    "--reporter",
    "--reporters",
    "--log-format",
    "--format-style",
    "--out-format",
    "--message-template",
    "-format",
    "-f",
    "-o",
    "-O",
    "-R",
];
/// Beginnings of the names of such formats.
const FORMATS: [&str; 21] = [
    "json",
    "jsonl",
    "ndjson",
    "yaml",
    "xml",
    "csv",
    "tsv",
    "sarif",
    "junit",
    "tap",
    "teamcity",
    "checkstyle",
    "gitlab",
    "github",
    "pylint",
    "azure",
    "rdjson",
    "go-template",
    "jsonpath",
    "custom-columns",
    "template",
];

/// Whether a command requests a machine-readable format.
pub(super) fn is_requested(line: &CommandLine) -> bool {
    let mut before = "";
    for argument in line.arguments() {
        // Words after `--` are for another program, or are files. `npm` and `cargo` pass them to the program that
        // prints.
        if argument == "--" && line.program() != "npm" && line.program() != "cargo" {
            return false;
        }
        let flag = argument.split_once('=');
        if FLAGS.contains(&flag.map_or(argument, |(flag, _)| flag)) {
            return true;
        }
        if let Some((name, value)) = flag
            && NAMING.contains(&name)
            && is_format(value)
        {
            return true;
        }
        if NAMING.contains(&before) && is_format(argument) {
            return true;
        }
        // `-ojson`.
        let short = argument.strip_prefix("-o").or_else(|| argument.strip_prefix("-f"));
        if short.is_some_and(is_format) {
            return true;
        }
        before = argument;
    }
    false
}

/// Whether a word is the name of a machine-readable format, or a template.
fn is_format(name: &str) -> bool {
    let name = name.trim_start_matches(['"', '\'']);
    // It may be a list of formats.
    name.contains("{{")
        || name.split(',').any(|name| {
            FORMATS.iter().any(|format| {
                name.strip_prefix(format)
                    .is_some_and(|rest| !rest.starts_with(|char: char| char.is_alphanumeric()))
            })
        })
}

/// Number of bytes at the beginning of an output that decide its format.
pub(super) const DETECTION_LENGTH: usize = 256;

/// The format of an output, as far as its beginning shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputFormat {
    /// More bytes are needed.
    Unknown,
    Structured,
    Text,
}

/// Returns the format of an output that begins with `head`. At most [`DETECTION_LENGTH`] bytes are examined.
pub(super) fn detect(head: &[u8]) -> OutputFormat {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let enough = head.len() >= DETECTION_LENGTH;
    let head = head.get(..DETECTION_LENGTH).unwrap_or(head);
    if head.len() < MARK.len() && MARK.starts_with(head) {
        return OutputFormat::Unknown;
    }
    let head = head.strip_prefix(MARK).unwrap_or(head);
    let space = head.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let mut rest = head.iter().skip(space).filter(|byte| !byte.is_ascii_whitespace());
    let open = if enough { OutputFormat::Text } else { OutputFormat::Unknown };
    match rest.next() {
        None => open,
        Some(b'{') => match rest.next() {
            None => open,
            Some(b'"' | b'}') => OutputFormat::Structured,
            Some(_) => OutputFormat::Text,
        },
        // `[INFO]` begins a line of text, `[{` a JSON array.
        Some(b'[') => match rest.next() {
            None => open,
            Some(b'{' | b'"' | b']') => OutputFormat::Structured,
            Some(_) => OutputFormat::Text,
        },
        Some(b'<') => match rest.next() {
            None => open,
            Some(b'?') => OutputFormat::Structured,
            Some(_) => OutputFormat::Text,
        },
        Some(_) => OutputFormat::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::{OutputFormat, detect, is_requested};
    use crate::CommandLine;

    #[test]
    fn formats_that_programs_read() {
        for (typed, asked) in [
            ("cargo test", false),
            ("cargo build --message-format=json", true),
            ("cargo build --message-format json-render-diagnostics", true),
            ("cargo build --message-format short", false),
            ("cargo test -- --format json", true),
            ("git status --porcelain", true),
            ("git status --porcelain=v2", true),
            ("git diff -z", true),
            ("git log --format=%H", false),
            ("kubectl get pods -o json", true),
            ("kubectl get pods -ojson", true),
            ("kubectl get pods -o wide", false),
            ("kubectl get pods -o=jsonpath={.items}", true),
            ("docker ps --format '{{.TestNames}}'", true),
            ("eslint -f json src", true),
            ("eslint -f jsonish src", false),
            ("ruff check --output-format=github", true),
            ("ruff check --output-format concise", false),
            ("jest --json", true),
            ("vitest run --reporter=json", true),
            ("vitest run --reporter verbose,junit", true),
            ("go test -json ./...", true),
            ("find . -print0", true),
            ("rg --json x", true),
            ("rg -- --json", false),
            ("npm ls --json", true),
            ("ls -o", false),
        ] {
            assert_eq!(is_requested(&CommandLine::parse(typed)), asked, "{typed}");
        }
    }

    #[test]
    fn beginnings() {
        for (head, expected) in [
            ("", OutputFormat::Unknown),
            (" \n", OutputFormat::Unknown),
            ("{\"a\"", OutputFormat::Structured),
            (" {\n  \"a", OutputFormat::Structured),
            ("{}", OutputFormat::Structured),
            ("{ a", OutputFormat::Text),
            ("[", OutputFormat::Unknown),
            ("[{", OutputFormat::Structured),
            ("[\n\"", OutputFormat::Structured),
            ("[INFO]", OutputFormat::Text),
            ("[2026", OutputFormat::Text),
            ("<?xml", OutputFormat::Structured),
            ("<html", OutputFormat::Text),
            ("x", OutputFormat::Text),
        ] {
            assert_eq!(detect(head.as_bytes()), expected, "{head:?}");
        }
        assert_eq!(detect(&[b' '; 300]), OutputFormat::Text);
    }
}
