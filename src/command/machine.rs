//! Formats that programs read: output in them is never filtered, whoever asked for it.
//!
//! Knows the flags by which tools are asked for them, and how such output begins. Knows no filter.

use super::line::CommandLine;

/// Flags that ask for such a format by themselves.
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
/// Flags that take the name of a format, as the next word or behind `=`.
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
/// How the names of such formats begin.
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

/// Whether a command was asked for a format that programs read.
pub(super) fn asks(line: &CommandLine) -> bool {
    let mut before = "";
    for argument in line.arguments() {
        // What is behind `--` is for another program, or a file.
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
        // `-ojson`
        let short = argument.strip_prefix("-o").or_else(|| argument.strip_prefix("-f"));
        if short.is_some_and(is_format) {
            return true;
        }
        before = argument;
    }
    false
}

/// Whether a name is that of a format, or a template.
fn is_format(name: &str) -> bool {
    let name = name.trim_start_matches(['"', '\'']);
    // Several formats are a list.
    name.contains("{{")
        || name.split(',').any(|name| {
            FORMATS.iter().any(|format| {
                name.strip_prefix(format)
                    .is_some_and(|rest| !rest.starts_with(|char: char| char.is_alphanumeric()))
            })
        })
}

/// Bytes at the beginning of an output that tell what it is.
pub(super) const HEAD: usize = 256;

/// What is known of an output from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looks {
    /// Too little has come.
    Unknown,
    Structured,
    Text,
}

/// Whether an output that begins so is JSON or XML, as far as the first bytes tell; no more of them are looked at however
/// many there are.
pub(super) fn looks(head: &[u8]) -> Looks {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let enough = head.len() >= HEAD;
    let head = head.get(..HEAD).unwrap_or(head);
    if head.len() < MARK.len() && MARK.starts_with(head) {
        return Looks::Unknown;
    }
    let head = head.strip_prefix(MARK).unwrap_or(head);
    let space = head.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let mut rest = head.iter().skip(space).filter(|byte| !byte.is_ascii_whitespace());
    let open = if enough { Looks::Text } else { Looks::Unknown };
    match rest.next() {
        None => open,
        Some(b'{') => match rest.next() {
            None => open,
            Some(b'"' | b'}') => Looks::Structured,
            Some(_) => Looks::Text,
        },
        // `[INFO]` is the beginning of a line, `[{` that of a list.
        Some(b'[') => match rest.next() {
            None => open,
            Some(b'{' | b'"' | b']') => Looks::Structured,
            Some(_) => Looks::Text,
        },
        Some(b'<') => match rest.next() {
            None => open,
            Some(b'?') => Looks::Structured,
            Some(_) => Looks::Text,
        },
        Some(_) => Looks::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::{Looks, asks, looks};
    use crate::command::CommandLine;

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
            ("docker ps --format '{{.Names}}'", true),
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
            assert_eq!(asks(&CommandLine::parse(typed)), asked, "{typed}");
        }
    }

    #[test]
    fn beginnings() {
        for (head, expected) in [
            ("", Looks::Unknown),
            (" \n", Looks::Unknown),
            ("{\"a\"", Looks::Structured),
            (" {\n  \"a", Looks::Structured),
            ("{}", Looks::Structured),
            ("{ a", Looks::Text),
            ("[", Looks::Unknown),
            ("[{", Looks::Structured),
            ("[\n\"", Looks::Structured),
            ("[INFO]", Looks::Text),
            ("[2026", Looks::Text),
            ("<?xml", Looks::Structured),
            ("<html", Looks::Text),
            ("x", Looks::Text),
        ] {
            assert_eq!(looks(head.as_bytes()), expected, "{head:?}");
        }
        assert_eq!(looks(&[b' '; 300]), Looks::Text);
    }
}
