//! Recognises lines that stand above the lines of a part: of one file, host, boot or step.
//!
//! Seen in the output of `head` and `tail` with several files, `more`, `journalctl`, Ansible, pssh, `docker compose`, GitHub's
//! runner, and in reports of tests and scripts.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::beginning_with;

static HEADING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    beginning_with(&[
        r"==> .+ <==$",
        r"(?:=+|-{2,}|#+|\*+|~{3,}|>{2,}|<{2,}) ?[^=*#~<>-].*(?: ?(?:=+|-{2,}|#+|\*+|~{3,}|>+|<+):?)$",
        r"(?:={2,}|#{1,6}|>{2,}) \S.*$",
        r"-- (?:Boot|Reboot|Logs begin|Journal begins|No entries)\b.*",
        r":{5,}$",
        r"\[[\w./:@ -]+\]:?$",
        r"\S+ \| (?:CHANGED|SUCCESS|FAILED|UNREACHABLE!)(?: \| rc=\d+)? (?:>>|=>)",
        r"\[\d+\] \d\d:\d\d:\d\d \[(?:SUCCESS|FAILURE)\] ",
        r"##\[(?:group|section)\]",
        r"::group::",
    ])
});

/// The most bytes of a heading.
const LONGEST: usize = 256;

/// Whether a line is a heading.
pub(super) fn is_heading(line: &[u8]) -> bool {
    line.len() <= LONGEST
        && (line.iter().any(u8::is_ascii_alphanumeric) || line.starts_with(b":::::"))
        && line.first().is_some_and(|first| !first.is_ascii_alphanumeric() || line.contains(&b'|'))
        && HEADING.as_ref().is_some_and(|heading| heading.is_match(line))
}

#[cfg(test)]
mod tests {
    use super::is_heading;

    #[test]
    fn headings() {
        for (line, expected) in [
            ("==> a.log <==", true),
            ("== web-1", true),
            ("=== a ===", true),
            ("-- Boot 2f1c -- ", true),
            ("-- Boot 2f1c4a --", true),
            ("::::::::::::::", true),
            ("[web-0]", true),
            ("[pod/web-0/app]", true),
            ("web1 | CHANGED | rc=0 >>", true),
            ("### web", true),
            ("##[group]Run cargo test", true),
            ("[web-0] started", false),
            ("2026-01-01 INFO x", false),
            ("- item", false),
            ("-----", false),
            ("* * *", false),
            ("web-1  | ready", false),
            ("-> GET /", false),
            ("", false),
        ] {
            assert_eq!(is_heading(line.as_bytes()), expected, "{line}");
        }
    }
}
