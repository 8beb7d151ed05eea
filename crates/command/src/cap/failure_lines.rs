//! Recognises lines that report a failure, in the output of any command.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memchr;
use regex::bytes::Regex;

use tamis_text::ansi::{Terminal, TerminalEvent};

/// Words of failures: not within a name or a path (`error_handling`, `src/error.rs`).
const FAILURE: &str = r"(?i-u:(?:^|[^\w/.-])(?:errors?|fail(?:s|ed|ing|ures?)?|panic(?:ked)?|exceptions?|fatal|traceback|abort(?:ed)?|critical|segmentation fault|core dumped|assertion|not ok|undefined (?:reference|symbol)|permission denied|no such file or directory|timed out|out of memory|killed)(?:$|[^\w/.-]|[.](?:$|\s)))|(?-u:\w(?:Error|Exception)(?:$|[:\s]))|✗|✖|✘";

/// Phrases that report success with the same words: `0 errors`.
const SUCCESS: &str = r"(?i-u:\b(?:0|no|zero|without)(?: \w+)? (?:errors?|fail(?:s|ed|ing|ures?)?|exceptions?)\b|\b(?:errors?|fail(?:s|ed|ing|ures?)?)\s*[:=]\s*0\b)";

/// A line with more bytes is data rather than a message.
const LONGEST: usize = 4 << 10;

/// Returns whether a line reports a failure.
pub(super) fn is_failure(line: &[u8]) -> bool {
    static PATTERNS: LazyLock<Option<(Regex, Regex)>> =
        LazyLock::new(|| Some((Regex::new(FAILURE).ok()?, Regex::new(SUCCESS).ok()?)));
    let Some((failure, success)) = &*PATTERNS else { return false };
    if line.len() > LONGEST {
        return false;
    }
    let line = shown(line);
    failure.is_match(&line)
        && (!success.is_match(&line) || failure.is_match(&success.replace_all(&line, &b""[..])))
}

/// Returns a line without escape sequences.
fn shown(line: &[u8]) -> Cow<'_, [u8]> {
    if memchr(0x1b, line).is_none() {
        return line.into();
    }
    let mut text = Vec::new();
    let mut take = |event: TerminalEvent<'_>| {
        if let TerminalEvent::Text(part) = event {
            text.extend_from_slice(part);
        }
    };
    let mut terminal = Terminal::default();
    terminal.write(line, &mut take);
    terminal.end_line(&mut take);
    text.into()
}

#[cfg(test)]
mod tests {
    use super::is_failure;

    #[test]
    fn failures_in_the_output_of_any_command() {
        for (line, expected) in [
            ("error: x", true),
            ("\u{1b}[31merror\u{1b}[0m[E0308]: mismatched types", true),
            ("2026-01-01 ERROR could not connect", true),
            ("[FATAL] x", true),
            ("FAILED tests/test_a.py::test_b", true),
            ("TypeError: x is undefined", true),
            ("java.lang.IllegalStateException", true),
            ("thread 'main' panicked at src/main.rs:1:1:", true),
            ("  ✗ adds", true),
            ("not ok 3 - adds", true),
            ("Build failed.", true),
            ("3 failed, 0 errors", true),
            ("ls: x: No such file or directory", true),
            ("0 errors, 0 failures", false),
            ("12 passed; 0 failed", false),
            ("no errors", false),
            ("errors: 0", false),
            ("test error_handling ... ok", false),
            ("   Compiling thiserror v1.0", false),
            ("src/error.rs", false),
            ("warning: unused variable", false),
            ("", false),
        ] {
            assert_eq!(is_failure(line.as_bytes()), expected, "{line}");
        }
        assert!(!is_failure(format!("error {}", "x".repeat(5_000)).as_bytes()));
    }
}
