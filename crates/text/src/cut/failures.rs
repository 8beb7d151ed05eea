//! Recognises lines that report a failure, in the output of any command and in the languages of its messages.
//!
//! The words of other languages are those of the message catalogs of gcc, make, git, apt, PostgreSQL and TypeScript, and of
//! Windows. They do not depend on the command.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memchr;
use regex::bytes::Regex;

use crate::ansi::{Terminal, TerminalEvent};

/// Words of failures: not within a name or a path (`error_handling`, `src/error.rs`).
const FAILURE: &str = r"(?i-u:(?:^|[^\w/.-])(?:errors?|fail(?:s|ed|ing|ures?)?|panic(?:ked)?|exceptions?|fatal|traceback|abort(?:ed)?|critical|severe|segmentation fault|core dumped|assertion|not ok|undefined (?:reference|symbol)|permission denied|no such file or directory|timed out|out of memory|killed|oomkilled|command not found|unhandled (?:promise )?rejection|fehler|fehlgeschlagen|erreurs?|errores|fallo|falha|errore|errori|fout|fouten|mislukt|chyba|virhe|hata)(?:$|[^\w/.-]|[.](?:$|\s)))|(?-u:\w(?:Error|Exception)(?:$|[:\s]))|(?-u:(?:^|[^\w])(?:ERR!|ERR_[A-Z]|\[E\]|E/[A-Za-z]))|(?-u:^E   |^\s*\w+_test\.go:[0-9]+:|^\s*\[E\]|^Caused by:)|(?i-u:(?:^|[^\w/.-])(?:fel|fejl|feil|erro|hiba|kesalahan|eroare)\s?:)|✗|✖|✘|✕|❌|エラー|失敗しました|错误|錯誤|失败|失敗|오류|실패|(?i:ошибка|сбой|помилка|échec|échoué|błąd|lỗi|σφάλμα)";

/// Phrases that report success with the same words: `0 errors`.
const SUCCESS: &str = r"(?i-u:\b(?:0|no|zero|without)(?: \w+)? (?:errors?|fail(?:s|ed|ing|ures?)?|exceptions?)\b|\b(?:errors?|fail(?:s|ed|ing|ures?)?)\s*[:=]\s*0\b)";

/// A line with more bytes is data rather than a message.
const LONGEST: usize = 4 << 10;

/// Returns whether a line reports a failure: `error: x`, `FAILED`, `✗`, `x.c:3: Fehler: y`; but not `0 errors` or `src/error.rs`.
#[must_use]
pub fn is_failure(line: &[u8]) -> bool {
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

/// Whether a word may be one of a failure. A line without such a word reports none.
pub(super) fn may_be_word(word: &[u8]) -> bool {
    // The end of an escape sequence: `31merror`.
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let word = match word.get(digits..) {
        Some([b'm', rest @ ..]) if digits > 0 => rest,
        _ => word,
    };
    let begins = |stems: &[&str]| {
        stems.iter().any(|stem| {
            word.get(..stem.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(stem.as_bytes()))
        })
    };
    let stems: &[&str] = match word.first().map(u8::to_ascii_lowercase) {
        Some(b'a') => &["abort", "assert"],
        Some(b'c') => &["caused", "chyba", "core", "critical"],
        Some(b'd') => &["dumped"],
        Some(b'e') => &["err", "except", "eroare"],
        Some(b'f') => &["fail", "fallo", "falha", "fatal", "fehl", "fejl", "feil", "fel", "fout"],
        Some(b'h') => &["hata", "hiba"],
        Some(b'k') => &["kesalahan", "killed"],
        Some(b'm') => &["memory", "mislukt"],
        Some(b'n') => &["not"],
        Some(b'o') => &["oomkilled"],
        Some(b'p') => &["panic", "permission"],
        Some(b's') => &["segmentation", "severe", "such"],
        Some(b't') => &["timed", "traceback"],
        Some(b'u') => &["undefined", "unhandled"],
        Some(b'v') => &["virhe"],
        Some(0x80..) => return true,
        _ => &[],
    };
    begins(stems)
        || word.ends_with(b"Error")
        || word.ends_with(b"Exception")
        || word.ends_with(b"_test")
        || !word.is_ascii()
}

/// Whether a line begins with a mark of failures that has no word: `[E]`, `E   assert`.
pub(super) fn may_begin(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    line.starts_with(b"E ") || line.starts_with(b"[E]") || line.starts_with(b"E/")
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
    use super::super::query::Query;
    use super::super::words::Words;
    use super::{is_failure, may_begin};

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
            ("a.c:3:5: Fehler: x", true),
            ("a.c:3:5: erreur : x", true),
            ("a.c:3:5: error: x", true),
            ("a.c:3:5: エラー: x", true),
            ("a.c:3:5: 错误：x", true),
            ("a.c:3:5: ошибка: x", true),
            ("ОШИБКА:  отношение не существует", true),
            ("make: *** [Makefile:2: a] Fehler 1", true),
            ("make: *** [Makefile:2: a] Erreur 1", true),
            ("npm ERR! code E404", true),
            (" ERR_PNPM_FETCH_404  GET https://x: Not Found", true),
            ("SEVERE: x", true),
            ("[E] x", true),
            ("sh: 1: foo: command not found", true),
            ("Unhandled promise rejection", true),
            ("  reason: OOMKilled", true),
            ("  ✕ adds", true),
            ("    x_test.go:5: got 1", true),
            ("E   assert 1 == 2", true),
            ("a.c:3:5: fel: x", true),
            ("실패 x", true),
            ("0 errors, 0 failures", false),
            ("12 passed; 0 failed", false),
            ("no errors", false),
            ("errors: 0", false),
            ("test error_handling ... ok", false),
            ("   Compiling thiserror v1.0", false),
            ("src/error.rs", false),
            ("warning: unused variable", false),
            ("felt: x", false),
            ("", false),
        ] {
            assert_eq!(is_failure(line.as_bytes()), expected, "{line}");
            let shape = Words::new(0).add(0, line.as_bytes(), &Query::default(), true);
            assert!(!expected || shape.may_fail || may_begin(line.as_bytes()), "{line}");
        }
        assert!(!is_failure(format!("error {}", "x".repeat(5_000)).as_bytes()));
    }
}
