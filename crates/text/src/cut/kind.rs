//! [`TextKind`]: what a text is, as its first lines show it, or the command that printed it.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

/// The kind of a text. It decides which parts are kept of one that is too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextKind {
    /// Sentences, with or without Markdown.
    Prose,
    /// Lines that a search found, or names of files.
    Listing,
    /// JSON that is cut as text.
    Json,
    /// The output of tests or compilers, a log, or a stack trace.
    Log,
    /// A difference between files.
    Diff,
    /// Source code or markup.
    Code,
    /// Rows of columns.
    Table,
    /// The outline of a page that a browser's tool prints.
    Snapshot,
    /// Anything else.
    #[default]
    Other,
}

impl TextKind {
    /// Returns the name, as it is printed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Prose => "prose",
            Self::Listing => "listing",
            Self::Json => "json",
            Self::Log => "log",
            Self::Diff => "diff",
            Self::Code => "code",
            Self::Table => "table",
            Self::Snapshot => "snapshot",
            Self::Other => "other",
        }
    }

    /// Returns the kind that the origin of a text suggests, unless its lines have a clear form of another kind.
    #[must_use]
    pub(super) fn or(self, suggested: Option<Self>) -> Self {
        match self {
            Self::Prose | Self::Code | Self::Other | Self::Table => suggested.unwrap_or(self),
            _ => self,
        }
    }

    /// Decides by the first 400 lines of a text.
    #[must_use]
    pub fn of(text: &[u8]) -> Self {
        let text = text.get(..text.len().min(SAMPLE)).unwrap_or_default();
        let Some(patterns) = &*PATTERNS else { return Self::Other };
        if patterns.json.is_match(text) {
            return Self::Json;
        }
        if patterns.markup.is_match(text) {
            return Self::Code;
        }
        if text.starts_with(b"diff --git") {
            return Self::Diff;
        }
        let counts = Counts::of(text, &patterns.lines);
        counts.kind()
    }
}

/// How much of a text is looked at, in bytes and in lines that are not blank.
const SAMPLE: usize = 20_000;
const LINES: usize = 400;

struct Patterns {
    json: Regex,
    markup: Regex,
    lines: RegexSet,
}

/// Shapes of lines, as the tools print them.
const SHAPES: [&str; 11] = [
    // 0: headers of a diff. 1: added and removed lines.
    r"^(?:diff --git|@@ |\+\+\+ |--- |index [0-9a-f]{7})",
    r"^[+-]",
    // 2: a line that grep found. 3: a path, which is not a number, or a line of ls -l. 4: a line of a snapshot.
    r"^(?:\./)?[\w./@+-]*[./][\w./@+-]*[:-][0-9]+[:-]",
    r"^(?:\./|/|~/)?(?:[0-9.+-]*[A-Za-z_@\[\]()][\w.@+\[\]()-]*|[\w.@+\[\]()-]+/[\w.@+ \[\]()-]*)(?:/[\w.@+ \[\]()-]+)*/?\r?$|^(?:[-dlcbps][rwxsStT-]{9}[.+@]?\s|total [0-9]+\r?$)",
    r"^\s*- .*\[ref=\w+\]|^\s*(?:uid=|\[)[0-9]+(?:_[0-9]+)?\]? \w",
    // 5: a frame of a stack.
    r#"^\s+(?:at \S+|File ".*", line [0-9]+)|Traceback|goroutine [0-9]+|^\s+\S+\.go:[0-9]+"#,
    // 6: a line of a log. 7: a line of tests or of a compiler.
    r"^\W{0,12}(?:[0-9]{4}[-/][0-9][0-9][-/][0-9][0-9][T ][0-9][0-9]:[0-9][0-9]|[0-9][0-9]:[0-9][0-9]:[0-9][0-9]|(?:INFO|WARN|ERROR|DEBUG|TRACE)\b|\w{3} +[0-9]+ [0-9][0-9]:[0-9][0-9]:[0-9][0-9])",
    r"(?i)^\s*(?:--- (?:PASS|FAIL|SKIP)|=== (?:RUN|PAUSE|CONT)|(?:ok|FAIL|\?)\s+\S+\s|PASS|FAILED?\b|test .* \.\.\. |(?:✓|✗|×|✘|√|●|✕|✖)|\S+::\S+ (?:PASSED|FAILED)|={5,}|Compiling |Downloading |warning(?:\[|:)|error(?:\[|:|\s)|npm (?:ERR|WARN)|\s*[0-9]+ (?:passing|failing|passed|failed)|tests?\b.*(?:pass|fail)|> .*@|\S+\([0-9]+,[0-9]+\): error|\S+:[0-9]+:[0-9]+: )",
    // 8: Markdown. 9: code.
    r"^#{1,6} |^\s*[-*] |^\s*[0-9]+\. |^\||^```|\*\*",
    r"[;{}]\s*$|^\s*(?:def|class|func|fn|import|from|return|if|for|while|else|elif|try|except|const|let|var|pub|use|package|type|struct|impl|async|export|function|public|private|@\w+|#include|//|\*|/\*|raise|self\.|assert)\b|^\s*[\w.\[\]]+\s*(?::=|=|\+=)\s*\S|\)\s*[:{]?\s*$|^\s*[\])}]",
    // 10: columns.
    r"(?:\t[^\t]*){2}|(?:\|[^|]*){2}",
];

static PATTERNS: LazyLock<Option<Patterns>> = LazyLock::new(|| {
    let one = |pattern: &str| RegexBuilder::new(pattern).unicode(false).build().ok();
    Some(Patterns {
        json: one(r#"^\s*(?:[{\[]\s*["{\[]|\[\s*-?[0-9.eE+-]+\s*,|[{\[]\s*[}\]])"#)?,
        markup: one(r"^\s*<(?i:!doctype|html|\?xml|svg|div|head)")?,
        lines: RegexSetBuilder::new(SHAPES).unicode(false).build().ok()?,
    })
});

/// How many of the first lines have each shape.
struct Counts {
    lines: usize,
    bytes: usize,
    shapes: [usize; SHAPES.len()],
    /// Commas in each of the first lines: the fewest, the most.
    commas: (usize, usize),
    /// How many lines those are.
    comma_lines: usize,
}

impl Counts {
    fn of(text: &[u8], patterns: &RegexSet) -> Self {
        let mut counts = Self {
            lines: 0,
            bytes: 0,
            shapes: [0; SHAPES.len()],
            commas: (usize::MAX, 0),
            comma_lines: 0,
        };
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        for line in lines.take(LINES) {
            // A longer line is one of data.
            let line = line.get(..line.len().min(2000)).unwrap_or_default();
            counts.lines += 1;
            counts.bytes += line.len();
            for shape in patterns.matches(line).iter() {
                if let Some(count) = counts.shapes.get_mut(shape) {
                    *count += 1;
                }
            }
            if counts.lines <= 50 {
                let commas = line.iter().filter(|byte| **byte == b',').count();
                counts.commas = (counts.commas.0.min(commas), counts.commas.1.max(commas));
                counts.comma_lines += 1;
            }
        }
        counts
    }

    fn kind(&self) -> TextKind {
        if self.lines == 0 {
            return TextKind::Prose;
        }
        let share =
            |shape: usize| self.shapes.get(shape).copied().unwrap_or(0) as f64 / self.lines as f64;
        let (markdown, code) = (share(8), share(9));
        match () {
            () if share(0) > 0.01 && share(1) > 0.05 => TextKind::Diff,
            () if share(2) > 0.45 => TextKind::Listing,
            () if share(5) > 0.3 => TextKind::Log,
            () if share(3) > 0.7 => TextKind::Listing,
            () if share(6) > 0.4 || share(7) > 0.25 => TextKind::Log,
            () if share(4) > 0.3 => TextKind::Snapshot,
            () if markdown > 0.25 && code < 0.5 && markdown > code * 0.6 => TextKind::Prose,
            () if share(10) > 0.7 => TextKind::Table,
            () if self.comma_lines > 5
                && self.commas.0 >= 2
                && self.commas.1 - self.commas.0 <= 1 =>
            {
                TextKind::Table
            }
            () if code > 0.4 => TextKind::Code,
            () if markdown > 0.12 => TextKind::Prose,
            () if self.bytes > 60 * self.lines => TextKind::Prose,
            () => TextKind::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TextKind;

    #[test]
    fn kinds_are_recognised() {
        for (text, kind) in [
            ("{\"a\": 1}\n", TextKind::Json),
            ("[1, 2]\n", TextKind::Json),
            ("[2026-01-01 10:00] x\n[2026-01-01 10:01] y\n", TextKind::Log),
            ("diff --git a/x b/x\n", TextKind::Diff),
            ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", TextKind::Diff),
            ("src/a.rs:3:fn a()\nsrc/b.rs:4:fn b()\n", TextKind::Listing),
            ("a.rs\nsrc/b.rs\nsrc/c/\n", TextKind::Listing),
            ("total 8\n-rw-r--r-- 1 a a 3 Jan 1 10:00 x y\n", TextKind::Listing),
            ("test a ... ok\ntest b ... FAILED\n", TextKind::Log),
            ("Traceback (most recent call last):\n  File \"a.py\", line 1\n", TextKind::Log),
            ("INFO a\nWARN b\nDEBUG c\n", TextKind::Log),
            ("fn a() {\n    b();\n}\n", TextKind::Code),
            ("<html>\n", TextKind::Code),
            ("# A\n\nSome text.\n\n- one\n- two\n", TextKind::Prose),
            ("- button \"OK\" [ref=e1]\n- link \"x\" [ref=e2]\n", TextKind::Snapshot),
            ("a\tb\tc\n1\t2\t3\n", TextKind::Table),
            ("2026/11/a b.log\n2026/\n12ab\n", TextKind::Listing),
            ("1\n2\n3.5\n-4\n", TextKind::Other),
            ("one\ntwo two\n", TextKind::Other),
            ("", TextKind::Prose),
        ] {
            assert_eq!(TextKind::of(text.as_bytes()), kind, "{text:?}");
        }
    }
}
