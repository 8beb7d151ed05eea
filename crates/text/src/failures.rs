//! Recognises lines that report a failure, in the output of any command and in the languages of common tools.
//!
//! This is the only list of such words. There are three questions, because there are three uses:
//!
//! | function | a line that | used to |
//! |---|---|---|
//! | [`mentions_failure`] | has a stem of such a word anywhere | compare lines carefully: a wrong yes costs a few bytes |
//! | [`is_failure`] | says that something failed | choose lines of a text that does not fit |
//! | [`is_message`] | begins as programs begin their own messages | keep lines in any case: a wrong yes keeps too much |
//!
//! The words were seen in the catalogs of messages of GNU coreutils, findutils, grep, make and gcc, of git, apt, psql, cargo,
//! npm, pnpm, pip and tsc (`fr.po`, `ja.po` and so on).

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memchr;
use regex::bytes::Regex;

use crate::ansi::{Terminal, TerminalEvent};

/// Words of failures in English: not within a name or a path (`error_handling`, `src/error.rs`).
const ENGLISH: &str = r"(?i-u:(?:^|[^\w/.-])(?:errors?|fail(?:s|ed|ing|ures?)?|panic(?:ked)?|exceptions?|fatal|traceback|abort(?:ed|ing)?|critical|severe|emerg(?:ency)?|segmentation fault|bus error|illegal instruction|core dumped|assert(?:ion)?|not ok|undefined (?:reference|symbol)|permission denied|access denied|no such file or directory|not a directory|is a directory|command not found|module not found|symbol\(s\) not found|oom-kill(?:er|ed)?|oom_kill\w*|unhealthy|notready|not ready|exited \([1-9]\d*\)|rc[=:] ?[1-9]\d*|\w*unhandled\w*(?:rejection|exception)\w*|package not found|connection (?:refused|reset|timed out)|host unreachable|unreachable|timed out|time[- ]?out|out of memory|no space left|disk full|quota exceeded|killed|terminated|deadlock|data race|race detected|stack overflow|heap-use-after-free|unhandled|uncaught|unrecoverable|unresolved|unable to|could not|cannot|can't|couldn't|failed to|denied|refused|rejected|conflicts?|broken pipe|corrupt(?:ed|ion)?|crash(?:ed|es)?|exit(?:ed)?(?: with)? (?:code|status):? [1-9]\d*|exit (?:code|status) [1-9]\d*)(?:$|[^\w/.-]|[.](?:$|\s)))|(?-u:\w(?:Error|Exception|Fault)(?:$|[:\s]))";

/// Codes and signs: klog, Android, Java, Kubernetes, npm, pnpm, yarn, apt, pytest, go test, and what test runners print before a name.
const SIGNS: &str = r"(?-u:(?:^|[^\w])(?:npm ERR!|ERR[!_:]|ERR_\w+|OOMKilled|CrashLoopBackOff|ImagePullBackOff|ErrImagePull|Evicted|FailedScheduling|SIG(?:SEGV|ABRT|KILL|BUS|ILL|FPE|TERM))|\[(?:E|F|ERR|ERRO|FATA|CRIT|ALERT|EMERG)\]|\blevel=(?:error|fatal|panic|crit\w*)|^E(?: {2,3}\S|: |\d{4} )|^W: |^E/\w|^Caused by:|\w_test\.go:\d+: |^\s*(?:FAIL|ERROR|YN00\d\d: .*(?:can't|couldn't|fail))\b|^(?:bash|sh|zsh|dash|fish|ksh): )|[✗✖✘✕❌⨯🔴💥]|^\s*×|✱";

/// Words of failures in other languages. Those of scripts without spaces have no ends of words.
const OTHERS: &str = r"(?i:(?:^|\W)(?:fehler\w*|\w*fehler|fehlgeschlagen|abgebrochen|nicht gefunden|keine berechtigung|verweigert|erreurs?|échec|échou\w+|introuvable|permission non accordée|aucun fichier|fallos?|falló|fallid[oa]s?|permiso denegado|no se (?:pudo|puede|encuentra)|errore|errori|fallit[oa]|impossibile|permesso negato|erros?|falha|falhou|permissão negada|fout(?:en)?|mislukt|błąd|błędy|nie można|chyba|selhal\w*|hata|hatası|başarısız|fel|misslyckades|virhe|fejl|feil|hiba|kesalahan|eroare|lỗi)(?:$|\W))|(?i:ошибк|сбой|не удалось|невозможно|отказано|помилк|σφάλμα)|エラー|失敗|できません|許可がありません|見つかりません|异常|错误|錯誤|失败|失敗|拒绝|拒絕|无法|無法|找不到|오류|에러|실패|거부|없습니다|خطأ";

/// Phrases that report success with the same words: `0 errors`.
const SUCCESS: &str = r"(?i-u:\b(?:0|no|zero|without|without any)(?: \w+)? (?:errors?|fail(?:s|ed|ing|ures?)?|exceptions?|conflicts?|unhandled|unresolved)\b|\b(?:errors?|fail(?:s|ed|ing|ures?)?|exceptions?|conflicts?|time[- ]?outs?)\s*[:=]\s*(?:0\b|\[\]|none\b|null\b)|\b0 (?:fehler|erreurs?|errores|errori|erros|fouten)\b|\btime[- ]?out\s*[:=]\s*\d)|0 ?(?:个|個|件の|개의 ?)?(?:错误|錯誤|エラー|오류|ошиб\w*)|(?:エラー|错误|錯誤|오류)[:：]? ?(?:0|なし|无|無)";

/// Numbers of failures.
const COUNT: &str = r"(?i-u:\b\d+ (?:errors?|fail(?:ed|ing|ures?)|conflicts?)\b|\b(?:errors?|fail(?:ed|ing|ures?)|conflicts?):? \d+\b)|[✗✖✘✕❌×] ?\d+\b";

/// Stems of such words.
const STEMS: &str = r"(?i-u:error|not found|undefined|corrupt|conflict|severe|emerg|assert|not ok|segmentation|no such|fail|panic|fatal|critical|exception|abort|denied|refused|traceback|lost|disconnect|unreachable|timed? ?out|unable|cannot|could not|killed|crash|degraded|unhealthy|not ready|notready|\bdown\b|reject)";

/// Beginnings of the messages that a program prints about its own work, rather than of its result:
///
/// - the program's name and a reason: `find: ‘./a’: Permission denied`, `grep: a: Is a directory`, `ls: cannot access 'a'`;
/// - a word for the severity: `error: x`, `Error[E0425]: x`, `E: x`, `fatal: x`, `npm warn x`, `Fehler: x`, `エラー: x`;
/// - the same after a place: `a.c:3:5: error: x`.
const MESSAGE: &str = r"(?-u:^(?:\S*/)?(?:[ezfpg]?grep|g?find|bfs|fd|fdfind|rg|ag|ack|g?ls|g?du|g?stat|g?cat|g?head|g?tail|tac|zcat|gzip|tar|cp|mv|rm|ln|mkdir|rmdir|chmod|chown|touch|sort|uniq|wc|cut|tr|sed|g?awk|xargs|tree|rsync|ssh|scp|curl|wget|make|gmake|cmake|ninja|ld|collect2|cc1\w*|gcc|g\+\+|clang|clang\+\+|docker|kubectl|helm|terraform|git|dpkg|dpkg-\w+|apt|apt-get|systemctl|journalctl|mount|umount|sudo|su|env|sh|bash|dash|zsh|fish|ksh|python\w*|node|ruby|perl|java|javac|psql|mysql|sqlite3|redis-cli)(?:\[\d+\])?: )|^(?i:(?:npm|yarn|pnpm|bun)[ ]+(?:warn(?:ing)?|err(?:or)?!?)(?-u:\b)|(?:\[?[ ]?(?:fatal|error|err|err!|warn|warning|critical|severe|panic|fehler|warnung|schwerwiegend|erreur|avertissement|attention|fatale|advertencia|aviso|errore|avviso|attenzione|erro|fout|waarschuwing|ошибка|предупреждение|фатальная ошибка|błąd|ostrzeżenie|chyba|varování|hata|uyarı|fel|varning|virhe|varoitus)\]?)(?:\[[\w-]+\])?(?: \w+)?[ ]?[:!：]|[EWF]: |\[(?:error|fatal|warn(?:ing)?)\]|(?:エラー|警告|错误|錯誤|오류|경고)[:： ]|致命的エラー|致命错误)|^(?-u:error |ERROR |FATAL |fatal |FAIL[ED]*[: ]|[ ]*ERR_\w+|Error: |Traceback |panic: |Killed$|Terminated$|Segmentation fault|Aborted|BUILD FAILED|Unhandled |Uncaught |error\[|\w*(?:Error|Exception): )|^[ ]*[✗✖✘✕❌⨯] |^(?-u:[^\s:]+:\d+(?::\d+)?): (?i:fatal error|error|warning|fehler|schwerwiegender fehler|erreur|erreur fatale|error fatal|errore|erro|ошибка|エラー|致命的エラー|错误|致命错误|오류) ?[:：]|: (?-u:.*)\(os error \d+\)$";

/// A line with more bytes is data rather than a message.
const LONGEST: usize = 4 << 10;

struct FailurePatterns {
    failure: Regex,
    success: Regex,
    count: Regex,
    stem: Regex,
    message: Regex,
}

static PATTERNS: LazyLock<Option<FailurePatterns>> = LazyLock::new(|| {
    Some(FailurePatterns {
        failure: Regex::new(&[ENGLISH, SIGNS, OTHERS].join("|")).ok()?,
        success: Regex::new(SUCCESS).ok()?,
        count: Regex::new(COUNT).ok()?,
        stem: Regex::new(&[STEMS, SIGNS, OTHERS].join("|")).ok()?,
        message: Regex::new(MESSAGE).ok()?,
    })
});

/// Returns whether a line says that something failed. Escape sequences are ignored.
#[must_use]
pub fn is_failure(line: &[u8]) -> bool {
    let Some(patterns) = &*PATTERNS else { return false };
    if line.len() > LONGEST {
        return false;
    }
    let line = shown(line);
    patterns.failure.is_match(&line)
        && (!patterns.success.is_match(&line)
            || patterns.failure.is_match(&patterns.success.replace_all(&line, &b""[..])))
}

/// Returns whether a line says what failed, beyond a number of failures: `1 failed` does not.
#[must_use]
pub fn says_what_failed(line: &[u8]) -> bool {
    let Some(patterns) = &*PATTERNS else { return false };
    is_message(line)
        || is_failure(line) && is_failure(&patterns.count.replace_all(&shown(line), &b""[..]))
}

/// Returns whether a line begins as programs begin the messages about their own work, errors and warnings. Escape sequences
/// are ignored.
#[must_use]
pub fn is_message(line: &[u8]) -> bool {
    let Some(patterns) = &*PATTERNS else { return false };
    line.len() <= LONGEST && patterns.message.is_match(&shown(line))
}

/// Returns whether a line may be about a failure or a loss.
#[must_use]
pub fn mentions_failure(line: &[u8]) -> bool {
    PATTERNS.as_ref().is_none_or(|patterns| patterns.stem.is_match(line))
}

/// Whether [`is_failure`] may be true because of a word. A line without such a word, and without one of the beginnings of
/// [`may_begin_failure`], reports no failure.
pub(crate) fn may_be_word(word: &[u8]) -> bool {
    // The end of an escape sequence: `31merror`.
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let word = match word.get(digits..) {
        Some([b'm', rest @ ..]) if digits > 0 => rest,
        _ => word,
    };
    let begins = |stem: &&str| {
        word.get(..stem.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(stem.as_bytes()))
    };
    let ends = |stem: &&str| {
        word.len()
            .checked_sub(stem.len())
            .and_then(|at| word.get(at..))
            .is_some_and(|end| end.eq_ignore_ascii_case(stem.as_bytes()))
    };
    let stems: &[&str] = match word.first().map(u8::to_ascii_lowercase) {
        Some(b'a') => &["abgebrochen", "abort", "access", "assert", "aucun"],
        Some(b'b') => &["bash", "broken", "bus"],
        Some(b'c') => &[
            "can",
            "caused",
            "chyba",
            "command",
            "conflict",
            "connection",
            "core",
            "corrupt",
            "could",
            "crash",
            "crit",
        ],
        Some(b'd') => &["dash", "data", "deadlock", "denied", "disk", "dumped"],
        Some(b'e') => &["emerg", "eroare", "err", "evicted", "except", "exit"],
        Some(b'f') => &[
            "fail", "falha", "falhou", "fallid", "fallit", "fallo", "fatal", "fehl", "feil",
            "fejl", "fel", "fish", "fout",
        ],
        Some(b'h') => &["hata", "heap", "hiba", "host"],
        Some(b'i') => &["illegal", "imagepull", "impossibile", "introuvable"],
        Some(b'k') => &["keine", "kesalahan", "killed", "ksh"],
        Some(b'm') => &["memory", "mislukt", "misslyckades", "module"],
        Some(b'n') => &["negato", "nicht", "not"],
        Some(b'o') => &["oom"],
        Some(b'p') => &["package", "panic", "permesso", "permiso", "permission"],
        Some(b'q') => &["quota"],
        Some(b'r') => &["race", "rc", "refused", "rejected"],
        Some(b's') => {
            &["segmentation", "selhal", "severe", "sig", "space", "stack", "such", "symbol"]
        }
        Some(b't') => &["terminated", "time", "traceback"],
        Some(b'u') => &[
            "unable",
            "uncaught",
            "undefined",
            "unhandled",
            "unhealthy",
            "unreachable",
            "unrecoverable",
            "unresolved",
        ],
        Some(b'v') => &["verweigert", "virhe"],
        Some(b'y') => &["yn00"],
        Some(b'z') => &["zsh"],
        Some(0x80..) => return true,
        _ => &[],
    };
    stems.iter().any(begins)
        || ["error", "exception", "fault", "fehler", "_test", "directory"].iter().any(ends)
        || !word.is_ascii()
}

/// Whether a line begins with a sign of failures that has no word: `[E]`, `E   assert`, `W: x`, `E0301 10:00 x`.
pub(crate) fn may_begin_failure(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    matches!(
        line,
        [b'E', b' ' | b':' | b'/' | b'0'..=b'9', ..]
            | [b'W', b':', ..]
            | [b'[', b'E' | b'F', b']', ..]
    ) || line.starts_with(b"sh: ")
        || line.starts_with("×".as_bytes())
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
    use super::{PATTERNS, is_failure, is_message, may_begin_failure, mentions_failure};
    use crate::cut::may_fail;

    #[test]
    fn the_patterns_are_valid() {
        assert!(PATTERNS.is_some());
    }

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
            ("  ✕ adds (1 ms)", true),
            ("   × adds 3ms", true),
            ("not ok 3 - adds", true),
            ("Build failed.", true),
            ("3 failed, 0 errors", true),
            ("ls: x: No such file or directory", true),
            ("a.c:3:5: Fehler: x", true),
            ("a.c:3:5: erreur : x", true),
            ("a.c:3:5: エラー: x", true),
            ("a.c:3:5: 错误：x", true),
            ("a.c:3:5: ошибка: x", true),
            ("Speicherzugriffsfehler", true),
            ("npm ERR! code E404", true),
            (" ERR_PNPM_FETCH_404  GET https://r/x: Not Found - 404", true),
            ("SEVERE: x", true),
            ("[E] x", true),
            ("E0301 10:00:00.000000 1 main.go:5] x", true),
            ("bash: foo: command not found", true),
            ("Unhandled promise rejection", true),
            ("web-0   0/1   OOMKilled   3   5m", true),
            ("    x_test.go:5: got 1, want 2", true),
            ("E   assert 1 == 2", true),
            ("E: Unable to locate package x", true),
            ("process exited with code 137", true),
            ("a.c:3:5: error: x", true),
            ("a.c:3:5: fel: x", true),
            ("ОШИБКА:  отношение не существует", true),
            ("make: *** [Makefile:2: a] Fehler 1", true),
            ("make: *** [Makefile:2: a] Erreur 1", true),
            ("sh: 1: foo: command not found", true),
            ("sh: 1: x", true),
            ("  reason: OOMKilled", true),
            ("실패 x", true),
            ("Caused by:", true),
            ("[F] x", true),
            ("cat: x: Is a directory", true),
            ("can't open x", true),
            ("x: exit status 2", true),
            ("exited with code: 3", true),
            ("write: no space left on device", true),
            ("rsync: connection unexpectedly closed, heap-use-after-free", true),
            ("read tcp: connection reset by peer", true),
            ("Cleaner: host unreachable", true),
            ("received SIGSEGV", true),
            ("➤ YN0001: x can't be found", true),
            ("ld: symbol(s) not found for architecture arm64", true),
            ("(node:12) UnhandledPromiseRejectionWarning: x", true),
            ("[12.3] oom-kill:constraint=CONSTRAINT_NONE", true),
            ("node-1   NotReady   <none>   3d   v1.32.1", true),
            ("1f2e   nginx   \"nginx\"   3 days ago   Exited (137) 2 hours ago   web", true),
            ("1f2e   nginx   \"nginx\"   3 days ago   Up 3 hours (unhealthy)   web", true),
            ("web1 | FAILED | rc=2 >>", true),
            ("step rc=1", true),
            ("1f2e   nginx   \"nginx\"   3 days ago   Exited (0) 2 hours ago   web", false),
            ("src=1", false),
            ("step rc=0", false),
            ("felt: x", false),
            ("0 errors, 0 failures", false),
            ("12 passed; 0 failed", false),
            ("no errors", false),
            ("errors: 0", false),
            ("errors: []", false),
            ("エラー: 0", false),
            ("0 个错误", false),
            ("timeout: 30", false),
            ("exited with code 0", false),
            ("test error_handling ... ok", false),
            ("   Compiling thiserror v1.0", false),
            ("src/error.rs", false),
            ("warning: unused variable", false),
            ("", false),
        ] {
            assert_eq!(is_failure(line.as_bytes()), expected, "{line}");
            assert!(
                !expected || may_fail(line.as_bytes()) || may_begin_failure(line.as_bytes()),
                "{line}"
            );
        }
        assert!(!is_failure(format!("error {}", "x".repeat(5_000)).as_bytes()));
    }

    #[test]
    fn messages_of_programs() {
        for (line, expected) in [
            ("find: ‘./a20/secret’: Permission denied", true),
            ("find: ‘./a20/secret’: Keine Berechtigung", true),
            ("grep: a: Is a directory", true),
            ("/usr/bin/ls: cannot access 'a'", true),
            ("E: Unable to locate package x", true),
            ("W: Some index files failed to download", true),
            ("npm warn deprecated inflight@1.0.6", true),
            ("npm error code E404", true),
            ("npm ERR! code E404", true),
            ("error: could not compile `a`", true),
            ("error[E0425]: cannot find value `x`", true),
            ("error TS2304: Cannot find name 'lamp'.", true),
            ("Fehler: x", true),
            ("erreur : x", true),
            ("エラー: x", true),
            ("错误：x", true),
            ("ошибка: x", true),
            ("a.c:3:5: Fehler: x", true),
            ("a.c:3:5: ошибка: x", true),
            (" ERR_PNPM_FETCH_404  GET x", true),
            ("Traceback (most recent call last):", true),
            ("ValueError: x", true),
            ("✗ adds", true),
            ("a: x (os error 13)", true),
            ("./src/error/mod.rs", false),
            ("src/a.rs:12:    return Err(error);", false),
            ("   Compiling thiserror v1.0", false),
            ("12/100 tests, 1 failed", false),
            ("errors.log", false),
            ("drwxr-xr-x 2 root root 4096 error", false),
            ("finder: x", false),
        ] {
            assert_eq!(is_message(line.as_bytes()), expected, "{line}");
        }
        assert!(mentions_failure(b"link is DOWN"));
        assert!(!mentions_failure(b"download of a page"));
    }
}
