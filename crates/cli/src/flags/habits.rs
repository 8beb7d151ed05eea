//! Replies to arguments that people type out of habit, from jq and other tools.
//!
//! This module must not depend on what a command does: it sees the arguments as text.

use std::ffi::OsString;
use std::io::{Error, ErrorKind};
use std::path::Path;

/// Flags of other tools, and what to write instead. Flags that have a similar one are suggested by the parser.
const FLAGS: [(&[&str], &str); 16] = [
    (
        &["--limit", "--head", "--first", "--take", "--top", "--count", "-n", "-l"],
        "--max-items N keeps the first N items, and --max-docs N the first N documents",
    ),
    (
        &["--tail", "--last", "--skip", "--offset", "--sort", "--sort-by"],
        "only jq does that: pipe the output into it",
    ),
    (&["--fields", "--keys", "--pick", "--only", "--columns"], "--select K=PATH,PATH keeps values"),
    (&["--remove", "--delete", "--drop", "--without", "-d"], "--exclude PATH,PATH removes values"),
    (
        &["--query", "--jq", "--filter", "--expr", "-q"],
        "tamis has no query: --select keeps values, and --where keeps items; see tamis help jq",
    ),
    (
        &["-c", "--compact", "--compact-output", "--minify"],
        "the output is compact, unless it is shown on a terminal: --whitespace minify",
    ),
    (&["-S", "--sort-keys"], "members keep their order: pipe the output into jq -S"),
    (&["-s", "--slurp"], "--docs reads documents that follow each other, and writes one per line"),
    (&["-e", "--exit-status"], "--on-error closed makes it an error if nothing is found"),
    (&["--indent", "--tab"], "--pretty indents by two spaces"),
    (&["-C", "--color-output"], "--color always"),
    (&["-M", "--monochrome-output"], "--color never"),
    (
        &["--seq", "--stream"],
        "--docs reads JSON text sequences, and every input is read while it arrives",
    ),
    (&["--raw-output"], "-r writes strings without quotes"),
    (&["-f", "--from-file"], "--manifest FILE has the rules"),
    (
        &["--jsonl", "--json-lines", "--jsonlines", "--jsonlogs"],
        "--ndjson reads one document per line",
    ),
];

/// Returns what to write instead of a flag that a command does not have.
pub(crate) fn of_flag(flag: &str) -> Option<&'static str> {
    let name = flag.split('=').next().unwrap_or_default();
    FLAGS.iter().find(|(names, _)| names.contains(&name)).map(|(_, instead)| *instead)
}

/// The flags whose value is a list.
const LISTS: [&str; 6] = ["--select", "--exclude", "--omit", "--redact", "--retain", "--requires"];

/// Returns why an argument after the file is one too many. `typed`: all arguments, the command first.
pub(crate) fn of_extra(typed: &[OsString], extra: &str) -> Option<String> {
    let before = typed.iter().filter_map(|arg| arg.to_str()).take_while(|arg| *arg != extra);
    let before: Vec<&str> = before.collect();
    if let Some(query) = before.iter().chain(&[extra]).find(|arg| is_query(arg)) {
        return Some(of_query(query));
    }
    let last = [extra];
    let mut lists = before.iter().skip_while(|arg| !arg.ends_with(',')).chain(&last);
    if let (Some(list), Some(next)) = (lists.next().filter(|arg| **arg != extra), lists.next()) {
        return Some(format!(
            "a list has no blank after its commas, or is in quotes: {list}{next}"
        ));
    }
    let [.., flag, first] = before.as_slice() else { return None };
    if LISTS.contains(flag) {
        return Some(format!("a list is written with commas: {flag} {first},{extra}"));
    }
    let is_file =
        |arg: &str| !arg.starts_with('-') && (arg.contains('.') || Path::new(arg).is_file());
    match before.first().filter(|_| is_file(first) && is_file(extra))? {
        &"filter" => Some(format!(
            "one file at a time; several documents as one stream: cat {first} {extra} | tamis filter --docs"
        )),
        _ => Some("one file at a time".to_owned()),
    }
}

/// Returns why a file that does not exist, or is a folder, was probably not meant as a file.
pub(crate) fn of_file(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    if let Some(path) = text.strip_prefix("file://") {
        return Some(format!("a path has no scheme: {path}"));
    }
    if text.starts_with("https://") || text.starts_with("http://") {
        return Some(format!("tamis does not fetch: write curl -s '{text}' | before the command"));
    }
    is_query(text).then(|| of_query(text))
}

/// Adds [`of_file`] to the error of a file that could not be opened.
pub(crate) fn explained(path: &Path, error: Error) -> Error {
    let is_missing = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::IsADirectory);
    match of_file(path).filter(|_| is_missing) {
        Some(advice) => Error::new(error.kind(), format!("{error} ({advice})")),
        None => error,
    }
}

/// Returns whether an argument is a query of jq, as far as that is certain: `.`, `.[]`, `.name`.
fn is_query(arg: &str) -> bool {
    let rest = match arg.strip_prefix('.') {
        Some(rest) => rest,
        None => return false,
    };
    let is_path = |char: char| char == '[' || char == '_' || char.is_ascii_alphabetic();
    let is_file = rest.contains('/') || Path::new(arg).is_file();
    rest.is_empty() || (rest.starts_with(is_path) && !is_file)
}

fn of_query(query: &str) -> String {
    match query {
        "." => "tamis has no query: leave the `.` out".to_owned(),
        _ => "tamis has no query: --select keeps values of each item, --extract one value; see tamis help jq".to_owned(),
    }
}

/// Returns the key and the path of `PATH as KEY`, which SQL and other languages write.
pub(crate) fn renamed(source: &str) -> Option<(&str, &str)> {
    let (path, key) = source.rsplit_once(" as ").or_else(|| source.rsplit_once(" AS "))?;
    let (path, key) = (path.trim(), key.trim());
    let is_word = |text: &str| !text.is_empty() && !text.contains([' ', '"', '{', '}', '=']);
    (is_word(path) && is_word(key)).then_some((key, path))
}

#[cfg(test)]
mod tests {
    use super::{is_query, of_extra, of_file, of_flag, renamed};

    #[test]
    fn flags_of_other_tools() {
        assert!(of_flag("--limit=2").unwrap().contains("--max-items"));
        assert!(of_flag("-n").unwrap().contains("--max-docs"));
        assert_eq!(of_flag("--slect"), None);
    }

    #[test]
    fn one_argument_too_many() {
        let extra = |typed: &[&str], extra| {
            let typed: Vec<_> = typed.iter().map(Into::into).collect();
            of_extra(&typed, extra).unwrap_or_default()
        };
        assert!(extra(&["filter", ".", "a.json"], "a.json").contains("leave the `.` out"));
        assert!(extra(&["filter", ".a", "a.json"], "a.json").contains("--select"));
        assert!(extra(&["filter", "a.json", ".a"], ".a").contains("--select"));
        let several = extra(&["filter", "a.json", "b.json"], "b.json");
        assert!(several.ends_with("cat a.json b.json | tamis filter --docs"), "{several}");
        assert!(extra(&["filter", "--select", "a", "b", "f"], "b").ends_with(": --select a,b"));
        assert_eq!(extra(&["filter", "--max-items", "1", "f"], "f"), "");
        assert_eq!(extra(&["explain", "a.json", "b.json"], "b.json"), "one file at a time");
        assert!(extra(&["filter", "--select", "a,", "b", "f"], "f").ends_with(": a,b"));
        assert!(extra(&["filter", "f", "--select", "a,", "b"], "b").ends_with(": a,b"));
    }

    #[test]
    fn queries_are_no_files() {
        for query in [".", ".[]", ".a", ".items[0].x", "._a"] {
            assert!(is_query(query), "{query}");
        }
        for file in ["", "a", "..", "./a", "../a.json", ".a/b", "a.b", ".1"] {
            assert!(!is_query(file), "{file}");
        }
        let of_url = of_file("https://example.com/a".as_ref()).unwrap();
        assert!(of_url.contains("curl -s 'https://example.com/a' | "), "{of_url}");
        assert!(of_file("file:///a.json".as_ref()).unwrap().ends_with(": /a.json"));
        assert_eq!(of_file("nothing.json".as_ref()), None);
    }

    #[test]
    fn renamed_values() {
        assert_eq!(renamed("owner.login as login"), Some(("login", "owner.login")));
        assert_eq!(renamed("a AS b"), Some(("b", "a")));
        for text in ["a as", "as b", "a b as c", "x=a as b", "a", "[\"a as b\"]", "a{b as c}"] {
            assert_eq!(renamed(text), None, "{text}");
        }
    }
}
